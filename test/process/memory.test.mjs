// What clients make the process hold is bounded for all of them together (docs/server.md, "Memory that clients
// hold"), is given back to the system when they go, and costs a quiet client nothing: a prober is served all along.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NAMESPACE, payloads, startRequest, temporal, withClient } from './lib/client.mjs';
import * as hoard from './lib/hoard.mjs';
import { pick, sleep, until, withProcess } from './lib/process.mjs';
import { metric } from './lib/raw.mjs';

const MIB = 1 << 20;
const COUNTED_BYTES_MAX = 384 * MIB; // PEER_BYTES_MAX
const GROWTH_BYTES_MAX = 512 * MIB; // the same as the system sees it: with what the allocator adds
const LEFT_BYTES_MAX = 48 * MIB; // above the start, when all have gone
const HANGS_MS = 30_000; // ends what hangs
const OPEN_MS = 5_000; // for one connection to send all it has; the server may stop reading before
const { workflowservice: ws } = temporal.api;
const service = '/temporal.api.workflowservice.v1.WorkflowService/';
const large = { workflowId: 'large' };
const encode = (name, fields) => Buffer.from(ws.v1[`${name}Request`].encode(ws.v1[`${name}Request`].fromObject(fields)).finish());
const poll = encode('PollActivityTaskQueue', { namespace: NAMESPACE, taskQueue: { name: 'hoarded' } });
const readHistory = encode('GetWorkflowExecutionHistory', { namespace: NAMESPACE, execution: large });
const waitForClose = encode('GetWorkflowExecutionHistory', { namespace: NAMESPACE, execution: large, waitNewEvent: true, historyEventFilterType: 2 });
const httpHistory = `/api/v1/namespaces/${NAMESPACE}/workflows/large/history`;

const httpWait = `${httpHistory}?waitNewEvent=true&historyEventFilterType=2`;
// All that wait for the end of the workflow are answered with its 1.9 MB.
const closeLarge = (client) =>
  client.terminateWorkflowExecution({ namespace: NAMESPACE, workflowExecution: large, details: payloads('x'.repeat(1_900_000)) });

// [connections, what each of them holds, what happens when all hold it]
const hoards = {
  'headers that unfold': [pick(50, 100), (server) => hoard.hoardHeaders(server)],
  'long paths': [pick(0, 100), (server) => hoard.hoardPaths(server)],
  'half-sent bodies': [pick(40, 100), (server) => hoard.hoardBodies(server)],
  'parked polls': [pick(20, 100), (server) => hoard.hoardCalls(server, `${service}PollActivityTaskQueue`, poll, { window: 65_535 })],
  'parked long polls': [pick(0, 50), (server) => hoard.hoardCalls(server, `${service}GetWorkflowExecutionHistory`, waitForClose)],
  'answers that are not read': [pick(6, 20), (server) => hoard.hoardCalls(server, `${service}GetWorkflowExecutionHistory`, readHistory)],
  'idle connections': [pick(500, 5_000), (server) => hoard.hoardIdle(server)],
  'half-sent bodies over HTTP/1.1': [pick(140, 1_200), (server) => hoard.hoardHttpBody(server)],
  'half-sent chunks over HTTP/1.1': [pick(0, 1_200), (server) => hoard.hoardHttpChunks(server)],
  'answers to many that waited': [1, (server) => hoard.hoardCalls(server, `${service}GetWorkflowExecutionHistory`, waitForClose), closeLarge],
  'answers to many that waited over HTTP/1.1': [pick(0, 400), (server) => hoard.hoardHttpAnswer(server, httpWait), closeLarge],
  'answers that are not read over HTTP/1.1': [pick(0, 400), (server) => hoard.hoardHttpAnswer(server, httpHistory)],
};

// Calls one after the other, none of which may fail.
function startProber(client) {
  const prober = { count: 0, isStopped: false };
  prober.done = (async () => {
    while (!prober.isStopped) {
      await client.getSystemInfo({});
      await client.startWorkflowExecution(startRequest());
      prober.count += 2;
      await sleep(50);
    }
  })();
  prober.done.catch(() => {}); // seen when it is stopped
  prober.stop = async () => {
    prober.isStopped = true;
    await prober.done;
  };
  return prober;
}

async function open(server, count, one) {
  const sockets = [];
  for (let i = 0; i < count; i += 4) {
    const some = Array.from({ length: Math.min(4, count - i) }, () => one(server).catch(() => undefined)); // refused
    sockets.push(...some);
    await Promise.race([Promise.all(some), sleep(OPEN_MS)]);
  }
  return sockets;
}

async function holdAndLetGo(server, client, before, [count, one, disturb]) {
  const sockets = await open(server, count, one);
  await disturb?.(client);
  await sleep(1_000); // until the server has done with them what it will
  const counted = (await metric(server, 'rondo_peer_memory_bytes'))[''];
  const growth = server.peakResidentBytes() - before;
  for (const socket of sockets) (await Promise.race([socket, sleep(1)]))?.destroy();
  assert.ok(growth < GROWTH_BYTES_MAX, `the process grew by ${Math.round(growth / MIB)} MiB`);
  assert.ok(counted <= COUNTED_BYTES_MAX, `${Math.round(counted / MIB)} MiB are counted`);
  await until(() => server.residentBytes() < before + LEFT_BYTES_MAX, HANGS_MS, 'the memory to be given back').catch((error) => {
    throw new Error(`${error.message}: ${Math.round((server.residentBytes() - before) / MIB)} MiB are left`);
  });
}

async function bear(server, client, plan) {
  await client.startWorkflowExecution(startRequest({ ...large, input: payloads('x'.repeat(1_900_000)) }));
  await client.getSystemInfo({});
  const before = server.residentBytes();
  const prober = startProber(client);
  try {
    await holdAndLetGo(server, client, before, plan);
    const probed = prober.count;
    await until(() => prober.count > probed, HANGS_MS, 'one more answer for the prober');
  } finally {
    await prober.stop();
  }
}

describe('many connections hold what each may', { timeout: 900_000 }, () => {
  for (const [name, plan] of Object.entries(hoards)) {
    if (plan[0] === 0) continue; // in the long form only
    test(`${name}: bounded, given back, and a prober is served`, async () => {
      await withProcess({}, (server) => withClient(server, (client) => bear(server, client, plan)));
    });
  }
});
