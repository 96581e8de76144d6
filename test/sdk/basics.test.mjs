// Workflows that start, run and end: results, failures, timers, sizes, many at once.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { ServiceError, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, NamespaceNotFoundError, RetryState, TerminatedFailure } from '@temporalio/common';
import proto from '@temporalio/proto';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { RunningWorker, connect } from './lib/worker.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const { WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;
const MEGABYTE = 1_000_000;
const FAILING_MS = 11_900; // time enough for the tasks that should fail, on any machine

const world = openWorld();

describe('basics', { concurrency: 8, timeout: 120_000 }, () => {
  test('hello', async () => {
    const handle = await world.start('hello', ['Ada']);
    assert.equal(await handle.result(), 'Hello, Ada!');
    assert.deepEqual(await eventNames(handle), [
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'ACTIVITY_TASK_SCHEDULED',
      'ACTIVITY_TASK_STARTED',
      'ACTIVITY_TASK_COMPLETED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_COMPLETED',
    ]);
  });

  test('a result is there for those who ask late', async () => {
    const handle = await world.start('hello', ['Bob']);
    await handle.result();
    const late = world.client.workflow.getHandle(handle.workflowId);
    assert.equal(await late.result(), 'Hello, Bob!');
  });

  test('a workflow that fails', async () => {
    const handle = await world.start('fails');
    const error = await failure(handle.result());
    assert.ok(error instanceof WorkflowFailedError);
    assert.equal(error.retryState, RetryState.RETRY_POLICY_NOT_SET);
    assert.ok(error.cause instanceof ApplicationFailure);
    assert.equal(error.cause.message, 'no such order');
    assert.equal(error.cause.type, 'OrderError');
    assert.equal(error.cause.nonRetryable, true);
    assert.deepEqual(error.cause.details, [42, { reason: 'gone' }]);
    assert.equal((await handle.describe()).status.name, 'FAILED');
  });

  test('failing tasks are repeated without filling the history', async () => {
    // Attempt 1 fails at once; later ones fail too, but the SDK lets them time out in silence, four seconds each.
    const handle = await world.start('failsTasksUntil', [Date.now() + FAILING_MS], {
      workflowTaskTimeout: '4s',
    });
    assert.equal(await handle.result(), 'recovered');
    assert.deepEqual(await eventNames(handle), [
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_COMPLETED',
    ]);
    const [failed] = await eventsNamed(handle, 'WORKFLOW_TASK_FAILED');
    const { cause, failure: why } = failed.workflowTaskFailedEventAttributes;
    assert.equal(cause, WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE);
    assert.equal(why.message, 'the task fails, not the workflow');
    const scheduled = await eventsNamed(handle, 'WORKFLOW_TASK_SCHEDULED');
    assert.ok(scheduled[1].workflowTaskScheduledEventAttributes.attempt > 1);
  });

  test('failing tasks after a sticky one', async () => {
    const handle = await world.start('failsTasksUntil', [Date.now() + FAILING_MS, true], {
      workflowTaskTimeout: '4s',
    });
    assert.equal(await handle.result(), 'recovered');
    const failed = await eventsNamed(handle, 'WORKFLOW_TASK_FAILED');
    // The first failure costs the sticky queue, not an attempt; the second is the one that counts.
    assert.equal(failed.length, 2);
  });

  test('timers', async () => {
    const before = Date.now();
    assert.equal(await world.execute('pause', [300]), 'slept');
    assert.ok(Date.now() - before >= 300);
  });

  test('timers in parallel fire in the order of their lengths', async () => {
    const handle = await world.start('timers', [[900, 300, 600, 1, 1200]]);
    assert.deepEqual(await handle.result(), [1, 300, 600, 900, 1200]);
    assert.equal((await eventsNamed(handle, 'TIMER_FIRED')).length, 5);
  });

  test('a hundred timers at one moment', async () => {
    const handle = await world.start('timers', [Array(100).fill(200)]);
    assert.equal((await handle.result()).length, 100);
    assert.equal((await eventsNamed(handle, 'TIMER_FIRED')).length, 100);
  });

  test('a timeout cancels the timer in its scope', async () => {
    const handle = await world.start('impatient', [200]);
    assert.equal(await handle.result(), 'cancelled');
    const names = (await eventNames(handle)).filter((name) => name.startsWith('TIMER'));
    assert.deepEqual(names.sort(), ['TIMER_CANCELED', 'TIMER_FIRED', 'TIMER_STARTED', 'TIMER_STARTED']);
  });

  test('a condition that comes true cancels its timer', async () => {
    const handle = await world.start('stoppedWithin', [30_000]);
    await handle.signal('stop');
    assert.equal(await handle.result(), true);
  });

  test('a condition that does not come true', async () => {
    assert.equal(await world.execute('stoppedWithin', [200]), false);
  });

  test('a megabyte in and out', async () => {
    const data = 'é'.repeat(MEGABYTE / 2);
    assert.equal(await world.execute('echoes', [data]), data);
  });

  test('an input over the limit of payloads', async () => {
    const error = await failure(world.start('echoes', ['x'.repeat(3 * MEGABYTE)]));
    assert.equal(error.cause.code, status.INVALID_ARGUMENT);
    assert.equal(error.cause.details, 'Blob data size exceeds limit.');
  });

  test('a request over 4 MiB', async () => {
    const client = await connect(world.server, world.runs, { retries: false });
    const options = world.options('echoes', ['x'.repeat(5 * MEGABYTE)]);
    const error = await failure(client.workflow.start('echoes', options));
    assert.ok(error instanceof ServiceError);
    assert.equal(error.cause.code, status.INVALID_ARGUMENT); // RESOURCE_EXHAUSTED would be tried again
    assert.match(error.cause.details, /^grpc: received message larger than max \(\d+ vs\. 4194304\)$/);
    // The connection is still good.
    const handle = await client.workflow.start('hello', world.options('hello', ['Eve']));
    assert.equal(await handle.result(), 'Hello, Eve!');
    await client.connection.close();
  });

  // Too much for one message though each part is small: it would be the next time, too.
  test('a task answer over 4 MiB ends the workflow, which says why', async () => {
    const error = await failure(world.execute('shouts', [5, MEGABYTE]));
    assert.ok(error.cause instanceof TerminatedFailure);
    assert.equal(error.cause.message, 'GrpcMessageTooLarge');
  });

  // The SDK finds out by itself, from what describing the namespace says.
  test('a result over 2 MiB fails the task, and says why', async () => {
    const handle = await world.start('returnsBytes', [3 * MEGABYTE], { workflowTaskTimeout: '5s' });
    const failed = await eventually(async () => (await eventsNamed(handle, 'WORKFLOW_TASK_FAILED'))[0]);
    const { cause } = failed.workflowTaskFailedEventAttributes;
    assert.equal(WorkflowTaskFailedCause[cause], 'WORKFLOW_TASK_FAILED_CAUSE_PAYLOADS_TOO_LARGE');
    await handle.terminate('too much to say');
  });

  test('an unknown namespace', async () => {
    const client = await connect(world.server, world.runs, { namespace: 'nowhere' });
    const error = await failure(client.workflow.start('hello', world.options('hello', ['Ada'])));
    assert.ok(error instanceof NamespaceNotFoundError);
    assert.equal(error.namespace, 'nowhere');
    await client.connection.close();
    // Without workflows: a worker that cannot be created would leave its workflow threads behind.
    const options = { namespace: 'nowhere', workflowBundle: undefined };
    await assert.rejects(RunningWorker.start(world.server, 'main', options), /Namespace nowhere was not found/);
  });
});

test('500 workflows at once', { timeout: 120_000 }, async () => {
  const names = Array.from({ length: 500 }, (_, index) => `guest ${index}`);
  const results = await Promise.all(names.map((name) => world.execute('hello', [name])));
  assert.deepEqual(
    results,
    names.map((name) => `Hello, ${name}!`)
  );
});

replayAll(world);
