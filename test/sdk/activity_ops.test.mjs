// Activities from outside: ended by id, paused, unpaused, reset, given new options; and activities
// that a worker gets with the answer to its workflow task.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { ActivityCancelledError, ActivityNotFoundError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure, RetryState, ServerFailure } from '@temporalio/common';
import proto from '@temporalio/proto';
import { attempts, ended, running, tokens } from './lib/activities.mjs';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { Server } from './lib/server.mjs';
import { connect } from './lib/worker.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const { CommandType, PendingActivityState } = proto.temporal.api.enums.v1;

const NOBODY = 'a queue that nobody polls';
const TOO_LARGE = 'x'.repeat(2.5 * 1024 * 1024);
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;

const world = openWorld();
const once = { startToCloseTimeout: '30s', retry: { maximumAttempts: 1 } };
const patient = { startToCloseTimeout: '30s', retry: { initialInterval: '1 hour' } };

const duration = (ms) => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 });

function target(handle, extra = {}) {
  return { namespace: 'default', execution: { workflowId: handle.workflowId }, identity: 'ada', id: '1', ...extra };
}

async function pendingActivity(handle, wanted = () => true) {
  return await eventually(async () => (await handle.describe()).raw.pendingActivities.find(wanted));
}

async function ran(handle, count) {
  return await eventually(() => {
    const all = attempts.get(handle.workflowId) ?? [];
    return all.length >= count && all.map(({ attempt }) => attempt);
  });
}

async function activityEvents(handle) {
  return (await eventNames(handle)).filter((name) => name.startsWith('ACTIVITY'));
}

describe('by id', { concurrency: 16, timeout: 120_000 }, () => {
  async function begin(options = once) {
    const handle = await world.start('activity', ['endsElsewhere', options]);
    await tokens.wait(handle.workflowId);
    return { handle, id: { workflowId: handle.workflowId, activityId: '1' } };
  }

  test('completion', async () => {
    const { handle, id } = await begin();
    await world.client.activity.complete(id, 'done by hand');
    assert.equal(await handle.result(), 'done by hand');
    const late = await failure(world.client.activity.complete(id, 'again'));
    assert.ok(late instanceof ActivityNotFoundError, String(late));
  });

  test('completion with the run id', async () => {
    const { handle, id } = await begin();
    const wrong = { ...id, runId: randomUUID() };
    assert.ok((await failure(world.client.activity.complete(wrong, 1))) instanceof ActivityNotFoundError);
    await world.client.activity.complete({ ...id, runId: handle.firstExecutionRunId }, 'that run');
    assert.equal(await handle.result(), 'that run');
  });

  test('completion before any worker had it', async () => {
    const handle = await world.start('activity', ['greet', { ...once, taskQueue: NOBODY }, 'Ada']);
    await pendingActivity(handle);
    const id = { workflowId: handle.workflowId, activityId: '1' };
    const early = await failure(world.client.activity.heartbeat(id, 'not started'));
    assert.ok(early instanceof ActivityNotFoundError, String(early));
    await world.client.activity.complete(id, 'no need to run');
    assert.equal(await handle.result(), 'no need to run');
    assert.deepEqual(await activityEvents(handle), [
      'ACTIVITY_TASK_SCHEDULED',
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
    ]);
  });

  test('failure', async () => {
    const { handle, id } = await begin();
    await world.client.activity.fail(id, ApplicationFailure.nonRetryable('failed by hand'));
    const { cause } = await failure(handle.result());
    assert.equal(cause.cause.message, 'failed by hand');
    assert.equal(cause.retryState, RetryState.NON_RETRYABLE_FAILURE);
  });

  test('heartbeat', async () => {
    const { handle, id } = await begin();
    await world.client.activity.heartbeat(id, 'half way');
    const pending = await pendingActivity(handle, ({ heartbeatDetails }) => heartbeatDetails);
    assert.equal(Buffer.from(pending.heartbeatDetails.payloads[0].data).toString(), '"half way"');
    await world.client.activity.complete(id, 'all the way');
    assert.equal(await handle.result(), 'all the way');
  });

  test('cancellation', async () => {
    const options = { ...once, cancellationType: 'WAIT_CANCELLATION_COMPLETED' };
    const handle = await world.start('cancelActivity', ['endsElsewhere', options]);
    await tokens.wait(handle.workflowId);
    const id = { workflowId: handle.workflowId, activityId: '1' };
    const early = await failure(world.service.respondActivityTaskCanceledById({ namespace: 'default', ...id }));
    assert.equal(early.code, INVALID_ARGUMENT);
    await handle.signal('stop');
    await pendingActivity(handle, ({ state }) => state === PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED);
    assert.ok((await failure(world.client.activity.heartbeat(id))) instanceof ActivityCancelledError);
    await world.client.activity.reportCancellation(id);
    assert.deepEqual(await handle.result(), { cancelled: 'ActivityFailure' });
  });

  test('of what does not exist', async () => {
    const { handle, id } = await begin();
    for (const wrong of [{ ...id, activityId: '2' }, { ...id, workflowId: 'no such workflow' }]) {
      for (const call of ['complete', 'fail', 'reportCancellation', 'heartbeat']) {
        const error = await failure(world.client.activity[call](wrong, new Error('x')));
        assert.ok(error instanceof ActivityNotFoundError, `${call}: ${error}`);
      }
    }
    await world.client.activity.complete(id);
    await handle.result();
  });

  test('of a standalone activity, which there is none', async () => {
    const request = { namespace: 'default', activityId: 'alone' };
    const error = await failure(world.service.respondActivityTaskCompletedById(request));
    assert.equal(error.code, NOT_FOUND);
    assert.match(error.details, /no standalone activities/);
  });

  test('without an activity id', async () => {
    const request = { namespace: 'default', workflowId: 'w' };
    for (const call of [
      'respondActivityTaskCompletedById',
      'respondActivityTaskFailedById',
      'respondActivityTaskCanceledById',
      'recordActivityTaskHeartbeatById',
    ]) {
      const error = await failure(world.service[call](request));
      assert.equal(error.code, INVALID_ARGUMENT, call);
      assert.equal(error.details, 'ActivityId is not set on request.');
      assert.equal((await failure(world.service[call]({ ...request, activityId: 'a', runId: 'x' }))).code, INVALID_ARGUMENT);
      const long = 'i'.repeat(1001);
      const tooLong = await failure(world.service[call]({ ...request, activityId: 'a', identity: long }));
      assert.equal(tooLong.details, 'Identity length exceeds limit.');
    }
  });
});

describe('too large', { concurrency: 16, timeout: 120_000 }, () => {
  async function begin() {
    const handle = await world.start('activity', ['endsElsewhere', { startToCloseTimeout: '30s' }]);
    await tokens.wait(handle.workflowId);
    return { handle, id: { workflowId: handle.workflowId, activityId: '1' } };
  }

  async function failsWith(handle, message) {
    const { cause } = await failure(handle.result());
    assert.ok(cause instanceof ActivityFailure, String(cause));
    assert.ok(cause.cause instanceof ServerFailure, String(cause.cause));
    assert.equal(cause.cause.message, message);
    assert.equal(cause.cause.nonRetryable, true);
    assert.equal(cause.retryState, RetryState.NON_RETRYABLE_FAILURE);
    return cause.cause;
  }

  test('a result', async () => {
    const { handle, id } = await begin();
    await world.client.activity.complete(id, TOO_LARGE);
    await failsWith(handle, 'Complete result exceeds size limit.');
  });

  test('heartbeat details', async () => {
    const { handle, id } = await begin();
    const error = await failure(world.client.activity.heartbeat(id, TOO_LARGE));
    assert.ok(error instanceof ActivityCancelledError, String(error));
    await failsWith(handle, 'Heartbeat details exceed size limit.');
  });

  test('a failure', async () => {
    const { handle, id } = await begin();
    await world.client.activity.fail(id, ApplicationFailure.create({ message: 'too much', details: [TOO_LARGE] }));
    const { cause } = await failsWith(handle, 'Failure exceeds size limit.');
    assert.equal(cause.message, 'too much');
  });
});

describe('pause', { concurrency: 16, timeout: 120_000 }, () => {
  const heartbeating = { startToCloseTimeout: '60s', heartbeatTimeout: '20s', retry: { initialInterval: 20 } };

  test('before a worker has it, until unpaused', async () => {
    const handle = await world.start('activity', ['flaky', patient, 2]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    await world.service.pauseActivity(target(handle, { reason: 'to look at it', requestId: 'r' }));
    await world.service.pauseActivity(target(handle, { requestId: 'r' }));
    const again = await failure(world.service.pauseActivity(target(handle, { requestId: 'other' })));
    assert.equal(again.code, FAILED_PRECONDITION);

    const pending = await pendingActivity(handle);
    assert.equal(pending.paused, true);
    assert.equal(pending.state, PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED);
    assert.equal(pending.pauseInfo.manual.identity, 'ada');
    assert.equal(pending.pauseInfo.manual.reason, 'to look at it');
    assert.ok(Number(pending.pauseInfo.pauseTime.seconds) > 0);
    assert.equal(pending.nextAttemptScheduleTime, null);

    await world.service.unpauseActivity(target(handle));
    assert.equal(await handle.result(), 2);
  });

  test('tells a running attempt, and holds back the next', async () => {
    const handle = await world.start('activity', ['untilCancelled', heartbeating]);
    await running.wait(handle.workflowId);
    await world.service.pauseActivity(target(handle, { id: undefined, type: 'untilCancelled' }));
    assert.equal(await ended.wait(handle.workflowId), 'PAUSED');
    await pendingActivity(handle, ({ state }) => state === PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED);
    assert.deepEqual(await ran(handle, 1), [1]);

    await world.service.unpauseActivity(target(handle, { id: undefined, unpauseAll: true, jitter: duration(20) }));
    assert.deepEqual(await ran(handle, 2), [1, 2]);
    const pending = await pendingActivity(handle);
    assert.equal(pending.paused, false);
    assert.equal(pending.pauseInfo, null);
    await handle.terminate('seen enough');
  });

  test('survives a crash of the server', async () => {
    const server = await Server.start();
    const client = await connect(server, world.runs);
    const handle = await client.workflow.start('activity', {
      ...world.options('activity', ['greet', { ...once, taskQueue: NOBODY }, 'Ada']),
    });
    const task = await client.workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name: world.taskQueue },
    });
    await client.workflowService.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken: task.taskToken,
      commands: [scheduleActivity('1')],
    });
    await client.workflowService.pauseActivity(target(handle));
    await server.killAndRestart();
    const [pending] = (await handle.describe()).raw.pendingActivities;
    assert.equal(pending.paused, true);
    await handle.terminate('seen enough');
    world.runs.noted.delete(task.workflowExecution.runId); // it lives on that server only
    await client.connection.close();
    await server.close();
  });
});

describe('reset', { concurrency: 16, timeout: 120_000 }, () => {
  test('in back-off begins again at once', async () => {
    const handle = await world.start('activity', ['flaky', patient, 2]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    await world.service.resetActivity(target(handle, { resetHeartbeat: true }));
    assert.deepEqual(await ran(handle, 2), [1, 1]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    await handle.terminate('seen enough');
  });

  test('tells a running attempt', async () => {
    const options = { startToCloseTimeout: '60s', heartbeatTimeout: '20s', retry: { initialInterval: 20 } };
    const handle = await world.start('activity', ['untilCancelled', options]);
    await running.wait(handle.workflowId);
    await world.service.resetActivity(target(handle, { id: undefined, matchAll: true }));
    assert.equal(await ended.wait(handle.workflowId), 'RESET');
    assert.deepEqual(await ran(handle, 2), [1, 2]);
    await handle.terminate('seen enough');
  });

  test('ends the pause of a running attempt', async () => {
    const handle = await world.start('activity', ['endsElsewhere', once]);
    await tokens.wait(handle.workflowId);
    const states = PendingActivityState;
    await world.service.pauseActivity(target(handle));
    assert.equal((await pendingActivity(handle)).state, states.PENDING_ACTIVITY_STATE_PAUSE_REQUESTED);
    await world.service.resetActivity(target(handle));
    const { state, paused, pauseInfo } = await pendingActivity(handle);
    assert.deepEqual([state, paused, pauseInfo], [states.PENDING_ACTIVITY_STATE_STARTED, false, null]);
    await world.client.activity.complete({ workflowId: handle.workflowId, activityId: '1' }, 'done');
    assert.equal(await handle.result(), 'done');
  });

  test('keeps it paused when told so', async () => {
    const handle = await world.start('activity', ['flaky', patient, 2]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    await world.service.pauseActivity(target(handle));
    await world.service.resetActivity(target(handle, { keepPaused: true }));
    const pending = await pendingActivity(handle);
    assert.equal(pending.paused, true);
    assert.equal(pending.attempt, 1);
    await world.service.resetActivity(target(handle));
    assert.deepEqual(await ran(handle, 2), [1, 1]);
    await handle.terminate('seen enough');
  });
});

// The newer calls, which take the ids of workflow and activity beside each other.
describe('by execution', { concurrency: 16, timeout: 120_000 }, () => {
  const one = (handle, extra = {}) => ({
    namespace: 'default',
    workflowId: handle.workflowId,
    activityId: '1',
    identity: 'ada',
    ...extra,
  });

  test('paused until unpaused', async () => {
    const handle = await world.start('activity', ['flaky', patient, 2]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    const requestId = 'r';
    await world.service.pauseActivityExecution(one(handle, { runId: handle.firstExecutionRunId, reason: 'why', requestId }));
    await world.service.pauseActivityExecution(one(handle, { requestId }));
    const again = await failure(world.service.pauseActivityExecution(one(handle)));
    assert.equal(again.code, FAILED_PRECONDITION);
    const { state, pauseInfo } = await pendingActivity(handle);
    assert.equal(state, PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED);
    assert.deepEqual([pauseInfo.manual.identity, pauseInfo.manual.reason], ['ada', 'why']);
    await world.service.unpauseActivityExecution(one(handle, { reason: 'seen', jitter: duration(20) }));
    assert.equal(await handle.result(), 2);
  });

  test('reset', async () => {
    const handle = await world.start('activity', ['flaky', patient, 2]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    await world.service.pauseActivityExecution(one(handle));
    await world.service.resetActivityExecution(one(handle, { keepPaused: true }));
    assert.deepEqual(
      await pendingActivity(handle).then(({ paused, attempt }) => [paused, attempt]),
      [true, 1]
    );
    await world.service.resetActivityExecution(one(handle, { resetHeartbeat: true, jitter: duration(20) }));
    assert.deepEqual(await ran(handle, 2), [1, 1]);
    await handle.terminate('seen enough');
  });

  test('given options, and back to those of the workflow', async () => {
    const handle = await world.start('activity', ['greet', { ...once, taskQueue: NOBODY }, 'Ada']);
    await pendingActivity(handle);
    const queue = async (extra) =>
      (await world.service.updateActivityExecutionOptions(one(handle, extra))).activityOptions.taskQueue.name;
    const moved = { activityOptions: { taskQueue: { name: 'elsewhere' } }, updateMask: { paths: ['task_queue.name'] } };
    assert.equal(await queue(moved), 'elsewhere');
    assert.equal(await queue({ restoreOriginal: true }), NOBODY);
    await queue(moved);
    await world.service.resetActivityExecution(one(handle, { restoreOriginalOptions: true }));
    assert.equal((await pendingActivity(handle)).activityOptions.taskQueue.name, NOBODY);
    await handle.terminate('seen enough');
  });
});

describe('options', { concurrency: 16, timeout: 120_000 }, () => {
  test('of a retry policy change the back-off under way', async () => {
    const handle = await world.start('activity', ['flaky', patient, 2]);
    await pendingActivity(handle, ({ attempt }) => attempt === 2);
    const { activityOptions } = await world.service.updateActivityOptions(
      target(handle, {
        activityOptions: { retryPolicy: { initialInterval: duration(20) } },
        updateMask: { paths: ['retry_policy.initial_interval'] },
      })
    );
    assert.equal(activityOptions.retryPolicy.initialInterval.nanos, 20e6);
    assert.equal(activityOptions.retryPolicy.backoffCoefficient, 2);
    assert.equal(activityOptions.taskQueue.name, world.taskQueue);
    assert.equal(await handle.result(), 2);
  });

  test('move it to another queue and back', async () => {
    const handle = await world.start('activity', ['greet', { ...once, taskQueue: NOBODY }, 'Ada']);
    await pendingActivity(handle);
    const timeout = duration(12_345);
    await world.service.updateActivityOptions(
      target(handle, {
        activityOptions: { taskQueue: { name: 'nobody here either' }, startToCloseTimeout: timeout },
        updateMask: { paths: ['taskQueue.name', 'startToCloseTimeout'] },
      })
    );
    const changed = (await pendingActivity(handle)).activityOptions;
    assert.equal(changed.taskQueue.name, 'nobody here either');
    assert.equal(changed.startToCloseTimeout.nanos, timeout.nanos);
    await world.service.updateActivityOptions(target(handle, { restoreOriginal: true }));
    assert.equal((await pendingActivity(handle)).activityOptions.taskQueue.name, NOBODY);
    await world.service.updateActivityOptions(
      target(handle, {
        activityOptions: { taskQueue: { name: world.taskQueue } },
        updateMask: { paths: ['task_queue.name'] },
      })
    );
    assert.equal(await handle.result(), 'Hello, Ada!');
  });
});

test('bad requests to change activities', { timeout: 180_000 }, async () => {
  const handle = await world.start('activity', ['greet', { ...once, taskQueue: NOBODY }, 'Ada']);
  await pendingActivity(handle);
  const calls = ['pauseActivity', 'unpauseActivity', 'resetActivity', 'updateActivityOptions'];
  const options = { activityOptions: { heartbeatTimeout: duration(1) }, updateMask: { paths: ['heartbeat_timeout'] } };
  const cases = [
    [calls, { id: undefined }, INVALID_ARGUMENT, /Either Activity.Id or Activity.Type/],
    [calls, { id: '' }, INVALID_ARGUMENT, /Either Activity.Id or Activity.Type/],
    [calls, { id: 'x'.repeat(1001) }, INVALID_ARGUMENT, /ActivityId length exceeds limit/],
    [calls, { id: 'no such' }, NOT_FOUND, /Can't find pending activity/],
    [calls, { execution: undefined }, INVALID_ARGUMENT, /Execution is not set/],
    [calls, { execution: { workflowId: '' } }, INVALID_ARGUMENT, /WorkflowId is not set/],
    [calls, { execution: { workflowId: 'w', runId: 'x' } }, INVALID_ARGUMENT, /Invalid RunId/],
    [calls, { execution: { workflowId: 'no such' } }, NOT_FOUND, /workflow not found/],
    [calls, { namespace: 'no such' }, NOT_FOUND, /./],
    [calls, { identity: 'x'.repeat(1001) }, INVALID_ARGUMENT, /Identity length exceeds limit/],
    [['pauseActivity'], { reason: 'x'.repeat(1001) }, INVALID_ARGUMENT, /Reason length exceeds limit/],
    [['unpauseActivity', 'resetActivity'], { jitter: { seconds: -1 } }, INVALID_ARGUMENT, /Jitter is negative/],
    [['updateActivityOptions'], { activityOptions: undefined }, INVALID_ARGUMENT, /ActivityOptions are not provided/],
    [['updateActivityOptions'], { updateMask: undefined }, INVALID_ARGUMENT, /UpdateMask is not provided/],
    [['updateActivityOptions'], { restoreOriginal: true }, INVALID_ARGUMENT, /Both UpdateMask and RestoreOriginal/],
    [['updateActivityOptions'], { updateMask: { paths: ['what'] } }, INVALID_ARGUMENT, /no option of an activity/],
  ];
  for (const [names, change, code, text] of cases) {
    for (const name of names) {
      const base = name === 'updateActivityOptions' ? target(handle, options) : target(handle);
      const error = await failure(world.service[name]({ ...base, ...change }));
      assert.equal(error.code, code, `${name} ${JSON.stringify(change).slice(0, 80)}: ${error}`);
      assert.match(error.details, text);
    }
  }
  await handle.terminate('seen enough');
  for (const name of calls) {
    const error = await failure(world.service[name](target(handle, name === 'updateActivityOptions' ? options : {})));
    assert.equal(error.code, NOT_FOUND, name);
    assert.equal(error.details, 'workflow execution already completed');
  }
});

function scheduleActivity(activityId, requestEagerExecution = false) {
  return {
    commandType: CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
    scheduleActivityTaskCommandAttributes: {
      activityId,
      activityType: { name: 'greet' },
      startToCloseTimeout: duration(30_000),
      requestEagerExecution,
    },
  };
}

describe('eager', { concurrency: 16, timeout: 120_000 }, () => {
  // Answers the first task of a new workflow by hand; resolves to what the answer was answered with.
  async function answerFirstTask(client, commands) {
    const taskQueue = `by-hand-${randomUUID()}`;
    const handle = await client.workflow.start('hello', { taskQueue, workflowId: taskQueue, args: ['Ada'] });
    const { workflowService: service } = client;
    const task = await service.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue } });
    const { taskToken } = task;
    const answer = await service.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, identity: 'me', commands });
    return { handle, answer, service };
  }

  test('activities ride in the answer', async () => {
    const commands = [scheduleActivity('1', true), scheduleActivity('2')];
    const { handle, answer, service } = await answerFirstTask(world.client, commands);
    assert.equal(answer.activityTasks.length, 1);
    const [task] = answer.activityTasks;
    assert.equal(task.activityId, '1');
    assert.equal(task.activityType.name, 'greet');
    assert.equal(task.attempt, 1);
    assert.equal(task.workflowExecution.workflowId, handle.workflowId);
    assert.equal(task.startToCloseTimeout.seconds.toNumber(), 30);
    assert.ok(task.startedTime && task.scheduledTime && task.currentAttemptScheduledTime);
    await service.respondActivityTaskCompleted({ namespace: 'default', taskToken: task.taskToken });
    const [started] = await eventsNamed(handle, 'ACTIVITY_TASK_STARTED');
    assert.equal(started.activityTaskStartedEventAttributes.identity, 'me');
    const [left] = (await handle.describe()).raw.pendingActivities;
    assert.equal(left.activityId, '2');
    assert.equal(left.state, PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED);
    await handle.terminate('seen enough');
    world.runs.noted.delete(task.workflowExecution.runId); // no code ran that could replay it
  });

  test('activities of the SDK look like others in the history', async () => {
    const handle = await world.start('hello', ['Ada']);
    assert.equal(await handle.result(), 'Hello, Ada!');
    assert.deepEqual(await activityEvents(handle), [
      'ACTIVITY_TASK_SCHEDULED',
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
    ]);
  });

  test('can be switched off, like the limit on sizes can be set', async () => {
    const settings = ['system.enableActivityEagerExecution=false', 'limit.blobSize.error=1000'];
    const server = await Server.start({ dynamicConfig: settings });
    const client = await connect(server, { interceptor: () => (options, nextCall) => nextCall(options) });
    const { handle, answer } = await answerFirstTask(client, [scheduleActivity('1', true)]);
    assert.equal(answer.activityTasks.length, 0);
    await client.activity.complete({ workflowId: handle.workflowId, activityId: '1' }, 'x'.repeat(1000));
    const [failed] = await eventsNamed(handle, 'ACTIVITY_TASK_FAILED');
    assert.equal(failed.activityTaskFailedEventAttributes.failure.message, 'Complete result exceeds size limit.');
    await client.connection.close();
    await server.close();
  });
});

replayAll(world);
