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

// What DBOS's page "Scheduled Workflows" says, in its order. `matches` is the page's own rule: a time matches when each of
// its fields lies in one of the ranges and is divisible by the divisor. The server must name the same times.
describe("the page about DBOS's crontabs", { timeout: 180_000 }, () => {
  const MONTHS = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october',
                  'november', 'december'];
  const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
  const FIELDS = [
    { first: 0, last: 59, divisor: 59 },
    { first: 0, last: 59, divisor: 59 },
    { first: 0, last: 23, divisor: 23 },
    { first: 1, last: 31, divisor: 31 },
    { first: 1, last: 12, divisor: 12, names: MONTHS, offset: 1 },
    { first: 0, last: 7, divisor: 7, names: DAYS, offset: 0 },
  ];

  function value(text, { names = [], offset }) {
    const lower = text.toLowerCase();
    const at = names.findIndex((name) => name === lower || name.slice(0, 3) === lower);
    return at < 0 ? Number(text) : at + offset;
  }

  function fieldMatches(text, field, number) {
    const [list, divisor = '1'] = text.split('/');
    const isIn = list.split(',').some((range) => {
      if (range === '*') return true;
      const [from, to = from] = range.split('-').map((each) => value(each, field));
      return number >= from && number <= to;
    });
    return isIn && number % Number(divisor) === 0;
  }

  function matches(crontab, time) {
    const texts = crontab.split(' ');
    if (texts.length === 5) texts.unshift('0');
    const numbers = [time.getUTCSeconds(), time.getUTCMinutes(), time.getUTCHours(), time.getUTCDate(), time.getUTCMonth() + 1];
    const day = time.getUTCDay();
    const isDay = [day, ...(day === 0 ? [7] : [])].some((each) => fieldMatches(texts[5], FIELDS[5], each));
    return isDay && numbers.every((number, i) => fieldMatches(texts[i], FIELDS[i], number));
  }

  // All times of a crontab in a range, both ends included, by the page's rule and by the server.
  function expected(crontab, from, to) {
    const step = crontab.split(' ').length === 6 ? 1000 : 60_000;
    const found = [];
    for (let at = Date.parse(from); at <= Date.parse(to); at += step) if (matches(crontab, new Date(at))) found.push(at);
    return found;
  }

  async function named(world, crontab, from, to) {
    await ok(world, 'POST', 'crontabs/page', binding(world, { crontab, taskQueue: 'nobody' }));
    const startTime = new Date(Date.parse(from) - 1000).toISOString();
    const path = `schedules/page/matching-times?startTime=${startTime}&endTime=${to}`;
    const { startTime: times = [] } = await ok(world, 'GET', path);
    return times.map((each) => Date.parse(each));
  }

  const EXAMPLES = [
    ['* * * * *', '2030-01-01T00:00:00Z', '2030-01-01T12:00:00Z', 721, 'every minute of every day'],
    ['* 5 * * 1', '2030-01-01T00:00:00Z', '2030-01-14T23:59:00Z', 120, 'every minute during the hour of 05:00 on Mondays'],
    ['30 * * * * *', '2030-01-01T00:00:00Z', '2030-01-01T01:00:00Z', 60, '30 seconds after the beginning of every minute'],
    ['0 12 * * Sun', '2030-01-01T00:00:00Z', '2030-01-31T23:59:00Z', 4, 'at noon on sundays'],
    ['0 9-17 * * *', '2030-01-01T00:00:00Z', '2030-01-02T23:59:00Z', 18, 'at the top of the hour, from 9am to 5pm'],
    ['*/30 * * * * *', '2030-01-01T00:00:00Z', '2030-01-01T00:59:59Z', 120, 'every 30 seconds'],
    ['10-19/2 * * January,Feb *', '2030-02-27T00:00:00Z', '2030-03-02T00:00:00Z', 240, 'at 10, 12, 14, 16 and 18 minutes'],
  ];

  test('its examples', async () => {
    await inNewWorld(async (world) => {
      for (const [crontab, from, to, count, words] of EXAMPLES) {
        const times = await named(world, crontab, from, to);
        assert.deepEqual(times, expected(crontab, from, to), `${crontab}: ${words}`);
        assert.equal(times.length, count, `${crontab}: ${words}`);
      }
      await ok(world, 'DELETE', 'schedules/page');
    });
  });

  test('its fields: lists, ranges, divisors and names', async () => {
    const written = (name) => [name, name.slice(0, 3).toUpperCase()];
    const names = [
      ...MONTHS.flatMap((name, i) => written(name).map((each) => [`0 0 1 ${each} *`, `0 0 1 ${i + 1} *`])),
      ...DAYS.flatMap((name, i) => written(name).map((each) => [`0 0 * * ${each}`, `0 0 * * ${i}`])),
      ['0 0 * * 7', '0 0 * * 0'],
    ];
    const formats = ['1,2,4-9/2 0 5 * * *', '0 5,10-12,30-40/5 3 * * *', '0 11-19/5 * * *', '0 0 1-7,20 * *', '0 0 */10 * *',
                     '0 0 13 * Fri', '0 0 * */5 1-5', '0 0 * * */2', '0 0 * * 5-7', '0 0 * * 6-7/7', '*/59 * 0 1 1 *'];
    await inNewWorld(async (world) => {
      const same = async (crontab, from, to) => {
        assert.deepEqual(await named(world, crontab, from, to), expected(crontab, from, to), crontab);
      };
      for (const crontab of formats) await same(crontab, '2030-01-01T00:00:00Z', '2030-01-13T00:00:00Z');
      await same('0 0 13 * Fri', '2030-01-01T00:00:00Z', '2031-01-01T00:00:00Z');
      for (const [name, number] of names) {
        const year = ['2030-01-01T00:00:00Z', '2030-12-31T00:00:00Z'];
        const times = await named(world, name, ...year);
        assert.ok(times.length > 0);
        assert.deepEqual(times, await named(world, number, ...year), name);
      }
      await ok(world, 'DELETE', 'schedules/page');
    });
  });

  test('its bounds: numbers and divisors outside of them are refused', async () => {
    await inNewWorld(async (world) => {
      const answer = async (at, text) => {
        const crontab = FIELDS.map((_, i) => (i === at ? text : '*')).join(' ');
        return (await call(world, 'POST', 'crontabs/page', binding(world, { crontab, taskQueue: 'nobody' }))).status;
      };
      for (const [at, { first, last, divisor }] of FIELDS.entries()) {
        for (const text of [`${first}`, `${last}`, `${first}-${last}`, '*/2', `*/${divisor}`])
          assert.equal(await answer(at, text), 200, `${at} ${text}`);
        for (const text of [`${first - 1}`, `${last + 1}`, `${first}-${last + 1}`, '*/0', '*/1', `*/${divisor + 1}`, 'someday'])
          assert.equal(await answer(at, text), 400, `${at} ${text}`);
      }
      await ok(world, 'DELETE', 'schedules/page');
    });
  });
});
