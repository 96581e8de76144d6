// Callbacks: whom the server tells how a workflow ended, and starts that attach themselves to a run.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { eventsNamed } from './lib/history.mjs';
import { Server } from './lib/server.mjs';
import { RunningWorker, connect } from './lib/worker.mjs';
import { World, eventually, failure, replayAll } from './lib/world.mjs';

const { CallbackState } = proto.temporal.api.enums.v1;
const world = new World();
let receiver;
const received = new Map(); // path -> [{ headers, body }]
const answers = new Map(); // path -> statuses, the last one for good

before(async () => {
  world.server = await Server.start({ dynamicConfig: [] });
  world.client = await connect(world.server, world.runs);
  world.worker = await RunningWorker.start(world.server, world.taskQueue);
  receiver = http.createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const seen = received.get(request.url) ?? [];
    received.set(request.url, [...seen, { method: request.method, headers: request.headers, body }]);
    const statuses = answers.get(request.url) ?? [200];
    response.writeHead(statuses[Math.min(seen.length, statuses.length - 1)]).end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
});
after(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await world.close();
});

const urlOf = (path) => `http://127.0.0.1:${receiver.address().port}${path}`;
const callback = (path, header = {}) => ({ nexus: { url: urlOf(path), header } });
const encode = (value) => ({
  payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) }],
});

// Starts by the raw service; resolves to { handle, response }.
async function start(type, args, options) {
  const workflowId = options.workflowId ?? `${type}-${randomUUID()}`;
  const response = await world.service.startWorkflowExecution({
    namespace: 'default',
    workflowId,
    workflowType: { name: type },
    taskQueue: { name: world.taskQueue },
    input: { payloads: args.flatMap((arg) => encode(arg).payloads) },
    requestId: randomUUID(),
    ...options,
  });
  world.runs.note(workflowId, response.runId);
  return { handle: world.client.workflow.getHandle(workflowId), response, workflowId };
}

const statesOf = async (handle, runId) => {
  const { callbacks } = await world.service.describeWorkflowExecution({
    namespace: 'default',
    execution: { workflowId: handle.workflowId, runId },
  });
  return callbacks.map(({ state, attempt }) => [state, attempt]);
};
const calls = (path) => eventually(() => received.get(path));

describe('a callback', { concurrency: 8, timeout: 120_000 }, () => {
  test('gets the result of the workflow, and the headers that came with it', async () => {
    const completionCallbacks = [callback('/done?x=1', { 'X-Token': 'secret' })];
    const { handle, response } = await start('hello', ['Ada'], { completionCallbacks });
    const [started] = await eventsNamed(handle, 'WORKFLOW_EXECUTION_STARTED');
    assert.equal(started.workflowExecutionStartedEventAttributes.completionCallbacks.length, 1);
    assert.equal(await handle.result(), 'Hello, Ada!');
    const [call] = await calls('/done?x=1');
    assert.equal(call.method, 'POST');
    assert.equal(call.body, '"Hello, Ada!"');
    assert.equal(call.headers['content-type'], 'application/json');
    assert.equal(call.headers['nexus-operation-state'], 'succeeded');
    assert.equal(call.headers['x-token'], 'secret');
    assert.match(call.headers['nexus-link'], new RegExp(`^<temporal:///namespaces/default/workflows/${handle.workflowId}/`));
    await eventually(async () => (await statesOf(handle, response.runId))[0][0] === CallbackState.CALLBACK_STATE_SUCCEEDED);
    assert.equal((await calls('/done?x=1')).length, 1);
  });

  test('hears of failures, cancellation and termination', async () => {
    const failed = await start('fails', [], { completionCallbacks: [callback('/failed')] });
    await failure(failed.handle.result());
    const [call] = await calls('/failed');
    assert.equal(call.headers['nexus-operation-state'], 'failed');
    assert.ok(JSON.parse(call.body).message);
    const canceled = await start('forever', [], { completionCallbacks: [callback('/canceled')] });
    await canceled.handle.cancel();
    assert.equal((await calls('/canceled'))[0].headers['nexus-operation-state'], 'canceled');
    const ended = await start('forever', [], { completionCallbacks: [callback('/ended')] });
    await ended.handle.terminate();
    assert.deepEqual(JSON.parse((await calls('/ended'))[0].body), { message: 'operation terminated' });
  });

  test('waits for the last run of the chain', async () => {
    const { handle, response } = await start('countdown', [1], { completionCallbacks: [callback('/chain')] });
    assert.equal(await handle.result(), 2);
    const [call] = await calls('/chain');
    assert.equal(call.body, '2');
    assert.equal((await calls('/chain')).length, 1);
    assert.deepEqual(await statesOf(handle, response.runId), [[CallbackState.CALLBACK_STATE_STANDBY, 0]]);
  });

  test('is tried again until it is taken, and not when it is refused', async () => {
    answers.set('/busy', [503, 429, 200]);
    answers.set('/gone', [404]);
    const completionCallbacks = [callback('/busy'), callback('/gone')];
    const { handle, response } = await start('same', [1], { completionCallbacks });
    await handle.result();
    await eventually(async () => (await statesOf(handle, response.runId))[0][0] === CallbackState.CALLBACK_STATE_SUCCEEDED);
    assert.deepEqual(await statesOf(handle, response.runId), [
      [CallbackState.CALLBACK_STATE_SUCCEEDED, 3],
      [CallbackState.CALLBACK_STATE_FAILED, 1],
    ]);
    assert.equal(received.get('/busy').length, 3);
  });

  test('that nobody takes is still there when the server stops', async () => {
    const closed = http.createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address();
    closed.close();
    await once(closed, 'close');
    const urls = [`http://127.0.0.1:${port}/`, 'http://no-such-host.invalid/'];
    const completionCallbacks = urls.map((url) => ({ nexus: { url } }));
    const { handle, response } = await start('same', [1], { completionCallbacks });
    await handle.result();
    await eventually(async () =>
      (await statesOf(handle, response.runId)).every(([state]) => state === CallbackState.CALLBACK_STATE_BACKING_OFF)
    );
  });

  test('to no address is refused', async () => {
    for (const url of ['', 'ftp://x', 'https://x', 'http://', 'http:///path', `http://x/${'y'.repeat(1000)}`]) {
      const error = await failure(start('same', [1], { completionCallbacks: [{ nexus: { url } }] }));
      assert.equal(error.code, status.INVALID_ARGUMENT, url);
    }
    const header = { 'a b': 'c' };
    const error = await failure(start('same', [1], { completionCallbacks: [callback('/', header)] }));
    assert.equal(error.code, status.INVALID_ARGUMENT);
  });
});

describe('a start that uses the existing run', { timeout: 120_000 }, () => {
  test('attaches its request id, callbacks and links, once', async () => {
    const { workflowId, handle, response } = await start('collect', [], {});
    const options = {
      workflowId,
      workflowIdConflictPolicy: 2,
      requestId: 'second',
      completionCallbacks: [callback('/attached')],
      links: [{ workflowEvent: { namespace: 'default', workflowId: 'from', runId: randomUUID() } }],
      onConflictOptions: { attachRequestId: true, attachCompletionCallbacks: true, attachLinks: true },
    };
    for (let i = 0; i < 2; i++) {
      const second = (await start('collect', [], options)).response;
      assert.equal(second.started, false);
      assert.equal(second.runId, response.runId);
      assert.equal(second.link.workflowEvent.requestIdRef.requestId, 'second');
    }
    const updated = await eventually(async () => {
      const events = await eventsNamed(handle, 'WORKFLOW_EXECUTION_OPTIONS_UPDATED');
      return events.length && events;
    });
    assert.equal(updated.length, 1);
    assert.equal(updated[0].links.length, 1);
    const { attachedRequestId, attachedCompletionCallbacks } =
      updated[0].workflowExecutionOptionsUpdatedEventAttributes;
    assert.equal(attachedRequestId, 'second');
    assert.equal(attachedCompletionCallbacks.length, 1);
    const { requestIdInfos } = (await handle.describe()).raw.workflowExtendedInfo;
    assert.equal(Number(requestIdInfos.second.eventId), Number(updated[0].eventId));
    await handle.signal('stop');
    await handle.result();
    assert.equal((await calls('/attached')).length, 1);
  });
});

describe('a callback that waits', { timeout: 120_000 }, () => {
  test('outlives the server', async () => {
    answers.set('/later', [500, 200]);
    const { handle, response } = await start('same', [1], { completionCallbacks: [callback('/later')] });
    await handle.result();
    await eventually(async () => (await statesOf(handle, response.runId))[0][0] === CallbackState.CALLBACK_STATE_BACKING_OFF);
    await world.server.killAndRestart();
    await eventually(async () => (await statesOf(handle, response.runId))[0][0] === CallbackState.CALLBACK_STATE_SUCCEEDED);
    assert.equal(received.get('/later').length, 2);
  });
});

replayAll(world);
