// What the command line makes, the SDK reads; what the SDK runs, the command line steers.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { workflowBundle } from './lib/bundle.mjs';
import { BINARY } from './lib/server.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const { History } = proto.temporal.api.history.v1;
const world = openWorld();

async function rondo(...args) {
  const { stdout } = await promisify(execFile)(BINARY, [...args, '--address', world.server.address, '-o', 'json']);
  return JSON.parse(stdout);
}

// Times and durations as messages: the SDK's own reader of JSON histories needs one copy of protobufjs in the tree,
// and npm installs two.
function wellKnown(value) {
  if (Array.isArray(value)) return value.map(wellKnown);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, wellKnown(v)]));
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return { seconds: Math.floor(Date.parse(value) / 1000), nanos: nanosOf(value) };
  if (/^[\d.]+s$/.test(value)) return { seconds: Math.floor(parseFloat(value)), nanos: nanosOf(value) };
  return value;
}
const nanosOf = (text) => Number((/\.(\d+)/.exec(text)?.[1] ?? '').padEnd(9, '0'));

test('a workflow of the command line runs in a worker, and its result is the SDK\'s to read', async () => {
  const args = ['--type', 'hello', '--task-queue', world.taskQueue, '--workflow-id', 'cli-hello', '--input', '"terminal"'];
  const { runId } = await rondo('workflow', 'start', ...args);
  const handle = world.client.workflow.getHandle('cli-hello', runId);
  const result = await handle.result();
  const expected = await world.execute('hello', ['terminal']);
  assert.equal(result, expected);
  const { workflowExecutionInfo } = await rondo('workflow', 'describe', '--workflow-id', 'cli-hello');
  assert.equal(workflowExecutionInfo.status, 'WORKFLOW_EXECUTION_STATUS_COMPLETED');
  const { events } = await rondo('workflow', 'show', '--workflow-id', 'cli-hello');
  assert.equal(events.at(-1).eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED');
  assert.equal(events.length, Number(workflowExecutionInfo.historyLength));
  const pollers = await rondo('task-queue', 'describe', '--task-queue', world.taskQueue);
  assert.ok(pollers.length > 0);
});

test('a workflow of the SDK is signalled, queried and cancelled, and what is shown of it replays', async () => {
  const handle = await world.start('collect');
  const of = ['--workflow-id', handle.workflowId];
  await rondo('workflow', 'signal', ...of, '--name', 'add', '--input', '{"from":"terminal"}');
  const { queryResult } = await rondo('workflow', 'query', ...of, '--name', 'seen');
  assert.deepEqual(queryResult, [[{ from: 'terminal' }]]);
  assert.deepEqual(await handle.query('seen'), [{ from: 'terminal' }]);
  await rondo('workflow', 'signal', ...of, '--name', 'stop');
  assert.deepEqual(await handle.result(), [{ from: 'terminal' }]);
  const history = await rondo('workflow', 'show', ...of);
  await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, History.fromObject(wellKnown(history)));
  const again = await rondo('workflow', 'reset', ...of, '--event-id', '4', '--reason', 'once more');
  assert.notEqual(again.runId, handle.firstExecutionRunId);
  assert.deepEqual(await world.client.workflow.getHandle(handle.workflowId, again.runId).result(), [{ from: 'terminal' }]);
  const other = await world.start('forever');
  await rondo('workflow', 'cancel', '--workflow-id', other.workflowId);
  const { cause } = await failure(other.result());
  assert.equal(cause.name, 'CancelledFailure');
});

test('a schedule of the command line is one for the SDK', async () => {
  await rondo(
    'schedule', 'create', '--schedule-id', 'cli-schedule', '--cron', '0 9 * * mon-fri', '--interval', '90m',
    '--time-zone', 'Europe/Berlin', '--overlap-policy', 'BufferAll', '--catchup-window', '2h', '--pause', '--notes', 'hi',
    '--type', 'hello', '--task-queue', world.taskQueue, '--workflow-id', 'cli-scheduled', '--input', '"schedule"',
  );
  const handle = world.client.schedule.getHandle('cli-schedule');
  const found = await handle.describe();
  assert.equal(found.spec.timezone, 'Europe/Berlin');
  assert.equal(found.spec.intervals[0].every, 90 * 60_000);
  assert.equal(found.spec.calendars[0].hour[0].start, 9);
  assert.equal(found.policies.overlap, 'BUFFER_ALL');
  assert.equal(found.policies.catchupWindow, 2 * 3600_000);
  assert.deepEqual([found.state.paused, found.state.note], [true, 'hi']);
  assert.deepEqual(found.action.args, ['schedule']);
  await rondo('schedule', 'trigger', '--schedule-id', 'cli-schedule');
  const { info } = await eventually(async () => {
    const now = await handle.describe();
    return now.info.recentActions.length && now;
  });
  const { workflow } = info.recentActions[0].action;
  const result = await world.client.workflow.getHandle(workflow.workflowId).result();
  assert.equal(result, await world.execute('hello', ['schedule']));
  await rondo('schedule', 'delete', '--schedule-id', 'cli-schedule');
  await assert.rejects(handle.describe(), { name: 'ScheduleNotFoundError' });
});

replayAll(world);
