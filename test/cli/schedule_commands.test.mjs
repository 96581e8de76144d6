// The commands of schedules, against a server: what they make, show and change, in each format, and how they end.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openServer } from './asking.mjs';
import { run } from './rondo.mjs';

const server = openServer();
const { ask, text, json, lines, refused } = server;
const action = ['--type', 'report', '--task-queue', 'cli'];
const create = (id, ...flags) => text('schedule', 'create', '-s', id, ...action, ...flags);
const describe = (id) => json('schedule', 'describe', '-s', id);

async function eventually(probe) {
  for (let i = 0; i < 200; i++) {
    const found = await probe();
    if (found) return found;
  }
  throw new Error('it never came');
}

test('a schedule has what the flags said', async () => {
  const flags =
    '--time-zone Europe/Berlin --interval 2h/15m --overlap-policy BufferOne --catchup-window 1h --jitter 5s ' +
    '--paused --notes made --remaining-actions 3 --pause-on-failure --start-time 2026-01-01T00:00:00Z --end-time 2099-01-01T00:00:00Z ' +
    '--execution-timeout 3h --run-timeout 2h --task-timeout 20s --priority-key 2 --fairness-key team --fairness-weight 2.5 ' +
    '--max-concurrent 4 --only-while-active --pass-times --keep-after-end 2d --dst-missing shift --dst-repeated last ' +
    '--workflow-id-format {id}/%Y --memo kept=true --headers trace="abc" --schedule-memo owner="me" --exclude-date 2026-12-25';
  await create('full', '--cron', '0 9 * * mon-fri', '--calendar', '{"dayOfWeek":"Sat","hour":"17"}', '--input', '{"a":1}',
    '--static-summary', 'the report', '--workflow-id', 'report', '--exclude-cron', '* * * * sun',
    '--exclude-calendar', '{"month":"8","hour":"*","minute":"*","second":"*"}', ...flags.split(' '));
  const { schedule, memo } = await describe('full');
  const { spec, state, policies, extras } = schedule;
  const started = schedule.action.startWorkflow;
  assert.deepEqual(spec.interval, [{ interval: '7200s', phase: '900s' }]);
  assert.deepEqual(spec.structuredCalendar.map((c) => c.hour[0].start).sort(), [17, 9]);
  assert.equal(spec.excludeStructuredCalendar.length, 3);
  assert.equal(spec.timezoneName, 'Europe/Berlin;missing=shift;repeated=last');
  assert.equal(spec.jitter, '5s');
  assert.equal(spec.startTime, '2026-01-01T00:00:00Z');
  assert.equal(spec.endTime, '2099-01-01T00:00:00Z');
  assert.deepEqual(state, { notes: 'made', paused: true, limitedActions: true, remainingActions: '3' });
  assert.equal(policies.overlapPolicy, 'SCHEDULE_OVERLAP_POLICY_BUFFER_ONE');
  assert.equal(policies.catchupWindow, '3600s');
  assert.equal(policies.pauseOnFailure, true);
  assert.deepEqual(extras, { maxConcurrentRuns: 4, keepAfterEnd: '172800s', workflowIdFormat: '{id}/%Y', onlyWhileActive: true, passesTimes: true });
  assert.deepEqual(started.input, [{ a: 1 }]);
  assert.equal(started.workflowId, 'report');
  assert.deepEqual([started.workflowExecutionTimeout, started.workflowRunTimeout, started.workflowTaskTimeout], ['10800s', '7200s', '20s']);
  assert.deepEqual(started.priority, { priorityKey: 2, fairnessKey: 'team', fairnessWeight: 2.5 });
  assert.deepEqual([started.memo.fields, started.header.fields], [{ kept: true }, { trace: 'abc' }]);
  assert.deepEqual(started.userMetadata, { summary: 'the report' });
  assert.deepEqual(memo.fields, { owner: 'me' });
});

test('describe says all of it in words, and list as much as is asked for', async () => {
  const card = await text('schedule', 'describe', '-s', 'full');
  assert.match(card, /^ScheduleId +full$/m);
  assert.match(card, /^Paused +true$/m);
  assert.match(card, /^When +at 17:00 on Saturday\n +at 09:00 on Monday to Friday\n +every 2 hours, shifted by 15 minutes$/m);
  assert.match(card, /^Not +every minute on Sunday$/m);
  assert.match(card, /^ +at any time on day 25 of December in 2026$/m);
  assert.match(card, /^Zone +in Europe\/Berlin; a time that the clocks skip is moved behind the gap/m);
  assert.match(card, /^OverlapPolicy +BufferOne$/m);
  assert.match(card, /^CatchupWindow +1 hour$/m);
  assert.match(card, /^RemainingActions +3$/m);
  assert.ok(!card.includes('NextTimes')); // it is paused
  await text('schedule', 'update', '-s', 'full', '--paused=false');
  assert.match(await text('schedule', 'describe', '-s', 'full'), /^NextTimes +20\d\d-\S+\+0[12]:00 CES?T$/m);
  await text('schedule', 'update', '-s', 'full', '--paused');
  await create('plain', '--interval', '1h');
  const short = (await text('schedule', 'list')).split('\n')[0];
  const long = await text('schedule', 'list', '--long');
  assert.deepEqual(short.split(/ {2,}/), ['ScheduleId', 'Type', 'Paused', 'NextTime', 'Notes']);
  assert.match(long, /^plain +report +false .* every 1 hour$/m);
  assert.match(await text('schedule', 'list', '--really-long'), /^full .* owner="me" /m);
  assert.deepEqual((await lines('schedule', 'list', '--long')).map((s) => s.scheduleId).sort(), ['full', 'plain']);
  assert.deepEqual((await lines('schedule', 'list', '-q', "TemporalSchedulePaused = true")).map((s) => s.scheduleId), ['full']);
  assert.equal((await lines('schedule', 'list', '--limit', '1')).length, 1);
});

test('an update changes what it names, and nothing else', async () => {
  const before = await describe('full');
  await text('schedule', 'update', '-s', 'full', '--notes', 'changed');
  const after = await describe('full');
  assert.equal(after.schedule.state.notes, 'changed');
  after.schedule.state.notes = 'made';
  assert.deepEqual(after.schedule, before.schedule);
  assert.deepEqual(after.memo, before.memo);

  await text('schedule', 'update', '-s', 'full', '--cron', '0 8 * * *', '--time-zone', 'America/New_York', '--input', '2', '--input', '3',
    '--memo', 'more=1', '--schedule-memo', 'since=2026', '--paused=false', '--max-concurrent', '2');
  let { schedule, memo } = await describe('full');
  assert.deepEqual(schedule.spec.structuredCalendar.map((c) => c.hour), [[{ start: 8, end: 8, step: 1 }]]);
  assert.equal(schedule.spec.interval, undefined);
  assert.equal(schedule.spec.excludeStructuredCalendar.length, 3);
  assert.equal(schedule.spec.timezoneName, 'America/New_York;missing=shift;repeated=last');
  assert.deepEqual(schedule.action.startWorkflow.input, [2, 3]);
  assert.deepEqual(schedule.action.startWorkflow.memo.fields, { kept: true, more: 1 });
  assert.deepEqual(memo.fields, { owner: 'me', since: 2026 });
  assert.equal(schedule.state.paused ?? false, false);
  assert.deepEqual([schedule.extras.maxConcurrentRuns, schedule.extras.keepAfterEnd], [2, '172800s']);

  await text('schedule', 'update', '-s', 'full', '--memo', 'kept=null', '--clear', 'end-time', '--clear', 'exclude-date', '--clear', 'notes',
    '--clear', 'remaining-actions', '--clear', 'keep-after-end', '--dst-missing', 'skip', '--dst-repeated', 'both');
  ({ schedule } = await describe('full'));
  assert.deepEqual(schedule.action.startWorkflow.memo.fields, { more: 1 });
  assert.deepEqual([schedule.spec.endTime, schedule.spec.excludeStructuredCalendar, schedule.state.notes], [undefined, undefined, undefined]);
  assert.deepEqual([schedule.state.limitedActions, schedule.extras.keepAfterEnd], [undefined, undefined]);
  assert.equal(schedule.spec.timezoneName, 'America/New_York');
  assert.equal(schedule.spec.startTime, '2026-01-01T00:00:00Z');
  await refused(2, /no flag names a change/, 'schedule', 'update', '-s', 'full');
  await refused(2, /--clear: "cron"/, 'schedule', 'update', '-s', 'full', '--clear', 'cron');
  await refused(1, /not found/i, 'schedule', 'update', '-s', 'no-such', '--notes', 'x');
  await refused(2, /--cron: "99 \* \* \* \*": Minute is not in range/, 'schedule', 'update', '-s', 'full', '--cron', '99 * * * *');
});

test('a pause has an end, and updates at the same time all count', async () => {
  await text('schedule', 'update', '-s', 'plain', '--pause-until', '2099-01-01T00:00:00Z');
  assert.equal((await describe('plain')).schedule.state.paused, true);
  assert.match(await text('schedule', 'describe', '-s', 'plain'), /^PauseUntil +2099-01-01T00:00:00Z$/m);
  await text('schedule', 'update', '-s', 'plain', '--paused=false');
  const { schedule } = await describe('plain');
  assert.deepEqual([schedule.state.paused, schedule.extras?.pauseUntil], [undefined, undefined]);
  const changes = [['--notes', 'n'], ['--jitter', '1s'], ['--run-timeout', '1h'], ['--catchup-window', '2h'], ['--input', '7'], ['--memo', 'k=1']];
  await Promise.all(changes.map((change) => text('schedule', 'update', '-s', 'plain', ...change)));
  const now = (await describe('plain')).schedule;
  assert.deepEqual([now.state.notes, now.spec.jitter, now.policies.catchupWindow], ['n', '1s', '7200s']);
  const started = now.action.startWorkflow;
  assert.deepEqual([started.workflowRunTimeout, started.input, started.memo.fields], ['3600s', [7], { k: 1 }]);
});

test('a trigger says what it started, and what not', async () => {
  await create('triggered', '--cron', '0 0 1 1 *', '--workflow-id', 'by-hand');
  const { entry } = await json('schedule', 'trigger', '-s', 'triggered');
  assert.equal(entry.fate, 'LEDGER_FATE_STARTED');
  assert.match(entry.workflowId, /^by-hand-20/);
  const { workflowExecutionInfo } = await json('workflow', 'describe', '-w', entry.workflowId);
  assert.equal(workflowExecutionInfo.execution.runId, entry.runId);
  const second = await ask(['schedule', 'trigger', '-s', 'triggered']);
  assert.deepEqual([second.code, second.stderr], [4, '']);
  assert.match(second.stdout, /^Fate +OverlapSkipped$/m);
  assert.ok(!second.stdout.includes('RunId'));
  const named = await json('schedule', 'trigger', '-s', 'triggered', '--overlap-policy', 'AllowAll', '--scheduled-time', '2026-02-03T04:05:06Z');
  assert.equal(named.entry.workflowId, 'by-hand-2026-02-03T04:05:06Z');
  await create('at-once', '--cron', '0 0 1 1 *', '--trigger-immediately');
  await eventually(async () => (await describe('at-once')).info.actionCount === '1');
  assert.match(await text('schedule', 'describe', '-s', 'at-once'), /^RunningWorkflows +at-once-20/m);
});

test('a backfill is numbered, listed, cancelled; a wait is until it is done', async () => {
  await create('filled', '--interval', '1h', '--paused', '--workflow-id', 'fill');
  const period = (from, to, policy) => ['--start-time', `2026-01-${from}T00:30:00Z`, '--end-time', `2026-01-${to}T00:30:00Z`, '--overlap-policy', policy];
  const begun = await json('schedule', 'backfill', '-s', 'filled', ...period('01', '02', 'BufferAll'));
  assert.deepEqual([begun.backfillId, begun.considered, begun.done], ['1', '24', false]);
  const [row] = await lines('schedule', 'list-backfills', '-s', 'filled');
  assert.deepEqual([row.id, row.startTime], ['1', '2026-01-01T00:30:00Z']);
  assert.match(await text('schedule', 'describe', '-s', 'filled'), /^Backfills +1: 2026-01-01T00:30:00Z to /m);
  await text('schedule', 'cancel-backfill', '-s', 'filled', '--backfill-id', '1');
  assert.deepEqual(await lines('schedule', 'list-backfills', '-s', 'filled'), []);
  const cancelled = await lines('schedule', 'history', '-s', 'filled', '--fate', 'Canceled', '--limit', '5');
  assert.equal(cancelled.length, 5);
  const waited = await json('schedule', 'backfill', '-s', 'filled', ...period('03', '04', 'AllowAll'), '--wait');
  assert.equal(waited.done, true);
  const all = await lines('schedule', 'history', '-s', 'filled', '--start-time', '2026-01-03T00:00:00Z', '--end-time', '2026-01-05T00:00:00Z');
  assert.equal(all.filter((e) => e.fate === 'LEDGER_FATE_STARTED').length, 24);
  const times = (await json('schedule', 'list-matching-times', '-s', 'filled', ...period('03', '04', 'Skip').slice(0, 4))).startTime;
  assert.deepEqual([times.length, times[0]], [24, '2026-01-03T01:00:00Z']);
  await refused(1, /backfill/i, 'schedule', 'cancel-backfill', '-s', 'filled', '--backfill-id', '77');
  await refused(2, /--start-time is needed/, 'schedule', 'backfill', '-s', 'filled');
});

test('a schedule is toggled and deleted, and its ledger is filtered', async () => {
  await create('steered', '--interval', '1h');
  await text('schedule', 'toggle', '-s', 'steered', '--pause', '--reason', 'holiday');
  let { state } = (await describe('steered')).schedule;
  assert.deepEqual([state.paused, state.notes], [true, 'holiday']);
  await text('schedule', 'toggle', '-s', 'steered', '--unpause', '--reason', 'back');
  ({ state } = (await describe('steered')).schedule);
  assert.deepEqual([state.paused ?? false, state.notes], [false, 'back']);
  await text('schedule', 'trigger', '-s', 'steered');
  assert.equal((await ask(['schedule', 'trigger', '-s', 'steered'])).code, 4);
  const fates = async (...flags) => (await lines('schedule', 'history', '-s', 'steered', ...flags)).map((e) => e.fate.slice(12));
  assert.deepEqual(await fates(), ['OVERLAP_SKIPPED', 'STARTED']);
  assert.deepEqual(await fates('--fate', 'Started'), ['STARTED']);
  assert.deepEqual(await fates('--fate', 'OverlapSkipped', '--fate', 'started'), ['OVERLAP_SKIPPED', 'STARTED']);
  assert.match(await text('schedule', 'history', '-s', 'steered'), / Started +Trigger +steered-\S+ +Running /);
  await refused(2, /--fate/, 'schedule', 'history', '-s', 'steered', '--fate', 'Lost');
  await text('schedule', 'delete', '-s', 'steered');
  await refused(1, /not found/i, 'schedule', 'describe', '-s', 'steered');
});

test('holiday calendars are put, listed, named and deleted', async () => {
  await text('schedule', 'calendar', 'put', '--name', 'feast', '--description', 'ours', '--date', '2026-12-25', '--cron', '0 0 1 1 *');
  const [calendar] = await lines('schedule', 'calendar', 'list');
  assert.deepEqual(calendar, { name: 'feast', description: 'ours', cronStrings: ['0 0 1 1 *'], dates: ['2026-12-25'] });
  assert.match(await text('schedule', 'calendar', 'list'), /^feast +ours +2026-12-25 +0 0 1 1 \*$/m);
  await create('rested', '--cron', '0 9 * * *', '--holiday-calendar', 'feast');
  const next = await lines('schedule', 'next', '-s', 'rested', '--from', '2026-12-24T00:00:00Z', '--limit', '3');
  assert.deepEqual(next.map((t) => t.time.slice(0, 10)), ['2026-12-24', '2026-12-26', '2026-12-27']);
  const offline = await lines('schedule', 'next', '--cron', '0 9 * * *', '--holiday-calendar', 'feast', '--from', '2026-12-31T12:00:00Z', '--limit', '1');
  assert.equal(offline[0].time, '2027-01-02T09:00:00Z');
  const why = await json('schedule', 'explain', '-s', 'rested', '--time', '2026-12-25T09:00:00Z');
  assert.deepEqual([why.verdict, /holiday calendar excludes it: "feast"/.test(why.explanation)], ['excluded', true]);
  const same = await json('schedule', 'explain', '--cron', '0 9 * * *', '--holiday-calendar', 'feast', '--time', '2026-12-25T09:00:00Z');
  assert.equal(same.explanation, why.explanation);
  assert.match(await text('schedule', 'explain', '-s', 'rested'), /^Not +on the days of the holiday calendar "feast"$/m);
  await text('schedule', 'calendar', 'delete', '--name', 'feast');
  assert.match(await text('schedule', 'explain', '-s', 'rested'), /"feast", which does not exist$/m);
  await refused(1, /holiday calendar/, 'schedule', 'create', '-s', 'x', ...action, '--interval', '1h', '--holiday-calendar', 'none');
});

const nowhere = (...args) => run(args, { env: { RONDO_ADDRESS: 'nowhere' } });
async function offline(...args) {
  const { code, stdout, stderr } = await nowhere(...args);
  assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  return stdout;
}

test('next needs no server, in any dialect, and knows the hour that is missing', async () => {
  const spec = ['--cron', '30 2 * * *', '--time-zone', 'Europe/Berlin', '--from', '2026-03-27T12:00:00Z', '--limit', '2'];
  assert.deepEqual(JSON.parse(await offline('schedule', 'next', ...spec, '-o', 'json')), [
    { time: '2026-03-28T01:30:00Z', local: '2026-03-28T02:30:00+01:00 CET' },
    { time: '2026-03-30T00:30:00Z', local: '2026-03-30T02:30:00+02:00 CEST', note: 'the clocks jump over 2026-03-29T02:30:00: left out' },
  ]);
  const moved = JSON.parse(await offline('schedule', 'next', ...spec, '--dst-missing', 'shift', '-o', 'json'));
  assert.deepEqual(moved[1], { time: '2026-03-29T01:30:00Z', local: '2026-03-29T03:30:00+02:00 CEST', note: 'the clocks jump over 2026-03-29T02:30:00: moved' });
  const autumn = ['--cron', '30 2 * * *', '--time-zone', 'Europe/Berlin', '--from', '2026-10-24T12:00:00Z', '--limit', '2'];
  const notes = async (...more) => JSON.parse(await offline('schedule', 'next', ...autumn, ...more, '-o', 'json')).map((t) => t.note);
  assert.deepEqual(await notes(), ['the clocks show it twice: the first', 'the clocks show it twice: the second']);
  assert.deepEqual(await notes('--dst-repeated', 'last'), ['the clocks show it twice: the second', undefined]);
  const times = async (...flags) =>
    JSON.parse(await offline('schedule', 'next', '--from', '2026-01-01T00:00:00Z', '--limit', '2', ...flags, '-o', 'json')).map((t) => t.time.slice(5, 16));
  assert.deepEqual(await times('--interval', '1d/6h'), ['01-01T06:00', '01-02T06:00']);
  assert.deepEqual(await times('--calendar', '{"dayOfWeek":"Fri","hour":"17"}'), ['01-02T17:00', '01-09T17:00']);
  assert.deepEqual(await times('--cron', '0 30 */12 * * *', '--dialect', 'dbos'), ['01-01T00:30', '01-01T12:30']);
  assert.deepEqual(await times('--rrule', 'DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;BYDAY=MO'), ['01-05T09:00', '01-12T09:00']);
  assert.deepEqual(await times('--at', '2026-03-01T09:00', '--at', '2026-02-01T09:00'), ['02-01T09:00', '03-01T09:00']);
  assert.deepEqual(await times('--cron', '0 9 * * *', '--exclude-date', '2026-01-01', '--exclude-cron', '* * * * sat'), ['01-02T09:00', '01-04T09:00']);
  assert.deepEqual(await times('--cron', '0 9 * * *', '--start-time', '2026-05-01T00:00:00Z', '--end-time', '2026-05-01T12:00:00Z'), ['05-01T09:00']);
  const also = JSON.parse(await offline('schedule', 'next', ...spec, '--also-in', 'America/New_York', '-o', 'json'));
  assert.deepEqual(also[0].also, { 'America/New_York': '2026-03-27T21:30:00-04:00 EDT' });
  assert.match(await offline('schedule', 'next', ...spec), /^UTC +Local +Note\n2026-03-28T01:30:00Z {2}2026-03-28T02:30:00\+01:00 CET\n/);
  assert.equal(await offline('schedule', 'next', ...spec, '-o', 'none'), '');
  await refused(2, /column.*--help/, 'schedule', 'next', '--cron', '99 * * * *');
  await refused(2, /no times are given: add --cron/, 'schedule', 'next');
  await refused(2, /--from/, 'schedule', 'next', '--interval', '1h', '--from', 'soon');
  await refused(2, /Nowhere\/Land/, 'schedule', 'next', '--cron', '0 9 * * *', '--time-zone', 'Nowhere/Land');
  await refused(2, /--also-in/, 'schedule', 'next', '--cron', '0 9 * * *', '--also-in', 'Nowhere/Land');
  await refused(2, /--exclude-date/, 'schedule', 'next', '--cron', '0 9 * * *', '--exclude-date', 'christmas');
  await refused(2, /need --time-zone/, 'schedule', 'next', '--cron', '0 9 * * *', '--dst-missing', 'shift');
  assert.match((await nowhere('schedule', 'next', '--at', '2020-01-01')).stderr, /no times follow/);
});

test('the times in the guide are those that are printed', async () => {
  const guide = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  const [, line, output] = /^rondo (schedule next .*)\n(UTC[^`]*)/m.exec(guide);
  const words = line.match(/'[^']*'|\S+/g).map((word) => word.replaceAll("'", ''));
  assert.equal(await offline(...words), output);
});

test('explain says it in words and warns of what may not be meant', async () => {
  const explained = async (...flags) => JSON.parse(await offline('schedule', 'explain', '--from', '2026-01-01T00:00:00Z', ...flags, '-o', 'json'));
  const kinds = async (...flags) => (await explained(...flags)).warnings.map((w) => w.kind);
  const full = await explained('--cron', '30 2 * * *', '--time-zone', 'Europe/Berlin', '--exclude-date', '2026-12-25');
  assert.deepEqual(full.times, ['at 02:30 every day']);
  assert.deepEqual(full.exclusions, ['at any time on day 25 of December in 2026']);
  assert.deepEqual(full.warnings.map((w) => w.kind), ['clock_gap', 'clock_fold']);
  assert.match(full.warnings[0].text, /^On 2026-03-29 the clocks jump over 02:30:00/);
  assert.deepEqual(full.next[0], { time: '2026-01-01T01:30:00Z', local: '2026-01-01T02:30:00+01:00 CET' });
  assert.deepEqual(await kinds('--cron', '0 9 * * mon-fri'), []);
  assert.deepEqual(await kinds('--cron', '0 0 31 2 *'), ['never', 'short_month']);
  assert.deepEqual(await kinds('--cron', '0 0 13 * fri'), ['day_and_weekday']);
  assert.deepEqual(await kinds('--cron', '*/7 * * * *'), ['uneven_step']);
  assert.deepEqual(await kinds('--interval', '5s'), ['frequent']);
  assert.deepEqual(await kinds('--cron', '0 9 * * *', '--end-time', '2025-01-01T00:00:00Z'), ['ended']);
  const paused = await json('schedule', 'explain', '-s', 'filled');
  assert.deepEqual(paused.warnings.map((w) => w.kind), ['paused']);
  const card = await offline('schedule', 'explain', '--cron', '0 0 13 * fri', '--from', '2026-01-01T00:00:00Z');
  assert.match(card, /^When +at 00:00 on day 13 of the month, but only if it is Friday$/m);
  assert.match(card, /^Next +2026-02-13T00:00:00\+00:00 UTC$/m);
  assert.match(card, /^Warning +Day of month and day of week/m);
  const why = JSON.parse(await offline('schedule', 'explain', '--cron', '0 9 * * *', '--time', '2026-01-01T10:00:00Z', '-o', 'json'));
  assert.deepEqual(why, { verdict: 'not_asked', explanation: '2026-01-01T10:00:00Z matches no calendar and no interval of the spec.' });
});

test('H is the same wherever it is asked for', async () => {
  const from = ['--from', '2026-03-01T00:00:00Z'];
  const spec = ['--cron', 'H H * * *', ...from, '-o', 'json'];
  const id = ['--new-id', 'spread-out'];
  const next = JSON.parse(await offline('schedule', 'next', ...spec, ...id, '--limit', '3')).map((each) => each.time);
  const simulated = JSON.parse(await offline('schedule', 'simulate', ...spec, ...id, '--limit', '3'));
  assert.deepEqual(simulated.entries.map((each) => each.nominalTime), next); // none is lost
  const explained = await offline('schedule', 'explain', '--cron', 'H H * * *', ...id, ...from);
  assert.ok(explained.includes(next[0].slice(11, 16)), explained);
  for (const namespace of ['default', 'other-space']) {
    if (namespace !== 'default') await text('operator', 'namespace', 'create', '--namespace', namespace);
    const there = ['--namespace', namespace];
    await text('schedule', 'create', '-s', 'spread-out', '--cron', 'H H * * *', '--type', 'T', '--task-queue', 'q', '--paused', ...there);
    const created = await json('schedule', 'next', '-s', 'spread-out', ...from, '--limit', '3', ...there);
    assert.deepEqual(created.map((each) => each.time), next);
    await text('schedule', 'delete', '-s', 'spread-out', ...there);
  }
  for (const command of ['next', 'explain', 'simulate'])
    await refused(2, /H depends on the id of the schedule: add --new-id/, 'schedule', command, '--cron', 'H H * * *');
  await refused(2, /give either --schedule-id or --new-id/, 'schedule', 'next', '-s', 'x', '--new-id', 'y');
});

const HOUR = '2026-03-01T0';
async function simulated(...flags) {
  const from = ['--from', `${HOUR}0:00:00Z`];
  const { entries, summary } = JSON.parse(await offline('schedule', 'simulate', ...from, ...flags, '-o', 'json'));
  const line = (e) => `${e.nominalTime.slice(11, 16)}${e.lastNominalTime ? `..${e.lastNominalTime.slice(11, 16)}x${e.count}` : ''} ${e.fate.slice(12)}${e.startTime ? ` ${e.startTime.slice(11, 16)}-${e.closeTime.slice(11, 16)} ${e.status.slice(26)}` : ''}`;
  return { entries: entries.map(line), summary };
}

test('simulate lets the scheduler itself decide', async () => {
  const every = ['--interval', '10m', '--duration', '25m', '--limit', '4'];
  const fates = async (...flags) => (await simulated(...every, ...flags)).entries;
  assert.deepEqual(await fates(), ['00:00 STARTED 00:00-00:25 COMPLETED', '00:10..00:20x2 OVERLAP_SKIPPED', '00:30 STARTED 00:30-00:55 COMPLETED']);
  assert.deepEqual(await fates('--overlap-policy', 'BufferOne'), [
    '00:00 STARTED 00:00-00:25 COMPLETED', '00:10 STARTED 00:25-00:50 COMPLETED', '00:20 OVERLAP_SKIPPED', '00:30 STARTED 00:50-01:15 COMPLETED']);
  assert.deepEqual(await fates('--overlap-policy', 'BufferAll'), [
    '00:00 STARTED 00:00-00:25 COMPLETED', '00:10 STARTED 00:25-00:50 COMPLETED', '00:20 STARTED 00:50-01:15 COMPLETED', '00:30 STARTED 01:15-01:40 COMPLETED']);
  assert.deepEqual(await fates('--overlap-policy', 'TerminateOther'), [
    '00:00 STARTED 00:00-00:10 TERMINATED', '00:10 STARTED 00:10-00:20 TERMINATED', '00:20 STARTED 00:20-00:30 TERMINATED', '00:30 STARTED 00:30-00:55 COMPLETED']);
  assert.deepEqual(await fates('--overlap-policy', 'CancelOther', '--cancel-takes', '2m'), [
    '00:00 STARTED 00:00-00:12 CANCELED', '00:10 STARTED 00:12-00:22 CANCELED', '00:20 STARTED 00:22-00:32 CANCELED', '00:30 STARTED 00:32-00:57 COMPLETED']);
  assert.deepEqual(await fates('--max-concurrent', '2'), [
    '00:00 STARTED 00:00-00:25 COMPLETED', '00:10 STARTED 00:10-00:35 COMPLETED', '00:20 OVERLAP_SKIPPED', '00:30 STARTED 00:30-00:55 COMPLETED']);
  const all = await simulated(...every, '--overlap-policy', 'AllowAll');
  assert.deepEqual(all.summary, { times: 4, started: 4, mostRunning: 3, mostWaiting: 0, longestWait: '0s', busy: '3300s', length: '3300.000001s', pausedItself: false });
});

test('simulate knows outages, catch-up, failures, limits and lengths in turn', async () => {
  const down = ['--interval', '10m', '--outage', `${HOUR}0:05:00Z/${HOUR}1:00:00Z`, '--to', `${HOUR}1:00:00Z`, '--overlap-policy', 'AllowAll'];
  const caught = await simulated(...down);
  assert.equal(caught.entries.length, 7);
  assert.equal(caught.entries[1], '00:10 STARTED 01:00-01:01 COMPLETED');
  const missed = await simulated(...down, '--catchup-window', '15m');
  assert.equal(missed.entries[1], '00:10..00:40x4 CATCHUP_MISSED');
  assert.deepEqual(missed.entries.slice(2).map((e) => e.split(' ')[1]), ['STARTED', 'STARTED']);
  const failing = await simulated('--interval', '10m', '--limit', '4', '--fail-every', '2', '--pause-on-failure');
  assert.deepEqual(failing.entries.map((e) => e.split(' ').slice(1).join(' ').replace(/ ..:..-..:../, '')), ['STARTED COMPLETED', 'STARTED FAILED', 'PAUSED']);
  assert.equal(failing.entries[2], '00:20..00:30x2 PAUSED');
  assert.equal(failing.summary.pausedItself, true);
  const few = await simulated('--interval', '10m', '--limit', '4', '--remaining-actions', '2');
  assert.deepEqual(few.summary.started, 2);
  const turns = await simulated('--interval', '10m', '--limit', '3', '--duration', '1m', '--duration', '5m');
  assert.deepEqual(turns.entries.map((e) => e.split(' ')[2]), ['00:00-00:01', '00:10-00:15', '00:20-00:21']);
  const table = await offline('schedule', 'simulate', '--interval', '10m', '--limit', '3', '--from', `${HOUR}0:00:00Z`);
  assert.match(table, /^NominalTime +Fate +Start +End +Waited +Status +Reason\n/);
  assert.match(table, /\n3 times: 3 Started; at most 1 running and 0 waiting; busy for 14 % of 21 minutes\n$/);
  const jsonl = (await offline('schedule', 'simulate', '--interval', '10m', '--limit', '3', '-o', 'jsonl')).trimEnd().split('\n').map((l) => JSON.parse(l));
  assert.equal(jsonl.length, 4);
  assert.equal(jsonl[3].summary.times, 3);
  const existing = await json('schedule', 'simulate', '-s', 'rested', '--from', '2026-12-24T00:00:00Z', '--limit', '2');
  assert.deepEqual(existing.entries.map((e) => e.nominalTime), ['2026-12-24T09:00:00Z', '2026-12-25T09:00:00Z']);
  await refused(2, /--outage/, 'schedule', 'simulate', '--interval', '10m', '--outage', 'always');
  await refused(2, /--duration/, 'schedule', 'simulate', '--interval', '10m', '--duration', 'long');
  await refused(2, /max_concurrent_runs/, 'schedule', 'simulate', '--interval', '10m', '--max-concurrent', '2', '--overlap-policy', 'AllowAll');
});

// The same server behind one that does not know our service, as others would not.
async function stranger(t) {
  const inner = http2.connect(`http://${server.env.TEMPORAL_ADDRESS}`);
  const outer = http2.createServer();
  outer.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    if (headers[':path'].startsWith('/rondo.')) {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12', 'grpc-message': 'unknown service' }, { endStream: true });
      return;
    }
    const clean = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== ':authority'));
    const request = inner.request(clean);
    request.on('error', () => stream.destroy());
    request.on('response', (answer) => {
      const { ':status': status, ...rest } = answer;
      if ('grpc-status' in rest) {
        stream.respond({ ':status': status, ...rest }, { endStream: true });
        return;
      }
      stream.respond({ ':status': status, ...rest }, { waitForTrailers: true });
      request.on('trailers', (trailers) => stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers })));
      request.on('data', (chunk) => stream.write(chunk));
      request.on('end', () => stream.end());
    });
    stream.pipe(request);
  });
  await new Promise((resolve) => outer.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    inner.destroy();
    outer.close();
  });
  return { TEMPORAL_ADDRESS: `127.0.0.1:${outer.address().port}` };
}

test('on another server, what it lacks is said or done in its way', async (t) => {
  const env = await stranger(t);
  const there = (...args) => ask(args, { env });
  const made = await there('schedule', 'create', '-s', 'strange', ...action, '--interval', '1h');
  assert.deepEqual([made.code, made.stderr], [0, '']);
  const own = await there('schedule', 'create', '-s', 'own', ...action, '--interval', '1h', '--max-concurrent', '3');
  assert.deepEqual([own.code, own.stdout], [1, '']);
  assert.match(own.stderr, /--max-concurrent: only a Rondo server can do that/);
  await refused(1, /not found/i, 'schedule', 'describe', '-s', 'own');
  const updated = await there('schedule', 'update', '-s', 'strange', '--notes', 'seen');
  assert.deepEqual([updated.code, updated.stderr], [0, '']);
  assert.equal((await describe('strange')).schedule.state.notes, 'seen');
  const triggered = await there('schedule', 'trigger', '-s', 'strange', '-o', 'json');
  assert.deepEqual([triggered.code, triggered.stdout], [0, '{}\n']);
  assert.match(triggered.stderr, /does not report what it started/);
  await eventually(async () => (await describe('strange')).info.actionCount === '1');
  const filled = await there('schedule', 'backfill', '-s', 'strange', '--start-time', '2026-01-01T00:30:00Z', '--end-time', '2026-01-01T01:30:00Z', '--overlap-policy', 'AllowAll');
  assert.deepEqual([filled.code, filled.stdout], [0, '']);
  await eventually(async () => (await describe('strange')).info.actionCount === '2');
  const history = await there('schedule', 'history', '-s', 'strange');
  assert.equal(history.code, 1);
  assert.match(history.stderr, /this server does not offer that/);
  const why = await there('schedule', 'explain', '-s', 'strange', '--time', '2026-01-01T01:00:00Z', '-o', 'json');
  assert.equal(JSON.parse(why.stdout).verdict, 'time');
});
