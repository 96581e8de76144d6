// Reset: a new run that shares the beginning of an old one.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { TerminatedFailure } from '@temporalio/common';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

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
  });

  test('without the signals', async () => {
    const handle = await world.start('collect');
    const point = await firstTaskEnd(handle);
    await handle.signal('add', 1);
    const again = await reset(handle, point, { resetReapplyExcludeTypes: [1] });
    await again.signal('stop');
    assert.deepEqual(await again.result(), []);
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
