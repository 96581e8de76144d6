// The limits that an operator may set (docs/server.md), each set to a small number on one server.
// A case gets { service, operator, server, max }.

import assert from 'node:assert/strict';
import { NAMESPACE, scheduleRequest, seconds, startRequest, temporal, uniqueId } from '../lib/client.mjs';
import { until } from '../lib/process.mjs';
import { CommandType, completeTask, pollRequest, scheduleActivity, takeTask } from '../lib/tasks.mjs';
import {
  FAILED_PRECONDITION,
  INVALID_ARGUMENT,
  RESOURCE_EXHAUSTED,
  describeRun,
  eventTypes,
  fitted,
  isTerminated,
  payloadsOf,
  raw,
  refused,
  signal,
  startOn,
  times,
} from './check.mjs';

const { ScheduleOverlapPolicy, IndexedValueType, UpdateWorkflowExecutionLifecycleStage } = temporal.api.enums.v1;
const { Memo } = temporal.api.common.v1;
const LATE_MS = 30_000; // ends what hangs

// What the server of these cases is started with.
const settings = {
  'core.BLOB_BYTES': 8192,
  'core.BLOB_BYTES_WARN': 2048,
  'core.MEMO_BYTES': 4096,
  'core.MEMO_BYTES_WARN': 1024,
  'core.ATTRIBUTES': 3,
  'core.ATTRIBUTE_BYTES': 200,
  'core.ATTRIBUTES_BYTES': 300,
  'core.BUFFERED_EVENTS': 4,
  'core.BUFFERED_BYTES': 4096,
  'core.SIGNALS': 20,
  'core.PENDING_ACTIVITIES': 3,
  'core.PENDING_CHILDREN': 3,
  'core.PENDING_SIGNALS': 3,
  'core.PENDING_CANCELS': 3,
  'core.SUGGEST_EVENTS': 10,
  'core.SUGGEST_BYTES': 6000,
  'core.HISTORY_EVENTS': 40,
  'core.HISTORY_EVENTS_WARN': 10,
  'core.HISTORY_BYTES': 30000,
  'core.HISTORY_BYTES_WARN': 6000,
  'core.UPDATES_BYTES': 6000,
  'core.UPDATES': 3,
  'core.CALLBACKS': 3,
  'core.CALLBACK_URL_BYTES': 100,
  'core.CALLBACK_HEADER_BYTES': 100,
  'core.ACTIVITY_FAILURE_BYTES': 1000,
  'core.STATE_BYTES': 12000,
  'core.LEDGER_ROWS': 5,
  'core.LEDGER_DAYS': 30,
  'core.RESET_POINTS': 3,
  'core.BATCH_JOBS': 1,
  'core.BATCH_RATE': 2,
  'core.BATCH_EXECUTIONS': 5,
};

// How often the log has a line of this name more after fn.
async function logged(server, name, fn) {
  const before = server.countLog(name);
  await fn();
  await until(() => server.countLog(name) > before, LATE_MS, `the line ${name}`);
}

const memoOf = (bytes) =>
  fitted(
    bytes,
    (payload) => ({ fields: { m: payload } }),
    (message) => Memo.encode(message).finish().length,
  );

// Commands of one kind: `max` of them are taken, one more is refused.
async function pending({ service, max }, command) {
  const queue = uniqueId('queue');
  const run = await startOn(service, queue);
  await completeTask(service, await takeTask(service, queue), Array.from({ length: max }, command));
  await signal(service, run);
  await refused(completeTask(service, await takeTask(service, queue), [command()]), INVALID_ARGUMENT);
}

const child = () => ({
  commandType: CommandType.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION,
  startChildWorkflowExecutionCommandAttributes: { namespace: NAMESPACE, workflowId: uniqueId('child'), workflowType: { name: 'child' }, taskQueue: { name: 'quiet' } },
});
const other = () => ({ workflowId: uniqueId('nobody'), runId: '' });
const signalOther = () => ({
  commandType: CommandType.COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION,
  signalExternalWorkflowExecutionCommandAttributes: { namespace: NAMESPACE, execution: other(), signalName: 's' },
});
const cancelOther = () => ({
  commandType: CommandType.COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION,
  requestCancelExternalWorkflowExecutionCommandAttributes: { namespace: NAMESPACE, ...other() },
});
// Letters to others are answered at once, so the limit is met inside one completion.
async function pendingAtOnce({ service, max }, command) {
  const queue = uniqueId('queue');
  await startOn(service, queue);
  const task = await takeTask(service, queue);
  await refused(completeTask(service, task, Array.from({ length: max + 1 }, command)), INVALID_ARGUMENT);
  await completeTask(service, await takeTask(service, queue), Array.from({ length: max }, command));
}

async function suggested(service, queue) {
  const { history } = await takeTask(service, queue);
  return history.events.at(-1).workflowTaskStartedEventAttributes.suggestContinueAsNew;
}

const update = (service, run, bytes = 1) =>
  service.updateWorkflowExecution({
    namespace: NAMESPACE,
    workflowExecution: { workflowId: run.workflowId },
    waitPolicy: { lifecycleStage: UpdateWorkflowExecutionLifecycleStage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED },
    request: { meta: { updateId: uniqueId('update'), identity: 'test/process' }, input: { name: 'u', args: { payloads: [raw(bytes)] } } },
  });
// Sends updates that no worker answers until one is refused: how many were not, and the refusal.
async function updatesUntilRefused(service, bytes) {
  const run = await startOn(service, uniqueId('queue'));
  for (let admitted = 0; ; admitted++) {
    const answer = update(service, run, bytes).then(
      () => undefined,
      (error) => error,
    );
    const error = await Promise.race([answer, new Promise((done) => setTimeout(done, 300, 'waits'))]);
    if (error !== 'waits') return { admitted, error };
  }
}

const callback = (url, header = {}) => ({ nexus: { url, header } });
const startWithCallbacks = (service, ...completionCallbacks) => service.startWorkflowExecution(startRequest({ completionCallbacks }));
const batch = (service, executions) =>
  service.startBatchOperation({ namespace: NAMESPACE, jobId: uniqueId('job'), reason: 'test', executions, signalOperation: { signal: 's', identity: 'i' } });

async function failActivity(service, fields) {
  const [queue, activities] = [uniqueId('queue'), uniqueId('queue')];
  const run = await startOn(service, queue);
  await completeTask(service, await takeTask(service, queue), [scheduleActivity(activities, { retryPolicy: { initialInterval: seconds(100) } })]);
  const { taskToken } = await service.pollActivityTaskQueue(pollRequest(activities));
  await service.respondActivityTaskFailed({ namespace: NAMESPACE, taskToken, identity: 'test/process', failure: { applicationFailureInfo: {}, ...fields } });
  return describeRun(service, run);
}

const cases = {
  'core.BLOB_BYTES': async ({ service, max }) => {
    await startOn(service, 'quiet', { input: payloadsOf(max) });
    await refused(startOn(service, 'quiet', { input: payloadsOf(max + 1) }), INVALID_ARGUMENT);
  },
  'core.BLOB_BYTES_WARN': async ({ service, server, max }) => {
    await logged(server, 'payload_large', () => startOn(service, 'quiet', { input: payloadsOf(max + 1) }));
  },
  'core.MEMO_BYTES': async ({ service, max }) => {
    await startOn(service, 'quiet', { memo: memoOf(max) });
    await refused(startOn(service, 'quiet', { memo: memoOf(max + 1) }), INVALID_ARGUMENT);
  },
  'core.MEMO_BYTES_WARN': async ({ service, server, max }) => {
    await logged(server, 'payload_large', () => startOn(service, 'quiet', { memo: memoOf(max + 1) }));
  },
  'core.ATTRIBUTES': async ({ service, operator, max }) => {
    const keys = Array.from({ length: max + 1 }, (_, i) => `Key${i}`);
    await operator.addSearchAttributes({
      namespace: NAMESPACE,
      searchAttributes: Object.fromEntries(keys.map((key) => [key, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD])),
    });
    const value = { metadata: { encoding: Buffer.from('json/plain'), type: Buffer.from('Keyword') }, data: Buffer.from('"v"') };
    const start = (n) => startOn(service, 'quiet', { searchAttributes: { indexedFields: Object.fromEntries(keys.slice(0, n).map((key) => [key, value])) } });
    await start(max);
    await refused(start(max + 1), INVALID_ARGUMENT);
  },
  'core.ATTRIBUTE_BYTES': async ({ service, max }) => {
    const start = (bytes) =>
      startOn(service, 'quiet', {
        searchAttributes: { indexedFields: { Key0: { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify('v'.repeat(bytes - 2))) } } },
      });
    await start(max);
    await refused(start(max + 1), INVALID_ARGUMENT);
  },
  'core.ATTRIBUTES_BYTES': async ({ service, max }) => {
    const field = (bytes) => ({ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify('v'.repeat(bytes - 2 - 4))) });
    const start = (bytes) => startOn(service, 'quiet', { searchAttributes: { indexedFields: { Key0: field(150), Key1: field(bytes - 150) } } });
    await start(max);
    await refused(start(max + 1), INVALID_ARGUMENT);
  },
  'core.BUFFERED_EVENTS': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    await takeTask(service, queue);
    await times(max + 1, () => signal(service, run));
    const types = await eventTypes(service, run);
    assert.equal(types.filter((t) => t === 'WORKFLOW_TASK_FAILED').length, 1);
    assert.equal(types.filter((t) => t === 'WORKFLOW_EXECUTION_SIGNALED').length, max + 1);
  },
  'core.BUFFERED_BYTES': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    await takeTask(service, queue);
    await signal(service, run, { input: { payloads: [raw(max)] } });
    assert.ok((await eventTypes(service, run)).includes('WORKFLOW_TASK_FAILED'));
  },
  'core.SIGNALS': async ({ service, max }) => {
    const run = await startOn(service, 'quiet');
    await times(max, () => signal(service, run));
    await refused(signal(service, run), INVALID_ARGUMENT);
  },
  'core.PENDING_ACTIVITIES': (c) => pending(c, () => scheduleActivity('quiet')),
  'core.PENDING_CHILDREN': (c) => pending(c, child),
  'core.PENDING_SIGNALS': (c) => pendingAtOnce(c, signalOther),
  'core.PENDING_CANCELS': (c) => pendingAtOnce(c, cancelOther),
  'core.SUGGEST_EVENTS': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    await times(max, () => signal(service, run));
    assert.equal(await suggested(service, queue), true);
  },
  'core.SUGGEST_BYTES': async ({ service, max }) => {
    const [large, small] = [uniqueId('queue'), uniqueId('queue')];
    await startOn(service, large, { input: { payloads: [raw(max)] } });
    await startOn(service, small);
    assert.equal(await suggested(service, large), true);
    assert.equal(await suggested(service, small), false);
  },
  'core.HISTORY_EVENTS': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    for (let i = 0; !(await isTerminated(service, run)) && i <= max; i++) {
      const task = await takeTask(service, queue);
      await signal(service, run); // so that another task follows
      await completeTask(service, task);
    }
    assert.ok(await isTerminated(service, run));
  },
  'core.HISTORY_EVENTS_WARN': async ({ service, server, max }) => {
    const run = await startOn(service, 'quiet');
    await logged(server, 'history_long', () => times(max, () => signal(service, run)));
  },
  'core.HISTORY_BYTES': async ({ service, max }) => {
    const run = await startOn(service, 'quiet');
    for (let i = 0; !(await isTerminated(service, run)) && i < 10; i++) await signal(service, run, { input: { payloads: [raw(Math.trunc(max / 5))] } });
    assert.ok(await isTerminated(service, run));
  },
  'core.HISTORY_BYTES_WARN': async ({ service, server, max }) => {
    const run = await startOn(service, 'quiet');
    await logged(server, 'history_large', () => signal(service, run, { input: { payloads: [raw(max)] } }));
  },
  'core.UPDATES_BYTES': async ({ service, max }) => {
    const { admitted, error } = await updatesUntilRefused(service, Math.trunc(max / 2) + 1);
    assert.equal(admitted, 1);
    assert.equal(error.code, RESOURCE_EXHAUSTED);
  },
  'core.UPDATES': async ({ service, max }) => {
    const { admitted, error } = await updatesUntilRefused(service, 1);
    assert.equal(admitted, max);
    assert.equal(error.code, FAILED_PRECONDITION);
  },
  'core.CALLBACKS': async ({ service, max }) => {
    const all = Array.from({ length: max + 1 }, (_, i) => callback(`http://127.0.0.1:9/${i}`));
    await startWithCallbacks(service, ...all.slice(1));
    await refused(startWithCallbacks(service, ...all), INVALID_ARGUMENT);
  },
  'core.CALLBACK_URL_BYTES': async ({ service, max }) => {
    await startWithCallbacks(service, callback('http://127.0.0.1:9/'.padEnd(max, 'x')));
    await refused(startWithCallbacks(service, callback('http://127.0.0.1:9/'.padEnd(max + 1, 'x'))), INVALID_ARGUMENT);
  },
  'core.CALLBACK_HEADER_BYTES': async ({ service, max }) => {
    await startWithCallbacks(service, callback('http://127.0.0.1:9/', { a: 'x'.repeat(max - 1) }));
    await refused(startWithCallbacks(service, callback('http://127.0.0.1:9/', { a: 'x'.repeat(max) })), INVALID_ARGUMENT);
  },
  'core.ACTIVITY_FAILURE_BYTES': async ({ service, max }) => {
    const { pendingActivities } = await failActivity(service, { message: 'm'.repeat(max * 2) });
    const { cause } = pendingActivities[0].lastFailure; // what is left of it
    assert.ok(cause.message.length > 0 && cause.message.length <= max);
  },
  'core.STATE_BYTES': async ({ service, max }) => {
    const [queue, activities] = [uniqueId('queue'), uniqueId('queue')];
    const run = await startOn(service, queue);
    await completeTask(service, await takeTask(service, queue), [scheduleActivity(activities), scheduleActivity(activities)]);
    for (let i = 0; i < 2; i++) {
      const { taskToken } = await service.pollActivityTaskQueue(pollRequest(activities));
      await service.recordActivityTaskHeartbeat({ namespace: NAMESPACE, taskToken, details: { payloads: [raw(Math.trunc(max / 2))] } });
    }
    await signal(service, run); // the step that finds the state too large
    assert.ok(await isTerminated(service, run));
  },
  'core.RESET_POINTS': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    const builds = async () => (await describeRun(service, run)).workflowExecutionInfo.autoResetPoints.points.map((point) => point.buildId);
    const all = Array.from({ length: max + 1 }, (_, i) => `build-${i}`);
    for (const buildId of all) {
      await completeTask(service, await takeTask(service, queue), [], { workerVersionStamp: { buildId } });
      if (buildId === all[max - 1]) assert.deepEqual(await builds(), all.slice(0, max));
      await signal(service, run);
    }
    assert.deepEqual(await builds(), all.slice(1)); // the oldest made room
  },
  'core.LEDGER_ROWS': async ({ service, server, max, slack }) => {
    const request = scheduleRequest(uniqueId('schedule'), 3600, { spec: { interval: [{ interval: seconds(3600) }], startTime: seconds(4e9) } });
    await service.createSchedule(request);
    for (let i = 0; i < max + slack + 4; i++)
      await service.patchSchedule({
        namespace: NAMESPACE,
        scheduleId: request.scheduleId,
        requestId: uniqueId('patch'),
        patch: { triggerImmediately: { overlapPolicy: ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_SKIP } },
      });
    const count = server.rows('SELECT count(*) AS n FROM ledger')[0].n;
    assert.ok(count <= max + slack && count >= max, `${count} rows`);
  },
  'core.BATCH_JOBS': async ({ service }) => {
    const executions = [];
    await times(5, async () => executions.push(await startOn(service, 'quiet')));
    await batch(service, executions); // at a rate of 2 a second it takes a while
    await refused(batch(service, executions), RESOURCE_EXHAUSTED);
  },
  'core.BATCH_EXECUTIONS': async ({ service, max }) => {
    const run = await startOn(service, 'quiet');
    await refused(batch(service, Array.from({ length: max + 1 }, () => run)), INVALID_ARGUMENT);
  },
};

// On a server of its own: updates that are not answered would meet the total of a run first.
const inFlight = {
  'core.UPDATES_IN_FLIGHT': async ({ service, max }) => {
    const { admitted, error } = await updatesUntilRefused(service, 1);
    assert.equal(admitted, max);
    assert.equal(error.code, RESOURCE_EXHAUSTED);
  },
};

export const groups = [
  { settings, cases },
  { settings: { 'core.UPDATES_IN_FLIGHT': 3 }, cases: inFlight },
];
