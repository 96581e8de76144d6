// The server is killed again and again while the SDK works with it; what it had acknowledged is there, once.
//
//   node kills.test.mjs --rounds 200
//
// Every call carries an id that is kept until the call is acknowledged, so what a kill leaves open is settled by
// asking again. At the end: each start has its one run, each signal and each update its one event, each second of the
// schedule its one action, each result is what the workflow was given, and every history replays.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { status } from '@grpc/grpc-js';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { attempts } from './lib/activities.mjs';
import { eventName } from './lib/history.mjs';
import { connect } from './lib/worker.mjs';
import { inNewWorld } from './lib/world.mjs';

const SIGNALS = 3;
const DEPOSITS = 4;
const LANES = 3; // of each kind
const PAUSE_MS = 100; // between two workflows of a lane
const LIFE_MS = [200, 2200]; // from the start of a server to its end
const PERIOD_S = 1; // of the schedule

const { rounds } = parseArgs({ options: { rounds: { type: 'string', default: '5' } }, strict: false }).values;
const upTo = (count) => Array.from({ length: count }, (_, index) => index);

function json(value) {
  return {
    payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) }],
  };
}

// What a client meets when its server dies.
const LOST = new Set([status.UNAVAILABLE, status.INTERNAL, status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNKNOWN]);

class Load {
  constructor(world, client) {
    this.world = world;
    this.service = client.workflowService;
    this.isOn = true;
    this.starts = new Map(); // workflow id -> run id
    this.counts = { starts: 0, signals: 0, updates: 0, lost: 0 };
  }

  // Until it is acknowledged; `isMoot` tells which errors mean that an earlier attempt was.
  async insist(kind, call, isMoot = () => false) {
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await call();
        this.counts[kind]++;
        return answer;
      } catch (error) {
        if (attempt && isMoot(error)) return undefined;
        if (!LOST.has(error.code)) throw error;
        this.counts.lost++;
        await sleep(20);
      }
    }
  }

  async start(type, workflowId, ...args) {
    const request = {
      namespace: 'default',
      workflowId,
      requestId: randomUUID(),
      workflowType: { name: type },
      taskQueue: { name: this.world.taskQueue },
      workflowTaskTimeout: { seconds: 2 },
      input: { payloads: args.flatMap((arg) => json(arg).payloads) },
    };
    const { runId } = await this.insist('starts', () => this.service.startWorkflowExecution(request));
    this.starts.set(workflowId, runId);
    return { workflowId, runId };
  }

  // Its last signal may have arrived, and the workflow ended, although nobody said so.
  async signal(workflowExecution, signalName, value, isLast) {
    const request = { namespace: 'default', workflowExecution, signalName, requestId: randomUUID(), input: json(value) };
    const call = () => this.service.signalWorkflowExecution(request);
    await this.insist('signals', call, (error) => isLast && error.code === status.NOT_FOUND);
  }

  async update(workflowExecution, name, value) {
    const updateId = randomUUID();
    const request = {
      namespace: 'default',
      workflowExecution,
      waitPolicy: { lifecycleStage: 3 }, // completed
      request: { meta: { updateId, identity: 'kills' }, input: { name, args: json(value) } },
    };
    for (;;) {
      const { outcome } = await this.insist('updates', () => this.service.updateWorkflowExecution(request));
      if (outcome?.success) return JSON.parse(Buffer.from(outcome.success.payloads[0].data).toString());
      assert.ok(!outcome?.failure, JSON.stringify(outcome?.failure));
    }
  }

  async collect(lane) {
    for (let serial = 0; this.isOn; serial++) {
      const execution = await this.start('collectSlowly', `collect-${lane}-${serial}`, SIGNALS);
      for (const value of upTo(SIGNALS)) await this.signal(execution, 'add', value, value === SIGNALS - 1);
      await sleep(PAUSE_MS);
    }
  }

  async deposit(lane) {
    for (let serial = 0; this.isOn; serial++) {
      const execution = await this.start('account', `account-${lane}-${serial}`, 0);
      for (const n of upTo(DEPOSITS)) {
        // Each deposit is there once, in the order in which they were acknowledged.
        assert.equal(await this.update(execution, 'deposit', n + 1), ((n + 1) * (n + 2)) / 2, execution.workflowId);
      }
      await this.signal(execution, 'stop', null, true);
      await sleep(PAUSE_MS);
    }
  }
}

async function checkCollected(world, workflowId, names) {
  const handle = world.client.workflow.getHandle(workflowId);
  assert.deepEqual(await handle.result(), upTo(SIGNALS), workflowId);
  assert.equal(names.filter((name) => name === 'ACTIVITY_TASK_COMPLETED').length, SIGNALS, workflowId);
  assert.equal(names.filter((name) => name === 'WORKFLOW_EXECUTION_SIGNALED').length, SIGNALS, workflowId);
}

async function checkAccount(world, workflowId, names) {
  const handle = world.client.workflow.getHandle(workflowId);
  assert.equal(await handle.result(), (DEPOSITS * (DEPOSITS + 1)) / 2, workflowId);
  assert.equal(names.filter((name) => name === 'WORKFLOW_EXECUTION_UPDATE_COMPLETED').length, DEPOSITS, workflowId);
  assert.equal(names.filter((name) => name === 'WORKFLOW_EXECUTION_SIGNALED').length, 1, workflowId);
}

async function checkStarts(world, load) {
  for (const [workflowId, runId] of load.starts) {
    const handle = world.client.workflow.getHandle(workflowId);
    await handle.result();
    assert.equal((await handle.describe()).runId, runId, `${workflowId} has one run`);
    const names = (await handle.fetchHistory()).events.map(eventName);
    if (workflowId.startsWith('collect')) await checkCollected(world, workflowId, names);
    else await checkAccount(world, workflowId, names);
    const runs = new Set((attempts.get(workflowId) ?? []).map((attempt) => attempt.runId));
    assert.ok([...runs].every((run) => run === runId), `${workflowId} ran as one run`);
  }
}

// Every second from the first action to the last has one run, which has ended well.
async function checkSchedule(world, schedule) {
  await schedule.pause();
  const seconds = [];
  for await (const run of world.client.workflow.list({ query: `TemporalScheduledById = "${schedule.scheduleId}"` })) {
    const handle = world.client.workflow.getHandle(run.workflowId, run.runId);
    assert.equal(await handle.result(), 'Hello, clock!');
    world.runs.note(run.workflowId, run.runId);
    const [at] = run.searchAttributes.TemporalScheduledStartTime;
    seconds.push(at.getTime() / 1000);
  }
  seconds.sort((a, b) => a - b);
  const [first] = seconds;
  assert.deepEqual(
    seconds,
    seconds.map((_, i) => first + i * PERIOD_S)
  );
  return seconds.length;
}

test(`a server that is killed ${rounds} times`, { timeout: 60_000 + Number(rounds) * 20_000 }, async (t) => {
  await inNewWorld(async (world) => {
    const client = await connect(world.server, world.runs, { retries: false }); // a lost call is ours to repeat
    const load = new Load(world, client);
    const schedule = await world.client.schedule.create({
      scheduleId: 'each-second',
      spec: { intervals: [{ every: `${PERIOD_S}s` }] },
      policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL },
      action: { type: 'startWorkflow', workflowType: 'hello', args: ['clock'], taskQueue: world.taskQueue },
    });
    const lanes = upTo(LANES).flatMap((lane) => [load.collect(lane), load.deposit(lane)]);
    for (let round = 0; round < Number(rounds); round++) {
      const [least, most] = LIFE_MS;
      await sleep(least + Math.random() * (most - least));
      await world.server.killAndRestart();
    }
    load.isOn = false;
    await Promise.all(lanes);
    await client.connection.close();
    await checkStarts(world, load);
    const actions = await checkSchedule(world, schedule);
    assert.ok(load.counts.signals > Number(rounds), `${load.counts.signals} signals`);
    const { starts, signals, updates, lost } = load.counts;
    t.diagnostic(`${rounds} kills, ${starts} starts, ${signals} signals, ${updates} updates, ${actions} scheduled actions; ` +
      `${lost} calls cut off and asked again: nothing missing, nothing twice`);
  });
});
