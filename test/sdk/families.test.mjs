// Workflows and other workflows: children, their end and their parent's, signals and cancels between them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { eventually, openWorld, replayAll } from './lib/world.mjs';

const EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND = 1;

const world = openWorld();

function child(args = [], options = {}) {
  return { workflowId: `child-${randomUUID()}`, args, ...options };
}

async function note(workflowId) {
  const handle = world.client.workflow.getHandle(workflowId);
  const description = await eventually(() => handle.describe().catch(() => undefined));
  world.runs.note(workflowId, description.runId);
  return handle;
}

async function statusOf(workflowId) {
  return (await world.client.workflow.getHandle(workflowId).describe()).status.name;
}

describe('children', { concurrency: 8, timeout: 120_000 }, () => {
  test('complete', async () => {
    const options = child(['Ada']);
    const handle = await world.start('parent', ['hello', options]);
    assert.deepEqual(await handle.result(), { result: 'Hello, Ada!' });
    await note(options.workflowId);
    const names = await eventNames(handle);
    assert.deepEqual(
      names.filter((name) => name.includes('CHILD')),
      [
        'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
        'CHILD_WORKFLOW_EXECUTION_STARTED',
        'CHILD_WORKFLOW_EXECUTION_COMPLETED',
      ]
    );
    const { raw } = await world.client.workflow.getHandle(options.workflowId).describe();
    assert.equal(raw.workflowExecutionInfo.parentExecution.workflowId, handle.workflowId);
    assert.equal(raw.workflowExecutionInfo.rootExecution.workflowId, handle.workflowId);
  });

  test('fail', async () => {
    const outcome = await world.execute('parent', ['fails', child()]);
    assert.deepEqual(outcome, { error: 'ChildWorkflowFailure', cause: 'ApplicationFailure', message: 'no such order' });
  });

  test('time out', async () => {
    const outcome = await world.execute('parent', ['pause', child([60_000], { workflowRunTimeout: '1s' })]);
    assert.equal(outcome.error, 'ChildWorkflowFailure');
    assert.equal(outcome.cause, 'TimeoutFailure');
  });

  test('are terminated by someone else', async () => {
    const options = child([60_000]);
    const handle = await world.start('parent', ['pause', options]);
    await (await note(options.workflowId)).terminate('by hand');
    assert.equal((await handle.result()).cause, 'TerminatedFailure');
  });

  test('continue as new: the parent sees the last run', async () => {
    assert.deepEqual(await world.execute('parent', ['countdown', child([2])]), { result: 3 });
  });

  test('are retried: the parent sees the end', async () => {
    const options = child([3], { retry: { initialInterval: 50, backoffCoefficient: 1 } });
    assert.deepEqual(await world.execute('parent', ['failsUntilAttempt', options]), { result: 3 });
  });

  test('whose id is taken do not start', async () => {
    const taken = await world.start('pause', [60_000]);
    const outcome = await world.execute('parent', ['hello', child(['Ada'], { workflowId: taken.workflowId })]);
    assert.equal(outcome.error, 'WorkflowExecutionAlreadyStartedError');
    await taken.terminate();
  });

  test('are cancelled with their scope', async () => {
    const options = child([]);
    const handle = await world.start('cancelsChild', ['collect', options]);
    await note(options.workflowId);
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), { cancelled: 'ChildWorkflowFailure' });
    await eventually(async () => (await statusOf(options.workflowId)) === 'CANCELLED');
  });

  test('many at once', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) => world.execute('parent', ['hello', child([`${i}`])]))
    );
    assert.deepEqual(
      outcomes,
      outcomes.map((_, i) => ({ result: `Hello, ${i}!` }))
    );
  });
});

describe('when the parent closes', { concurrency: 8, timeout: 120_000 }, () => {
  async function closeParent(parentClosePolicy) {
    const options = child([60_000], { parentClosePolicy });
    const parent = await world.start('abandons', ['pause', options]);
    await parent.result();
    const { raw } = await parent.describe(); // it stays pending there
    assert.deepEqual(raw.pendingChildren.map((c) => c.workflowId), [options.workflowId]);
    return options.workflowId;
  }

  test('TERMINATE', async () => {
    const workflowId = await closeParent('TERMINATE');
    await eventually(async () => (await statusOf(workflowId)) === 'TERMINATED');
  });

  test('REQUEST_CANCEL', async () => {
    const workflowId = await closeParent('REQUEST_CANCEL');
    await eventually(async () => (await statusOf(workflowId)) === 'CANCELLED');
  });

  test('ABANDON', async () => {
    const workflowId = await closeParent('ABANDON');
    const handle = await note(workflowId);
    assert.equal(await statusOf(workflowId), 'RUNNING');
    await handle.terminate();
  });
});

describe('neighbours', { concurrency: 8, timeout: 120_000 }, () => {
  test('signal each other', async () => {
    const target = await world.start('collect');
    assert.equal(await world.execute('signalsOther', [target.workflowId, 5]), 'delivered');
    await target.signal('stop');
    assert.deepEqual(await target.result(), [5]);
  });

  test('learn that there is nobody', async () => {
    assert.equal(await world.execute('signalsOther', ['nobody-there', 5]), 'ApplicationFailure');
    assert.equal(await world.execute('cancelsOther', ['nobody-there']), 'ApplicationFailure');
  });

  test('are not external to themselves', async () => {
    for (const [type, event] of [
      ['signalsOther', 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED'],
      ['cancelsOther', 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED'],
    ]) {
      const workflowId = `own-${randomUUID()}`;
      const handle = await world.start(type, [workflowId, 5], { workflowId });
      assert.equal(await handle.result(), 'ApplicationFailure');
      const [failed] = await eventsNamed(handle, event);
      assert.equal(failed[failed.attributes].cause, EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND);
      assert.equal((await eventNames(handle)).includes('WORKFLOW_EXECUTION_SIGNALED'), false);
    }
  });

  test('cancel each other', async () => {
    const target = await world.start('pause', [60_000]);
    assert.equal(await world.execute('cancelsOther', [target.workflowId]), 'delivered');
    await eventually(async () => (await statusOf(target.workflowId)) === 'CANCELLED');
  });
});

replayAll(world);
