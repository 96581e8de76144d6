// Mistral's published client, unmodified, against Rondo's dialect of its API; the examples are those of its
// guide to schedules. What it makes the Temporal SDK sees, and the other way round.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Mistral } from '@mistralai/mistralai';
import { HTTPValidationError } from '@mistralai/mistralai/models/errors';
import { Runs } from './lib/history.mjs';
import { Server } from './lib/server.mjs';
import { RunningWorker, connect } from './lib/worker.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();
const url = () => `http://127.0.0.1:${world.server.httpPort}`;
let made;
const mistral = () => (made ??= new Mistral({ serverURL: url(), apiKey: 'any' })).workflows;
const schedules = () => mistral().schedules;

const one = (start, end = start, step = 1) => [{ start, end, step }];
const EVERY_DAY = { dayOfMonth: one(1, 31), month: one(1, 12), year: [], dayOfWeek: one(0, 6), comment: null };
const NEVER = { cronExpressions: ['0 0 1 1 * 2099'] };

// Makes a schedule, hands its id to `body`, and removes it with what it started.
async function withSchedule(schedule, body, more = {}) {
  const request = { workflowIdentifier: 'same', deploymentName: world.taskQueue, schedule, ...more };
  const { scheduleId } = await schedules().scheduleWorkflow(request);
  try {
    return await body(scheduleId);
  } finally {
    await world.endSchedule(world.client.schedule.getHandle(scheduleId));
  }
}

const shown = (scheduleId) => schedules().getSchedule({ scheduleId });
const update = (scheduleId, schedule) =>
  schedules().updateSchedule({ scheduleId, workflowScheduleUpdateRequest: { schedule } });

// The places that a 422 names, each with its type.
async function complaints(promise) {
  const error = await failure(promise);
  assert.ok(error instanceof HTTPValidationError, error);
  return error.detail.map(({ loc, msg, type }) => {
    assert.ok(msg.length > 0);
    return [loc.join('.'), type];
  });
}

async function refused(promise, status, text) {
  const error = await failure(promise);
  assert.equal(error.statusCode, status, error);
  assert.match(JSON.parse(error.body).detail, text);
}

// The run that a schedule started, as the Temporal SDK has it.
async function firstRun(scheduleId) {
  const { recentExecutions } = await eventually(async () => {
    const schedule = await shown(scheduleId);
    return schedule.recentExecutions.length && schedule;
  });
  return world.client.workflow.getHandle(recentExecutions[0].executionId);
}

describe('schedules', { timeout: 240_000 }, () => {
  test('every day at nine', async () => {
    const schedule = { input: { report_type: 'daily' }, calendars: [{ hour: [{ start: 9 }], minute: [{ start: 0 }] }] };
    await withSchedule(schedule, async (id) => {
      const seen = await shown(id);
      assert.deepEqual(seen.calendars, [{ second: one(0), minute: one(0), hour: one(9), ...EVERY_DAY }]);
      assert.deepEqual(seen.input, { report_type: 'daily' });
      assert.equal(seen.scheduleId, id);
      assert.equal(seen.workflowName, 'same');
      assert.equal(seen.deploymentName, world.taskQueue);
      assert.equal(seen.paused, false);
      assert.equal(seen.remainingExecutions, null);
      assert.equal(seen.futureExecutions.length, 10);
      for (const { scheduledAt } of seen.futureExecutions) assert.match(scheduledAt.toISOString(), /T09:00:00\.000Z$/);
      const own = await world.client.schedule.getHandle(id).describe();
      assert.deepEqual(own.action.args, [{ report_type: 'daily' }]);
      assert.equal(own.action.workflowType, 'same');
      assert.deepEqual(own.info.nextActionTimes.map(String), seen.futureExecutions.map((each) => String(each.scheduledAt)));
    });
  });

  test('calendars with ranges: Monday to Friday at half past nine', async () => {
    const calendar = { hour: [{ start: 9 }], minute: [{ start: 30 }], dayOfWeek: [{ start: 1, end: 5 }] };
    await withSchedule({ input: {}, calendars: [calendar] }, async (id) => {
      const { futureExecutions } = await shown(id);
      for (const { scheduledAt } of futureExecutions) {
        assert.match(scheduledAt.toISOString(), /T09:30:00\.000Z$/);
        assert.ok(scheduledAt.getUTCDay() >= 1 && scheduledAt.getUTCDay() <= 5);
      }
    });
  });

  test('steps: every quarter of an hour', async () => {
    const calendar = { hour: [{ start: 0, end: 23 }], minute: [{ start: 0, end: 59, step: 15 }] };
    await withSchedule({ input: {}, calendars: [calendar] }, async (id) => {
      const [first, second] = (await shown(id)).futureExecutions;
      assert.equal(first.scheduledAt.getUTCMinutes() % 15, 0);
      assert.equal(second.scheduledAt - first.scheduledAt, 15 * 60_000);
    });
  });

  test('intervals: every four hours, half an hour into each', async () => {
    await withSchedule({ input: {}, intervals: [{ every: 'PT4H', offset: 'PT30M' }] }, async (id) => {
      const { intervals, futureExecutions } = await shown(id);
      assert.deepEqual(intervals, [{ every: 'PT4H', offset: 'PT30M' }]);
      for (const { scheduledAt } of futureExecutions) assert.match(scheduledAt.toISOString(), /T(00|04|08|12|16|20):30:00/);
    });
    const written = ['PT30M', 'PT1H', 'P1D', 'PT2H30M', 'PT1M30S', 'P2DT3H', 'P7D'];
    await withSchedule({ input: {}, intervals: written.map((every) => ({ every })) }, async (id) => {
      const seen = (await shown(id)).intervals;
      assert.deepEqual(seen.map((each) => each.every), written);
      assert.deepEqual(seen.map((each) => each.offset), written.map(() => null));
    });
  });

  test('cron expressions are calendars to Temporal, and shown as they were written', async () => {
    const written = ['0 9 * * 1-5', '*/15 8-18 1 * * # on the first', '0 0 L * *', '@hourly'];
    await withSchedule({ input: {}, cronExpressions: written, calendars: [{ hour: [{ start: 4 }] }] }, async (id) => {
      const seen = await shown(id);
      assert.deepEqual([...seen.cronExpressions].sort(), [...written].sort());
      assert.equal(seen.calendars.length, 1);
      const own = await world.client.schedule.getHandle(id).describe();
      assert.equal(own.spec.calendars.length, written.length + 1);
    });
  });

  test('bounds and exceptions: not on Christmas Day, not after the end', async () => {
    const schedule = {
      input: {},
      calendars: [{ hour: [{ start: 9 }], minute: [{ start: 30 }] }],
      startAt: new Date('2098-12-24T09:30:00Z'),
      endAt: new Date('2098-12-31T09:30:00Z'),
      skip: [{ month: [{ start: 12 }], dayOfMonth: [{ start: 25 }] }],
    };
    await withSchedule(schedule, async (id) => {
      const { futureExecutions, startAt, endAt, skip } = await shown(id);
      const days = futureExecutions.map((each) => each.scheduledAt.toISOString().slice(0, 10));
      assert.deepEqual(days, [24, 26, 27, 28, 29, 30, 31].map((day) => `2098-12-${day}`));
      assert.deepEqual([startAt, endAt], [schedule.startAt, schedule.endAt]);
      assert.deepEqual(skip[0].hour, one(0, 23));
    });
  });

  test('policies, jitter, a time zone and a limit are kept', async () => {
    const policy = { overlap: 2, catchupWindowSeconds: 86400, pauseOnFailure: true };
    const schedule = { input: { source: 'postgres' }, cronExpressions: ['0 9 * * 1'], policy, jitter: 'PT5M',
                       timeZoneName: 'Europe/Paris', maxExecutions: 4 };
    await withSchedule(schedule, async (id) => {
      const seen = await shown(id);
      assert.deepEqual(seen.policy, policy);
      assert.equal(seen.jitter, 'PT5M');
      assert.equal(seen.timeZoneName, 'Europe/Paris');
      assert.equal(seen.remainingExecutions, 4);
      assert.equal(seen.futureExecutions.length, 4);
      const own = await world.client.schedule.getHandle(id).describe();
      assert.equal(own.policies.overlap, 'BUFFER_ONE');
      assert.equal(own.policies.pauseOnFailure, true);
      assert.equal(own.spec.timezone, 'Europe/Paris');
      assert.equal(own.spec.jitter, 300_000);
    });
    await withSchedule({ input: null, ...NEVER }, async (id) => {
      const seen = await shown(id);
      assert.deepEqual(seen.policy, { overlap: 1, catchupWindowSeconds: 31536000, pauseOnFailure: false });
      assert.equal(seen.input, null);
    });
  });

  test('a run gets the input, and the schedule stops after its limit', async () => {
    await withSchedule({ input: { n: [1.5, 'é'] }, intervals: [{ every: 'PT1S' }], maxExecutions: 1 }, async (id) => {
      const run = await firstRun(id);
      assert.deepEqual(await run.result(), { n: [1.5, 'é'] });
      const { remainingExecutions, recentExecutions, futureExecutions } = await shown(id);
      assert.equal(remainingExecutions, 0);
      assert.equal(recentExecutions.length, 1);
      assert.ok(recentExecutions[0].startedAt >= recentExecutions[0].scheduledAt);
      assert.deepEqual(futureExecutions, []);
      assert.ok(recentExecutions[0].executionId.startsWith(id));
    });
  });

  test('an update changes what it names, and nothing else', async () => {
    const schedule = { input: { a: 1 }, cronExpressions: ['0 9 * * 1-5'], calendars: [{ hour: [{ start: 4 }] }],
                       jitter: 'PT1M', policy: { overlap: 3 }, maxExecutions: 7, timeZoneName: 'Asia/Tokyo' };
    await withSchedule(schedule, async (id) => {
      const before = await shown(id);
      const changed = async (partial) => {
        assert.deepEqual(await update(id, partial), { scheduleId: id });
        const { futureExecutions, ...rest } = await shown(id);
        return rest;
      };
      const { futureExecutions, ...same } = before;
      assert.deepEqual(await changed({}), same);
      assert.deepEqual(await changed({ cronExpressions: ['1 2 * * *'] }), { ...same, cronExpressions: ['1 2 * * *'] });
      const calendars = [{ hour: [{ start: 10 }], minute: [{ start: 0 }] }];
      const calendar = { second: one(0), minute: one(0), hour: one(10), ...EVERY_DAY };
      const now = { ...same, cronExpressions: ['1 2 * * *'], calendars: [calendar] };
      assert.deepEqual(await changed({ calendars }), now);
      assert.deepEqual(await changed({ jitter: null, maxExecutions: null, timeZoneName: null, input: [2] }),
                       { ...now, jitter: null, remainingExecutions: null, timeZoneName: null, input: [2] });
    });
  });

  test('updates at the same time lose nothing of each other', async () => {
    await withSchedule({ input: 0, ...NEVER }, async (id) => {
      const parts = [{ input: { n: 1 } }, { jitter: 'PT9S' }, { timeZoneName: 'Asia/Tokyo' }, { maxExecutions: 5 },
                     { intervals: [{ every: 'P1D' }] }, { calendars: [{ hour: [{ start: 3 }] }] }, { policy: { overlap: 4 } }];
      await Promise.all(parts.map((part) => update(id, part)));
      const seen = await shown(id);
      assert.deepEqual([seen.input, seen.jitter, seen.timeZoneName, seen.remainingExecutions], [{ n: 1 }, 'PT9S', 'Asia/Tokyo', 5]);
      assert.deepEqual([seen.intervals[0].every, seen.calendars[0].hour, seen.policy.overlap], ['P1D', one(3), 4]);
      assert.deepEqual(seen.cronExpressions, NEVER.cronExpressions);
    });
  });

  test('pause, resume and trigger', async () => {
    await withSchedule({ input: 'by hand', ...NEVER }, async (id) => {
      await schedules().pauseSchedule({ scheduleId: id, workflowSchedulePauseRequest: { note: 'Paused for maintenance' } });
      assert.deepEqual([(await shown(id)).paused, (await shown(id)).note], [true, 'Paused for maintenance']);
      assert.equal((await world.client.schedule.getHandle(id).describe()).state.paused, true);
      await schedules().resumeSchedule({ scheduleId: id, workflowSchedulePauseRequest: { note: 'Maintenance complete' } });
      assert.deepEqual([(await shown(id)).paused, (await shown(id)).note], [false, 'Maintenance complete']);
      await schedules().pauseSchedule({ scheduleId: id });
      await schedules().resumeSchedule({ scheduleId: id });
      await schedules().triggerSchedule({ scheduleId: id, workflowScheduleTriggerRequest: { overlap: 6 } });
      assert.equal(await (await firstRun(id)).result(), 'by hand');
      await schedules().triggerSchedule({ scheduleId: id });
      await eventually(async () => (await shown(id)).recentExecutions.length === 2);
    });
  });

  test('ids: chosen, taken already, unknown', async () => {
    const scheduleId = `own ${randomUUID()}/é`;
    await withSchedule({ input: 1, ...NEVER }, async (id) => {
      assert.equal(id, scheduleId);
      assert.equal((await shown(id)).scheduleId, scheduleId);
      const again = { workflowIdentifier: 'same', deploymentName: 'x', schedule: { input: 1, ...NEVER, scheduleId } };
      await refused(schedules().scheduleWorkflow(again), 409, /already/);
      assert.deepEqual(await complaints(schedules().scheduleWorkflow({ ...again, scheduleId: 'other' })),
                       [['body.schedule_id', 'value_error']]);
    }, { scheduleId });
    const calls = ['getSchedule', 'unscheduleWorkflow', 'pauseSchedule', 'resumeSchedule', 'triggerSchedule'];
    for (const name of calls) await refused(schedules()[name]({ scheduleId }), 404, /not found/);
    await refused(update(scheduleId, {}), 404, /not found/);
  });

  test('lists: by workflow, by status, in pages', async () => {
    const ids = Array.from({ length: 5 }, (_, i) => `listed-${i}-${randomUUID()}`);
    const types = ['listA', 'listA', 'listAB', 'listB', 'listB'];
    const make = (i) => schedules().scheduleWorkflow({ scheduleId: ids[i], workflowIdentifier: types[i], deploymentName: 'q',
                                                       schedule: { input: i, ...NEVER } });
    for (let i = 0; i < ids.length; i++) await make(i);
    await schedules().pauseSchedule({ scheduleId: ids[1] });
    const list = async (request) => {
      const all = [];
      for await (const { result } of await schedules().getSchedules(request)) all.push(...result.schedules);
      return all.map((each) => each.scheduleId).sort();
    };
    assert.deepEqual(await list({ workflowName: 'listA' }), ids.slice(0, 2));
    assert.deepEqual(await list({ search: 'listA' }), ids.slice(0, 3));
    assert.deepEqual(await list({ search: 'list', status: 'paused' }), [ids[1]]);
    assert.deepEqual(await list({ search: 'list', status: 'active' }), [ids[0], ...ids.slice(2)]);
    assert.deepEqual(await list(), ids);
    assert.deepEqual(await list({ pageSize: 2 }), ids);
    assert.deepEqual(await list({ pageSize: 1, workflowName: 'listB' }), ids.slice(3));
    const [whole] = (await schedules().getSchedules({ workflowName: 'listAB' })).result.schedules;
    assert.deepEqual(whole, await shown(ids[2]));
    for (const scheduleId of ids) await schedules().unscheduleWorkflow({ scheduleId });
    assert.deepEqual(await list(), []);
  });

  test('schedules that the Temporal SDK made', async () => {
    const scheduleId = `theirs-${randomUUID()}`;
    const handle = await world.client.schedule.create({
      scheduleId,
      spec: { calendars: [{ hour: 3, comment: 'at night' }], cronExpressions: ['5 4 * * *'], intervals: [{ every: '90m' }] },
      action: { type: 'startWorkflow', workflowType: 'same', taskQueue: 'main', args: ['x', 2] },
      policies: { overlap: 'TERMINATE_OTHER', catchupWindow: '2h' },
      state: { paused: true, note: 'theirs' },
    });
    const seen = await shown(scheduleId);
    assert.deepEqual(seen.input, ['x', 2]);
    assert.equal(seen.note, 'theirs');
    assert.deepEqual(seen.policy, { overlap: 5, catchupWindowSeconds: 7200, pauseOnFailure: false });
    assert.deepEqual(seen.intervals, [{ every: 'PT1H30M', offset: null }]);
    assert.equal(seen.calendars.length, 2);
    assert.ok(seen.calendars.some((each) => each.comment === 'at night'));
    await update(scheduleId, { policy: { overlap: 6 } });
    assert.equal((await handle.describe()).policies.overlap, 'ALLOW_ALL');
    await schedules().unscheduleWorkflow({ scheduleId });
    await assert.rejects(handle.describe());
  });

  test('what is wrong is named with its place, and nothing is made', async () => {
    const create = (schedule, more) =>
      schedules().scheduleWorkflow({ workflowIdentifier: 'same', deploymentName: 'main', schedule: { input: 1, ...schedule }, ...more });
    const cases = [
      [{ cronExpressions: ['0 9 * * *', '0 9 * *', '99 1 * * *'] },
       [['cron_expressions.1', 'value_error'], ['cron_expressions.2', 'value_error']]],
      [{ calendars: [{}, { hour: [{ start: 1 }, { start: 25 }], month: [{ start: 0 }] }] },
       [['calendars.1.hour.1', 'value_error'], ['calendars.1.month.0', 'value_error']]],
      [{ skip: [{ dayOfWeek: [{ start: 1, end: 9 }] }] }, [['skip.0.day_of_week.0', 'value_error']]],
      [{ calendars: [{ minute: [{ start: 0, end: 59, step: -1 }] }] },
       [['calendars.0.minute.0.step', 'greater_than_equal']]],
      [{ intervals: [{ every: 'soon' }, { every: 'PT0S' }, { every: 'P1M' }, { every: 'PT1H', offset: '5' }] },
       [['intervals.0.every', 'time_delta_parsing'], ['intervals.1.every', 'greater_than_equal'],
        ['intervals.2.every', 'time_delta_parsing'], ['intervals.3.offset', 'time_delta_parsing']]],
      [{ intervals: [{ every: 'PT1H', offset: 'PT2H' }] }, [['intervals.0.offset', 'value_error']]],
      [{ timeZoneName: 'Mars/Olympus' }, [['time_zone_name', 'value_error']]],
      [{ jitter: '-PT1S' }, [['jitter', 'time_delta_parsing']]],
      [{ policy: { overlap: 7, catchupWindowSeconds: -1 } },
       [['policy.catchup_window_seconds', 'greater_than_equal'], ['policy.overlap', 'less_than_equal']]],
      [{ maxExecutions: 0 }, [['max_executions', 'greater_than_equal']]],
      [{ startAt: new Date(2e12), endAt: new Date(1e12) }, [['end_at', 'value_error']]],
      [{ calendars: [{ comment: 'x'.repeat(201) }] }, [['calendars.0.comment', 'string_too_long']]],
    ];
    for (const [schedule, expected] of cases) {
      const found = await complaints(create(schedule));
      assert.deepEqual(found.sort(), expected.map(([at, type]) => [`body.schedule.${at}`, type]).sort());
    }
    assert.deepEqual(await complaints(create({}, { workflowIdentifier: undefined })), [['body.workflow_identifier', 'missing']]);
    assert.deepEqual((await schedules().getSchedules()).result.schedules, []);
    await withSchedule({ input: 1, ...NEVER }, async (id) => {
      const before = await shown(id);
      assert.deepEqual(await complaints(update(id, { calendars: [], cronExpressions: ['x'] })),
                       [['body.schedule.cron_expressions.0', 'value_error']]);
      assert.deepEqual(await shown(id), before);
    });
    const trigger = { scheduleId: 'any', workflowScheduleTriggerRequest: { overlap: 9 } };
    assert.deepEqual(await complaints(schedules().triggerSchedule(trigger)), [['body.overlap', 'less_than_equal']]);
  });

  test('bodies and queries that no client sends', async () => {
    const send = async (method, path, body) => {
      const response = await fetch(url() + path, { method, body });
      assert.equal(response.status, 422, `${method} ${path}`);
      return (await response.json()).detail.map(({ loc, type }) => [loc.join('.'), type]);
    };
    const post = (body) => send('POST', '/v1/workflows/schedules', body);
    assert.deepEqual(await post('{"schedule": {"input": }'), [['body.23', 'json_invalid']]);
    assert.deepEqual(await post('[1]'), [['body', 'model_attributes_type']]);
    assert.deepEqual(await post('{}'), [['body.schedule', 'missing']]);
    assert.deepEqual(await post('{"schedule":{"cron_expressions":[1,"* * * * *"],"calendars":{},"paused":true,"policy":null}}'), [
      ['body.schedule.cron_expressions.0', 'string_type'],
      ['body.schedule.calendars', 'list_type'],
      ['body.schedule.paused', 'extra_forbidden'],
      ['body.schedule.policy', 'model_attributes_type'],
      ['body.schedule.input', 'missing'],
    ]);
    assert.deepEqual(await post('{"schedule":{"input":1,"input":2,"start_at":"yesterday","max_executions":1.5}}'), [
      ['body.schedule.input', 'value_error'],
      ['body.schedule.start_at', 'datetime_parsing'],
      ['body.schedule.max_executions', 'int_from_float'],
    ]);
    const get = (query) => send('GET', `/v1/workflows/schedules?${query}`);
    assert.deepEqual(await get('page_size=0&status=asleep&user_id=me&colour=red'), [
      ['query.page_size', 'greater_than_equal'],
      ['query.status', 'enum'],
      ['query.user_id', 'unsupported'],
      ['query.colour', 'extra_forbidden'],
    ]);
    assert.deepEqual(await get('page_size=x&page_size=2&next_page_token=%%'), [
      ['query.page_size', 'int_parsing'],
      ['query.next_page_token', 'value_error'],
    ]);
  });
});

const executions = () => mistral().executions;
const execute = (workflowIdentifier, request) =>
  mistral().executeWorkflow({ workflowIdentifier, workflowExecutionRequest: { deploymentName: world.taskQueue, ...request } });
const id = () => `exec-${randomUUID()}`;
const encoded = (value) => ({ b64payload: Buffer.from(JSON.stringify(value)).toString('base64') });

// Starts an execution and notes it, for the replay at the end.
async function started(type, input, request = {}) {
  const run = await execute(type, { executionId: id(), input, ...request });
  world.runs.note(run.executionId, run.runId);
  return run;
}

const got = (executionId, request) => executions().getWorkflowExecution({ executionId, ...request });
const ended = (executionId) => eventually(async () => {
  const execution = await got(executionId);
  return execution.endTime && execution;
});
const say = (what, executionId, name, input) => {
  const body = { name, input };
  if (what === 'signal') return executions().signalWorkflowExecution({ executionId, signalInvocationBody: body });
  if (what === 'query') return executions().queryWorkflowExecution({ executionId, queryInvocationBody: body });
  return executions().updateWorkflowExecution({ executionId, updateInvocationBody: body });
};

describe('executions', { timeout: 240_000 }, () => {
  test('start without waiting, then look', async () => {
    const executionId = `own id/${randomUUID()}`;
    const before = Date.now();
    const run = await execute('collect', { executionId });
    world.runs.note(executionId, run.runId);
    const { startTime, ...rest } = run;
    assert.ok(Math.abs(startTime - before) < 60_000);
    assert.deepEqual(rest, {
      workflowName: 'collect', workflowId: 'collect', deploymentName: 'main', executionId, parentExecutionId: null,
      rootExecutionId: executionId, runId: run.runId, userId: null, status: 'RUNNING', endTime: null, totalDurationMs: null,
      result: null,
    });
    assert.deepEqual(await got(executionId), run);
    const own = await world.client.workflow.getHandle(executionId).describe();
    assert.equal(own.runId, run.runId);
    assert.equal(own.type, 'collect');
    await refused(execute('collect', { executionId }), 409, /./);
    await say('signal', executionId, 'stop');
    const over = await ended(executionId);
    assert.deepEqual([over.status, over.result, over.runId], ['COMPLETED', [], run.runId]);
    assert.equal(over.totalDurationMs, over.endTime - over.startTime);
  });

  test('start and wait for the result', async () => {
    const input = { deep: [1.5, { é: null }], big: 'x'.repeat(1000) };
    const executionId = id();
    const answer = await execute('same', { executionId, input, waitForResult: true, timeoutSeconds: 30.5 });
    world.runs.note(executionId);
    assert.deepEqual(answer, { workflowName: 'same', executionId, result: input });
    const none = await execute('same', { waitForResult: true });
    world.runs.note(none.executionId);
    assert.equal(none.result ?? null, null);
    const chained = await execute('countdown', { input: 3, waitForResult: true });
    assert.equal(chained.result, 4);
    world.runs.note(chained.executionId);
  });

  test('a result that does not come in time, or not at all', async () => {
    const executionId = id();
    await refused(execute('collect', { executionId, waitForResult: true, timeoutSeconds: 0.5 }), 408, /has not ended/);
    await executions().terminateWorkflowExecution({ executionId });
    const failing = id();
    await refused(execute('fails', { executionId: failing, waitForResult: true }), 424, /failed: no such order/);
    assert.deepEqual([(await got(failing)).status, (await got(failing)).result], ['FAILED', null]);
    world.runs.note(executionId);
    world.runs.note(failing);
  });

  test('signals, queries and updates', async () => {
    const { executionId } = await started('account', 10);
    assert.deepEqual(await say('query', executionId, 'seen'), { queryName: 'seen', result: 10 });
    assert.deepEqual(await say('update', executionId, 'deposit', encoded(5)), { updateName: 'deposit', result: 15 });
    await refused(say('update', executionId, 'deposit', encoded(-5)), 424, /nothing to deposit/);
    const held = say('update', executionId, 'hold', { name: 'x' });
    assert.deepEqual(await say('signal', executionId, 'add', {}), { message: 'Signal accepted' });
    assert.deepEqual((await held).result, { name: 'x' });
    assert.equal((await say('update', executionId, 'close')).result, 15);
    assert.equal((await ended(executionId)).result, 15);
    assert.equal((await say('query', executionId, 'seen')).result, 15);
    await refused(say('query', executionId, 'nope'), 400, /nope/);
    await refused(say('signal', executionId, 'add', {}), 404, /./);
  });

  test('encoded inputs', async () => {
    const { executionId } = await started('collect');
    await say('signal', executionId, 'add', encoded('plain'));
    await say('signal', executionId, 'add', { some: 'object' });
    await say('signal', executionId, 'add', { b64payload: '', empty: true });
    const bad = await complaints(say('signal', executionId, 'add', { b64payload: '!' }));
    assert.deepEqual(bad, [['body.input.b64payload', 'value_error']]);
    await eventually(async () => (await say('query', executionId, 'seen')).result.length === 3);
    assert.deepEqual((await say('query', executionId, 'seen')).result.slice(0, 2), ['plain', { some: 'object' }]);
    await say('signal', executionId, 'stop');
    await ended(executionId);
  });

  test('cancel, terminate, and many at once', async () => {
    const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map(() => started('forever')));
    await executions().cancelWorkflowExecution({ executionId: a.executionId });
    assert.equal((await ended(a.executionId)).status, 'CANCELED');
    await executions().terminateWorkflowExecution({ executionId: b.executionId });
    assert.equal((await ended(b.executionId)).status, 'TERMINATED');
    await refused(executions().terminateWorkflowExecution({ executionId: b.executionId }), 404, /./);
    const cancelled = await executions().batchCancelWorkflowExecutions({ executionIds: [c.executionId, 'nobody', c.executionId] });
    assert.deepEqual(Object.keys(cancelled.results).sort(), [c.executionId, 'nobody'].sort());
    assert.deepEqual(cancelled.results[c.executionId], { status: 'success', error: null });
    assert.equal(cancelled.results.nobody.status, 'failure');
    assert.match(cancelled.results.nobody.error, /./);
    assert.equal((await ended(c.executionId)).status, 'CANCELED');
    await executions().batchTerminateWorkflowExecutions({ executionIds: [d.executionId] });
    assert.equal((await ended(d.executionId)).status, 'TERMINATED');
    assert.deepEqual(await complaints(executions().batchCancelWorkflowExecutions({ executionIds: [] })),
                     [['body.execution_ids', 'too_short']]);
  });

  test('reset', async () => {
    const { executionId, runId } = await started('collect');
    await say('signal', executionId, 'add', encoded(1));
    await eventually(async () => (await say('query', executionId, 'seen')).result.length === 1);
    const { events } = await executions().getWorkflowExecutionHistory({ executionId });
    const eventId = Number(events.find((each) => each.eventType === 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED').eventId);
    await executions().resetWorkflow({ executionId, resetInvocationBody: { eventId, reason: 'again', excludeSignals: true } });
    const now = await got(executionId);
    assert.notEqual(now.runId, runId);
    world.runs.note(executionId, now.runId);
    assert.deepEqual((await say('query', executionId, 'seen')).result, []);
    await say('signal', executionId, 'stop');
    await ended(executionId);
    await refused(executions().resetWorkflow({ executionId: 'nobody', resetInvocationBody: { eventId: 4 } }), 404, /./);
    assert.deepEqual(await complaints(executions().resetWorkflow({ executionId, resetInvocationBody: { eventId: 0 } })),
                     [['body.event_id', 'greater_than_equal']]);
  });

  test('histories, with payloads decoded and not', async () => {
    const { executionId, runId } = await started('hello', 'Ada');
    await ended(executionId);
    const { events } = await executions().getWorkflowExecutionHistory({ executionId });
    assert.deepEqual(events[0].workflowExecutionStartedEventAttributes.input, ['Ada']);
    assert.equal(events.at(-1).eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED');
    const raw = (await executions().getWorkflowExecutionHistory({ executionId, decodePayloads: false })).events;
    assert.equal(raw[0].workflowExecutionStartedEventAttributes.input.payloads[0].data, btoa('"Ada"'));
    assert.deepEqual(await mistral().runs.getRunHistory({ runId }), { events });
    await refused(executions().getWorkflowExecutionHistory({ executionId: 'nobody' }), 404, /./);
    const long = await started('timers', Array.from({ length: 200 }, () => 1));
    await ended(long.executionId);
    const { length } = (await executions().getWorkflowExecutionHistory({ executionId: long.executionId })).events;
    assert.ok(length > 400, length);
  });

  test('search keys', async () => {
    const { executionId } = await started('same', 1);
    await ended(executionId);
    const { searchKeys } = await got(executionId, { includeSearchKeys: true });
    assert.deepEqual(Object.keys(searchKeys), ['BuildIds']);
    assert.match(searchKeys.BuildIds, /^\["unversioned"/);
    assert.equal((await got(executionId)).searchKeys, undefined);
    await refused(got('nobody'), 404, /./);
  });

  test('where it runs, when no deployment is named', async () => {
    const free = (type, request) =>
      mistral().executeWorkflow({ workflowIdentifier: type, workflowExecutionRequest: { input: 1, waitForResult: true, ...request } });
    const unknown = await free('echoes');
    world.runs.note(unknown.executionId);
    assert.equal(unknown.result, 1);
    await world.withWorker('second', async () => {
      await eventually(async () => (await mistral().deployments.listDeployments({ search: 'second' })).deployments.length);
      const known = await free('echoes');
      world.runs.note(known.executionId);
      await refused(free('neverRun'), 409, /main, second/);
      const other = await free('echoes', { deploymentName: 'second' });
      world.runs.note(other.executionId);
      await refused(free('echoes'), 409, /more than one deployment.*(main, second|second, main)/);
      const old = await free('echoes', { deploymentName: undefined, taskQueue: 'second' });
      world.runs.note(old.executionId);
      assert.equal((await got(old.executionId)).deploymentName, 'second');
      const chosen = await mistral().executeWorkflowRegistration({
        workflowRegistrationId: 'echoes@second', workflowExecutionRequest: { input: 2, waitForResult: true } });
      world.runs.note(chosen.executionId);
      assert.equal(chosen.result, 2);
      const both = free('echoes', { deploymentName: 'main', taskQueue: 'second' });
      assert.deepEqual(await complaints(both), [['body.task_queue', 'value_error']]);
      await refused(mistral().executeWorkflowRegistration({ workflowRegistrationId: 'x@y', workflowExecutionRequest: {} }), 404, /x@y/);
    });
    const request = { workflowRegistrationId: 'echoes@second', schedule: { input: 1, ...NEVER } };
    const { scheduleId } = await schedules().scheduleWorkflow(request);
    assert.equal((await shown(scheduleId)).deploymentName, 'second');
    await schedules().unscheduleWorkflow({ scheduleId });
  });
});

describe('runs', { timeout: 240_000 }, () => {
  const list = async (request) => {
    const all = [];
    for await (const { result } of await mistral().runs.listRuns(request)) all.push(...result.executions);
    return all;
  };
  const ids = async (request) => (await list(request)).map((each) => each.executionId);

  test('lists by what they have', async () => {
    const made = [];
    for (let i = 0; i < 5; i++) {
      made.push(await started('impatient', i === 4 ? 3_600_000 : 1, { executionId: `run-${i}-${randomUUID()}` }));
      if (i < 4) await ended(made[i].executionId);
    }
    const names = made.map((each) => each.executionId);
    const workflowIdentifier = 'impatient';
    assert.deepEqual((await ids({ workflowIdentifier })).sort(), [...names].sort());
    assert.deepEqual((await ids({ workflowIdentifier }))[0], names[4]);
    assert.deepEqual(await ids({ workflowIdentifier, status: 'RUNNING' }), [names[4]]);
    assert.deepEqual((await ids({ workflowIdentifier, status: ['COMPLETED', 'FAILED'] })).sort(), names.slice(0, 4));
    assert.deepEqual(await ids({ workflowIdentifier, sortBy: 'start_time', order: 'asc' }), names);
    assert.deepEqual(await ids({ workflowIdentifier, sortBy: 'start_time', order: 'asc', pageSize: 2 }), names);
    assert.deepEqual(await ids({ workflowIdentifier, sortBy: 'start_time' }), [...names].reverse());
    assert.deepEqual(await ids({ workflowIdentifier, sortBy: 'end_time', order: 'asc' }), names);
    assert.equal((await ids({ workflowIdentifier, pageSize: 2 })).length, 5);
    assert.deepEqual(await ids({ search: names[2] }), [names[2]]);
    assert.equal((await ids({ search: 'impati' })).length, 5);
    assert.deepEqual(await ids({ rootExecutionId: names[1] }), [names[1]]);
    assert.deepEqual(await ids({ workflowIdentifier, deploymentName: 'elsewhere' }), []);
    const between = { startTimeAfter: made[1].startTime, startTimeBefore: made[2].startTime };
    assert.deepEqual((await ids({ workflowIdentifier, ...between })).sort(), names.slice(1, 3));
    const first = await got(names[0]);
    assert.deepEqual(await ids({ workflowIdentifier, endTimeBefore: first.endTime }), [names[0]]);
    assert.deepEqual((await ids({ workflowIdentifier, endTimeAfter: first.endTime })).sort(), names.slice(0, 4));
    assert.deepEqual(await ids({ searchKey: [`WorkflowId:${names[3]}`] }), [names[3]]);
    assert.deepEqual(await ids({ search: `it's "odd" \\` }), []);
    assert.deepEqual(await complaints(list({ searchKey: ['no colon'] })), [['query.search_key.0', 'value_error']]);
    assert.deepEqual(await complaints(list({ searchKey: ['Unknown:x'] })), [['query', 'value_error']]);
    assert.deepEqual(await complaints(list({ workflowTags: ['a'] })), [['query.workflow_tags', 'unsupported']]);
    assert.deepEqual(await complaints(list({ nextPageToken: '!' })), [['query.next_page_token', 'value_error']]);
    const { searchKeys, result, ...listed } = await mistral().runs.getRun({ runId: made[4].runId });
    assert.deepEqual((await list({ workflowIdentifier, status: 'RUNNING' }))[0], listed);
    await executions().terminateWorkflowExecution({ executionId: names[4] });
    assert.equal((await mistral().runs.getRun({ runId: made[0].runId })).result, 'cancelled');
    await refused(mistral().runs.getRun({ runId: randomUUID() }), 404, /no run/);
    await refused(mistral().runs.getRunHistory({ runId: 'x' }), 404, /no run/);
  });

  test('each run of a chain is one', async () => {
    const { executionId } = await execute('countdown', { input: 2, executionId: id() });
    await eventually(async () => (await ids({ search: executionId, status: 'COMPLETED' })).length === 1);
    const all = await list({ search: executionId });
    assert.equal(all.length, 3);
    assert.equal(new Set(all.map((each) => each.runId)).size, 3);
    assert.equal(all.filter((each) => each.status === 'CONTINUED_AS_NEW').length, 2);
    for (const { runId } of all) world.runs.note(executionId, runId);
  });
});

describe('workflows and deployments', { timeout: 240_000 }, () => {
  test('workflows are the types that ran', async () => {
    await ended((await started('same', 1)).executionId);
    const list = async (request) => {
      const all = [];
      for await (const { result } of await mistral().getWorkflows(request)) all.push(...result.workflows);
      return all.map((each) => each.name);
    };
    const names = await list();
    assert.ok(names.includes('same') && names.includes('echoes'));
    assert.deepEqual(names, [...names].sort());
    assert.deepEqual(await list({ limit: 2 }), names);
    assert.deepEqual(await list({ order: 'desc', limit: 3 }), [...names].reverse());
    assert.deepEqual(await list({ search: 'choe' }), ['echoes']);
    assert.deepEqual(await list({ deploymentName: ['second'] }), ['echoes']);
    assert.deepEqual(await list({ archived: true }), []);
    assert.ok((await list({ activeOnly: true })).includes('same'));
    assert.ok(!(await list({ deploymentStatus: 'inactive' })).includes('same'));
    const { workflow } = await mistral().getWorkflow({ workflowIdentifier: 'same' });
    assert.deepEqual(workflow, {
      id: 'same', name: 'same', displayName: 'same', type: 'code', description: null, customerId: 'default',
      workspaceId: 'default', sharedNamespace: null, availableInChatAssistant: false, isTechnical: false, archived: false,
      tags: [], active: true,
    });
    await refused(mistral().getWorkflow({ workflowIdentifier: 'nothing' }), 404, /nothing/);
  });

  test('metrics of a workflow', async () => {
    const begun = new Date();
    const runs = [await started('same', 1), await started('fails'), await started('forever')];
    for (const { executionId } of runs.slice(0, 2)) await ended(executionId);
    await executions().terminateWorkflowExecution({ executionId: runs[2].executionId });
    const metrics = (workflowName, request) => mistral().metrics.getWorkflowMetrics({ workflowName, ...request });
    const { latencyOverTime, averageLatencyMs, ...counts } = await metrics('forever', { startTime: begun });
    assert.deepEqual(counts, { executionCount: { value: 1 }, successCount: { value: 0 }, errorCount: { value: 1 }, retryRate: { value: -1 } });
    const over = await got(runs[2].executionId);
    assert.deepEqual(latencyOverTime.value, [[over.endTime.getTime(), over.totalDurationMs]]);
    assert.equal(averageLatencyMs.value, over.totalDurationMs);
    const all = await metrics('same');
    assert.ok(all.executionCount.value >= 5);
    assert.equal(all.executionCount.value, all.successCount.value + all.errorCount.value);
    assert.equal(all.latencyOverTime.value.length, all.executionCount.value);
    const none = await metrics('same', { endTime: new Date(0) });
    assert.deepEqual([none.executionCount.value, none.averageLatencyMs.value, none.latencyOverTime.value], [0, 0, []]);
    assert.equal((await metrics('nothing')).executionCount.value, 0);
  });

  test('registrations are types on queues', async () => {
    const { workflowRegistrations, nextCursor } = await mistral().getWorkflowRegistrations({ workflowId: 'echoes', withWorkflow: true });
    assert.deepEqual(workflowRegistrations.map((each) => each.id), ['echoes@main', 'echoes@second']);
    assert.equal(nextCursor, null);
    assert.equal(workflowRegistrations[0].workflow.name, 'echoes');
    const page = await mistral().getWorkflowRegistrations({ workflowId: 'echoes', limit: 1 });
    const next = await mistral().getWorkflowRegistrations({ workflowId: 'echoes', limit: 1, cursor: page.nextCursor });
    assert.deepEqual([page, next].map((each) => each.workflowRegistrations[0].deploymentName), ['main', 'second']);
    const { workflowRegistration } = await mistral().getWorkflowRegistration({ workflowRegistrationId: 'echoes@main' });
    assert.deepEqual([workflowRegistration.taskQueue, workflowRegistration.active], ['main', true]);
    await refused(mistral().getWorkflowRegistration({ workflowRegistrationId: 'a@b' }), 404, /a@b/);
  });

  test('what newer clients ask for and want to be told', async () => {
    const get = async (path) => (await fetch(`${url()}/v1/workflows/${path}`)).json();
    const deployment = await get('deployments/main');
    for (const each of [deployment, ...deployment.workers]) assert.equal(each.last_heartbeat, each.updated_at);
    const { workflow_registrations: named } = await get('registrations?workflow_name=echoes');
    assert.deepEqual(named.map((each) => each.id), ['echoes@main', 'echoes@second']);
    assert.deepEqual((await get('registrations?workflow_name=echo')).workflow_registrations, []);
    for (const filter of ['owner', 'repository_url', 'dockerfile_path'])
      assert.equal((await get(`deployments?${filter}=x`)).detail[0].type, 'unsupported');
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = [];
    for (const more of [{ traceparent }, { traceparent, force_new_trace: true }]) {
      const body = JSON.stringify({ deployment_name: 'main', wait_for_result: true, input: 1, ...more });
      const { execution_id: id } = await (await fetch(`${url()}/v1/workflows/same/execute`, { method: 'POST', body })).json();
      const { events } = await world.client.workflow.getHandle(id).fetchHistory();
      headers.push(events[0].workflowExecutionStartedEventAttributes.header?.fields.traceparent?.data.toString());
    }
    assert.deepEqual(headers, [JSON.stringify(traceparent), undefined]);
  });

  test('deployments are task queues, and workers who polls them', async () => {
    const list = async (request) => (await mistral().deployments.listDeployments(request)).deployments;
    const [main] = await list({ search: 'main' });
    assert.equal(main.isActive, true);
    assert.equal(main.activeWorkerCount, 1);
    assert.ok(main.updatedAt >= main.createdAt);
    assert.deepEqual((await list({ activeOnly: false, workflowName: 'echoes' })).map((each) => each.name), ['main', 'second']);
    assert.deepEqual((await list({ activeOnly: false, orderBy: 'created_at', order: 'asc' }))[0].name, 'main');
    assert.deepEqual(await list({ workspaceId: 'other' }), []);
    const detail = await mistral().deployments.getDeployment({ name: 'main' });
    assert.equal(detail.workers.length, 1);
    const { workers, nextCursor } = await mistral().deployments.listDeploymentWorkers({ name: 'main' });
    assert.deepEqual(workers, detail.workers);
    assert.equal(nextCursor, null);
    assert.deepEqual((await mistral().deployments.listDeploymentWorkers({ name: 'main', workerStatus: 'inactive' })).workers, []);
    await refused(mistral().deployments.getDeployment({ name: 'none' }), 404, /none/);
    await refused(mistral().deployments.getDeployment({ name: 'main', workflowName: 'nope' }), 404, /nope/);
    await refused(mistral().deployments.listDeploymentWorkers({ name: 'none' }), 404, /none/);
  });
});

describe('streams', { timeout: 240_000 }, () => {
  const open = (executionId, request) => executions().stream({ executionId, ...request });
  async function all(stream, until = () => false) {
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (until(event)) break;
    }
    return events;
  }
  const types = (events) => events.map((each) => each.data.data.eventType);

  test('from the start to the end of an execution', async () => {
    const { executionId, runId } = await started('hello', 'Ada');
    const events = await all(await open(executionId));
    assert.deepEqual(types(events), ['WORKFLOW_EXECUTION_STARTED', 'ACTIVITY_TASK_STARTED', 'ACTIVITY_TASK_COMPLETED',
                                     'WORKFLOW_EXECUTION_COMPLETED']);
    const [first, activity, done, last] = events.map((each) => each.data);
    assert.deepEqual(first.data.attributes.input, { type: 'json', value: 'Ada' });
    assert.equal(first.data.workflowRunId, runId);
    assert.deepEqual(first.workflowContext, { namespace: 'default', workflowName: 'hello', workflowExecId: executionId,
                                              parentWorkflowExecId: null, rootWorkflowExecId: executionId });
    assert.equal(activity.data.attributes.activityName, 'greet');
    assert.equal(done.data.attributes.activityName, 'greet');
    assert.equal(done.data.attributes.taskId, activity.data.attributes.taskId);
    assert.equal(last.data.attributes.result.value, 'Hello, Ada!');
    assert.ok(events.every((each, i) => i === 0 || each.data.brokerSequence > events[i - 1].data.brokerSequence));
    const rest = await all(await open(executionId, { lastEventId: events[1].id }));
    assert.deepEqual(rest, events.slice(2));
    assert.deepEqual(await all(await open(executionId, { lastEventId: events[3].id })), []);
    const browser = await fetch(`${url()}/v1/workflows/executions/${executionId}/stream`, { headers: { 'Last-Event-ID': events[2].id } });
    assert.equal(browser.headers.get('content-type'), 'text/event-stream');
    assert.equal((await browser.text()).match(/^event: .*$/gm).join(), 'event: WORKFLOW_EXECUTION_COMPLETED');
  });

  test('events come while it runs, through all runs of a chain', async () => {
    const { executionId, runId } = await started('collectTwice');
    const stream = await open(executionId);
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (event.data.data.eventType === 'WORKFLOW_EXECUTION_STARTED') {
        await say('signal', executionId, 'add', encoded(events.length));
        await say('signal', executionId, 'stop');
      }
    }
    assert.deepEqual(types(events), ['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
                                     'WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_COMPLETED']);
    const next = events[1].data.data.attributes.newExecutionRunId;
    assert.equal(events[2].data.data.workflowRunId, next);
    assert.equal(events[2].data.data.continuedRunId, runId);
    assert.equal(events[2].data.data.firstExecutionRunId, runId);
    assert.deepEqual(events[3].data.data.attributes.result.value, [1, 3]);
    world.runs.note(executionId, next);
    const rest = await all(await open(executionId, { lastEventId: events[0].id }));
    assert.deepEqual(rest, events.slice(1));
  });

  test('failures, cancellation and termination', async () => {
    const failed = await started('fails');
    const [, failure] = await all(await open(failed.executionId));
    assert.equal(failure.data.data.eventType, 'WORKFLOW_EXECUTION_FAILED');
    assert.match(failure.data.data.attributes.failure.message, /no such order/);
    const cancelled = await started('forever');
    await executions().cancelWorkflowExecution({ executionId: cancelled.executionId });
    assert.deepEqual(types(await all(await open(cancelled.executionId))).at(-1), 'WORKFLOW_EXECUTION_CANCELED');
    const terminated = await started('forever');
    await executions().terminateWorkflowExecution({ executionId: terminated.executionId });
    const last = (await all(await open(terminated.executionId))).at(-1).data.data;
    assert.equal(last.eventType, 'WORKFLOW_EXECUTION_FAILED');
    assert.match(last.attributes.failure.message, /terminated/);
  });

  test('only what is recorded, or only what is new', async () => {
    const { executionId } = await started('collect');
    assert.deepEqual(types(await all(await open(executionId, { eventSource: 'DATABASE' }))), ['WORKFLOW_EXECUTION_STARTED']);
    const stream = await open(executionId, { eventSource: 'LIVE' });
    const read = all(stream);
    await say('signal', executionId, 'stop');
    assert.deepEqual(types(await read), ['WORKFLOW_EXECUTION_COMPLETED']);
  });

  test('a stream that nobody takes or that cannot be', async () => {
    await refused(open('nobody'), 404, /./);
    const { executionId } = await started('collect');
    assert.deepEqual(await complaints(open(executionId, { lastEventId: 'x:y' })), [['query.last_event_id', 'value_error']]);
    const stream = await open(executionId);
    await all(stream, () => true);
    await say('signal', executionId, 'stop');
    await ended(executionId);
  });
});

// What waits longer than the server's long poll asks again, and nobody sees it.
test('waits are prolonged', { timeout: 120_000 }, async () => {
  const server = await Server.start({ dynamicConfig: ['history.longPollExpirationInterval="300ms"'] });
  try {
    const own = new Mistral({ serverURL: `http://127.0.0.1:${server.httpPort}`, apiKey: 'any' }).workflows;
    const client = await connect(server, new Runs());
    const worker = await RunningWorker.start(server, 'main');
    const of = (executionId) => `http://127.0.0.1:${server.httpPort}/v1/workflows/executions/${executionId}`;
    const signal = (executionId, name) => own.executions.signalWorkflowExecution({ executionId, signalInvocationBody: { name } });
    const request = { deploymentName: 'main', executionId: 'c', waitForResult: true };
    const waited = own.executeWorkflow({ workflowIdentifier: 'collect', workflowExecutionRequest: request });
    await eventually(async () => (await fetch(of('c'))).ok);
    const nothing = /^: nothing new\n\n/gm;
    let text = '';
    let isStopped = false;
    for await (const chunk of (await fetch(`${of('c')}/stream`)).body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (isStopped || (text.match(nothing) ?? []).length < 3) continue; // more than once: it goes on asking
      isStopped = true;
      await signal('c', 'stop');
    }
    assert.match(text, /^: nothing new\n\n.*WORKFLOW_EXECUTION_COMPLETED/ms);
    assert.deepEqual((await waited).result, []);
    await own.executeWorkflow({ workflowIdentifier: 'account', workflowExecutionRequest: { deploymentName: 'main', executionId: 'a' } });
    const held = own.executions.updateWorkflowExecution({ executionId: 'a', updateInvocationBody: { name: 'hold', input: { x: 1 } } });
    await sleep(1000);
    await signal('a', 'add');
    assert.deepEqual((await held).result, { x: 1 });
    await signal('a', 'stop');
    await client.workflow.getHandle('a').result();
    await worker.stop();
    await client.connection.close();
  } finally {
    await server.close();
  }
});

describe('paths', { timeout: 240_000 }, () => {
  const rows = [...readFileSync(new URL('../../src/mistral/routes.def', import.meta.url), 'utf8')
    .matchAll(/^ROUTE\((\w+), +(\w+), +"([^"]+)", (\d+), (\w+), (\w+), (\w+)\)$/gm)]
    .map(([, name, verb, path, status, , , begin]) => ({ name, verb, path, status, begin }));

  test('every call of the client has its row', () => {
    const funcs = new URL('./node_modules/@mistralai/mistralai/src/funcs/', import.meta.url);
    const calls = readdirSync(funcs).filter((file) => /^(workflows|events)\w*\.ts$/.test(file)).map((file) => {
      const text = readFileSync(new URL(file, funcs), 'utf8');
      return `${/method: "(\w+)"/.exec(text)[1]} ${/pathToFunc\(\s*"([^"]+)"/.exec(text)[1]}`;
    });
    assert.ok(calls.length > 50);
    // What only the newer client in Python has; test/python looks for all of its calls.
    const newer = ['GET /v1/workflows/deployments/{name}/archive', 'POST /v1/workflows/deployments/{deployment_id}/unharden',
                   'POST /v1/workflows/{workflow_identifier}/tags'];
    assert.deepEqual(rows.map((each) => `${each.verb} ${each.path}`).sort(), [...calls, ...newer].sort());
  });

  test('paths take their methods and no others', async () => {
    const matches = (pattern, path) => new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
    for (const { path } of rows) {
      const asked = path.replace(/\{\w+\}/g, 'no%20one');
      const taken = new Set(rows.filter((each) => matches(each.path, asked)).map((each) => each.verb));
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const body = method === 'GET' ? undefined : '{"nonsense": true}';
        const response = await fetch(url() + asked, { method, body });
        const { detail } = await response.json().catch(() => ({}));
        assert.equal(response.status === 405, !taken.has(method), `${method} ${asked} ${response.status}`);
        if (response.status !== 405) continue;
        assert.equal(detail, 'Method Not Allowed');
        assert.deepEqual(response.headers.get('allow').split(', ').filter((each) => each !== 'HEAD').sort(), [...taken].sort());
      }
    }
    const text = await (await fetch(`${url()}/v1/workflows/a/b/c`)).text();
    assert.match(text, /nothing at this path/);
  });

  test('what has no counterpart says so', async () => {
    await refused(mistral().archiveWorkflow({ workflowIdentifier: 'same' }), 501, /archiveWorkflow/);
    await refused(mistral().deployments.stopDeployment({ name: 'main' }), 501, /stopDeployment/);
    await refused(executions().getWorkflowExecutionLogs({ executionId: 'x' }), 501, /getWorkflowExecutionLogs/);
  });

  test('other namespaces, and pages of other sites', async () => {
    const get = async (headers) => (await fetch(`${url()}/v1/workflows/schedules`, { headers })).status;
    assert.equal(await get({}), 200);
    assert.equal(await get({ 'Rondo-Namespace': 'default' }), 200);
    assert.equal(await get({ 'Rondo-Namespace': 'nowhere' }), 404);
    assert.equal(await get({ Origin: 'http://evil.example' }), 403);
    assert.equal(await get({ Origin: url() }), 200);
    const head = await fetch(`${url()}/v1/workflows/schedules`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
  });
});

replayAll(world);
