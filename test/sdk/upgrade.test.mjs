// Files that older servers wrote, in the middle of work: they open, and the work goes on with a worker of today.
// test/upgrade has one for each version of the schema, and says how they are made.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { World, eventually } from './lib/world.mjs';

const TEXTS = fileURLToPath(new URL('../upgrade/', import.meta.url));
const versions = readdirSync(TEXTS)
  .map((name) => Number(/^schema_(\d+)\.sql$/.exec(name)?.[1] ?? 0))
  .filter(Boolean)
  .sort((a, b) => a - b);
const newest = versions.at(-1);

function python(program, ...args) {
  return execFileSync('/usr/bin/python3', ['-c', `import sqlite3, sys\n${program}`, ...args], { encoding: 'utf8' });
}

// With a log and without one, as a server that was stopped leaves it.
function makeFile(version, file) {
  python('sqlite3.connect(sys.argv[2]).executescript(open(sys.argv[1]).read())', `${TEXTS}schema_${version}.sql`, file);
}

function versionOf(file) {
  return Number(python('print(sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version").fetchone()[0])', file));
}

async function inFileOf(version, body) {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'rondo-upgrade-'));
  const dataFile = path.join(directory, 'rondo.db');
  const world = new World();
  makeFile(version, dataFile);
  assert.equal(versionOf(dataFile), version);
  try {
    await world.open({ dataFile });
    await body(world);
    await world.runs.replay(world.client);
  } finally {
    await world.close();
  }
  assert.equal(versionOf(dataFile), newest);
  rmSync(directory, { recursive: true });
}

// The handle of a workflow of that file; its history will be replayed.
async function find(world, workflowId) {
  const handle = world.client.workflow.getHandle(workflowId);
  const { runId } = await handle.describe();
  world.runs.note(workflowId, runId);
  return handle;
}

async function signalsGoOn(world) {
  const handle = await find(world, 'collects');
  await handle.signal('add', 3);
  await eventually(async () => (await handle.query('seen')).length === 3);
  await handle.signal('stop');
  assert.deepEqual(await handle.result(), [1, 2, 3]); // the second came when no worker was there
}

async function timersFire(world) {
  assert.equal(await (await find(world, 'pauses')).result(), 'slept');
}

async function familiesGoOn(world) {
  const parent = await find(world, 'parents');
  const child = await find(world, 'child');
  await child.signal('add', 'from the parent');
  await child.signal('stop');
  assert.deepEqual(await parent.result(), { result: ['from the parent'] });
}

async function updatesAreKnown(world) {
  const handle = await find(world, 'accounts');
  assert.equal(await handle.executeUpdate('deposit', { args: [5], updateId: 'first' }), 15); // for the second time
  assert.equal(await handle.executeUpdate('deposit', { args: [5], updateId: 'second' }), 20);
  await handle.signal('stop');
  assert.equal(await handle.result(), 20);
}

async function chainsGoOn(world) {
  const first = await find(world, 'chains');
  const { runId } = await first.describe();
  await first.signal('add', 1);
  await first.signal('stop');
  await eventually(async () => (await first.describe()).runId !== runId);
  const second = await find(world, 'chains');
  await second.signal('stop');
  assert.deepEqual(await second.result(), [1]);
}

async function waitingTasksAreOffered(world) {
  const handle = await find(world, 'waits');
  await world.withWorker('later', async () => assert.equal(await handle.result(), 'Hello, history!'));
}

async function schedulesGoOn(world) {
  const handle = world.client.schedule.getHandle('yearly');
  const before = await handle.describe();
  assert.equal(before.memo.kept, 'since then');
  assert.equal(before.info.nextActionTimes[0].getUTCMonth(), 0);
  await handle.trigger();
  const run = await eventually(async () => (await handle.describe()).info.recentActions[0]?.action.workflow);
  assert.equal(await (await find(world, run.workflowId)).result(), 'Hello, year!');
  const listed = [];
  for await (const schedule of world.client.schedule.list()) listed.push(schedule.scheduleId);
  assert.deepEqual(listed, ['yearly']);
  await handle.pause('enough');
  assert.ok((await handle.describe()).state.paused);
}

describe('a file of an older server', { timeout: 300_000 }, () => {
  for (const version of versions) {
    test(`with schema ${version}`, async () => {
      await inFileOf(version, async (world) => {
        const { workflow } = world.client;
        assert.equal((await workflow.count('ExecutionStatus = "Running" AND WorkflowType = "collect"')).count, 2);
        await signalsGoOn(world);
        await timersFire(world);
        await familiesGoOn(world);
        await updatesAreKnown(world);
        await chainsGoOn(world);
        await waitingTasksAreOffered(world);
        if (version > 1) await schedulesGoOn(world); // the first had none
        assert.equal((await workflow.count('ExecutionStatus = "Running"')).count, 0);
        assert.equal(await world.execute('hello', ['today']), 'Hello, today!');
      });
    });
  }
});
