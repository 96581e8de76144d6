// The gRPC edge, byte by byte over node's HTTP/2: envelopes, encodings, deadlines, statuses.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { serve } from './rondo.mjs';

const workflowService = 'temporal.api.workflowservice.v1.WorkflowService';
const systemInfo = `/${workflowService}/GetSystemInfo`;
const poll = `/${workflowService}/PollWorkflowTaskQueue`;

function frame(message = Buffer.alloc(0), flag = 0) {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

// A length-delimited protobuf field.
const field = (number, content) => {
  const bytes = Buffer.from(content);
  const length = [];
  for (let rest = bytes.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
};

async function start(t, args = []) {
  const server = await serve(t, ['server', 'start-dev', '--port', '0', '--headless', ...args]);
  const session = http2.connect(`http://${server.grpc}`).on('error', () => {});
  t.after(() => session.destroy());
  return { ...server, session };
}

function open(session, path, headers = {}, body = frame()) {
  const all = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers };
  const stream = session.request(all, { endStream: all[':method'] === 'GET' });
  if (all[':method'] !== 'GET') stream.end(body);
  return stream;
}

async function call(session, path, headers, body) {
  const stream = open(session, path, headers, body);
  const result = { headers: {}, trailers: {}, isTrailersOnly: false };
  const chunks = [];
  stream.on('response', (got, flags) => {
    result.headers = { ...got };
    result.isTrailersOnly = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
  });
  stream.on('trailers', (got) => (result.trailers = { ...got }));
  stream.on('data', (chunk) => chunks.push(chunk));
  await once(stream, 'close');
  result.body = Buffer.concat(chunks);
  result.status = Number(result.trailers['grpc-status'] ?? result.headers['grpc-status']);
  result.message = decodeURIComponent(result.trailers['grpc-message'] ?? result.headers['grpc-message'] ?? '');
  return result;
}

test('a call has headers, one message and trailers', async (t) => {
  const { session } = await start(t);
  const { headers, body, trailers, status } = await call(session, systemInfo);
  assert.equal(headers[':status'], 200);
  assert.equal(headers['content-type'], 'application/grpc');
  assert.equal(headers['grpc-status'], undefined);
  assert.equal(trailers['grpc-status'], '0');
  assert.equal(status, 0);
  assert.equal(body[0], 0);
  assert.equal(body.readUInt32BE(1), body.length - 5);
  assert.ok(body.includes(field(1, '1.32.0')));
});

test('errors are one HEADERS frame', async (t) => {
  const { session } = await start(t);
  const cases = [
    ['/x.Y/Z', 12, 'unknown service x.Y'],
    [`/${workflowService}/Nope`, 12, `unknown method Nope for service ${workflowService}`],
    [`/${workflowService}/DescribeDeployment`, 12, 'method DescribeDeployment is not implemented by this server yet'],
    ['/', 12, 'malformed method name: "/"'],
  ];
  for (const [path, status, message] of cases) {
    const got = await call(session, path);
    assert.deepEqual([got.status, got.message, got.isTrailersOnly], [status, message, true]);
    assert.equal(got.headers['content-type'], 'application/grpc');
  }
});

test('typed errors carry their detail', async (t) => {
  const { session } = await start(t);
  const path = `/${workflowService}/DescribeNamespace`;
  const got = await call(session, path, {}, frame(field(1, 'no-such-namespace-ü')));
  assert.equal(got.status, 5);
  const detail = Buffer.from(got.headers['grpc-status-details-bin'], 'base64');
  assert.ok(detail.includes('type.googleapis.com/temporal.api.errordetails.v1.NamespaceNotFoundFailure'));
  assert.ok(detail.includes('no-such-namespace-ü'));
});

test('requests may be compressed, and unknown encodings are named', async (t) => {
  const { session } = await start(t);
  const gzip = { 'grpc-encoding': 'gzip' };
  assert.equal((await call(session, systemInfo, gzip, frame(gzipSync(Buffer.alloc(0)), 1))).status, 0);
  assert.equal((await call(session, systemInfo, gzip, frame())).status, 0);
  const described = await call(session, `/${workflowService}/DescribeNamespace`, gzip,
    frame(gzipSync(field(1, 'default')), 1));
  assert.equal(described.status, 0);
  assert.ok(described.body.includes('default'));
  const unknown = await call(session, systemInfo, { 'grpc-encoding': 'snappy' }, frame(Buffer.alloc(3), 1));
  assert.equal(unknown.status, 12);
  assert.equal(unknown.headers['grpc-accept-encoding'], 'identity,gzip');
});

test('small responses stay as they are although the client takes gzip', async (t) => {
  const { session } = await start(t);
  const got = await call(session, systemInfo, { 'grpc-accept-encoding': 'identity,gzip' });
  assert.equal(got.headers['grpc-encoding'], undefined);
  assert.equal(got.body[0], 0);
});

test('what is not a gRPC request gets an HTTP status', async (t) => {
  const { session } = await start(t);
  const status = async (headers, body) => (await call(session, systemInfo, headers, body)).headers[':status'];
  assert.equal(await status({ 'content-type': 'application/json' }, '{}'), 415);
  assert.equal(await status({ 'content-type': 'application/grpc+json' }, '{}'), 415);
  assert.equal(await status({ 'content-type': 'application/grpcx' }), 415);
  assert.equal(await status({ ':method': 'GET' }), 405);
  assert.equal((await call(session, systemInfo, { 'content-type': 'application/grpc+proto' })).status, 0);
  assert.equal((await call(session, systemInfo, { 'content-type': 'application/grpc; x=y' })).status, 0);
});

test('broken envelopes and messages are invalid arguments', async (t) => {
  const { session } = await start(t);
  const bodies = [
    Buffer.alloc(0),
    frame().subarray(0, 3),
    frame(Buffer.alloc(10)).subarray(0, 9),
    Buffer.concat([frame(), frame()]),
    frame(Buffer.from([0xff, 0xff])),
    frame(Buffer.alloc(4), 1),
  ];
  for (const body of bodies) assert.equal((await call(session, systemInfo, {}, body)).status, 3, body.toString('hex'));
  const deep = Buffer.alloc(40_000, 0x0a);
  assert.equal((await call(session, `/${workflowService}/StartWorkflowExecution`, {}, frame(deep))).status, 3);
});

test('a message over the limit is refused with the text that SDKs recognise', async (t) => {
  const { session } = await start(t);
  const size = (4 << 20) + 1;
  // Workers know gRPC's status for this and fail their task. Clients would send the same again: for them it is final.
  for (const [method, status] of [['RespondWorkflowTaskCompleted', 8], ['SignalWorkflowExecution', 3]]) {
    const path = `/${workflowService}/${method}`;
    const plain = await call(session, path, {}, frame(Buffer.alloc(size)));
    assert.equal(plain.status, status);
    assert.equal(plain.message, `grpc: received message larger than max (${size} vs. ${4 << 20})`);
    const bomb = await call(session, path, { 'grpc-encoding': 'gzip' }, frame(gzipSync(Buffer.alloc(32 << 20)), 1));
    assert.equal(bomb.status, status);
    assert.match(bomb.message, /^grpc: received message after decompression larger than max/);
  }
});

test('deadlines in all six units', async (t) => {
  const { session } = await start(t);
  for (const unit of ['H', 'M', 'S', 'm', 'u', 'n'])
    assert.equal((await call(session, systemInfo, { 'grpc-timeout': `99999999${unit}` })).status, 0, unit);
  assert.equal((await call(session, systemInfo, { 'grpc-timeout': '0n' })).status, 4);
  for (const bad of ['5x', 'S', '123456789S', '-1S', ''])
    assert.equal((await call(session, systemInfo, { 'grpc-timeout': bad })).status, 3, bad);
});

const pollRequest = frame(Buffer.concat([field(1, 'default'), field(2, field(1, 'an-empty-queue'))]));

test('a poll is answered empty before its deadline', async (t) => {
  const { session } = await start(t);
  const got = await call(session, poll, { 'grpc-timeout': '1200m' }, pollRequest);
  assert.equal(got.status, 0);
});

test('parked polls are answered empty when the server stops', async (t) => {
  const server = await start(t, ['--log-level', 'info']);
  const polls = Array.from({ length: 300 }, () => call(server.session, poll, { 'grpc-timeout': '60S' }, pollRequest));
  // Requests of one connection are read in order, so all polls are parked when this is answered.
  assert.equal((await call(server.session, systemInfo)).status, 0);
  const stopped = server.stop();
  for (const got of await Promise.all(polls)) assert.equal(got.status, 0);
  assert.equal((await stopped).code, 0);
});

test('a cancelled poll leaves the connection usable', async (t) => {
  const { session } = await start(t);
  const streams = Array.from({ length: 50 }, () => open(session, poll, { 'grpc-timeout': '60S' }, pollRequest));
  assert.equal((await call(session, systemInfo)).status, 0);
  for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL);
  await Promise.all(streams.map((stream) => stream.closed || once(stream, 'close')));
  assert.equal((await call(session, systemInfo)).status, 0);
});

test('a task whose answer was never taken is offered again', async (t) => {
  const { session, grpc } = await start(t);
  const startRequest = [field(1, 'default'), field(2, 'lost-and-found'), field(3, field(1, 'kind')), field(4, field(1, 'q'))];
  const started = await call(session, `/${workflowService}/StartWorkflowExecution`, {}, frame(Buffer.concat(startRequest)));
  assert.equal(started.status, 0, started.message);
  const request = frame(Buffer.concat([field(1, 'default'), field(2, field(1, 'q'))]));
  // A window of zero bytes: the server may send headers, but not the message with the task.
  const closed = http2.connect(`http://${grpc}`, { settings: { initialWindowSize: 0 } }).on('error', () => {});
  await once(closed, 'remoteSettings');
  const stream = open(closed, poll, { 'grpc-timeout': '60S' }, request).on('error', () => {});
  await once(stream, 'response');
  closed.destroy();
  const got = await call(session, poll, { 'grpc-timeout': '8S' }, request);
  assert.equal(got.status, 0);
  assert.ok(got.body.includes('lost-and-found'));
});

test('a second signal does not wait for a client that takes nothing', async (t) => {
  const server = await start(t, ['--log-level', 'info']);
  const stuck = http2.connect(`http://${server.grpc}`, { settings: { initialWindowSize: 0 } }).on('error', () => {});
  t.after(() => stuck.destroy());
  await once(stuck, 'remoteSettings');
  await once(open(stuck, systemInfo).on('error', () => {}), 'response');
  const begin = process.hrtime.bigint();
  server.proc.kill('SIGTERM');
  while (!server.stderr().includes('server_stopping')) await once(server.proc.stderr, 'data');
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.ok(process.hrtime.bigint() - begin < 8_000_000_000n, 'it waited for its grace period of 10 s');
});

// Queries wait for a worker, which may be on the same connection: what it has to say must get in.
test('large calls that wait hold up no other', async (t) => {
  const { session } = await start(t);
  const named = (name) => field(1, name);
  const input = (size) => field(1, field(2, Buffer.alloc(size)));
  const begun = [field(1, 'default'), field(2, 'w'), field(3, named('W')), field(4, named('q')), field(10, 'r')];
  assert.equal((await call(session, `/${workflowService}/StartWorkflowExecution`, {}, frame(Buffer.concat(begun)))).status, 0);
  const query = [field(1, 'default'), field(2, named('w')), field(3, Buffer.concat([named('Q'), field(2, input(1_900_000))]))];
  const waiting = Array.from({ length: 6 }, () =>
    open(session, `/${workflowService}/QueryWorkflow`, {}, frame(Buffer.concat(query))).on('error', () => {}));
  await Promise.all(waiting.map((stream) => once(stream, 'finish')));
  const signal = [field(1, 'default'), field(2, named('w')), field(3, 'S'), field(4, input(100_000))];
  const signalled = await call(session, `/${workflowService}/SignalWorkflowExecution`, {}, frame(Buffer.concat(signal)));
  assert.equal(signalled.status, 0);
  assert.ok(waiting.every((stream) => !stream.closed), 'a query did not wait');
});

// What counts for the list: names, values, and 32 bytes for each. Many clients take no answer with more than 16 KiB.
test('the detail of an error is sent if clients take it', async (t) => {
  const { session } = await start(t);
  const ask = (method, ...fields) => call(session, `/${workflowService}/${method}`, {}, frame(Buffer.concat(fields)));
  const [namespace, named] = [field(1, 'default'), (name) => field(1, name)];
  const token = async () => {
    const { body } = await ask('PollWorkflowTaskQueue', namespace, field(2, named('q')));
    assert.equal(body[5], (1 << 3) | 2);
    assert.ok(body[6] < 128);
    return field(1, body.subarray(7, 7 + body[6]));
  };
  await ask('StartWorkflowExecution', namespace, field(2, 'w'), field(3, named('W')), field(4, named('q')), field(10, 'r'));
  assert.equal((await ask('RespondWorkflowTaskCompleted', await token(), field(9, 'default'))).status, 0);
  const failedQuery = async (size) => {
    const query = ask('QueryWorkflow', namespace, field(2, named('w')), field(3, named('Q')));
    const failure = field(7, Buffer.concat([named('no'), field(3, 'x'.repeat(size))]));
    const answer = [await token(), Buffer.from([(2 << 3) | 0, 2]), field(4, 'no'), field(6, 'default'), failure];
    assert.equal((await ask('RespondQueryTaskCompleted', ...answer)).status, 0);
    const { status, headers } = await query;
    assert.equal(status, 3);
    const fields = Object.entries(headers).filter(([, value]) => typeof value !== 'object');
    const bytes = fields.reduce((sum, [name, value]) => sum + name.length + String(value).length + 32, 0);
    assert.ok(bytes <= 16384, `${size}: ${bytes}`);
    return headers['grpc-status-details-bin'] !== undefined;
  };
  const sent = [];
  for (const size of [10, 9_000, 11_900, 12_000, 12_100, 12_150, 12_200, 20_000, 100_000]) sent.push(await failedQuery(size));
  assert.deepEqual([sent.slice(0, 2), sent.slice(-3)], [[true, true], [false, false, false]]);
});

test('health', async (t) => {
  const { session } = await start(t);
  const check = (service) => call(session, '/grpc.health.v1.Health/Check', {}, frame(service ? field(1, service) : undefined));
  for (const service of ['', workflowService]) {
    const got = await check(service);
    assert.equal(got.status, 0);
    assert.deepEqual(got.body, frame(Buffer.from([0x08, 1])));
  }
  assert.equal((await check('no.such.Service')).status, 5);
});

test('health is watched until the server stops', async (t) => {
  const { session, proc } = await start(t);
  const watch = (service) => {
    const stream = open(session, '/grpc.health.v1.Health/Watch', {}, frame(service ? field(1, service) : undefined));
    const seen = { stream, body: Buffer.alloc(0), status: undefined };
    stream.on('data', (bytes) => void (seen.body = Buffer.concat([seen.body, bytes])));
    stream.on('trailers', (trailers) => void (seen.status = Number(trailers['grpc-status'])));
    seen.first = once(stream, 'data');
    seen.closed = once(stream, 'close');
    return seen;
  };
  const status = (...numbers) => Buffer.concat(numbers.map((number) => frame(Buffer.from([0x08, number]))));
  const [all, one, unknown, left] = [watch(''), watch(workflowService), watch('no.such.Service'), watch('')];
  await Promise.all([all, one, unknown, left].map((each) => each.first));
  assert.deepEqual(all.body, status(1));
  assert.deepEqual(unknown.body, status(3));
  left.stream.close(http2.constants.NGHTTP2_CANCEL);
  await left.closed;
  // Others are served meanwhile, on the same connection.
  assert.equal((await call(session, systemInfo)).status, 0);
  assert.equal(one.status, undefined);
  proc.kill('SIGTERM');
  await Promise.all([all, one, unknown].map((each) => each.closed));
  assert.deepEqual([all.body, one.body, unknown.body], [status(1, 2), status(1, 2), status(3)]);
  assert.deepEqual([all.status, one.status, unknown.status], [14, 14, 14]);
});

// A stream of requests: `ask` sends one and gives its answer, without its prefix.
function converse(session, path, headers = {}) {
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers });
  let seen = Buffer.alloc(0);
  const waiting = [];
  const talk = { stream, status: undefined, message: '', closed: once(stream, 'close') };
  const note = (got) => {
    if (got['grpc-status'] === undefined) return;
    talk.status = Number(got['grpc-status']);
    talk.message = decodeURIComponent(got['grpc-message'] ?? '');
  };
  stream.on('response', note);
  stream.on('trailers', note);
  stream.on('data', (bytes) => {
    seen = Buffer.concat([seen, bytes]);
    while (seen.length >= 5 && seen.length >= 5 + seen.readUInt32BE(1)) {
      const end = 5 + seen.readUInt32BE(1);
      waiting.shift()(seen.subarray(5, end));
      seen = seen.subarray(end);
    }
  });
  talk.hear = () => new Promise((resolve) => void waiting.push(resolve));
  talk.ask = (number, text) => {
    stream.write(frame(field(number, text)));
    return talk.hear();
  };
  return talk;
}

const [FILE, SYMBOL, EXTENSIONS, SERVICES] = [3, 4, 6, 7]; // of ServerReflectionRequest
for (const version of ['v1', 'v1alpha']) {
  test(`reflection ${version} answers each request of its stream`, async (t) => {
    const { session } = await start(t);
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const talk = converse(session, path);
    const services = await talk.ask(SERVICES, '*');
    for (const name of [workflowService, 'rondo.api.v1.ScheduleService', `grpc.reflection.${version}.ServerReflection`])
      assert.ok(services.includes(field(1, name)), name);
    const file = await talk.ask(SYMBOL, `${workflowService}.GetSystemInfo`);
    assert.ok(file.includes(field(1, 'workflowservice.proto')));
    assert.ok(file.includes(field(1, 'google/protobuf/timestamp.proto')), 'with what it imports');
    assert.ok(!file.includes('protobuf-c'));
    assert.ok((await talk.ask(FILE, 'google/protobuf/duration.proto')).includes('google.protobuf'));
    assert.ok((await talk.ask(SYMBOL, 'no.Such')).includes(field(2, 'Symbol not found: no.Such')));
    assert.ok((await talk.ask(FILE, 'no.proto')).includes(field(2, 'File not found: no.proto')));
    assert.ok((await talk.ask(EXTENSIONS, 'google.protobuf.Duration')).includes(field(5, field(1, 'google.protobuf.Duration'))));
    assert.ok((await talk.ask(EXTENSIONS, 'no.Such')).includes('Type not found: no.Such'));

    // In pieces, and several at once.
    const both = Buffer.concat([frame(field(FILE, 'a.proto')), frame(field(FILE, 'b.proto'))]);
    const answers = [talk.hear(), talk.hear()];
    for (const byte of both) talk.stream.write(Buffer.from([byte]));
    assert.ok((await answers[0]).includes('not found: a.proto'));
    assert.ok((await answers[1]).includes('not found: b.proto'));
    assert.equal((await call(session, systemInfo)).status, 0);
    talk.stream.end();
    await talk.closed;
    assert.equal(talk.status, 0);
  });
}

test('reflection ends with what is wrong, or with the server', async (t) => {
  const { session, proc } = await start(t);
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const ended = async (bytes, headers) => {
    const talk = converse(session, path, headers);
    talk.stream.end(bytes);
    await talk.closed;
    return [talk.status, talk.message];
  };
  assert.deepEqual(await ended(Buffer.alloc(0)), [0, '']);
  assert.deepEqual(await ended(frame(field(SERVICES, '')).subarray(0, 6)), [3, 'the last message is not complete']);
  assert.equal((await ended(frame(Buffer.from([0xff]))))[0], 3);
  assert.match((await ended(frame(Buffer.alloc(70_000))))[1], /larger than max/);
  assert.equal((await ended(frame(), { 'grpc-encoding': 'snappy' }))[0], 12);
  const zipped = converse(session, path, { 'grpc-encoding': 'gzip' });
  zipped.stream.write(frame(gzipSync(field(SERVICES, '')), 1));
  assert.ok((await zipped.hear()).includes(workflowService));
  const left = converse(session, path);
  await left.ask(SERVICES, '');
  left.stream.close(http2.constants.NGHTTP2_CANCEL);
  await left.closed;
  proc.kill('SIGTERM');
  await zipped.closed;
  assert.equal(zipped.status, 14);
});
