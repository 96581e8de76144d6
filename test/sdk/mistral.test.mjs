// Mistral's published client, unmodified, against Rondo's dialect of its API; the examples are those of its
// guide to schedules. What it makes the Temporal SDK sees, and the other way round.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { Mistral } from '@mistralai/mistralai';
import { HTTPValidationError } from '@mistralai/mistralai/models/errors';
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
    for (const gone of [shown(scheduleId), update(scheduleId, {}), schedules().unscheduleWorkflow({ scheduleId }),
                        schedules().pauseSchedule({ scheduleId }), schedules().triggerSchedule({ scheduleId })])
      await refused(gone, 404, /./);
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
    const wrong = await fetch(`${url()}/v1/workflows/schedules`, { method: 'PUT' });
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('allow'), 'GET, HEAD, POST');
  });
});

replayAll(world);
