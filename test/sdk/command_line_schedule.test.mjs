// Schedules from two sides: what the command line makes the SDK reads and runs, what the SDK makes the command line changes
// without losing anything.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { BINARY } from './lib/server.mjs';
import { eventually, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();

async function rondo(...args) {
  const { stdout } = await promisify(execFile)(BINARY, [...args, '--address', world.server.address, '-o', 'json']);
  return JSON.parse(stdout);
}

test('what the command line makes, the SDK reads, changes and runs', async () => {
  await rondo(
    'schedule', 'create', '-s', 'made', '--calendar', '{"dayOfWeek":"Sat","hour":"17"}', '--interval', '90m/10m', '--time-zone', 'Europe/Berlin',
    '--exclude-date', '2026-12-25', '--jitter', '3s', '--start-time', '2026-01-01T00:00:00Z', '--end-time', '2099-01-01T00:00:00Z',
    '--overlap-policy', 'BufferAll', '--catchup-window', '2h', '--pause-on-failure', '--paused', '--notes', 'hi', '--remaining-actions', '9',
    '--type', 'hello', '-t', world.taskQueue, '-w', 'made-run', '--input', '"terminal"', '--run-timeout', '1m', '--memo', 'why="test"',
    '--schedule-memo', 'owner="ann"', '--max-concurrent', '3', '--static-summary', 'a greeting',
  );
  const handle = world.client.schedule.getHandle('made');
  const found = await handle.describe();
  assert.equal(found.spec.calendars[0].hour[0].start, 17);
  assert.deepEqual(found.spec.intervals, [{ every: 90 * 60_000, offset: 10 * 60_000 }]);
  assert.deepEqual([found.spec.timezone, found.spec.jitter, found.spec.skip.length], ['Europe/Berlin', 3000, 1]);
  assert.deepEqual([found.spec.startAt.getUTCFullYear(), found.spec.endAt.getUTCFullYear()], [2026, 2099]);
  assert.deepEqual(found.policies, { overlap: 'BUFFER_ALL', catchupWindow: 2 * 3600_000, pauseOnFailure: true });
  assert.deepEqual([found.state.paused, found.state.note, found.state.remainingActions], [true, 'hi', 9]);
  assert.deepEqual([found.action.args, found.action.workflowRunTimeout, found.action.memo], [['terminal'], 60_000, { why: 'test' }]);
  assert.deepEqual(found.memo, { owner: 'ann' });

  await handle.update((previous) => ({ ...previous, state: { ...previous.state, note: 'by the SDK' } }));
  const { schedule } = await rondo('schedule', 'describe', '-s', 'made');
  assert.deepEqual([schedule.state.notes, schedule.extras.maxConcurrentRuns, schedule.action.startWorkflow.userMetadata.summary], ['by the SDK', 3, 'a greeting']);

  const { entry } = await rondo('schedule', 'trigger', '-s', 'made');
  const result = await world.client.workflow.getHandle(entry.workflowId, entry.runId).result();
  assert.equal(result, await world.execute('hello', ['terminal']));
  const ended = await eventually(async () => {
    const [row] = await rondo('schedule', 'history', '-s', 'made', '--fate', 'Started');
    return row.status === 'WORKFLOW_EXECUTION_STATUS_COMPLETED' && row;
  });
  assert.equal(ended.runId, entry.runId);

  const period = ['--start-time', '2026-01-01T00:00:00Z', '--end-time', '2026-01-01T04:00:00Z', '--overlap-policy', 'BufferAll'];
  const filled = await rondo('schedule', 'backfill', '-s', 'made', ...period, '--wait');
  assert.equal(filled.done, true);
  const rows = (await rondo('schedule', 'history', '-s', 'made')).filter((row) => row.origin === 'LEDGER_ORIGIN_BACKFILL');
  assert.deepEqual(rows.map((row) => row.nominalTime.slice(11, 16)).sort(), ['00:10', '01:40', '03:10']);
  await eventually(async () => (await handle.describe()).info.runningActions.length === 0);
  await world.endSchedule(handle);
});

test('what the SDK makes, the command line changes and keeps', async () => {
  const action = { type: 'startWorkflow', workflowType: 'hello', args: [{ deep: [1, null] }], taskQueue: world.taskQueue, workflowId: 'kept',
    retry: { maximumAttempts: 3, initialInterval: '2s', backoffCoefficient: 2, maximumInterval: '1m' }, workflowExecutionTimeout: '5m', memo: { a: 1 } };
  const spec = { calendars: [{ comment: 'month end', hour: { start: 9, end: 17, step: 2 }, dayOfMonth: [1, 15] }], skip: [{ month: 'AUGUST', hour: '*', minute: '*', second: '*' }], timezone: 'Asia/Tokyo' };
  const handle = await world.client.schedule.create({ scheduleId: 'kept', action, spec, memo: { kept: true },
    policies: { overlap: ScheduleOverlapPolicy.CANCEL_OTHER, catchupWindow: '1h' }, state: { paused: true, note: 'mine', remainingActions: 4 } });
  const before = await handle.describe();
  await rondo('schedule', 'update', '-s', 'kept', '--end-time', '2099-01-01T00:00:00Z', '--memo', 'b=2');
  const after = await handle.describe();
  assert.equal(after.spec.endAt.toISOString(), '2099-01-01T00:00:00.000Z');
  assert.deepEqual(after.action.memo, { a: 1, b: 2 });
  for (const part of ['policies', 'state', 'memo', 'scheduleId']) assert.deepEqual(after[part], before[part], part);
  assert.deepEqual({ ...after.spec, endAt: undefined }, { ...before.spec, endAt: undefined });
  assert.deepEqual({ ...after.action, memo: undefined }, { ...before.action, memo: undefined });

  const { stdout } = await promisify(execFile)(BINARY, ['schedule', 'describe', '-s', 'kept', '--address', world.server.address]);
  assert.match(stdout, /^When +at 09:00, 11:00, 13:00, 15:00 and 17:00 on days 1 and 15 of the month$/m);
  assert.match(stdout, /^RetryPolicy +initialInterval=2 seconds, backoffCoefficient=2, maximumInterval=1 minute, maximumAttempts=3$/m);
  const next = await rondo('schedule', 'next', '-s', 'kept', '--from', '2026-07-14T00:00:00Z', '--limit', '8');
  assert.deepEqual(next.slice(4, 6).map((t) => t.local), ['2026-07-15T17:00:00+09:00 JST', '2026-09-01T09:00:00+09:00 JST']);
  // The SDK's update carries no conflict token and so overwrites what came between; only changes that carry one may race.
  await handle.update((previous) => ({ ...previous, state: { ...previous.state, note: 'theirs' } }));
  await Promise.all([
    rondo('schedule', 'update', '-s', 'kept', '--jitter', '2s'),
    rondo('schedule', 'update', '-s', 'kept', '--run-timeout', '1m'),
    rondo('schedule', 'update', '-s', 'kept', '--catchup-window', '2h'),
  ]);
  const merged = await handle.describe();
  assert.deepEqual([merged.state.note, merged.spec.jitter, merged.action.workflowRunTimeout, merged.policies.catchupWindow], ['theirs', 2000, 60_000, 7200_000]);
  await rondo('schedule', 'delete', '-s', 'kept');
  await assert.rejects(handle.describe(), { name: 'ScheduleNotFoundError' });
});

replayAll(world);
