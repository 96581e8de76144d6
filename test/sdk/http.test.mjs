// The HTTP API beside the SDK: what one of them makes, the other sees, and both mean the same by it.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { eventsNamed } from './lib/history.mjs';
import { failure, openWorld, replayAll } from './lib/world.mjs';

// The types of the SDK, and the JSON mapping of the very protobufjs that they belong to.
const require = createRequire(createRequire(import.meta.url).resolve('@temporalio/proto'));
const { fromJson, toJson } = require('protobufjs/ext/protojson');
const History = require('@temporalio/proto/protos/json-module.js').lookupType('temporal.api.history.v1.History');

const world = openWorld();
const WORKFLOWS = '/api/v1/namespaces/default/workflows';

async function call(method, path, body) {
  const options = { method, body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await fetch(`http://127.0.0.1:${world.server.httpPort}${path}`, options);
  return { status: response.status, body: await response.json() };
}

async function ok(method, path, body) {
  const answer = await call(method, path, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

async function startByHttp(workflowId, type, input, more = {}) {
  const body = { workflowType: { name: type }, taskQueue: { name: world.taskQueue }, input, ...more };
  const { runId } = await ok('POST', `${WORKFLOWS}/${workflowId}`, body);
  world.runs.note(workflowId, runId);
  return world.client.workflow.getHandle(workflowId, runId);
}

const closeOf = async (workflowId) => {
  const path = `${WORKFLOWS}/${workflowId}/history?waitNewEvent=true&historyEventFilterType=CloseEvent`;
  const { history } = await ok('GET', path);
  return history.events[0];
};

describe('http', { timeout: 120_000 }, () => {
  test('a workflow that HTTP started gets its arguments, and the SDK its result', async () => {
    const value = { text: 'é "quoted"', list: [1, 2.5, null, true], deep: { a: { b: [] } } };
    const handle = await startByHttp('http-same', 'same', [value], { memo: { fields: { note: 'by hand' } } });
    assert.deepEqual(await handle.result(), value);
    assert.deepEqual((await handle.describe()).memo, { note: 'by hand' });
  });

  test('HTTP waits for the result of a workflow that the SDK started', async () => {
    const handle = await world.start('hello', ['Ada']);
    const event = await closeOf(handle.workflowId);
    assert.equal(event.eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED');
    assert.deepEqual(event.workflowExecutionCompletedEventAttributes.result, ['Hello, Ada!']);
  });

  test('JSON of histories is that of protobufjs, both ways', async () => {
    const handles = [await world.start('hello', ['Ada']), await world.start('fails'), await world.start('same', [{ deep: [1.5, null] }])];
    for (const handle of handles) await handle.result().catch(() => undefined);
    for (const handle of handles) {
      const binary = await handle.fetchHistory();
      const { history } = await ok('GET', `${WORKFLOWS}/${handle.workflowId}/history?noPayloadShorthand`);
      assert.ok(history.events.length >= 5);
      assert.deepEqual(history, toJson(History, History.fromObject(binary)));
      assert.deepEqual(toJson(History, fromJson(History, history)), history);
    }
  });

  test('a failure has its details over HTTP', async () => {
    const handle = await world.start('fails');
    const { failure: seen } = (await closeOf(handle.workflowId)).workflowExecutionFailedEventAttributes;
    assert.equal(seen.message, 'no such order');
    assert.equal(seen.applicationFailureInfo.type, 'OrderError');
    assert.equal(seen.applicationFailureInfo.nonRetryable, true);
    assert.deepEqual(seen.applicationFailureInfo.details, [42, { reason: 'gone' }]);
  });

  test('signals, queries and updates by either reach the same workflow', async () => {
    const handle = await startByHttp('http-account', 'account', [10]);
    const base = `${WORKFLOWS}/http-account`;
    assert.equal(await handle.executeUpdate('deposit', { args: [5] }), 15);
    const updated = await ok('POST', `${base}/update/deposit`, {
      waitPolicy: { lifecycleStage: 'Completed' },
      request: { meta: { updateId: 'by-http' }, input: { args: [7] } },
    });
    assert.deepEqual(updated.outcome, { success: [22] });
    const refused = await ok('POST', `${base}/update/deposit`, {
      waitPolicy: { lifecycleStage: 'UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED' },
      request: { input: { args: [-1] } },
    });
    assert.equal(refused.outcome.failure.message, 'nothing to deposit');
    const queried = await ok('POST', `${base}/query/seen`, { query: { queryArgs: [] } });
    assert.deepEqual(queried.queryResult, [await handle.query('seen')]);
    assert.deepEqual(queried.queryResult, [22]);
    await ok('POST', `${base}/signal/stop`, {});
    assert.equal(await handle.result(), 22);
  });

  test('the same id is refused to whoever comes second', async () => {
    const handle = await startByHttp('http-once', 'forever', []);
    const options = { taskQueue: world.taskQueue, workflowId: 'http-once', args: [] };
    const error = await failure(world.client.workflow.start('forever', options));
    assert.ok(error instanceof WorkflowExecutionAlreadyStartedError, String(error));
    const { status, body } = await call('POST', `${WORKFLOWS}/http-once`, {
      workflowType: { name: 'forever' },
      taskQueue: { name: world.taskQueue },
    });
    assert.equal(status, 409);
    assert.equal(body.details[0].runId, (await handle.describe()).runId);
    await ok('POST', `${WORKFLOWS}/http-once/terminate`, { reason: 'enough', details: ['a', { b: 1 }] });
    const [terminated] = await eventsNamed(handle, 'WORKFLOW_EXECUTION_TERMINATED');
    assert.equal(terminated.workflowExecutionTerminatedEventAttributes.reason, 'enough');
  });

  test('a namespace that HTTP made is one for the SDK', async () => {
    await ok('POST', '/api/v1/namespaces', { namespace: 'by-http', workflowExecutionRetentionPeriod: '86400s' });
    const { config } = await world.service.describeNamespace({ namespace: 'by-http' });
    assert.equal(Number(config.workflowExecutionRetentionTtl.seconds), 86400);
    const all = await ok('GET', '/api/v1/namespaces?pageSize=100');
    assert.ok(all.namespaces.some((each) => each.namespaceInfo.name === 'by-http'));
  });

  test('a schedule that HTTP made fires, is in the ledger, and is one for the SDK', async () => {
    const base = '/api/v1/namespaces/default/schedules/by-http';
    await ok('POST', base, {
      requestId: 'made-once',
      schedule: {
        spec: { interval: [{ interval: '3600s', phase: '60s' }] },
        action: { startWorkflow: { workflowId: 'fired', workflowType: { name: 'same' }, taskQueue: { name: world.taskQueue }, input: [{ n: 1 }] } },
        policies: { overlapPolicy: 'BufferOne', catchupWindow: '600s' },
      },
      memo: { fields: { note: 'http' } },
    });
    const described = await world.client.schedule.getHandle('by-http').describe();
    assert.equal(described.policies.overlap, 'BUFFER_ONE');
    assert.deepEqual(described.spec.intervals, [{ every: 3_600_000, offset: 60_000 }]);
    assert.deepEqual(described.action.args, [{ n: 1 }]);
    assert.deepEqual(described.memo, { note: 'http' });

    const { entry } = await ok('POST', `${base}/trigger`, { overlapPolicy: 'AllowAll', requestId: 'once' });
    const run = world.client.workflow.getHandle(entry.workflowId, entry.runId);
    world.runs.note(entry.workflowId, entry.runId);
    assert.deepEqual(await run.result(), { n: 1 });
    const { entries } = await ok('GET', `${base}/ledger?startTime=2020-01-01T00:00:00Z&maximumPageSize=10`);
    assert.deepEqual(entries.map((each) => each.runId), [entry.runId]);
    const { schedules } = await ok('GET', '/api/v1/namespaces/default/schedules?maximumPageSize=5');
    assert.deepEqual(schedules.map((each) => each.scheduleId), ['by-http']);
    await ok('DELETE', base);
    assert.equal((await call('GET', base)).status, 404);
  });

  test('system info says the same over both', async () => {
    const seen = await ok('GET', '/api/v1/system-info');
    const { capabilities, serverVersion } = await world.service.getSystemInfo({});
    assert.equal(seen.serverVersion, serverVersion);
    assert.deepEqual(seen.capabilities, { ...capabilities, prefixSearch: true }); // a field that the SDK does not know
    assert.equal(seen.capabilities.supportsSchedules, true);
  });

  replayAll(world);
});
