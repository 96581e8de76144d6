// Signals, queries, cancellation, termination.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { Client, QueryNotRegisteredError, QueryRejectedError, WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure, WorkflowNotFoundError } from '@temporalio/common';
import proto from '@temporalio/proto';
import { arrived, opened } from './lib/gate.mjs';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { failure, openWorld, replayAll } from './lib/world.mjs';

const { EventType, QueryRejectCondition, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;
const COMPLETED_TEXT = 'workflow execution already completed';
const world = openWorld();

const upTo = (count) => Array.from({ length: count }, (_, index) => index);
const sorted = (numbers) => [...numbers].sort((a, b) => a - b);

describe('signals', { concurrency: 16, timeout: 120_000 }, () => {
  test('in the order they were sent', async () => {
    const handle = await world.start('collect');
    for (const value of upTo(20)) await handle.signal('add', value);
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), upTo(20));
  });

  test('before there is a worker', async () => {
    const taskQueue = `late-${randomUUID()}`;
    const handle = await world.start('collect', [], { taskQueue });
    for (const value of upTo(100)) await handle.signal('add', value);
    await handle.signal('stop');
    await world.withWorker(taskQueue, async () => assert.deepEqual(await handle.result(), upTo(100)));
    assert.equal((await eventsNamed(handle, 'WORKFLOW_TASK_SCHEDULED')).length, 1);
  });

  test('many at once', async () => {
    const handle = await world.start('collect');
    await Promise.all(upTo(200).map((value) => handle.signal('add', value)));
    await handle.signal('stop');
    assert.deepEqual(sorted(await handle.result()), upTo(200));
  });

  test('while the task that ends the workflow is running', async () => {
    const handle = await world.start('collectBehindGate');
    await handle.signal('add', 0);
    await handle.signal('stop');
    await arrived.wait(handle.workflowId);
    for (const value of [1, 2, 3]) await handle.signal('add', value);
    assert.equal((await eventNames(handle)).at(-1), 'WORKFLOW_TASK_STARTED', 'they wait in the buffer');
    opened.ring(handle.workflowId);

    assert.deepEqual(await handle.result(), [0, 1, 2, 3]);
    const [failed, ...more] = await eventsNamed(handle, 'WORKFLOW_TASK_FAILED');
    assert.equal(more.length, 0);
    const { cause } = failed.workflowTaskFailedEventAttributes;
    assert.equal(cause, WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND);
    assert.deepEqual((await eventNames(handle)).slice(Number(failed.eventId) - 1), [
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_COMPLETED',
      'WORKFLOW_EXECUTION_COMPLETED',
    ]);
  });

  test('more than the buffer of a running task holds', async () => {
    const handle = await world.start('collectBehindGate');
    await handle.signal('stop');
    await arrived.wait(handle.workflowId);
    for (const value of upTo(150)) await handle.signal('add', value);
    opened.ring(handle.workflowId);
    assert.deepEqual(await handle.result(), upTo(150));
  });

  test('in a tight loop while the workflow ends', async () => {
    const handle = await world.start('collect');
    const sent = [];
    let next = 0;
    // A sender that never paused could keep the workflow from ever ending.
    async function send() {
      while (next < 400) {
        const value = next++;
        try {
          await handle.signal('add', value);
        } catch (error) {
          assert.ok(error instanceof WorkflowNotFoundError, String(error));
          assert.equal(error.message, COMPLETED_TEXT);
          return;
        }
        sent.push(value);
        if (sent.length === 40) void handle.signal('stop').catch(() => {});
      }
    }
    await Promise.all(upTo(4).map(send));
    const got = await handle.result();
    assert.deepEqual(sorted(got), sorted(sent), 'what was acknowledged, and only that');
    assert.equal((await eventsNamed(handle, 'WORKFLOW_EXECUTION_SIGNALED')).length, sent.length + 1);
  });

  test('twice with one request id', async () => {
    const handle = await world.start('collect');
    const request = {
      namespace: 'default',
      workflowExecution: { workflowId: handle.workflowId },
      signalName: 'add',
      input: { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('5') }] },
      requestId: randomUUID(),
    };
    const { link } = await world.service.signalWorkflowExecution(request);
    await world.service.signalWorkflowExecution(request);
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), [5]);
    const { workflowId, runId, requestIdRef } = link.workflowEvent;
    assert.deepEqual([workflowId, runId], [handle.workflowId, handle.firstExecutionRunId]);
    assert.equal(requestIdRef.requestId, request.requestId);
    assert.equal(requestIdRef.eventType, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED);
    const [signaled] = await eventsNamed(handle, 'WORKFLOW_EXECUTION_SIGNALED');
    const { requestIdInfos } = (await handle.describe()).raw.workflowExtendedInfo;
    const found = requestIdInfos[request.requestId];
    assert.equal(found.eventType, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED);
    assert.equal(Number(found.eventId), Number(signaled.eventId), 'the link leads to the event');
    assert.equal(found.buffered, false);
  });

  test('to no workflow', async () => {
    const error = await failure(world.client.workflow.getHandle('no such id').signal('add', 1));
    assert.ok(error instanceof WorkflowNotFoundError);
  });
});

describe('queries', { concurrency: 16, timeout: 120_000 }, () => {
  test('of a workflow that waits', async () => {
    const handle = await world.start('collect');
    assert.deepEqual(await handle.query('seen'), []);
    await handle.signal('add', 1);
    assert.deepEqual(await handle.query('seen'), [1]);
    const length = (await eventNames(handle)).length;
    await Promise.all(upTo(10).map(() => handle.query('seen')));
    assert.equal((await eventNames(handle)).length, length, 'a query leaves no event');
    await handle.signal('stop');
    await handle.result();
  });

  test('see every signal that was acknowledged before', async () => {
    const handle = await world.start('collect');
    for (const value of upTo(30)) {
      await handle.signal('add', value);
      assert.equal((await handle.query('seen')).length, value + 1);
    }
    await handle.signal('stop');
    await handle.result();
  });

  test('before the first task', async () => {
    const taskQueue = `late-${randomUUID()}`;
    const handle = await world.start('collect', [], { taskQueue });
    await handle.signal('add', 9);
    const answer = handle.query('seen');
    await world.withWorker(taskQueue, async () => {
      assert.deepEqual(await answer, [9]);
      await handle.signal('stop');
      await handle.result();
    });
  });

  test('while a task is running', async () => {
    const handle = await world.start('collectBehindGate');
    await handle.signal('add', 1);
    await handle.signal('stop');
    await arrived.wait(handle.workflowId);
    const answers = upTo(5).map(() => handle.query('seen'));
    await handle.signal('add', 2);
    opened.ring(handle.workflowId);
    for (const answer of await Promise.all(answers)) assert.equal(answer[0], 1);
    assert.deepEqual(await handle.result(), [1, 2]);
  });

  test('of a closed workflow', async () => {
    const handle = await world.start('collect');
    await handle.signal('add', 1);
    await handle.signal('stop');
    await handle.result();
    assert.deepEqual(await handle.query('seen'), [1]);
  });

  test('by a worker that has never seen the workflow', async () => {
    const taskQueue = `moved-${randomUUID()}`;
    const handle = await world.start('collect', [], { taskQueue });
    await world.withWorker(taskQueue, async () => {
      await handle.signal('add', 3);
      assert.deepEqual(await handle.query('seen'), [3]);
    });
    await world.withWorker(taskQueue, async () => {
      assert.deepEqual(await handle.query('seen'), [3]);
      await handle.signal('stop');
      await handle.result();
      assert.deepEqual(await handle.query('seen'), [3]);
    });
  });

  test('that is not known', async () => {
    const handle = await world.start('collect');
    const error = await failure(handle.query('unheard-of'));
    assert.ok(error instanceof QueryNotRegisteredError, String(error));
    assert.match(error.message, /did not register a handler for unheard-of/);
    await handle.signal('stop');
    await handle.result();
  });

  test('whose handler throws', async () => {
    const handle = await world.start('collect');
    const error = await failure(handle.query('broken'));
    assert.ok(error instanceof QueryNotRegisteredError, String(error));
    assert.equal(error.message, 'this query always fails');
    await handle.signal('stop');
    await handle.result();
  });

  test('for the stack', async () => {
    const handle = await world.start('collect');
    assert.match(await handle.query('__stack_trace'), /collect/);
    await handle.signal('stop');
    await handle.result();
  });

  test('rejected by the state of the workflow', async () => {
    const handle = await world.start('collect');
    await handle.signal('stop');
    await handle.result();
    const queryRejectCondition = QueryRejectCondition.QUERY_REJECT_CONDITION_NOT_OPEN;
    const strict = new Client({ connection: world.client.connection, workflow: { queryRejectCondition } });
    const error = await failure(strict.workflow.getHandle(handle.workflowId).query('seen'));
    assert.ok(error instanceof QueryRejectedError, String(error));
    assert.deepEqual(await handle.query('seen'), []);
  });

  test('are answered with a link to the run', async () => {
    const handle = await world.start('collect');
    await handle.signal('stop');
    await handle.result();
    const execution = { workflowId: handle.workflowId };
    const query = { queryType: 'seen' };
    for (const [condition, reason] of [
      [QueryRejectCondition.QUERY_REJECT_CONDITION_NONE, 'Query processed'],
      [QueryRejectCondition.QUERY_REJECT_CONDITION_NOT_OPEN, 'Query rejected'],
    ]) {
      const request = { namespace: 'default', execution, query, queryRejectCondition: condition };
      const { workflow } = (await world.service.queryWorkflow(request)).link;
      const runId = handle.firstExecutionRunId;
      assert.deepEqual({ ...workflow }, { namespace: 'default', ...execution, runId, reason });
    }
  });

  test('with no worker there', async () => {
    const taskQueue = `nobody-${randomUUID()}`;
    const handle = await world.start('collect', [], { taskQueue });
    const error = await failure(world.client.withDeadline(Date.now() + 1000, () => handle.query('seen')));
    assert.equal(error.cause.code, status.DEADLINE_EXCEEDED);
    await handle.terminate('nobody came');
  });

  test('of no workflow', async () => {
    const error = await failure(world.client.workflow.getHandle('no such id').query('seen'));
    assert.ok(error instanceof WorkflowNotFoundError);
  });
});

describe('cancellation', { concurrency: 16, timeout: 120_000 }, () => {
  test('ends a workflow that waits', async () => {
    const handle = await world.start('pause', [3_600_000]);
    await handle.cancel();
    const error = await failure(handle.result());
    assert.ok(error instanceof WorkflowFailedError);
    assert.equal(error.message, 'Workflow execution cancelled');
    assert.ok(error.cause instanceof CancelledFailure);
    assert.equal((await eventNames(handle)).at(-1), 'WORKFLOW_EXECUTION_CANCELED');
    assert.equal((await handle.describe()).status.name, 'CANCELLED');
  });

  test('lets a workflow clean up', async () => {
    const handle = await world.start('cleansUp', ['Ada']);
    await handle.cancel();
    const error = await failure(handle.result());
    assert.ok(error.cause instanceof CancelledFailure);
    assert.equal((await eventsNamed(handle, 'ACTIVITY_TASK_COMPLETED')).length, 1);
  });

  test('asked for twice is one request', async () => {
    const handle = await world.start('ignoresCancel');
    await handle.cancel();
    await handle.cancel();
    await handle.signal('stop');
    assert.equal(await handle.result(), 'not cancelled');
    assert.equal((await eventsNamed(handle, 'WORKFLOW_EXECUTION_CANCEL_REQUESTED')).length, 1);
    await handle.cancel();
  });

  test('of no workflow', async () => {
    const error = await failure(world.client.workflow.getHandle('no such id').cancel());
    assert.ok(error instanceof WorkflowNotFoundError);
  });
});

describe('termination', { concurrency: 16, timeout: 120_000 }, () => {
  test('ends a workflow at once, with the reason', async () => {
    const handle = await world.start('forever');
    await handle.query('seen');
    await handle.terminate('enough of this');
    const error = await failure(handle.result());
    assert.ok(error instanceof WorkflowFailedError);
    assert.equal(error.message, 'enough of this');
    assert.ok(error.cause instanceof TerminatedFailure);
    assert.equal((await eventNames(handle)).at(-1), 'WORKFLOW_EXECUTION_TERMINATED');
    assert.equal((await handle.describe()).status.name, 'TERMINATED');
  });

  test('of a closed workflow, and a signal to it', async () => {
    const handle = await world.start('pause', [1]);
    await handle.result();
    for (const call of [handle.terminate('late'), handle.signal('add', 1)]) {
      const error = await failure(call);
      assert.ok(error instanceof WorkflowNotFoundError, String(error));
      assert.equal(error.message, COMPLETED_TEXT);
    }
  });

  test('while a task is running', async () => {
    const handle = await world.start('collectBehindGate');
    await handle.signal('stop');
    await arrived.wait(handle.workflowId);
    await handle.terminate('now');
    opened.ring(handle.workflowId);
    assert.equal((await failure(handle.result())).message, 'now');
    assert.deepEqual((await eventNames(handle)).slice(-2), ['WORKFLOW_TASK_FAILED', 'WORKFLOW_EXECUTION_TERMINATED']);
  });

  test('of no workflow', async () => {
    const error = await failure(world.client.workflow.getHandle('no such id').terminate());
    assert.ok(error instanceof WorkflowNotFoundError);
  });
});

replayAll(world);
