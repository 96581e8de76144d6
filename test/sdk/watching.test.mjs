// What an operator sees of schedules and workflows: lines of the log, and /metrics, also after a restart.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { connectOwn } from './lib/own.mjs';
import { World, eventually } from './lib/world.mjs';

const NAMESPACE = 'default';
const EVERY_SECOND = { intervals: [{ every: '1s' }] };
const NEVER = { calendars: [{ year: 2099 }] };
const KEYWORD = 2; // INDEXED_VALUE_TYPE_KEYWORD
const SECRET = 'what is in a payload';

// Opens a world for the tests of one describe().
function openWorldWith(options) {
  const world = new World();
  before(() => world.open(options));
  after(() => world.close());
  return world;
}

// The lines with this event about this schedule: objects of their fields.
function lines(server, event, scheduleId) {
  return server.log
    .split('\n')
    .map((line) => line.match(/^\S+ (\w+) +(\w+)(.*)$/))
    .filter((match) => match?.[2] === event)
    .map(([, level, , rest]) => {
      const fields = [...rest.matchAll(/ (\w+)=("(?:[^"\\]|\\.)*"|\S+)/g)];
      return { level, ...Object.fromEntries(fields.map(([, name, value]) => [name, value.replace(/^"|"$/g, '')])) };
    })
    .filter((fields) => fields.schedule_id === scheduleId);
}

async function create(world, workflowType, options = {}) {
  const scheduleId = `s-${randomUUID()}`;
  const action = {
    type: 'startWorkflow',
    workflowType,
    args: [SECRET],
    workflowId: `${scheduleId}-w`,
    taskQueue: world.taskQueue,
    ...options.action,
  };
  return await world.client.schedule.create({ scheduleId, spec: NEVER, ...options, action });
}

async function metrics(server) {
  const text = await (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text();
  const samples = new Map(text.split('\n').filter((line) => line && line[0] !== '#').map((line) => {
    const at = line.lastIndexOf(' ');
    return [line.slice(0, at), Number(line.slice(at + 1))];
  }));
  // 0 when there is no such sample, as for a scraper that sums.
  const value = (name, labels = {}) => {
    const list = Object.entries(labels).map(([label, v]) => `${label}="${v}"`);
    return samples.get(list.length ? `${name}{${list}}` : name) ?? 0;
  };
  return { samples, value };
}

describe('lines of the log', () => {
  const world = openWorldWith({ flags: ['--log-schedules', 'info'] });
  const line = (event, id, test = () => true) => eventually(() => lines(world.server, event, id).find(test));

  test('a trigger fires', async () => {
    const handle = await create(world, 'hello');
    await handle.trigger();
    const fired = await line('schedule_fired', handle.scheduleId);
    const { info } = await handle.describe();
    const [{ action, scheduledAt }] = info.recentActions;
    assert.deepEqual(fired, {
      level: 'INFO',
      namespace: NAMESPACE,
      schedule_id: handle.scheduleId,
      nominal_time: `${scheduledAt.toISOString().slice(0, 19)}.000000Z`,
      workflow_id: action.workflow.workflowId,
      run_id: action.workflow.firstExecutionRunId,
      origin: 'trigger',
      lateness_us: '0',
    });
    await handle.delete();
    assert.deepEqual(await line('schedule_deleted', handle.scheduleId), {
      level: 'INFO',
      namespace: NAMESPACE,
      schedule_id: handle.scheduleId,
    });
  });

  test('times are skipped, and one fires late or in time', async () => {
    const handle = await create(world, 'forever', {
      spec: EVERY_SECOND,
      policies: { overlap: ScheduleOverlapPolicy.SKIP },
    });
    const fired = await line('schedule_fired', handle.scheduleId);
    assert.equal(fired.origin, 'spec');
    assert.ok(Number(fired.lateness_us) >= 0);
    const skipped = await line('schedule_skipped', handle.scheduleId);
    assert.equal(skipped.reason, 'an earlier action was still running');
    assert.equal(skipped.count, '1');
    assert.ok(skipped.nominal_time > fired.nominal_time);
    await handle.pause('enough');
    await line('schedule_skipped', handle.scheduleId, ({ reason }) => reason === 'the schedule was paused');
    await world.endSchedule(handle);
    assert.equal(lines(world.server, 'schedule_fired', handle.scheduleId).length, 1);
  });

  test('an action whose workflow id is taken', async () => {
    const handle = await create(world, 'hello', { spec: { intervals: [{ every: '1h' }] } });
    const at = new Date('2020-01-01T00:00:00Z');
    const workflowId = `${handle.scheduleId}-w-2020-01-01T00:00:00Z`;
    const rival = await world.start('forever', [], { workflowId });
    await handle.backfill({ start: at, end: at, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
    assert.deepEqual(await line('schedule_start_failed', handle.scheduleId), {
      level: 'WARN',
      namespace: NAMESPACE,
      schedule_id: handle.scheduleId,
      nominal_time: '2020-01-01T00:00:00.000000Z',
      workflow_id: workflowId,
      origin: 'backfill',
      reason: 'a workflow with this id exists',
      next: 'given up',
    });
    await rival.terminate();
    await handle.delete();
  });

  test('an action that cannot be started', async () => {
    const operator = world.client.connection.operatorService;
    const name = `Gone${randomUUID().replaceAll('-', '')}`;
    await operator.addSearchAttributes({ namespace: NAMESPACE, searchAttributes: { [name]: KEYWORD } });
    const handle = await create(world, 'hello', { action: { searchAttributes: { [name]: ['x'] } } });
    await operator.removeSearchAttributes({ namespace: NAMESPACE, searchAttributes: [name] });
    await handle.trigger();
    const failed = await line('schedule_start_failed', handle.scheduleId);
    assert.equal(failed.level, 'WARN');
    assert.equal(failed.next, 'given up');
    assert.match(failed.reason, new RegExp(name));
    await handle.delete();
  });

  test('a pause on failure, and its end by somebody', async () => {
    const handle = await create(world, 'fails', { policies: { pauseOnFailure: true } });
    await handle.trigger();
    const fired = await line('schedule_fired', handle.scheduleId);
    assert.deepEqual(await line('schedule_paused', handle.scheduleId), {
      level: 'WARN',
      namespace: NAMESPACE,
      schedule_id: handle.scheduleId,
      workflow_id: fired.workflow_id,
      run_id: fired.run_id,
      reason: 'a workflow failed',
    });
    await handle.delete();
  });

  test('the last action, and the end of the schedule', async () => {
    const own = connectOwn(world.server);
    const scheduleId = `s-${randomUUID()}`;
    await own.workflows.createSchedule({
      namespace: NAMESPACE,
      scheduleId,
      requestId: randomUUID(),
      schedule: {
        spec: { interval: [{ interval: { seconds: 1 } }] },
        action: {
          startWorkflow: {
            workflowId: `${scheduleId}-w`,
            workflowType: { name: 'hello' },
            taskQueue: { name: world.taskQueue },
          },
        },
        state: { limitedActions: true, remainingActions: 1 },
        extras: { keepAfterEnd: { seconds: 1 } },
      },
    });
    own.close();
    const about = { level: 'INFO', namespace: NAMESPACE, schedule_id: scheduleId, reason: 'no remaining actions' };
    assert.deepEqual(await line('schedule_exhausted', scheduleId), about);
    assert.deepEqual(await line('schedule_ended', scheduleId), about);
    assert.equal(lines(world.server, 'schedule_exhausted', scheduleId).length, 1);
  });

  test('none has a payload or a message of a failure', () => {
    assert.match(world.server.log, /schedule_fired/);
    assert.doesNotMatch(world.server.log, new RegExp(`${SECRET}|no such order`));
  });
});

describe('metrics', () => {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'rondo-watching-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const settings = path.join(directory, 'settings');
  writeFileSync(settings, '');
  const world = openWorldWith({ flags: ['--settings', settings] });
  const schedules = (seen, state) => seen.value('rondo_schedules', { namespace: NAMESPACE, state });
  const open = (seen) => seen.value('rondo_workflows_open', { namespace: NAMESPACE });
  const closed = (seen, workflow_type, status) =>
    seen.value('rondo_workflows_closed_total', { namespace: NAMESPACE, workflow_type, status });
  const oldest = (seen, task_queue, kind = 'workflow') =>
    seen.value('rondo_task_queue_oldest_seconds', { namespace: NAMESPACE, task_queue, kind });

  test('runs are counted by how they end', async () => {
    await world.execute('hello', ['Ada']);
    await assert.rejects(world.execute('fails'));
    await world.execute('countdown', [2]);
    const [stopped, cancelled, stays] = await Promise.all(['forever', 'forever', 'forever'].map((type) => world.start(type)));
    await stopped.terminate();
    await cancelled.cancel();
    await assert.rejects(cancelled.result());
    const seen = await metrics(world.server);
    assert.equal(closed(seen, 'hello', 'completed'), 1);
    assert.equal(closed(seen, 'fails', 'failed'), 1);
    assert.equal(closed(seen, 'countdown', 'continued_as_new'), 2);
    assert.equal(closed(seen, 'countdown', 'completed'), 1);
    assert.equal(closed(seen, 'forever', 'terminated'), 1);
    assert.equal(closed(seen, 'forever', 'canceled'), 1);
    assert.equal(open(seen), 1);
    await stays.terminate();
    await eventually(async () => open(await metrics(world.server)) === 0);
  });

  test('workflow tasks that fail', async () => {
    const handle = await world.start('failsTasksUntil', [Number.MAX_SAFE_INTEGER]);
    const failures = { namespace: NAMESPACE, workflow_type: 'failsTasksUntil', cause: 'failed' };
    await eventually(async () => (await metrics(world.server)).value('rondo_workflow_task_failures_total', failures) >= 1);
    await handle.terminate();
  });

  test('the files and the disk', async () => {
    const { value } = await metrics(world.server);
    assert.ok(value('rondo_store_bytes', { file: 'data' }) >= 4096);
    assert.ok(value('rondo_store_bytes', { file: 'wal' }) > 0);
    assert.ok(value('rondo_disk_size_bytes') > value('rondo_disk_free_bytes'));
    assert.ok(value('rondo_disk_free_bytes') > 0);
  });

  test('gauges are the same after a crash, and go on from there', async () => {
    await create(world, 'hello');
    const paused = await create(world, 'hello', { state: { paused: true } });
    const failing = await create(world, 'fails', { policies: { pauseOnFailure: true } });
    await failing.trigger();
    await eventually(async () => schedules(await metrics(world.server), 'paused_by_failure') === 1);
    const waiting = await world.start('forever');
    await world.start('hello', [], { taskQueue: 'nobody' });
    await world.start('hello', [], { taskQueue: 'nobody' });
    const state = (seen) => ({
      open: open(seen),
      schedules: ['active', 'paused', 'paused_by_failure'].map((name) => schedules(seen, name)),
      unpolled: seen.value('rondo_task_queues_unpolled', { kind: 'workflow' }),
    });
    await eventually(async () => oldest(await metrics(world.server), 'nobody') > 0.5);
    const before = await metrics(world.server);
    assert.deepEqual(state(before), { open: 3, schedules: [1, 1, 1], unpolled: 1 });
    assert.equal(oldest(before, 'nobody'), before.value('rondo_oldest_task_seconds', { kind: 'workflow' }));
    assert.ok(before.value('rondo_schedule_times_total', { fate: 'started' }) > 0);
    assert.doesNotMatch(world.server.log, /schedule_fired/); // nobody asked for these lines

    await world.server.killAndRestart();
    const seen = await metrics(world.server);
    assert.deepEqual(state(seen), state(before));
    assert.ok(oldest(seen, 'nobody') >= oldest(before, 'nobody'), 'a task does not get younger by a restart');
    assert.equal(closed(seen, 'hello', 'completed'), 0, 'counters begin at zero');

    const found = [];
    for await (const s of world.client.schedule.list({ query: 'SchedulePausedByFailure = true' })) found.push(s.scheduleId);
    assert.deepEqual(found, [failing.scheduleId]);
    await failing.unpause('looked at');
    await paused.delete();
    await waiting.terminate();
    const end = { open: 2, schedules: [2, 0, 0], unpolled: 1 };
    await eventually(async () => JSON.stringify(state(await metrics(world.server))) === JSON.stringify(end));
    await world.server.killAndRestart();
    assert.deepEqual(state(await metrics(world.server)), end);
  });

  test('lines of what fires can be asked for while the server runs', async () => {
    const handle = await create(world, 'hello');
    writeFileSync(settings, 'log-schedules = info\n');
    world.server.child.kill('SIGHUP');
    await eventually(() => /settings_read .*log_schedules=info/.test(world.server.log));
    await handle.trigger();
    await eventually(() => lines(world.server, 'schedule_fired', handle.scheduleId).length === 1);
    await handle.delete();
  });
});
