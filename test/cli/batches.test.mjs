// What is done to all workflows that a filter finds: asked for, started, looked at, stopped.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, run } from './rondo.mjs';

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
after(() => server.stop());

async function rondo(...args) {
  const { code, stdout, stderr } = await run([...args, '-o', 'json'], { env });
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

async function refused(code, pattern, ...args) {
  const result = await run([...args, '-o', 'json'], { env });
  assert.equal(result.code, code, result.stderr);
  assert.match(result.stderr, pattern);
}

// So many workflows of a type of their own, and the filter that finds them.
async function herd(type, count) {
  for (let i = 0; i < count; i++) await rondo('workflow', 'start', '--type', type, '-t', 'q', '-w', `${type}-${i}`, '--input', String(i));
  return ['--query', `WorkflowType = '${type}'`];
}

async function eventsOf(id) {
  const { events } = await rondo('workflow', 'show', '-w', id);
  return events.map((e) => e.eventType.replace('EVENT_TYPE_WORKFLOW_EXECUTION_', ''));
}

test('schedules are paused, resumed and deleted by a filter', async () => {
  for (let i = 0; i < 4; i++)
    await rondo('schedule', 'create', '-s', `s${i}`, '--cron', '0 3 * * *', '--type', 'report', '-t', 'q', ...(i === 3 ? ['--paused'] : []));
  const running = ['--query', 'TemporalSchedulePaused = false'];
  const states = async () => {
    const all = await Promise.all([0, 1, 2, 3].map((i) => rondo('schedule', 'describe', '-s', `s${i}`)));
    return all.map(({ schedule: { state } }) => [state.paused ?? false, state.notes]);
  };
  await refused(2, /batch job for about 3 schedules\? There is no terminal to ask on; add --yes/, 'schedule', 'toggle', '--pause', ...running);
  await refused(2, /either --schedule-id or --query/, 'schedule', 'delete', ...running, '-s', 's0', '--yes');
  await refused(2, /--schedule-id or --query is needed/, 'schedule', 'delete');
  const paused = await rondo('schedule', 'toggle', '--pause', '--reason', 'audit', ...running, '--yes', '--wait');
  assert.deepEqual([paused.state, paused.completed, paused.failures], ['Completed', 3, 0]);
  assert.deepEqual((await states()).slice(0, 3), Array(3).fill([true, 'audit']));
  await rondo('schedule', 'toggle', '--unpause', '--reason', 'over', '--query', 'TemporalSchedulePaused = true', '--yes', '--wait');
  assert.deepEqual(await states(), Array(4).fill([false, 'over']));
  const gone = await rondo('schedule', 'delete', ...running, '--yes', '--wait');
  assert.equal(gone.completed, 4);
  assert.deepEqual((await run(['schedule', 'list', '-o', 'jsonl'], { env })).stdout, '');
});

test('a batch is not started unasked', async () => {
  const all = await herd('unasked', 3);
  await refused(2, /batch job for about 3 workflows\? There is no terminal to ask on; add --yes/, 'workflow', 'terminate', ...all);
  assert.ok(!(await eventsOf('unasked-0')).includes('TERMINATED'));
  await refused(2, /either --workflow-id or --query/, 'workflow', 'terminate', ...all, '-w', 'unasked-0', '--yes');
  await refused(2, /--workflow-id or --query is needed/, 'workflow', 'terminate');
  await refused(1, /./, 'workflow', 'terminate', '--query', 'Nonsense ==', '--yes');
  await refused(2, /--rps|max_operations/, 'workflow', 'terminate', ...all, '--yes', '--rps', 'fast');
});

test('signals, cancellations, terminations and deletions reach all of them', async () => {
  const all = await herd('steered', 5);
  const done = await rondo('workflow', 'signal', ...all, '--name', 'hi', '--input', '{"n":1}', '--yes', '--wait', '--reason', 'hello');
  assert.deepEqual([done.state, done.total, done.completed, done.failures], ['Completed', 5, 5, 0]);
  const described = await rondo('batch', 'describe', '--job-id', done.batchJobId);
  assert.deepEqual([described.reason, described.query, described.completeOperationCount], ['hello', "WorkflowType = 'steered'", '5']);
  const { events } = await rondo('workflow', 'show', '-w', 'steered-4');
  const { signalName, input } = events.find((e) => e.workflowExecutionSignaledEventAttributes).workflowExecutionSignaledEventAttributes;
  assert.deepEqual([signalName, Buffer.from(input.payloads[0].data, 'base64').toString()], ['hi', '{"n":1}']);
  await rondo('workflow', 'cancel', ...all, '--yes', '--wait');
  assert.ok((await eventsOf('steered-2')).includes('CANCEL_REQUESTED'));
  await rondo('workflow', 'terminate', ...all, '--yes', '--wait', '--rps', '1000', '--reason', 'enough');
  assert.equal((await eventsOf('steered-3')).at(-1), 'TERMINATED');
  await rondo('workflow', 'delete', ...all, '--yes', '--wait');
  assert.equal((await rondo('workflow', 'count', ...all)).count ?? '0', '0');
});

test('a batch that nobody waits for goes on, and is listed', async () => {
  const all = await herd('left', 4);
  const started = await rondo('workflow', 'terminate', ...all, '--yes');
  assert.deepEqual(Object.keys(started), ['batchJobId']);
  let described;
  do {
    if (described) await sleep(50);
    described = await rondo('batch', 'describe', '--job-id', started.batchJobId);
  } while (described.state === 'BATCH_OPERATION_STATE_RUNNING');
  assert.equal(described.completeOperationCount, '4');
  const [last] = await rondo('batch', 'list', '--limit', '1');
  assert.equal(last.jobId, started.batchJobId);
  await refused(1, /./, 'batch', 'describe', '--job-id', 'none');
});

test('a batch is stopped before its end', async () => {
  const all = await herd('slow', 6);
  const { batchJobId } = await rondo('workflow', 'signal', ...all, '--name', 'hi', '--yes', '--rps', '0.1', '--wait=false');
  await rondo('batch', 'terminate', '--job-id', batchJobId, '--reason', 'wrong filter');
  const { state, completeOperationCount } = await rondo('batch', 'describe', '--job-id', batchJobId);
  assert.notEqual(state, 'BATCH_OPERATION_STATE_RUNNING');
  assert.ok(Number(completeOperationCount ?? 0) < 6);
});

test('all of them begin again', async () => {
  const all = await herd('again', 2);
  await refused(2, /with --query give --type/, 'workflow', 'reset', ...all, '--reason', 'x', '--yes');
  // No step has ended that they could begin again from: the batch says how many failed.
  const early = ['workflow', 'reset', ...all, '--type', 'LastWorkflowTask', '--reason', 'x', '--yes', '--wait', '-o', 'json'];
  const failed = await run(early, { env });
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /did not succeed for all: 2 failed/);
  assert.equal(JSON.parse(failed.stdout).failures, 2);
  await rondo('workflow', 'terminate', ...all, '--yes', '--wait');
  const done = await rondo('workflow', 'reset', ...all, '--type', 'FirstWorkflowTask', '--reason', 'x', '--yes', '--wait');
  assert.deepEqual([done.total, done.completed], [2, 2]);
  const running = await rondo('workflow', 'count', '--query', "WorkflowType = 'again' AND ExecutionStatus = 'Running'");
  assert.equal(running.count, '2');
});
