// What the command line makes, the SDK reads; what the SDK runs, the command line steers.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { BINARY } from './lib/server.mjs';
import { eventually, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();

async function rondo(...args) {
  const { stdout } = await promisify(execFile)(BINARY, [...args, '--address', world.server.address, '-o', 'json']);
  return JSON.parse(stdout);
}

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
