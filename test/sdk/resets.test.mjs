// Reset: a new run that shares the beginning of an old one.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { TerminatedFailure } from '@temporalio/common';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION = 11;
const PARENT_CLOSE_POLICY_ABANDON = 2;

const world = openWorld();

async function reset(handle, workflowTaskFinishEventId, options = {}) {
  const { runId } = await world.service.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: handle.workflowId, runId: handle.firstExecutionRunId },
    reason: 'try again',
    requestId: randomUUID(),
    workflowTaskFinishEventId,
    ...options,
  });
  world.runs.note(handle.workflowId, runId);
  return world.client.workflow.getHandle(handle.workflowId, runId);
}

async function firstTaskEnd(handle) {
  const [completed] = await eventually(async () => {
    const events = await eventsNamed(handle, 'WORKFLOW_TASK_COMPLETED');
    return events.length && events;
  });
  return completed.eventId;
}

// A parent that is terminated together with the answer that starts its child, so that it closes first. Both calls
// leave in one packet; should they be taken apart on the way, this is tried again.
async function orphan() {
  for (;;) {
    const taskQueue = `by-hand-${randomUUID()}`;
    const workflowId = `child-${randomUUID()}`;
    const options = { workflowId, args: [], taskQueue: world.taskQueue, parentClosePolicy: 'ABANDON' };
    const parent = await world.start('parent', ['collect', options], { taskQueue });
    const queue = { namespace: 'default', taskQueue: { name: taskQueue } };
    const { taskToken } = await world.service.pollWorkflowTaskQueue(queue);
    const startChildWorkflowExecutionCommandAttributes = {
      workflowId,
      workflowType: { name: 'collect' },
      taskQueue: { name: world.taskQueue },
      parentClosePolicy: PARENT_CLOSE_POLICY_ABANDON,
    };
    await Promise.all([
      world.service.respondWorkflowTaskCompleted({
        namespace: 'default',
        taskToken,
        commands: [
          { commandType: COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION, startChildWorkflowExecutionCommandAttributes },
        ],
        forceCreateNewWorkflowTask: true,
      }),
      parent.terminate(),
    ]);
    const child = world.client.workflow.getHandle(workflowId);
    world.runs.note(workflowId, (await child.describe()).runId);
    if ((await eventsNamed(parent, 'CHILD_WORKFLOW_EXECUTION_STARTED')).length === 0) {
      const [terminated] = await eventsNamed(parent, 'WORKFLOW_EXECUTION_TERMINATED');
      return { parent, child, taskQueue, point: terminated.eventId };
    }
    await child.terminate();
  }
}

describe('reset', { concurrency: 8, timeout: 120_000 }, () => {
  test('of a closed run: it runs again from there', async () => {
    const handle = await world.start('hello', ['Ada']);
    await handle.result();
    const again = await reset(handle, await firstTaskEnd(handle));
    assert.equal(await again.result(), 'Hello, Ada!');
    const names = await eventNames(again);
    assert.deepEqual(names.slice(0, 5), [
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    const [failed] = await eventsNamed(again, 'WORKFLOW_TASK_FAILED');
    assert.equal(failed.workflowTaskFailedEventAttributes.baseRunId, handle.firstExecutionRunId);
    assert.equal((await handle.describe()).status.name, 'COMPLETED');
  });

  test('of an open run: it is terminated, and its signals are delivered again', async () => {
    const handle = await world.start('collect');
    const point = await firstTaskEnd(handle);
    for (const value of [1, 2, 3]) await handle.signal('add', value);
    const again = await reset(handle, point);
    const old = world.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
    assert.ok((await failure(old.result())).cause instanceof TerminatedFailure);
    await again.signal('stop');
    assert.deepEqual(await again.result(), [1, 2, 3]);
    const names = await eventNames(again);
    assert.deepEqual(names.slice(3, 8), [
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    const [failed] = await eventsNamed(again, 'WORKFLOW_TASK_FAILED');
    const [terminated] = await eventsNamed(old, 'WORKFLOW_EXECUTION_TERMINATED');
    assert.ok(Number(failed.taskId) > Number(terminated.taskId), 'what came later has a greater task id');
    const { raw } = await old.describe();
    assert.equal(raw.workflowExtendedInfo.resetRunId, (await again.describe()).runId);
  });

  test('without the signals', async () => {
    const handle = await world.start('collect');
    const point = await firstTaskEnd(handle);
    await handle.signal('add', 1);
    const again = await reset(handle, point, { resetReapplyExcludeTypes: [1] });
    await again.signal('stop');
    assert.deepEqual(await again.result(), []);
  });

  test('admits the updates again that were accepted', async () => {
    const handle = await world.start('account', [5]);
    const point = await firstTaskEnd(handle);
    assert.equal(await handle.executeUpdate('deposit', { args: [2], updateId: 'two' }), 7);
    assert.equal(await handle.executeUpdate('deposit', { args: [3], updateId: 'three' }), 10);
    const again = await reset(handle, point);
    // Asked for again by its id, an update has the outcome of the new run.
    assert.equal(await again.executeUpdate('deposit', { args: [100], updateId: 'two' }), 7);
    assert.equal(await again.executeUpdate('deposit', { args: [1] }), 11);
    const admitted = await eventsNamed(again, 'WORKFLOW_EXECUTION_UPDATE_ADMITTED');
    const requests = admitted.map((event) => event.workflowExecutionUpdateAdmittedEventAttributes);
    assert.deepEqual(
      requests.map(({ request, origin }) => [request.meta.updateId, origin]),
      [
        ['two', 1],
        ['three', 1],
      ]
    );
    const twice = await reset(again, point, { workflowExecution: { workflowId: again.workflowId } });
    assert.equal(await twice.query('seen').then(() => twice.executeUpdate('deposit', { args: [1] })), 12);
    await twice.signal('stop');
    assert.equal(await twice.result(), 12);
  });

  test('without the updates', async () => {
    const handle = await world.start('account', [5]);
    const point = await firstTaskEnd(handle);
    assert.equal(await handle.executeUpdate('deposit', { args: [2], updateId: 'two' }), 7);
    const again = await reset(handle, point, { resetReapplyExcludeTypes: [2] });
    assert.equal(await again.executeUpdate('deposit', { args: [1] }), 6);
    await again.signal('stop');
    assert.equal(await again.result(), 6);
  });

  test('tells the new run how a child has ended meanwhile', async () => {
    const workflowId = `child-${randomUUID()}`;
    const handle = await world.start('parent', ['collect', { workflowId, args: [] }]);
    const child = world.client.workflow.getHandle(workflowId);
    await eventually(async () => (await eventsNamed(handle, 'WORKFLOW_TASK_COMPLETED')).length === 2);
    const [, second] = await eventsNamed(handle, 'WORKFLOW_TASK_COMPLETED');
    await child.signal('add', 'x');
    await child.signal('stop');
    assert.deepEqual(await handle.result(), { result: ['x'] });
    const again = await reset(handle, second.eventId);
    assert.deepEqual(await again.result(), { result: ['x'] });
    assert.ok((await eventNames(again)).includes('CHILD_WORKFLOW_EXECUTION_COMPLETED'));
  });

  // As with other servers of this API: the child goes on, and a start with its id fails.
  test('finds a child that was started later and still runs in its way', async () => {
    const workflowId = `child-${randomUUID()}`;
    const handle = await world.start('parent', ['collect', { workflowId, args: [] }]);
    const child = world.client.workflow.getHandle(workflowId);
    await eventually(async () => (await eventsNamed(handle, 'CHILD_WORKFLOW_EXECUTION_STARTED')).length === 1);
    const again = await reset(handle, await firstTaskEnd(handle));
    assert.equal((await again.result()).error, 'WorkflowExecutionAlreadyStartedError');
    const [failed] = await eventsNamed(again, 'START_CHILD_WORKFLOW_EXECUTION_FAILED');
    assert.equal(failed.startChildWorkflowExecutionFailedEventAttributes.workflowId, workflowId);
    assert.equal((await child.describe()).status.name, 'RUNNING');
    await child.signal('stop');
    assert.deepEqual(await child.result(), []);
  });

  test('starts a child again that was started later and has ended', async () => {
    const workflowId = `child-${randomUUID()}`;
    const handle = await world.start('parent', ['same', { workflowId, args: [1] }]);
    assert.deepEqual(await handle.result(), { result: 1 });
    const again = await reset(handle, await firstTaskEnd(handle));
    assert.deepEqual(await again.result(), { result: 1 });
    const old = world.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
    const [first] = await eventsNamed(old, 'CHILD_WORKFLOW_EXECUTION_STARTED');
    const [second] = await eventsNamed(again, 'CHILD_WORKFLOW_EXECUTION_STARTED');
    const runOf = (event) => event.childWorkflowExecutionStartedEventAttributes.workflowExecution.runId;
    assert.notEqual(runOf(first), runOf(second));
  });

  // The child is started when its parent is closed already: no event of the parent tells of it.
  for (const ended of [false, true])
    test(`finds a child that was started after the close, ${ended ? 'and has ended' : 'and runs'}`, async () => {
      const { parent, child, taskQueue, point } = await orphan();
      const description = await world.service.describeWorkflowExecution({
        namespace: 'default',
        execution: { workflowId: parent.workflowId },
      });
      assert.deepEqual(description.pendingChildren.map((c) => c.workflowId), [child.workflowId]);
      const end = async () => {
        await child.signal('add', 'x');
        await child.signal('stop');
        assert.deepEqual(await child.result(), ['x']);
      };
      if (ended) await end();
      const again = await reset(parent, point);
      await world.withWorker(taskQueue, async () => {
        if (!ended) await end();
        assert.deepEqual(await again.result(), { result: ['x'] });
      });
      const [started] = await eventsNamed(again, 'CHILD_WORKFLOW_EXECUTION_STARTED');
      const { workflowExecution } = started.childWorkflowExecutionStartedEventAttributes;
      assert.equal(workflowExecution.runId, (await child.describe()).runId);
    });

  test('delivers the signals again that came after the run had continued as another', async () => {
    const handle = await world.start('collectTwice');
    const point = await firstTaskEnd(handle);
    await handle.signal('add', 1);
    await handle.signal('stop');
    const current = world.client.workflow.getHandle(handle.workflowId);
    await eventually(async () => (await current.describe()).runId !== handle.firstExecutionRunId);
    await current.signal('add', 2);
    const again = await reset(handle, point, { resetReapplyExcludeTypes: [] });
    assert.equal((await eventsNamed(again, 'WORKFLOW_EXECUTION_SIGNALED')).length, 3);
    await world.client.workflow.getHandle(handle.workflowId).terminate();
  });

  test('keeps a timer that was running', async () => {
    const handle = await world.start('pause', [1500]);
    const point = await firstTaskEnd(handle);
    await handle.result();
    const again = await reset(handle, point);
    assert.equal(await again.result(), 'slept');
  });

  test('twice with one request id is once', async () => {
    const handle = await world.start('collect');
    const point = await firstTaskEnd(handle);
    const requestId = randomUUID();
    const first = await reset(handle, point, { requestId });
    const second = await reset(handle, point, { requestId });
    assert.equal(second.workflowExecution?.runId ?? second.runId, first.workflowExecution?.runId ?? first.runId);
    await first.terminate();
  });

  test('has a point for the first task of each build, also of an earlier run', async () => {
    const taskQueue = `builds-${randomUUID()}`;
    const handle = await world.start('collectTwice', [], { taskQueue });
    const { workflowId, firstExecutionRunId: oldRun } = handle;
    const info = async (runId) => {
      const request = { namespace: 'default', execution: { workflowId, runId } };
      return (await world.service.describeWorkflowExecution(request)).workflowExecutionInfo;
    };
    const tasks = async (runId) => await eventsNamed(world.client.workflow.getHandle(workflowId, runId), 'WORKFLOW_TASK_COMPLETED');
    // What is done while a worker of this build is there, until it has completed so many tasks of the current run.
    const withBuild = async (buildId, count, body = () => undefined) =>
      await world.withWorker(
        taskQueue,
        async () => {
          await body(world.client.workflow.getHandle(workflowId));
          return await eventually(async () => {
            const { runId } = (await info('')).execution;
            return (runId !== oldRun || buildId === 'v1') && (await tasks(runId)).length >= count && runId;
          });
        },
        { buildId, maxCachedWorkflows: 0 },
      );
    await withBuild('v1', 1);
    const newRun = await withBuild('v2', 1, async (current) => await current.signal('stop'));
    world.runs.note(workflowId, newRun);
    await withBuild('v3', 2, async (current) => await current.signal('add', 1));

    const firstOf = async (runId, build) =>
      Number((await tasks(runId)).find((e) => e.workflowTaskCompletedEventAttributes.workerVersion.buildId === build).eventId);
    const shown = ({ points }) => points.map((p) => [p.buildId, p.runId, Number(p.firstWorkflowTaskCompletedId), p.resettable]);
    const { autoResetPoints, startTime } = await info(newRun);
    const expected = [
      ['v1', oldRun, await firstOf(oldRun, 'v1'), true],
      ['v2', oldRun, await firstOf(oldRun, 'v2'), true],
      ['v3', newRun, await firstOf(newRun, 'v3'), true],
    ];
    assert.deepEqual(shown(autoResetPoints), expected);
    assert.deepEqual(shown((await info(oldRun)).autoResetPoints), expected.slice(0, 2));
    const { config } = await world.service.describeNamespace({ namespace: 'default' });
    const expires = Number(startTime.seconds) + Number(config.workflowExecutionRetentionTtl.seconds);
    assert.deepEqual(autoResetPoints.points.map((p) => p.expireTime && Number(p.expireTime.seconds)), [expires, expires, null]);
    const [started] = await eventsNamed(world.client.workflow.getHandle(workflowId, newRun), 'WORKFLOW_EXECUTION_STARTED');
    assert.deepEqual(shown(started.workflowExecutionStartedEventAttributes.prevAutoResetPoints), expected.slice(0, 2));

    // Back to where v3 began: the copy has what was before it, and the builds of the run before.
    const again = await reset({ workflowId, firstExecutionRunId: newRun }, expected[2][2]);
    const { runId: copy } = await again.describe();
    assert.deepEqual(shown((await info(copy)).autoResetPoints), expected.slice(0, 2));
    await withBuild('v3', 2);
    assert.deepEqual(shown((await info(copy)).autoResetPoints), [...expected.slice(0, 2), ['v3', copy, await firstOf(copy, 'v3'), true]]);
    await again.terminate();
  });

  test('to a point that is none is refused, and changes nothing', async () => {
    const handle = await world.start('collect');
    await firstTaskEnd(handle);
    for (const point of [0, 1, 2, 1000]) {
      const error = await failure(reset(handle, point));
      assert.equal(error.code, status.INVALID_ARGUMENT, `${point}: ${error}`);
    }
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), []);
  });
});

replayAll(world);
