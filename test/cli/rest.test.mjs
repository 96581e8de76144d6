// Mistral's dialect without its client: the examples of the guide, and streams whose peers go, stay or wait.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { runExamples } from './guide.mjs';
import { serve, temporaryDirectory } from './rondo.mjs';

const args = ['server', '--data', ':memory:', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'];

async function post(server, path, body) {
  const response = await fetch(`http://${server.http}/v1/workflows${path}`, { method: 'POST', body: JSON.stringify(body) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.status === 204 ? undefined : await response.json();
}

const start = (server, executionId, input) =>
  post(server, '/w/execute', { execution_id: executionId, deployment_name: 'q', input });
const terminate = (server, id) => post(server, `/executions/${id}/terminate`);

// A stream that is read by hand: `next()` resolves to the next event, or to undefined at the end.
async function open(server, id, query = '') {
  const response = await fetch(`http://${server.http}/v1/workflows/executions/${id}/stream${query}`);
  assert.equal(response.status, 200);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async () => {
    for (;;) {
      const found = /^(.*?)\n\n/s.exec(text);
      if (found) {
        text = text.slice(found[0].length);
        if (found[1].startsWith(':')) continue;
        const fields = Object.fromEntries(found[1].split('\n').map((line) => line.split(/: (.*)/s)));
        return { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
      }
      const { value, done } = await reader.read();
      if (done) return undefined;
      text += value;
    }
  };
  return { next, cancel: () => reader.cancel() };
}

test('the examples of the guide do what it says', async (t) => {
  await runExamples(await serve(t, args), 'mistral.md', 15);
});

test('a stream waits for what happens, and ends with the execution', async (t) => {
  const server = await serve(t, args);
  await start(server, 'e', { big: 'x'.repeat(1_000_000) });
  const stream = await open(server, 'e');
  const first = await stream.next();
  assert.equal(first.event, 'WORKFLOW_EXECUTION_STARTED');
  assert.equal(first.data.data.attributes.input.value.big.length, 1_000_000);
  const waiting = stream.next();
  await terminate(server, 'e');
  assert.equal((await waiting).event, 'WORKFLOW_EXECUTION_FAILED');
  assert.equal(await stream.next(), undefined);
  assert.equal((await server.stop()).code, 0);
});

test('a server that stops ends its streams, and they go on where they were', async (t) => {
  const data = join(temporaryDirectory(t), 'rondo.db');
  const own = ['server', '--data', data, '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'];
  const before = await serve(t, own);
  await start(before, 'e');
  const stream = await open(before, 'e');
  const first = await stream.next();
  const rest = stream.next();
  assert.equal((await before.stop()).code, 0);
  assert.equal(await rest, undefined); // and not an error: it was ended, not cut off
  const after = await serve(t, own);
  const again = await open(after, 'e', `?last_event_id=${first.id}`);
  const next = again.next();
  await terminate(after, 'e');
  assert.equal((await next).event, 'WORKFLOW_EXECUTION_FAILED');
  assert.equal(await again.next(), undefined);
});

test('peers that leave, and peers that do not read', async (t) => {
  const server = await serve(t, args);
  await start(server, 'small');
  await start(server, 'large', 'x'.repeat(1_500_000));
  const [host, port] = server.http.split(':');
  const sockets = [];
  for (let i = 0; i < 40; i++) {
    const socket = connect(Number(port), host);
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    socket.write(`GET /v1/workflows/executions/${i % 2 ? 'small' : 'large'}/stream HTTP/1.1\r\nHost: ${server.http}\r\n\r\n`);
    if (i % 4 < 2) socket.pause();
    else await once(socket, 'data');
    sockets.push(socket);
  }
  for (const socket of sockets.slice(0, 20)) socket.destroy();
  const stream = await open(server, 'small');
  await stream.next();
  await stream.cancel();
  for (const socket of sockets.slice(20, 30)) socket.resetAndDestroy();
  await terminate(server, 'small');
  await terminate(server, 'large');
  const last = await open(server, 'large');
  assert.equal((await last.next()).event, 'WORKFLOW_EXECUTION_STARTED');
  assert.equal((await last.next()).event, 'WORKFLOW_EXECUTION_FAILED');
  for (const socket of sockets) socket.destroy();
  assert.equal((await server.stop()).code, 0);
  assert.doesNotMatch(server.stderr(), /Sanitizer|runtime error/);
});

test('streams leave room for others', async (t) => {
  const server = await serve(t, args);
  await start(server, 'e');
  const streams = [];
  for (let i = 0; i < 64; i++) streams.push(await open(server, 'e'));
  const refused = await fetch(`http://${server.http}/v1/workflows/executions/e/stream`);
  assert.equal(refused.status, 429);
  assert.match((await refused.json()).detail, /64 streams/);
  await streams.pop().cancel();
  for (;;) {
    const response = await fetch(`http://${server.http}/v1/workflows/executions/e/stream`);
    if (response.status === 200) break;
    assert.equal(response.status, 429);
  }
  await terminate(server, 'e');
  for (const stream of streams) while (await stream.next());
  assert.equal((await server.stop()).code, 0);
});

test('HEAD of a stream is answered at once, and the connection goes on', async (t) => {
  const server = await serve(t, args);
  await start(server, 'e');
  const [host, port] = server.http.split(':');
  const socket = connect(Number(port), host);
  socket.write(`HEAD /v1/workflows/executions/e/stream HTTP/1.1\r\nHost: ${server.http}\r\n\r\n`);
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${server.http}\r\nConnection: close\r\n\r\n`);
  const [head, health, body] = (await text(socket)).split('\r\n\r\n');
  assert.match(head, /^HTTP\/1.1 200 [^]*\r\nContent-Type: text\/event-stream/);
  assert.match(health, /^HTTP\/1.1 200 /);
  assert.deepEqual(JSON.parse(body), { status: 'ok' });
  assert.equal((await server.stop()).code, 0);
});

// Only its quotes were looked at when it was set.
test('a search attribute that is no JSON is shown as text', async (t) => {
  const server = await serve(t, ['server', 'start-dev', '--port', '0', '--http-port', '0', '--search-attribute', 'City=Keyword']);
  for (const [i, data] of ['"Rome"', '"a","b":"c"', '"\\x"', '"\n"', ' "Oslo" '].entries()) {
    const metadata = { encoding: btoa('json/plain'), type: btoa('Keyword') };
    const body = {
      workflowType: { name: 'w' },
      taskQueue: { name: 'q' },
      searchAttributes: { indexedFields: { City: { metadata, data: btoa(data) } } },
    };
    const url = `http://${server.http}/api/v1/namespaces/default/workflows/e${i}`;
    assert.equal((await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status, 200);
    const seen = await fetch(`http://${server.http}/v1/workflows/executions/e${i}?include_search_keys=true`);
    const keys = (await seen.json()).search_keys;
    assert.deepEqual(keys, { City: { 0: 'Rome', 4: 'Oslo' }[i] ?? data });
  }
});

test('a body of many small parts is refused, and costs little', async (t) => {
  const server = await serve(t, args);
  const send = async (part, count) => {
    const body = `{"workflow_identifier":"w","deployment_name":"q","schedule":{"input":1,"calendars":[${Array(count).fill(part)}]}}`;
    const response = await fetch(`http://${server.http}/v1/workflows/schedules`, { method: 'POST', body });
    return [response.status, (await response.json()).detail?.at?.(-1)?.type];
  };
  assert.deepEqual(await send('{}', 10_001), [422, 'too_long']);
  assert.deepEqual(await send('{}', 1_000_000), [422, 'too_large']);
  assert.deepEqual(await send('{"hour":[{"start":1}]}', 100_000), [422, 'too_large']);
  assert.equal((await server.stop()).code, 0);
});
