// What the command line says to people, beside real workers: previews, warnings, times in words, exit codes, mistakes as they were
// typed, and what shells are offered.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import os from 'node:os';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { BINARY } from './lib/server.mjs';
import { eventually, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();

// { code, stdout, stderr }
async function run(...args) {
  const env = { ...process.env, RONDO_ADDRESS: world.server.address, TZ: 'Asia/Tokyo' };
  return await promisify(execFile)(BINARY, args, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}
async function text(...args) {
  const { code, stdout, stderr } = await run(...args);
  assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  return stdout;
}
const json = async (...args) => JSON.parse(await text(...args, '-o', 'json'));
async function refused(pattern, ...args) {
  const { code, stdout, stderr } = await run(...args);
  assert.deepEqual([code, stdout], [2, ''], args.join(' '));
  assert.match(stderr, pattern);
}
const start = (type, id, ...inputs) => ['--type', type, '-t', world.taskQueue, '-w', id, ...inputs.flatMap((i) => ['-i', JSON.stringify(i)])];
const action = ['--type', 'same', '-t', world.taskQueue];
const create = (id, ...flags) => json('schedule', 'create', '-s', id, ...action, ...flags);
const iso = (ms) => new Date(ms).toISOString().replace('.000', '');
const HOUR = 3600_000;

test('a schedule that is made or changed shows its next times and warnings', async () => {
  const hours = await create('hourly', '--interval', '1h');
  const first = Math.ceil(Date.now() / HOUR) * HOUR;
  assert.deepEqual(hours.warnings, []);
  assert.equal(hours.scheduleId, 'hourly');
  assert.equal(hours.nextTimes.length, 3);
  assert.ok([first, first - HOUR].map(iso).includes(hours.nextTimes[0])); // the hour may have struck meanwhile
  const changed = await text('schedule', 'update', '-s', 'hourly', '--cron', '30 2 * * *', '--time-zone', 'Europe/Berlin');
  assert.match(changed, /^ScheduleId +hourly\nNextTimes +20\d\d-\d\d-\d\dT02:30:00\+0[12]:00 CES?T\n/);
  assert.match(changed, /^Warning +On 20\d\d-\d\d-\d\d the clocks jump over 02:30:00/m);
  const kinds = async (id, ...flags) => (await create(id, ...flags)).warnings.map((w) => w.kind);
  assert.deepEqual(await kinds('empty'), ['never']);
  assert.deepEqual(await kinds('never', '--cron', '0 0 31 4 *'), ['never', 'short_month']);
  assert.deepEqual(await kinds('over', '--at', '2020-01-01T00:00'), ['ended']);
  const { warnings } = await json('schedule', 'update', '-s', 'never', '--end-time', '-1d');
  assert.ok(warnings.some((w) => /never acts/.test(w.text)));
});

test('a paused schedule has no next time', async () => {
  const made = await create('held', '--interval', '1h', '--paused');
  assert.deepEqual([made.nextTimes, made.warnings.map((w) => w.kind)], [[], ['paused']]);
  assert.ok(!/NextTimes/.test(await text('schedule', 'describe', '-s', 'held')));
  assert.match(await text('schedule', 'list'), /^held +same +true$/m);
  assert.ok(!/^Next/m.test(await text('schedule', 'explain', '-s', 'held')));
  await text('schedule', 'update', '-s', 'held', '--paused=false');
  assert.match(await text('schedule', 'describe', '-s', 'held'), /^NextTimes +20/m);
  assert.match(await text('schedule', 'list'), /^held +same +false +\d+ (minutes?|seconds?|hours?) from now$/m);
  await text('schedule', 'update', '-s', 'held', '--pause-until', '2099-01-01');
  assert.ok(!/NextTimes/.test(await text('schedule', 'describe', '-s', 'held')));
});

test('a trigger that is skipped has an exit code of its own', async () => {
  await create('once', '--type', 'forever');
  const started = await json('schedule', 'trigger', '-s', 'once');
  const skipped = await run('schedule', 'trigger', '-s', 'once', '-o', 'json');
  assert.deepEqual([skipped.code, skipped.stderr], [4, '']);
  assert.equal(JSON.parse(skipped.stdout).entry.fate, 'LEDGER_FATE_OVERLAP_SKIPPED');
  const waits = await run('schedule', 'trigger', '-s', 'once', '--overlap-policy', 'BufferOne');
  assert.equal(waits.code, 0);
  await text('schedule', 'delete', '-s', 'once');
  await world.client.workflow.getHandle(started.entry.workflowId).terminate();
});

test('a workflow says that no worker polls its queue', async () => {
  await text('workflow', 'start', '--type', 'hello', '-t', 'lonely', '-w', 'waits', '-i', '"you"');
  assert.match(await text('workflow', 'describe', '-w', 'waits'), /^Warning +lonely: no worker polls this queue$/m);
  const { warnings } = await json('workflow', 'describe', '-w', 'waits');
  assert.deepEqual(warnings.map((w) => w.kind), ['no_poller']);
  await json('schedule', 'create', '-s', 'lonely', '--interval', '1h', '--type', 'same', '-t', 'lonely');
  assert.match(await text('schedule', 'describe', '-s', 'lonely'), /^Warning +lonely: no worker polls this queue$/m);
  assert.ok(!/no worker/.test(await text('schedule', 'describe', '-s', 'hourly')));
  await world.withWorker('lonely', async () => {
    await world.client.workflow.getHandle('waits').result();
  });
  assert.ok(!/no worker/.test(await text('workflow', 'describe', '-w', 'waits')));
});

test('a workflow says which task of it fails, and why', async () => {
  const handle = await world.start('failsTasksUntil', [Date.now() + 24 * HOUR, false]);
  await eventually(async () => (await handle.describe()).raw.pendingWorkflowTask?.attempt > 1);
  const card = await text('workflow', 'describe', '-w', handle.workflowId);
  assert.match(card, /^WorkflowTask +(Scheduled|Started) .*attempt \d+; failed: the task fails, not the workflow \(\w+\)$/m);
  const { warnings } = await json('workflow', 'describe', '-w', handle.workflowId);
  assert.deepEqual(warnings.map((w) => w.kind), ['failing_workflow_task']);
  await handle.terminate();
});

test('text has words and values, no JSON of messages', async () => {
  await json('operator', 'search-attribute', 'create', '--name', 'Customer', '--type', 'Keyword', '--name', 'Tags', '--type', 'KeywordList');
  const activity = ['flaky', { startToCloseTimeout: '1h', retry: { initialInterval: '1h', maximumAttempts: 5 } }, 9];
  await text('workflow', 'start', ...start('activity', 'readable', ...activity), '--memo', 'why={"a":1}', '--memo', 'n=2',
    '--search-attribute', 'Customer="ann"', '--search-attribute', 'Tags=["x","y"]');
  const handle = world.client.workflow.getHandle('readable');
  await eventually(async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt === 2);
  const card = await text('workflow', 'describe', '-w', 'readable');
  assert.match(card, /^Memo +why=\{"a":1\}\n +n=2$/m);
  assert.match(card, /^SearchAttributes +.*Customer="ann"$/m);
  assert.match(card, /^ +Tags=\["x","y"\]$/m);
  assert.match(card, /^PendingActivities +flaky \(1\): Scheduled, attempt 2 of 5, next (59 minutes|1 hour) from now; failed: attempt 1$/m);
  assert.match(card, /^HistorySize +(\d+ bytes|\d+\.\d KiB)$/m);
  assert.ok(!card.includes('metadata'));
  await handle.terminate();
  await create('lengths', '--interval', '90m', '--catchup-window', '36h', '--run-timeout', '5400s', '--jitter', '2s');
  const schedule = await text('schedule', 'describe', '-s', 'lengths');
  for (const line of [/^CatchupWindow +1 day 12 hours$/m, /^RunTimeout +1 hour 30 minutes$/m, /^Jitter +up to 2 seconds later$/m]) assert.match(schedule, line);
  assert.match(await text('operator', 'namespace', 'describe'), /^Retention +\d+ days?$/m);
  assert.match(await text('workflow', 'execute', ...start('hello', 'lasts', 'you')), /^Duration +(\d+ seconds? )?\d+ (ms|seconds?)$/m);
});

test('times are written as people write them', async () => {
  const next = async (...flags) => (await json('schedule', 'next', '--limit', '1', ...flags))[0];
  const day = (offset, zone = 'UTC') => new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(Date.now() + offset * 24 * HOUR);
  const from = async (when, ...flags) => (await next('--interval', '1d', '--from', when, ...flags)).time.slice(0, 10);
  const near = (wanted, seen) => assert.ok(wanted.includes(seen), `${seen} is none of ${wanted}`); // midnight may pass
  assert.equal(await from('2026-01-01'), '2026-01-02');
  assert.equal(await from('2026-01-01T09:00'), '2026-01-02');
  near([day(1), day(0)], await from('now'));
  near([day(0), day(-1)], await from('yesterday'));
  near([day(2), day(1)], await from('tomorrow'));
  near([day(0), day(-1)], await from('-1d'));
  near([day(0), day(-1)], await from('-24h'));
  near([day(2), day(1)], await from('+1d'));
  assert.equal((await next('--cron', '0 9 * * *', '--time-zone', 'local', '--from', '2026-01-01')).local, '2026-01-01T09:00:00+09:00 JST');
  assert.equal((await next('--cron', '0 0 * * *', '--time-zone', 'Asia/Tokyo', '--from', '2026-01-01T00:00')).time, '2026-01-01T15:00:00Z');
  near([`${day(1, 'Asia/Tokyo')}T00:00:00+09:00 JST`, `${day(0, 'Asia/Tokyo')}T00:00:00+09:00 JST`], (await next('--at', 'tomorrow', '--time-zone', 'local')).local);
  await create('bounded', '--interval', '1h', '--start-time', 'tomorrow', '--end-time', '2099-01-01', '--exclude-date', 'tomorrow');
  const { schedule } = await json('schedule', 'describe', '-s', 'bounded');
  near([day(1), day(0)], schedule.spec.startTime.slice(0, 10));
  assert.equal(schedule.spec.endTime, '2099-01-01T00:00:00Z');
  const { startTime } = await json('schedule', 'list-matching-times', '-s', 'hourly', '--start-time', '-3d', '--end-time', 'now');
  assert.equal(startTime.length, 3);
  assert.ok(Array.isArray(await json('schedule', 'history', '-s', 'hourly', '--start-time', 'yesterday', '--end-time', 'now')));
  const { summary } = await json('schedule', 'simulate', '--interval', '1h', '--from', 'yesterday', '--to', 'today', '--outage', 'yesterday/today', '--duration', '1m');
  assert.ok(summary.times > 0);
  await refused(/--from: "tomorow" is not a time such as/, 'schedule', 'next', '--interval', '1h', '--from', 'tomorow');
  await refused(/--start-time: "soon" is not a time/, 'schedule', 'backfill', '-s', 'hourly', '--start-time', 'soon', '--end-time', 'now');
});

test('mistakes are named as they were typed', async () => {
  const next = ['schedule', 'next'];
  await refused(/--interval: "0s" is too short: an interval must be at least 1s/, ...next, '--interval', '0s');
  await refused(/--interval: "1h\/2h": the phase after the slash must be shorter/, ...next, '--interval', '1h/2h');
  await refused(/--cron: "0 5 \* \* 1 \/usr\/bin\/backup.sh": this is a line of a crontab: leave out its command/, ...next, '--cron', '0 5 * * 1 /usr/bin/backup.sh');
  for (const zone of ['europe/berlin', 'Europe/Berln', 'Berlin'])
    await refused(/--time-zone: unknown time zone "[^"]+"; did you mean "Europe\/Berlin"\?/, 'schedule', 'create', '-s', 'zoned', ...action, '--cron', '@daily', '--time-zone', zone);
  await refused(/--rrule: "RRULE:FREQ=X": FREQ is none of/, 'schedule', 'update', '-s', 'hourly', '--rrule', 'RRULE:FREQ=X');
  await refused(/--at: "noon" is not a time/, ...next, '--at', 'noon');
  await refused(/--also-in: unknown time zone "asia\/tokyo"; did you mean "Asia\/Tokyo"/, ...next, '--interval', '1h', '--also-in', 'asia/tokyo');
  await assert.rejects(world.client.schedule.create({ scheduleId: 'pasted', spec: { cronExpressions: ['0 5 * * 1 /usr/bin/backup.sh'] },
    action: { type: 'startWorkflow', workflowType: 'same', taskQueue: world.taskQueue } }), (error) => /line of a crontab/.test(`${error.message} ${error.cause?.message}`));
});

test('flags of every command may stand before it, and who asks is user@host', async () => {
  const rows = JSON.parse(await text('-o', 'json', '--namespace', 'default', 'workflow', 'list', '--limit', '1'));
  assert.equal(rows.length, 1);
  assert.match((await run('--limit', '1', 'workflow', 'list')).stderr, /unknown flag --limit; see rondo --help/);
  await text('workflow', 'start', ...start('forever', 'signed'));
  const { events } = await json('workflow', 'show', '-w', 'signed');
  assert.equal(events[0].workflowExecutionStartedEventAttributes.identity, `${os.userInfo().username}@${os.hostname()}`);
  await text('workflow', 'terminate', '-w', 'signed', '--identity', 'me', '--headers', 'a=1');
  const { closeEvent } = await json('workflow', 'describe', '-w', 'signed');
  assert.equal(closeEvent.workflowExecutionTerminatedEventAttributes.identity, 'me');
});

test('a start on an id that runs takes the run that is there', async () => {
  const first = await json('workflow', 'start', ...start('collect', 'taken'));
  const second = await json('workflow', 'start', ...start('collect', 'taken'));
  assert.deepEqual([first.started, second.started, second.runId], [true, false, first.runId]);
  const failed = await run('workflow', 'start', ...start('collect', 'taken'), '--fail-existing');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /already running/);
  const waiting = run('workflow', 'execute', ...start('collect', 'taken'), '--detailed');
  await world.client.workflow.getHandle('taken').signal('add', 7);
  await world.client.workflow.getHandle('taken').signal('stop');
  const { code, stdout } = await waiting;
  assert.equal(code, 0);
  assert.match(stdout, /^\d+ +\S+ +WorkflowExecutionSignaled +signalName=add, input=\[7\]/m);
  assert.match(stdout, /^Status +COMPLETED\nResult +\[7\]$/m);
});

test('a trace is a tree of what a workflow does', async () => {
  const child = { workflowId: 'traced-child', args: ['you'], taskQueue: world.taskQueue };
  const parent = await world.start('parent', ['hello', child], { workflowId: 'traced' });
  const tree = await text('workflow', 'trace', '-w', 'traced', '--no-fold');
  await parent.result();
  assert.match(tree, /^parent: Completed, .*, traced, [0-9a-f-]{36}\n {2}hello: Completed, .*, traced-child, [0-9a-f-]{36}\n {4}greet: Completed, /);
  const folded = await text('workflow', 'trace', '-w', 'traced');
  assert.match(folded, /^ {2}hello: Completed, .*traced-child, folded$/m);
  assert.match(await text('workflow', 'trace', '-w', 'traced', '--fold', 'failed', '--depth', '0'), /, folded$/m);
  const waits = await world.start('collect');
  const shown = run('workflow', 'trace', '-w', waits.workflowId);
  await waits.signal('add', 1);
  await waits.signal('stop');
  assert.match((await shown).stdout, /^collect: Completed, .*\n {2}signal add: Received\n {2}signal stop: Received\n$/);
  await refused(/--fold: "odd" is not a status/, 'workflow', 'trace', '-w', 'traced', '--fold', 'odd');
});

test('shells are offered ids and names', async () => {
  const offered = async (...words) => (await text('__complete', ...words)).split('\n').filter(Boolean).map((line) => line.split('\t')[0]);
  assert.deepEqual(await offered('workflow', 'describe', '-w', 'tak'), ['taken']);
  assert.ok((await offered('workflow', 'start', '--task-queue', '')).includes('lonely'));
  assert.deepEqual(await offered('workflow', 'start', '--type', 'coll'), ['collect']);
  assert.equal((await offered('workflow', 'describe', '-w', 'taken', '--run-id', '')).length, 1);
  assert.deepEqual(await offered('schedule', 'describe', '--schedule-id=hour'), ['--schedule-id=hourly']);
  assert.deepEqual(await offered('operator', 'namespace', 'describe', 'def'), ['default']);
  assert.deepEqual(await offered('workflow', 'list', '--namespace', ''), ['default']);
  assert.deepEqual(await offered('workflow', 'start', '--search-attribute', 'Cust'), ['Customer=']);
  assert.deepEqual(await offered('operator', 'search-attribute', 'remove', '--name', 'Ta'), ['Tags']);
  assert.deepEqual(await offered('workflow', 'start', '--id-conflict-policy', 'U'), ['UseExisting']);
  assert.deepEqual(await offered('schedule', 'create', '--time-zone', 'Europe/Berl'), ['Europe/Berlin']);
  const silent = await run('__complete', 'workflow', 'describe', '--address', '127.0.0.1:1', '-w', '');
  assert.deepEqual(silent, { code: 0, stdout: '', stderr: '' });
  const script = await text('completion', 'bash');
  const line = `rondo schedule describe --address ${world.server.address} --schedule-id=hour`;
  const words = ['rondo', 'schedule', 'describe', '--address', '127.0.0.1', ':', world.server.address.split(':')[1], '--schedule-id', '=', 'hour'];
  const bash = `${script}\nrondo() { '${BINARY}' "$@"; }\nCOMP_LINE='${line}'; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=9; _rondo; echo "\${COMPREPLY[@]}"`;
  assert.equal(execFileSync('bash', ['-c', bash]).toString().trim(), 'hourly');
});

test('a server for development takes flags of a user interface, with a warning', async () => {
  const child = execFile(BINARY, ['server', 'start-dev', '--port', '0', '--headless', '-o', 'json', '--ui-disable-news-fetch', '--ui-theme', 'dark', '--ui-x=1']);
  let log = '';
  child.stderr.on('data', (chunk) => (log += chunk));
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('close', () => reject(new Error(log)));
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  assert.equal(await closed, 0);
  for (const flag of ['ui-disable-news-fetch', 'ui-theme', 'ui-x=1']) assert.ok(log.includes(flag), `${flag} in ${log}`);
});

replayAll(world);
