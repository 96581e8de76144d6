// src/engine/runtime/limits.def: what one server keeps.

import assert from 'node:assert/strict';
import { NAMESPACE, scheduleRequest, seconds, startRequest, temporal, uniqueId } from '../lib/client.mjs';
import { inParallel, readMetric, until } from '../lib/process.mjs';
import { completeTask, completeWorkflow, pollRequest, scheduleActivity, takeTask } from '../lib/tasks.mjs';
import { FAILED_PRECONDITION, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, eventTypes, refused, startOn, times } from './check.mjs';

const { IndexedValueType, TaskQueueType } = temporal.api.enums.v1;
const LATE_MS = 30_000; // ends what hangs

const registerNamespace = (service, namespace) =>
  service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: seconds(86400) });
const configure = (service, taskQueue, fields) =>
  service.updateTaskQueueConfig({
    namespace: NAMESPACE,
    identity: 'test/process',
    taskQueue,
    taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    ...fields,
  });
const heartbeat = (service, ...keys) =>
  service.recordWorkerHeartbeat({ namespace: NAMESPACE, workerHeartbeat: keys.map((workerInstanceKey) => ({ workerInstanceKey })) });
const calendar = (server, name, body) =>
  fetch(`${server.httpAddress}/api/v1/namespaces/default/holiday-calendars/${name}`, { method: 'POST', body: JSON.stringify({ calendar: body }) });
const dates = (n) => Array.from({ length: n }, (_, i) => `2030-01-${String(i + 1).padStart(2, '0')}`);
const names = (prefix, n) => Array.from({ length: n }, () => uniqueId(prefix));

// A start that the server may refuse for a while, until a place is free again.
const startEventually = (service, queue) =>
  until(
    async () => {
      try {
        return await startOn(service, queue);
      } catch (error) {
        if (error.code !== RESOURCE_EXHAUSTED) throw error;
        return undefined;
      }
    },
    LATE_MS,
    'a place for one more',
  );

export const cases = {
  'engine.QUEUES': async ({ service, restart, max }) => {
    const queues = names('queue', max);
    await inParallel(max, (i) => startOn(service, queues[i]));
    await refused(startOn(service, uniqueId('queue')), RESOURCE_EXHAUSTED, /task queues/);
    await refused(service.signalWithStartWorkflowExecution({ ...startRequest({ taskQueue: { name: uniqueId('queue') } }), signalName: 'go' }), RESOURCE_EXHAUSTED);
    await refused(service.pollWorkflowTaskQueue(pollRequest(uniqueId('queue'))), RESOURCE_EXHAUSTED);
    await refused(service.pollActivityTaskQueue(pollRequest(uniqueId('queue'))), RESOURCE_EXHAUSTED);
    const task = await takeTask(service, queues[0]);
    await refused(completeTask(service, task, [scheduleActivity(uniqueId('queue'))]), RESOURCE_EXHAUSTED);
    await startOn(service, queues[1]); // a queue that is there takes more
    service = await restart();
    await refused(startOn(service, uniqueId('queue')), RESOURCE_EXHAUSTED);
    await inParallel(
      max,
      async (i) => {
        const task = await takeTask(service, queues[i]);
        assert.ok(task.taskToken.length, `the task of ${queues[i]} is there after a restart`);
        await completeTask(service, task, [completeWorkflow]);
      },
      20,
    );
    await startEventually(service, uniqueId('queue')); // the empty ones make room
  },
  'engine.RUNS': async ({ service, restart, max }) => {
    const late = { workflowRunTimeout: seconds(86400) };
    await inParallel(max, () => startOn(service, 'quiet', late));
    await refused(startOn(service, 'quiet', late), RESOURCE_EXHAUSTED, /deadline/);
    await refused(service.createSchedule(scheduleRequest(uniqueId('schedule'), 3600)), RESOURCE_EXHAUSTED);
    const task = await takeTask(service, 'quiet'); // what is there goes on
    await completeTask(service, task, [scheduleActivity('quiet')]);
    service = await restart();
    await refused(startOn(service, 'quiet', late), RESOURCE_EXHAUSTED);
    assert.ok((await takeTask(service, 'quiet')).taskToken.length);
  },
  'engine.NAMESPACES': async ({ service, operator, restart, max }) => {
    const { namespaces } = await service.listNamespaces({ pageSize: 100 });
    const more = names('namespace', max - namespaces.length);
    for (const name of more) await registerNamespace(service, name);
    await refused(registerNamespace(service, uniqueId('namespace')), FAILED_PRECONDITION, /namespaces/);
    await operator.deleteNamespace({ namespace: more.pop() }); // a full server can be emptied
    await until(async () => (await registerNamespace(service, uniqueId('namespace')).catch(() => undefined)) !== undefined, LATE_MS, 'room for another');
    service = await restart();
    await refused(registerNamespace(service, uniqueId('namespace')), FAILED_PRECONDITION);
  },
  'engine.CUSTOM_ATTRIBUTES': async ({ service, operator, max }) => {
    const namespace = uniqueId('namespace');
    await registerNamespace(service, namespace);
    const { customAttributes } = await operator.listSearchAttributes({ namespace });
    const add = (names) =>
      operator.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(names.map((name) => [name, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD])) });
    await add(names('attribute', max - Object.keys(customAttributes).length));
    await refused(add([uniqueId('attribute')]), FAILED_PRECONDITION);
  },
  'engine.DEPLOYMENTS': async ({ service, restart, max }) => {
    const create = (namespace) =>
      service.createWorkerDeployment({ namespace, deploymentName: uniqueId('deployment'), requestId: uniqueId('request'), identity: 'test/process' });
    const spaces = names('namespace', 4);
    for (const name of spaces) await registerNamespace(service, name);
    let made = 0;
    for (const name of spaces) for (let i = 0; i < 3 && made < max; i++, made++) await create(name);
    assert.equal(made, max);
    await refused(create(spaces.at(-1)), RESOURCE_EXHAUSTED, /the server has its maximum/);
    service = await restart();
    await refused(create(spaces.at(-1)), RESOURCE_EXHAUSTED);
  },
  'engine.PARKED': async ({ service, server, max }) => {
    let refusals = 0;
    for (let i = 0; i <= max; i++)
      service.pollWorkflowTaskQueue(pollRequest('parked', { identity: `${i % 3}` })).catch((error) => (refusals += error.code === RESOURCE_EXHAUSTED));
    await until(() => refusals > 0, LATE_MS, 'a poll to be refused');
    assert.equal(await readMetric(server, 'rondo_polls_waiting{kind="workflow"}'), max);
    assert.equal(refusals, 1);
  },
  'engine.QUEUE_TASKS': async ({ service, restart, max }) => {
    const queue = uniqueId('queue');
    const started = [];
    await times(max * 2 + 1, async () => started.push((await startOn(service, queue)).runId)); // most of them wait in the store
    service = await restart();
    const taken = [];
    await times(max * 2 + 1, async () => taken.push((await takeTask(service, queue)).workflowExecution.runId));
    assert.deepEqual(taken.toSorted(), started.toSorted());
  },
  'engine.QUEUE_CONFIGS': async ({ service, max }) => {
    const limited = { updateQueueRateLimit: { rateLimit: { requestsPerSecond: 5 }, reason: 'test' } };
    for (const queue of names('configured', max)) await configure(service, queue, limited);
    await refused(configure(service, uniqueId('configured'), limited), FAILED_PRECONDITION);
  },
  'engine.QUEUE_REASON_BYTES': async ({ service, max }) => {
    const because = (n) => configure(service, 'reasoned', { updateQueueRateLimit: { rateLimit: { requestsPerSecond: 5 }, reason: 'r'.repeat(n) } });
    await because(max);
    await refused(because(max + 1), INVALID_ARGUMENT);
  },
  'engine.QUEUE_WEIGHTS': async ({ service, max }) => {
    const weights = (from, n) => ({ setFairnessWeightOverrides: Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${from + i}`, 2])) });
    await configure(service, 'weighted', weights(0, max));
    await refused(configure(service, 'weighted', weights(max, 1)), INVALID_ARGUMENT);
  },
  'engine.QUEUE_KEYS': async ({ service, max }) => {
    // More keys than are watched: those above the limit go unwatched, and all tasks are handed out.
    const [queue, activities] = names('queue', 2);
    await configure(service, activities, { updateFairnessKeyRateLimitDefault: { rateLimit: { requestsPerSecond: 0.01 }, reason: 'test' } });
    await startOn(service, queue);
    const commands = Array.from({ length: max + 2 }, (_, i) => scheduleActivity(activities, { priority: { fairnessKey: `key${i}` } }));
    await completeTask(service, await takeTask(service, queue), commands);
    await times(max + 2, async () => assert.ok((await service.pollActivityTaskQueue(pollRequest(activities))).taskToken.length));
  },
  'engine.WORKERS': async ({ service, max }) => {
    const keys = names('worker', max + 1);
    for (const key of keys) await heartbeat(service, key);
    const { workersInfo } = await service.listWorkers({ namespace: NAMESPACE, pageSize: max + 10 });
    const listed = workersInfo.map((w) => w.workerHeartbeat.workerInstanceKey);
    assert.equal(listed.length, max);
    assert.ok(listed.includes(keys.at(-1)) && !listed.includes(keys[0]), 'the one that was silent for longest made room');
  },
  'engine.WORKER_BYTES': async ({ service, max }) => {
    const beat = (bytes) => service.recordWorkerHeartbeat({ namespace: NAMESPACE, workerHeartbeat: [{ workerInstanceKey: 'large', workerIdentity: 'i'.repeat(900), sdkVersion: 'v'.repeat(bytes) }] });
    await beat(max - 2000).catch((error) => assert.equal(error.code, INVALID_ARGUMENT)); // names have limits of their own
    await refused(beat(max + 1), INVALID_ARGUMENT);
  },
  'engine.QUEUE_VISITORS': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const parked = [];
    const describe = () => service.describeTaskQueue({ namespace: NAMESPACE, taskQueue: { name: queue }, taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW });
    for (const identity of names('poller', max + 1)) {
      parked.push(service.pollWorkflowTaskQueue(pollRequest(queue, { identity })).catch(() => {}));
      await until(async () => (await describe()).pollers.some((p) => p.identity === identity), LATE_MS, 'the poller to be known');
    }
    assert.equal((await describe()).pollers.length, max);
  },
  'engine.LISTED_QUEUES': async ({ service, server, max }) => {
    for (const queue of names('queue', max + 1)) await startOn(service, queue);
    const { taskQueues } = await (await fetch(`${server.httpAddress}/api/v1/namespaces/default/task-queues`)).json();
    assert.equal(taskQueues.length, max);
  },
  'engine.QUERIES_PER_RUN': async ({ service, max }) => {
    const run = await startOn(service, uniqueId('queue')); // its first task is pending, so queries wait
    let refusals = 0;
    for (let i = 0; i <= max; i++)
      service
        .queryWorkflow({ namespace: NAMESPACE, execution: run, query: { queryType: 'q' } })
        .catch((error) => (refusals += error.code === RESOURCE_EXHAUSTED));
    await until(() => refusals > 0, LATE_MS, 'a query to be refused');
    assert.equal(refusals, 1);
    assert.deepEqual(await eventTypes(service, run), ['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_TASK_SCHEDULED']);
  },
  'engine.HOLIDAY_CALENDARS': async ({ server, max }) => {
    for (let i = 0; i < max; i++) assert.equal((await calendar(server, `c${i}`, { dates: dates(1) })).status, 200);
    assert.equal((await calendar(server, 'more', { dates: dates(1) })).status, 400);
    for (let i = 0; i < max; i++) await fetch(`${server.httpAddress}/api/v1/namespaces/default/holiday-calendars/c${i}`, { method: 'DELETE' });
  },
  'engine.HOLIDAY_DAYS': async ({ server, max }) => {
    assert.equal((await calendar(server, 'days', { dates: dates(max) })).status, 200);
    assert.equal((await calendar(server, 'days', { dates: dates(max + 1) })).status, 400);
  },
  'engine.HOLIDAY_NAME_BYTES': async ({ server, max }) => {
    assert.equal((await calendar(server, 'n'.repeat(max), { dates: dates(1) })).status, 200);
    assert.equal((await calendar(server, 'n'.repeat(max + 1), { dates: dates(1) })).status, 400);
  },
  'engine.HOLIDAY_BYTES': async ({ server, max }) => {
    assert.equal((await calendar(server, 'days', { dates: dates(1), comment: 'c' })).status < 500, true);
    assert.equal((await calendar(server, 'days', { cronStrings: [`0 0 1 1 *${' '.repeat(max)}`] })).status, 400);
  },
};
