// Crontabs in DBOS's dialect, bound to workflow types over JSON: each interval runs once, with both times as
// arguments, also when the server was down; or only while it is up.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, inNewWorld } from './lib/world.mjs';

const DOWN_MS = 4_000;

async function call(world, method, path, body) {
  const url = `http://127.0.0.1:${world.server.httpPort}/api/v1/namespaces/default/${path}`;
  const response = await fetch(url, { method, body: body && JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

async function ok(world, method, path, body) {
  const answer = await call(world, method, path, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

const binding = (world, more) => ({
  binding: { crontab: '* * * * * *', workflowType: 'echoTimes', taskQueue: world.taskQueue, ...more },
});

// The results of all runs of the binding, in the order of their scheduled times.
async function results(world, name) {
  const found = [];
  for await (const run of world.client.workflow.list({ query: `TemporalScheduledById = "${name}"` })) {
    world.runs.note(run.workflowId, run.runId);
    const [scheduled, started] = await world.client.workflow.getHandle(run.workflowId, run.runId).result();
    assert.equal(run.workflowId, `sched-${name}-${scheduled.replace('.000Z', 'Z')}`);
    found.push({ scheduled: Date.parse(scheduled), started: Date.parse(started) });
  }
  return found.sort((a, b) => a.scheduled - b.scheduled);
}

const gaps = (times) => times.slice(1).map((each, i) => (each.scheduled - times[i].scheduled) / 1000);

describe('crontab bindings', { timeout: 180_000 }, () => {
  test('run once for each interval; a server that was down makes up for all, or for none', async () => {
    await inNewWorld(async (world) => {
      const modes = { makeup: 'EXACTLY_ONCE_PER_INTERVAL', active: 'EXACTLY_ONCE_PER_INTERVAL_WHEN_ACTIVE' };
      for (const [name, mode] of Object.entries(modes)) {
        const made = await ok(world, 'POST', `crontabs/${name}`, binding(world, { mode }));
        assert.deepEqual([made.scheduleId, made.isNew], [name, true]);
      }
      for (const name of ['makeup', 'active'])
        await eventually(async () => (await results(world, name)).length >= 2);
      await world.server.kill();
      await sleep(DOWN_MS);
      await world.server.launch();
      const back = Date.now();
      for (const name of ['makeup', 'active'])
        await eventually(async () => (await results(world, name)).at(-1).scheduled > back);
      for (const name of ['makeup', 'active']) await ok(world, 'DELETE', `schedules/${name}`);

      const makeup = await results(world, 'makeup');
      assert.ok(gaps(makeup).every((gap) => gap === 1), `${gaps(makeup)}`);
      assert.ok(makeup.every((each) => each.started >= each.scheduled));
      assert.ok(makeup.some((each) => each.started - each.scheduled > DOWN_MS / 2), 'none was made up for');
      const active = gaps(await results(world, 'active'));
      assert.ok(active.every((gap) => gap >= 1));
      assert.equal(active.filter((gap) => gap > 1).length, 1, `${active}`);
    });
  });

  test('may be bound again: unchanged it stays as it is, changed it follows, paused it stays paused', async () => {
    await inNewWorld(async (world) => {
      const daily = { crontab: '0 3 * * *' };
      const path = 'crontabs/report';
      const first = await ok(world, 'POST', path, binding(world, daily));
      const again = await ok(world, 'POST', path, binding(world, daily));
      assert.deepEqual(again, { scheduleId: 'report', conflictToken: first.conflictToken });
      await ok(world, 'POST', 'schedules/report/patch', { patch: { pause: 'not this week' } });
      const changed = await ok(world, 'POST', path, binding(world, { crontab: '30 4 * * *' }));
      assert.equal(changed.isChanged, true);
      const { schedule, info } = await ok(world, 'GET', 'schedules/report');
      assert.deepEqual(schedule.state, { notes: 'not this week', paused: true });
      assert.match(info.futureActionTimes[0], /T04:30:00Z$/);

      // Other schedules are none, and a page of one is one.
      await ok(world, 'POST', 'crontabs/other', binding(world, { crontab: '0 5 * * *', timeZone: 'Europe/Berlin' }));
      await ok(world, 'POST', 'schedules/plain', { schedule: { action: schedule.action } });
      const seen = [];
      let nextPageToken = '';
      do {
        const page = await ok(world, 'GET', `crontabs?pageSize=1&nextPageToken=${encodeURIComponent(nextPageToken)}`);
        assert.ok((page.crontabs ?? []).length <= 1);
        seen.push(...(page.crontabs ?? []));
        nextPageToken = page.nextPageToken ?? '';
      } while (nextPageToken);
      const all = Object.fromEntries(seen.map((each) => [each.binding.name, each]));
      assert.deepEqual(Object.keys(all).sort(), ['other', 'report']);
      assert.deepEqual(all.report.binding, { ...binding(world, { crontab: '30 4 * * *' }).binding, name: 'report', mode: all.report.binding.mode });
      assert.equal(all.report.paused, true);
      assert.equal(all.report.nextTime, undefined);
      assert.equal(all.other.binding.timeZone, 'Europe/Berlin');
      assert.match(all.other.nextTime, /T0[34]:00:00Z$/);
    });
  });

  test('are refused with the reason, and leave schedules that are not theirs alone', async () => {
    await inNewWorld(async (world) => {
      const cases = [
        [binding(world, { crontab: '' }), 400, /Crontab is not set/],
        [binding(world, { crontab: '0 0 * *' }), 400, /does not have 5 or 6 fields/],
        [binding(world, { crontab: '61 * * * *' }), 400, /61/],
        [binding(world, { workflowType: '' }), 400, /WorkflowType is not set/],
        [binding(world, { taskQueue: '' }), 400, /TaskQueue is not set/],
        [binding(world, { mode: 'WHENEVER' }), 400, /mode/],
        [binding(world, { timeZone: 'Mars/Olympus' }), 400, /Mars/],
      ];
      for (const [body, status, message] of cases) {
        const answer = await call(world, 'POST', 'crontabs/mine', body);
        assert.equal(answer.status, status, JSON.stringify(answer.body));
        assert.match(answer.body.message, message);
      }
      assert.equal((await call(world, 'GET', 'schedules/mine')).status, 404);
      await world.client.schedule.create({
        scheduleId: 'mine',
        spec: { calendars: [{ year: 2099 }] },
        action: { type: 'startWorkflow', workflowType: 'hello', taskQueue: world.taskQueue },
      });
      const answer = await call(world, 'POST', 'crontabs/mine', binding(world));
      assert.equal(answer.status, 409);
      assert.match(answer.body.message, /was not made by a binding/);
    });
  });
});
