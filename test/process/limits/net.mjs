// src/net/limits.def: what a peer may cost, as far as whole connections and requests go. Frames are sent by
// test/unit/test_h2_limits.c.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { once } from 'node:events';
import { NAMESPACE } from '../lib/client.mjs';
import { sleep, until } from '../lib/process.mjs';
import { HttpPeer, httpRequest } from '../lib/raw.mjs';
import { startOn } from './check.mjs';

const LATE_MS = 30_000; // ends what hangs

// Connections that say nothing. Returns them, each with isClosed.
function connectSilently(port, count) {
  return Array.from({ length: count }, () => {
    const socket = net.connect(port, '127.0.0.1');
    socket.isClosed = false;
    socket.on('error', () => {});
    socket.on('close', () => (socket.isClosed = true));
    socket.resume();
    return socket;
  });
}

const open = (sockets) => sockets.filter((socket) => !socket.isClosed).length;

async function crowd(port, count, most) {
  const sockets = connectSilently(port, count);
  try {
    await until(() => open(sockets) <= most, LATE_MS, 'connections above the limit to be closed');
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function request(port, headers, body) {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  try {
    const stream = session.request({ ':method': 'POST', ':path': '/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo', 'content-type': 'application/grpc', te: 'trailers', ...headers });
    const result = { status: undefined, grpcStatus: undefined };
    stream.on('error', () => {});
    stream.on('response', (h) => Object.assign(result, { status: h[':status'], grpcStatus: h['grpc-status'] }));
    stream.on('trailers', (h) => (result.grpcStatus = h['grpc-status']));
    stream.resume();
    stream.end(body);
    await once(stream, 'close');
    return result;
  } finally {
    session.destroy();
  }
}

const message = (bytes) => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes, 1);
  return Buffer.concat([prefix, Buffer.alloc(bytes)]);
};

// A call over HTTP/1.1 that waits for the end of a workflow.
async function waitingRequest(service) {
  const { workflowId } = await startOn(service, 'quiet');
  const path = `/api/v1/namespaces/${NAMESPACE}/workflows/${workflowId}/history`;
  return httpRequest('GET', `${path}?waitNewEvent=true&historyEventFilterType=2`);
}

export const cases = {
  'net.CONNECTIONS_MAX': ({ server, max }) => crowd(server.grpcPort, max + 3, max),
  'net.HTTP_CONNECTIONS_MAX': ({ server, max }) => crowd(server.httpPort, max + 3, max),
  'net.HTTP_WAITING_MAX': async ({ service, server, max }) => {
    const wait = await waitingRequest(service);
    const peers = [];
    try {
      for (let i = 0; i < max; i++) peers.push(await HttpPeer.connect(server, wait));
      await sleep(200); // they wait
      assert.ok(peers.every((peer) => !peer.text));
      const refusedPeer = await HttpPeer.connect(server, wait);
      peers.push(refusedPeer);
      await until(() => refusedPeer.text, LATE_MS, 'a refusal');
      assert.match(refusedPeer.text, /^HTTP\/1\.1 429 /);
      assert.equal((await fetch(`${server.httpAddress}/healthz`)).status, 200);
    } finally {
      for (const peer of peers) peer.close();
    }
  },
  'net.HTTP_PIPELINE_BYTES': async ({ service, server, max }) => {
    const peer = await HttpPeer.connect(server, await waitingRequest(service));
    peer.socket.on('close', () => (peer.isEnded = true));
    peer.socket.write('x'.repeat(max + 1));
    await until(() => peer.isEnded, LATE_MS, 'the end of a connection that sent too much ahead');
    peer.close();
  },
  'net.HEADER_LIST_BYTES_MAX': async ({ server, max }) => {
    const { status } = await request(server.grpcPort, { long: 'x'.repeat(max) }, message(0));
    assert.equal(status, 431);
    assert.equal((await request(server.grpcPort, { long: 'x'.repeat(max - 1000) }, message(0))).grpcStatus, '0');
  },
  'net.BODY_BYTES_MAX': async ({ server, max }) => {
    const { grpcStatus } = await request(server.grpcPort, {}, message(max + 1));
    assert.notEqual(grpcStatus, '0');
  },
  'net.STREAMS_MAX': async ({ server, max }) => {
    const session = http2.connect(`http://127.0.0.1:${server.grpcPort}`);
    session.on('error', () => {});
    await once(session, 'remoteSettings');
    assert.equal(session.remoteSettings.maxConcurrentStreams, max);
    session.destroy();
  },
};
