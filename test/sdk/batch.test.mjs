// Batch jobs: one operation on many executions, by a query or a list, with progress, stop, describe and list.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { eventsNamed } from './lib/history.mjs';
import { connectOwn } from './lib/own.mjs';
import { eventually, failure, inNewWorld, openWorld, replayAll } from './lib/world.mjs';

const { BatchOperationState: State, BatchOperationType: Type, ExecutionType, ResetType } = proto.temporal.api.enums.v1;
const namespace = 'default';
const IDLE = 'batch-idle'; // nobody polls it
const upTo = (count) => Array.from({ length: count }, (_, index) => index);
const json = (value) => ({
  payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) }],
});

const world = openWorld();

async function describeJob(jobId, service = world.service) {
  return await service.describeBatchOperation({ namespace, jobId });
}

async function begin(request, service = world.service) {
  const jobId = `job-${randomUUID()}`;
  await service.startBatchOperation({ namespace, jobId, reason: 'spring cleaning', ...request });
  return jobId;
}

async function end(jobId, service = world.service) {
  return await eventually(async () => {
    const job = await describeJob(jobId, service);
    return job.state !== State.BATCH_OPERATION_STATE_RUNNING && job;
  });
}

async function run(request) {
  const job = await end(await begin(request));
  assert.equal(job.state, State.BATCH_OPERATION_STATE_COMPLETED);
  return job;
}

function counts(job) {
  return [job.totalOperationCount, job.completeOperationCount, job.failureOperationCount].map((n) => Number(n ?? 0));
}

// So many open workflows that a query of its own finds.
async function crowd(count, type = 'collect', args = [], options = {}) {
  const key = randomUUID();
  const handles = [];
  for (const i of upTo(count)) handles.push(await world.start(type, args, { workflowId: `${key}-${i}`, ...options }));
  if (options.taskQueue === IDLE) for (const h of handles) world.runs.noted.delete(h.firstExecutionRunId);
  return { handles, query: `WorkflowId STARTS_WITH '${key}-'` };
}

async function statuses(handles) {
  const all = await Promise.all(handles.map(async (h) => (await h.describe()).status.name));
  return [...new Set(all)];
}

async function refuses(request, code, text) {
  const error = await failure(begin(request));
  assert.equal(error.code, code, String(error));
  assert.match(error.details, text);
}

describe('batch jobs over workflows', { timeout: 300_000 }, () => {
  test('terminate what a query finds, and nothing else', async () => {
    const { handles, query } = await crowd(25, 'forever', [], { taskQueue: IDLE });
    const [other] = (await crowd(1, 'forever', [], { taskQueue: IDLE })).handles;
    await handles[0].terminate('before');
    const job = await run({ visibilityQuery: query, terminationOperation: { identity: 'me', details: json('why') } });
    assert.deepEqual(counts(job), [24, 24, 0]);
    assert.equal(job.operationType, Type.BATCH_OPERATION_TYPE_TERMINATE_WORKFLOW);
    assert.deepEqual([job.identity, job.reason, job.query], ['me', 'spring cleaning', query]);
    assert.ok(Number(job.closeTime.seconds) >= Number(job.startTime.seconds));
    assert.deepEqual(await statuses(handles), ['TERMINATED']);
    assert.deepEqual(await statuses([other]), ['RUNNING']);
    const [event] = await eventsNamed(handles[7], 'WORKFLOW_EXECUTION_TERMINATED');
    const { reason, identity, details } = event.workflowExecutionTerminatedEventAttributes;
    assert.deepEqual([reason, identity, details.payloads.length], ['spring cleaning', 'me', 1]);
    await other.terminate();
  });

  test('cancel what a list names; what is not there is no failure', async () => {
    const { handles } = await crowd(3, 'forever');
    const executions = [...handles.map((h) => ({ workflowId: h.workflowId })), { workflowId: 'nobody' }];
    const job = await run({ executions, cancellationOperation: { identity: 'me' } });
    assert.deepEqual(counts(job), [4, 4, 0]);
    assert.deepEqual(job.executions.map((e) => e.businessId), executions.map((e) => e.workflowId));
    for (const h of handles) await failure(h.result());
    assert.deepEqual(await statuses(handles), ['CANCELLED']);
  });

  test('signal each once, with its input and header', async () => {
    const { handles, query } = await crowd(10);
    const job = await run({ visibilityQuery: query, signalOperation: { signal: 'add', input: json('x'), identity: 'me' } });
    assert.deepEqual(counts(job), [10, 10, 0]);
    for (const h of handles) {
      await h.signal('stop');
      assert.deepEqual(await h.result(), ['x']);
    }
  });

  test('take target executions with their run ids', async () => {
    const { handles } = await crowd(2);
    const targetExecutions = handles.map((h) => ({
      type: ExecutionType.EXECUTION_TYPE_WORKFLOW,
      businessId: h.workflowId,
      runId: h.firstExecutionRunId,
    }));
    assert.deepEqual(counts(await run({ targetExecutions, signalOperation: { signal: 'stop' } })), [2, 2, 0]);
    for (const h of handles) assert.deepEqual(await h.result(), []);
  });

  test('delete open and closed ones', async () => {
    const { handles, query } = await crowd(12, 'forever', [], { taskQueue: IDLE });
    for (const h of handles.slice(6)) await h.terminate();
    assert.deepEqual(counts(await run({ visibilityQuery: query, deletionOperation: {} })), [12, 12, 0]);
    assert.equal((await world.client.workflow.count(query)).count, 0);
    for (const h of handles) assert.equal((await failure(h.describe())).name, 'WorkflowNotFoundError');
  });

  describe('reset', () => {
    const resetTo = async (query, resetOperation) => await run({ visibilityQuery: query, resetOperation });
    const current = (handle) => world.client.workflow.getHandle(handle.workflowId);
    async function noteCurrent(handles) {
      for (const h of handles) world.runs.note(h.workflowId, (await current(h).describe()).runId);
    }

    test('closed ones to their first task: they run again, and only once', async () => {
      const { handles, query } = await crowd(5, 'hello', ['Ada']);
      for (const h of handles) await h.result();
      const job = await resetTo(query, { options: { firstWorkflowTask: {} }, identity: 'me' });
      assert.deepEqual(counts(job), [5, 5, 0]);
      for (const h of handles) assert.equal(await current(h).result(), 'Hello, Ada!');
      assert.equal((await world.client.workflow.count(query)).count, 10);
      await noteCurrent(handles);
    });

    test('open ones to their last task; signals come along unless they are excluded', async () => {
      for (const [exclude, seen] of [[[], ['x']], [[1], []]]) {
        const { handles, query } = await crowd(3);
        for (const h of handles) {
          await eventually(async () => (await eventsNamed(h, 'WORKFLOW_TASK_COMPLETED')).length > 0);
          await h.signal('add', 'x');
          await h.query('seen');
        }
        const options = { workflowTaskId: 4, resetReapplyExcludeTypes: exclude };
        const before = exclude.length ? options : { ...options, workflowTaskId: undefined, firstWorkflowTask: {} };
        assert.deepEqual(counts(await resetTo(query, { options: before })), [3, 3, 0]);
        assert.deepEqual(await statuses(handles.map((h) => world.client.workflow.getHandle(h.workflowId, h.firstExecutionRunId))), ['TERMINATED']);
        await noteCurrent(handles);
        for (const h of handles) {
          await current(h).signal('stop');
          assert.deepEqual(await current(h).result(), seen);
        }
      }
    });

    test('by the older fields, and to a build', async () => {
      const { handles, query } = await crowd(2, 'hello', ['Ada']);
      for (const h of handles) await h.result();
      const job = await resetTo(query, { resetType: ResetType.RESET_TYPE_LAST_WORKFLOW_TASK });
      assert.deepEqual(counts(job), [2, 2, 0]);
      for (const h of handles) assert.equal(await current(h).result(), 'Hello, Ada!');
      await noteCurrent(handles);
      const [completed] = await eventsNamed(handles[0], 'WORKFLOW_TASK_COMPLETED');
      const { workerVersion, binaryChecksum } = completed.workflowTaskCompletedEventAttributes;
      const buildId = workerVersion?.buildId || binaryChecksum;
      assert.ok(buildId);
      const first = `${query} AND RunId = '${handles[0].firstExecutionRunId}'`;
      assert.deepEqual(counts(await resetTo(first, { options: { buildId } })), [1, 1, 0]);
      assert.equal(await current(handles[0]).result(), 'Hello, Ada!');
      await noteCurrent(handles);
      assert.deepEqual(counts(await resetTo(first, { options: { buildId: 'never' } })), [1, 0, 1]);
    });

    test('a build that an earlier run of the chain used', async () => {
      const handle = await world.start('countdown', [2]);
      await handle.result();
      await noteCurrent([handle]);
      const [completed] = await eventsNamed(handle, 'WORKFLOW_TASK_COMPLETED');
      const { workerVersion, binaryChecksum } = completed.workflowTaskCompletedEventAttributes;
      const buildId = workerVersion?.buildId || binaryChecksum;
      const executions = [{ workflowId: handle.workflowId }];
      assert.deepEqual(counts(await run({ executions, resetOperation: { options: { buildId } } })), [1, 1, 0]);
      const [failed] = await eventually(async () => {
        const events = await eventsNamed(current(handle), 'WORKFLOW_TASK_FAILED').catch(() => []);
        return (events.length && events) || (await chainOf(handle)).find((found) => found);
      });
      assert.equal(failed.workflowTaskFailedEventAttributes.baseRunId, handle.firstExecutionRunId);
      await current(handle).result();
    });

    // The reset's mark in any run of the workflow id.
    async function chainOf(handle) {
      const marks = [];
      for await (const each of world.client.workflow.list({ query: `WorkflowId = '${handle.workflowId}'` })) {
        world.runs.note(each.workflowId, each.runId);
        const events = await eventsNamed(world.client.workflow.getHandle(each.workflowId, each.runId), 'WORKFLOW_TASK_FAILED');
        if (events.length) marks.push(events);
      }
      return marks;
    }
  });

  test('update the options of workflows', async () => {
    const { handles, query } = await crowd(4, 'forever', [], { taskQueue: IDLE });
    const updateWorkflowOptionsOperation = {
      workflowExecutionOptions: { priority: { priorityKey: 2 } },
      updateMask: { paths: ['priority'] },
    };
    assert.deepEqual(counts(await run({ visibilityQuery: query, updateWorkflowOptionsOperation })), [4, 4, 0]);
    for (const h of handles) {
      const { executionConfig, workflowExtendedInfo, workflowExecutionInfo } = (await h.describe()).raw;
      assert.equal(workflowExecutionInfo.priority?.priorityKey, 2, JSON.stringify({ executionConfig, workflowExtendedInfo }));
      await h.terminate();
    }
  });

  test('unpause, reset and change activities', async () => {
    const { handles, query } = await crowd(3, 'activity', ['greet', { taskQueue: IDLE, startToCloseTimeout: '1h' }, 'Ada']);
    const pending = async (h) => (await h.describe()).raw.pendingActivities[0];
    for (const h of handles) {
      await eventually(() => pending(h));
      const execution = { workflowId: h.workflowId };
      await world.service.pauseActivity({ namespace, execution, type: 'greet', identity: 'me' });
      assert.ok((await pending(h)).paused);
    }
    const visibilityQuery = query;
    await run({ visibilityQuery, resetActivitiesOperation: { matchAll: true, keepPaused: true } });
    for (const h of handles) assert.ok((await pending(h)).paused);
    await run({ visibilityQuery, unpauseActivitiesOperation: { type: 'greet' } });
    for (const h of handles) assert.ok(!(await pending(h)).paused);
    const updateActivityOptionsOperation = {
      type: 'greet',
      activityOptions: { taskQueue: { name: world.taskQueue } },
      updateMask: { paths: ['task_queue.name'] },
    };
    assert.deepEqual(counts(await run({ visibilityQuery, updateActivityOptionsOperation })), [3, 3, 0]);
    for (const h of handles) assert.equal(await h.result(), 'Hello, Ada!');
  });

  test('a target that refuses is a failure, and the others go on', async () => {
    const { handles, query } = await crowd(3, 'forever', [], { taskQueue: IDLE });
    const executions = handles.map((h) => ({ workflowId: h.workflowId }));
    const job = await run({ executions, resetOperation: { options: { workflowTaskId: 77 } } });
    assert.deepEqual(counts(job), [3, 0, 3]);
    await run({ visibilityQuery: query, terminationOperation: {} });
    assert.deepEqual(await statuses(handles), ['TERMINATED']);
  });
});

describe('a job', { timeout: 300_000 }, () => {
  test('keeps to its rate, shows its progress, is the only one, and is stopped', async () => {
    const { handles, query } = await crowd(30, 'forever', [], { taskQueue: IDLE });
    const terminationOperation = {};
    const jobId = await begin({ visibilityQuery: query, terminationOperation, maxOperationsPerSecond: 1 });
    const half = await eventually(async () => {
      const job = await describeJob(jobId);
      return Number(job.completeOperationCount) >= 3 && job;
    });
    assert.equal(half.state, State.BATCH_OPERATION_STATE_RUNNING);
    assert.equal(Number(half.totalOperationCount), 30);
    assert.equal(half.closeTime, null);
    assert.equal(half.query, query);
    const raw = world.client.connection.withDeadline.bind(world.client.connection, Date.now() + 1000);
    const busy = await failure(raw(() => begin({ visibilityQuery: query, terminationOperation })));
    assert.match(String(busy), /Max concurrent batch operations is reached|DEADLINE_EXCEEDED/);

    await world.service.stopBatchOperation({ namespace, jobId, reason: 'enough', identity: 'me' });
    const stopped = await describeJob(jobId);
    assert.equal(stopped.state, State.BATCH_OPERATION_STATE_FAILED);
    assert.ok(stopped.closeTime);
    const done = Number(stopped.completeOperationCount);
    assert.ok(done < 30, `${done}`);
    assert.equal((await world.client.workflow.count(`${query} AND ExecutionStatus = 'Running'`)).count, 30 - done);
    const again = await failure(world.service.stopBatchOperation({ namespace, jobId, reason: 'enough' }));
    assert.equal(again.code, status.NOT_FOUND);
    await run({ visibilityQuery: query, terminationOperation });
    assert.deepEqual(await statuses(handles), ['TERMINATED']);
  });

  test('is listed, page by page, and is no workflow', async () => {
    const jobs = [];
    for (const _ of upTo(3)) {
      const jobId = await begin({ executions: [{ workflowId: 'nobody' }], terminationOperation: {} });
      await end(jobId);
      jobs.unshift(jobId);
    }
    const found = [];
    for (let nextPageToken; ; ) {
      const page = await world.service.listBatchOperations({ namespace, pageSize: 2, nextPageToken });
      assert.ok(page.operationInfo.length <= 2);
      found.push(...page.operationInfo);
      nextPageToken = page.nextPageToken;
      if (!nextPageToken?.length) break;
    }
    assert.deepEqual(found.slice(0, 3).map((each) => each.jobId), jobs);
    for (const each of found) {
      assert.ok(each.startTime && each.closeTime);
      assert.ok(each.operationType);
    }
    assert.equal((await world.client.workflow.count(`TemporalNamespaceDivision = 'TemporalBatcher'`)).count, 0);
  });

  test('with the id of another is refused', async () => {
    const request = { executions: [{ workflowId: 'nobody' }], terminationOperation: {} };
    const jobId = await begin(request);
    await end(jobId);
    await refuses({ ...request, jobId }, status.ALREADY_EXISTS, /exists already/);
    const lost = await failure(describeJob('no-such-job'));
    assert.equal(lost.code, status.NOT_FOUND);
  });

  test('can be started, described, listed and stopped over HTTP', async () => {
    const jobs = `http://127.0.0.1:${world.server.httpPort}/api/v1/namespaces/${namespace}/batch-operations`;
    const send = async (path, body) => {
      const init = body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
      const answer = await fetch(jobs + path, init);
      return [answer.status, await answer.json()];
    };
    const jobId = `http-${randomUUID()}`;
    const request = { reason: 'r', visibilityQuery: "WorkflowId = 'nobody'", signalOperation: { signal: 's' } };
    assert.deepEqual(await send(`/${jobId}`, request), [200, {}]);
    await end(jobId);
    const [code, job] = await send(`/${jobId}`);
    assert.equal(code, 200);
    assert.equal(job.state, 'BATCH_OPERATION_STATE_COMPLETED');
    const [, { operationInfo }] = await send('');
    assert.ok(operationInfo.some((each) => each.jobId === jobId));
    assert.equal((await send(`/${jobId}/stop`, { reason: 'r' }))[0], 404);
  });

  test('that asks for nothing sensible is refused', async () => {
    const { INVALID_ARGUMENT } = status;
    const executions = [{ workflowId: 'nobody' }];
    const terminationOperation = {};
    await refuses({ visibilityQuery: 'Nope = 1', terminationOperation }, INVALID_ARGUMENT, /invalid query.*Nope/);
    await refuses({ visibilityQuery: "GROUP BY ExecutionStatus", terminationOperation }, INVALID_ARGUMENT, /GROUP BY/);
    await refuses({ executions, visibilityQuery: 'x', terminationOperation }, INVALID_ARGUMENT, /mutually exclusive/);
    await refuses({ executions, cancelActivitiesOperation: {} }, INVALID_ARGUMENT, /standalone activities/);
    await refuses({ executions: upTo(1001).map(() => executions[0]), terminationOperation }, INVALID_ARGUMENT, /at most 1000/);
    await refuses({ targetExecutions: [{ type: 2, businessId: 'a' }], terminationOperation }, INVALID_ARGUMENT, /type 2/);
  });
});

describe('batch jobs over schedules', { timeout: 120_000 }, () => {
  let own;
  before(() => (own = connectOwn(world.server)));
  after(() => own.close());

  test('pause, resume and delete what a query or a list names', async () => {
    const key = randomUUID();
    const handles = [];
    for (const i of upTo(7)) {
      const action = { type: 'startWorkflow', workflowType: 'hello', args: ['Ada'], taskQueue: world.taskQueue };
      const spec = { intervals: [{ every: '30 days' }] };
      handles.push(await world.client.schedule.create({ scheduleId: `${key}-${i}`, spec, action }));
    }
    const service = {
      ...own.workflows,
      describeBatchOperation: async (request) => {
        const job = await own.workflows.describeBatchOperation(request);
        return { ...job, state: State[job.state] };
      },
    };
    const job = async (request) => await end(await begin(request, service), service);
    const paused = async () => (await Promise.all(handles.map((h) => h.describe()))).map((d) => d.state.paused);
    const visibilityQuery = `ScheduleId STARTS_WITH '${key}-'`;

    const pausing = await job({ visibilityQuery, pauseSchedulesOperation: { identity: 'me', note: 'a holiday' } });
    assert.deepEqual(counts(pausing), [7, 7, 0]);
    assert.equal(pausing.operationType, 'BATCH_OPERATION_TYPE_PAUSE_SCHEDULE');
    assert.deepEqual(await paused(), handles.map(() => true));
    assert.equal((await handles[3].describe()).state.note, 'a holiday');

    const targetExecutions = handles.slice(0, 3).map((h) => ({ type: 'EXECUTION_TYPE_SCHEDULE', businessId: h.scheduleId }));
    const resuming = await job({ targetExecutions, unpauseSchedulesOperation: {} });
    assert.deepEqual(counts(resuming), [3, 3, 0]);
    assert.deepEqual(await paused(), [false, false, false, true, true, true, true]);
    assert.equal((await handles[0].describe()).state.note, 'spring cleaning');

    const deleting = await job({ visibilityQuery: `${visibilityQuery} AND TemporalSchedulePaused = true`, deleteSchedulesOperation: {} });
    assert.deepEqual(counts(deleting), [4, 4, 0]);
    assert.equal((await failure(handles[5].describe())).name, 'ScheduleNotFoundError');
    await handles[0].describe();
    await job({ visibilityQuery, deleteSchedulesOperation: {} });
  });
});

describe('the server is killed in the middle', { timeout: 300_000 }, () => {
  for (const [name, operation, ended] of [
    ['of signals', { signalOperation: { signal: 'add', input: json('x') } }],
    ['of deletions', { deletionOperation: {} }, true],
  ])
    test(`${name}: each target is changed exactly once`, async () => {
      await inNewWorld(async (w) => {
        const handles = [];
        for (const i of upTo(40)) handles.push(await w.start('collect', [], { workflowId: `c-${i}` }));
        const request = { visibilityQuery: "WorkflowType = 'collect'", maxOperationsPerSecond: 40, ...operation };
        const jobId = await begin(request, w.service);
        const done = async () => Number((await describeJob(jobId, w.service)).completeOperationCount);
        for (const least of [5, 15]) {
          await eventually(async () => (await done().catch(() => 0)) >= least);
          await w.server.killAndRestart();
        }
        const job = await eventually(async () => await end(jobId, w.service).catch(() => undefined));
        assert.equal(job.state, State.BATCH_OPERATION_STATE_COMPLETED);
        assert.deepEqual(counts(job), [40, 40, 0]);
        for (const h of handles) {
          if (ended) {
            assert.equal((await failure(h.describe())).name, 'WorkflowNotFoundError');
            w.runs.noted.delete(h.firstExecutionRunId);
          } else {
            await h.signal('stop');
            assert.deepEqual(await h.result(), ['x']);
            assert.equal((await eventsNamed(h, 'WORKFLOW_EXECUTION_SIGNALED')).length, 2);
          }
        }
        if (ended) await w.execute('hello', ['Ada']);
      });
    });
});

replayAll(world);
