// Workflow ids and request ids; what describe and the history say of a run.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import proto from '@temporalio/proto';
import { eventName, eventNames } from './lib/history.mjs';
import { connect } from './lib/worker.mjs';
import { failure, openWorld, replayAll } from './lib/world.mjs';

const { HistoryEventFilterType, TaskQueueKind } = proto.temporal.api.enums.v1;
const { WorkflowExecutionAlreadyStartedFailure } = proto.temporal.api.errordetails.v1;
const CLOSE_EVENT = HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
const namespace = 'default';
const world = openWorld();

function rawStart(workflowId, requestId, more = {}) {
  return {
    namespace,
    workflowId,
    requestId,
    workflowType: { name: 'hello' },
    taskQueue: { name: world.taskQueue, kind: TaskQueueKind.TASK_QUEUE_KIND_NORMAL },
    input: { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"Ada"') }] },
    ...more,
  };
}

describe('workflow ids', { concurrency: 16, timeout: 120_000 }, () => {
  async function assertRefused(type, options) {
    const error = await failure(world.start(type, [1], options));
    assert.ok(error instanceof WorkflowExecutionAlreadyStartedError, String(error));
    assert.equal(error.workflowId, options.workflowId);
    assert.equal(error.workflowType, type);
  }

  test('of a running workflow are taken', async () => {
    const handle = await world.start('forever');
    const { workflowId } = handle;
    await assertRefused('pause', { workflowId });
    for (const workflowIdReusePolicy of ['ALLOW_DUPLICATE', 'ALLOW_DUPLICATE_FAILED_ONLY', 'REJECT_DUPLICATE']) {
      await assertRefused('pause', { workflowId, workflowIdReusePolicy });
    }
    await handle.terminate();
  });

  test('that are taken say by whom', async () => {
    const workflowId = `taken-${randomUUID()}`;
    const requestId = randomUUID();
    const { runId } = await world.service.startWorkflowExecution(
      rawStart(workflowId, requestId, { workflowType: { name: 'forever' } })
    );
    const error = await failure(world.service.startWorkflowExecution(rawStart(workflowId, randomUUID())));
    assert.equal(error.code, status.ALREADY_EXISTS);
    assert.equal(error.details, `Workflow execution is already running. WorkflowId: ${workflowId}, RunId: ${runId}.`);
    const { details } = proto.google.rpc.Status.decode(error.metadata.get('grpc-status-details-bin')[0]);
    assert.match(details[0].type_url, /\/temporal\.api\.errordetails\.v1\.WorkflowExecutionAlreadyStartedFailure$/);
    const detail = WorkflowExecutionAlreadyStartedFailure.decode(details[0].value);
    assert.equal(detail.runId, runId);
    assert.equal(detail.startRequestId, requestId);
    await world.client.workflow.getHandle(workflowId).terminate();
  });

  test('of a completed workflow', async () => {
    const first = await world.start('pause', [1]);
    const { workflowId } = first;
    await first.result();
    await assertRefused('pause', { workflowId, workflowIdReusePolicy: 'REJECT_DUPLICATE' });
    await assertRefused('pause', { workflowId, workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' });
    const second = await world.start('pause', [1], { workflowId, workflowIdReusePolicy: 'ALLOW_DUPLICATE' });
    assert.notEqual(second.firstExecutionRunId, first.firstExecutionRunId);
    assert.equal(await second.result(), 'slept');
    const current = await world.client.workflow.getHandle(workflowId).describe();
    assert.equal(current.runId, second.firstExecutionRunId);
    const past = await world.client.workflow.getHandle(workflowId, first.firstExecutionRunId).describe();
    assert.equal(past.status.name, 'COMPLETED');
  });

  for (const ending of ['failed', 'terminated', 'cancelled']) {
    test(`of a ${ending} workflow`, async () => {
      const first = await world.start(ending === 'failed' ? 'fails' : 'pause', [3_600_000]);
      if (ending === 'terminated') await first.terminate();
      if (ending === 'cancelled') await first.cancel();
      await failure(first.result());
      const { workflowId } = first;
      await assertRefused('pause', { workflowId, workflowIdReusePolicy: 'REJECT_DUPLICATE' });
      const workflowIdReusePolicy = 'ALLOW_DUPLICATE_FAILED_ONLY';
      assert.equal(await world.execute('pause', [1], { workflowId, workflowIdReusePolicy }), 'slept');
    });
  }

  test('of a running workflow, when the caller wants that one', async () => {
    const handle = await world.start('collect');
    const { workflowId } = handle;
    const same = await world.start('collect', [], { workflowId, workflowIdConflictPolicy: 'USE_EXISTING' });
    assert.equal(same.firstExecutionRunId, handle.firstExecutionRunId);
    await same.signal('stop');
    assert.deepEqual(await handle.result(), []);
  });

  test('of a running workflow, when the caller wants it replaced', async () => {
    const first = await world.start('forever');
    const { workflowId } = first;
    const second = await world.start('pause', [1], { workflowId, workflowIdConflictPolicy: 'TERMINATE_EXISTING' });
    assert.equal(await second.result(), 'slept');
    const old = world.client.workflow.getHandle(workflowId, first.firstExecutionRunId);
    assert.equal((await old.describe()).status.name, 'TERMINATED');
  });

  test('started by many at once: one of them wins', async () => {
    const workflowId = `contested-${randomUUID()}`;
    const starts = Array.from({ length: 20 }, () => world.start('forever', [], { workflowId }));
    const outcomes = await Promise.allSettled(starts);
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const { reason } of outcomes.filter(({ status }) => status === 'rejected')) {
      assert.ok(reason instanceof WorkflowExecutionAlreadyStartedError, String(reason));
    }
    await world.client.workflow.getHandle(workflowId).terminate();
  });
});

describe('request ids', { concurrency: 16, timeout: 120_000 }, () => {
  test('make a repeated start the same start', async () => {
    const request = rawStart(`repeated-${randomUUID()}`, randomUUID());
    const first = await world.service.startWorkflowExecution(request);
    const again = await world.service.startWorkflowExecution(request);
    assert.equal(again.runId, first.runId);
    assert.equal(again.started, true);
    const handle = world.client.workflow.getHandle(request.workflowId);
    assert.equal(await handle.result(), 'Hello, Ada!');
    // Also when the workflow has ended since.
    const late = await world.service.startWorkflowExecution(request);
    assert.equal(late.runId, first.runId);
  });

  test('at the same moment', async () => {
    const request = rawStart(`repeated-${randomUUID()}`, randomUUID());
    const calls = Array.from({ length: 20 }, () => world.service.startWorkflowExecution(request));
    const runIds = new Set((await Promise.all(calls)).map(({ runId }) => runId));
    assert.equal(runIds.size, 1);
    await world.client.workflow.getHandle(request.workflowId).result();
  });
});

describe('describe', { concurrency: 16, timeout: 120_000 }, () => {
  test('a running workflow', async () => {
    const before = Date.now();
    const handle = await world.start('forever', [], {
      memo: { note: 'remember' },
      workflowExecutionTimeout: '2h',
      workflowRunTimeout: '1h',
      workflowTaskTimeout: '7s',
    });
    await handle.query('seen');
    const info = await handle.describe();
    assert.equal(info.workflowId, handle.workflowId);
    assert.equal(info.runId, handle.firstExecutionRunId);
    assert.equal(info.type, 'forever');
    assert.equal(info.taskQueue, world.taskQueue);
    assert.equal(info.status.name, 'RUNNING');
    assert.equal(info.historyLength, (await eventNames(handle)).length);
    assert.ok(info.historySize > 0);
    assert.deepEqual(info.memo, { note: 'remember' });
    assert.ok(Math.abs(info.startTime.getTime() - before) < 60_000);
    assert.equal(info.executionTime.getTime(), info.startTime.getTime());
    assert.equal(info.closeTime, undefined);
    assert.equal(info.parentExecution, undefined);
    const { executionConfig } = info.raw;
    assert.equal(executionConfig.taskQueue.name, world.taskQueue);
    assert.equal(Number(executionConfig.workflowExecutionTimeout.seconds), 7200);
    assert.equal(Number(executionConfig.workflowRunTimeout.seconds), 3600);
    assert.equal(Number(executionConfig.defaultWorkflowTaskTimeout.seconds), 7);
    await handle.terminate();
  });

  test('a workflow that no worker has touched', async () => {
    const handle = await world.start('forever', [], { taskQueue: `nobody-${randomUUID()}` });
    const info = await handle.describe();
    assert.equal(info.historyLength, 2);
    assert.equal(info.raw.pendingWorkflowTask.attempt, 1);
    await handle.terminate();
  });

  test('a closed workflow', async () => {
    const handle = await world.start('pause', [50]);
    await handle.result();
    const info = await handle.describe();
    assert.equal(info.status.name, 'COMPLETED');
    assert.ok(info.closeTime.getTime() - info.startTime.getTime() >= 50);
    assert.equal(info.historyLength, (await eventNames(handle)).length);
  });

  test('no workflow', async () => {
    const error = await failure(world.client.workflow.getHandle('no such id').describe());
    assert.ok(error instanceof WorkflowNotFoundError);
    const stranger = world.client.workflow.getHandle('no such id', randomUUID());
    assert.ok((await failure(stranger.describe())) instanceof WorkflowNotFoundError);
  });
});

describe('history', { concurrency: 16, timeout: 120_000 }, () => {
  // `between` is called after each page that is not the last.
  async function pages(request, between = () => undefined) {
    const found = [];
    let nextPageToken;
    for (;;) {
      const page = await world.service.getWorkflowExecutionHistory({ namespace, ...request, nextPageToken });
      found.push(page.history.events);
      ({ nextPageToken } = page);
      if (!nextPageToken?.length) return found;
      await between();
    }
  }

  test('of more events than a page holds', async () => {
    const taskQueue = `late-${randomUUID()}`;
    const handle = await world.start('collect', [], { taskQueue });
    const values = Array.from({ length: 400 }, (_, index) => index);
    for (const value of values) await handle.signal('add', value);
    await handle.signal('stop');
    // This worker meets a first task whose history does not fit in one page.
    await world.withWorker(taskQueue, async () => assert.deepEqual(await handle.result(), values));

    const all = (await handle.fetchHistory()).events;
    assert.equal(all.length, 400 + 6);
    const small = await pages({ execution: { workflowId: handle.workflowId }, maximumPageSize: 7 });
    assert.ok(small.length > 10, `${small.length} pages`);
    assert.deepEqual(small.flat(), all);
  });

  test('followed while it is written', async () => {
    const handle = await world.start('collect');
    const execution = { workflowId: handle.workflowId, runId: handle.firstExecutionRunId };
    const signals = ['add', 'add', 'stop'];
    const followed = await pages({ execution, waitNewEvent: true }, async () => {
      const signal = signals.shift();
      if (signal) await handle.signal(signal, 1);
    });
    assert.ok(followed.length > 3);
    assert.equal(eventName(followed.flat().at(-1)), 'WORKFLOW_EXECUTION_COMPLETED');
    assert.deepEqual(followed.flat(), (await handle.fetchHistory()).events);
  });

  test('its closing event alone', async () => {
    const handle = await world.start('collect');
    const request = { namespace, execution: { workflowId: handle.workflowId }, historyEventFilterType: CLOSE_EVENT };
    const open = await world.service.getWorkflowExecutionHistory(request);
    assert.equal(open.history.events.length, 0);
    assert.equal(open.nextPageToken.length, 0);
    const waiting = pages({ ...request, waitNewEvent: true });
    await handle.signal('stop');
    const closed = (await waiting).flat();
    assert.deepEqual(closed.map(eventName), ['WORKFLOW_EXECUTION_COMPLETED']);
  });

  test('of the run that is named', async () => {
    const first = await world.start('pause', [1]);
    await first.result();
    const { workflowId } = first;
    await world.execute('hello', ['Ada'], { workflowId });
    const runId = first.firstExecutionRunId;
    const { events } = await world.client.workflow.getHandle(workflowId, runId).fetchHistory();
    assert.equal(events[0].workflowExecutionStartedEventAttributes.workflowType.name, 'pause');
    const current = await world.client.workflow.getHandle(workflowId).fetchHistory();
    assert.equal(current.events[0].workflowExecutionStartedEventAttributes.workflowType.name, 'hello');
  });

  test('that is not there, or asked for badly', async () => {
    const gone = await failure(world.client.workflow.getHandle('no such id').fetchHistory());
    assert.ok(gone instanceof WorkflowNotFoundError || gone.code === status.NOT_FOUND, String(gone));
    const execution = { workflowId: 'any', runId: 'not a uuid' };
    const bad = await failure(world.service.getWorkflowExecutionHistory({ namespace, execution }));
    assert.equal(bad.code, status.INVALID_ARGUMENT);
    assert.equal(bad.details, 'Invalid RunId.');
  });

  test('keeps what the SDK wrote down about itself', async () => {
    const handle = await world.start('hello', ['Ada']);
    await handle.result();
    const { events } = await handle.fetchHistory();
    const { sdkMetadata, identity } = events[3].workflowTaskCompletedEventAttributes;
    assert.equal(sdkMetadata.sdkName, 'temporal-typescript');
    assert.ok(sdkMetadata.coreUsedFlags.length > 0);
    assert.ok(identity.length > 0);
  });
});

describe('bad requests', { concurrency: 16, timeout: 120_000 }, () => {
  for (const [what, change] of [
    ['workflow id', { workflowId: '' }],
    ['workflow type', { workflowType: { name: '' } }],
    ['task queue', { taskQueue: { name: '' } }],
  ]) {
    test(`a start without ${what}`, async () => {
      const client = await connect(world.server, world.runs, { retries: false });
      const request = { ...rawStart(`bad-${randomUUID()}`, randomUUID()), ...change };
      const error = await failure(client.workflowService.startWorkflowExecution(request));
      assert.equal(error.code, status.INVALID_ARGUMENT, error.message);
      await client.connection.close();
    });
  }
});

replayAll(world);
