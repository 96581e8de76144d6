// Task queues: who polls them, what waits in them, in which order and how fast it leaves.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const { BuildIdTaskReachability: Reach, DescribeTaskQueueMode, TaskQueueType } = proto.temporal.api.enums.v1;
const world = openWorld();

async function describeQueue(name, taskQueueType = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW) {
  return await world.service.describeTaskQueue({ namespace: 'default', taskQueue: { name }, taskQueueType, reportStats: true });
}

// As `temporal task-queue describe` asks.
async function describeVersions(name, fields = {}) {
  const { versionsInfo } = await world.service.describeTaskQueue({
    namespace: 'default',
    taskQueue: { name },
    apiMode: DescribeTaskQueueMode.DESCRIBE_TASK_QUEUE_MODE_ENHANCED,
    reportStats: true,
    reportPollers: true,
    ...fields,
  });
  return versionsInfo;
}

const reach = async (name, versions) => {
  const info = await describeVersions(name, { versions, reportTaskReachability: true });
  return Object.fromEntries(Object.entries(info).map(([key, { taskReachability }]) => [key, taskReachability]));
};

describe('task queues', { concurrency: 4, timeout: 120_000 }, () => {
  test('know their workers', async () => {
    await world.execute('hello', ['Ada']);
    for (const type of [TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY]) {
      const { pollers } = await describeQueue(world.taskQueue, type);
      assert.ok(pollers.length >= 1);
      assert.ok(pollers[0].identity.length > 0);
      assert.ok(Math.abs(Number(pollers[0].lastAccessTime.seconds) * 1000 - Date.now()) < 120_000);
    }
  });

  test('know the builds of their workers, and have none for Nexus', async () => {
    const taskQueue = 'builds';
    await world.withWorker(taskQueue, async () => {
      await eventually(async () => (await describeQueue(taskQueue)).pollers.length === 1);
      const [poller] = (await describeQueue(taskQueue)).pollers;
      assert.equal(poller.workerVersionCapabilities.buildId, 'b-7');
      assert.equal(poller.workerVersionCapabilities.useVersioning, false);
      assert.equal(poller.ratePerSecond, 100_000);
      assert.deepEqual((await describeQueue(taskQueue, TaskQueueType.TASK_QUEUE_TYPE_NEXUS)).pollers, []);
      const types = [TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_NEXUS];
      const { typesInfo } = (await describeVersions(taskQueue, { taskQueueTypes: types }))[''];
      assert.deepEqual(Object.entries(typesInfo).map(([type, { pollers }]) => [type, pollers.length]), [['1', 1], ['3', 0]]);
    }, { buildId: 'b-7' });
  });

  test('are described by versions', async () => {
    const taskQueue = 'described';
    const version = { deploymentName: 'dep', buildId: '1' };
    const workerDeploymentOptions = { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' };
    const handle = await world.start('hello', ['Ada'], { taskQueue, priority: { priorityKey: 2 } });
    const before = await describeVersions(taskQueue);
    assert.deepEqual(Object.keys(before), ['']);
    assert.deepEqual(Object.keys(before[''].typesInfo).sort(), ['1', '2']);
    const { stats } = before[''].typesInfo[1];
    assert.equal(Number(stats.approximateBacklogCount), 1);
    assert.ok(stats.tasksAddRate > 0 && stats.tasksDispatchRate === 0);
    assert.equal((await describeVersions(taskQueue, { reportStats: false }))[''].typesInfo[1].stats, null);
    const { statsByPriorityKey } = await world.service.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      reportStats: true,
    });
    const counts = Object.entries(statsByPriorityKey).map(([key, each]) => [key, Number(each.approximateBacklogCount)]);
    assert.deepEqual(counts, [['2', 1], ['3', 0]]);
    const part = { namespace: 'default', taskQueue: { name: `/_sys/${taskQueue}/1` } };
    assert.equal((await world.service.describeTaskQueue(part)).pollers.length, 0, 'a queue is in one piece; other partitions are empty');
    const figures = await failure(world.service.describeTaskQueue({ ...part, reportStats: true }));
    assert.equal(figures.code, status.INVALID_ARGUMENT);

    await world.withWorker(taskQueue, async () => {
      const active = () => describeVersions(taskQueue, { versions: { allActive: true } });
      await eventually(async () => (await active())['dep:1']?.typesInfo[2]?.pollers.length === 1);
      assert.deepEqual(Object.keys(await active()).sort(), ['', 'dep:1']);
      assert.deepEqual(await reach(taskQueue, { buildIds: ['dep.1', 'x'], unversioned: true }), {
        '': Reach.BUILD_ID_TASK_REACHABILITY_REACHABLE,
        'dep:1': Reach.BUILD_ID_TASK_REACHABILITY_UNREACHABLE,
        x: Reach.BUILD_ID_TASK_REACHABILITY_UNREACHABLE,
      });
      const choose = (buildId) =>
        world.service.setWorkerDeploymentCurrentVersion({
          namespace: 'default',
          deploymentName: 'dep',
          buildId,
          ignoreMissingTaskQueues: true,
        });
      await choose('1');
      assert.equal(await handle.result(), 'Hello, Ada!');
      const moved = (await describeVersions(taskQueue, { versions: { buildIds: ['dep:1'] } }))['dep:1'].typesInfo[1];
      assert.equal(Number(moved.stats.approximateBacklogCount), 0);
      assert.ok(moved.stats.tasksDispatchRate > 0);
      assert.deepEqual(await reach(taskQueue, { buildIds: ['dep:1'] }), { 'dep:1': Reach.BUILD_ID_TASK_REACHABILITY_REACHABLE });
      await choose('');
      assert.deepEqual(await reach(taskQueue, { buildIds: ['dep:1'] }), {
        'dep:1': Reach.BUILD_ID_TASK_REACHABILITY_CLOSED_WORKFLOWS_ONLY,
      });
    }, { workerDeploymentOptions });
    const five = ['1', '2', '3', '4', '5'];
    assert.equal(Object.keys(await reach(taskQueue, { buildIds: five })).length, 5);
    const tooMany = await failure(reach(taskQueue, { buildIds: [...five, '6'] }));
    assert.equal(tooMany.code, status.INVALID_ARGUMENT);
    assert.match(tooMany.details, /Too many build ids queried at once with ReportTaskReachability==true, limit: 5/);
    const sticky = await failure(describeVersions('x', { taskQueue: { name: 'x', kind: 2 } }));
    assert.match(sticky.details, /not valid for a sticky queue/);
    const type = await failure(describeVersions('x', { taskQueueTypes: [0] }));
    assert.equal(type.code, status.INVALID_ARGUMENT);
  });

  test('count what waits', async () => {
    const taskQueue = 'waiting';
    const handles = [];
    for (let i = 0; i < 3; i++) handles.push(await world.start('hello', [`${i}`], { taskQueue }));
    const { stats, pollers } = await describeQueue(taskQueue);
    assert.equal(Number(stats.approximateBacklogCount), 3);
    assert.equal(pollers.length, 0);
    await world.withWorker(taskQueue, () => Promise.all(handles.map((handle) => handle.result())));
    assert.equal(Number((await describeQueue(taskQueue)).stats.approximateBacklogCount), 0);
  });

  test('give urgent work first', async () => {
    const taskQueue = 'urgent';
    const started = [];
    for (const priorityKey of [5, 3, 1, 4, 2]) {
      const handle = await world.start('same', [priorityKey], { taskQueue, priority: { priorityKey } });
      started.push([priorityKey, handle]);
    }
    await world.withWorker(taskQueue, () => Promise.all(started.map(([, handle]) => handle.result())), {
      maxConcurrentWorkflowTaskExecutions: 2,
      maxConcurrentWorkflowTaskPolls: 2,
      maxCachedWorkflows: 0,
    });
    const times = await Promise.all(
      started.map(async ([priorityKey, handle]) => {
        const { events } = await handle.fetchHistory();
        const task = events.find((event) => event.workflowTaskStartedEventAttributes);
        return [Number(task.eventTime.seconds) * 1e9 + task.eventTime.nanos, priorityKey];
      })
    );
    const order = times.sort(([a], [b]) => a - b).map(([, priorityKey]) => priorityKey);
    assert.deepEqual(order, [1, 2, 3, 4, 5]);
  });

  test('can be paused and released by their operator', async () => {
    const taskQueue = 'paused';
    const type = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY;
    const limit = (rateLimit) =>
      world.service.updateTaskQueueConfig({
        namespace: 'default',
        identity: 'operator',
        taskQueue,
        taskQueueType: type,
        updateQueueRateLimit: { rateLimit, reason: 'the machine is on fire' },
      });
    const ask = { namespace: 'default', taskQueue: { name: taskQueue }, taskQueueType: type, reportConfig: true, reportStats: true };
    const { config } = await limit({ requestsPerSecond: 0 });
    assert.equal(config.queueRateLimit.metadata.updateIdentity, 'operator');
    const work = async () => {
      const handle = await world.start('hello', ['Ada'], { taskQueue });
      await eventually(async () => Number((await describeQueue(taskQueue, type)).stats.approximateBacklogCount) === 1);
      const shown = await world.service.describeTaskQueue(ask);
      assert.equal(shown.config.queueRateLimit.metadata.reason, 'the machine is on fire');
      assert.equal(shown.effectiveRateLimit.requestsPerSecond, 0);
      assert.equal(shown.stats.rateLimitingActive, true);
      await limit(undefined);
      assert.equal(await handle.result(), 'Hello, Ada!');
    };
    // With a rate of its own the worker takes no activity but through the queue.
    await world.withWorker(taskQueue, work, { maxTaskQueueActivitiesPerSecond: 1000 });
  });

  test('keep to the rate that a worker asks for', async () => {
    const taskQueue = 'slow';
    await world.withWorker(
      taskQueue,
      async () => {
        const began = Date.now();
        await Promise.all([1, 2, 3, 4].map((n) => world.execute('hello', [`${n}`], { taskQueue })));
        // Four activities at two a second: the last leaves a second and a half after the first.
        assert.ok(Date.now() - began >= 1400, `${Date.now() - began} ms`);
        const { pollers } = await describeQueue(taskQueue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY);
        assert.equal(pollers[0].ratePerSecond, 2);
      },
      { maxTaskQueueActivitiesPerSecond: 2 }
    );
    // A worker that has said goodbye is no poller any more.
    const { pollers } = await describeQueue(taskQueue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY);
    assert.deepEqual(pollers, []);
  });
});

replayAll(world);
