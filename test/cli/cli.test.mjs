// The command line as a user meets it: help, versions, mistakes, and how a server starts and stops.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { launch, run, serve, temporaryDirectory } from './rondo.mjs';

const dev = ['server', 'start-dev', '--port', '0', '--ui-port', '0'];

async function helpOf(...words) {
  const { code, stdout } = await run([...words, '--help', '-o', 'json']);
  assert.equal(code, 0);
  return JSON.parse(stdout);
}

test('help without a command lists the commands', async () => {
  for (const args of [[], ['help'], ['--help'], ['-h']]) {
    const { code, stdout, stderr } = await run(args);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    for (const word of ['server', 'server start-dev', 'version', 'Examples:']) assert.ok(stdout.includes(word), word);
  }
});

test('help of a command names every flag of its table, with defaults', async () => {
  for (const words of [['server'], ['server', 'start-dev']]) {
    const table = await helpOf(...words);
    assert.ok(table.flags.length > 5 && table.examples.length > 1);
    const { stdout } = await run([...words, '--help']);
    for (const flag of [...table.flags, ...table.global_flags]) {
      assert.ok(stdout.includes(`--${flag.name}`), flag.name);
      if (flag.default) assert.ok(stdout.includes(`Default: ${flag.default}`), flag.name);
      if (flag.environment) assert.ok(stdout.includes(flag.environment), flag.environment);
    }
    const asWord = await run(['help', ...words]);
    assert.equal(asWord.stdout, stdout);
  }
});

test('the guide names every flag', async () => {
  const guide = readFileSync(new URL('../../docs/server.md', import.meta.url), 'utf8');
  for (const words of [['server'], ['server', 'start-dev']]) {
    for (const flag of (await helpOf(...words)).flags) {
      assert.ok(guide.includes(`\`--${flag.name}`), `docs/server.md does not mention --${flag.name}`);
      if (flag.environment) assert.ok(guide.includes(flag.environment), flag.environment);
    }
  }
});

test('help of start-dev has every flag of the dev server it stands in for', async () => {
  const names = (await helpOf('server', 'start-dev')).flags.map((flag) => flag.name);
  const wanted =
    'port ip ui-port http-port ui-ip metrics-port db-filename namespace headless log-level log-format log-config ' +
    'ui-asset-path ui-codec-endpoint ui-public-path ui-disable-news-fetch sqlite-pragma search-attribute dynamic-config-value color ' +
    'command-timeout env env-file';
  for (const name of wanted.split(' ')) assert.ok(names.includes(name), name);
});

test('the version, as text and as JSON', async () => {
  const text = await run(['--version']);
  assert.match(text.stdout, /^rondo \d+\.\d+\.\d+\n$/);
  assert.equal((await run(['version'])).stdout, text.stdout);
  assert.equal((await run(['-v'])).stdout, text.stdout);
  for (const args of [['--version', '-o', 'json'], ['version', '--output=json']]) {
    const { name, version } = JSON.parse((await run(args)).stdout);
    assert.equal(`${name} ${version}\n`, text.stdout);
  }
});

test('mistakes end with 2 and say what to do next', async () => {
  const cases = [
    [['server', '--dta', 'x'], /unknown flag --dta \(did you mean --data\?\); see rondo server --help/],
    [['help', 'nope'], /unknown command "nope"; see rondo --help/],
    [['help', 'serve'], /unknown command "serve" \(did you mean server\?\); see rondo --help/],
    [['help', 'workflow', 'lst'], /unknown command "lst" \(did you mean list\?\); see rondo workflow --help/],
    [['serve'], /unknown command "serve" \(did you mean server\?\); see rondo --help/],
    [['server', 'start-dve'], /unknown command "start-dve" \(did you mean start-dev\?\)/],
    [['server', '--data'], /--data needs a value: --data FILE/],
    [['server', '--log-schedules', 'warn'], /--log-schedules takes debug\|info, not "warn"/],
    [['server', '--log-level', 'loud'], /--log-level takes debug\|info\|warn\|error\|never, not "loud"/],
    [['server', '--grpc', '7233'], /--grpc: "7233" is not an address like 127\.0\.0\.1:7233/],
    [['server', '--http', 'example.com:80'], /--http: "example\.com" is not an IP address/],
    [['server', '--data', 'postgresql://db/rondo'], /PostgreSQL is not supported yet/],
    [['server', '--grpc', '0.0.0.0:0'], /--allow-plaintext-remote/],
    [['server', 'start-dev', '--port', '70000'], /--port needs a number from 0 to 65535/],
    [['server', 'start-dev', '--ip', 'nowhere'], /--ip: "nowhere" is not an IP address/],
    [['server', 'start-dev', '--search-attribute', 'A'], /"A" is not NAME=TYPE/],
    [['server', 'start-dev', '--search-attribute', 'A=Thing'], /"Thing" is not a type/],
    [['server', 'start-dev', '--dynamic-config-value', 'x'], /"x" is not KEY=VALUE/],
    [['server', 'start-dev', '--dynamic-config-value', 'limit.blobSize.error=many'], /limit.blobSize.error takes a positive number, not "many"/],
    [['server', 'start-dev', '--dynamic-config-value', 'limit.blobSize.error=0'], /limit.blobSize.error takes a positive number, not "0"/],
    [['server', 'start-dev', '--dynamic-config-value', 'system.enableActivityEagerExecution=1'], /takes true or false/],
  ];
  for (const [args, text] of cases) {
    const { code, stdout, stderr } = await run(args);
    assert.match(stderr, text);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    assert.equal(stdout, '');
    assert.equal(code, 2, args.join(' '));
  }
  const { code, stderr } = await run(['server'], { env: { RONDO_RESIDENT_RUNS: 'many' } });
  assert.match(stderr, /RONDO_RESIDENT_RUNS needs a number/);
  assert.equal(code, 2);
});

test('an address in use ends with 1 and names the flag to change', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const port = String(other.address().port);
  const cases = [
    [['server', 'start-dev', '--port', port, '--ui-port', '0'], '--port'],
    [['server', 'start-dev', '--port', '0', '--ui-port', port], '--ui-port'],
    [['server', '--data', ':memory:', '--grpc', `127.0.0.1:${port}`, '--http', 'off'], '--grpc'],
    [['server', '--data', ':memory:', '--grpc', '127.0.0.1:0', '--http', `127.0.0.1:${port}`], '--http'],
  ];
  for (const [args, flag] of cases) {
    const { code, stderr, stdout } = await run(args);
    assert.match(stderr, /Address already in use/);
    assert.ok(stderr.includes(flag), stderr);
    assert.equal(stdout, '');
    assert.equal(code, 1);
  }
});

test('a store that cannot be opened ends with 1 and names the file', async (t) => {
  const directory = temporaryDirectory(t);
  const missing = join(directory, 'missing', 'rondo.db');
  const garbage = join(directory, 'garbage.db');
  writeFileSync(garbage, 'this is not a database, and it is longer than a header. '.repeat(40));
  for (const data of [missing, garbage, directory]) {
    const { code, stderr } = await run(['server', '--data', data, '--grpc', '127.0.0.1:0', '--http', 'off']);
    assert.ok(stderr.includes(data) && stderr.includes('--data'), stderr);
    assert.equal(code, 1);
  }
});

test('a second server on the same file refuses', async (t) => {
  const data = join(temporaryDirectory(t), 'rondo.db');
  const args = ['server', '--data', data, '--grpc', '127.0.0.1:0', '--http', 'off'];
  const first = await serve(t, args);
  assert.equal(first.data, data);
  const { code, stderr } = await run(args);
  assert.equal(code, 1);
  assert.ok(stderr.includes(data), stderr);
});

test('SIGTERM and SIGINT end a server with 0, also with idle connections open', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const server = await serve(t, [...dev, '--log-level', 'info']);
    const idle = [server.grpc, server.http].map((address) => {
      const [host, port] = address.split(':');
      return connect(Number(port), host).on('error', () => {});
    });
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    assert.deepEqual(await server.stop(signal), { code: 0, signal: null });
    assert.match(server.stderr(), /server_stopping/);
    assert.match(server.stderr(), /server_stopped/);
    idle.forEach((socket) => socket.destroy());
  }
});

test('the data file is there after a stop and serves again', async (t) => {
  const directory = temporaryDirectory(t);
  const args = ['server', '--grpc', '127.0.0.1:0', '--http', 'off'];
  for (let round = 0; round < 2; round++) {
    const server = await serve(t, args, { cwd: directory });
    assert.equal((await server.stop()).code, 0);
    assert.ok(existsSync(join(directory, 'rondo.db')));
  }
});

test('HTTP answers probes, and JSON errors for the rest', async (t) => {
  const server = await serve(t, dev);
  const get = async (path, options) => {
    const response = await fetch(`http://${server.http}${path}`, options);
    return { status: response.status, type: response.headers.get('content-type'), body: await response.json() };
  };
  assert.deepEqual(await get('/healthz'), { status: 200, type: 'application/json', body: { status: 'ok' } });
  assert.deepEqual(await get('/readyz?x=1'), { status: 200, type: 'application/json', body: { status: 'ready' } });
  const missing = await get('/no/such/path');
  assert.equal(missing.status, 404);
  assert.equal(missing.body.code, 5);
  assert.equal((await get('/healthz', { method: 'POST', body: 'x' })).status, 405);
});

test('HTTP has a page that lists the namespaces, with their names as text', async (t) => {
  const server = await serve(t, [...dev, '--namespace', '<b>"Tom" & \'Jerry\'</b>']);
  const response = await fetch(`http://${server.http}/namespaces`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
  const page = await response.text();
  assert.match(page, new RegExp(`<h1>Rondo ${server.version}</h1>`));
  assert.match(page, /<td>default<\/td><td>72 h<\/td>/);
  assert.match(page, /<td>&#60;b&#62;&#34;Tom&#34; &#38; &#39;Jerry&#39;&#60;\/b&#62;<\/td>/);
  assert.equal((await fetch(`http://${server.http}/namespaces`, { method: 'POST', body: 'x' })).status, 405);
  assert.match(await raw(server.http, 'GET /namespaces HTTP/1.1\r\nHost: rebound.example\r\n\r\n'), /^HTTP\/1.1 403 /);
});

async function raw(address, request) {
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host).on('error', () => {});
  socket.write(request);
  const [chunk] = await once(socket, 'data');
  socket.destroy();
  return chunk.toString();
}

test('HTTP refuses foreign hosts, long headers and large bodies', async (t) => {
  const server = await serve(t, dev);
  assert.match(await raw(server.http, 'GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n'), /^HTTP\/1.1 403 /);
  assert.match(await raw(server.http, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), /^HTTP\/1.1 404 /);
  assert.match(await raw(server.http, 'GET /healthz HTTP/1.1\r\nHost: pod.example\r\n\r\n'), /^HTTP\/1.1 200 /);
  const long = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`;
  assert.match(await raw(server.http, long), /^HTTP\/1.1 4\d\d /);
  const large = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n';
  assert.match(await raw(server.http, large), /^HTTP\/1.1 413 /);
});

test('HTTP connections beyond the limit wait until others end', async (t) => {
  const server = await serve(t, dev);
  const [host, port] = server.http.split(':');
  const open = () => connect(Number(port), host).on('error', () => {});
  const idle = Array.from({ length: 200 }, open);
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  const late = open();
  late.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  idle.forEach((socket) => socket.destroy());
  const [chunk] = await once(late, 'data');
  assert.match(chunk.toString(), /^HTTP\/1.1 200 /);
  late.destroy();
});

test('start-dev takes what SDK test environments pass, and what it ignores it says', async (t) => {
  const server = await serve(t, [
    ...['server', 'start-dev', '--port', '0', '--namespace', 'default', '--ip', '127.0.0.1'],
    ...['--log-format', 'pretty', '--log-level', 'warn', '--headless'],
    ...['--dynamic-config-value', 'frontend.enableServerVersionCheck=false'],
    ...['--dynamic-config-value', 'frontend.enableUpdateWorkflowExecution=true'],
    ...['--dynamic-config-value', 'frontend.enableUpdateWorkflowExecutionAsyncAccepted=true'],
    ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
    ...['--dynamic-config-value', 'limit.blobSize.error=2097152'],
    ...['--dynamic-config-value', 'limit.blobSize.warn=512'],
  ]);
  assert.equal(server.http, null);
  assert.equal(server.data, ':memory:');
  await server.stop();
  assert.equal(server.stderr(), '');
  const noisy = await serve(t, [...dev, '--log-format', 'json', '--metrics-port', '9', '--sqlite-pragma', 'a=b',
    '--dynamic-config-value', 'history.maximum=1', '--color', 'never', '--env', 'x', '--command-timeout', '5s']);
  await noisy.stop();
  const ignored = noisy.stderr().trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(ignored.map((line) => [line.event, line.flag]), [
    ['setting_ignored', 'dynamic-config-value'],
    ['setting_ignored', 'metrics-port'],
    ['setting_ignored', 'sqlite-pragma'],
  ]);
});

test('start-dev listens for HTTP a thousand ports above gRPC', async (t) => {
  // A port that was free a moment ago, with its neighbour; taken ones are tried again.
  for (let attempt = 0; ; attempt++) {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address();
    probe.close();
    await once(probe, 'close');
    if (port + 1000 > 65535) continue;
    try {
      const server = await serve(t, ['server', 'start-dev', '--port', String(port)]);
      assert.equal(server.grpc, `127.0.0.1:${port}`);
      assert.equal(server.http, `127.0.0.1:${port + 1000}`);
      return;
    } catch (error) {
      if (attempt === 10 || !/Address already in use/.test(error.message)) throw error;
    }
  }
});

test('settings come from flag, then environment, then default', async (t) => {
  const env = { RONDO_DATA: ':memory:', RONDO_GRPC: '127.0.0.1:0', RONDO_HTTP: 'off', RONDO_LOG_LEVEL: 'never' };
  const fromEnv = await serve(t, ['server'], { env });
  assert.equal(fromEnv.data, ':memory:');
  assert.equal(fromEnv.http, null);
  await fromEnv.stop();
  assert.equal(fromEnv.stderr(), '');
  const flagged = await serve(t, ['server', '--http', '127.0.0.1:0'], { env });
  assert.match(flagged.http, /^127\.0\.0\.1:[1-9]\d*$/);
});

test('where the server listens is told to people, to programs, or to nobody', async (t) => {
  const { version, grpc, http } = await serve(t, dev);
  assert.match(version, /^\d+\.\d+\.\d+$/);
  for (const address of [grpc, http]) assert.match(address, /^127\.0\.0\.1:[1-9]\d*$/);
  const text = launch(dev);
  t.after(() => text.proc.kill('SIGKILL'));
  await once(text.proc.stdout, 'data');
  const lines = [/^Rondo \d/, /^Server: +127\.0\.0\.1:\d+$/, /^HTTP: +http:\/\/127\.0\.0\.1:\d+$/, /^Data: +in memory/];
  text.stdout().trimEnd().split('\n').forEach((line, i) => assert.match(line, lines[i]));
  const silent = launch([...dev, '-o', 'none', '--log-level', 'info']);
  t.after(() => silent.proc.kill('SIGKILL'));
  while (!silent.stderr().includes('server_ready')) await once(silent.proc.stderr, 'data');
  await silent.stop();
  assert.equal(silent.stdout(), '');
});
