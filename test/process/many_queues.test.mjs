// As many task queues as a server keeps, and one more: open workflows on distinct names, then polls on distinct names.
// The short form does it with tiny limits, the long form with the real ones (about a million of each).

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openConnection, startRequest } from './lib/client.mjs';
import { TINY_BINARY, limit, realLimit } from './lib/limits.mjs';
import { BINARY, inParallel, isLong, pick, readMetric, until, withProcess } from './lib/process.mjs';
import { pollRequest, takeTask } from './lib/tasks.mjs';

const MAX = pick(limit('engine.QUEUES'), realLimit('engine.QUEUES'));
const RESOURCE_EXHAUSTED = 8;
const DEADLINE_EXCEEDED = 4;
const POLL_MS = 1050; // a poll is answered a second before its caller's deadline
const READY_MS = 600_000; // ends what hangs
const options = { binary: pick(TINY_BINARY, BINARY), readyMs: READY_MS, flags: ['--resident-runs', '1000'] };

const queueCount = async (server) =>
  (await readMetric(server, 'rondo_task_queues{kind="workflow"}')) + (await readMetric(server, 'rondo_task_queues{kind="activity"}'));

const start = (service, i) => service.startWorkflowExecution(startRequest({ workflowId: `w-${i}`, taskQueue: { name: `queue-${i}` } }));
const isExhausted = (error) => error.code === RESOURCE_EXHAUSTED;

// A poll whose caller has no time: it is answered at once, and only its queue stays. The code of its refusal, or 0.
async function pollBriefly(connection, queue) {
  try {
    await connection.withDeadline(Date.now() + POLL_MS, () => connection.workflowService.pollWorkflowTaskQueue(pollRequest(queue)));
    return 0;
  } catch (error) {
    if (!isExhausted(error) && error.code !== DEADLINE_EXCEEDED) throw error;
    return error.code;
  }
}

// A server with the connection that fn gets; the memory and the times are for whoever reads the log of the test.
async function withServer(t, fn) {
  await withProcess(options, async (server) => {
    const connection = await openConnection(server);
    try {
      await fn(server, connection.workflowService);
    } finally {
      await connection.close();
    }
    t.diagnostic(`resident: ${Math.round(server.residentBytes() / 2 ** 20)} MiB, at most ${Math.round(server.peakResidentBytes() / 2 ** 20)} MiB`);
  });
}

describe('a server full of task queues', { timeout: isLong ? 7_200_000 : 120_000 }, () => {
  test('refuses one more, and starts again with all of them', async (t) => {
    await withServer(t, async (server, service) => {
      await inParallel(MAX, (i) => start(service, i));
      await assert.rejects(start(service, MAX), isExhausted);
      assert.equal(await queueCount(server), MAX);
      await server.kill();
      const begun = Date.now();
      await server.launchSilently();
      t.diagnostic(`recovery of ${MAX} queues: ${Date.now() - begun} ms`);
      assert.equal(await queueCount(server), MAX);
      const connection = await openConnection(server);
      await assert.rejects(start(connection.workflowService, MAX), isExhausted);
      for (const i of [0, 1, Math.trunc(MAX / 2), MAX - 1]) {
        const task = await takeTask(connection.workflowService, `queue-${i}`);
        assert.equal(task.workflowExecution.workflowId, `w-${i}`);
      }
      await connection.close();
    });
  });

  test('of polls on distinct names refuses one more poll and a start, and lives', async (t) => {
    await withServer(t, async (server, service) => {
      let refused = 0;
      const connection = await openConnection(server);
      await inParallel(MAX + 10, async (i) => {
        refused += (await pollBriefly(connection, `queue-${i}`)) === RESOURCE_EXHAUSTED;
      });
      t.diagnostic(`${refused} of ${MAX + 10} polls were refused`);
      await until(async () => (await queueCount(server)) <= MAX, READY_MS, 'the queues to be counted');
      await until(
        async () => {
          try {
            return await start(service, `after-${Date.now()}`);
          } catch (error) {
            if (!isExhausted(error)) throw error;
            return undefined;
          }
        },
        READY_MS,
        'room for one more',
      );
      await connection.close();
    });
  });
});
