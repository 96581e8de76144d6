// Temporal's HTTP API, request by request and without an SDK: paths, bodies, errors, waiting, who may call.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runExamples } from './guide.mjs';
import { serve, temporaryDirectory } from './rondo.mjs';

const args = ['server', '--data', ':memory:', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'];
const WORKFLOWS = '/api/v1/namespaces/default/workflows';
const START = { workflowType: { name: 'greet' }, taskQueue: { name: 'nobody' } };
const ROUTES = fileURLToPath(new URL('../../src/serve/routes.def', import.meta.url));

// { status, headers, text, body }; a body that is no string is sent as JSON.
async function call(server, method, path, body, options = {}) {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`http://${server.http}${path}`, { method, body: text, ...options });
  const answer = await response.text();
  assert.equal(response.headers.get('content-type'), 'application/json');
  return { status: response.status, headers: response.headers, text: answer, body: answer ? JSON.parse(answer) : {} };
}

async function ok(server, method, path, body, options) {
  const answer = await call(server, method, path, body, options);
  assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
  return answer.body;
}

async function refused(server, method, path, body, status, code, message) {
  const answer = await call(server, method, path, body);
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  assert.equal(answer.body.code, code);
  assert.match(answer.body.message, message);
  return answer;
}

test('every path of the table is there, and takes only its methods', async (t) => {
  const server = await serve(t, args);
  const verbs = new Map();
  for (const [, verb, path] of readFileSync(ROUTES, 'utf8').matchAll(/^ROUTE\(\w+, \w+, +(\w+), +"([^"]+)"/gm)) {
    const url = path.replace(/\{[^}]+\}/g, 'some%2Fthing');
    verbs.set(url, [...(verbs.get(url) ?? []), verb]);
  }
  assert.ok(verbs.size > 150);
  for (const [url, taken] of verbs) {
    for (const verb of ['GET', 'POST', 'DELETE', 'PUT', 'PATCH']) {
      const { status, headers, body } = await call(server, verb, url);
      if (taken.includes(verb)) {
        assert.notEqual(status, 405, url);
        assert.notEqual(body.message, 'There is nothing at this path.', url);
      } else {
        assert.equal(status, 405, `${verb} ${url}`);
        for (const each of taken) assert.ok(headers.get('allow').split(', ').includes(each), url);
      }
    }
  }
  assert.equal((await server.stop()).code, 0);
});

test('a workflow is started, seen, signalled and ended over HTTP', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/${encodeURIComponent('order 7/é')}`;
  const input = [1.5, { b: 1, a: ['x', null] }, null];
  const started = await ok(server, 'POST', id, { ...START, input, memo: { fields: { why: 'test' } }, workflowId: 'no' });
  assert.equal(started.started, true);
  const { events } = (await ok(server, 'GET', `${id}/history?maximumPageSize=1`)).history;
  assert.equal(events.length, 1);
  const first = events[0].workflowExecutionStartedEventAttributes;
  assert.deepEqual(first.input, [...input.slice(0, 2), { metadata: { encoding: btoa('binary/null') } }]);
  assert.equal(events[0].eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED');
  assert.match(events[0].eventTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z$/);

  const seen = (await ok(server, 'GET', `${id}?execution.runId=${started.runId}`)).workflowExecutionInfo;
  assert.deepEqual(seen.execution, { workflowId: 'order 7/é', runId: started.runId });
  assert.equal(seen.status, 'WORKFLOW_EXECUTION_STATUS_RUNNING');
  assert.deepEqual(seen.memo, { fields: { why: 'test' } });

  await ok(server, 'POST', `${id}/signal/hurry`, { input: ['now'] });
  await ok(server, 'POST', `${id}/terminate`);
  const query = encodeURIComponent("WorkflowId = 'order 7/é'");
  const listed = await ok(server, 'GET', `${WORKFLOWS}?query=${query}&page_size=5`);
  assert.deepEqual(listed.executions.map((each) => each.status), ['WORKFLOW_EXECUTION_STATUS_TERMINATED']);
  assert.deepEqual(await ok(server, 'GET', `/namespaces/default/workflow-count?query=${query}`), { count: '1' });
});

test('payloads come in shorthand or in full, as asked', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/w`;
  const full = (text) => ({ metadata: { encoding: btoa('json/plain') }, data: btoa(text) });
  const text = '{"taskQueue":{"name":"q"},"workflowType":{"name":"t"},"input":[1.10, 12345678901234567890,{"a" : 1}]}';
  await ok(server, 'POST', id, text);
  const inputOf = async (query, options) => {
    const answer = await call(server, 'GET', `${id}/history?maximumPageSize=1${query}`, undefined, options);
    return /"input":\s*(.*?),\s*"workflowTaskTimeout"/s.exec(answer.text)[1];
  };
  assert.equal(await inputOf(''), '[1.10,12345678901234567890,{"a":1}]');
  const expected = JSON.stringify({ payloads: [full('1.10'), full('12345678901234567890'), full('{"a":1}')] });
  assert.equal(await inputOf('&noPayloadShorthand'), expected);
  const headers = { Accept: 'application/json+no-payload-shorthand' };
  assert.equal(await inputOf('', { headers }), expected);
  assert.match(await inputOf('&pretty'), /^\[\n +1\.10,\n +12345678901234567890,\n +\{\n +"a": 1\n +\}\n +\]$/);

  const strict = { headers: { 'Content-Type': 'application/json+no-payload-shorthand' } };
  const answer = await call(server, 'POST', `${WORKFLOWS}/v`, { ...START, input: [1] }, strict);
  assert.equal(answer.status, 400);
  assert.equal(answer.body.message, 'input: expected an object');
  await ok(server, 'POST', `${WORKFLOWS}/v`, { ...START, input: { payloads: [full('1')] } }, strict);
});

test('what is wrong is said with its place, and changes nothing', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/w`;
  const cases = [
    ['POST', id, { ...START, workflowType: { nam: 'x' } }, 400, 3, /^workflowType\.nam: unknown field$/],
    ['POST', id, '{"workflowType": {]}', 400, 3, /^workflowType: line 1, column 19: expected a name in quotes$/],
    ['POST', id, '[]', 400, 3, /^expected an object$/],
    ['POST', id, { ...START, cronSchedule: 5 }, 400, 3, /^cronSchedule: a string expected, not 5$/],
    ['POST', id, { ...START, workflowRunTimeout: '5 min' }, 400, 3, /^workflowRunTimeout: a duration in seconds/],
    ['POST', id, `{"memo":{"fields":{"a":1,"a":2}}}`, 400, 3, /^memo\.fields: the key "a" is given twice$/],
    ['POST', id, {}, 400, 3, /WorkflowType/],
    ['POST', '/api/v1/namespaces/default/workflows/%zz', START, 400, 3, /'%' without two hexadecimal digits/],
    ['POST', '/api/v1/namespaces/default/workflows/%ff', START, 400, 3, /not UTF-8/],
    ['POST', '/api/v1/namespaces/default/workflows/%00', START, 400, 3, /NUL/],
    ['GET', '/api/v1/namespaces/default/task-queues?limit=5', undefined, 400, 3, /^limit: unknown field$/],
    ['POST', '/api/v1/namespaces/default/crontabs/x?identity=me', {}, 400, 3, /^identity: this call takes its fields in the body/],
    ['GET', `${WORKFLOWS}?pageSize=x`, undefined, 400, 3, /^pageSize: a whole number expected, not x$/],
    ['GET', `${WORKFLOWS}?pageSize=2&pageSize=3`, undefined, 400, 3, /^pageSize: given twice$/],
    ['GET', `${WORKFLOWS}?query=%20AND`, undefined, 400, 3, /./],
    ['GET', `${WORKFLOWS}/missing`, undefined, 404, 5, /not found/],
    ['GET', '/api/v1/namespaces/nowhere', undefined, 404, 5, /nowhere is not found/],
    ['GET', '/api/v1/nothing', undefined, 404, 5, /^There is nothing at this path\.$/],
  ];
  for (const [method, path, body, ...expected] of cases) await refused(server, method, path, body, ...expected);
  assert.deepEqual(await ok(server, 'GET', '/api/v1/namespaces/default/workflow-count'), {});

  await ok(server, 'POST', id, START);
  const again = await refused(server, 'POST', id, START, 409, 6, /already running/);
  assert.match(again.body.details[0]['@type'], /WorkflowExecutionAlreadyStartedFailure$/);
  assert.match(again.body.details[0].runId, /^[0-9a-f-]{36}$/);
});

test('parameters that Temporal passes over are passed over', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/w`;
  await ok(server, 'POST', `${id}?identity=me&execution.runId=no-run-id&%zz`, START);
  const { executions } = await ok(server, 'GET', `${WORKFLOWS}?limit=5&namespace=other&pageSize=1`);
  assert.deepEqual(executions.map((each) => each.execution.workflowId), ['w']);
  assert.equal((await ok(server, 'GET', `${id}/history?execution.nope=1`)).history.events.length > 0, true);
  // The run that the parameter names is not the one: it is the body that counts.
  await ok(server, 'POST', `${id}/terminate?execution.runId=00000000-0000-4000-8000-000000000000`, {});
});

test('large requests are refused by what they are, not by what they look like', async (t) => {
  const server = await serve(t, args);
  const many = `{"input":[${'1,'.repeat(1_000_000)}1]}`; // two bytes each here, thirty on the wire
  await refused(server, 'POST', `${WORKFLOWS}/w`, many, 400, 3, /memory|more than/);
  await refused(server, 'POST', `${WORKFLOWS}/w`, `{"input":[${'['.repeat(400)}`, 400, 3, /nested too deeply/);
  assert.deepEqual(await ok(server, 'GET', '/healthz'), { status: 'ok' });
});

test('a request waits for what it asks for, or until its time is over', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/w`;
  await ok(server, 'POST', id, START);
  const page = await ok(server, 'GET', `${id}/history?waitNewEvent=true`);
  assert.equal(page.history.events.length, 2);
  const token = encodeURIComponent(page.nextPageToken);
  let isAnswered = false;
  const waiting = ok(server, 'GET', `${id}/history?waitNewEvent=true&nextPageToken=${token}`).finally(() => (isAnswered = true));
  await ok(server, 'GET', id);
  assert.equal(isAnswered, false);
  await ok(server, 'POST', `${id}/signal/go`);
  const { history } = await waiting;
  assert.deepEqual(history.events.map((each) => each.eventType), ['EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED']);

  const late = await call(server, 'GET', `${id}/history?waitNewEvent=true&historyEventFilterType=CloseEvent`, undefined, {
    headers: { 'Grpc-Timeout': '1500m' },
  });
  assert.equal(late.status, 200);
  assert.deepEqual(late.body.history, {});
  await ok(server, 'POST', `${id}/terminate`);
});

test('peers that go away while they wait make room for others', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/w`;
  await ok(server, 'POST', id, START);
  const { nextPageToken } = await ok(server, 'GET', `${id}/history?waitNewEvent=true`);
  const request = `GET ${id}/history?waitNewEvent=true&nextPageToken=${encodeURIComponent(nextPageToken)} HTTP/1.1\r\nHost: ${server.http}\r\n\r\n`;
  const [host, port] = server.http.split(':');
  for (let round = 0; round < 3; round++) {
    const peers = Array.from({ length: 60 }, () => connect(Number(port), host));
    await Promise.all(peers.map((peer) => once(peer, 'connect')));
    await Promise.all(peers.map((peer) => new Promise((done) => peer.write(request, done))));
    assert.deepEqual(await ok(server, 'GET', '/healthz'), { status: 'ok' });
    peers.forEach((peer) => peer.destroy());
    const left = `rondo_requests_total{method="GetWorkflowExecutionHistory",code="CANCELLED"} ${60 * (round + 1)}`;
    const deadline = Date.now() + 10_000;
    while (!(await (await fetch(`http://${server.http}/metrics`)).text()).includes(left)) assert.ok(Date.now() < deadline, left);
  }
  await ok(server, 'POST', `${id}/terminate`);
  assert.equal((await server.stop()).code, 0);
});

test('a stop answers those who wait', async (t) => {
  const server = await serve(t, args);
  const id = `${WORKFLOWS}/w`;
  await ok(server, 'POST', id, START);
  const { nextPageToken } = await ok(server, 'GET', `${id}/history?waitNewEvent=true`);
  const path = `${id}/history?waitNewEvent=true&nextPageToken=${encodeURIComponent(nextPageToken)}`;
  const waiting = Array.from({ length: 5 }, () => get(`http://${server.http}${path}`));
  const answers = waiting.map((request) => once(request, 'response'));
  // They are on their way when a later one is answered.
  await Promise.all(waiting.map((request) => once(request, 'finish')));
  await ok(server, 'GET', id);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  for (const [response] of await Promise.all(answers))
    assert.deepEqual([response.statusCode, (await json(response)).history], [200, {}]);
});

test('what was acknowledged is there after the server was killed', async (t) => {
  const data = join(temporaryDirectory(t), 'rondo.db');
  const onDisk = ['server', '--data', data, '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'];
  const first = await serve(t, onDisk);
  const { runId } = await ok(first, 'POST', `${WORKFLOWS}/w`, START);
  await ok(first, 'POST', `${WORKFLOWS}/w/signal/s`, { input: ['kept'] });
  await first.stop('SIGKILL');
  const second = await serve(t, onDisk);
  const { events } = (await ok(second, 'GET', `${WORKFLOWS}/w/history?execution.runId=${runId}`)).history;
  assert.deepEqual(events.map((each) => each.eventId), ['1', '2', '3']);
  assert.deepEqual(events[2].workflowExecutionSignaledEventAttributes.input, ['kept']);
});

test('pages of other sites cannot call, and no header invites them', async (t) => {
  const server = await serve(t, args);
  const [host, port] = server.http.split(':');
  const ask = async (...lines) => {
    const socket = connect(Number(port), host);
    socket.write(`${['POST /api/v1/namespaces/default/workflows/w HTTP/1.1', ...lines].join('\r\n')}\r\nContent-Length: 0\r\n\r\n`);
    const [chunk] = await once(socket, 'data');
    socket.destroy();
    return chunk.toString();
  };
  assert.match(await ask(`Host: ${server.http}`, 'Origin: http://evil.example'), /^HTTP\/1.1 403 /);
  assert.match(await ask(`Host: ${server.http}`, 'Origin: null'), /^HTTP\/1.1 403 /);
  assert.match(await ask(`Host: ${server.http}`, `Origin: http://localhost:1${port}`), /^HTTP\/1.1 403 /);
  assert.match(await ask('Host: evil.example'), /^HTTP\/1.1 403 /);
  assert.match(await ask(`Host: ${server.http}`, `Origin: http://${server.http}`), /^HTTP\/1.1 400 /);
  assert.match(await ask(`Host: ${server.http}`, `Origin: https://${server.http}`), /^HTTP\/1.1 400 /);
  const { status, headers } = await call(server, 'OPTIONS', `${WORKFLOWS}/w`);
  assert.equal(status, 405);
  assert.equal(headers.get('access-control-allow-origin'), null);
});

test('pages that were invited can call, in the way that browsers ask for', async (t) => {
  const page = 'https://app.example.com';
  const server = await serve(t, [...args, '--cors-origin', page, '--cors-origin', 'http://localhost:3000']);
  const allowed = ({ headers }) => headers.get('access-control-allow-origin');
  const asked = { Origin: page, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'content-type' };
  const first = await call(server, 'OPTIONS', `${WORKFLOWS}/w`, undefined, { headers: asked });
  assert.equal(first.status, 204);
  assert.equal(allowed(first), page);
  for (const verb of ['POST', 'PATCH', 'DELETE']) assert.match(first.headers.get('access-control-allow-methods'), new RegExp(verb));
  assert.equal(first.headers.get('access-control-allow-headers'), 'content-type');
  const made = await call(server, 'POST', `${WORKFLOWS}/w`, START, { headers: { Origin: page } });
  assert.deepEqual([made.status, allowed(made), made.headers.get('vary')], [200, page, 'Origin']);
  const path = `${WORKFLOWS}/w/history?waitNewEvent=true&historyEventFilterType=CloseEvent`;
  const waits = call(server, 'GET', path, undefined, { headers: { Origin: 'http://localhost:3000' } });
  await ok(server, 'POST', `${WORKFLOWS}/w/terminate`, {});
  assert.equal(allowed(await waits), 'http://localhost:3000');
  const other = await call(server, 'POST', `${WORKFLOWS}/x`, START, { headers: { Origin: `${page}.evil` } });
  assert.deepEqual([other.status, allowed(other)], [403, null]);
  assert.equal((await call(server, 'GET', `${WORKFLOWS}/x`)).status, 404);

  const any = await serve(t, [...args, '--cors-origin', '*']);
  assert.equal(allowed(await call(any, 'GET', WORKFLOWS, undefined, { headers: { Origin: page } })), page);
  assert.equal(allowed(await call(any, 'GET', WORKFLOWS)), null);
});

// Byte by byte, because clients forgive a body where none belongs as long as they do not use the connection again.
test('HEAD is answered like GET, without the body', async (t) => {
  const server = await serve(t, args);
  await ok(server, 'POST', `${WORKFLOWS}/w`, START);
  for (const path of ['/healthz', '/metrics', '/nowhere', '/v1/workflows/schedules', `${WORKFLOWS}/w`]) {
    const [host, port] = server.http.split(':');
    const socket = connect(Number(port), host);
    socket.write(`HEAD ${path} HTTP/1.1\r\nHost: ${server.http}\r\n\r\n`);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${server.http}\r\nConnection: close\r\n\r\n`);
    const [head, got, body] = (await text(socket)).split('\r\n\r\n');
    const status = /^HTTP\/1.1 \d+/;
    const length = /\r\nContent-Length: (\d+)/;
    assert.equal(status.exec(head)?.[0], status.exec(got)?.[0], path);
    assert.equal(Number(length.exec(got)[1]), body.length, path);
    if (path !== '/metrics') assert.equal(Number(length.exec(head)?.[1]), body.length, path); // which counts on
  }
});

test('a server without descriptors waits for some, in silence', async (t) => {
  const server = await serve(t, args);
  const limit = (files) => execFileSync('prlimit', ['--pid', String(server.proc.pid), `--nofile=${files}:`]);
  const [host, port] = server.http.split(':');
  const ask = (peer, more = '') => peer.write(`GET /healthz HTTP/1.1\r\nHost: ${server.http}\r\n${more}\r\n`);
  const first = connect(Number(port), host);
  await once(first, 'connect');
  const turn = async () => {
    ask(first);
    await once(first, 'data');
  };
  await turn();
  limit(3);
  const peers = Array.from({ length: 4 }, () => connect(Number(port), host));
  await Promise.all(peers.map((peer) => once(peer, 'connect')));
  for (let i = 0; i < 3; i++) await turn(); // in which it could not accept the others
  limit(256);
  const answers = peers.map((peer) => {
    ask(peer, 'Connection: close\r\n');
    return text(peer);
  });
  for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1.1 200 /);
  first.destroy();
  assert.equal((await server.stop()).code, 0);
  assert.doesNotMatch(server.stderr(), /accept\(\)/);
});

test('the examples of the guide do what it says', async (t) => {
  await runExamples(await serve(t, args), 'http.md', 5);
});
