// A server that was stopped, or kept busy: input that had arrived is read before deadlines are judged.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { NAMESPACE, payloads, scheduleRequest, seconds, startRequest, uniqueId, withClient } from './lib/client.mjs';
import { countUnreadSockets } from './lib/sockets.mjs';
import { callOnNewConnection } from './lib/http2.mjs';
import { pick, sleep, until, withProcess } from './lib/process.mjs';
import {
  activityCommand,
  askEvents,
  completeActivity,
  completeWorkflowTask,
  sendHeartbeat,
  startActivity,
  startWithCommands,
  takeWorkflowTask,
} from './lib/steps.mjs';

const HANG_MS = 60_000; // ends what hangs
const TIMEOUT_S = pick(2, 5);
const STALL_MS = (TIMEOUT_S + pick(1, 3)) * 1000;

const unread = (server) => countUnreadSockets(server.grpcPort) + countUnreadSockets(server.httpPort);

// Stops the server, sends, and lets it go on when the timeout is over and the input waits in this many sockets.
async function sendInStall(server, send, { stallMs = STALL_MS, sockets = 1 } = {}) {
  server.signal('SIGSTOP');
  const before = unread(server);
  const sent = send();
  sent.catch(() => {}); // it is told to the caller, later
  await sleep(stallMs);
  await until(() => unread(server) >= before + sockets, HANG_MS, 'the input to reach the sockets');
  server.signal('SIGCONT');
  return sent;
}

// Connections that are open and used before the stall.
async function withClients(server, count, fn, clients = []) {
  if (clients.length === count) return fn(clients);
  return withClient(server, (service) => withClients(server, count, fn, [...clients, service]));
}

describe('after the server was stopped', { concurrency: true, timeout: 300_000 }, () => {
  const kinds = {
    startToCloseTimeout: seconds(TIMEOUT_S),
    scheduleToCloseTimeout: seconds(TIMEOUT_S),
    heartbeatTimeout: seconds(TIMEOUT_S),
  };
  for (const [kind, value] of Object.entries(kinds)) {
    test(`the result of an activity wins over its ${kind}`, async () => {
      await withProcess({}, async (server) => {
        await withClient(server, async (service) => {
          const { task, workflowId } = await startActivity(service, { [kind]: value });
          await sendInStall(server, () => completeActivity(service, task, payloads('in time')));
          const events = await askEvents(service, workflowId);
          assert.ok(events.includes('ACTIVITY_TASK_COMPLETED'), events);
        });
      });
    });
  }

  test('a heartbeat wins over the heartbeat timeout', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const { task, workflowId } = await startActivity(service, { heartbeatTimeout: seconds(TIMEOUT_S) });
        await sendInStall(server, () => sendHeartbeat(service, task));
        await completeActivity(service, task);
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('a workflow task that was completed in time is not timed out', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const queue = uniqueId('queue');
        const request = { taskQueue: { name: queue }, workflowTaskTimeout: seconds(TIMEOUT_S) };
        const start = startRequest(request);
        await service.startWorkflowExecution(start);
        const task = await takeWorkflowTask(service, queue);
        await sendInStall(server, () => completeWorkflowTask(service, task));
        const events = await askEvents(service, start.workflowId);
        assert.deepEqual(events.slice(-1), ['WORKFLOW_TASK_COMPLETED'], events);
      });
    });
  });

  test('a worker that polled in time gets its task before the schedule-to-start timeout', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const timeouts = { scheduleToStartTimeout: seconds(TIMEOUT_S) };
        const { queue, workflowId } = await startWithCommands(service, (name) => [activityCommand(name, timeouts)]);
        const task = await sendInStall(server, () =>
          service.pollActivityTaskQueue({ namespace: NAMESPACE, taskQueue: { name: queue }, identity: 'late' }),
        );
        await completeActivity(service, task);
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('results on many connections all win', async () => {
    const count = pick(48, 200);
    const setupS = pick(8, 30); // long enough to begin them all before the first is late
    await withProcess({}, async (server) => {
      await withClients(server, count, async (services) => {
        const started = [];
        for (const service of services)
          started.push(await startActivity(service, { startToCloseTimeout: seconds(setupS) }));
        const answer = (service, i) => completeActivity(service, started[i].task);
        await sendInStall(server, () => Promise.all(services.map(answer)), {
          stallMs: setupS * 1000,
          sockets: count,
        });
        for (const { workflowId } of started)
          assert.ok((await askEvents(services[0], workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('a result on a connection that was made meanwhile wins', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const { task, workflowId } = await startActivity(service, { startToCloseTimeout: seconds(TIMEOUT_S) });
        const request = { namespace: NAMESPACE, taskToken: task.taskToken, identity: 'new' };
        await sendInStall(server, () => callOnNewConnection(server, 'RespondActivityTaskCompleted', request));
        const events = await askEvents(service, workflowId);
        assert.ok(events.includes('ACTIVITY_TASK_COMPLETED'), events);
      });
    });
  });

  test('a connection whose first bytes came in time is kept', async () => {
    await withProcess({ flags: ['--log-level', 'debug'] }, async (server) => {
      const socket = connect(server.grpcPort, '127.0.0.1');
      await until(() => server.countLog('connection_opened') > 0, HANG_MS, 'the connection to be accepted');
      const ask = async () => callOnNewConnection(server, 'GetSystemInfo', {}, socket);
      await sendInStall(server, ask, { stallMs: 11_000 }); // the limit for the first bytes of a connection is 10 s
    });
  });

  // A request over HTTP/1.1, on a connection that is made in the stall.
  const post = (server, path, body) =>
    fetch(`${server.httpAddress}/api/v1/namespaces/${NAMESPACE}/${path}`, { method: 'POST', body: JSON.stringify(body) });

  test('the result of an activity over HTTP wins', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const { task, workflowId } = await startActivity(service, { startToCloseTimeout: seconds(TIMEOUT_S) });
        const taskToken = Buffer.from(task.taskToken).toString('base64');
        const answer = await sendInStall(server, () => post(server, 'activity-complete', { taskToken }));
        assert.equal(answer.status, 200, await answer.text());
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('a large result over HTTP wins', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const { task, workflowId } = await startActivity(service, { startToCloseTimeout: seconds(TIMEOUT_S) });
        const taskToken = Buffer.from(task.taskToken).toString('base64');
        const body = { taskToken, result: ['x'.repeat(400_000)] };
        const answer = await sendInStall(server, () => post(server, 'activity-complete', body));
        assert.equal(answer.status, 200, await answer.text());
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('a heartbeat over HTTP wins', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const { task, workflowId } = await startActivity(service, { heartbeatTimeout: seconds(TIMEOUT_S) });
        const taskToken = Buffer.from(task.taskToken).toString('base64');
        const answer = await sendInStall(server, () => post(server, 'activity-heartbeat', { taskToken }));
        assert.equal(answer.status, 200, await answer.text());
        await completeActivity(service, task);
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('a run that is not in memory: the result by id wins', async () => {
    await withProcess({ flags: ['--resident-runs', '1'] }, async (server) => {
      await withClient(server, async (service) => {
        const { workflowId } = await startActivity(service, { startToCloseTimeout: seconds(TIMEOUT_S) });
        for (let i = 0; i < 20; i++) await service.startWorkflowExecution(startRequest());
        await sendInStall(server, () =>
          service.respondActivityTaskCompletedById({ namespace: NAMESPACE, workflowId, activityId: 'activity' }),
        );
        const events = await askEvents(service, workflowId);
        assert.ok(events.includes('ACTIVITY_TASK_COMPLETED'), events);
      });
    });
  });

  test('timeouts still come when there was no answer', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        const { workflowId } = await startActivity(service, { startToCloseTimeout: seconds(TIMEOUT_S) });
        await server.freeze(STALL_MS);
        await until(
          async () => (await askEvents(service, workflowId)).includes('ACTIVITY_TASK_TIMED_OUT'),
          HANG_MS,
          'the timeout',
        );
      });
    });
  });
});

describe('beside a neighbour that keeps the server busy', { timeout: 300_000 }, () => {
  // Large requests, one behind the other on several connections, until the test is over.
  async function flood(server, signal) {
    const input = payloads('x'.repeat(1_500_000));
    await withClients(server, 4, (services) =>
      Promise.all(
        services.map(async (service) => {
          while (!signal.aborted) {
            const start = startRequest({ input });
            await service.startWorkflowExecution(start).catch(() => {});
          }
        }),
      ),
    );
  }

  // A question that takes the server some milliseconds each: all that are in one packet are one turn of its loop.
  async function askMuch(service, count) {
    const only = (n) => [{ start: n, end: n, step: 1 }];
    const never = { month: only(2), dayOfMonth: only(30), hour: only(0), minute: only(0), second: only(0) };
    const spec = { structuredCalendar: Array(100).fill(never) };
    const { scheduleId } = scheduleRequest(uniqueId('never'), 0, { spec });
    await service.createSchedule(scheduleRequest(scheduleId, 0, { spec }));
    const range = { startTime: seconds(0), endTime: seconds(4e9) };
    const ask = () => service.listScheduleMatchingTimes({ namespace: NAMESPACE, scheduleId, ...range }).catch(() => {});
    return Promise.all(Array.from({ length: count }, ask));
  }

  test('heartbeats that wait for a long turn to end are heard', async () => {
    await withProcess({}, async (server) => {
      await withClients(server, 3, async ([service, ...others]) => {
        const { task, workflowId } = await startActivity(service, { heartbeatTimeout: seconds(TIMEOUT_S) });
        let isBusy = true;
        const questions = others.map((other) => askMuch(other, pick(450, 900)));
        const neighbours = Promise.all(questions).finally(() => (isBusy = false));
        const heartbeats = [];
        while (isBusy) {
          heartbeats.push(sendHeartbeat(service, task));
          await sleep(TIMEOUT_S * 100);
        }
        await neighbours;
        await Promise.all(heartbeats);
        await completeActivity(service, task);
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
      });
    });
  });

  test('heartbeats are heard, and timeouts still come', async () => {
    await withProcess({}, async (server) => {
      const busy = new AbortController();
      const neighbour = flood(server, busy.signal);
      await withClient(server, async (service) => {
        const silent = await startActivity(service, { startToCloseTimeout: seconds(TIMEOUT_S) });
        const { task, workflowId } = await startActivity(service, { heartbeatTimeout: seconds(TIMEOUT_S) });
        for (let i = 0; i < pick(2, 10); i++) await sendInStall(server, () => sendHeartbeat(service, task));
        await completeActivity(service, task);
        assert.ok((await askEvents(service, workflowId)).includes('ACTIVITY_TASK_COMPLETED'));
        assert.ok((await askEvents(service, silent.workflowId)).includes('ACTIVITY_TASK_TIMED_OUT'));
      });
      busy.abort();
      await neighbour;
    });
  });
});
