// Worker deployments: pollers make versions, runs stay with theirs or move, and all of it survives a crash.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { eventsNamed } from './lib/history.mjs';
import { RunningWorker } from './lib/worker.mjs';
import { World, eventually, failure, replayAll } from './lib/world.mjs';

const { VersioningBehavior, WorkerDeploymentVersionStatus: Status } = proto.temporal.api.enums.v1;
const { PinnedOverrideBehavior } = proto.temporal.api.workflow.v1.VersioningOverride;

const world = new World();
const namespace = 'default';
const deploymentName = 'web';
const taskQueue = 'versions';
const workers = new Map();

// A worker whose activity says which build it is.
async function startVersion(buildId) {
  const workerDeploymentOptions = {
    useWorkerVersioning: true,
    version: { deploymentName, buildId },
    defaultVersioningBehavior: 'PINNED',
  };
  const activities = { echo: async (data) => `${data} on ${buildId}` };
  const worker = await RunningWorker.start(world.server, taskQueue, { workerDeploymentOptions, activities });
  workers.set(buildId, worker);
}

async function describeDeployment() {
  return await world.service.describeWorkerDeployment({ namespace, deploymentName });
}

async function statusOf(buildId) {
  const { workerDeploymentInfo } = await describeDeployment();
  return workerDeploymentInfo.versionSummaries.find((v) => v.deploymentVersion.buildId === buildId)?.status;
}

async function setCurrent(buildId, options = {}) {
  const request = { namespace, deploymentName, buildId, identity: 'test', ignoreMissingTaskQueues: true };
  return await world.service.setWorkerDeploymentCurrentVersion({ ...request, ...options });
}

async function setRamp(buildId, percentage) {
  const request = { namespace, deploymentName, buildId, percentage, identity: 'test', ignoreMissingTaskQueues: true };
  return await world.service.setWorkerDeploymentRampingVersion(request);
}

async function versioningOf(handle) {
  const { raw } = await handle.describe();
  return raw.workflowExecutionInfo.versioningInfo;
}

// A run that has completed its first task, on this build.
async function startOn(buildId, type, args = [], options = {}) {
  const handle = await world.start(type, args, { taskQueue, ...options });
  await eventually(async () => (await versioningOf(handle))?.deploymentVersion?.buildId === buildId);
  return handle;
}

before(async () => {
  await world.open();
  await startVersion('1');
  await startVersion('2');
  await eventually(async () => (await statusOf('1')) && (await statusOf('2')));
});
after(async () => {
  for (const worker of workers.values()) await worker.stop();
  await world.close();
});

describe('a deployment', { timeout: 120_000 }, () => {
  test('is made by its pollers, and routes nothing by itself', async () => {
    const { workerDeploymentInfo, conflictToken } = await describeDeployment();
    assert.equal(workerDeploymentInfo.name, deploymentName);
    assert.deepEqual(workerDeploymentInfo.versionSummaries.map((v) => v.version).sort(), ['web.1', 'web.2']);
    assert.equal(workerDeploymentInfo.routingConfig.currentVersion, '__unversioned__');
    assert.ok(conflictToken.length > 0);
    const { workerDeployments } = await world.service.listWorkerDeployments({ namespace });
    assert.deepEqual(workerDeployments.map((d) => d.name), [deploymentName]);
    const { workerDeploymentVersionInfo, versionTaskQueues } = await world.service.describeWorkerDeploymentVersion({
      namespace,
      deploymentVersion: { deploymentName, buildId: '1' },
      reportTaskQueueStats: true,
    });
    for (const { stats, statsByPriorityKey } of versionTaskQueues) {
      assert.equal(Number(stats.approximateBacklogCount), 0);
      assert.deepEqual(Object.keys(statsByPriorityKey), ['3']);
    }
    assert.equal(versionTaskQueues.length, 2);
    assert.deepEqual(
      workerDeploymentVersionInfo.taskQueueInfos.map((q) => [q.name, q.type]).sort(),
      [[taskQueue, 1], [taskQueue, 2]]
    );
  });

  test('is changed by who has the last token', async () => {
    const { conflictToken } = await describeDeployment();
    const response = await setCurrent('1', { conflictToken });
    assert.equal(response.previousVersion, '__unversioned__');
    const late = await failure(setCurrent('2', { conflictToken }));
    assert.equal(late.code, status.FAILED_PRECONDITION);
    assert.equal((await setCurrent('1', { conflictToken })).previousVersion, 'web.1'); // nothing to change
    assert.equal(await statusOf('1'), Status.WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT);
    const unknown = await failure(setCurrent('3'));
    assert.equal(unknown.code, status.NOT_FOUND);
  });

  test('keeps versions that are in use, and notes about them', async () => {
    const deploymentVersion = { deploymentName, buildId: '2' };
    const inUse = await failure(world.service.deleteWorkerDeploymentVersion({ namespace, deploymentVersion }));
    assert.equal(inUse.code, status.FAILED_PRECONDITION);
    const full = await failure(world.service.deleteWorkerDeployment({ namespace, deploymentName }));
    assert.equal(full.code, status.FAILED_PRECONDITION);
    const note = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"b"') };
    const { metadata } = await world.service.updateWorkerDeploymentVersionMetadata({
      namespace,
      deploymentVersion,
      upsertEntries: { branch: note },
    });
    assert.equal(Buffer.from(metadata.entries.branch.data).toString(), '"b"');
  });

  test('is managed by one', async () => {
    await world.service.setWorkerDeploymentManager({ namespace, deploymentName, identity: 'boss', self: true });
    assert.equal((await failure(setCurrent('2'))).code, status.FAILED_PRECONDITION);
    await world.service.setWorkerDeploymentManager({
      namespace,
      deploymentName,
      identity: 'boss',
      managerIdentity: '',
    });
    await setCurrent('1');
  });
});

describe('runs', { timeout: 120_000 }, () => {
  test('that are pinned stay, and others move', async () => {
    await setCurrent('1');
    const pinned = await startOn('1', 'stays', ['a']);
    const free = await startOn('1', 'moves', ['a']);
    await setCurrent('2');
    const young = await startOn('2', 'stays', ['a']);
    for (const handle of [pinned, free, young]) await handle.signal('stop');
    assert.deepEqual(await pinned.result(), ['a on 1']);
    assert.deepEqual(await free.result(), ['a on 2']);
    assert.deepEqual(await young.result(), ['a on 2']);
    const [first, second] = await eventsNamed(free, 'WORKFLOW_TASK_COMPLETED');
    const attributes = (event) => event.workflowTaskCompletedEventAttributes;
    assert.equal(attributes(first).deploymentVersion.buildId, '1');
    assert.equal(attributes(second).deploymentVersion.buildId, '2');
    assert.equal(attributes(first).versioningBehavior, VersioningBehavior.VERSIONING_BEHAVIOR_AUTO_UPGRADE);
    assert.equal(attributes(first).workerDeploymentName, deploymentName);
  });

  test('are found by their version', async () => {
    await setCurrent('1');
    const handle = await startOn('1', 'stays');
    const query = `TemporalWorkerDeploymentVersion = 'web:1' AND TemporalWorkflowVersioningBehavior = 'Pinned' AND WorkflowId = '${handle.workflowId}'`;
    const { count } = await world.service.countWorkflowExecutions({ namespace, query });
    assert.equal(Number(count), 1);
    const { searchAttributes } = await handle.describe();
    assert.equal(searchAttributes.BuildIds[0], 'pinned:web:1');
    assert.deepEqual(searchAttributes.TemporalUsedWorkerDeploymentVersions, ['web:1']);
    await handle.signal('stop');
    await handle.result();
  });

  test('without versions say which build they met', async () => {
    const handle = await world.start('hello', ['x']);
    await handle.result();
    const { searchAttributes } = await handle.describe();
    const { buildId } = world.worker.worker.options;
    assert.deepEqual(searchAttributes.BuildIds, ['unversioned', `unversioned:${buildId}`]);
    assert.equal(searchAttributes.TemporalWorkerDeployment, undefined);
  });

  test('go to the ramp by its percentage', async () => {
    await setCurrent('1');
    await setRamp('2', 100);
    const up = await startOn('2', 'stays');
    await setRamp('2', 0);
    const down = await startOn('1', 'stays');
    const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: 1 };
    const { versioningInfo, pollers } = await world.service.describeTaskQueue(request);
    assert.equal(versioningInfo.currentDeploymentVersion.buildId, '1');
    assert.equal(versioningInfo.rampingDeploymentVersion.buildId, '2');
    assert.deepEqual([...new Set(pollers.map((p) => p.deploymentOptions.buildId))].sort(), ['1', '2']);
    await setRamp('', 0);
    for (const handle of [up, down]) await handle.signal('stop');
    await up.result();
    await down.result();
  });

  test('obey an override', async () => {
    await setCurrent('2');
    const pinnedTo = { deploymentName, buildId: '1' };
    const handle = await startOn('1', 'moves', ['a'], { versioningOverride: { pinnedTo } });
    const [started] = await eventsNamed(handle, 'WORKFLOW_EXECUTION_STARTED');
    const { versioningOverride } = started.workflowExecutionStartedEventAttributes;
    assert.equal(versioningOverride.pinned.version.buildId, '1');
    const workflowExecution = { workflowId: handle.workflowId };
    const updateMask = { paths: ['versioning_override'] };
    const behavior = PinnedOverrideBehavior.PINNED_OVERRIDE_BEHAVIOR_PINNED;
    const pinned = { behavior, version: { deploymentName, buildId: '2' } };
    const { workflowExecutionOptions } = await world.service.updateWorkflowExecutionOptions({
      namespace,
      workflowExecution,
      updateMask,
      workflowExecutionOptions: { versioningOverride: { pinned } },
    });
    assert.equal(workflowExecutionOptions.versioningOverride.pinned.version.buildId, '2');
    await setCurrent('1');
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), ['a on 2']);
    assert.equal((await eventsNamed(handle, 'WORKFLOW_EXECUTION_OPTIONS_UPDATED')).length, 1);
    const nowhere = world.start('stays', [], {
      taskQueue,
      versioningOverride: { pinnedTo: { deploymentName, buildId: '9' } },
    });
    assert.equal((await failure(nowhere)).cause.code, status.FAILED_PRECONDITION);
  });

  test('pass their version on to their children', async () => {
    await setCurrent('1');
    const handle = await startOn('1', 'staysWithChild');
    await setCurrent('2');
    await handle.signal('stop');
    assert.equal(await handle.result(), '1');
  });

  test('continue as new on the version that came since', async () => {
    await setCurrent('1');
    const handle = await startOn('1', 'followsVersions', ['AUTO_UPGRADE', 0]);
    await setCurrent('2');
    await handle.signal('stop');
    assert.equal(await handle.result(), '2');
  });

  test('continue as new on the version that is ramped up', async () => {
    await setCurrent('1');
    const handle = await startOn('1', 'followsVersions', ['USE_RAMPING_VERSION', 0]);
    await setRamp('2', 0.01);
    await handle.signal('stop');
    assert.equal(await handle.result(), '2');
    await setRamp('', 0);
  });

  test('continue as new where they are, if they do not ask', async () => {
    await setCurrent('1');
    const handle = await startOn('1', 'followsVersions', [undefined, 0]);
    await setCurrent('2');
    await handle.signal('stop');
    assert.equal(await handle.result(), '1');
  });
});

test('a version drains while it has runs, and then is drained', { timeout: 120_000 }, async () => {
  await setCurrent('1');
  const handle = await startOn('1', 'stays');
  await setCurrent('2');
  assert.equal(await statusOf('1'), Status.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
  await handle.signal('stop');
  await handle.result();
  await eventually(async () => (await statusOf('1')) === Status.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED);
});

test('after kill -9 all of it is there', { timeout: 120_000 }, async () => {
  await setCurrent('1');
  const pinned = await startOn('1', 'stays', ['a']);
  const free = await startOn('1', 'moves', ['a']);
  await setCurrent('2');
  await world.server.killAndRestart();
  await eventually(async () => (await statusOf('2').catch(() => undefined)) === Status.WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT);
  for (const handle of [pinned, free]) await handle.signal('stop');
  assert.deepEqual(await pinned.result(), ['a on 1']);
  assert.deepEqual(await free.result(), ['a on 2']);
});

replayAll(world);
