// Activities: retries, heartbeats, the four timeouts, cancellation.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActivityNotFoundError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure, RetryState, TimeoutFailure, TimeoutType } from '@temporalio/common';
import { attempts, ended, released, running, tokens } from './lib/activities.mjs';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const NOBODY = 'a queue that nobody polls';
const world = openWorld();

const once = { startToCloseTimeout: '30s', retry: { maximumAttempts: 1 } };

// Runs an activity that must fail; resolves to the ActivityFailure that the workflow ended with.
async function activityFailure(name, options, ...args) {
  const handle = await world.start('activity', [name, options, ...args]);
  const { cause } = await failure(handle.result());
  assert.ok(cause instanceof ActivityFailure, String(cause));
  return { cause, handle, ran: (attempts.get(handle.workflowId) ?? []).length };
}

async function pendingActivity(handle, wanted) {
  return (await handle.describe()).raw.pendingActivities.find(wanted);
}

describe('retries', { concurrency: 16, timeout: 120_000 }, () => {
  test('until an attempt succeeds, with back-off, and one pair of events', async () => {
    const retry = { initialInterval: 200, backoffCoefficient: 2, maximumAttempts: 5 };
    const handle = await world.start('activity', ['flaky', { startToCloseTimeout: '30s', retry }, 3]);
    assert.equal(await handle.result(), 3);

    const ran = attempts.get(handle.workflowId);
    assert.deepEqual(
      ran.map(({ attempt }) => attempt),
      [1, 2, 3]
    );
    assert.ok(ran[1].at - ran[0].at >= 195, `first retry after ${ran[1].at - ran[0].at} ms`);
    assert.ok(ran[2].at - ran[1].at >= 395, `second retry after ${ran[2].at - ran[1].at} ms`);

    const names = (await eventNames(handle)).filter((name) => name.startsWith('ACTIVITY'));
    assert.deepEqual(names, ['ACTIVITY_TASK_SCHEDULED', 'ACTIVITY_TASK_STARTED', 'ACTIVITY_TASK_COMPLETED']);
    const [started] = await eventsNamed(handle, 'ACTIVITY_TASK_STARTED');
    assert.equal(started.activityTaskStartedEventAttributes.attempt, 3);
    assert.equal(started.activityTaskStartedEventAttributes.lastFailure.message, 'attempt 2');
  });

  test('up to maximumAttempts', async () => {
    const retry = { initialInterval: 20, maximumAttempts: 3 };
    const { cause, ran } = await activityFailure('flaky', { startToCloseTimeout: '30s', retry }, 100);
    assert.equal(cause.retryState, RetryState.MAXIMUM_ATTEMPTS_REACHED);
    assert.equal(cause.activityType, 'flaky');
    assert.ok(cause.cause instanceof ApplicationFailure);
    assert.equal(cause.cause.message, 'attempt 3');
    assert.equal(ran, 3);
  });

  test('not of a non-retryable failure', async () => {
    const { cause, ran } = await activityFailure('flaky', { startToCloseTimeout: '30s' }, 9, { nonRetryable: true });
    assert.equal(cause.retryState, RetryState.NON_RETRYABLE_FAILURE);
    assert.equal(cause.cause.nonRetryable, true);
    assert.equal(ran, 1);
  });

  test('not of a type that the policy names', async () => {
    const retry = { nonRetryableErrorTypes: ['Fatal'] };
    const { cause, ran } = await activityFailure('flaky', { startToCloseTimeout: '30s', retry }, 9, { type: 'Fatal' });
    assert.equal(cause.retryState, RetryState.NON_RETRYABLE_FAILURE);
    assert.equal(cause.cause.type, 'Fatal');
    assert.equal(ran, 1);
  });

  test('after the delay that the failure asks for', async () => {
    const options = { startToCloseTimeout: '30s', retry: { initialInterval: '1 hour' } };
    const handle = await world.start('activity', ['flaky', options, 2, { nextRetryDelay: '300ms' }]);
    assert.equal(await handle.result(), 2);
    const [first, second] = attempts.get(handle.workflowId);
    assert.ok(second.at - first.at >= 295);
  });

  test('until there is no time left for another', async () => {
    // The second attempt follows at once; a third would come after the activity's own time is up.
    const options = { scheduleToCloseTimeout: '30s', retry: { initialInterval: 400, backoffCoefficient: 100 } };
    const { cause, ran } = await activityFailure('flaky', options, 100);
    assert.equal(cause.retryState, RetryState.TIMEOUT);
    assert.equal(cause.cause.message, 'attempt 2');
    assert.equal(ran, 2);
  });

  test('as describe shows them', async () => {
    const options = { startToCloseTimeout: '30s', retry: { initialInterval: '1 hour' } };
    const handle = await world.start('activity', ['flaky', options, 2]);
    const pending = await eventually(() => pendingActivity(handle, ({ attempt }) => attempt === 2));
    assert.equal(pending.activityType.name, 'flaky');
    assert.equal(pending.lastFailure.message, 'attempt 1');
    await handle.terminate('seen enough');
  });
});

describe('heartbeats', { concurrency: 16, timeout: 120_000 }, () => {
  test('reach the next attempt after a failure', async () => {
    const options = { startToCloseTimeout: '30s', heartbeatTimeout: '10s', retry: { initialInterval: 20 } };
    const details = { page: 42, cursor: 'abc' };
    assert.deepEqual(await world.execute('activity', ['failsAfterHeartbeat', options, details]), details);
  });

  test('reach the next attempt after a timeout', async () => {
    const options = { startToCloseTimeout: '60s', heartbeatTimeout: '500ms', retry: { initialInterval: 20 } };
    assert.equal(await world.execute('activity', ['stallsAfterHeartbeat', options, 7]), 7);
  });

  test('keep an activity alive beyond its heartbeat timeout', async () => {
    const options = { ...once, heartbeatTimeout: '2s' };
    assert.equal(await world.execute('activity', ['heartbeatsFor', options, 4500]), 1);
  });

  test('show in describe', async () => {
    const options = { ...once, heartbeatTimeout: '20s', cancellationType: 'TRY_CANCEL' };
    const handle = await world.start('cancelActivity', ['untilCancelled', options]);
    const pending = await eventually(() => pendingActivity(handle, ({ heartbeatDetails }) => heartbeatDetails));
    assert.equal(Buffer.from(pending.heartbeatDetails.payloads[0].data).toString(), '"waiting"');
    await handle.signal('stop');
    await handle.result();
  });
});

describe('timeouts', { concurrency: 16, timeout: 120_000 }, () => {
  async function timesOut(timeoutType, retryState, message, name, options, ...args) {
    const { cause, handle } = await activityFailure(name, options, ...args);
    assert.ok(cause.cause instanceof TimeoutFailure, String(cause.cause));
    assert.equal(cause.cause.timeoutType, timeoutType);
    assert.equal(cause.cause.message, message);
    assert.equal(cause.retryState, retryState);
    assert.equal((await eventsNamed(handle, 'ACTIVITY_TASK_TIMED_OUT')).length, 1);
    return { cause, handle };
  }

  test('start to close', async () => {
    await timesOut(
      TimeoutType.START_TO_CLOSE,
      RetryState.MAXIMUM_ATTEMPTS_REACHED,
      'activity StartToClose timeout',
      'stalls',
      { startToCloseTimeout: '300ms', retry: { maximumAttempts: 1 } },
      30_000
    );
  });

  test('start to close, then another attempt', async () => {
    const options = { startToCloseTimeout: '3s', retry: { initialInterval: 20 } };
    assert.equal(await world.execute('activity', ['stalls', options, 30_000, 1]), 2);
  });

  test('schedule to start', async () => {
    const { handle } = await timesOut(
      TimeoutType.SCHEDULE_TO_START,
      RetryState.TIMEOUT,
      'activity ScheduleToStart timeout',
      'greet',
      { startToCloseTimeout: '30s', scheduleToStartTimeout: '300ms', taskQueue: NOBODY },
      'Ada'
    );
    assert.equal((await eventsNamed(handle, 'ACTIVITY_TASK_STARTED')).length, 0);
  });

  test('schedule to close', async () => {
    await timesOut(
      TimeoutType.SCHEDULE_TO_CLOSE,
      RetryState.TIMEOUT,
      'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying',
      'stalls',
      { scheduleToCloseTimeout: '500ms' },
      30_000
    );
  });

  test('heartbeat', async () => {
    await timesOut(
      TimeoutType.HEARTBEAT,
      RetryState.MAXIMUM_ATTEMPTS_REACHED,
      'activity Heartbeat timeout',
      'stalls',
      { startToCloseTimeout: '30s', heartbeatTimeout: '300ms', retry: { maximumAttempts: 1 } },
      30_000
    );
  });

  test('heartbeat, with the last details in the failure', async () => {
    const options = { startToCloseTimeout: '30s', heartbeatTimeout: '3s', retry: { maximumAttempts: 1 } };
    const { cause } = await activityFailure('stallsAfterHeartbeat', options, 'so far');
    assert.equal(cause.cause.timeoutType, TimeoutType.HEARTBEAT);
    assert.equal(cause.cause.lastHeartbeatDetails, 'so far');
  });
});

describe('cancellation', { concurrency: 16, timeout: 120_000 }, () => {
  const options = { startToCloseTimeout: '30s', heartbeatTimeout: '20s' };

  // Starts an activity, cancels it while it runs; resolves to what the workflow saw.
  async function cancelRunning(cancellationType, ...args) {
    const handle = await world.start('cancelActivity', ['untilCancelled', { ...options, cancellationType }, ...args]);
    await running.wait(handle.workflowId);
    await handle.signal('stop');
    return { handle, outcome: await handle.result(), names: await eventNames(handle) };
  }

  test('WAIT_CANCELLATION_COMPLETED', async () => {
    const { handle, outcome, names } = await cancelRunning('WAIT_CANCELLATION_COMPLETED');
    assert.deepEqual(outcome, { cancelled: 'ActivityFailure' });
    assert.equal(await ended.wait(handle.workflowId), 'CANCELLED');
    assert.deepEqual(
      names.filter((name) => name.startsWith('ACTIVITY')),
      ['ACTIVITY_TASK_SCHEDULED', 'ACTIVITY_TASK_CANCEL_REQUESTED', 'ACTIVITY_TASK_STARTED', 'ACTIVITY_TASK_CANCELED']
    );
  });

  test('WAIT_CANCELLATION_COMPLETED of an activity that completes all the same', async () => {
    const { outcome, names } = await cancelRunning('WAIT_CANCELLATION_COMPLETED', 'made it');
    assert.deepEqual(outcome, { completed: 'made it' });
    assert.ok(names.includes('ACTIVITY_TASK_COMPLETED'));
  });

  test('TRY_CANCEL', async () => {
    const { handle, outcome, names } = await cancelRunning('TRY_CANCEL');
    assert.deepEqual(outcome, { cancelled: 'ActivityFailure' });
    assert.ok(names.includes('ACTIVITY_TASK_CANCEL_REQUESTED'));
    assert.ok(!names.includes('ACTIVITY_TASK_CANCELED'));
    // The workflow is gone; the next heartbeat says so.
    assert.equal(await ended.wait(handle.workflowId), 'NOT_FOUND');
  });

  test('ABANDON', async () => {
    const { handle, outcome, names } = await cancelRunning('ABANDON');
    assert.deepEqual(outcome, { cancelled: 'ActivityFailure' });
    assert.ok(!names.includes('ACTIVITY_TASK_CANCEL_REQUESTED'));
    assert.equal(await ended.wait(handle.workflowId), 'NOT_FOUND');
  });

  test('before it was started', async () => {
    const waiting = { startToCloseTimeout: '30s', taskQueue: NOBODY, cancellationType: 'WAIT_CANCELLATION_COMPLETED' };
    const handle = await world.start('cancelActivity', ['greet', waiting, 'Ada']);
    await eventually(() => pendingActivity(handle, () => true));
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), { cancelled: 'ActivityFailure' });
    assert.deepEqual(
      (await eventNames(handle)).filter((name) => name.startsWith('ACTIVITY')),
      ['ACTIVITY_TASK_SCHEDULED', 'ACTIVITY_TASK_CANCEL_REQUESTED', 'ACTIVITY_TASK_CANCELED']
    );
  });

  test('between two attempts', async () => {
    const retry = { initialInterval: '1 hour' };
    const backingOff = { startToCloseTimeout: '30s', retry, cancellationType: 'WAIT_CANCELLATION_COMPLETED' };
    const handle = await world.start('cancelActivity', ['flaky', backingOff, 2]);
    await eventually(() => pendingActivity(handle, ({ attempt }) => attempt === 2));
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), { cancelled: 'ActivityFailure' });
    assert.equal(attempts.get(handle.workflowId).length, 1);
  });
});

describe('an end from elsewhere', { concurrency: 16, timeout: 120_000 }, () => {
  async function startAndGetToken(options = once) {
    const handle = await world.start('activity', ['endsElsewhere', options]);
    return { handle, token: await tokens.wait(handle.workflowId) };
  }

  test('completion', async () => {
    const { handle, token } = await startAndGetToken();
    await world.client.activity.complete(token, 'done by hand');
    assert.equal(await handle.result(), 'done by hand');
    const late = await failure(world.client.activity.complete(token, 'again'));
    assert.ok(late instanceof ActivityNotFoundError, String(late));
  });

  test('failure', async () => {
    const { handle, token } = await startAndGetToken();
    await world.client.activity.fail(token, ApplicationFailure.nonRetryable('failed by hand'));
    const { cause } = await failure(handle.result());
    assert.equal(cause.cause.message, 'failed by hand');
  });

  test('heartbeats', async () => {
    const { handle, token } = await startAndGetToken();
    await world.client.activity.heartbeat(token, 'half way');
    const pending = await eventually(() => pendingActivity(handle, ({ heartbeatDetails }) => heartbeatDetails));
    assert.equal(Buffer.from(pending.heartbeatDetails.payloads[0].data).toString(), '"half way"');
    await world.client.activity.complete(token, 'all the way');
    assert.equal(await handle.result(), 'all the way');
  });

  test('of an attempt that is over', async () => {
    const options = { startToCloseTimeout: '300ms', retry: { maximumAttempts: 1 } };
    const { handle, token } = await startAndGetToken(options);
    await failure(handle.result());
    const late = await failure(world.client.activity.complete(token, 'too late'));
    assert.ok(late instanceof ActivityNotFoundError, String(late));
  });
});

describe('a local activity', { concurrency: 2, timeout: 120_000 }, () => {
  for (const maxCachedWorkflows of [0, 10]) {
    test(`that outlasts its tasks runs once in a worker that keeps ${maxCachedWorkflows} workflows`, async () => {
      const taskQueue = `local-${maxCachedWorkflows}`;
      const keepAlive = async () => {
        const args = ['untilReleased', { startToCloseTimeout: '60s' }];
        const handle = await world.start('localActivity', args, { taskQueue, workflowTaskTimeout: '2s' });
        await eventually(async () => (await eventsNamed(handle, 'WORKFLOW_TASK_COMPLETED')).length >= 2);
        released.ring(handle.workflowId, 'done');
        assert.equal(await handle.result(), 'done');
        assert.equal(attempts.get(handle.workflowId).length, 1);
      };
      await world.withWorker(taskQueue, keepAlive, { maxCachedWorkflows });
    });
  }
});

test('a hundred activities at once', { timeout: 180_000 }, async () => {
  const numbers = await world.execute('crowd', [100]);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index)
  );
  assert.equal(numbers.length, 100);
});

replayAll(world);
