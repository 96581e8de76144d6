// What is too large: the worker that knows the limits, and the one that sends it anyway.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { WorkflowFailedError } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import proto from '@temporalio/proto';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { Server } from './lib/server.mjs';
import { RunningWorker, connect } from './lib/worker.mjs';
import { World, eventually, failure, replayAll } from './lib/world.mjs';

const { WorkflowTaskFailedCause: Cause } = proto.temporal.api.enums.v1;
const LIMIT = 10 * 1024;
const settings = [
  `limit.blobSize.error=${LIMIT}`,
  `limit.blobSize.warn=${LIMIT / 4}`,
  'limit.historyCount.error=30',
  'limit.historyCount.warn=10',
  'limit.numPendingActivities.error=3',
];

const world = new World();
before(async () => {
  world.server = await Server.start({ dynamicConfig: settings });
  world.client = await connect(world.server, world.runs);
  world.worker = await RunningWorker.start(world.server, world.taskQueue, { disablePayloadErrorLimit: true });
});
after(() => world.close());

async function terminated(handle) {
  const error = await failure(handle.result());
  assert.ok(error instanceof WorkflowFailedError, error);
  assert.ok(error.cause instanceof TerminatedFailure, error.cause);
  return error.cause.message;
}

const taskFailures = async (handle) =>
  (await eventsNamed(handle, 'WORKFLOW_TASK_FAILED')).map((e) => e.workflowTaskFailedEventAttributes.cause);

describe('a payload above the limit', { concurrency: 8, timeout: 120_000 }, () => {
  test('in the result of a workflow ends the run, which says why', async () => {
    const handle = await world.start('returnsBytes', [LIMIT + 1]);
    const reason = 'CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit.';
    assert.equal(await terminated(handle), `BadCompleteWorkflowExecutionAttributes: ${reason}`);
    assert.deepEqual((await eventNames(handle)).slice(-2), ['WORKFLOW_TASK_FAILED', 'WORKFLOW_EXECUTION_TERMINATED']);
    assert.deepEqual(await taskFailures(handle), [Cause.WORKFLOW_TASK_FAILED_CAUSE_BAD_COMPLETE_WORKFLOW_EXECUTION_ATTRIBUTES]);
  });

  test('in the input of an activity does the same', async () => {
    const handle = await world.start('shouts', [1, LIMIT + 1]);
    const reason = 'ScheduleActivityTaskCommandAttributes.Input exceeds size limit.';
    assert.equal(await terminated(handle), `BadScheduleActivityAttributes: ${reason}`);
  });

  test('just below it is fine, and logged', async () => {
    assert.equal((await world.execute('returnsBytes', [LIMIT - 100])).length, LIMIT - 100);
    await eventually(() => / payload_large /.test(world.server.log));
  });

  test('is held back by a worker that asks for the limits', async () => {
    await world.withWorker('careful', async () => {
      const handle = await world.start('returnsBytes', [LIMIT + 1], { taskQueue: 'careful' });
      await eventually(async () =>
        (await taskFailures(handle)).includes(Cause.WORKFLOW_TASK_FAILED_CAUSE_PAYLOADS_TOO_LARGE)
      );
      await handle.terminate('seen');
    });
  });

  test('in the request of a client is refused', async () => {
    const error = await failure(world.start('same', ['x'.repeat(LIMIT)]));
    assert.equal(error.cause.code, status.INVALID_ARGUMENT);
    assert.match(error.cause.details, /Blob data size exceeds limit/);
  });
});

describe('a limit', { concurrency: 8, timeout: 120_000 }, () => {
  test('on activities at a time fails the task', async () => {
    assert.deepEqual(await world.execute('crowd', [3]), [0, 1, 2]);
    const handle = await world.start('crowd', [4]);
    await eventually(async () =>
      (await taskFailures(handle)).includes(Cause.WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED)
    );
    await handle.terminate('seen');
  });

  test('on the length of a history ends the run', async () => {
    const handle = await world.start('timers', [Array.from({ length: 20 }, () => 1)]);
    assert.equal(await terminated(handle), 'Workflow history count exceeds limit.');
    await eventually(() => / history_long /.test(world.server.log));
  });
});

replayAll(world);
