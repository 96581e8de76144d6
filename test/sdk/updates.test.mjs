// Updates: accepted, rejected, waited for, asked twice, and what is left of them when things end.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import {
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import proto from '@temporalio/proto';
import { arrived, opened } from './lib/gate.mjs';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { connect } from './lib/worker.mjs';
import { eventually, failure, inNewWorld, openWorld, replayAll } from './lib/world.mjs';

const { UpdateWorkflowExecutionLifecycleStage: Stage } = proto.temporal.api.enums.v1;
const ACCEPTED = 'ACCEPTED';
const COMPLETED_TEXT = 'workflow execution already completed';
const world = openWorld();

const upTo = (count) => Array.from({ length: count }, (_, index) => index);

// Where the server says an update is; undefined when it does not know it.
async function stageOf(handle, updateId) {
  try {
    const updateRef = { workflowExecution: { workflowId: handle.workflowId }, updateId };
    return (await world.service.pollWorkflowExecutionUpdate({ namespace: 'default', updateRef })).stage;
  } catch (error) {
    if (error.code === status.NOT_FOUND) return undefined;
    throw error;
  }
}

const admitted = (handle, updateId) => eventually(async () => (await stageOf(handle, updateId)) !== undefined);

describe('an update', { concurrency: 16, timeout: 120_000 }, () => {
  test('of an idle workflow is accepted and completed in one task', async () => {
    const handle = await world.start('account', [5]);
    await eventually(async () => (await eventNames(handle)).at(-1) === 'WORKFLOW_TASK_COMPLETED');
    assert.equal(await handle.executeUpdate('deposit', { args: [2] }), 7);
    assert.deepEqual((await eventNames(handle)).slice(4), [
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
      'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
    ]);
    const [accepted] = await eventsNamed(handle, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    const { acceptedRequest, acceptedRequestSequencingEventId } = accepted.workflowExecutionUpdateAcceptedEventAttributes;
    assert.equal(acceptedRequest.input.name, 'deposit');
    assert.equal(Number(acceptedRequestSequencingEventId), 5);
    await handle.signal('stop');
    assert.equal(await handle.result(), 7);
  });

  test('that is rejected leaves no trace', async () => {
    const handle = await world.start('account');
    await eventually(async () => (await eventNames(handle)).at(-1) === 'WORKFLOW_TASK_COMPLETED');
    for (const amount of [0, -1]) {
      const error = await failure(handle.executeUpdate('deposit', { args: [amount], updateId: `bad${amount}` }));
      assert.ok(error instanceof WorkflowUpdateFailedError, error);
      assert.ok(error.cause instanceof ApplicationFailure);
      assert.equal(error.cause.message, 'nothing to deposit');
      assert.equal(error.cause.type, 'BadAmount');
    }
    assert.equal((await eventNames(handle)).length, 4);
    assert.equal(await stageOf(handle, 'bad0'), undefined);
    assert.equal(await handle.executeUpdate('deposit', { args: [3] }), 3, 'and the worker still knows where it is');
    await handle.signal('stop');
    assert.equal(await handle.result(), 3);
  });

  test('that is rejected after events which the worker had not seen', async () => {
    const handle = await world.start('account');
    await handle.executeUpdate('deposit', { args: [1] });
    await failure(handle.executeUpdate('deposit', { args: [0] }));
    await handle.signal('add');
    await failure(handle.executeUpdate('deposit', { args: [0] }));
    assert.equal(await handle.executeUpdate('close'), 1);
    assert.equal(await handle.result(), 1);
  });

  test('without a handler is refused', async () => {
    const handle = await world.start('account');
    const error = await failure(handle.executeUpdate('withdraw', { args: [1] }));
    assert.ok(error instanceof WorkflowUpdateFailedError, error);
    await handle.signal('stop');
    await handle.result();
  });

  test('comes by the dozen', async () => {
    const handle = await world.start('account');
    for (const round of upTo(5)) {
      const sums = await Promise.all(upTo(10).map(() => handle.executeUpdate('deposit', { args: [1] })));
      assert.deepEqual(sums.sort((a, b) => a - b), upTo(10).map((n) => round * 10 + n + 1));
    }
    assert.equal(await handle.executeUpdate('close'), 50);
    assert.equal((await eventsNamed(handle, 'WORKFLOW_EXECUTION_UPDATE_COMPLETED')).length, 51);
  });

  test('takes its time', async () => {
    const handle = await world.start('account');
    const update = await handle.startUpdate('hold', { args: ['x'], waitForStage: ACCEPTED });
    assert.equal(await stageOf(handle, update.updateId), Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED);
    assert.equal(await handle.executeUpdate('deposit', { args: [4] }), 4, 'others go ahead');
    const results = [update.result(), handle.getUpdateHandle(update.updateId).result()];
    await handle.signal('add');
    assert.deepEqual(await Promise.all(results), ['x', 'x']);
    await handle.signal('stop');
    await handle.result();
  });

  test('is asked for again by its id', async () => {
    const handle = await world.start('account');
    const twice = () => handle.executeUpdate('deposit', { args: [6], updateId: 'same' });
    assert.deepEqual(await Promise.all([twice(), twice(), twice()]), [6, 6, 6]);
    assert.equal(await twice(), 6);
    assert.equal(await handle.executeUpdate('close'), 6);
    assert.equal(await handle.result(), 6);
    assert.equal(await twice(), 6, 'also when the workflow is closed');
    assert.equal(await handle.getUpdateHandle('same').result(), 6);
    assert.equal((await eventsNamed(handle, 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED')).length, 2);
  });

  test('of a workflow that is closed or not there', async () => {
    const handle = await world.start('account');
    await handle.signal('stop');
    await handle.result();
    const closed = await failure(handle.executeUpdate('deposit', { args: [1] }));
    assert.ok(closed instanceof WorkflowNotFoundError, closed);
    assert.equal(closed.message, COMPLETED_TEXT);
    const unknown = await failure(handle.getUpdateHandle('never').result());
    assert.ok(unknown instanceof WorkflowNotFoundError, unknown);
    const missing = await failure(world.client.workflow.getHandle(randomUUID()).executeUpdate('deposit'));
    assert.ok(missing instanceof WorkflowNotFoundError, missing);
  });

  test('beyond the number that may be under way', async () => {
    const handle = await world.start('account');
    await Promise.all(upTo(10).map((n) => handle.startUpdate('hold', { args: [n], waitForStage: ACCEPTED })));
    const request = {
      namespace: 'default',
      workflowExecution: { workflowId: handle.workflowId },
      request: { meta: { updateId: 'eleventh' }, input: { name: 'hold' } },
    };
    const plain = await connect(world.server, world.runs, { retries: false });
    const error = await failure(plain.workflowService.updateWorkflowExecution(request));
    await plain.connection.close();
    assert.equal(error.code, status.RESOURCE_EXHAUSTED, error);
    await handle.signal('add');
    assert.equal(await handle.executeUpdate('close'), 0);
  });

  test('before there is a worker', async () => {
    const taskQueue = `late-${randomUUID()}`;
    const handle = await world.start('account', [], { taskQueue });
    const results = upTo(3).map((n) => handle.executeUpdate('deposit', { args: [1], updateId: `u${n}` }));
    for (const n of upTo(3)) await admitted(handle, `u${n}`);
    await world.withWorker(taskQueue, async () => {
      assert.deepEqual((await Promise.all(results)).sort(), [1, 2, 3]);
      await handle.signal('stop');
      await handle.result();
    });
  });

  test('while the only worker is away for longer than a speculative task waits', async () => {
    const taskQueue = `away-${randomUUID()}`;
    const handle = await world.start('account', [], { taskQueue });
    await world.withWorker(taskQueue, () => handle.executeUpdate('deposit', { args: [1] }));
    const result = handle.executeUpdate('deposit', { args: [1] });
    await eventually(async () => (await eventNames(handle)).includes('WORKFLOW_TASK_TIMED_OUT'));
    await world.withWorker(taskQueue, async () => {
      assert.equal(await result, 2);
      await handle.signal('stop');
      await handle.result();
    });
  });

  for (const maxCachedWorkflows of [0, 10]) {
    test(`before the start delay is over, in a worker that keeps ${maxCachedWorkflows} workflows`, async () => {
      const taskQueue = `delayed-${randomUUID()}`;
      const later = async () => {
        const handle = await world.start('account', [], { taskQueue, startDelay: '4s' });
        await failure(handle.executeUpdate('deposit', { args: [-1] })); // by its validator
        assert.deepEqual(await eventNames(handle), ['WORKFLOW_EXECUTION_STARTED']);
        await eventually(async () => (await eventNames(handle)).includes('WORKFLOW_TASK_COMPLETED'));
        assert.equal(await handle.executeUpdate('deposit', { args: [2] }), 2);
        await handle.executeUpdate('close');
        await handle.result();
        const early = await world.start('account', [], { taskQueue, startDelay: '1 hour' });
        assert.equal(await early.executeUpdate('deposit', { args: [3] }), 3);
        await early.executeUpdate('close');
        await early.result();
      };
      await world.withWorker(taskQueue, later, { maxCachedWorkflows });
    });
  }

  test('and a signal at the same time make one task', async () => {
    const taskQueue = `both-${randomUUID()}`;
    const handle = await world.start('account', [], { taskQueue });
    await world.withWorker(taskQueue, () => handle.executeUpdate('deposit', { args: [1] }), { maxCachedWorkflows: 0 });
    const before = (await eventNames(handle)).length;
    const result = handle.executeUpdate('deposit', { args: [1], updateId: 'u' });
    await admitted(handle, 'u');
    assert.equal((await handle.describe()).historyLength, before);
    assert.equal((await eventNames(handle)).length, before + 1); // an SDK is shown the task that is not written
    for (const name of ['temporal-cli', 'temporal-ui', 'rondo-cli'])
      await world.client.connection.withMetadata({ 'client-name': name }, async () =>
        assert.equal((await eventNames(handle)).length, before, name)
      );
    await handle.signal('add');
    await world.withWorker(taskQueue, async () => assert.equal(await result, 2));
    assert.deepEqual((await eventNames(handle)).slice(before), [
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
      'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
    ]);
  });

  test('with a worker that remembers nothing', async () => {
    const taskQueue = `forgetful-${randomUUID()}`;
    await world.withWorker(
      taskQueue,
      async () => {
        const handle = await world.start('account', [], { taskQueue });
        for (const n of upTo(3)) {
          assert.equal(await handle.executeUpdate('deposit', { args: [1] }), n + 1);
          await failure(handle.executeUpdate('deposit', { args: [0] }));
        }
        assert.equal(await handle.executeUpdate('close'), 3);
        assert.equal(await handle.result(), 3);
      },
      { maxCachedWorkflows: 0 }
    );
  });
});

describe('the end', { concurrency: 16, timeout: 120_000 }, () => {
  test('comes while an update waits: the workflow is terminated', async () => {
    const taskQueue = `nobody-${randomUUID()}`;
    const handle = await world.start('account', [], { taskQueue });
    const error = failure(handle.executeUpdate('deposit', { args: [1], updateId: 'u' }));
    await admitted(handle, 'u');
    await handle.terminate('enough');
    assert.ok((await error) instanceof WorkflowNotFoundError, await error);
    assert.equal((await error).message, 'workflow update was aborted by closing workflow');
  });

  test('comes while a task runs that does not know of the update', async () => {
    const handle = await world.start('leavesBehindGate');
    await handle.signal('stop');
    await arrived.wait(handle.workflowId);
    const error = failure(handle.executeUpdate('hold', { updateId: 'u' }));
    await admitted(handle, 'u');
    opened.ring(handle.workflowId);
    assert.equal((await error).message, 'workflow update was aborted by closing workflow');
    await handle.result();
  });

  test('comes before an accepted update is done', async () => {
    const handle = await world.start('leavesBehindGate');
    const update = await handle.startUpdate('hold', { waitForStage: ACCEPTED });
    opened.ring(handle.workflowId);
    await handle.signal('stop');
    for (const result of [update.result(), handle.getUpdateHandle(update.updateId).result()]) {
      const error = await failure(result);
      assert.ok(error instanceof WorkflowUpdateFailedError, error);
      assert.equal(error.cause.type, 'AcceptedUpdateCompletedWorkflow');
    }
  });

  test('is not the end: the workflow continues as new, and the update is asked there', async () => {
    const handle = await world.start('movingAccount');
    await arrived.wait(handle.workflowId);
    const result = handle.executeUpdate('deposit', { args: [1], updateId: 'u' });
    await admitted(handle, 'u');
    opened.ring(handle.workflowId);
    assert.equal(await result, 101);
    await handle.signal('stop');
    assert.equal(await handle.result(), 101);
  });
});

describe('update with start', { concurrency: 16, timeout: 120_000 }, () => {
  const operation = (workflowId, workflowIdConflictPolicy, args = [10]) =>
    new WithStartWorkflowOperation('account', {
      workflowId,
      taskQueue: world.taskQueue,
      workflowIdConflictPolicy,
      args,
    });
  const deposit = (startWorkflowOperation, amount, updateId) =>
    world.client.workflow.executeUpdateWithStart('deposit', { args: [amount], updateId, startWorkflowOperation });

  test('starts the workflow, and finds it the next time', async () => {
    const id = `with-start-${randomUUID()}`;
    const first = operation(id, 'USE_EXISTING');
    assert.equal(await deposit(first, 1), 11);
    const handle = await first.workflowHandle();
    world.runs.note(id, (await handle.describe()).runId);
    assert.equal(await deposit(operation(id, 'USE_EXISTING'), 1), 12);
    assert.equal(await deposit(operation(id, 'USE_EXISTING'), 5, 'mine'), 17);
    assert.equal(await deposit(operation(id, 'FAIL'), 5, 'mine'), 17, 'a known update needs no start');
    assert.deepEqual((await eventNames(handle)).slice(0, 5), [
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
    ]);
    const error = await failure(deposit(operation(id, 'FAIL'), 1));
    assert.ok(error instanceof WorkflowExecutionAlreadyStartedError, error);
    await handle.signal('stop');
    assert.equal(await handle.result(), 17);
    const after = operation(id, 'FAIL', [0]);
    assert.equal(await deposit(after, 1), 1, 'a closed one makes way');
    const next = await after.workflowHandle();
    world.runs.note(id, (await next.describe()).runId);
    await next.signal('stop');
  });

  test('keeps the workflow when the update is rejected', async () => {
    const id = `with-start-${randomUUID()}`;
    const start = operation(id, 'FAIL');
    const error = await failure(deposit(start, 0));
    assert.ok(error instanceof WorkflowUpdateFailedError, error);
    const handle = world.client.workflow.getHandle(id);
    world.runs.note(id, (await handle.describe()).runId);
    await handle.signal('stop');
    assert.equal(await handle.result(), 10);
  });
});

replayAll(world);

describe('a server that dies', { timeout: 120_000 }, () => {
  test('keeps what was accepted', async () => {
    await inNewWorld(async (fresh) => {
      const handle = await fresh.start('account');
      const update = await handle.startUpdate('hold', { args: ['y'], waitForStage: ACCEPTED });
      assert.equal(await handle.executeUpdate('deposit', { args: [2], updateId: 'd' }), 2);
      const result = update.result();
      await fresh.server.killAndRestart();
      await handle.signal('add');
      assert.equal(await result, 'y');
      assert.equal(await handle.executeUpdate('deposit', { args: [2], updateId: 'd' }), 2);
      assert.equal(await handle.executeUpdate('close'), 2);
      assert.equal(await handle.result(), 2);
    });
  });

  test('hears again of what was not', async () => {
    await inNewWorld(async (fresh) => {
      const taskQueue = `dead-${randomUUID()}`;
      const handle = await fresh.start('account', [], { taskQueue });
      await fresh.withWorker(taskQueue, () => handle.executeUpdate('deposit', { args: [1] }));
      const result = handle.executeUpdate('deposit', { args: [1], updateId: 'u' });
      await eventually(async () => (await handle.describe()).raw.pendingWorkflowTask);
      await fresh.server.killAndRestart();
      await fresh.withWorker(taskQueue, async () => {
        assert.equal(await result, 2);
        await handle.signal('stop');
        assert.equal(await handle.result(), 2);
      });
    });
  });
});
