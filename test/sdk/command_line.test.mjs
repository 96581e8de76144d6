// What the command line makes, the SDK reads; what the SDK runs, the command line steers.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { tokens } from './lib/activities.mjs';
import { workflowBundle } from './lib/bundle.mjs';
import { BINARY } from './lib/server.mjs';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const { History } = proto.temporal.api.history.v1;
const world = openWorld();

async function rondo(...args) {
  const { stdout } = await promisify(execFile)(BINARY, [...args, '--address', world.server.address, '-o', 'json']);
  return JSON.parse(stdout);
}

// How it failed: { code, stdout, stderr }.
async function refused(...args) {
  const all = [...args, '--address', world.server.address, '-o', 'json'];
  return await promisify(execFile)(BINARY, all).then(
    ({ stdout }) => assert.fail(`it should have failed: ${stdout}`),
    (error) => error,
  );
}

const started = (type, id, ...inputs) => ['--type', type, '-t', world.taskQueue, '-w', id, ...inputs.flatMap((i) => ['-i', JSON.stringify(i)])];

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
  const { pollers, stats } = await rondo('task-queue', 'describe', '--task-queue', world.taskQueue);
  assert.ok(stats);
  assert.ok(pollers.length > 0);
  const describe = ['task-queue', 'describe', '-t', world.taskQueue, '--disable-stats', '--address', world.server.address];
  const { stdout } = await promisify(execFile)(BINARY, describe);
  const [titles, ...rows] = stdout.trimEnd().split('\n');
  assert.match(titles, /^Identity +LastAccessTime +RatePerSecond$/);
  assert.ok(rows.length > 0 && rows.every((row) => pollers.some((p) => row.startsWith(p.identity))));
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

test('a workflow is executed: its result is shown, its failure is the exit code', async () => {
  const done = await rondo('workflow', 'execute', ...started('hello', 'cli-execute', 'you'));
  assert.equal(done.status, 'COMPLETED');
  assert.equal(done.result, await world.client.workflow.getHandle('cli-execute').result());
  assert.equal(done.closeEvent.eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED');
  assert.equal(done.type, 'hello');
  assert.ok(done.durationMillis >= 0);
  world.runs.note('cli-execute', done.runId);
  const { result } = await rondo('workflow', 'result', '-w', 'cli-execute');
  assert.equal(result, done.result);
  const failed = await refused('workflow', 'execute', ...started('fails', 'cli-fails'));
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /cli-fails did not complete: FAILED, no such order/);
  assert.equal(JSON.parse(failed.stdout).status, 'FAILED');
  const moved = await rondo('workflow', 'execute', ...started('countdown', 'cli-countdown', 2));
  assert.equal(moved.result, 3);
  const retried = await rondo('workflow', 'result', '-w', (await world.start('failsUntilAttempt', [2], { retry: { initialInterval: 10 } })).workflowId);
  assert.equal(retried.result, 2);
});

test('a history is followed until its end', async () => {
  const handle = await world.start('collect');
  const args = ['workflow', 'show', '--follow', '-w', handle.workflowId, '-o', 'jsonl', '--address', world.server.address];
  const child = spawn(BINARY, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  const ended = once(child, 'close');
  await eventually(() => text.includes('WORKFLOW_TASK_COMPLETED'));
  await handle.signal('add', 1);
  await eventually(() => text.includes('WORKFLOW_EXECUTION_SIGNALED'));
  await handle.signal('stop');
  const [code] = await ended;
  assert.equal(code, 0);
  const ids = text.trim().split('\n').map((line) => Number(JSON.parse(line).eventId));
  const { events } = await rondo('workflow', 'show', '-w', handle.workflowId);
  assert.deepEqual(ids, events.map((e) => Number(e.eventId)));
  const back = await rondo('workflow', 'show', '-w', handle.workflowId, '--reverse');
  assert.deepEqual(back.events.map((e) => e.eventId), events.map((e) => e.eventId).reverse());
});

test('a history is followed through the runs that continue it', async () => {
  const { runId } = await rondo('workflow', 'start', ...started('countdown', 'cli-follow', 2));
  const { events } = await rondo('workflow', 'show', '--follow', '-w', 'cli-follow', '-r', runId);
  const count = (type) => events.filter((e) => e.eventType === `EVENT_TYPE_WORKFLOW_EXECUTION_${type}`).length;
  assert.deepEqual([count('STARTED'), count('CONTINUED_AS_NEW'), count('COMPLETED')], [3, 2, 1]);
  assert.equal(events.at(-1).eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED');
  const { result, closeEvent } = await rondo('workflow', 'describe', '-w', 'cli-follow');
  assert.equal(result, 3);
  assert.equal(closeEvent.eventTime, events.at(-1).eventTime);
  const one = await rondo('workflow', 'show', '-w', 'cli-follow', '-r', runId);
  assert.equal(one.events.at(-1).eventType, 'EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
});

test('a workflow says where it stands and what it takes', async () => {
  const handle = await world.start('account');
  const stack = await rondo('workflow', 'stack', '-w', handle.workflowId);
  assert.match(stack.queryResult[0], /account/);
  const metadata = await rondo('workflow', 'metadata', '-w', handle.workflowId);
  assert.ok(metadata.queryResult[0].definition.updateDefinitions.some((u) => u.name === 'deposit'));
  await handle.terminate();
  const closed = await refused('workflow', 'stack', '-w', handle.workflowId, '--reject-condition', 'nonsense');
  assert.equal(closed.code, 2);
});

test('updates are sent, waited for and looked at', async () => {
  const handle = await world.start('account');
  const of = ['-w', handle.workflowId];
  const sent = await rondo('workflow', 'update', 'execute', ...of, '--name', 'deposit', '--input', '5', '--update-id', 'first');
  assert.deepEqual([sent.name, sent.updateId, sent.result, sent.stage], ['deposit', 'first', 5, 'Completed']);
  const rejected = await refused('workflow', 'update', 'execute', ...of, '--name', 'deposit', '--input', '0');
  assert.equal(rejected.code, 1);
  assert.match(rejected.stderr, /nothing to deposit/);
  const held = await rondo('workflow', 'update', 'start', ...of, '--name', 'hold', '--input', '"me"', '--wait-for-stage', 'accepted');
  assert.equal(held.stage, 'Accepted');
  const ref = [...of, '--update-id', held.updateId];
  assert.equal((await rondo('workflow', 'update', 'describe', ...ref)).stage, 'Accepted');
  const waiting = rondo('workflow', 'update', 'result', ...ref);
  await handle.signal('add');
  assert.deepEqual((await waiting).result, 'me');
  assert.deepEqual((await rondo('workflow', 'update', 'describe', ...ref)).stage, 'Completed');
  assert.equal(await handle.executeUpdate('close'), 5);
  assert.equal((await refused('workflow', 'update', 'result', ...of, '--update-id', 'none')).code, 1);
});

test('an update is sent with a start', async () => {
  const both = (verb, id, ...more) =>
    ['workflow', verb, ...started('account', id, 1), '--update-name', 'deposit', '--update-input', '5', ...more];
  const first = await rondo(...both('execute-update-with-start', 'cli-both', '--id-conflict-policy', 'UseExisting'));
  assert.deepEqual([first.workflowId, first.updateName, first.updateResult], ['cli-both', 'deposit', 6]);
  const second = await rondo(...both('start-update-with-start', 'cli-both', '--id-conflict-policy', 'UseExisting', '--update-id', 'again'));
  assert.deepEqual([second.runId, second.updateId], [first.runId, 'again']);
  const handle = world.client.workflow.getHandle('cli-both');
  assert.equal(await handle.getUpdateHandle('again').result(), 11);
  assert.equal(await handle.query('seen'), 11);
  await handle.terminate();
  assert.match((await refused(...both('execute-update-with-start', 'cli-both'))).stderr, /--id-conflict-policy are needed/);
});

test('a history file of older programs becomes one that replays', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rondo-history-'));
  const { workflowId } = await world.start('hello', ['file']);
  await world.client.workflow.getHandle(workflowId).result();
  const history = await rondo('workflow', 'show', '-w', workflowId);
  const camel = (name) => name.replace('EVENT_TYPE_', '').toLowerCase().replace(/(^|_)(.)/g, (_, __, c) => c.toUpperCase());
  const old = { events: history.events.map((e) => ({ ...e, eventType: camel(e.eventType) })) };
  assert.equal(old.events[0].eventType, 'WorkflowExecutionStarted');
  writeFileSync(join(directory, 'old.json'), JSON.stringify(old));
  const { stdout } = await promisify(execFile)(BINARY, ['workflow', 'fix-history-json', '-s', join(directory, 'old.json')]);
  rmSync(directory, { recursive: true });
  assert.deepEqual(JSON.parse(stdout), history);
});

test('a workflow is reset to a place by its name', async () => {
  const handle = await world.start('collect');
  await handle.signal('add', 1);
  await handle.signal('stop');
  assert.deepEqual(await handle.result(), [1]);
  const of = ['-w', handle.workflowId, '--reason', 'again'];
  const { events } = await rondo('workflow', 'show', '-w', handle.workflowId);
  const steps = events.filter((e) => e.eventType === 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED').map((e) => e.eventId);
  const resetTo = async (...args) => {
    const { runId } = await rondo('workflow', 'reset', ...of, '-r', handle.firstExecutionRunId, ...args);
    const run = world.client.workflow.getHandle(handle.workflowId, runId);
    const made = await rondo('workflow', 'show', '-w', handle.workflowId, '-r', runId);
    const cut = made.events.find((e) => e.workflowTaskFailedEventAttributes?.cause === 'WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW');
    return { run, base: cut.eventId };
  };
  const first = await resetTo('--type', 'FirstWorkflowTask');
  assert.equal(first.base, steps[0]);
  assert.deepEqual(await first.run.result(), [1]);
  const last = await resetTo('--type', 'LastWorkflowTask');
  assert.equal(last.base, steps.at(-1));
  await last.run.result();
  const forgetful = await resetTo('--type', 'FirstWorkflowTask', '--reapply-exclude', 'Signal');
  assert.equal((await forgetful.run.describe()).status.name, 'RUNNING');
  await forgetful.run.terminate();
  assert.match((await refused('workflow', 'reset', ...of, '--type', 'LastContinuedAsNew')).stderr, /not continued/);
  const chain = await world.start('collectTwice');
  await chain.signal('stop');
  const next = await eventually(async () => {
    const now = await world.client.workflow.getHandle(chain.workflowId).describe();
    return now.runId !== chain.firstExecutionRunId && now;
  });
  const back = await rondo('workflow', 'reset', '-w', chain.workflowId, '--reason', 'x', '--type', 'LastContinuedAsNew');
  const made = await world.client.workflow.getHandle(chain.workflowId, back.runId).describe();
  assert.equal(made.raw.workflowExecutionInfo.execution.runId, back.runId);
  assert.notEqual(back.runId, next.runId);
  await world.client.workflow.getHandle(chain.workflowId).terminate();
  const points = await rondo('workflow', 'describe', '-w', chain.workflowId, '-r', next.runId, '--reset-points');
  assert.deepEqual(points.map((p) => p.runId), [chain.firstExecutionRunId]); // its worker is the same
  const byBuild = await rondo('workflow', 'reset', '-w', chain.workflowId, '-r', next.runId, '--reason', 'x', '--type', 'BuildId', '--build-id', points[0].buildId);
  const rebuilt = await rondo('workflow', 'show', '-w', chain.workflowId, '-r', byBuild.runId);
  const failed = rebuilt.events.find((e) => e.workflowTaskFailedEventAttributes);
  assert.equal(failed.eventId, points[0].firstWorkflowTaskCompletedId);
  assert.equal(failed.workflowTaskFailedEventAttributes.baseRunId, chain.firstExecutionRunId);
  await world.client.workflow.getHandle(chain.workflowId).terminate(); // the run itself may have gone on with the signal
  const never = await refused('workflow', 'reset', '-w', chain.workflowId, '--reason', 'x', '--type', 'BuildId', '--build-id', 'never');
  assert.match(never.stderr, /no workflow task of the workflow was completed by build never/);
  const withOptions = ['--type', 'FirstWorkflowTask', '--reapply-exclude', 'All', '--versioning-override-behavior', 'auto_upgrade'];
  const freed = await rondo('workflow', 'reset', 'with-workflow-update-options', ...of, ...withOptions);
  const { versioningInfo } = (await rondo('workflow', 'describe', '-w', handle.workflowId, '-r', freed.runId)).workflowExecutionInfo;
  assert.equal(versioningInfo.versioningOverride.autoUpgrade, true);
  await world.client.workflow.getHandle(handle.workflowId, freed.runId).terminate();
  const both = await refused('workflow', 'reset', ...of, '--type', 'FirstWorkflowTask', '--event-id', '3');
  assert.equal(both.code, 2);
});

test('activities are ended, paused, changed and reset', async () => {
  const begin = async (options) => {
    const handle = await world.start('activity', ['endsElsewhere', options]);
    await tokens.wait(handle.workflowId);
    return { handle, of: ['-a', '1', '-w', handle.workflowId] };
  };
  const once = { startToCloseTimeout: '30s', retry: { maximumAttempts: 1 } };
  const done = await begin(once);
  await rondo('activity', 'complete', ...done.of, '--result', '{"by":"hand"}');
  assert.deepEqual(await done.handle.result(), { by: 'hand' });
  const failed = await begin(once);
  await rondo('activity', 'fail', ...failed.of, '--reason', 'not today', '--detail', '[1]');
  const { cause } = await failure(failed.handle.result());
  assert.equal(cause.cause.message, 'not today');
  assert.deepEqual(cause.cause.details, [[1]]);
  const slow = await world.start('activity', ['endsElsewhere', { scheduleToCloseTimeout: '1h' }]);
  await tokens.wait(slow.workflowId);
  const of = ['-a', '1', '-w', slow.workflowId];
  await rondo('activity', 'pause', ...of, '--reason', 'wait');
  const pending = async () => (await rondo('workflow', 'describe', '-w', slow.workflowId)).pendingActivities[0];
  assert.ok((await pending()).paused);
  await rondo('activity', 'unpause', ...of);
  assert.ok(!(await pending()).paused);
  const { activityOptions } = await rondo('activity', 'update-options', ...of, '--heartbeat-timeout', '7s', '--retry-maximum-attempts', '4');
  assert.deepEqual([activityOptions.heartbeatTimeout, activityOptions.retryPolicy.maximumAttempts], ['7s', 4]);
  assert.equal(activityOptions.scheduleToCloseTimeout, '3600s');
  await rondo('activity', 'reset', ...of);
  await rondo('activity', 'complete', ...of, '--result', '1');
  assert.equal(await slow.result(), 1);
  assert.match((await refused('activity', 'update-options', ...of)).stderr, /name an option to change/);
  assert.equal((await refused('activity', 'reset', '-w', 'x')).code, 2);
});

test('versions of workers: made, made current, described, deleted', async () => {
  const of = ['--deployment-name', 'cli-orders'];
  await rondo('worker', 'deployment', 'create', '--name', 'cli-orders');
  await rondo('worker', 'deployment', 'create-version', ...of, '--build-id', 'v1');
  await rondo('worker', 'deployment', 'create-version', ...of, '--build-id', 'v2');
  assert.match((await refused('worker', 'deployment', 'set-current-version', ...of, '--build-id', 'v1')).stderr, /add --yes/);
  await rondo('worker', 'deployment', 'set-current-version', ...of, '--build-id', 'v1', '--allow-no-pollers', '--yes');
  await rondo('worker', 'deployment', 'set-ramping-version', ...of, '--build-id', 'v2', '--percentage', '12.5', '--allow-no-pollers', '--yes');
  const { workerDeploymentInfo } = await rondo('worker', 'deployment', 'describe', '--name', 'cli-orders');
  assert.equal(workerDeploymentInfo.routingConfig.currentDeploymentVersion.buildId, 'v1');
  assert.equal(workerDeploymentInfo.routingConfig.rampingVersionPercentage, 12.5);
  assert.ok((await rondo('worker', 'deployment', 'list')).some((d) => d.name === 'cli-orders'));
  await rondo('worker', 'deployment', 'update-version-metadata', ...of, '--build-id', 'v2', '--metadata', 'commit="4f2a"', '--metadata', 'n=1');
  await rondo('worker', 'deployment', 'update-version-metadata', ...of, '--build-id', 'v2', '--remove-entries', 'n');
  const version = await rondo('worker', 'deployment', 'describe-version', ...of, '--build-id', 'v2');
  assert.deepEqual(version.workerDeploymentVersionInfo.metadata.entries, { commit: '4f2a' });
  await rondo('worker', 'deployment', 'set-ramping-version', ...of, '--delete', '--yes');
  await rondo('worker', 'deployment', 'manager-identity', 'set', ...of, '--manager-identity', 'releases', '--yes');
  assert.match((await refused('worker', 'deployment', 'delete-version', ...of, '--build-id', 'v2')).stderr, /manager/i);
  await rondo('worker', 'deployment', 'manager-identity', 'unset', ...of, '--yes', '--identity', 'releases');
  await rondo('worker', 'deployment', 'delete-version', ...of, '--build-id', 'v2', '--skip-drainage');
  const running = await world.start('forever');
  const options = ['workflow', 'update-options', '-w', running.workflowId, '--versioning-override-behavior'];
  const pin = ['pinned', '--versioning-override-deployment-name', 'cli-orders', '--versioning-override-build-id', 'v1'];
  assert.match((await refused(...options, ...pin)).stderr, /'cli-orders:v1' is not present in task queue/);
  assert.match((await refused(...options, 'pinned')).stderr, /are needed with that behavior/);
  const override = async () =>
    (await rondo('workflow', 'describe', '-w', running.workflowId)).workflowExecutionInfo.versioningInfo?.versioningOverride;
  await rondo(...options, 'auto_upgrade');
  assert.equal((await override()).autoUpgrade, true);
  await rondo(...options, 'unspecified');
  assert.equal(await override(), undefined);
  await running.terminate();
});

test('workers that send heartbeats are listed, counted and described', async () => {
  const heartbeat = { workerInstanceKey: 'cli-1', workerIdentity: 'me@here', taskQueue: 'q', sdkName: 'cli', sdkVersion: '1', startTime: { seconds: 1 } };
  await world.service.recordWorkerHeartbeat({ namespace: 'default', workerHeartbeat: [heartbeat] });
  const query = ['--query', "SdkName = 'cli'"];
  const [found, ...more] = await rondo('worker', 'list', ...query);
  assert.deepEqual([found.workerIdentity, found.taskQueue, more], ['me@here', 'q', []]);
  assert.equal((await rondo('worker', 'count', ...query)).count, '1');
  const { workerInfo } = await rondo('worker', 'describe', '--worker-instance-key', 'cli-1');
  assert.equal(workerInfo.workerHeartbeat.sdkVersion, '1');
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
