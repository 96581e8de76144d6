// A client that leaves while its call waits costs nothing: no processor time, no descriptor, no parked call.
//
// Every way to leave, times every call that can wait, on both ports. The calls are those of src/wire/methods.def.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { NAMESPACE, startRequest, temporal, uniqueId, withClient } from './lib/client.mjs';
import { pick, sleep, until, withProcess } from './lib/process.mjs';
import { GrpcPeer, HttpPeer, countEnded, departures, httpRequest, metric } from './lib/raw.mjs';

const HANGS_MS = 20_000; // ends what hangs
const RELEASED_MS = 1_000; // what the server may take to let go, besides the time that a busy machine takes
const IDLE_SECONDS = 0.5; // in which the process wants a processor, of one second; a loop that spins wants it all the time
const { workflowservice: ws } = temporal.api;
const service = '/temporal.api.workflowservice.v1.WorkflowService/';
const workflow = 'waits-for-ever';
const execution = { workflowId: workflow };
const taskQueue = (kind) => ({ name: `idle-${kind}` });
const UPDATES = 2; // of one departure: they stay when their callers leave, and a run has at most ten under way
const ACCEPTED = 2; // of UpdateWorkflowExecutionLifecycleStage

const update = (updateId = uniqueId('update')) => ({
  namespace: NAMESPACE,
  workflowExecution: execution,
  waitPolicy: { lifecycleStage: ACCEPTED },
  request: { meta: { updateId }, input: { name: 'never' } },
});

// Of each method the request that waits. `updateId` is that of an update that no worker accepts.
const waitingCalls = {
  ExecuteMultiOperation: () => {
    const workflowId = uniqueId('multi');
    const start = startRequest({ workflowId, workflowIdConflictPolicy: 2 }); // use the existing one
    return { namespace: NAMESPACE, operations: [{ startWorkflow: start }, { updateWorkflow: { ...update(), workflowExecution: { workflowId } } }] };
  },
  GetWorkflowExecutionHistory: () => ({ namespace: NAMESPACE, execution, waitNewEvent: true, historyEventFilterType: 2 }),
  PollWorkflowTaskQueue: () => ({ namespace: NAMESPACE, taskQueue: taskQueue('workflow'), identity: 'leaves' }),
  PollActivityTaskQueue: () => ({ namespace: NAMESPACE, taskQueue: taskQueue('activity'), identity: 'leaves' }),
  QueryWorkflow: () => ({ namespace: NAMESPACE, execution, query: { queryType: 'never' } }),
  UpdateWorkflowExecution: () => update(),
  PollWorkflowExecutionUpdate: (updateId) => ({
    namespace: NAMESPACE,
    updateRef: { workflowExecution: execution, updateId },
    waitPolicy: { lifecycleStage: ACCEPTED },
  }),
};
const answeredAtOnce = ['TriggerSchedule']; // it may wait for a commit, which comes by itself

const api = `/api/v1/namespaces/${NAMESPACE}/workflows/${workflow}`;
const waitingHttp = {
  GetWorkflowExecutionHistory: () => httpRequest('GET', `${api}/history?waitNewEvent=true&historyEventFilterType=2`),
  QueryWorkflow: () => httpRequest('POST', `${api}/query/never`, '{}'),
  UpdateWorkflowExecution: () => httpRequest('POST', `${api}/update/never`, JSON.stringify({ waitPolicy: { lifecycleStage: ACCEPTED } })),
  stream: () => httpRequest('GET', `/v1/workflows/executions/${workflow}/stream`),
};

function methodsThatWait() {
  const table = readFileSync(new URL('../../src/wire/methods.def', import.meta.url), 'utf8');
  return [...table.matchAll(/^RPC\(\w+,\s*(\w+),\s*\w+,\s*(?:POLL|WAIT),\s*\w+,\s*\w+,\s*(\w+)\)/gm)]
    .filter(([, , handler]) => handler !== 'NOT_YET')
    .map(([, name]) => name);
}

// For how much of a second the process runs or waits for a processor: also on a busy machine a loop that spins shows.
async function wantedInASecond(server) {
  const wanted = () =>
    readdirSync(`/proc/${server.pid}/task`)
      .map((task) => readFileSync(`/proc/${server.pid}/task/${task}/schedstat`, 'utf8').split(' '))
      .reduce((sum, [ran, waited]) => sum + Number(ran) + Number(waited), 0) / 1e9;
  const before = wanted();
  await sleep(1000);
  return wanted() - before;
}

async function assertIdle(server, way) {
  const wanted = await wantedInASecond(server);
  assert.ok(wanted < IDLE_SECONDS, `the process wants a processor for ${wanted} s of a second without work, after ${way}`);
}

// All of the waiting calls over one connection each, `copies` times; they leave; nothing of them stays.
async function leave(server, open, names, way, copies) {
  const socketsBefore = server.countSockets();
  const cancelledBefore = await countEnded(server, 'CANCELLED');
  const peers = [];
  for (let i = 0; i < copies; i++)
    for (const name of names)
      if (i < UPDATES || name !== 'UpdateWorkflowExecution') peers.push(await open(name));
  await sleep(300); // until all of them wait
  for (const peer of peers) departures[way](peer.socket);
  await assertIdle(server, way);
  if (way === 'silence' || way === 'half-close') {
    // They may still wait for their answer. What follows is how such a peer ends at last.
    for (const peer of peers) peer.socket.destroy();
  }
  const left = Date.now();
  await until(() => server.countSockets() <= socketsBefore, HANGS_MS, `the sockets to be closed after ${way}`);
  await until(async () => (await countEnded(server, 'CANCELLED')) >= cancelledBefore + peers.length, HANGS_MS, `calls to be cancelled after ${way}`);
  assert.ok(Date.now() - left < RELEASED_MS + 1_000, `it took ${Date.now() - left} ms to let go after ${way}`);
  assert.deepEqual(Object.values(await metric(server, 'rondo_polls_waiting')), [0, 0]);
  for (const peer of peers) peer.close();
}

async function withWaitingWorkflow(fn) {
  await withProcess({}, (server) =>
    withClient(server, async (client) => {
      await client.startWorkflowExecution(startRequest({ workflowId: workflow }));
      return fn(server, client);
    }),
  );
}

test('every method that can wait is in this test', () => {
  assert.deepEqual(methodsThatWait().sort(), [...Object.keys(waitingCalls), ...answeredAtOnce].sort());
});

describe('a client leaves while its call waits', { timeout: 300_000 }, () => {
  test('over gRPC', async () => {
    await withWaitingWorkflow(async (server) => {
      const updateId = uniqueId('kept');
      const keeper = await GrpcPeer.connect(server);
      const send = (peer, name, fields) =>
        peer.call(service + name, ws.v1[`${name}Request`].encode(ws.v1[`${name}Request`].fromObject(fields)).finish());
      send(keeper, 'UpdateWorkflowExecution', update(updateId));
      await sleep(200);
      const open = async (name) => {
        const peer = await GrpcPeer.connect(server);
        send(peer, name, waitingCalls[name](updateId));
        return peer;
      };
      for (const way of Object.keys(departures)) await leave(server, open, Object.keys(waitingCalls), way, pick(2, 20));
      keeper.close();
    });
  });

  test('over HTTP/1.1', async () => {
    await withWaitingWorkflow(async (server) => {
      const open = (name) => HttpPeer.connect(server, waitingHttp[name]());
      for (const way of Object.keys(departures)) await leave(server, open, Object.keys(waitingHttp), way, pick(2, 20));
    });
  });

  test('a health watch', async () => {
    await withProcess({}, async (server) => {
      for (const way of Object.keys(departures)) {
        const before = server.countSockets();
        const peer = await GrpcPeer.connect(server);
        peer.call('/grpc.health.v1.Health/Watch', Buffer.alloc(0));
        await sleep(100);
        departures[way](peer.socket);
        await assertIdle(server, way);
        peer.close();
        await until(() => server.countSockets() <= before, HANGS_MS, 'the socket to be closed');
      }
    });
  });

  test('in the middle of a request, over HTTP/1.1', async () => {
    await withProcess({}, async (server) => {
      const before = server.countSockets();
      for (const way of ['FIN', 'RST', 'half-close']) {
        for (const part of ['GET /hea', 'GET /healthz HTTP/1.1\r\nHost: x\r\n', 'POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc'])
          departures[way]((await HttpPeer.connect(server, part)).socket);
        await assertIdle(server, way);
        await until(() => server.countSockets() <= before, HANGS_MS, `the sockets to be closed after ${way}`);
      }
    });
  });
});

describe('a client closes its side and reads on', { timeout: 300_000 }, () => {
  const answered = (peer) => /^HTTP\/1\.1 200 /m.test(peer.text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''));

  test('and gets the answer of a short call', async () => {
    await withProcess({}, async (server) => {
      const id = uniqueId('half');
      const body = JSON.stringify({ workflowType: { name: 'wait' }, taskQueue: { name: 'quiet' } });
      const peer = await HttpPeer.connect(server);
      peer.socket.end(httpRequest('POST', `/api/v1/namespaces/${NAMESPACE}/workflows/${id}`, body));
      await until(() => peer.isEnded, HANGS_MS, 'the end of the answer');
      assert.match(peer.text, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(peer.text, /"runId"/);
    });
  });

  test('and gets the answer of a call that waits', async () => {
    await withWaitingWorkflow(async (server, client) => {
      const peer = await HttpPeer.connect(server);
      peer.socket.end(waitingHttp.GetWorkflowExecutionHistory());
      await sleep(1000);
      assert.equal(peer.isEnded, false);
      await client.terminateWorkflowExecution({ namespace: NAMESPACE, workflowExecution: execution });
      await until(() => peer.isEnded, HANGS_MS, 'the end of the answer');
      assert.ok(answered(peer), peer.text);
      assert.match(peer.text, /EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED/);
    });
  });

  test('and gets a stream to its end', async () => {
    await withWaitingWorkflow(async (server, client) => {
      const peer = await HttpPeer.connect(server);
      peer.socket.end(waitingHttp.stream());
      await sleep(1000);
      assert.equal(peer.isEnded, false);
      await client.terminateWorkflowExecution({ namespace: NAMESPACE, workflowExecution: execution });
      await until(() => peer.isEnded, HANGS_MS, 'the end of the stream');
      assert.match(peer.text, /\r\n0\r\n\r\n$/);
    });
  });

  test('and what it sent ahead is answered, too', async () => {
    await withWaitingWorkflow(async (server, client) => {
      const peer = await HttpPeer.connect(server, waitingHttp.GetWorkflowExecutionHistory());
      await sleep(300);
      peer.socket.write(httpRequest('GET', '/healthz'));
      await sleep(300);
      await client.terminateWorkflowExecution({ namespace: NAMESPACE, workflowExecution: execution });
      await until(() => peer.text.includes('"status":"ok"'), HANGS_MS, 'the second answer');
      assert.ok(answered(peer), peer.text);
      peer.close();
    });
  });
});
