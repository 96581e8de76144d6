// What the SDK's schedule client cannot say: our own fields and our own calls, beside the SDK's client.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { defaultPayloadConverter } from '@temporalio/common';
import { connectOwn } from './lib/own.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const NAMESPACE = 'default';
const NEVER = { structuredCalendar: [{ year: [{ start: 2099 }] }] };
const ALLOW_ALL = 'SCHEDULE_OVERLAP_POLICY_ALLOW_ALL';
const BUFFER_ALL = 'SCHEDULE_OVERLAP_POLICY_BUFFER_ALL';
const SKIP = 'SCHEDULE_OVERLAP_POLICY_SKIP';

const world = openWorld();
let connection;
const own = () => (connection ??= connectOwn(world.server));
after(() => connection?.close());

async function withSchedule({ type = 'hello', extras, policies, spec = NEVER, retryPolicy, args = [] }, body) {
  const scheduleId = `x-${randomUUID()}`;
  const startWorkflow = {
    workflowId: `${scheduleId}-w`,
    workflowType: { name: type },
    taskQueue: { name: world.taskQueue },
    retryPolicy,
    input: { payloads: args.map((each) => defaultPayloadConverter.toPayload(each)) },
  };
  const schedule = { spec, action: { startWorkflow }, policies, extras };
  await own().workflows.createSchedule({ namespace: NAMESPACE, scheduleId, schedule, requestId: randomUUID() });
  try {
    await body(world.client.schedule.getHandle(scheduleId), startWorkflow.workflowId);
  } finally {
    await world.endSchedule(world.client.schedule.getHandle(scheduleId));
  }
}

const described = ({ scheduleId }) => own().workflows.describeSchedule({ namespace: NAMESPACE, scheduleId });
const trigger = async ({ scheduleId }, request = {}) =>
  (await own().schedules.triggerSchedule({ namespace: NAMESPACE, scheduleId, ...request })).entry;
const ledger = async ({ scheduleId }) =>
  (await own().schedules.listScheduleLedger({ namespace: NAMESPACE, scheduleId })).entries.reverse();
const fateOf = (entry) => entry.fate.replace('LEDGER_FATE_', '');
const stop = (workflowId) => world.client.workflow.getHandle(workflowId).signal('stop');

describe('a trigger', { timeout: 120_000 }, () => {
  test('says what it started, once for each request id', async () => {
    await withSchedule({ type: 'collect', policies: { overlapPolicy: SKIP } }, async (handle) => {
      const requestId = randomUUID();
      const first = await trigger(handle, { requestId });
      assert.equal(fateOf(first), 'STARTED');
      const run = await world.client.workflow.getHandle(first.workflowId).describe();
      assert.deepEqual([run.runId, run.status.name], [first.runId, 'RUNNING']);
      assert.deepEqual(await trigger(handle, { requestId }), first);
      assert.equal(fateOf(await trigger(handle)), 'OVERLAP_SKIPPED');
      const beside = await trigger(handle, { overlapPolicy: ALLOW_ALL });
      assert.equal(fateOf(beside), 'STARTED');
      assert.notEqual(beside.runId, first.runId);
      assert.equal((await described(handle)).info.actionCount, 2);
    });
  });

  test('may name its time', async () => {
    await withSchedule({}, async (handle, workflowId) => {
      const entry = await trigger(handle, { scheduledTime: { seconds: 1_700_000_000 } });
      assert.equal(entry.workflowId, `${workflowId}-2023-11-14T22:13:20Z`);
      const error = await failure(trigger(handle, { scheduledTime: { seconds: 1e17 } }));
      assert.deepEqual([error.code, /ScheduledTime/.test(error.details)], [status.INVALID_ARGUMENT, true]);
    });
  });
});

describe('a backfill', { timeout: 120_000 }, () => {
  test('shows its progress and can be cancelled', async () => {
    const spec = { interval: [{ interval: { seconds: 3600 } }] };
    await withSchedule({ type: 'collect', spec, policies: { overlapPolicy: BUFFER_ALL } }, async (handle) => {
      const { scheduleId } = handle;
      const backfills = async () =>
        (await own().schedules.listBackfills({ namespace: NAMESPACE, scheduleId })).backfills;
      const range = { start: new Date('2024-01-01T00:00:00Z'), end: new Date('2024-01-01T04:30:00Z') };
      await handle.backfill({ ...range, overlap: 'BUFFER_ALL' });
      const [shown] = await eventually(async () => {
        const all = await backfills();
        return all[0]?.started === 1 && all;
      });
      assert.deepEqual([shown.considered, shown.started, shown.waiting], [5, 1, 4]);
      assert.equal(shown.progressTime.seconds * 1000, range.end.getTime());
      assert.deepEqual((await described(handle)).info.backfills, [shown]);
      const cancel = () =>
        own().schedules.cancelBackfill({ namespace: NAMESPACE, scheduleId, backfillId: shown.id });
      await cancel();
      assert.deepEqual(await backfills(), []);
      const rows = (await ledger(handle)).filter((each) => each.backfillId === shown.id);
      assert.deepEqual(rows.map(fateOf), ['STARTED', 'CANCELED', 'CANCELED', 'CANCELED', 'CANCELED']);
      assert.equal((await failure(cancel())).code, status.NOT_FOUND);
    });
  });
});

describe('our own fields', { timeout: 120_000 }, () => {
  test('all survive a describe and an update by the SDK, and so do the times', async () => {
    const holiday = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    await own().schedules.putHolidayCalendar({ namespace: NAMESPACE, calendar: { name: 'extras', dates: [holiday] } });
    const extras = {
      maxConcurrentRuns: 3,
      pauseUntil: { seconds: Math.floor(Date.now() / 1000) + 86_400 },
      holidayCalendars: ['extras'],
      keepAfterEnd: { seconds: 3600 },
      workflowIdFormat: '{id}/{schedule}/%Y%m%d',
      onlyWhileActive: true,
      passesTimes: true,
    };
    await withSchedule({ extras, spec: { cronString: ['0 12 L,* * *'] } }, async (handle) => {
      const before = await described(handle);
      assert.ok(before.info.futureActionTimes.every((each) => !new Date(each.seconds * 1000).toISOString().startsWith(holiday)));
      for (const [name, value] of Object.entries(extras)) {
        const got = before.schedule.extras[name];
        assert.deepEqual(got.seconds ?? got, value.seconds ?? value, name);
      }
      await handle.update((previous) => ({ ...previous, state: { ...previous.state, note: 'by the SDK' } }));
      const later = await described(handle);
      assert.equal(later.schedule.state.notes, 'by the SDK');
      assert.deepEqual(later.schedule.extras, before.schedule.extras);
      assert.deepEqual(later.info.futureActionTimes, before.info.futureActionTimes);
      assert.deepEqual(later.schedule.spec, before.schedule.spec);
    });
  });

  test('let several run at a time, and no more', async () => {
    await withSchedule({ type: 'collect', extras: { maxConcurrentRuns: 2 } }, async (handle) => {
      const fates = [];
      for (let i = 0; i < 3; i++) fates.push(fateOf(await trigger(handle)));
      assert.deepEqual(fates, ['STARTED', 'STARTED', 'OVERLAP_SKIPPED']);
    });
  });

  test('keep the workflow id, or make another', async () => {
    const at = { scheduledTime: { seconds: 1_700_000_000 } };
    await withSchedule({ policies: { keepOriginalWorkflowId: true } }, async (handle, workflowId) => {
      assert.equal((await trigger(handle, at)).workflowId, workflowId);
      await eventually(async () => (await described(handle)).info.runningWorkflows.length === 0);
      assert.equal((await trigger(handle, at)).workflowId, workflowId);
    });
    await withSchedule({ extras: { workflowIdFormat: '{id}/%Y%m%d-%H%M%S' } }, async (handle, workflowId) => {
      assert.equal((await trigger(handle, at)).workflowId, `${workflowId}/20231114-221320`);
    });
  });

  test('pass both times to the workflow, as DBOS does', async () => {
    await withSchedule({ extras: { passesTimes: true } }, async (handle) => {
      const { workflowId, startTime } = await trigger(handle, { scheduledTime: { seconds: 1_700_000_000 } });
      const { events } = await world.client.workflow.getHandle(workflowId).fetchHistory();
      const { payloads } = events[0].workflowExecutionStartedEventAttributes.input;
      const [scheduled, actual] = payloads.map((each) => defaultPayloadConverter.fromPayload(each));
      assert.equal(scheduled, '2023-11-14T22:13:20.000Z');
      assert.ok(Math.abs(Date.parse(actual) - startTime.seconds * 1000) <= 2000, actual);
    });
  });

  test('pause it until a time', async () => {
    const until = Math.floor(Date.now() / 1000) + 3;
    await withSchedule({ extras: { pauseUntil: { seconds: until } } }, async (handle) => {
      assert.equal((await described(handle)).schedule.state.paused, true);
      await eventually(async () => !(await described(handle)).schedule.state.paused);
      assert.ok(Date.now() / 1000 >= until);
      assert.ok(!(await described(handle)).schedule.extras.pauseUntil);
    });
  });

  test('name holidays that are gone, and describe says so', async () => {
    const calendar = { name: `gone-${randomUUID()}`, dates: ['2030-01-01'] };
    await own().schedules.putHolidayCalendar({ namespace: NAMESPACE, calendar });
    await withSchedule({ extras: { holidayCalendars: [calendar.name] } }, async (handle) => {
      assert.deepEqual((await described(handle)).info.missingHolidayCalendars, []);
      const users = await own().workflows.listSchedules({
        namespace: NAMESPACE,
        query: `ScheduleHolidayCalendars = "${calendar.name}"`,
      });
      assert.deepEqual(users.schedules.map((each) => each.scheduleId), [handle.scheduleId]);
      assert.deepEqual(users.schedules[0].info.holidayCalendars, [calendar.name]);
      await own().schedules.deleteHolidayCalendar({ namespace: NAMESPACE, name: calendar.name });
      assert.deepEqual((await described(handle)).info.missingHolidayCalendars, [calendar.name]);
    });
  });
});

describe('an action', { timeout: 120_000 }, () => {
  const rowOf = async (handle, { id }) => (await ledger(handle)).find((each) => each.id === id);
  const endOf = async (handle, entry) =>
    (await eventually(async () => {
      const row = await rowOf(handle, entry);
      return row.closeTime && row;
    })).status.replace('WORKFLOW_EXECUTION_STATUS_', '');

  test('runs until its chain ends, also when it continues as new', async () => {
    await withSchedule({ type: 'collectTwice', policies: { overlapPolicy: SKIP } }, async (handle) => {
      const entry = await trigger(handle);
      const action = world.client.workflow.getHandle(entry.workflowId);
      await stop(entry.workflowId);
      await eventually(async () => (await action.describe()).runId !== entry.runId);
      assert.equal(fateOf(await trigger(handle)), 'OVERLAP_SKIPPED');
      assert.ok(!(await rowOf(handle, entry)).closeTime);
      await stop(entry.workflowId);
      assert.equal(await endOf(handle, entry), 'COMPLETED');
      assert.equal(fateOf(await trigger(handle)), 'STARTED');
    });
  });

  test('runs until its chain ends, also when it was reset', async () => {
    await withSchedule({ type: 'collect', policies: { overlapPolicy: SKIP } }, async (handle) => {
      const entry = await trigger(handle);
      const action = world.client.workflow.getHandle(entry.workflowId);
      await eventually(async () => (await action.fetchHistory()).events.length >= 4);
      await world.service.resetWorkflowExecution({
        namespace: NAMESPACE,
        workflowExecution: { workflowId: entry.workflowId },
        workflowTaskFinishEventId: 4,
        requestId: randomUUID(),
      });
      assert.equal(fateOf(await trigger(handle)), 'OVERLAP_SKIPPED');
      assert.ok(!(await rowOf(handle, entry)).closeTime);
      await stop(entry.workflowId);
      assert.equal(await endOf(handle, entry), 'COMPLETED');
    });
  });

  test('has failed when its last attempt has, and only then it pauses the schedule', async () => {
    const retryPolicy = { initialInterval: { nanos: 1e8 }, maximumAttempts: 3 };
    await withSchedule({ type: 'failsUntilAttempt', args: [9], policies: { pauseOnFailure: true }, retryPolicy }, async (handle) => {
      const entry = await trigger(handle);
      assert.equal(await endOf(handle, entry), 'FAILED');
      const runs = [];
      for await (const run of world.client.workflow.list({ query: `WorkflowId = "${entry.workflowId}"` })) runs.push(run);
      assert.equal(runs.length, 3);
      assert.equal((await described(handle)).schedule.state.paused, true);
    });
  });
});

describe('the last result', { timeout: 120_000 }, () => {
  // time ---------------------------------------------->
  //  A     |----------------------|
  //  B               |-------|
  //  C                          |---------------|
  //  D                                |--------------T
  test('is the one of the run that ended last before the start', async () => {
    await withSchedule({ type: 'successor', policies: { overlapPolicy: ALLOW_ALL } }, async (handle) => {
      const begin = async () => (await trigger(handle)).workflowId;
      const resultOf = (id) => world.client.workflow.getHandle(id).result();
      const end = async (id) => {
        await stop(id);
        const result = await resultOf(id);
        const row = async () => (await ledger(handle)).find((each) => each.workflowId === id);
        await eventually(async () => (await row()).closeTime);
        return result;
      };
      const a = await begin();
      const b = await begin();
      assert.deepEqual(await end(b), { id: b, given: null });
      const c = await begin();
      assert.deepEqual(await end(a), { id: a, given: null });
      const d = await begin();
      assert.deepEqual(await end(c), { id: c, given: b });
      assert.deepEqual(await end(d), { id: d, given: a });
    });
  });
});

replayAll(world);
