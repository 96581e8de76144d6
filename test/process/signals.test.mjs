// What signals do, in every state of the server: exit code, time to stop, what clients see, and the log.
// docs/server.md has the table that this follows.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { status } from '../sdk/node_modules/@grpc/grpc-js/build/src/index.js';
import { NAMESPACE, scheduleRequest, startRequest, temporal, uniqueId, withClient } from './lib/client.mjs';
import { addListedRuns, addReadyRuns, makeOldFile, runSql } from './lib/large.mjs';
import { RondoProcess, freePort, pick, sleep, until, withProcess } from './lib/process.mjs';

const STOP_MS = 6_000; // far below the 10 s that calls under way may take
const HANG_MS = pick(30_000, 600_000); // ends what hangs
const EMPTY = Symbol('empty');

// Sends the signal and waits for the end. What the clients saw does not belong to the time.
async function stopBy(server, ...signals) {
  const begin = Date.now();
  for (const name of signals) server.signal(name);
  const { code, signal } = await Promise.race([
    server.exited,
    sleep(HANG_MS, { code: 'it did not stop' }, { ref: false }),
  ]);
  return { code, signal, ms: Date.now() - begin };
}

function assertClean(server, end, line = /INFO +server_stopped\n/) {
  assert.deepEqual({ code: end.code, signal: end.signal }, { code: 0, signal: null }, server.log);
  assert.match(server.log, line);
  assert.ok(end.ms < STOP_MS, `${end.ms} ms from the signal to the end`);
}

// The gRPC status that a call ends with.
const codeOf = (promise) =>
  promise.then(
    () => status.OK,
    (error) => error.code ?? String(error),
  );

const start = (service, fields) => service.startWorkflowExecution(startRequest(fields));
const pollRequest = (queue) => ({ namespace: NAMESPACE, taskQueue: { name: queue }, identity: 'test/process' });

// A server in one state while `body` runs: the state is made by `open(server, service, connection)`, which returns the
// promise of what its clients will see.
async function inState(open, body, options = {}) {
  await withProcess(options, async (server) => {
    await withClient(server, async (service, connection) => {
      const seen = await open(server, service, connection);
      await body(server, seen);
    });
  });
}

// The server reports what it is doing: a value of the lines that SIGUSR1 gives.
async function report(server, field) {
  const before = server.countLog('server_commits');
  server.signal('SIGUSR1');
  await until(() => server.countLog('server_commits') > before, HANG_MS, 'the report');
  const found = [...server.log.matchAll(new RegExp(` ${field}=(\\S+)`, 'g'))].at(-1);
  assert.ok(found, `${field} in\n${server.log}`);
  return found[1];
}

const untilReports = (server, field, value) =>
  until(async () => (await report(server, field)) === String(value), HANG_MS, `${field}=${value}`);

// States in which something waits. Each gives what its client saw, and what it should have seen.

async function parkedPolls(server, service) {
  const polls = [
    service.pollWorkflowTaskQueue(pollRequest('one')),
    service.pollActivityTaskQueue(pollRequest('two')),
    service.pollWorkflowTaskQueue(pollRequest('one')),
  ].map((poll) => poll.then((answer) => (answer.taskToken.length ? answer : EMPTY)));
  await untilReports(server, 'parked_calls', 3);
  return { seen: Promise.all(polls), wanted: [EMPTY, EMPTY, EMPTY] };
}

async function pendingQuery(server, service) {
  const workflowId = uniqueId('queried');
  await start(service, { workflowId });
  const query = codeOf(service.queryWorkflow({ namespace: NAMESPACE, execution: { workflowId }, query: { queryType: 'q' } }));
  await untilReports(server, 'queries', 1);
  return { seen: query, wanted: status.UNAVAILABLE };
}

async function updateWait(server, service) {
  const workflowId = uniqueId('updated');
  await start(service, { workflowId });
  const update = codeOf(
    service.updateWorkflowExecution({
      namespace: NAMESPACE,
      workflowExecution: { workflowId },
      waitPolicy: { lifecycleStage: 3 },
      request: { meta: { updateId: uniqueId('update') }, input: { name: 'u' } },
    }),
  );
  await untilReports(server, 'parked_calls', 1);
  return { seen: update, wanted: status.UNAVAILABLE };
}

async function historyWait(server, service) {
  const workflowId = uniqueId('watched');
  await start(service, { workflowId });
  const request = { namespace: NAMESPACE, execution: { workflowId }, waitNewEvent: true, historyEventFilterType: 2 };
  const wait = service.getWorkflowExecutionHistory(request).then((answer) => answer.history.events.length);
  await untilReports(server, 'parked_calls', 1);
  return { seen: wait, wanted: 0 };
}

async function mistralWait(server) {
  const url = `${server.httpAddress}/v1/workflows/report/execute`;
  const body = JSON.stringify({ execution_id: uniqueId('m'), deployment_name: 'production', input: {}, wait_for_result: true });
  const wait = fetch(url, { method: 'POST', body }).then((response) => response.status);
  await untilReports(server, 'http_waiting', 1);
  return { seen: wait, wanted: 408 }; // the execution goes on
}

async function healthWatch(server) {
  const session = http2.connect(`http://${server.address}`);
  const watch = session.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  watch.end(Buffer.alloc(5)); // an empty message
  const ended = new Promise((resolve) => watch.once('trailers', (headers) => resolve(Number(headers['grpc-status']))));
  const statuses = [];
  watch.on('data', (bytes) => statuses.push(...[...bytes].filter((_, at) => at % 7 === 6))); // prefix, tag, status
  await until(() => statuses.length === 1, HANG_MS, 'the first word of the watch');
  const seen = ended.then((code) => (session.close(), [...statuses, code]));
  return { seen, wanted: [1, 2, status.UNAVAILABLE] }; // SERVING, NOT_SERVING
}

// A gRPC request of which the end is missing.
async function halfSentGrpc(server) {
  const session = http2.connect(`http://${server.address}`);
  const request = session.request({
    ':method': 'POST',
    ':path': '/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  request.write(Buffer.from([0, 0, 0, 4, 0, 1, 2, 3]));
  await untilReports(server, 'grpc_receiving', 1);
  const seen = new Promise((resolve) => {
    request.on('error', () => {});
    request.once('close', () => resolve(request.rstCode));
  });
  return { seen: seen.then((code) => (session.destroy(), code)), wanted: http2.constants.NGHTTP2_REFUSED_STREAM };
}

// The same over HTTP/1.1: the peer is told, or the connection ends; nothing is acknowledged.
async function halfSentHttp(server) {
  const socket = net.connect(server.httpPort, '127.0.0.1');
  socket.write('POST /api/v1/namespaces/default/workflows/half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n{"a"');
  await untilReports(server, 'http_connections', 1);
  let text = '';
  socket.on('data', (bytes) => (text += bytes));
  const seen = new Promise((resolve) => {
    socket.on('error', () => {});
    socket.once('close', () => resolve(!/^HTTP\/1.1 2/.test(text)));
  });
  return { seen, wanted: true };
}

// A connection that has said nothing, on both ports.
async function silentPeers(server) {
  const sockets = [net.connect(server.grpcPort, '127.0.0.1'), net.connect(server.httpPort, '127.0.0.1')];
  const seen = Promise.all(
    sockets.map((socket) => {
      socket.on('error', () => {});
      socket.resume();
      return new Promise((resolve) => socket.once('close', () => resolve('closed')));
    }),
  );
  await untilReports(server, 'http_connections', 1);
  await until(async () => Number(await report(server, 'grpc_connections')) >= 2, HANG_MS, 'the connection');
  return { seen, wanted: ['closed', 'closed'] };
}

// Lists that take longer than anyone would wait.
async function slowLists(server, service) {
  await start(service, {});
  await until(() => server.rows('SELECT count(*) AS n FROM visibility')[0].n === 1, HANG_MS, 'the run in lists');
  await addListedRuns(server.dataFile, pick(20_000, 1_000_000));
  const conditions = Array.from({ length: 60 }, (_, i) => `WorkflowType != 'a${i}' AND TaskQueue != 'b${i}'`);
  const request = { namespace: NAMESPACE, query: conditions.join(' AND ') };
  const lists = Array.from({ length: 200 }, () => codeOf(service.countWorkflowExecutions(request)));
  await until(async () => Number(await report(server, 'lists')) >= 50, HANG_MS, 'lists under way');
  const codes = Promise.all(lists).then((all) => [...new Set(all)].filter((code) => code !== status.OK));
  return { seen: codes, wanted: [status.UNAVAILABLE] };
}

// Starts without pause: each is acknowledged, and then on disk, or UNAVAILABLE.
async function load(server, service) {
  const outcome = { acknowledged: [], others: new Set() };
  let isOn = true;
  const lane = async () => {
    while (isOn) {
      const request = startRequest();
      try {
        await service.startWorkflowExecution(request);
        outcome.acknowledged.push(request.workflowId);
      } catch (error) {
        outcome.others.add(error.code);
        isOn = error.code === status.OK;
      }
    }
  };
  const lanes = Promise.all(Array.from({ length: 16 }, lane));
  await until(() => outcome.acknowledged.length > 100, HANG_MS, 'some starts');
  const seen = lanes.then(async () => {
    await server.exited;
    const ids = new Set(server.rows('SELECT workflow_id FROM executions').map((row) => row.workflow_id));
    assert.deepEqual(outcome.acknowledged.filter((id) => !ids.has(id)), [], 'acknowledged and not on disk');
    return [...outcome.others];
  });
  return { seen, wanted: [status.UNAVAILABLE] };
}

const idle = async () => ({ seen: undefined, wanted: undefined });

const STATES = {
  idle,
  parkedPolls,
  pendingQuery,
  updateWait,
  historyWait,
  mistralWait,
  healthWatch,
  halfSentGrpc,
  halfSentHttp,
  silentPeers,
  slowLists,
  load,
};

describe('SIGTERM ends what waits, and the process, at once', { concurrency: 3, timeout: 300_000 }, () => {
  for (const [name, open] of Object.entries(STATES))
    test(name, () =>
      inState(open, async (server, { seen, wanted }) => {
        const end = await stopBy(server, 'SIGTERM');
        assertClean(server, end);
        assert.deepEqual(await seen, wanted);
        assert.equal(server.countLog('server_stopping'), 1);
      }),
    );
});

// A client that does not read its answer is what the grace period is for.
async function unreadAnswer(server, service) {
  await start(service, { memo: { fields: { large: { data: Buffer.alloc(1_500_000, 'x') } } } });
  const session = http2.connect(`http://${server.address}`, { settings: { initialWindowSize: 1000 } });
  const { ListWorkflowExecutionsRequest } = temporal.api.workflowservice.v1;
  const message = ListWorkflowExecutionsRequest.encode({ namespace: NAMESPACE }).finish();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const request = session.request({
    ':method': 'POST',
    ':path': '/temporal.api.workflowservice.v1.WorkflowService/ListWorkflowExecutions',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  request.on('error', () => {});
  session.on('error', () => {});
  request.end(Buffer.concat([prefix, Buffer.from(message)]));
  request.pause();
  await untilReports(server, 'grpc_responding', 1);
  return session;
}

describe('a second signal does not wait', { concurrency: 2, timeout: 300_000 }, () => {
  for (const second of ['SIGTERM', 'SIGINT'])
    test(`SIGTERM, then ${second} while it drains`, () =>
      inState(unreadAnswer, async (server, session) => {
        server.signal('SIGTERM');
        await until(() => server.countLog('server_stopping'), HANG_MS, 'the stop');
        await sleep(1_500);
        assert.ok(server.running, 'it finishes what is under way');
        assert.equal(await report(server, 'phase'), 'stopping');
        const end = await stopBy(server, second);
        assertClean(server, end);
        assert.ok(end.ms < 3_000, `${end.ms} ms`);
        session.destroy();
      }));

  test('many signals at once', () =>
    inState(idle, async (server) => {
      const end = await stopBy(server, 'SIGTERM', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGTERM');
      assertClean(server, end);
    }));

  test('SIGINT is like SIGTERM', () => inState(parkedPolls, async (server) => assertClean(server, await stopBy(server, 'SIGINT'))));
});

describe('signals that do not stop', { concurrency: 3, timeout: 300_000 }, () => {
  test('SIGUSR1 reports in every state', () =>
    inState(parkedPolls, async (server, { seen }) => {
      assert.equal(await report(server, 'phase'), 'serving');
      assert.equal(await report(server, 'workflow_polls'), '2');
      assert.equal(await report(server, 'activity_polls'), '1');
      assert.equal(await report(server, 'task_queues'), '2');
      assert.ok(Number(await report(server, 'memory_bytes')) > 1_000_000);
      assert.ok(Number(await report(server, 'commits')) > 0);
      assert.equal(await server.stop(), 0);
      await seen;
    }));

  test('SIGUSR1 says when the next deadline is', () =>
    inState(
      async (server, service) => service.createSchedule(scheduleRequest('hourly', 3600)),
      async (server) => {
        assert.equal(await report(server, 'runs_due'), '1');
        const due = Number(await report(server, 'next_due_us'));
        assert.ok(due > 0 && due <= 3600e6, `${due}`);
        assert.equal(await server.stop(), 0);
      },
    ));

  test('SIGUSR2 and SIGPIPE are ignored', () =>
    inState(idle, async (server) => {
      for (const name of ['SIGUSR2', 'SIGPIPE']) server.signal(name);
      assert.equal(await report(server, 'phase'), 'serving');
      assert.equal(await server.stop(), 0);
    }));

  test('SIGQUIT and SIGKILL end it at once, and nothing that was acknowledged is missing', () =>
    inState(idle, async (server) => {
      for (const name of ['SIGQUIT', 'SIGKILL']) {
        const { workflowId, requestId, runId } = await withClient(server, async (service) => {
          const request = startRequest();
          return { ...request, ...(await service.startWorkflowExecution(request)) };
        });
        const end = await stopBy(server, name);
        assert.equal(end.signal, name);
        await server.launchSilently();
        const again = await withClient(server, (service) => start(service, { workflowId, requestId }));
        assert.equal(again.runId, runId);
      }
      assert.equal(await server.stop(), 0);
    }));
});

class SettledProcess extends RondoProcess {
  // Without --log-level, so that the file decides.
  args() {
    const args = super.args();
    const at = args.indexOf('--log-level');
    return [...args.slice(0, at), ...args.slice(at + 2)];
  }
}

async function withSettings(type, text, body) {
  const server = new type({});
  server.settingsFile = path.join(server.directory, 'settings');
  server.flags = ['--settings', server.settingsFile];
  writeFileSync(server.settingsFile, text);
  server.grpcPort = await freePort();
  server.httpPort = await freePort();
  try {
    await body(server);
  } finally {
    if (server.running) await server.kill();
  }
}

async function reread(server, text, line) {
  const before = server.countLog(line);
  if (text !== undefined) writeFileSync(server.settingsFile, text);
  server.signal('SIGHUP');
  await until(() => server.countLog(line) > before, HANG_MS, line);
}

const debugLines = (server) => server.log.split('\n').filter((line) => line.includes(' DEBUG ')).length;
const ask = (server) => withClient(server, (service) => service.describeNamespace({ namespace: NAMESPACE }));

describe('SIGHUP rereads the file of --settings', { concurrency: 3, timeout: 300_000 }, () => {
  test('the log level changes, and goes back', () =>
    withSettings(SettledProcess, '# nothing yet\n', async (server) => {
      await server.launchSilently();
      await ask(server);
      assert.equal(debugLines(server), 0);
      await reread(server, 'log-level = debug\n', 'settings_read');
      assert.match(server.log, /settings_read file=\S+ log_level=debug log_schedules=debug\n/);
      await ask(server);
      await until(() => debugLines(server) > 0, HANG_MS, 'a line of debugging');
      await reread(server, '', 'settings_read');
      assert.match(server.log, /log_level=info log_schedules=debug\n/);
      assert.equal(await server.stop(), 0);
    }));

  test('the level of the file counts at the start', () =>
    withSettings(SettledProcess, 'log-level=debug', async (server) => {
      await server.launchSilently();
      await ask(server);
      await until(() => debugLines(server) > 0, HANG_MS, 'a line of debugging');
      assert.equal(await server.stop(), 0);
    }));

  test('the command line wins, and the log says so', () =>
    withSettings(RondoProcess, '', async (server) => {
      await server.launchSilently();
      await reread(server, 'log-level = error\n', 'settings_read');
      assert.match(server.log, /settings_read file=\S+ log_level=info log_schedules=debug\n/);
      assert.match(server.log, /WARN +setting_ignored flag=log-level value=error /);
      assert.equal(await server.stop(), 0);
    }));

  test('a wrong file changes nothing', () =>
    withSettings(SettledProcess, 'log-level = warn\n', async (server) => {
      server.spawn();
      await until(() => server.log.includes('Server:'), HANG_MS, 'the server');
      const wrong = [
        ['log-level = debug\nlog-level = loud\n', /line 2: log-level takes debug/],
        ['data = other.db\n', /line 1: data cannot change while the server runs; give --data instead/],
        ['\n\nnonsense\n', /line 3: there is no setting \\"nonsense\\"/],
        ['log-level =\n', /line 1: log-level needs a value/],
        [`log-level = ${'x'.repeat(70_000)}\n`, /has more than 65536 bytes/],
      ];
      for (const [text, message] of wrong) {
        await reread(server, text, 'settings_refused');
        assert.match(server.log, message);
      }
      await ask(server);
      assert.equal(debugLines(server), 0);
      assert.equal(await server.stop(), 0);
    }));

  test('a wrong file at the start is a wrong setting', () =>
    withSettings(SettledProcess, 'log-level = loud\n', async (server) => {
      server.spawn();
      const { code } = await server.exited;
      assert.equal(code, 2);
      assert.match(server.log, /^rondo: --settings: .*line 1: log-level takes/);
    }));

  test('without a file it says so, and goes on', () =>
    inState(idle, async (server) => {
      server.signal('SIGHUP');
      await until(() => server.countLog('settings_read'), HANG_MS, 'the line');
      assert.match(server.log, /no file was named by --settings/);
      assert.equal(await report(server, 'phase'), 'serving');
      assert.equal(await server.stop(), 0);
    }));

  test('a development server stops: its terminal is gone', () =>
    inState(idle, async (server) => assertClean(server, await stopBy(server, 'SIGHUP')), { dynamicConfig: [] }));
});

// Starts it, and stops it when the start has come so far: `isThere` looks at the text of the last report.
async function stopWhileStarting(server, signal, isThere) {
  const readyBefore = server.countLog('server_ready');
  const logBefore = server.log.length;
  server.spawn();
  // From here on it minds signals; before, it is not more than a program that was just started.
  await until(() => server.descriptors().some((target) => target.endsWith('rondo.db.lock')), HANG_MS, 'the lock');
  await until(async () => {
    await report(server, 'phase');
    return isThere(server.log.match(/server_state .*/g).at(-1));
  }, HANG_MS, 'the start to be under way');
  const end = await stopBy(server, signal);
  assertClean(server, end, /INFO +server_stopped phase=starting\n$/);
  assert.equal(server.countLog('server_ready'), readyBefore, 'it was not ready before');
  assert.doesNotMatch(server.log.slice(logBefore), /^rondo: /m);
}

// A long start: 60 seconds are not enough for a million rows on a busy machine.
async function startPatiently(server) {
  const readyBefore = server.countLog('server_ready');
  server.spawn();
  await until(() => server.countLog('server_ready') > readyBefore || !server.running, HANG_MS, 'the server to be ready');
}

describe('a stop during the start', { concurrency: 2, timeout: 1_800_000 }, () => {
  test('while it recovers many runs', async () => {
    const count = pick(30_000, 1_000_000);
    await withProcess({}, async (server) => {
      await withClient(server, (service) => start(service, { taskQueue: { name: 'waiting' } }));
      assert.equal(await server.stop(), 0);
      await addReadyRuns(server.dataFile, count);
      for (const [signal, part] of [['SIGINT', 0.05], ['SIGTERM', 0.3], ['SIGTERM', 0.6]])
        await stopWhileStarting(server, signal, (line) => Number(/recovered_runs=(\d+)/.exec(line)?.[1]) > count * part);
      await startPatiently(server);
      assert.match(server.log, new RegExp(`recovered open_runs=${count + 1}\n`));
      assert.equal(await server.stop(), 0);
    });
  });

  test('while it migrates an old file', async () => {
    const server = new RondoProcess({});
    server.grpcPort = await freePort();
    server.httpPort = await freePort();
    await makeOldFile(server.dataFile, 5);
    await addListedRuns(server.dataFile, pick(30_000, 1_000_000));
    try {
      for (const signal of ['SIGTERM', 'SIGINT']) {
        await stopWhileStarting(server, signal, (line) => line.includes('recovered_runs=0'));
        assert.equal(await runSql(server.dataFile, 'PRAGMA user_version; PRAGMA quick_check;'), '5\nok\n');
      }
      await startPatiently(server);
      assert.equal(await server.stop(), 0);
      assert.notEqual(await runSql(server.dataFile, 'PRAGMA user_version;'), '5\n');
    } finally {
      if (server.running) await server.kill();
    }
  });
});
