// /metrics: the format, the numbers after known requests, and whether table, documents and dashboard say the same.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { serve, temporaryDirectory } from './rondo.mjs';

const args = ['server', '--data', ':memory:', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'];
const WORKFLOWS = '/api/v1/namespaces/default/workflows';
const START = { workflowType: { name: 'greet' }, taskQueue: { name: 'nobody' } };
const source = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

function tableRows() {
  const rows = source('src/serve/metrics.def').matchAll(/^METRIC\((\w+), (\w+), "([^"]*)", "([^"]*)"\)$/gm);
  return [...rows].map(([, name, kind, labels, help]) => {
    return { name, kind: kind.toLowerCase(), labels: labels.split(',').filter(Boolean), help };
  });
}

// Families by name, { kind, help, samples: [{ name, labels, value }] }. Throws at whatever a scraper would refuse.
function parse(text) {
  assert.ok(text.endsWith('\n'));
  const families = new Map();
  const seen = new Set();
  let family;
  for (const line of text.slice(0, -1).split('\n')) {
    const head = line.match(/^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/);
    if (head?.[1] === 'HELP') {
      assert.ok(!families.has(head[2]), `${head[2]} comes twice`);
      family = { name: head[2], help: head[3], samples: [] };
      families.set(head[2], family);
      continue;
    }
    if (head) {
      assert.equal(head[2], family.name);
      assert.ok(!family.kind && !family.samples.length, `the type of ${family.name} comes late or twice`);
      assert.ok(['counter', 'gauge', 'histogram'].includes(head[3]), head[3]);
      family.kind = head[3];
      continue;
    }
    const sample = line.match(/^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (\S+)$/);
    assert.ok(sample, `not a sample: ${line}`);
    const [, name, labelText = '', number] = sample;
    const series = line.slice(0, line.lastIndexOf(' '));
    assert.ok(!seen.has(series), `${series} comes twice`);
    seen.add(series);
    assert.ok(family.kind, `${name} has no type`);
    const suffix = name.slice(family.name.length);
    assert.ok(name.startsWith(family.name), `${name} is not of ${family.name}`);
    assert.ok((family.kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).includes(suffix), name);
    const labels = Object.fromEntries([...labelText.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map((m) => [m[1], m[2]]));
    const value = Number(number);
    assert.ok(Number.isFinite(value) && value >= 0, line);
    family.samples.push({ suffix, labels, value });
  }
  for (const each of families.values()) if (each.kind === 'histogram') checkHistogram(each);
  return families;
}

function checkHistogram({ name, samples }) {
  const groups = new Map();
  for (const { suffix, labels: { le, ...labels }, value } of samples) {
    const key = JSON.stringify(labels);
    const group = groups.get(key) ?? { bounds: [], counts: [] };
    groups.set(key, group);
    if (suffix === '_bucket') {
      group.bounds.push(le === '+Inf' ? Infinity : Number(le));
      group.counts.push(value);
    } else {
      assert.equal(le, undefined);
      assert.equal(group[suffix], undefined);
      group[suffix] = value;
    }
  }
  for (const [labels, { bounds, counts, _sum, _count }] of groups) {
    const where = `${name} ${labels}`;
    assert.equal(bounds.at(-1), Infinity, where);
    for (let i = 1; i < bounds.length; i++) {
      assert.ok(bounds[i] > bounds[i - 1], `${where}: bounds ascend`);
      assert.ok(counts[i] >= counts[i - 1], `${where}: counts are cumulative`);
    }
    assert.equal(counts.at(-1), _count, where);
    assert.ok(_sum !== undefined && (_count > 0 || _sum === 0), where);
  }
}

async function scrape(server) {
  const response = await fetch(`http://${server.http}/metrics`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const families = parse(await response.text());
  // The one sample with these labels; 0 when there is none, as for a scraper.
  const value = (name, labels = {}, suffix = '') => {
    const wanted = JSON.stringify(labels);
    assert.ok(families.has(name), name);
    return families.get(name).samples.find((s) => s.suffix === suffix && JSON.stringify(s.labels) === wanted)?.value ?? 0;
  };
  return { families, value };
}

async function post(server, path, body, status = 200) {
  const response = await fetch(`http://${server.http}${path}`, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(response.status, status, await response.text());
}

async function eventually(what, check) {
  for (let i = 0; i < 600; i++) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${what}: not within 30 s`);
}

const field = (number, bytes) => Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);

// A poll for workflow tasks as a worker sends it; it waits until it is cancelled.
function poll(session, queue) {
  const body = Buffer.concat([field(1, Buffer.from('default')), field(2, field(1, Buffer.from(queue)))]);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/temporal.api.workflowservice.v1.WorkflowService/PollWorkflowTaskQueue',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {});
  stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]));
  return stream;
}

test('the table is what the server says and what the documents say', async (t) => {
  const server = await serve(t, args);
  const { families } = await scrape(server);
  const rows = tableRows();
  const lines = source('src/serve/metrics.def').match(/^METRIC\(/gm);
  assert.equal(rows.length, lines.length, 'each row of the table is one line');
  assert.deepEqual([...families.keys()], rows.map((row) => row.name));
  for (const row of rows) {
    const { kind, help, samples } = families.get(row.name);
    assert.deepEqual({ kind, help }, { kind: row.kind, help: row.help });
    assert.equal(row.kind === 'counter', row.name.endsWith('_total'), `${row.name}: counters end in _total`);
    for (const { labels } of samples) {
      const { le, ...own } = labels;
      assert.deepEqual(Object.keys(own), row.labels);
    }
  }
  const cells = (row) => [`\`${row.name}\``, row.kind, row.labels.map((label) => `\`${label}\``).join(', '), row.help];
  const documented = source('docs/metrics.md').match(/^\| `\w+` \| (counter|gauge|histogram) \|.*$/gm);
  assert.deepEqual(
    documented.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim())),
    rows.map(cells),
  );
  const fates = source('docs/metrics.md').match(/^\| `fate` \| (.*?):/m)[1].match(/\w+/g);
  assert.deepEqual(families.get('rondo_schedule_times_total').samples.map((s) => s.labels.fate), fates);
  assert.equal((await server.stop()).code, 0);
});

// The series that a server has, with their labels and kinds.
function seriesTable() {
  const series = new Map();
  for (const { name, kind, labels } of tableRows()) {
    if (kind !== 'histogram') series.set(name, { labels, kind });
    else for (const suffix of ['_bucket', '_sum', '_count']) series.set(name + suffix, { labels, kind: 'counter' });
  }
  return series;
}

const namesIn = (expr) => [...expr.matchAll(/\b(?:rondo|process)_\w+/g)].map(([name]) => name);

// That there is what the expression asks for, that only counters have a rate, and that labels belong to it.
function checkExpression(series, where, expr, moreLabels = []) {
  const names = namesIn(expr);
  for (const name of names) assert.ok(series.has(name), `${where}: ${name} in ${expr}`);
  for (const [, name] of expr.matchAll(/\b(?:rate|increase)\((\w+)/g)) assert.equal(series.get(name).kind, 'counter', `${where}: ${name}`);
  const labels = ['job', 'instance', 'le', ...names.flatMap((name) => series.get(name).labels)];
  const used = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list.split(', '));
  used.push(...[...expr.matchAll(/[{,](\w+)(?:=|!)/g)].map(([, label]) => label), ...moreLabels);
  for (const label of used) assert.ok(labels.includes(label), `${where}: label ${label}`);
}

test('the dashboard asks only for what is there', () => {
  const dashboard = JSON.parse(source('docs/grafana.json'));
  const series = seriesTable();
  const asked = new Set();
  for (const { targets, title } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      assert.ok(namesIn(expr).length, title);
      checkExpression(series, title, expr, [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label));
      for (const name of namesIn(expr)) asked.add(name.replace(/_(bucket|sum|count)$/, ''));
    }
  }
  for (const { query } of dashboard.templating.list) for (const name of namesIn(query)) assert.ok(series.has(name), query);
  for (const { name } of tableRows()) assert.ok(asked.has(name), `${name} is on no panel`);
  const ids = dashboard.panels.map((panel) => panel.id);
  assert.equal(new Set(ids).size, ids.length);
  const places = dashboard.panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  assert.equal(new Set(places).size, places.length, 'no panel lies on another');
});

// A rule is read by its lines: all of them have the same form.
test('the alerts ask only for what is there', () => {
  const series = seriesTable();
  const [head, ...rules] = source('docs/alerts.yaml').split(/^ {6}- alert: /m);
  assert.match(head, /^groups:\n {2}- name: rondo\n {4}rules:\n$/m);
  assert.ok(rules.length >= 9, 'there are rules');
  const names = rules.map((text) => {
    const rule = text.match(/^(\w+)\n {8}expr: (.+)\n(?: {8}for: \d+m\n)? {8}labels:\n {10}severity: (?:warning|critical)\n {8}annotations:\n {10}summary: "(.+)"\n {10}description: "(.+)"\n+$/);
    assert.ok(rule, `a rule that cannot be read: ${text}`);
    const [, name, expr, summary, description] = rule;
    const labels = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
    if (!expr.startsWith('up{')) assert.ok(namesIn(expr).length, name);
    checkExpression(series, name, expr, labels);
    // What an aggregation does not keep cannot be said.
    const kept = expr.match(/\bsum by \(([^)]*)\)/)?.[1].split(', ');
    for (const label of labels) assert.ok(!kept || kept.includes(label), `${name}: ${label} is lost`);
    return name;
  });
  assert.equal(new Set(names).size, names.length);
});

test('requests, commits and tasks are counted', async (t) => {
  const data = join(temporaryDirectory(t), 'rondo.db');
  const server = await serve(t, ['server', '--data', data, ...args.slice(3)]);
  let before;
  await eventually('the namespaces of the start are durable', async () => {
    before = await scrape(server);
    return before.value('rondo_commit_runs', {}, '_count') === 1;
  });
  const start = { method: 'StartWorkflowExecution' };
  assert.equal(before.value('rondo_requests_total', { ...start, code: 'OK' }), 0);
  for (let i = 0; i < 3; i++) await post(server, `${WORKFLOWS}/w${i}`, START);
  await post(server, `${WORKFLOWS}/w0`, START, 409);
  await post(server, `${WORKFLOWS}/w9`, {}, 400);

  const { value } = await scrape(server);
  assert.equal(value('rondo_requests_total', { ...start, code: 'OK' }), 3);
  assert.equal(value('rondo_requests_total', { ...start, code: 'ALREADY_EXISTS' }), 1);
  assert.equal(value('rondo_requests_total', { ...start, code: 'INVALID_ARGUMENT' }), 1);
  assert.equal(value('rondo_request_duration_seconds', start, '_count'), 5);
  assert.ok(value('rondo_request_duration_seconds', start, '_sum') > 0);

  // One after the other, so each start is a commit of its own with one run.
  for (const name of ['rondo_commit_duration_seconds', 'rondo_commit_runs', 'rondo_commit_bytes'])
    assert.equal(value(name, {}, '_count') - before.value(name, {}, '_count'), 3, name);
  assert.equal(value('rondo_commit_runs', {}, '_sum') - before.value('rondo_commit_runs', {}, '_sum'), 3);
  assert.ok(value('rondo_commit_bytes', {}, '_sum') - before.value('rondo_commit_bytes', {}, '_sum') > 3 * 100);
  assert.ok(value('rondo_commit_duration_seconds', {}, '_sum') > 0);

  assert.equal(value('rondo_tasks_waiting', { kind: 'workflow' }), 3);
  assert.equal(value('rondo_tasks_waiting', { kind: 'activity' }), 0);
  assert.equal(value('rondo_task_queues', { kind: 'workflow' }), 1);
  assert.equal(value('rondo_runs_in_memory', { content: 'state' }) + value('rondo_runs_in_memory', { content: 'deadline' }), 3);
  assert.ok(value('process_resident_memory_bytes') > 1 << 20);
  assert.ok(value('rondo_uptime_seconds') > before.value('rondo_uptime_seconds'));
  const [build] = before.families.get('rondo_build_info').samples;
  assert.match(build.labels.version, /^\d+\.\d+\.\d+/);
  assert.equal(build.value, 1);
  assert.equal((await server.stop()).code, 0);
});

test('a parked poll is seen, and a caller that leaves is counted', async (t) => {
  const server = await serve(t, args);
  const session = connect(`http://${server.grpc}`);
  t.after(() => session.destroy());
  await once(session, 'connect');
  const polls = [poll(session, 'empty'), poll(session, 'empty'), poll(session, 'other')];
  const parked = async () => (await scrape(server)).value('rondo_polls_waiting', { kind: 'workflow' });
  await eventually('three polls are parked', async () => (await parked()) === 3);
  assert.equal((await scrape(server)).value('rondo_requests_total', { method: 'PollWorkflowTaskQueue', code: 'OK' }), 0);
  polls[0].close(8);
  await eventually('one has left', async () => (await parked()) === 2);
  const { value } = await scrape(server);
  assert.equal(value('rondo_requests_total', { method: 'PollWorkflowTaskQueue', code: 'CANCELLED' }), 1);
  assert.equal(value('rondo_task_queues', { kind: 'workflow' }), 2);
});

// The one workflow that the schedule has started.
async function running(server) {
  const query = encodeURIComponent("WorkflowType = 'greet'");
  const { executions } = await (await fetch(`http://${server.http}${WORKFLOWS}?query=${query}`)).json();
  assert.equal(executions.length, 1);
  return executions[0];
}

test('the times of schedules are counted by their fate', async (t) => {
  const server = await serve(t, args);
  const action = { startWorkflow: { workflowId: 'tick', ...START } };
  await post(server, '/api/v1/namespaces/default/schedules/s', {
    requestId: 'create',
    schedule: { spec: { interval: [{ interval: '1s' }] }, action, policies: { overlapPolicy: 'SCHEDULE_OVERLAP_POLICY_SKIP' } },
  });
  const fate = (seen, name) => seen.value('rondo_schedule_times_total', { fate: name });
  let seen;
  await eventually('one started, two skipped', async () => {
    seen = await scrape(server);
    return fate(seen, 'overlap_skipped') >= 2;
  });
  assert.equal(fate(seen, 'started'), 1); // nobody works on it, so it runs for ever
  assert.equal(seen.value('rondo_schedule_lateness_seconds', {}, '_count'), 1);
  assert.ok(seen.value('rondo_schedule_lateness_seconds', {}, '_sum') < 5);
  const delivered = seen.value('rondo_messages_delivered_total');
  assert.equal(delivered, 1); // the order to start
  // Its end is told to the schedule, which writes the row again: that is no second start.
  const { execution } = await running(server);
  await post(server, '/api/v1/namespaces/default/schedules/s/patch', { requestId: 'pause', patch: { pause: 'enough' } });
  await post(server, `${WORKFLOWS}/${encodeURIComponent(execution.workflowId)}/terminate`, {});
  await eventually('the end was told', async () => (await scrape(server)).value('rondo_messages_delivered_total') > delivered);
  assert.equal(fate(await scrape(server), 'started'), 1);
});

test('only GET, and only under a name that is ours', async (t) => {
  const server = await serve(t, args);
  const response = await fetch(`http://${server.http}/metrics`, { method: 'POST', body: 'x' });
  assert.equal(response.status, 405);
  assert.equal(response.headers.get('allow'), 'GET, HEAD');
  const head = await fetch(`http://${server.http}/metrics`, { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), '');
  const [foreign] = await once(get(`http://${server.http}/metrics`, { headers: { Host: 'rebound.example' } }), 'response');
  foreign.resume();
  assert.equal(foreign.statusCode, 403);
});
