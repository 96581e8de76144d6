// What Temporal's Web UI asks of the HTTP port, with its parameters, and what it looks for in the answers.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();
const ROOT = '/api/v1';
const SPACE = `${ROOT}/namespaces/default`;

async function ui(method, path, params = {}, body = undefined) {
  const query = new URLSearchParams(params).toString();
  const url = `http://127.0.0.1:${world.server.httpPort}${path}${query ? `?${query}` : ''}`;
  const response = await fetch(url, { method, headers: { 'Caller-Type': 'operator' }, body: body && JSON.stringify(body) });
  const answer = await response.json();
  assert.equal(response.status, 200, `${method} ${url}: ${JSON.stringify(answer)}`);
  return answer;
}
const get = (path, params) => ui('GET', path, params);
const post = (path, body, params) => ui('POST', path, params, body);

// As src/lib/utilities/version-check.ts compares them.
function isAtLeast(wanted, version) {
  const [a, b] = [wanted, version].map((text) => text.split('.').map(Number));
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 || b[at] > a[at];
}

describe('the Web UI', { timeout: 120_000 }, () => {
  test('knows the server and its namespaces', async () => {
    const settings = await get(`${ROOT}/settings`);
    assert.equal(settings.Auth.Enabled, false);
    assert.equal(settings.DisableWriteActions, false);
    assert.ok(isAtLeast('2.23.0', settings.Version), 'paths are encoded once');
    const { capabilities } = await get(`${ROOT}/system-info`);
    assert.equal(capabilities.prefixSearch, true);
    assert.equal(capabilities.supportsSchedules, true);
    const { serverVersion } = await get(`${ROOT}/cluster-info`);
    for (const gate of ['1.18.0', '1.23.0', '1.24.0', '1.25.0', '1.27.1', '1.30.0', '1.32.0']) assert.ok(isAtLeast(gate, serverVersion), gate);
    const { namespaces } = await get(`${ROOT}/namespaces`, { pageSize: '100', next_page_token: '' });
    assert.deepEqual(namespaces.map((each) => each.namespaceInfo.name), ['default']);
    const { namespaceInfo, config, replicationConfig } = await get(SPACE);
    assert.equal(namespaceInfo.supportsSchedules, true);
    assert.equal(config.historyArchivalState, 'ARCHIVAL_STATE_DISABLED');
    assert.equal(config.visibilityArchivalState, 'ARCHIVAL_STATE_DISABLED');
    assert.deepEqual(replicationConfig.clusters, [{ clusterName: 'active' }]);
    const { systemAttributes } = await get(`${SPACE}/search-attributes`);
    assert.equal(systemAttributes.WorkflowType, 'INDEXED_VALUE_TYPE_KEYWORD');
    assert.deepEqual(await get(`${ROOT}/nexus/endpoints`, { name: '' }), {});
  });

  test('lists, shows and changes workflows', async () => {
    const handle = await world.start('pause', [600_000], { workflowId: 'ui/1' });
    const runId = handle.firstExecutionRunId;
    const query = 'WorkflowType="pause" AND `WorkflowId` STARTS_WITH "ui"';
    const { executions } = await get(`${SPACE}/workflows`, { query, pageSize: '100', next_page_token: '' });
    assert.deepEqual(executions.map((each) => each.execution.workflowId), ['ui/1']);
    assert.equal((await get(`${SPACE}/workflow-count`, { query })).count, '1');
    const { groups } = await get(`${SPACE}/workflow-count`, { query: 'GROUP BY ExecutionStatus' });
    assert.ok(groups.length >= 1);
    const path = `${SPACE}/workflows/${encodeURIComponent('ui/1')}`;
    const { workflowExecutionInfo } = await get(path, { 'execution.runId': runId });
    assert.equal(workflowExecutionInfo.status, 'WORKFLOW_EXECUTION_STATUS_RUNNING');
    await eventually(async () => (await get(path)).workflowExecutionInfo.historyLength >= 5);
    // The reverse history has no such field as waitNewEvent.
    const params = { 'execution.runId': runId, waitNewEvent: 'false', maximumPageSize: '20', next_page_token: '' };
    const ascending = await get(`${path}/history`, params);
    const descending = await get(`${path}/history-reverse`, params);
    const ids = ({ history }) => history.events.map((event) => event.eventId);
    assert.deepEqual(ids(ascending), ids(descending).reverse());

    const payloads = [{ metadata: { encoding: Buffer.from('json/plain').toString('base64') }, data: Buffer.from('1').toString('base64') }];
    await post(`${path}/signal/nobody`, { signalName: 'nobody', input: { payloads }, workflowExecution: { workflowId: 'ui/1', runId } });
    const execution = { workflowId: 'ui/1', runId };
    const cancel = { namespace: 'default', workflowExecution: execution, requestId: crypto.randomUUID(), identity: 'ui' };
    await post(`${path}/cancel`, cancel, { 'execution.runId': runId });
    await eventually(async () => (await get(path)).workflowExecutionInfo.status === 'WORKFLOW_EXECUTION_STATUS_CANCELED');

    const other = await world.start('pause', [600_000], { workflowId: 'ui-2' });
    await eventually(async () => (await get(`${SPACE}/workflows/ui-2`)).workflowExecutionInfo.historyLength >= 5);
    await post(`${SPACE}/workflows/ui-2/pause`, { reason: 'a look' }, { 'execution.runId': other.firstExecutionRunId });
    await post(`${SPACE}/workflows/ui-2/unpause`, { reason: 'seen' }, { 'execution.runId': other.firstExecutionRunId });
    const reset = { workflowExecution: { workflowId: 'ui-2', runId: other.firstExecutionRunId }, workflowTaskFinishEventId: '4', requestId: crypto.randomUUID(), reason: 'again' };
    const again = await post(`${SPACE}/workflows/ui-2/reset`, reset, { 'execution.runId': other.firstExecutionRunId });
    world.runs.note('ui-2', again.runId);
    await post(`${SPACE}/workflows/ui-2/terminate`, { reason: 'enough' }, { 'execution.runId': again.runId });
    const { status } = (await get(`${SPACE}/workflows/ui-2`)).workflowExecutionInfo;
    assert.equal(status, 'WORKFLOW_EXECUTION_STATUS_TERMINATED');
  });

  // The pages never ask for it; other callers get the shorthand (http.test.mjs).
  test('sends and reads payloads in full', async () => {
    const json = (value) => ({
      metadata: { encoding: Buffer.from('json/plain').toString('base64') },
      data: Buffer.from(JSON.stringify(value)).toString('base64'),
    });
    const path = `${SPACE}/workflows/ui-payloads`;
    const request = {
      workflowId: 'ui-payloads',
      taskQueue: { name: world.taskQueue },
      workflowType: { name: 'hello' },
      input: { payloads: [json('Ada')] },
      userMetadata: { summary: json('a summary') },
      searchAttributes: null,
    };
    world.runs.note('ui-payloads', (await post(path, request)).runId);
    await eventually(async () => (await get(path)).workflowExecutionInfo.status === 'WORKFLOW_EXECUTION_STATUS_COMPLETED');
    const { executionConfig } = await get(path);
    assert.deepEqual(executionConfig.userMetadata.summary, json('a summary'));
    const { events } = (await get(`${path}/history`, { maximumPageSize: '20', nextPageToken: '' })).history;
    assert.deepEqual(events[0].workflowExecutionStartedEventAttributes.input, { payloads: [json('Ada')] });
    assert.deepEqual(events.at(-1).workflowExecutionCompletedEventAttributes.result, { payloads: [json('Hello, Ada!')] });
    // The same path, for a caller that is not a page of the Web UI.
    const response = await fetch(`http://127.0.0.1:${world.server.httpPort}${path}/history`);
    const { history } = await response.json();
    assert.deepEqual(history.events[0].workflowExecutionStartedEventAttributes.input, ['Ada']);
  });

  test('shows who polls a queue, and nobody for Nexus', async () => {
    await world.execute('hello', ['Ada']);
    const path = `${SPACE}/task-queues/${world.taskQueue}`;
    for (const taskQueueType of ['1', '2']) {
      const { pollers } = await get(path, { taskQueueType });
      assert.ok(pollers.length >= 1);
      assert.ok(pollers[0].workerVersionCapabilities.buildId.length > 0);
    }
    assert.equal((await get(path, { taskQueueType: '3' })).pollers, undefined);
    assert.equal(typeof (await get(`${SPACE}/workers`, { pageSize: '100' })), 'object');
    await get(`${SPACE}/worker-count`);
    await get(`${SPACE}/worker-deployments`, { pageSize: '100' });
    await get(`${SPACE}/batch-operations`, { pageSize: '100' });
  });

  test('makes, finds, changes and deletes schedules', async () => {
    const path = `${SPACE}/schedules/ui-daily`;
    const schedule = {
      spec: { calendar: [{ hour: '3', comment: 'nightly' }] },
      action: { startWorkflow: { workflowId: 'ui-daily', workflowType: { name: 'hello' }, taskQueue: { name: world.taskQueue } } },
      state: { paused: true },
    };
    await post(path, { schedule }); // without a request id
    for (const query of ['WorkflowType = "hello"', 'ScheduleId STARTS_WITH "ui-" AND TemporalSchedulePaused = true']) {
      const { schedules } = await get(`${SPACE}/schedules`, { maximumPageSize: '100', query, next_page_token: '' });
      assert.deepEqual(schedules.map((each) => [each.scheduleId, each.info.futureActionTimes.length]), [['ui-daily', 5]]);
    }
    assert.equal((await get(`${SPACE}/schedule-count`, { query: 'WorkflowType = "other"' })).count, undefined);
    assert.equal((await get(path)).info.futureActionTimes.length, 10);
    schedule.action.startWorkflow.workflowType.name = 'other';
    await post(`${path}/update`, { schedule, scheduleId: 'ui-daily' });
    assert.equal((await get(`${SPACE}/schedule-count`, { query: 'WorkflowType = "other"' })).count, '1');
    await post(`${path}/patch`, { patch: { unpause: 'go' }, requestId: crypto.randomUUID() });
    assert.equal((await get(path)).schedule.state.notes, 'go');
    await ui('DELETE', path, { identity: 'ui' });
    assert.equal((await get(`${SPACE}/schedule-count`)).count, undefined);
  });

  replayAll(world);
});
