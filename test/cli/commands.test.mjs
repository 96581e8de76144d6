// The commands that ask a server, against one: what they print, in each format, and how they end.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, run, temporaryDirectory } from './rondo.mjs';

let server;
let env;

before(async () => {
  server = launch(['server', 'start-dev', '--port', '0', '--headless', '-o', 'json']);
  const line = await new Promise((resolve, reject) => {
    server.proc.stdout.once('data', resolve);
    server.ended.then(() => reject(new Error(server.stderr())));
  });
  env = { TEMPORAL_ADDRESS: JSON.parse(line).grpc };
});
after(async () => {
  const { code } = await server.stop();
  assert.equal(code, 0);
});

const ask = (args, options) => run(args, { env, ...options });

// Must succeed, with nothing on stderr.
async function text(...args) {
  const { code, stdout, stderr } = await ask(args);
  assert.equal(stderr, '', args.join(' '));
  assert.equal(code, 0, args.join(' '));
  return stdout;
}
const json = async (...args) => JSON.parse(await text(...args, '-o', 'json'));
const lines = async (...args) => (await text(...args, '-o', 'jsonl')).split('\n').filter(Boolean).map((l) => JSON.parse(l));

// Must fail with this code, nothing on stdout, and one line on stderr that matches.
async function refused(code, pattern, ...args) {
  const result = await ask(args);
  assert.equal(result.code, code, result.stderr);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, pattern);
  assert.equal(result.stderr.trimEnd().split('\n').length, 1);
}

const start = (id, ...more) =>
  json('workflow', 'start', '--type', 'order', '--task-queue', 'cli', '--workflow-id', id, ...more);

test('every command has help with an example, and the guide names it and its flags', async () => {
  const guide = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  const helpOf = async (words) => JSON.parse((await run([...words, '--help', '-o', 'json'])).stdout);
  const commands = (await helpOf([])).commands.map((c) => c.name).filter((name) => !/^(server|version|help)/.test(name));
  assert.ok(commands.length > 25);
  for (const name of commands) {
    const help = await helpOf(name.split(' '));
    assert.equal(help.command, name);
    if (help.commands.length) continue; // a group
    assert.equal(help.examples.length, 1, name);
    assert.ok(help.examples[0].line.includes(`rondo ${name}`), name);
    assert.ok(guide.includes(`\`rondo ${name}`), `docs/cli.md does not mention rondo ${name}`);
    const shared = help.shared_flags.flatMap((set) => set.flags);
    for (const flag of [...help.flags, ...shared, ...help.global_flags]) assert.ok(guide.includes(`\`--${flag.name}`), `${name} --${flag.name}`);
  }
});

test('a workflow is started, found, described, counted', async () => {
  const started = await start('found-1', '--input', '{"n":1}', '--input', '"two"', '--memo', 'why="test"');
  assert.equal(started.workflowId, 'found-1');
  assert.match(started.runId, /^[0-9a-f-]{36}$/);
  assert.equal(started.taskQueue, 'cli');
  const described = await json('workflow', 'describe', '--workflow-id', 'found-1');
  assert.equal(described.workflowExecutionInfo.execution.runId, started.runId);
  assert.deepEqual(described.workflowExecutionInfo.memo.fields, { why: 'test' });
  const card = await text('workflow', 'describe', '-w', 'found-1');
  assert.match(card, /^Status +Running$/m);
  assert.match(card, new RegExp(`^RunId +${started.runId}$`, 'm'));
  const query = "WorkflowId = 'found-1'";
  const [row] = await json('workflow', 'list', '--query', query);
  assert.equal(row.execution.workflowId, 'found-1');
  const table = (await text('workflow', 'list', '--query', query)).trimEnd().split('\n');
  assert.equal(table.length, 2);
  assert.match(table[0], /^Status +WorkflowId +Type +StartTime +RunId$/);
  assert.match(table[1], /^Running +found-1 +order +(now|\d+ (second|minute)s? ago) /);
  const timed = async (format) => (await text('workflow', 'list', '--query', query, '--time-format', format)).split('\n')[1];
  assert.ok((await timed('iso')).includes(row.startTime));
  assert.match(await timed('raw'), / \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000 UTC /);
  assert.deepEqual(await json('workflow', 'count', '--query', query), { count: '1' });
  assert.match(await text('workflow', 'count', '--query', `${query} GROUP BY ExecutionStatus`), /^Groups +Running 1$/m);
  const { groups } = await json('workflow', 'count', '--query', `${query} GROUP BY ExecutionStatus`);
  assert.deepEqual(groups, [{ groupValues: ['Running'], count: '1' }]);
});

test('without an id a workflow gets one', async () => {
  const a = await json('workflow', 'start', '--workflow-type', 'order', '-t', 'cli');
  const b = await json('workflow', 'start', '--type', 'order', '-t', 'cli');
  assert.notEqual(a.workflowId, b.workflowId);
  assert.equal((await json('workflow', 'describe', '-w', a.workflowId)).workflowExecutionInfo.type.name, 'order');
});

test('a list goes over all pages, or as far as the limit', async () => {
  for (let i = 0; i < 7; i++) await start(`page-${i}`);
  const query = "WorkflowId STARTS_WITH 'page-'";
  const ids = (rows) => rows.map((row) => row.execution.workflowId).sort();
  const all = ids(await lines('workflow', 'list', '-q', query));
  assert.deepEqual(all, [0, 1, 2, 3, 4, 5, 6].map((i) => `page-${i}`));
  for (const size of ['2', '3', '7']) {
    assert.deepEqual(ids(await lines('workflow', 'list', '-q', query, '--page-size', size)), all);
    assert.deepEqual(ids(await json('workflow', 'list', '-q', query, '--page-size', size)), all);
    const table = (await text('workflow', 'list', '-q', query, '--page-size', size)).trimEnd().split('\n');
    assert.equal(table.filter((line) => line.startsWith('Status')).length, 1);
    assert.equal(table.length, 8);
  }
  assert.equal((await lines('workflow', 'list', '-q', query, '--limit', '3')).length, 3);
  assert.equal((await lines('workflow', 'list', '-q', query, '--limit', '5', '--page-size', '2')).length, 5);
  assert.equal(await text('workflow', 'list', '-q', query, '-o', 'none'), '');
  assert.equal((await json('workflow', 'list', '-q', query, '--limit', '5')).length, 5);
  assert.deepEqual(await json('workflow', 'list', '-q', "WorkflowId = 'none'"), []);
  assert.equal((await text('workflow', 'list', '-q', query)).trimEnd().split('\n').length, 8);
});

test('signals, cancellation and termination are in the history', async () => {
  await start('steered');
  assert.equal(await text('workflow', 'signal', '-w', 'steered', '--name', 'go', '--input', '[1,2]'), '');
  await text('workflow', 'cancel', '-w', 'steered', '--reason', 'late');
  await text('workflow', 'terminate', '-w', 'steered', '--reason', 'enough');
  const { events } = await json('workflow', 'show', '-w', 'steered');
  const of = (type) => events.find((e) => e.eventType === `EVENT_TYPE_WORKFLOW_EXECUTION_${type}`);
  const { data } = of('SIGNALED').workflowExecutionSignaledEventAttributes.input.payloads[0];
  assert.deepEqual(JSON.parse(Buffer.from(data, 'base64')), [1, 2]);
  assert.equal(of('CANCEL_REQUESTED').workflowExecutionCancelRequestedEventAttributes.cause, 'late');
  assert.equal(of('TERMINATED').workflowExecutionTerminatedEventAttributes.reason, 'enough');
  assert.match(await text('workflow', 'show', '-w', 'steered'), /^1 +\S+ +WorkflowExecutionStarted$/m);
  await refused(1, /already completed/, 'workflow', 'terminate', '-w', 'steered');
  await text('workflow', 'delete', '-w', 'steered');
  await refused(1, /not found/, 'workflow', 'describe', '-w', 'steered');
});

test('a signal starts what does not run', async () => {
  const args = ['--type', 'cart', '-t', 'cli', '-w', 'cart', '--signal-name', 'add', '--signal-input', '"book"', '--input', '1'];
  const first = await json('workflow', 'signal-with-start', ...args);
  const second = await json('workflow', 'signal-with-start', ...args);
  assert.deepEqual([first.started, second.started], [true, false]);
  assert.equal(first.runId, second.runId);
  const { events } = await json('workflow', 'show', '-w', 'cart');
  assert.equal(events.filter((e) => e.eventType === 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED').length, 2);
});

test('a workflow is paused and goes on', async () => {
  await start('held');
  await text('workflow', 'pause', '-w', 'held', '--reason', 'wait');
  assert.match(await text('workflow', 'describe', '-w', 'held'), /^Status +Paused$/m);
  await text('workflow', 'unpause', '-w', 'held');
  assert.match(await text('workflow', 'describe', '-w', 'held'), /^Status +Running$/m);
  await refused(2, /--reason is needed/, 'workflow', 'reset', '-w', 'held', '--event-id', '3');
  await refused(1, /./, 'workflow', 'reset', '-w', 'held', '--event-id', '99', '--reason', 'x');
});

const scheduled = ['--type', 'report', '--task-queue', 'cli', '--workflow-id', 'report'];

test('namespaces, search attributes, health and task queues', async () => {
  await text('operator', 'namespace', 'create', '--namespace', 'orders', '--retention', '48h', '--description', 'ours');
  const names = (await lines('operator', 'namespace', 'list')).map((n) => n.namespaceInfo.name);
  assert.ok(names.includes('orders') && names.includes('default'));
  const { namespaceInfo, config } = await json('operator', 'namespace', 'describe', '-n', 'orders');
  assert.deepEqual([namespaceInfo.description, config.workflowExecutionRetentionTtl], ['ours', '172800s']);
  await refused(1, /already exists/i, 'operator', 'namespace', 'create', '--namespace', 'orders');
  await text('operator', 'search-attribute', 'create', '--name', 'Customer', '--type', 'Keyword', '--name', 'Size', '--type', 'Int');
  const table = await text('operator', 'search-attribute', 'list');
  assert.match(table, /^Customer +Keyword$/m);
  assert.match(table, /^Size +Int$/m);
  await start('with-attributes', '--search-attribute', 'Customer="acme"', '--search-attribute', 'Size=3');
  const found = await lines('workflow', 'list', '-q', "Customer = 'acme' AND Size = 3");
  assert.deepEqual(found.map((w) => w.execution.workflowId), ['with-attributes']);
  await text('operator', 'search-attribute', 'remove', '--name', 'Size');
  assert.deepEqual((await lines('operator', 'search-attribute', 'list')).map((a) => a.key), ['Customer']);
  await refused(2, /--name is needed/, 'operator', 'search-attribute', 'remove');
  await refused(2, /one --type for each --name/, 'operator', 'search-attribute', 'create', '--name', 'A');
  await refused(2, /Colour/, 'operator', 'search-attribute', 'create', '--name', 'A', '--type', 'Colour');
  assert.deepEqual(await json('operator', 'cluster', 'health'), { status: 'SERVING' });
  assert.equal((await json('task-queue', 'describe', '--task-queue', 'cli')).pollers, undefined);
});

test('the environment chooses the server and the namespace, flags win', async () => {
  const address = env.TEMPORAL_ADDRESS;
  const both = { RONDO_ADDRESS: address, TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_NAMESPACE: 'no-such' };
  const missing = await ask(['workflow', 'list'], { env: both });
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /no-such/);
  const { code } = await ask(['workflow', 'list', '--namespace', 'default'], { env: both });
  assert.equal(code, 0);
});

test('mistakes end with 2, no server with 3, and each says what to do', async () => {
  await refused(2, /--type is needed.*--help/, 'workflow', 'start');
  await refused(2, /--input: .*column/, 'workflow', 'start', '--type', 'x', '-t', 'q', '--input', '{bad');
  await refused(2, /--input/, 'workflow', 'start', '--type', 'x', '-t', 'q', '--input', '1,2');
  await refused(2, /--run-timeout.*1h30m/, 'workflow', 'start', '--type', 'x', '-t', 'q', '--run-timeout', 'soon');
  await refused(2, /--id-reuse-policy/, 'workflow', 'start', '--type', 'x', '-t', 'q', '--id-reuse-policy', 'Perhaps');
  await refused(2, /KEY=JSON/, 'workflow', 'start', '--type', 'x', '-t', 'q', '--memo', 'nothing');
  await refused(2, /either --pause or --unpause/, 'schedule', 'toggle', '-s', 'x');
  await refused(2, /did you mean list\?/, 'workflow', 'lst');
  await refused(2, /did you mean config\?/, 'confg');
  await refused(2, /did you mean --task-queue\?/, 'workflow', 'start', '--task-quue', 'x');
  await refused(2, /did you mean --namespace\?/, 'workflow', 'list', '--namespce', 'x');
  await refused(2, /--command-timeout/, 'workflow', 'list', '--command-timeout', 'never');
  await refused(2, /--address/, 'workflow', 'list', '--address', 'nowhere');
  await refused(3, /cannot reach 127\.0\.0\.1:1.*rondo server start-dev/, 'workflow', 'list', '--address', '127.0.0.1:1');
  await refused(1, /./, 'workflow', 'list', '--query', 'Nonsense ==');
});

test('no text from a server moves the cursor of the terminal', async () => {
  await start('loud', '--memo', 'x="a\\u001b[2Jb"');
  await text('schedule', 'create', '-s', 'loud', '--interval', '1h', '--notes', 'red\u001b[31m\nline', ...scheduled);
  const card = await text('schedule', 'describe', '-s', 'loud');
  assert.match(card, /^Notes +red \[31m line$/m);
  assert.ok(!card.includes('\u001b'));
});

const payloadsOf = (events) => events[0].workflowExecutionStartedEventAttributes.input.payloads;
const decoded = ({ data, metadata }) => [Buffer.from(metadata.encoding, 'base64').toString(), Buffer.from(data ?? '', 'base64').toString()];

test('arguments come from the line and from files, with metadata, as text or as bytes', async (t) => {
  const file = join(temporaryDirectory(t), 'input.json');
  writeFileSync(file, '{"from":"file"}');
  const inputs = async (id, ...args) => {
    await start(id, ...args);
    return payloadsOf((await json('workflow', 'show', '-w', id)).events).map(decoded);
  };
  assert.deepEqual(await inputs('input-1', '--input', '1', '--input-file', file), [['json/plain', '1'], ['json/plain', '{"from":"file"}']]);
  assert.deepEqual(await inputs('input-2', '--input', 'aGkA', '--input-base64', '--input-meta', 'encoding=binary/plain'), [['binary/plain', 'hi\0']]);
  assert.deepEqual(
    await inputs('input-3', '--input', 'raw', '--input', 'text', '--input-meta', 'encoding=a/b', '--input-meta', 'encoding=c/d'),
    [['a/b', 'raw'], ['c/d', 'text']],
  );
  const bad = ['workflow', 'start', '--type', 'x', '-t', 'q'];
  await refused(2, /cannot read .*none/, ...bad, '--input-file', '/none');
  await refused(2, /not base64/, ...bad, '--input', '!', '--input-base64');
  await refused(2, /KEY=VALUE/, ...bad, '--input', '1', '--input-meta', 'x');
});

test('a payload is shown in full when that is asked for', async () => {
  const short = await json('workflow', 'describe', '-w', 'found-1');
  assert.equal(short.workflowExecutionInfo.memo.fields.why, 'test');
  const full = await json('workflow', 'describe', '-w', 'found-1', '--no-json-shorthand-payloads');
  assert.deepEqual(decoded(full.workflowExecutionInfo.memo.fields.why), ['json/plain', '"test"']);
});

test('colours only when they are asked for or a terminal is there', async () => {
  const list = ['workflow', 'list', '-q', "WorkflowId = 'found-1'"];
  assert.ok(!(await text(...list)).includes('\u001b'));
  assert.match(await text(...list, '--color', 'always'), /^\u001b\[1mStatus\u001b\[0m.*\n\u001b\[34mRunning\u001b\[0m/);
  assert.ok(!(await text(...list, '--color', 'never')).includes('\u001b'));
});

test('profiles and environments are kept in files, and lead to servers', async (t) => {
  const home = temporaryDirectory(t);
  const at = (more = {}) => ({ env: { HOME: home, ...more } });
  const ok = async (args, more) => {
    const result = await run(args, at(more));
    assert.equal(result.stderr, '', args.join(' '));
    assert.equal(result.code, 0);
    return result.stdout;
  };
  const set = (profile, prop, value) => ok(['config', 'set', '--profile', profile, '--prop', prop, '--value', value]);
  await set('near', 'address', env.TEMPORAL_ADDRESS);
  await set('near', 'namespace', 'default');
  await set('near', 'grpc_meta.x-who', 'me "quoted"');
  await set('far', 'tls', 'true');
  await set('far', 'tls.server_name', 'far.example');
  const file = join(home, '.config/temporalio/temporal.toml');
  assert.equal(
    readFileSync(file, 'utf8'),
    `[profile.near]\naddress = "${env.TEMPORAL_ADDRESS}"\nnamespace = "default"\n\n[profile.near.grpc_meta]\nx-who = "me \\"quoted\\""\n` +
      '\n[profile.far]\n\n[profile.far.tls]\nserver_name = "far.example"\n',
  );
  assert.deepEqual(JSON.parse(await ok(['config', 'list', '-o', 'json'])), [{ name: 'near' }, { name: 'far' }]);
  assert.deepEqual(JSON.parse(await ok(['config', 'get', '--profile', 'near', '-p', 'grpc_meta.x-who', '-o', 'json'])), [
    { property: 'grpc_meta.x-who', value: 'me "quoted"' },
  ]);
  assert.match(await ok(['workflow', 'count', '--profile', 'near']), /^Total/);
  assert.match(await ok(['workflow', 'count'], { TEMPORAL_PROFILE: 'near' }), /^Total/);
  const fails = async (code, pattern, args, more) => {
    const result = await run(args, at(more));
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, pattern);
    assert.equal(result.stdout, '');
  };
  await fails(2, /encrypted connections are not supported/, ['workflow', 'count', '--profile', 'far']);
  await fails(2, /no profile "nowhere"/, ['workflow', 'count', '--profile', 'nowhere']);
  await fails(2, /no property "adress", did you mean address/, ['config', 'set', '-p', 'adress', '-v', 'x']);
  await fails(2, /true or false/, ['config', 'set', '-p', 'tls', '-v', 'perhaps']);
  await fails(2, /--profile is needed/, ['config', 'delete-profile']);
  await fails(1, /no profile "default"/, ['config', 'get']);
  await ok(['config', 'delete', '--profile', 'near', '--prop', 'grpc_meta.x-who']);
  await ok(['config', 'delete-profile', '--profile', 'far']);
  assert.equal(readFileSync(file, 'utf8'), `[profile.near]\naddress = "${env.TEMPORAL_ADDRESS}"\nnamespace = "default"\n`);
  await ok(['config', 'delete-profile', '--profile', 'near']);
  assert.equal(readFileSync(file, 'utf8'), '');
  writeFileSync(file, `# by hand\n[profile."de fault"]\naddress='${env.TEMPORAL_ADDRESS}' # here\ntls = { disabled = true }\napi_key = """\nk"""\n`);
  assert.match(await ok(['workflow', 'count', '--profile', 'de fault']), /^Total/);
  writeFileSync(file, '[profile.default]\naddress = \n');
  await fails(2, /temporal\.toml: line 2 is not TOML/, ['workflow', 'count']);
  await ok(['workflow', 'count', '--disable-config-file'], { TEMPORAL_ADDRESS: env.TEMPORAL_ADDRESS });
  writeFileSync(file, '');

  await ok(['env', 'set', 'prod.address', env.TEMPORAL_ADDRESS]);
  await ok(['env', 'set', '--env', 'prod', '-k', 'namespace', '-v', 'default']);
  await ok(['env', 'set', '--env', 'prod', '-k', 'limit', '-v', '1']);
  assert.equal(
    readFileSync(join(home, '.config/temporalio/temporal.yaml'), 'utf8'),
    `env:\n    prod:\n        address: ${env.TEMPORAL_ADDRESS}\n        namespace: default\n        limit: "1"\n`.replace(/address: ([\d.:]+)\n/, 'address: "$1"\n'),
  );
  assert.deepEqual(JSON.parse(await ok(['env', 'get', 'prod.namespace', '-o', 'json'])), [{ property: 'namespace', value: 'default' }]);
  assert.equal((await ok(['workflow', 'list', '--env', 'prod', '-o', 'jsonl'])).trim().split('\n').length, 1);
  assert.equal((await ok(['workflow', 'list', '-o', 'jsonl'], { TEMPORAL_ENV: 'prod' })).trim().split('\n').length, 1);
  await fails(2, /no environment "test"/, ['workflow', 'list', '--env', 'test']);
  await ok(['env', 'set', 'prod.limit', 'many']);
  await fails(2, /limit needs a number/, ['workflow', 'list', '--env', 'prod']);
  await ok(['env', 'delete', 'prod.limit']);
  assert.equal((await ok(['env', 'list'])).trim(), 'Name\nprod');
  await ok(['env', 'delete', 'prod']);
  assert.deepEqual(JSON.parse(await ok(['env', 'list', '-o', 'json'])), []);
});

test('headers, keys and TLS: what cannot be sent safely is refused', async () => {
  await refused(2, /encrypted connections are not supported/, 'workflow', 'count', '--tls');
  await refused(2, /encrypted connections are not supported/, 'workflow', 'count', '--tls-cert-path', 'x');
  await refused(2, /unencrypted.*--tls=false/, 'workflow', 'count', '--api-key', 'k');
  await refused(2, /KEY=VALUE/, 'workflow', 'count', '--grpc-meta', 'x');
  await text('workflow', 'count', '--api-key', 'k', '--tls=false', '--grpc-meta', 'X-Who=me');
  const { stderr } = await ask(['workflow', 'count', '--log-level', 'debug', '--log-format', 'json']);
  assert.equal(JSON.parse(stderr).call, 'CountWorkflowExecutions');
  await start('who', '--identity', 'someone');
  const { events } = await json('workflow', 'show', '-w', 'who');
  assert.equal(events[0].workflowExecutionStartedEventAttributes.identity, 'someone');
});

test('payloads through a codec are refused, wherever the codec is named', async () => {
  await refused(2, /payload codecs are not supported/, 'workflow', 'count', '--codec-endpoint', 'http://127.0.0.1:1');
  await refused(2, /payload codecs are not supported/, 'workflow', 'count', '--codec-header', 'a=b');
  const named = await ask(['workflow', 'count'], { env: { ...env, TEMPORAL_CODEC_ENDPOINT: 'http://127.0.0.1:1' } });
  assert.equal(named.code, 2);
  assert.match(named.stderr, /--disable-config-env/);
});

test('what the environment says for a profile can be left aside', async () => {
  const loud = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_TLS: 'true', TEMPORAL_NAMESPACE: 'no-such', TEMPORAL_CODEC_AUTH: 'x' };
  const { code, stderr } = await ask(['workflow', 'count', '--disable-config-env', '--address', env.TEMPORAL_ADDRESS], { env: loud });
  assert.equal(stderr, '');
  assert.equal(code, 0);
});

test('headers come from the line, the environment and the profile, in this order', async (t) => {
  const home = temporaryDirectory(t);
  const seen = [];
  const peer = http2.createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(200, { 'content-type': 'application/grpc', 'grpc-status': '5', 'grpc-message': 'nobody' });
    response.end();
  });
  await new Promise((resolve) => peer.listen(0, '127.0.0.1', resolve));
  t.after(() => peer.close());
  const at = { HOME: home, TEMPORAL_ADDRESS: `127.0.0.1:${peer.address().port}` };
  for (const name of ['x-who', 'x-where', 'x-why'])
    await run(['config', 'set', '--prop', `grpc_meta.${name}`, '--value', 'file'], { env: at });
  const meta = { ...at, TEMPORAL_GRPC_META_X_WHO: 'environment', TEMPORAL_GRPC_META_X_WHERE: 'environment', TEMPORAL_GRPC_META_X_HOW: '' };
  const headersOf = async (args, more) => {
    const { code } = await run(['workflow', 'count', ...args], { env: more });
    assert.equal(code, 1);
    const { 'x-who': who, 'x-where': where, 'x-why': why, 'x-how': how } = seen.at(-1);
    return [who, where, why, how];
  };
  assert.deepEqual(await headersOf(['--grpc-meta', 'X-Who=line'], meta), ['line', 'environment', 'file', undefined]);
  const aside = ['--disable-config-env', '--address', at.TEMPORAL_ADDRESS];
  assert.deepEqual(await headersOf(aside, meta), ['file', 'file', 'file', undefined]);
});

test('a server that does not answer is given up in time', async (t) => {
  const silent = net.createServer(() => undefined);
  await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => silent.close());
  const address = `127.0.0.1:${silent.address().port}`;
  await refused(3, /no response within --client-connect-timeout/, 'workflow', 'count', '--address', address, '--client-connect-timeout', '200ms');
  await refused(2, /--client-connect-timeout.*not a duration/, 'workflow', 'count', '--client-connect-timeout', 'soon');
  await text('workflow', 'count', '--client-connect-timeout', '1m');
});

test('a workflow that has ended is described with its end', async () => {
  await start('ends');
  assert.equal((await json('workflow', 'describe', '-w', 'ends')).closeEvent, undefined);
  await text('workflow', 'terminate', '-w', 'ends', '--reason', 'enough');
  const { closeEvent, workflowExecutionInfo, result } = await json('workflow', 'describe', '-w', 'ends');
  assert.equal(workflowExecutionInfo.status, 'WORKFLOW_EXECUTION_STATUS_TERMINATED');
  assert.equal(closeEvent.workflowExecutionTerminatedEventAttributes.reason, 'enough');
  assert.equal(result, undefined);
  assert.deepEqual((await lines('workflow', 'describe', '-w', 'ends'))[0].closeEvent, closeEvent);
  assert.match(await text('workflow', 'describe', '-w', 'ends'), /\n\nFailure +enough\n$/);
  assert.deepEqual(JSON.parse(await text('workflow', 'describe', '-w', 'ends', '--raw')).closeEvent, closeEvent);
  assert.deepEqual(await json('workflow', 'describe', '-w', 'ends', '--reset-points'), []);
  assert.match(await text('workflow', 'describe', '-w', 'ends', '--reset-points'), /^BinaryChecksum +BuildId/);
});

test('a null is sent as the payload of a null', async () => {
  await start('null', '--headers', 'nothing=null');
  const { events } = await json('workflow', 'show', '-w', 'null', '--no-json-shorthand-payloads');
  const { nothing } = events[0].workflowExecutionStartedEventAttributes.header.fields;
  assert.equal(Buffer.from(nothing.metadata.encoding, 'base64').toString(), 'binary/null');
});

test('the limits of a task queue are set, shown and taken away', async () => {
  const queue = ['--task-queue', 'limited', '--task-queue-type', 'activity'];
  const set = (...args) => json('task-queue', 'config', 'set', ...queue, ...args);
  await set('--queue-rps-limit', '50', '--fairness-key-weight', 'a=2.5', '--fairness-key-weight', 'b=0.5', '--fairness-key-weight', 'c=3');
  const { config } = await json('task-queue', 'config', 'get', ...queue);
  assert.equal(config.queueRateLimit.rateLimit.requestsPerSecond, 50);
  assert.deepEqual(config.fairnessWeightOverrides, { a: 2.5, b: 0.5, c: 3 });
  const { config: less } = await set('--queue-rps-limit', 'default', '--fairness-key-weight', 'a=default');
  assert.equal(less.queueRateLimit.rateLimit, undefined);
  assert.deepEqual(less.fairnessWeightOverrides, { b: 0.5, c: 3 });
  assert.equal((await set('--fairness-key-weight-clear-all')).config.fairnessWeightOverrides, undefined);
  const setRefused = (pattern, ...args) => refused(2, pattern, 'task-queue', 'config', 'set', ...queue, ...args);
  await setRefused(/neither a number nor "default"/, '--queue-rps-limit', 'slow');
  await setRefused(/not KEY=WEIGHT/, '--fairness-key-weight', 'a');
  await setRefused(/give either --fairness-key-weight-clear-all/, '--fairness-key-weight-clear-all', '--fairness-key-weight', 'a=1');
});

test('shells are told what could stand next', async () => {
  const words = async (...args) => (await run(['__complete', ...args])).stdout.split('\n').filter(Boolean).map((l) => l.split('\t')[0]);
  assert.deepEqual(await words('sched'), ['schedule']);
  assert.ok((await words('workflow', '')).includes('start'));
  assert.ok((await words('workflow', 'start', '--task')).includes('--task-queue'));
  assert.deepEqual(await words('workflow', 'list', '--time-format', ''), ['relative', 'iso', 'raw']);
  assert.deepEqual(await words('workflow', 'list', '-o', 'j'), ['json', 'jsonl']);
  assert.deepEqual(await words('workflow', 'start', '--input-file', ''), []);
  const script = (await run(['completion', 'bash'])).stdout;
  const bash = `${script}\nCOMP_WORDS=("$RONDO_BIN" operator cl); COMP_CWORD=2; _rondo; echo "\${COMPREPLY[@]}"`;
  assert.equal(execFileSync('bash', ['-c', bash]).toString().trim(), 'cluster');
  assert.match((await run(['completion', 'zsh'])).stdout, /^#compdef rondo/);
  assert.match((await run(['completion', 'fish'])).stdout, /complete -c rondo -f -k/);
});

test('the manual page has every command and flag', async () => {
  const page = (await run(['man'])).stdout;
  const { commands } = JSON.parse((await run(['--help', '-o', 'json'])).stdout);
  for (const { name } of commands) {
    const help = JSON.parse((await run([...name.split(' '), '--help', '-o', 'json'])).stdout);
    if (name === 'help' || !help.examples.length) continue;
    assert.ok(page.includes(`.SS rondo ${name.replaceAll('-', '\\-')}\n`), name);
    for (const flag of help.flags) assert.ok(page.includes(`\\fB\\-\\-${flag.name.replaceAll('-', '\\-')}\\fR`), flag.name);
  }
});
