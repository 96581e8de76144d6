// Schedules through the SDK's own client: what is created is what is described, and what is due is started,
// once, under its policy.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { eventually, failure, inNewWorld, openWorld, replayAll } from './lib/world.mjs';

const NAMESPACE = 'default';
const NEVER = { calendars: [{ year: 2099 }] };
const EVERY_SECOND = { intervals: [{ every: '1s' }] };

const world = openWorld();

const startOf = (type, args = [], options = {}) => ({
  type: 'startWorkflow',
  workflowType: type,
  args,
  taskQueue: world.taskQueue,
  ...options,
});

// A schedule that is gone when the body ends, however it ends; its runs are noted for the replay.
async function withSchedule(options, body, where = world) {
  const scheduleId = `s-${randomUUID()}`;
  const action = { workflowId: `${scheduleId}-w`, ...options.action, taskQueue: where.taskQueue };
  const handle = await where.client.schedule.create({ scheduleId, ...options, action });
  try {
    await body(handle, action.workflowId);
  } finally {
    await where.endSchedule(handle);
  }
}

const actions = async (handle) => (await handle.describe()).info.recentActions;
const runIds = async (handle) => (await actions(handle)).map((each) => each.action.workflow.workflowId);

// Triggers are named by the second, so two of them in one second would have one name. Without a policy of its own
// the SDK would ask for ALLOW_ALL.
async function trigger(handle, overlap) {
  await sleep(1000 - (Date.now() % 1000) + 5);
  await handle.trigger(overlap);
}

describe('a schedule', { timeout: 180_000 }, () => {
  test('gives back the search attributes of its action with their types', async () => {
    await world.client.connection.operatorService.addSearchAttributes({
      namespace: NAMESPACE,
      searchAttributes: { OfAction: 2 }, // a keyword
    });
    const action = startOf('hello', [], { searchAttributes: { OfAction: ['untyped'] } });
    await withSchedule({ action, spec: NEVER }, async (handle) => {
      const typed = async () => (await handle.describe()).action.typedSearchAttributes.getAll();
      const expected = [{ key: { name: 'OfAction', type: 'KEYWORD' }, value: 'untyped' }];
      assert.deepEqual(await typed(), expected);
      await handle.update((previous) => ({ ...previous, action }));
      assert.deepEqual(await typed(), expected);
    });
  });

  test('is described as it was created', async () => {
    const options = {
      action: startOf('hello', ['Ada'], { memo: { note: 'in the action' } }),
      spec: {
        calendars: [{ hour: { start: 2, end: 7, step: 1 }, dayOfWeek: ['MONDAY', 'FRIDAY'], comment: 'early' }],
        intervals: [{ every: '1h', offset: '5m' }],
        skip: [{ month: 'DECEMBER', hour: '*' }],
        jitter: '30s',
        timezone: 'Europe/Berlin',
        startAt: new Date('2030-01-01T00:00:00Z'),
        endAt: new Date('2031-01-01T00:00:00Z'),
      },
      policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 day', pauseOnFailure: true },
      state: { note: 'as asked', paused: true, remainingActions: 3 },
      memo: { owner: 'ops' },
    };
    await withSchedule(options, async (handle, workflowId) => {
      const d = await handle.describe();
      assert.equal(d.spec.calendars.length, 1);
      assert.equal(d.spec.calendars[0].comment, 'early');
      assert.deepEqual(d.spec.calendars[0].hour, [{ start: 2, end: 7, step: 1 }]);
      assert.deepEqual(d.spec.calendars[0].second, [{ start: 0, end: 0, step: 1 }]);
      assert.deepEqual(d.spec.intervals, [{ every: 3_600_000, offset: 300_000 }]);
      assert.equal(d.spec.skip.length, 1);
      assert.equal(d.spec.jitter, 30_000);
      assert.equal(d.spec.timezone, 'Europe/Berlin');
      assert.deepEqual(d.spec.startAt, new Date('2030-01-01T00:00:00Z'));
      assert.equal(d.policies.overlap, ScheduleOverlapPolicy.BUFFER_ONE);
      assert.equal(d.policies.catchupWindow, 86_400_000);
      assert.equal(d.policies.pauseOnFailure, true);
      assert.deepEqual(
        { note: d.state.note, paused: d.state.paused, remaining: d.state.remainingActions },
        { note: 'as asked', paused: true, remaining: 3 }
      );
      assert.equal(d.action.workflowId, workflowId);
      assert.deepEqual(d.action.args, ['Ada']);
      assert.deepEqual(d.action.memo, { note: 'in the action' });
      assert.deepEqual(d.memo, { owner: 'ops' });
      assert.equal(d.info.numActionsTaken, 0);
      assert.equal(d.info.nextActionTimes.length, 3);
    });
  });

  test('has policies that are written out, and no times before now', async () => {
    await withSchedule({ spec: EVERY_SECOND, action: startOf('hello', ['x']), state: { paused: true } }, async (handle) => {
      const d = await handle.describe();
      assert.equal(d.policies.overlap, ScheduleOverlapPolicy.SKIP);
      assert.equal(d.policies.catchupWindow, 365 * 86_400_000);
      assert.equal(d.info.nextActionTimes.length, 10);
      for (const time of d.info.nextActionTimes) assert.equal(time.getTime() % 1000, 0);
    });
  });

  test('has a retry policy that is written out, so that an update can send it back', async () => {
    const action = startOf('hello', [], { retry: { maximumAttempts: 3 } });
    await withSchedule({ action, spec: NEVER }, async (handle) => {
      const expected = {
        maximumAttempts: 3,
        initialInterval: 1000,
        backoffCoefficient: 2,
        maximumInterval: 100_000,
        nonRetryableErrorTypes: [],
      };
      assert.deepEqual((await handle.describe()).action.retry, expected);
      await handle.update((previous) => ({ ...previous, state: { ...previous.state, note: 'seen' } }));
      const { action: after, state } = await handle.describe();
      assert.deepEqual(after.retry, expected);
      assert.equal(state.note, 'seen');
    });
  });

  test('with an id that is taken is refused, and the first one stays', async () => {
    await withSchedule({ spec: NEVER, action: startOf('hello', ['first']) }, async (handle) => {
      const again = world.client.schedule.create({
        scheduleId: handle.scheduleId,
        spec: NEVER,
        action: startOf('hello', ['second']),
      });
      assert.ok((await failure(again)) instanceof ScheduleAlreadyRunning);
      assert.deepEqual((await handle.describe()).action.args, ['first']);
    });
  });

  test('is created once by a request that comes twice, also after a restart', async () => {
    await inNewWorld(async (own) => {
      const workflow = { workflowId: 'w', workflowType: { name: 'hello' }, taskQueue: { name: own.taskQueue } };
      const schedule = { spec: { interval: [{ interval: { seconds: 3600 } }] }, action: { startWorkflow: workflow } };
      const request = { namespace: NAMESPACE, scheduleId: 'twice', schedule, requestId: randomUUID() };
      const { conflictToken } = await own.service.createSchedule(request);
      assert.deepEqual((await own.service.createSchedule(request)).conflictToken, conflictToken);
      await own.server.kill();
      await own.server.launch();
      assert.deepEqual((await own.service.createSchedule(request)).conflictToken, conflictToken);
      const error = await failure(own.service.createSchedule({ ...request, requestId: randomUUID() }));
      assert.equal(error.code, status.ALREADY_EXISTS);
    });
  });

  test('that can never act is answered at once, and says so', async () => {
    const always = { second: '*', minute: '*', hour: '*' };
    for (const spec of [
      { cronExpressions: ['0 0 31 2 *'] },
      { calendars: [{ month: 'FEBRUARY', dayOfMonth: 30 }] },
      { intervals: [{ every: '1s' }], skip: [always] },
      { cronExpressions: ['0 0 30 2 *'], timezone: 'Europe/Berlin' },
      {},
    ]) {
      await withSchedule({ spec, action: startOf('hello', ['x']) }, async (handle) => {
        assert.deepEqual((await handle.describe()).info.nextActionTimes, []);
        await handle.update((previous) => previous);
        assert.deepEqual((await handle.describe()).info.nextActionTimes, []);
      });
    }
  });

  test('that is deleted is not found, and its id is free', async () => {
    const scheduleId = `gone-${randomUUID()}`;
    for (const name of ['one', 'two']) {
      const handle = await world.client.schedule.create({ scheduleId, spec: NEVER, action: startOf('hello', [name]) });
      assert.deepEqual((await handle.describe()).action.args, [name]);
      await handle.delete();
      assert.ok((await failure(handle.describe())) instanceof ScheduleNotFoundError);
      assert.ok((await failure(handle.delete())) instanceof ScheduleNotFoundError);
      assert.ok((await failure(handle.trigger())) instanceof ScheduleNotFoundError);
    }
  });

  test('with a spec that makes no sense is refused with the place', async () => {
    for (const [spec, text] of [
      [{ cronExpressions: ['61 * * * *'] }, /Minute/],
      [{ cronExpressions: ['* * *'] }, /5-7 fields/],
      [{ intervals: [{ every: '1s', offset: '5s' }] }, /phase/i],
      [{ cronExpressions: ['0 0 * * *'], timezone: 'Mars/Olympus' }, /Mars/],
    ]) {
      const scheduleId = `bad-${randomUUID()}`;
      const error = await failure(world.client.schedule.create({ scheduleId, spec, action: startOf('hello', ['x']) }));
      assert.ok(error instanceof TypeError, String(error)); // what this SDK makes of INVALID_ARGUMENT
      assert.match(error.message, text);
      await assert.rejects(world.client.schedule.getHandle(scheduleId).describe(), ScheduleNotFoundError);
    }
  });

  test('starts what is due, once for each time, with the two attributes', async () => {
    await withSchedule({ spec: EVERY_SECOND, action: startOf('hello', ['Ada']) }, async (handle, workflowId) => {
      await eventually(async () => (await handle.describe()).info.numActionsTaken >= 3);
      await handle.pause('enough');
      await eventually(async () => (await actions(handle)).length >= 3);
      const ids = await runIds(handle);
      assert.equal(new Set(ids).size, ids.length);
      for (const [index, each] of (await actions(handle)).entries()) {
        const nominal = each.scheduledAt.toISOString().replace('.000Z', 'Z');
        assert.equal(ids[index], `${workflowId}-${nominal}`);
        const run = world.client.workflow.getHandle(ids[index]);
        assert.equal(await run.result(), 'Hello, Ada!');
        const { searchAttributes } = await run.describe();
        assert.deepEqual(searchAttributes.TemporalScheduledById, [handle.scheduleId]);
        assert.equal(searchAttributes.TemporalScheduledStartTime[0].getTime(), each.scheduledAt.getTime());
        assert.ok(each.takenAt >= each.scheduledAt);
      }
    });
  });

  test('does nothing while it is paused, says why, and goes on', async () => {
    await withSchedule({ spec: EVERY_SECOND, action: startOf('hello', ['x']), state: { paused: true } }, async (handle) => {
      await sleep(2200);
      assert.equal((await handle.describe()).info.numActionsTaken, 0);
      await handle.unpause('go');
      const d = await handle.describe();
      assert.deepEqual([d.state.paused, d.state.note], [false, 'go']);
      await eventually(async () => (await handle.describe()).info.numActionsTaken >= 1);
      await handle.pause('stop');
      assert.equal((await handle.describe()).state.note, 'stop');
    });
  });

  test('stops after its remaining actions, and triggers do not count', async () => {
    const options = { spec: EVERY_SECOND, action: startOf('hello', ['x']), state: { remainingActions: 2 } };
    await withSchedule(options, async (handle) => {
      await eventually(async () => (await handle.describe()).info.numActionsTaken === 2);
      await sleep(1500);
      await trigger(handle, ScheduleOverlapPolicy.ALLOW_ALL);
      await eventually(async () => (await handle.describe()).info.numActionsTaken === 3);
      const d = await handle.describe();
      assert.equal(d.state.remainingActions, 0);
      assert.deepEqual(d.info.nextActionTimes, []);
    });
  });

  test('hands on the last result', async () => {
    await withSchedule({ spec: NEVER, action: startOf('tally') }, async (handle) => {
      for (const expected of [1, 2, 3]) {
        await trigger(handle);
        const ids = await eventually(async () => {
          const all = await runIds(handle);
          return all.length === expected && all;
        });
        assert.equal(await world.client.workflow.getHandle(ids.at(-1)).result(), expected);
        await eventually(async () => (await handle.describe()).info.runningActions.length === 0);
      }
    });
  });

  test('pauses itself when a run fails, if it is asked to', async () => {
    const options = { spec: NEVER, action: startOf('fails'), policies: { pauseOnFailure: true } };
    await withSchedule(options, async (handle, workflowId) => {
      await trigger(handle);
      const d = await eventually(async () => {
        const now = await handle.describe();
        return now.state.paused && now;
      });
      assert.match(d.state.note, new RegExp(workflowId));
    });
  });

  test('takes a backfill, both ends included', async () => {
    const options = { spec: { cronExpressions: ['0 12 * * *'] }, action: startOf('hello', ['x']) };
    await withSchedule(options, async (handle, workflowId) => {
      await handle.backfill({
        start: new Date('2024-03-01T12:00:00Z'),
        end: new Date('2024-03-04T12:00:00Z'),
        overlap: ScheduleOverlapPolicy.ALLOW_ALL,
      });
      await eventually(async () => (await handle.describe()).info.numActionsTaken === 4);
      const days = (await runIds(handle)).map((id) => id.slice(workflowId.length + 1)).sort();
      assert.deepEqual(days, ['01', '02', '03', '04'].map((day) => `2024-03-${day}T12:00:00Z`));
    });
  });

  test('an update changes what it says and keeps the count', async () => {
    await withSchedule({ spec: EVERY_SECOND, action: startOf('hello', ['old']) }, async (handle) => {
      await eventually(async () => (await handle.describe()).info.numActionsTaken >= 1);
      await handle.update((previous) => ({
        ...previous,
        spec: { intervals: [{ every: '3h' }] },
        action: { ...previous.action, args: ['new'] },
        state: { ...previous.state, note: 'changed' },
      }));
      const d = await handle.describe();
      assert.deepEqual(d.spec.intervals.map((each) => each.every), [3 * 3_600_000]);
      assert.deepEqual([d.action.args, d.state.note], [['new'], 'changed']);
      assert.ok(d.info.numActionsTaken >= 1);
      await sleep(1500);
      assert.equal((await handle.describe()).info.numActionsTaken, d.info.numActionsTaken);
    });
  });

  test('an update with an old token is refused and changes nothing', async () => {
    await withSchedule({ spec: NEVER, action: startOf('hello', ['x']) }, async (handle) => {
      const before = await world.service.describeSchedule({ namespace: NAMESPACE, scheduleId: handle.scheduleId });
      await handle.pause('meanwhile');
      const error = await failure(
        world.service.updateSchedule({
          namespace: NAMESPACE,
          scheduleId: handle.scheduleId,
          schedule: before.schedule,
          conflictToken: before.conflictToken,
          identity: 'test',
          requestId: randomUUID(),
        })
      );
      assert.equal(error.code, status.FAILED_PRECONDITION);
      assert.equal((await handle.describe()).state.note, 'meanwhile');
    });
  });

  test('what calendars cannot say survives a describe and an update by the SDK', async () => {
    const year = new Date().getUTCFullYear() + 1;
    const texts = [
      '0 9 L * *',
      '0 9 L-3 * *',
      '0 9 15W * *',
      '0 9 LW * *',
      '30 8 * * 5#2',
      '30 8 * * 5L',
      '0 9 ? * 1',
      'H H * * *',
      'CRON_TZ=Europe/Berlin;missing=shift 30 2 * * *',
      'CRON_TZ=Europe/Berlin;missing=skip;repeated=first 30 2 * * *',
      'CRON_TZ=Europe/Berlin;repeated=last 30 2 * * *',
      '@every 2 weeks from 2026-01-05T09:00',
      '@every 3 months from 2026-01-31T09:00',
      '@every PT15M',
      `R20/${year}-01-05T09:00/P1D`,
      'DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;BYDAY=MO,WE EXDATE:20260112T090000',
      '@dbos 0 11-19/5 * * *',
      '@dbos 0 */10 * * * *',
      `@at ${year}-03-01T09:00`,
    ];
    for (const text of texts) {
      await withSchedule({ spec: { cronExpressions: [text] }, action: startOf('hello', ['x']) }, async (handle) => {
        const times = async () => (await handle.describe()).info.nextActionTimes;
        const before = await times();
        assert.equal(before.length, text.startsWith('@at') ? 1 : 10, text);
        for (let i = 0; i < 2; i++) {
          const { spec } = await handle.describe();
          await handle.update((previous) => previous);
          assert.deepEqual((await handle.describe()).spec, spec, text);
        }
        const behind = (time) => time > Math.max(before[0], Date.now());
        assert.deepEqual((await times()).filter(behind).slice(0, 8), before.filter(behind).slice(0, 8), text);
      });
    }
  });

  test('time zone data survives an update by the SDK, which knows only its name', async () => {
    const timezoneData = await readFile('/usr/share/zoneinfo/Asia/Kolkata');
    for (const timezoneName of ['', 'Company/Headquarters', 'Europe/Berlin']) {
      await withSchedule({ spec: NEVER, action: startOf('hello', ['x']), state: { paused: true } }, async (handle) => {
        const name = { namespace: NAMESPACE, scheduleId: handle.scheduleId };
        const raw = async () => (await world.service.describeSchedule(name)).schedule;
        const times = async () => (await handle.describe()).info.nextActionTimes;
        const spec = { cronString: ['0 12 * * *'], timezoneName, timezoneData };
        await world.service.updateSchedule({ ...name, schedule: { ...(await raw()), spec }, requestId: randomUUID() });
        const before = await times();
        assert.equal(before[0].toISOString().slice(11, 16), '06:30');
        await handle.update((previous) => ({ ...previous, state: { ...previous.state, note: 'by the SDK' } }));
        assert.deepEqual([(await handle.describe()).state.note, await times()], ['by the SDK', before]);
        assert.deepEqual(Buffer.from((await raw()).spec.timezoneData), timezoneData);
        await handle.update((previous) => ({ ...previous, spec: { ...previous.spec, timezone: 'UTC' } }));
        assert.equal((await times())[0].toISOString().slice(11, 16), '12:00');
      });
    }
  });

  test('keeps, replaces and clears memo and search attributes by updates', async () => {
    await world.client.connection.operatorService.addSearchAttributes({
      namespace: NAMESPACE,
      searchAttributes: { OfSchedule: 2 }, // a keyword
    });
    const found = async (value) => {
      const ids = [];
      for await (const each of world.client.schedule.list({ query: `OfSchedule = "${value}"` })) ids.push(each.scheduleId);
      return ids;
    };
    const payload = (value) => ({
      metadata: { encoding: Buffer.from('json/plain') },
      data: Buffer.from(JSON.stringify(value)),
    });
    const options = { spec: NEVER, action: startOf('hello', ['x']), memo: { owner: 'ops' }, searchAttributes: { OfSchedule: ['one'] } };
    await withSchedule(options, async (handle) => {
      const { scheduleId } = handle;
      const shown = async () => {
        const { memo, searchAttributes } = await handle.describe();
        return [memo ?? {}, searchAttributes];
      };
      const update = async (more) => {
        const { schedule } = await world.service.describeSchedule({ namespace: NAMESPACE, scheduleId });
        await world.service.updateSchedule({ namespace: NAMESPACE, scheduleId, schedule, requestId: randomUUID(), ...more });
      };
      assert.deepEqual([await shown(), await found('one')], [[{ owner: 'ops' }, { OfSchedule: ['one'] }], [scheduleId]]);
      await update({}); // left out: they stay
      assert.deepEqual(await shown(), [{ owner: 'ops' }, { OfSchedule: ['one'] }]);
      await update({
        memo: { fields: { team: payload('db') } },
        searchAttributes: { indexedFields: { OfSchedule: payload('two') } },
      });
      assert.deepEqual(await shown(), [{ team: 'db' }, { OfSchedule: ['two'] }]);
      assert.deepEqual([await found('one'), await found('two')], [[], [scheduleId]]);
      await update({ memo: { fields: {} }, searchAttributes: { indexedFields: {} } });
      assert.deepEqual([await shown(), await found('two')], [[{}, {}], []]);
      const cleared = await world.service.describeSchedule({ namespace: NAMESPACE, scheduleId });
      assert.deepEqual([cleared.memo, cleared.searchAttributes], [null, null], 'absent, not empty');
      const { schedules } = await world.service.listSchedules({ namespace: NAMESPACE, query: `ScheduleId = "${scheduleId}"` });
      assert.deepEqual(schedules.map((s) => [s.memo?.fields, s.searchAttributes?.indexedFields]), [[{}, {}]], 'in a row of a list they are empty');
    });
  });
});

describe('overlap', { timeout: 180_000 }, () => {
  // A run that waits for a signal is in the way of two triggers.
  async function inTheWay(overlap, body) {
    const options = { spec: NEVER, action: startOf('collect'), policies: { overlap } };
    await withSchedule(options, async (handle) => {
      await trigger(handle, overlap);
      const [first] = await eventually(async () => {
        const ids = await runIds(handle);
        return ids.length === 1 && ids;
      });
      await trigger(handle, overlap);
      await trigger(handle, overlap);
      await body(handle, world.client.workflow.getHandle(first), async (count) => {
        await eventually(async () => (await runIds(handle)).length === count);
        return (await runIds(handle)).map((id) => world.client.workflow.getHandle(id));
      });
    });
  }

  test('SKIP leaves out what comes meanwhile', async () => {
    await inTheWay(ScheduleOverlapPolicy.SKIP, async (handle, first) => {
      const { info } = await handle.describe();
      assert.deepEqual([info.numActionsTaken, info.numActionsSkippedOverlap], [1, 2]);
      await first.signal('stop');
      await first.result();
    });
  });

  test('BUFFER_ONE keeps the first that waits', async () => {
    await inTheWay(ScheduleOverlapPolicy.BUFFER_ONE, async (handle, first, started) => {
      assert.equal((await handle.describe()).info.numActionsSkippedOverlap, 1);
      await first.signal('stop');
      const [, second] = await started(2);
      await second.signal('stop');
      await second.result();
      assert.equal((await runIds(handle)).length, 2);
    });
  });

  test('BUFFER_ALL runs one after the other', async () => {
    await inTheWay(ScheduleOverlapPolicy.BUFFER_ALL, async (handle, first, started) => {
      assert.equal((await handle.describe()).raw.info.bufferSize.toNumber(), 2);
      await first.signal('stop');
      const [, second] = await started(2);
      await second.signal('stop');
      const [, , third] = await started(3);
      await third.signal('stop');
      await third.result();
    });
  });

  test('CANCEL_OTHER cancels, and the newest follows', async () => {
    const overlap = ScheduleOverlapPolicy.CANCEL_OTHER;
    await withSchedule({ spec: NEVER, action: startOf('forever'), policies: { overlap } }, async (handle) => {
      await trigger(handle, overlap);
      const [first] = await eventually(async () => {
        const ids = await runIds(handle);
        return ids.length === 1 && ids;
      });
      await trigger(handle, overlap);
      await eventually(async () => (await world.client.workflow.getHandle(first).describe()).status.name === 'CANCELLED');
      const ids = await eventually(async () => {
        const all = await runIds(handle);
        return all.length === 2 && all;
      });
      assert.equal((await world.client.workflow.getHandle(ids[1]).describe()).status.name, 'RUNNING');
      await world.client.workflow.getHandle(ids[1]).terminate();
    });
  });

  test('TERMINATE_OTHER terminates, and the newest follows', async () => {
    await inTheWay(ScheduleOverlapPolicy.TERMINATE_OTHER, async (handle, first, started) => {
      assert.equal((await eventually(async () => {
        const { status: now } = await first.describe();
        return now.name !== 'RUNNING' && now;
      })).name, 'TERMINATED');
      const all = await started(3);
      await all.at(-1).signal('stop');
      await all.at(-1).result();
    });
  });

  test('ALLOW_ALL runs side by side', async () => {
    await inTheWay(ScheduleOverlapPolicy.ALLOW_ALL, async (handle, first, started) => {
      const all = await started(3);
      assert.equal((await handle.describe()).info.runningActions.length, 3);
      for (const each of all) await each.signal('stop');
      for (const each of all) await each.result();
    });
  });
});

describe('lists of schedules', { timeout: 120_000 }, () => {
  const listed = async (query) => {
    const found = [];
    for await (const each of world.client.schedule.list({ query, pageSize: 2 })) found.push(each.scheduleId);
    return found.sort();
  };

  test('are consistent at once, in pages, filtered, and never show workflows', async () => {
    const group = randomUUID();
    const make = (name, state) =>
      world.client.schedule.create({
        scheduleId: `list-${group}-${name}`,
        spec: NEVER,
        action: startOf('hello', ['x']),
        state,
      });
    const handles = [await make('a'), await make('b', { paused: true }), await make('c')];
    const ids = handles.map((each) => each.scheduleId);
    assert.deepEqual(await listed(`ScheduleId STARTS_WITH "list-${group}"`), ids);
    assert.deepEqual(await listed(`ScheduleId = "${ids[0]}"`), [ids[0]]);
    assert.deepEqual(await listed(`TemporalSchedulePaused = true AND ScheduleId STARTS_WITH "list-${group}"`), [ids[1]]);
    await handles[0].pause('now');
    assert.deepEqual(await listed(`TemporalSchedulePaused = true AND ScheduleId STARTS_WITH "list-${group}"`), ids.slice(0, 2));
    const { count } = await world.service.countSchedules({
      namespace: NAMESPACE,
      query: `ScheduleId STARTS_WITH "list-${group}"`,
    });
    assert.equal(count.toNumber(), 3);
    await handles[2].delete();
    assert.deepEqual(await listed(`ScheduleId STARTS_WITH "list-${group}"`), ids.slice(0, 2));
    for await (const run of world.client.workflow.list({ query: 'TemporalNamespaceDivision = "TemporalScheduler"' }))
      assert.fail(`a workflow list shows ${run.workflowId}`);
    const error = await failure(world.service.listSchedules({ namespace: NAMESPACE, query: 'WorkflowId = "x"' }));
    assert.deepEqual([error.code, /cannot filter on/.test(error.details)], [status.INVALID_ARGUMENT, true]);
    for (const each of handles.slice(0, 2)) await each.delete();
  });
});

describe('a list of schedules', { timeout: 180_000 }, () => {
  test('is asked for what schedules are doing', async () => {
    const found = async (handle, query) => {
      const ids = [];
      for await (const each of world.client.schedule.list({ query: `ScheduleId = "${handle.scheduleId}" AND ${query}` }))
        ids.push(each.scheduleId);
      return ids.length === 1;
    };
    const overlap = ScheduleOverlapPolicy.BUFFER_ALL;
    await withSchedule({ spec: NEVER, action: startOf('collect'), policies: { overlap } }, async (handle) => {
      assert.ok(await found(handle, 'ScheduleNextActionTime > "2098-06-01T00:00:00Z"'));
      assert.ok(!(await found(handle, 'ScheduleNextActionTime < "2098-06-01T00:00:00Z"')));
      assert.ok(!(await found(handle, 'ScheduleIdleCloseTime > "2020-01-01T00:00:00Z"')));
      assert.ok(await found(handle, 'ScheduleRunningWorkflowCount = 0'));
      await trigger(handle, overlap);
      await trigger(handle, overlap);
      await eventually(async () => found(handle, 'ScheduleRunningWorkflowCount = 1 AND ScheduleBufferedStartsCount = 1'));
    });
    await withSchedule({ spec: {}, action: startOf('hello', ['x']) }, async (handle) => {
      assert.ok(await found(handle, `ScheduleIdleCloseTime > "${new Date(Date.now() + 6 * 86_400_000).toISOString()}"`));
      assert.ok(!(await found(handle, 'ScheduleNextActionTime > "2020-01-01T00:00:00Z"')));
    });
  });

  test('has ten entries of each kind of a spec, the description has all', async () => {
    const calendars = Array.from({ length: 12 }, (_, i) => ({ year: 2099, hour: i }));
    const spec = { calendars, skip: calendars, intervals: Array.from({ length: 12 }, (_, i) => ({ every: `${i + 9000}h` })) };
    await withSchedule({ spec, action: startOf('hello', ['x']), state: { paused: true } }, async (handle) => {
      const counts = (of) => [of.calendars.length, of.skip.length, of.intervals.length];
      assert.deepEqual(counts((await handle.describe()).spec), [12, 12, 12]);
      for await (const each of world.client.schedule.list({ query: `ScheduleId = "${handle.scheduleId}"` }))
        assert.deepEqual(counts(each.spec), [10, 10, 10]);
    });
  });
});

describe('a server that dies', { timeout: 180_000 }, () => {
  test('loses no time and starts none twice', async () => {
    await inNewWorld(async (own) => {
      await withSchedule(
        { spec: EVERY_SECOND, action: startOf('hello', ['x']), policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL } },
        async (handle, workflowId) => {
          for (let kill = 0; kill < 4; kill++) {
            const before = (await handle.describe()).info.numActionsTaken;
            await eventually(async () => (await handle.describe()).info.numActionsTaken >= before + 2);
            await own.server.kill();
            await sleep(1300);
            await own.server.launch();
          }
          await handle.pause('enough');
          await eventually(async () => (await handle.describe()).info.runningActions.length === 0);
          const times = [];
          for await (const run of own.client.workflow.list({ query: `TemporalScheduledById = "${handle.scheduleId}"` }))
            times.push(Date.parse(run.workflowId.slice(workflowId.length + 1)));
          times.sort((a, b) => a - b);
          assert.equal(new Set(times).size, times.length, 'none twice');
          assert.equal(times.length, (await handle.describe()).info.numActionsTaken);
          for (let i = 1; i < times.length; i++) assert.equal(times[i] - times[i - 1], 1000, 'none left out');
        },
        own
      );
    });
  });
});

replayAll(world);
