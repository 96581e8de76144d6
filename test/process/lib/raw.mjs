// Peers that own their socket: calls over gRPC and HTTP/1.1 that can be left in every way a connection can end.

import http2 from 'node:http2';
import net from 'node:net';
import { once } from 'node:events';

// What a gRPC message is on the wire: a flag, its length, its bytes.
export function frame(message) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export function grpcHeaders(path, more = {}) {
  return { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...more };
}

async function dial(port) {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

// An HTTP/2 connection and the socket under it.
export class GrpcPeer {
  static async connect(server, settings = {}) {
    const peer = new this();
    peer.socket = await dial(server.grpcPort);
    peer.session = http2.connect(`http://127.0.0.1:${server.grpcPort}`, { createConnection: () => peer.socket, settings });
    peer.session.on('error', () => {});
    await once(peer.session, 'remoteSettings');
    return peer;
  }

  // A call whose request is complete. Its outcome is { headers, status, code }: code is that of a reset.
  call(path, message, headers = {}) {
    const stream = this.session.request(grpcHeaders(path, headers));
    const outcome = new Promise((resolve) => {
      const seen = {};
      stream.on('error', () => {});
      stream.on('response', (h) => Object.assign(seen, { headers: h, status: h['grpc-status'] }));
      stream.on('trailers', (t) => Object.assign(seen, { status: t['grpc-status'] ?? seen.status }));
      stream.on('close', () => resolve({ ...seen, code: stream.rstCode }));
    });
    stream.end(frame(message));
    return { stream, outcome };
  }

  close() {
    this.session.destroy();
    this.socket.destroy();
  }
}

// An HTTP/1.1 connection that has sent something. `text` is what came back so far.
export class HttpPeer {
  static async connect(server, bytes = '') {
    const peer = new this();
    peer.socket = await dial(server.httpPort);
    peer.text = '';
    peer.isEnded = false;
    peer.socket.on('data', (data) => (peer.text += data));
    peer.socket.on('end', () => (peer.isEnded = true));
    if (bytes) peer.socket.write(bytes);
    return peer;
  }

  close() {
    this.socket.destroy();
  }
}

export function httpRequest(method, path, body) {
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${length}\r\n${body ?? ''}`;
}

// How a peer leaves. Silence is a peer that stays connected, reads nothing and says nothing.
export const departures = {
  FIN: (socket) => socket.destroy(),
  RST: (socket) => socket.resetAndDestroy(),
  'half-close': (socket) => socket.end(),
  silence: (socket) => socket.pause(),
};

// The samples of a metric: { 'label="value"': number }.
export async function metric(server, name) {
  const text = await (await fetch(`${server.httpAddress}/metrics`, { headers: { connection: 'close' } })).text();
  const samples = {};
  for (const line of text.split('\n')) {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match && match[1] === name) samples[match[2] ?? ''] = Number(match[3]);
  }
  return samples;
}

// How many calls have ended with this code, of all methods or of one.
export async function countEnded(server, code, method) {
  const samples = await metric(server, 'rondo_requests_total');
  return Object.entries(samples)
    .filter(([labels]) => labels.includes(`code="${code}"`) && (!method || labels.includes(`method="${method}"`)))
    .reduce((sum, [, n]) => sum + n, 0);
}
