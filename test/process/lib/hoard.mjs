// Peers that make the server hold as much as each of its bounds allows, in frames made by hand: a client library
// would need more memory for this than the server.

import net from 'node:net';
import { once } from 'node:events';
import { frame } from './raw.mjs';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const [DATA, HEADERS, SETTINGS] = [0, 1, 4];
const [END_STREAM, END_HEADERS] = [1, 4];
export const STREAMS_MAX = 990; // a few less than one connection may have
const WINDOW_BYTES = 16_384; // what a stream may send before the server has asked for more

function h2Frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

// An HPACK integer in a prefix of so many bits.
function hpackInteger(value, bits, first) {
  const max = 2 ** bits - 1;
  if (value < max) return Buffer.from([first | value]);
  const bytes = [first | max];
  for (value -= max; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}

const hpackText = (text) => Buffer.concat([hpackInteger(text.length, 7, 0), Buffer.from(text)]);
// A header that enters the table, so that each further one is a byte.
const hpackIndexed = (name, value) => Buffer.concat([Buffer.from([0x40]), hpackText(name), hpackText(value)]);
const hpackPath = (path) => Buffer.concat([Buffer.from([0x04]), hpackText(path)]);
const POST_HTTP = Buffer.concat([Buffer.from([0x83, 0x86, 0x01]), hpackText('x')]); // :method, :scheme, :authority
const LAST_INDEXED = 0xbe; // the header that entered the table last
const GRPC = Buffer.concat([Buffer.from([0x0f, 0x10]), hpackText('application/grpc')]); // content-type

async function dial(port) {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

// A connection that has sent these pieces and reads nothing; it waits while the kernel takes no more.
async function sendAll(port, pieces, { reads = false } = {}) {
  const socket = await dial(port);
  if (reads) socket.resume();
  else socket.pause();
  for (const piece of pieces) {
    if (socket.destroyed) break;
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => {}), once(socket, 'close')]);
  }
  return socket;
}

// The settings say that the peer takes no byte of an answer, when `window` is 0.
function greeting(window) {
  const entry = Buffer.alloc(6);
  entry.writeUInt16BE(4, 0); // INITIAL_WINDOW_SIZE
  entry.writeUInt32BE(window, 2);
  return Buffer.concat([PREFACE, h2Frame(SETTINGS, 0, 0, entry)]);
}

function* streams(count, makeFrames, window = 65_535) {
  yield greeting(window);
  for (let i = 0; i < count; i++) yield Buffer.concat(makeFrames(2 * i + 1, i === 0));
}

// Streams whose headers unfold to 15 KiB each, of which a few bytes are sent; their bodies never come.
export const hoardHeaders = (server, count = STREAMS_MAX) =>
  sendAll(
    server.grpcPort,
    streams(count, (id, isFirst) => {
      const filler = hpackIndexed('x-filler', 'a'.repeat(3_600));
      const again = Buffer.alloc(isFirst ? 3 : 4, LAST_INDEXED);
      const block = [POST_HTTP, hpackPath('/x'), GRPC, ...(isFirst ? [filler] : []), again];
      return [h2Frame(HEADERS, END_HEADERS, id, Buffer.concat(block))];
    }),
    { reads: true },
  );

// The path is what the server must keep: 4 KiB of it for each stream.
export const hoardPaths = (server, count = STREAMS_MAX) =>
  sendAll(
    server.grpcPort,
    streams(count, (id, isFirst) => {
      const path = Buffer.concat([Buffer.from([0x44]), hpackText(`/${'p'.repeat(3_900)}`)]);
      const block = [POST_HTTP, isFirst ? path : Buffer.from([LAST_INDEXED]), GRPC];
      return [h2Frame(HEADERS, END_HEADERS, id, Buffer.concat(block))];
    }),
    { reads: true },
  );

// Bodies that stop where the window ends.
export const hoardBodies = (server, count = STREAMS_MAX) =>
  sendAll(
    server.grpcPort,
    streams(count, (id) => [
      h2Frame(HEADERS, END_HEADERS, id, Buffer.concat([POST_HTTP, hpackPath('/x'), GRPC])),
      h2Frame(DATA, 0, id, Buffer.alloc(WINDOW_BYTES)),
    ]),
    { reads: true },
  );

// Whole calls, whose answers are not read when `window` is 0.
export const hoardCalls = (server, path, message, { count = STREAMS_MAX, window = 0 } = {}) =>
  sendAll(
    server.grpcPort,
    streams(
      count,
      (id) => [
        h2Frame(HEADERS, END_HEADERS, id, Buffer.concat([POST_HTTP, hpackPath(path), GRPC])),
        h2Frame(DATA, END_STREAM, id, frame(message)),
      ],
      window,
    ),
    { reads: true },
  );

export const hoardIdle = (server) => sendAll(server.grpcPort, [greeting(65_535)], { reads: true });

// A body of which the last byte does not come.
export const hoardHttpBody = (server, bytes = 4 << 20) => {
  const head = `POST /api/v1/namespaces/default/workflows/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes}\r\n\r\n`;
  return sendAll(server.httpPort, [Buffer.from(head), Buffer.alloc(bytes - 1, 0x20)]);
};

// The same in chunks, whose end is not known.
export const hoardHttpChunks = (server, bytes = 4 << 20) => {
  const head = 'POST /api/v1/namespaces/default/workflows/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
  return sendAll(server.httpPort, [Buffer.from(`${head}${(bytes - 1).toString(16)}\r\n`), Buffer.alloc(bytes - 1, 0x20), Buffer.from('\r\n')]);
};

// An answer that is not read.
export const hoardHttpAnswer = (server, path) => sendAll(server.httpPort, [Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)]);
