// Names that are used once: task queues, workers, sticky queues, namespaces, workflows. What a server keeps of them
// goes away again, so that its memory stays flat.
//
// The short form runs the build with tiny limits, in which a queue is forgotten after a second and a half; there it
// meets every limit on the way, too. The long form runs the release binary for an hour.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NAMESPACE, openConnection, seconds, startRequest, uniqueId } from './lib/client.mjs';
import { TINY_BINARY } from './lib/limits.mjs';
import { BINARY, isLong, pick, readMetric, sleep, until, withProcess } from './lib/process.mjs';
import { completeTask, completeWorkflow, pollRequest, takeTask } from './lib/tasks.mjs';

const WARM_MS = pick(5_000, 900_000);
const RUN_MS = pick(10_000, 3_600_000);
const EMPTY_MS = pick(30_000, 900_000); // ends what hangs
const AT_ONCE = 8;
const POLL_MS = 1050; // a poll is answered a second before its caller's deadline
const GROWTH = 1.1; // of resident memory between the end of the warm-up and the end
const SLACK_BYTES = 4 << 20; // pages of the allocator
const CACHE_BYTES = 48 << 20; // more than the store's page cache has
const RESOURCE_EXHAUSTED = 8;
const DEADLINE_EXCEEDED = 4;

// A refusal for want of a place is no failure here: a name that is refused is used up all the same.
async function mayBeRefused(promise, counts) {
  try {
    return await promise;
  } catch (error) {
    if (error.code !== RESOURCE_EXHAUSTED && error.code !== DEADLINE_EXCEEDED) throw error;
    counts.refused++;
    return undefined;
  }
}

// A worker that comes once: its queues, its sticky queue and its heartbeat have names of their own.
async function worker(connection, counts) {
  const { workflowService: service } = connection;
  const identity = uniqueId('worker');
  const sticky = { name: uniqueId('sticky'), kind: 2, normalName: 'common' };
  const calls = [
    () => service.pollWorkflowTaskQueue(pollRequest(uniqueId('queue'), { identity })),
    () => service.pollActivityTaskQueue(pollRequest(uniqueId('queue'), { identity })),
    () => service.pollWorkflowTaskQueue(pollRequest('', { identity, taskQueue: sticky })),
    () => service.pollWorkflowTaskQueue(pollRequest('common', { identity })),
    () => service.recordWorkerHeartbeat({ namespace: NAMESPACE, workerHeartbeat: [{ workerInstanceKey: identity }] }),
  ];
  await connection.withDeadline(Date.now() + POLL_MS, () => Promise.all(calls.map((call) => mayBeRefused(call(), counts))));
}

// A workflow on a queue of its own, from its start to its end.
async function workflow(service, counts) {
  const queue = uniqueId('queue');
  const started = await mayBeRefused(service.startWorkflowExecution(startRequest({ taskQueue: { name: queue } })), counts);
  if (!started) return;
  const task = await takeTask(service, queue);
  await completeTask(service, task, [completeWorkflow]);
  counts.workflows++;
}

// A namespace that is made, used and deleted.
async function namespace(connection, counts) {
  const name = uniqueId('namespace');
  const made = { namespace: name, workflowExecutionRetentionPeriod: seconds(86400) };
  try {
    await connection.workflowService.registerNamespace(made);
  } catch {
    return; // those that are being removed still have their places
  }
  await mayBeRefused(connection.workflowService.startWorkflowExecution(startRequest({ namespace: name, taskQueue: { name: uniqueId('queue') } })), counts);
  await connection.operatorService.deleteNamespace({ namespace: name });
  counts.namespaces++;
}

// The page cache of the store grows with the file until it is full: before the memory is measured, it is.
async function fillCache(service) {
  const input = { payloads: [{ metadata: { encoding: Buffer.from('binary/plain') }, data: Buffer.alloc(1 << 20, 120) }] };
  for (let bytes = 0; bytes < CACHE_BYTES; bytes += 1 << 20) await service.startWorkflowExecution(startRequest({ taskQueue: { name: 'large' }, input }));
}

async function churn(connection, counts, forMs) {
  const end = Date.now() + forMs;
  const loop = async () => {
    while (Date.now() < end) {
      await worker(connection, counts);
      await workflow(connection.workflowService, counts);
      counts.rounds++;
    }
  };
  const spaces = async () => {
    while (Date.now() < end) {
      await namespace(connection, counts);
      await sleep(200);
    }
  };
  await Promise.all([...Array.from({ length: AT_ONCE }, loop), spaces()]);
}

const queueCount = async (server) =>
  (await readMetric(server, 'rondo_task_queues{kind="workflow"}')) + (await readMetric(server, 'rondo_task_queues{kind="activity"}'));

describe('names that are used once', { timeout: 2 * (WARM_MS + RUN_MS + EMPTY_MS) + 60_000 }, () => {
  test('leave nothing in memory', async (t) => {
    const options = { binary: pick(TINY_BINARY, BINARY), flags: ['--resident-runs', '100'] };
    await withProcess(options, async (server) => {
      const connection = await openConnection(server);
      const counts = { rounds: 0, workflows: 0, namespaces: 0, refused: 0 };
      await fillCache(connection.workflowService);
      await churn(connection, counts, WARM_MS);
      const warm = server.residentBytes();
      await churn(connection, counts, RUN_MS);
      const end = server.residentBytes();
      t.diagnostic(`${JSON.stringify(counts)}; resident after the warm-up ${warm >> 10} KiB, at the end ${end >> 10} KiB`);
      assert.ok(counts.rounds > 10 && counts.workflows > 10 && counts.namespaces > 2, JSON.stringify(counts));
      assert.ok(end <= warm * GROWTH + SLACK_BYTES, `${warm} bytes after the warm-up, ${end} at the end`);
      await until(async () => (await queueCount(server)) === 1, EMPTY_MS, 'all queues but the one with open workflows to be forgotten');
      const { namespaces } = await connection.workflowService.listNamespaces({ pageSize: 100 });
      assert.ok(namespaces.length < 20 || isLong);
      await connection.close();
      assert.equal(await server.stop(), 0);
    });
  });
});
