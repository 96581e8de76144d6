// Runs that follow each other: continue-as-new, retries, cron, timeouts; and starts that depend on what runs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WorkflowContinuedAsNewError, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, RetryState, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();

// Notes the run that a chain is at now, so that its history is replayed too.
async function noteCurrent(workflowId) {
  const { runId } = await world.client.workflow.getHandle(workflowId).describe();
  world.runs.note(workflowId, runId);
  return runId;
}

describe('continue as new', { concurrency: 8, timeout: 120_000 }, () => {
  test('the result is that of the last run', async () => {
    const handle = await world.start('countdown', [3]);
    assert.equal(await handle.result(), 4);
    await noteCurrent(handle.workflowId);
    const description = await handle.describe();
    assert.equal(description.status.name, 'COMPLETED');
    assert.equal(description.raw.workflowExecutionInfo.firstRunId, handle.firstExecutionRunId);
  });

  test('without following, the first run says so', async () => {
    const handle = await world.start('countdown', [1]);
    await handle.result();
    const first = world.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId, { followRuns: false });
    assert.ok((await failure(first.result())) instanceof WorkflowContinuedAsNewError);
    assert.equal((await eventNames(first)).at(-1), 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
  });
});

describe('retries', { concurrency: 8, timeout: 120_000 }, () => {
  const retry = { initialInterval: 50, backoffCoefficient: 1 };

  test('until it succeeds', async () => {
    const handle = await world.start('failsUntilAttempt', [3], { retry });
    assert.equal(await handle.result(), 3);
    await noteCurrent(handle.workflowId);
    const first = world.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
    const [failed] = await eventsNamed(first, 'WORKFLOW_EXECUTION_FAILED');
    assert.notEqual(failed.workflowExecutionFailedEventAttributes.newExecutionRunId, '');
    assert.equal(failed.workflowExecutionFailedEventAttributes.retryState, 1);
  });

  test('until the attempts are used up', async () => {
    const error = await failure(
      world.execute('failsUntilAttempt', [5], { retry: { ...retry, maximumAttempts: 2 } })
    );
    assert.ok(error instanceof WorkflowFailedError);
    assert.equal(error.retryState, RetryState.MAXIMUM_ATTEMPTS_REACHED);
  });

  test('not for a type that is listed', async () => {
    const error = await failure(
      world.execute('failsUntilAttempt', [5], { retry: { ...retry, nonRetryableErrorTypes: ['Early'] } })
    );
    assert.ok(error.cause instanceof ApplicationFailure);
    assert.equal(error.retryState, RetryState.NON_RETRYABLE_FAILURE);
  });
});

describe('timeouts', { concurrency: 8, timeout: 120_000 }, () => {
  for (const option of ['workflowRunTimeout', 'workflowExecutionTimeout']) {
    test(option, async () => {
      const error = await failure(world.execute('pause', [60_000], { [option]: '1s' }));
      assert.ok(error.cause instanceof TimeoutFailure, String(error.cause));
    });
  }
});

describe('cron', { concurrency: 8, timeout: 120_000 }, () => {
  test('@every: each run sees the result of the one before', async () => {
    const handle = await world.start('tally', [], { cronSchedule: '@every 1s' });
    await eventually(async () => {
      const [started] = await eventsNamed(
        world.client.workflow.getHandle(handle.workflowId),
        'WORKFLOW_EXECUTION_STARTED'
      );
      const last = started.workflowExecutionStartedEventAttributes.lastCompletionResult?.payloads?.[0];
      return last && Number(Buffer.from(last.data).toString()) >= 2;
    });
    await noteCurrent(handle.workflowId);
    await handle.terminate('enough');
    assert.equal((await handle.describe()).status.name, 'TERMINATED');
  });

  test('in a time zone', async () => {
    const handle = await world.start('tally', [], { cronSchedule: 'CRON_TZ=America/New_York 30 12 * * *' });
    const { executionTime } = await handle.describe();
    const there = executionTime.toLocaleTimeString('en-GB', { timeZone: 'America/New_York' });
    assert.equal(there, '12:30:00');
    await handle.terminate();
  });

  test('a bad schedule is refused', async () => {
    const error = await failure(world.start('tally', [], { cronSchedule: 'not a schedule' }));
    assert.match(error.cause.details, /invalid CronSchedule/);
  });
});

describe('signal with start', { concurrency: 8, timeout: 120_000 }, () => {
  async function signalWithStart(workflowId, value, options = {}) {
    return await world.client.workflow.signalWithStart('collect', {
      taskQueue: world.taskQueue,
      workflowId,
      signal: 'add',
      signalArgs: [value],
      ...options,
    });
  }

  test('starts, then signals what runs', async () => {
    const first = await signalWithStart('sws-1', 1);
    const second = await signalWithStart('sws-1', 2);
    assert.equal(second.signaledRunId, first.signaledRunId);
    world.runs.note('sws-1', first.signaledRunId);
    await second.signal('stop');
    assert.deepEqual(await second.result(), [1, 2]);
    assert.deepEqual((await eventNames(first)).slice(0, 3), [
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
  });

  test('cuts a start delay short', async () => {
    const delayed = await world.start('collect', [], { workflowId: 'sws-2', startDelay: '1 hour' });
    await signalWithStart('sws-2', 7);
    await delayed.signal('stop');
    assert.deepEqual(await delayed.result(), [7]);
  });
});

test('terminate if running makes way for the new run', async () => {
  const workflowId = 'make-way';
  const old = await world.start('pause', [60_000], { workflowId });
  const next = await world.start('hello', ['Ada'], { workflowId, workflowIdConflictPolicy: 'TERMINATE_EXISTING' });
  assert.equal(await next.result(), 'Hello, Ada!');
  const first = world.client.workflow.getHandle(workflowId, old.firstExecutionRunId);
  assert.ok((await failure(first.result())).cause instanceof TerminatedFailure);
});

replayAll(world);
