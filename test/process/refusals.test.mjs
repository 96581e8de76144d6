// Requests that can never succeed, sent through the SDK's client with its standard retries. RESOURCE_EXHAUSTED,
// UNAVAILABLE, INTERNAL and UNKNOWN are tried again for half a minute, so a permanent refusal must have another status.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { NAMESPACE, payloads, scheduleRequest, seconds, startRequest, temporal, uniqueId } from './lib/client.mjs';
import { RondoProcess } from './lib/process.mjs';

const require = createRequire(new URL('../sdk/package.json', import.meta.url));
const { Client, Connection } = require('@temporalio/client');
const { status } = require('@grpc/grpc-js');

const FAST_MS = 1000; // one retry of RESOURCE_EXHAUSTED alone takes about this long; all of them take 37 s
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const long = (count) => 'x'.repeat(count);
const bytes = (text) => Buffer.from(text);
const json = (value, type) => ({ metadata: { encoding: bytes('json/plain'), ...(type && { type: bytes(type) }) }, data: bytes(value) });
const range = (start, end = start) => [{ start, end, step: 1 }];
const calendar = (i) => ({
  second: range(i % 60), minute: range(i % 60), hour: range(i % 24), dayOfMonth: range(1, 31), month: range(1, 12), dayOfWeek: range(0, 6),
});

const { INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, UNIMPLEMENTED } = status;
const schedule = (spec, more) => (s) => s.createSchedule(scheduleRequest(uniqueId('schedule'), 60, { spec, ...more }));
const start = (fields) => (s) => s.startWorkflowExecution(startRequest(fields));
const attribute = (name, value, type) => start({ searchAttributes: { indexedFields: { [name]: json(value, type) } } });
const execution = (workflowId) => ({ namespace: NAMESPACE, workflowExecution: { workflowId } });
const list = (query, more) => (s) => s.listWorkflowExecutions({ namespace: NAMESPACE, query, ...more });
const register = (fields) => (s) => s.registerNamespace({ namespace: uniqueId('space'), workflowExecutionRetentionPeriod: seconds(86400), ...fields });

// name, the status that must come, the request
const REFUSALS = [
  ['a spec of 10,001 intervals', INVALID_ARGUMENT, schedule({ interval: many(10_001, (i) => ({ interval: seconds(3600 + i) })) })],
  ['a spec of 9,000 calendars', INVALID_ARGUMENT, schedule({ structuredCalendar: many(9000, calendar) })],
  ['a spec of 4,001 calendars', INVALID_ARGUMENT, schedule({ structuredCalendar: many(4001, calendar) })],
  ['a spec of 10,001 cron strings', INVALID_ARGUMENT, schedule({ cronString: many(10_001, (i) => `${i % 60} * * * *`) })],
  ['a spec that unfolds to too much', INVALID_ARGUMENT, schedule({ calendar: many(2000, () => ({ minute: many(600, (i) => i % 60).join() })) })],
  ['a spec with too many ranges', INVALID_ARGUMENT, schedule({ structuredCalendar: [{ ...calendar(0), second: many(1001, () => range(0)[0]) }] })],
  ['a spec of 4,001 texts', INVALID_ARGUMENT, schedule({ cronString: many(4001, (i) => `${i % 60} 0 L * *`) })],
  ['a cron string that is none', INVALID_ARGUMENT, schedule({ cronString: ['61 * * * *'] })],
  ['a time zone that is none', INVALID_ARGUMENT, schedule({ interval: [{ interval: seconds(60) }], timezoneName: 'Mars/Olympus' })],
  ['an interval of nothing', INVALID_ARGUMENT, schedule({ interval: [{ interval: seconds(0) }] })],
  ['a schedule without an action', INVALID_ARGUMENT, (s) => s.createSchedule({ namespace: NAMESPACE, scheduleId: uniqueId(), schedule: { spec: {} } })],
  ['a schedule id that is too long', INVALID_ARGUMENT, (s) => s.createSchedule(scheduleRequest(long(1001), 60))],
  ['a schedule that exists', ALREADY_EXISTS, (s) => s.createSchedule(scheduleRequest('known', 3600))],
  ['a schedule that does not exist', NOT_FOUND, (s) => s.describeSchedule({ namespace: NAMESPACE, scheduleId: 'unknown' })],
  ['a patch of none', NOT_FOUND, (s) => s.patchSchedule({ namespace: NAMESPACE, scheduleId: 'unknown', patch: { pause: 'x' } })],
  ['an update of a schedule with an old token', FAILED_PRECONDITION, (s) => s.updateSchedule({
    ...scheduleRequest('known', 60), conflictToken: Buffer.alloc(8, 1) })],
  ['a backfill that ends before it begins', INVALID_ARGUMENT, (s) => s.patchSchedule({ namespace: NAMESPACE, scheduleId: 'known', patch: {
    backfillRequest: [{ startTime: seconds(2000), endTime: seconds(1000) }] } })],
  ['pause notes that are too long', INVALID_ARGUMENT, (s) => s.patchSchedule({ namespace: NAMESPACE, scheduleId: 'known', patch: { pause: long(100_000) } })],

  ['a workflow id that is too long', INVALID_ARGUMENT, start({ workflowId: long(1001) })],
  ['a workflow without a type', INVALID_ARGUMENT, start({ workflowType: { name: '' } })],
  ['a task queue name that is too long', INVALID_ARGUMENT, start({ taskQueue: { name: long(1001) } })],
  ['a request id that is too long', INVALID_ARGUMENT, start({ requestId: long(1001) })],
  ['a workflow that runs', ALREADY_EXISTS, start({ workflowId: 'running' })],
  ['an input above the limit', INVALID_ARGUMENT, start({ input: payloads(long(2_100_000)) })],
  ['a memo above the limit', INVALID_ARGUMENT, start({ memo: { fields: { a: json(JSON.stringify(long(2_100_000))) } } })],
  ['an input that unfolds to too much', INVALID_ARGUMENT, start({ input: { payloads: many(900_000, () => ({})) } })],
  ['a message above 4 MiB', INVALID_ARGUMENT, start({ input: payloads(long(5_000_000)) })],
  ['a negative timeout', INVALID_ARGUMENT, start({ workflowRunTimeout: seconds(-1) })],
  ['a retry policy that makes no sense', INVALID_ARGUMENT, start({ retryPolicy: { backoffCoefficient: 0.5 } })],
  ['a cron schedule that is none', INVALID_ARGUMENT, start({ cronSchedule: 'often' })],
  ['too many search attributes', INVALID_ARGUMENT, start({ searchAttributes: { indexedFields: Object.fromEntries(many(101, (i) => [`A${i}`, json('1')])) } })],
  ['an unknown search attribute', INVALID_ARGUMENT, attribute('Nowhere', '1')],
  ['a date that does not exist', INVALID_ARGUMENT, attribute('When', '"2026-02-30T00:00:00Z"')],
  ['a number that is no double', INVALID_ARGUMENT, attribute('Much', '1e999')],
  ['an integer that is too large', INVALID_ARGUMENT, attribute('Count', '9223372036854775808')],
  ['a list with a number', INVALID_ARGUMENT, attribute('Tags', '["a", 1]')],
  ['a schedule\'s attribute that is no date', INVALID_ARGUMENT, (s) => s.createSchedule({
    ...scheduleRequest(uniqueId(), 60), searchAttributes: { indexedFields: { When: json('"2026-02-30T00:00:00Z"') } } })],
  ['an action\'s attribute that is no date', INVALID_ARGUMENT, schedule(undefined, {
    action: { searchAttributes: { indexedFields: { When: json('"2026-13-01T00:00:00Z"') } } } })],

  ['a workflow that does not exist', NOT_FOUND, (s) => s.describeWorkflowExecution({ namespace: NAMESPACE, execution: { workflowId: 'unknown' } })],
  ['a signal to none', NOT_FOUND, (s) => s.signalWorkflowExecution({ ...execution('unknown'), signalName: 'x' })],
  ['a cancel of none', NOT_FOUND, (s) => s.requestCancelWorkflowExecution(execution('unknown'))],
  ['a termination of none', NOT_FOUND, (s) => s.terminateWorkflowExecution(execution('unknown'))],
  ['a query of none', NOT_FOUND, (s) => s.queryWorkflow({ namespace: NAMESPACE, execution: { workflowId: 'unknown' }, query: { queryType: 'x' } })],
  ['an update of none', NOT_FOUND, (s) => s.updateWorkflowExecution({ ...execution('unknown'), waitPolicy: { lifecycleStage: 2 },
    request: { meta: { updateId: 'u' }, input: { name: 'x' } } })],
  ['a history of none', NOT_FOUND, (s) => s.getWorkflowExecutionHistory({ namespace: NAMESPACE, execution: { workflowId: 'unknown' } })],
  ['a run id that is none', INVALID_ARGUMENT, (s) => s.describeWorkflowExecution({ namespace: NAMESPACE, execution: { workflowId: 'running', runId: 'x' } })],
  ['a signal that is too large', INVALID_ARGUMENT, (s) => s.signalWorkflowExecution({ ...execution('running'), signalName: 'x', input: payloads(long(2_100_000)) })],
  ['a reset to an event that is none', INVALID_ARGUMENT, (s) => s.resetWorkflowExecution({ ...execution('running'), workflowTaskFinishEventId: 999 })],
  ['a task token that is none', INVALID_ARGUMENT, (s) => s.respondActivityTaskCompleted({ namespace: NAMESPACE, taskToken: bytes('x') })],
  ['a page token that is none', INVALID_ARGUMENT, list('', { nextPageToken: bytes('x') })],

  ['a filter that is none', INVALID_ARGUMENT, list('WorkflowId ==== 1')],
  ['a filter by an unknown attribute', INVALID_ARGUMENT, list("Nowhere = 'x'")],
  ['a filter by a date that does not exist', INVALID_ARGUMENT, list("StartTime > '2026-02-30T00:00:00Z'")],
  ['a filter by an attribute\'s date that does not exist', INVALID_ARGUMENT, list("When = '2026-02-30T00:00:00Z'")],
  ['a filter by a number that is no double', INVALID_ARGUMENT, list('Much = 1e999')],
  ['a filter by an integer that is too large', INVALID_ARGUMENT, list('Count = 9223372036854775808')],

  ['a namespace that does not exist', NOT_FOUND, (s) => s.startWorkflowExecution(startRequest({ namespace: 'unknown' }))],
  ['a namespace that exists', ALREADY_EXISTS, register({ namespace: NAMESPACE })],
  ['a namespace without a retention', INVALID_ARGUMENT, register({ workflowExecutionRetentionPeriod: undefined })],
  ['a namespace name that is too long', INVALID_ARGUMENT, register({ namespace: long(1001) })],
  ['a batch without a reason', INVALID_ARGUMENT, (s) => s.startBatchOperation({ namespace: NAMESPACE, jobId: uniqueId(), visibilityQuery: "WorkflowId = 'x'", terminationOperation: {} })],
  ['a batch of too many executions', INVALID_ARGUMENT, (s) => s.startBatchOperation({ namespace: NAMESPACE, jobId: uniqueId(), reason: 'x', terminationOperation: {},
    executions: many(1001, (i) => ({ workflowId: `w${i}` })) })],
  ['a batch that does not exist', NOT_FOUND, (s) => s.describeBatchOperation({ namespace: NAMESPACE, jobId: 'unknown' })],
  ['a worker deployment that does not exist', NOT_FOUND, (s) => s.describeWorkerDeployment({ namespace: NAMESPACE, deploymentName: 'unknown' })],
  ['a call that this server does not have', UNIMPLEMENTED, (s) => s.createNexusEndpoint ? s.createNexusEndpoint({}) : s.pollNexusTaskQueue({ namespace: NAMESPACE, taskQueue: { name: 'x' } })],
];

describe('a permanent refusal comes at once', { timeout: 600_000 }, () => {
  let server;
  let connection;

  before(async () => {
    server = await RondoProcess.startSilently();
    connection = await Connection.connect({ address: server.address });
    const { workflowService, operatorService } = connection;
    await operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes: {
      When: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
      Much: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
      Tags: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
      Count: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_INT,
    } });
    await workflowService.createSchedule(scheduleRequest('known', 3600));
    await workflowService.startWorkflowExecution(startRequest({ workflowId: 'running' }));
  });

  after(async () => {
    await connection?.close();
    await server?.kill();
  });

  const attempt = async (call) => {
    const begin = performance.now();
    const error = await call(connection.workflowService).then(() => undefined, (e) => e);
    return { error, ms: performance.now() - begin };
  };

  for (const [name, code, call] of REFUSALS) {
    test(name, async () => {
      let { error, ms } = await attempt(call);
      assert.ok(error, 'it was accepted');
      assert.equal(status[error.code], status[code], error.details);
      assert.match(error.details, /./);
      if (ms >= FAST_MS) ({ ms } = await attempt(call)); // a busy machine is slow once; retries are slow each time
      assert.ok(ms < FAST_MS, `${error.details}: it took ${Math.round(ms)} ms`);
    });
  }

  test('the calls of the client say the same', async () => {
    const client = new Client({ connection });
    const begin = performance.now();
    const intervals = many(10_001, (i) => ({ every: (3600 + i) * 1000 }));
    await assert.rejects(client.schedule.create({
      scheduleId: uniqueId('schedule'), spec: { intervals },
      action: { type: 'startWorkflow', workflowType: 'wait', taskQueue: 'quiet', workflowId: 'x' },
    }), TypeError); // the client's name for INVALID_ARGUMENT
    assert.ok(performance.now() - begin < 3 * FAST_MS);
  });
});
