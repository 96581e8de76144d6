// Workers as they describe themselves: heartbeats, lists, counts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { installQuietRuntime } from './lib/log.mjs';
import { eventually, failure, openWorld } from './lib/world.mjs';

const { WorkerStatus } = proto.temporal.api.enums.v1;
const namespace = 'default';
installQuietRuntime({ workerHeartbeatInterval: '1s' });
const world = openWorld();

const beat = (key, fields) => ({
  workerInstanceKey: key,
  workerIdentity: `me@${key}`,
  taskQueue: 'q',
  sdkName: 'test',
  sdkVersion: '1.2.3',
  status: WorkerStatus.WORKER_STATUS_RUNNING,
  startTime: { seconds: 1_700_000_000 },
  heartbeatTime: { seconds: 1_700_000_060 },
  ...fields,
});
const record = (...workerHeartbeat) => world.service.recordWorkerHeartbeat({ namespace, workerHeartbeat });
const ours = (query) => `SdkName = 'test' AND (${query})`;

async function keys(query) {
  const { workers, workersInfo } = await world.service.listWorkers({ namespace, query });
  const found = workers.map((each) => each.workerInstanceKey);
  assert.deepEqual(found, workersInfo.map((each) => each.workerHeartbeat.workerInstanceKey));
  const { count } = await world.service.countWorkers({ namespace, query });
  assert.equal(Number(count), found.length);
  return found;
}

async function refusal(promise, code, text) {
  const error = await failure(promise);
  assert.equal(error.code, code, String(error));
  assert.match(error.details, text);
}

describe('workers', { timeout: 180_000 }, () => {
  test('are listed, counted and found by what they say', async () => {
    await record(
      beat('b', { hostInfo: { hostName: 'north', processId: '7' } }),
      beat('a', { taskQueue: 'other', status: WorkerStatus.WORKER_STATUS_SHUTTING_DOWN }),
      beat('c', { deploymentVersion: { deploymentName: 'd', buildId: '2' }, startTime: { seconds: 1_800_000_000 } }),
    );
    const cases = [
      ["SdkVersion = '1.2.3'", ['a', 'b', 'c']],
      ["TaskQueue = 'other'", ['a']],
      ["TaskQueue != 'other'", ['b', 'c']],
      ["HostName STARTS_WITH 'no'", ['b']],
      ['HostName IS NULL', ['a', 'c']],
      ["DeploymentName = 'd' AND BuildId = '2'", ['c']],
      ["WorkerStatus = 'ShuttingDown'", ['a']],
      ["Status = 'Running'", ['b', 'c']],
      ["StartTime > '2024-01-01T00:00:00Z'", ['c']],
      ["HeartbeatTime BETWEEN '2023-11-14T00:00:00Z' AND '2023-11-15T00:00:00Z'", ['a', 'b', 'c']],
      ["WorkerIdentity = 'me@b' OR WorkerInstanceKey = 'c'", ['b', 'c']],
      ["WorkerIdentity = 'nobody'", []],
    ];
    for (const [query, expected] of cases) assert.deepEqual(await keys(ours(query)), expected, query);
    const { workerInfo } = await world.service.describeWorker({ namespace, workerInstanceKey: 'b' });
    assert.equal(workerInfo.workerHeartbeat.hostInfo.processId, '7');
  });

  test('come in pages', async () => {
    await record(...Array.from({ length: 7 }, (_, n) => beat(`page-${n}`, { sdkName: 'pages' })));
    const seen = [];
    let nextPageToken = new Uint8Array();
    do {
      const page = await world.service.listWorkers({ namespace, query: "SdkName = 'pages'", pageSize: 3, nextPageToken });
      assert.ok(page.workers.length <= 3);
      seen.push(...page.workers.map((each) => each.workerInstanceKey));
      ({ nextPageToken } = page);
    } while (nextPageToken.length);
    assert.deepEqual(seen, Array.from({ length: 7 }, (_, n) => `page-${n}`));
  });

  test('are gone when they say so', async () => {
    await record(beat('short', { sdkName: 'short' }));
    assert.deepEqual(await keys("SdkName = 'short'"), ['short']);
    await world.service.shutdownWorker({
      namespace,
      stickyTaskQueue: 'sticky',
      workerHeartbeat: beat('short', { sdkName: 'short', status: WorkerStatus.WORKER_STATUS_SHUTDOWN }),
    });
    assert.deepEqual(await keys("SdkName = 'short'"), []);
    const gone = world.service.describeWorker({ namespace, workerInstanceKey: 'short' });
    await refusal(gone, status.NOT_FOUND, /Worker short not found/);
  });

  test('that send nonsense are refused, and nothing of the request is kept', async () => {
    await refusal(record(beat('good', { sdkName: 'bad' }), beat('')), status.INVALID_ARGUMENT, /WorkerInstanceKey is not set/);
    await refusal(record(beat('x'.repeat(1001))), status.INVALID_ARGUMENT, /WorkerInstanceKey length exceeds limit/);
    await refusal(record(beat('k', { taskQueue: 'x'.repeat(20_000) })), status.INVALID_ARGUMENT, /exceeds 16384 bytes/);
    assert.deepEqual(await keys("SdkName = 'bad'"), []);
    const ask = (query) => world.service.listWorkers({ namespace, query });
    await refusal(ask("WorkflowId = 'x'"), status.INVALID_ARGUMENT, /workers do not have/);
    await refusal(ask('Nonsense = 1'), status.INVALID_ARGUMENT, /invalid query/);
  });

  test('of the SDK are heard, because the namespace says that it listens', async () => {
    const { namespaceInfo } = await world.service.describeNamespace({ namespace });
    assert.equal(namespaceInfo.capabilities.workerHeartbeats, true);
    const query = `TaskQueue = '${world.taskQueue}' AND Status = 'Running'`;
    const [{ workerInstanceKey }] = await eventually(async () => {
      const { workers } = await world.service.listWorkers({ namespace, query });
      return workers.length && workers;
    });
    const heartbeat = async () =>
      (await world.service.describeWorker({ namespace, workerInstanceKey })).workerInfo.workerHeartbeat;
    assert.equal((await heartbeat()).sdkName, 'temporal-typescript');
    // Its first one may be from before it polls.
    await eventually(async () => (await heartbeat()).workflowPollerInfo.currentPollers > 0);
  });

  test('may ask for the partitions of a queue', async () => {
    const r = await world.service.listTaskQueuePartitions({ namespace, taskQueue: { name: 'q' } });
    assert.deepEqual(r.workflowTaskQueuePartitions.map((each) => each.key), ['q']);
    assert.deepEqual(r.activityTaskQueuePartitions.map((each) => each.key), ['q']);
  });
});
