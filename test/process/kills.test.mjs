// The server is killed and stopped again and again under a load of everything it can do. After each start an oracle
// looks for what was acknowledged: nothing is missing, nothing happened twice, no history has changed.
//
// Every call that changes something has an id which is kept until the call is acknowledged: what an end of the server
// leaves open is settled by asking again with the same id.

import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { status } from '../sdk/node_modules/@grpc/grpc-js/build/src/index.js';
import { NAMESPACE, payloads, scheduleRequest, seconds, startRequest, temporal, uniqueId } from './lib/client.mjs';
import { runSql } from './lib/large.mjs';
import { Oracle, timeText } from './lib/oracle.mjs';
import { pick, readRows, sleep, withProcess } from './lib/process.mjs';
import { RawWorker } from './lib/worker.mjs';

const require = createRequire(new URL('../sdk/package.json', import.meta.url));
const { Connection } = require('@temporalio/client');
const { EventType } = temporal.api.enums.v1;

const ROUNDS = Number(process.env.KILLS ?? pick(10, 1_000));
const LIFE_MS = [250, 1_250]; // of a server under load
const LANES = 32;
const QUEUE = 'kills';
const ATTRIBUTE = 'KillsKeyword';
const FINISH_MS = 60_000; // ends what hangs
const PAST_S = Date.UTC(2001, 0, 1) / 1000; // of triggers and backfills
const BACKFILLED = 5; // times of one backfill

// What a client may see of a server that ends; all else is a mistake.
const LOST = new Set([status.UNAVAILABLE, status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNKNOWN, status.INTERNAL]);

const typed = (events, name) => events.filter((event) => event.eventType === EventType[`EVENT_TYPE_${name}`]);
const choose = (list) => list[Math.floor(Math.random() * list.length)];

// The server, a gate in front of it, and what the oracle asks of both.
class World {
  constructor(server) {
    this.server = server;
    this.oracle = new Oracle();
    this.lost = 0;
    this.shut();
  }

  shut() {
    this.isUp = new Promise((open) => (this.openGate = open));
  }

  async connect() {
    this.connection = await Connection.connect({ address: this.server.address, interceptors: [] });
    this.service = this.connection.workflowService;
  }

  // Once, when the load may run.
  async call(fn) {
    await this.isUp;
    if (this.isOver) throw new Error('the test has ended');
    return fn(this.service);
  }

  // Until it is acknowledged; `isMoot` tells by which errors it is seen that an earlier attempt was.
  async insist(fn, isMoot = () => false) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.call(fn);
      } catch (error) {
        if (attempt && isMoot(error)) return undefined;
        if (!LOST.has(error.code)) throw error;
        this.lost++;
        await sleep(20);
      }
    }
  }

  // For the oracle, which works while the gate is shut.

  async history(workflowId, runId) {
    const request = { namespace: NAMESPACE, execution: { workflowId, runId } };
    try {
      return (await this.service.getWorkflowExecutionHistory(request)).history.events;
    } catch (error) {
      if (error.code === status.NOT_FOUND) return undefined;
      throw error;
    }
  }

  async start(request) {
    return (await this.service.startWorkflowExecution(request)).runId;
  }

  async attribute(workflowId, name) {
    const request = { namespace: NAMESPACE, execution: { workflowId } };
    const { workflowExecutionInfo } = await this.service.describeWorkflowExecution(request);
    const value = workflowExecutionInfo.searchAttributes?.indexedFields?.[name];
    return value && JSON.parse(Buffer.from(value.data).toString());
  }

  rows(sql) {
    return readRows(this.server.dataFile, sql);
  }

  ledger(scheduleId) {
    return this.rows(
      `SELECT l.id, l.nominal_s, l.fate FROM ledger l JOIN executions e USING (namespace_id, run_id)
       WHERE e.workflow_id LIKE '%schedule/${scheduleId}'`,
    );
  }

  runCounts() {
    const rows = this.rows('SELECT workflow_id, count(*) AS n FROM executions GROUP BY workflow_id');
    this.counts = new Map(rows.map((row) => [row.workflow_id, row.n]));
    return this.counts;
  }

  runsOf(workflowId) {
    return (this.counts ?? this.runCounts()).get(workflowId);
  }
}

// Stories: what a client does with one workflow or schedule, from beginning to end.

async function begin(world, type, fields = {}) {
  const request = startRequest({
    workflowId: uniqueId(type),
    workflowType: { name: type },
    taskQueue: { name: QUEUE },
    workflowTaskTimeout: seconds(2),
    ...fields,
  });
  const { runId } = await world.insist((service) => service.startWorkflowExecution(request));
  world.oracle.noteStart(request, runId);
  return { workflowId: request.workflowId, runId };
}

async function signal(world, execution, signalName) {
  const value = uniqueId(signalName);
  const request = { namespace: NAMESPACE, workflowExecution: execution, signalName, requestId: value, input: payloads(value) };
  world.oracle.attemptSignal(execution.workflowId, value);
  // The workflow may have ended by an attempt of which nothing was heard.
  const isMoot = (error) => signalName === 'finish' && error.code === status.NOT_FOUND;
  await world.insist((service) => service.signalWorkflowExecution(request), isMoot);
  world.oracle.noteSignal(execution.workflowId, value);
}

// Reads the history again until it is so; each time it is compared with what it was before.
async function untilHistory(world, { workflowId, runId }, isSo) {
  const request = { namespace: NAMESPACE, execution: { workflowId, runId }, waitNewEvent: true };
  for (;;) {
    const { history } = await world.insist((service) => service.getWorkflowExecutionHistory({ ...request, waitNewEvent: false }));
    world.oracle.noteHistory(workflowId, runId, history.events);
    if (isSo(history.events)) return history.events;
    await sleep(30);
  }
}

const isClosed = (events) =>
  ['COMPLETED', 'TERMINATED', 'CANCELED', 'FAILED', 'TIMED_OUT'].some((name) => typed(events, `WORKFLOW_EXECUTION_${name}`).length);

const STORIES = {
  async signals(world) {
    const execution = await begin(world, 'signals');
    for (let i = 0; i < 4; i++) await signal(world, execution, 'add');
    await signal(world, execution, 'finish');
  },

  async updates(world) {
    const execution = await begin(world, 'updates');
    for (let i = 0; i < 2; i++) {
      const updateId = uniqueId('update');
      const request = {
        namespace: NAMESPACE,
        workflowExecution: execution,
        waitPolicy: { lifecycleStage: 3 },
        request: { meta: { updateId }, input: { name: 'echo', args: payloads(updateId) } },
      };
      let outcome;
      while (!outcome) ({ outcome } = await world.insist((service) => service.updateWorkflowExecution(request)));
      assert.equal(Buffer.from(outcome.success.payloads[0].data).toString(), JSON.stringify(updateId));
      world.oracle.noteUpdate(execution.workflowId, updateId, updateId);
    }
    const request = { namespace: NAMESPACE, workflowExecution: execution, reason: 'enough' };
    await world.insist((service) => service.terminateWorkflowExecution(request), (error) => error.code === status.NOT_FOUND);
    world.oracle.noteEnd(execution.workflowId, 'terminate');
  },

  activity: async (world) => untilHistory(world, await begin(world, 'activity'), isClosed),
  timer: async (world) => untilHistory(world, await begin(world, 'timer'), isClosed),
  parent: async (world) => untilHistory(world, await begin(world, 'parent'), isClosed),

  async attributes(world) {
    const execution = await begin(world, 'attributes');
    await untilHistory(world, execution, (events) => typed(events, 'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES').length);
    const request = { namespace: NAMESPACE, workflowExecution: execution, requestId: uniqueId('cancel') };
    await world.insist((service) => service.requestCancelWorkflowExecution(request), (error) => error.code === status.NOT_FOUND);
    world.oracle.count('cancelRequest');
    await untilHistory(world, execution, isClosed);
  },

  async reset(world) {
    const execution = await begin(world, 'reset');
    const events = await untilHistory(world, execution, (all) => typed(all, 'WORKFLOW_TASK_COMPLETED').length);
    const request = {
      namespace: NAMESPACE,
      workflowExecution: execution,
      reason: 'again',
      workflowTaskFinishEventId: typed(events, 'WORKFLOW_TASK_COMPLETED')[0].eventId,
      requestId: uniqueId('reset'),
    };
    const { runId } = await world.insist((service) => service.resetWorkflowExecution(request));
    world.oracle.noteReset(execution.workflowId, runId);
    const again = await world.insist((service) => service.resetWorkflowExecution(request));
    assert.equal(again.runId, runId, 'the same reset, another run');
    await signal(world, { workflowId: execution.workflowId, runId }, 'finish');
  },

  async deleted(world) {
    const execution = await begin(world, 'deleted');
    world.oracle.attemptDelete(execution.workflowId);
    const request = { namespace: NAMESPACE, workflowExecution: execution };
    await world.insist((service) => service.deleteWorkflowExecution(request), (error) => error.code === status.NOT_FOUND);
    world.oracle.noteDelete(execution.workflowId);
  },

  trigger: (world) => patchTimes(world, 'trigger', 'triggered', 1, ([second]) => ({
    triggerImmediately: { overlapPolicy: 6, scheduledTime: seconds(second) },
  })),

  backfill: (world) => patchTimes(world, 'backfill', 'backfilled', BACKFILLED, (times) => ({
    backfillRequest: [{ startTime: seconds(times[0]), endTime: seconds(times.at(-1)), overlapPolicy: 6 }],
  })),
};

// A patch of a schedule that has no times of its own any more; each patch has times of its own.
async function patchTimes(world, kind, scheduleId, count, patchOf) {
  world.nextTimes ??= {};
  const first = world.nextTimes[scheduleId] ?? PAST_S;
  world.nextTimes[scheduleId] = first + count;
  const times = Array.from({ length: count }, (_, at) => first + at);
  const request = { namespace: NAMESPACE, scheduleId, requestId: uniqueId(kind), identity: 'kills', patch: patchOf(times) };
  world.oracle.attemptTimes(scheduleId, times);
  await world.insist((service) => service.patchSchedule(request));
  world.oracle.noteTimes(kind, scheduleId, times);
  await sleep(100); // the server remembers the last 100 requests of a schedule
}

async function prepare(world) {
  await world.connect();
  await world.connection.operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes: { [ATTRIBUTE]: 2 } });
  const action = { workflowType: { name: 'quick' }, taskQueue: { name: QUEUE } };
  const spec = { interval: [{ interval: seconds(1) }], endTime: seconds(PAST_S + 1e6) };
  const policies = { overlapPolicy: 6, catchupWindow: seconds(86_400 * 365) };
  for (const scheduleId of ['triggered', 'backfilled'])
    await world.service.createSchedule(scheduleRequest(scheduleId, 1, { spec, action, policies }));
  await world.service.createSchedule(scheduleRequest('automatic', 1, { action, policies }));
}

// Every second from the first row to the last has one row and one run.
function checkAutomatic(world) {
  const rows = world.ledger('automatic').filter((row) => row.fate === 2);
  const times = rows.map((row) => row.nominal_s).sort((a, b) => a - b);
  times.forEach((second, at) => {
    if (at) assert.equal(second, times[at - 1] + 1, `automatic: after ${timeText(times[at - 1])}`);
    assert.equal(world.runsOf(`automatic-${timeText(second)}`), 1, `automatic: runs of ${timeText(second)}`);
    world.oracle.count('automatic', world.oracle.checked);
  });
}

async function endServer(world, round) {
  const { server } = world;
  if (round % 2 === 0) await server.kill();
  else assert.equal(await server.stop(), 0, server.log);
  world.shut();
  await world.connection.close();
}

async function beginAgain(world, round) {
  await world.server.launchSilently();
  await world.connect();
  await world.oracle.check(world);
  if (round % 5 === 4) assert.equal(await runSql(world.server.dataFile, 'PRAGMA integrity_check;'), 'ok\n');
}

// Runs stories until it is told to stop; those that have begun are finished.
function startLoad(world) {
  const load = { isOn: true, told: 0 };
  const names = Object.keys(STORIES);
  const lane = async (index) => {
    for (let turn = index; load.isOn; turn++) {
      await STORIES[names[turn % names.length]](world);
      load.told++;
      await sleep(10);
    }
  };
  load.done = Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)));
  load.done.catch((error) => (load.error = error));
  return load;
}

async function runRounds(world, worker, rounds) {
  const load = startLoad(world);
  worker.done.catch((error) => (load.error = error));
  for (let round = 0; round < rounds; round++) {
    world.openGate();
    await sleep(LIFE_MS[0] + Math.random() * (LIFE_MS[1] - LIFE_MS[0]));
    await endServer(world, round);
    await beginAgain(world, round);
    if (load.error) throw load.error;
  }
  world.openGate();
  load.isOn = false;
  await Promise.race([load.done, sleep(FINISH_MS, 0, { ref: false }).then(() => assert.fail('the stories do not end'))]);
  return load;
}

// A server with schedules and a worker.
async function inWorld(body) {
  await withProcess({}, async (server) => {
    const world = new World(server);
    const worker = new RawWorker((fn) => world.call(fn), QUEUE, world.oracle, ATTRIBUTE);
    await prepare(world);
    worker.run(4);
    try {
      await body(world, worker);
    } finally {
      world.isOver = true;
      worker.isOn = false;
      world.openGate();
      await server.kill();
      await world.connection.close();
      await worker.stop().catch(() => {}); // what it failed by was told by the load
    }
  });
}

// Runs that are open, but for schedules.
const UNFINISHED = `SELECT workflow_id FROM executions WHERE close_us IS NULL
  AND workflow_id NOT LIKE '%schedule/%'`;

async function untilFinished(world) {
  const deadline = Date.now() + FINISH_MS;
  for (let open; (open = world.rows(UNFINISHED)).length; await sleep(100))
    assert.ok(Date.now() < deadline, `open still: ${open.map((row) => row.workflow_id).join()}`);
}

async function pauseAutomatic(world) {
  const patch = { pause: 'the end' };
  await world.insist((service) => service.patchSchedule({ namespace: NAMESPACE, scheduleId: 'automatic', requestId: uniqueId('pause'), patch }));
}

// A run in which little succeeded proves little.
const LEAST = {
  start: 8, signal: 8, update: 2, task: 8, activity: 1, timer: 1, child: 1, attribute: 1, reset: 1,
  terminate: 1, cancel: 1, complete: 4, delete: 1, trigger: 2, backfill: 2,
};

describe('under a load of everything', { timeout: 6 * 3_600_000 }, () => {
  test(`${ROUNDS} ends, half of them kills: nothing acknowledged is missing, nothing happened twice`, async () => {
    await inWorld(async (world, worker) => {
      const { server } = world;
      const load = await runRounds(world, worker, ROUNDS);
      await pauseAutomatic(world);
      await untilFinished(world);
      await endServer(world, 0); // one more kill, with nothing under way
      await server.launchSilently();
      await world.connect();
      await world.oracle.check(world, true);
      checkAutomatic(world);
      const { acknowledged, checked } = world.oracle;
      console.log(JSON.stringify({ ends: ROUNDS + 1, stories: load.told, lost: world.lost, acknowledged, checked }));
      for (const [kind, least] of Object.entries(LEAST)) {
        const wanted = least * Math.ceil(ROUNDS / 10);
        assert.ok((acknowledged[kind] ?? 0) >= wanted, `${kind}: ${acknowledged[kind]} acknowledged, ${wanted} wanted`);
      }
      assert.equal(await server.stop(), 0);
    });
  });
});

// The oracle itself: each of these does to the file what a server that forgets or repeats would have done.

const runOf = (id) => `run_id = (SELECT run_id FROM executions WHERE workflow_id = '${id}')`;
const scheduleRun = (id) => `run_id = (SELECT run_id FROM executions WHERE workflow_id LIKE '%schedule/${id}')`;

const DAMAGES = {
  'a workflow is forgotten': {
    sql: ({ timer }) =>
      `DELETE FROM history WHERE ${runOf(timer)}; DELETE FROM visibility WHERE ${runOf(timer)};
       DELETE FROM current_runs WHERE workflow_id = '${timer}'; DELETE FROM executions WHERE workflow_id = '${timer}';`,
    complaint: /timer-.* was acknowledged and is missing/,
  },
  'a workflow is there twice': {
    sql: ({ timer }) =>
      `CREATE TEMP TABLE one AS SELECT * FROM executions WHERE workflow_id = '${timer}';
       UPDATE one SET run_id = randomblob(16); INSERT INTO executions SELECT * FROM one;`,
    complaint: /timer-.*: runs in the file/,
  },
  'a history is another one': {
    sql: ({ timer, activity }) =>
      `UPDATE history SET events = (SELECT events FROM history WHERE first_event_id = 1 AND ${runOf(activity)})
       WHERE first_event_id = 1 AND ${runOf(timer)};`,
    complaint: /timer-.*: event \d+ has changed/,
  },
  'a time of a schedule is forgotten': {
    sql: () => `DELETE FROM ledger WHERE id = (SELECT max(id) FROM ledger WHERE ${scheduleRun('triggered')}) AND ${scheduleRun('triggered')};`,
    complaint: /triggered: row \d+ of its ledger is gone/,
  },
  'a time of a schedule is there twice': {
    sql: () =>
      `CREATE TEMP TABLE one AS SELECT * FROM ledger WHERE ${scheduleRun('backfilled')} ORDER BY id DESC LIMIT 1;
       UPDATE one SET id = id + 1; INSERT INTO ledger SELECT * FROM one;`,
    complaint: /backfilled: .* has 2 rows/,
  },
  'a run of a schedule is there twice': {
    sql: () =>
      `CREATE TEMP TABLE one AS SELECT * FROM executions WHERE workflow_id LIKE 'backfilled-%' LIMIT 1;
       UPDATE one SET run_id = randomblob(16); INSERT INTO executions SELECT * FROM one;`,
    complaint: /backfilled: .* has one run/,
  },
  'all that was committed lately is forgotten': { isOld: true, complaint: /was acknowledged and is missing/ },
};

// Facts that are not so: what the oracle would hold against a server that lost or repeated a part of a workflow.
const CLAIMS = {
  'a signal is missing': [(oracle, { signals }) => oracle.noteSignal(signals, 'never sent'), /signal never sent is missing/],
  'an update has no outcome': [(oracle, { updates }) => oracle.noteUpdate(updates, 'u', 'x'), /update u has 0 outcomes/],
  'a task is missing': [(oracle, { timer, runId }) => oracle.noteTask('task', timer, runId, '77'), /task 77 was acknowledged/],
  'it had another run': [(oracle, { timer }) => (oracle.of(timer).runId = 'other'), /the same request, another run/],
  'it was deleted': [(oracle, { timer }) => (oracle.attemptDelete(timer), oracle.noteDelete(timer)), /deleted, and still there/],
  'its end was another': [(oracle, { timer }) => oracle.noteEnd(timer, 'cancel'), /its end \(cancel\) was acknowledged/],
};

// A short history of a server, with nothing under way at its end.
async function tell(world) {
  const old = `${world.server.dataFile}.old`;
  world.openGate();
  await runSql(world.server.dataFile, `VACUUM INTO '${old}';`);
  for (const story of Object.values(STORIES)) await story(world);
  await pauseAutomatic(world);
  await untilFinished(world);
  await world.oracle.check(world, true);
  world.shut(); // the worker rests
  await world.server.stop();
  copyFileSync(world.server.dataFile, `${world.server.dataFile}.new`);
}

async function relaunch(world, version, sql) {
  const { server } = world;
  await server.kill();
  for (const suffix of ['', '-wal', '-shm']) rmSync(server.dataFile + suffix, { force: true });
  copyFileSync(`${server.dataFile}.${version}`, server.dataFile);
  if (sql) await runSql(server.dataFile, sql);
  await server.launchSilently();
  await world.connection.close();
  await world.connect();
  world.counts = undefined;
}

describe('the oracle', { timeout: 300_000 }, () => {
  test('sees what is missing, doubled or changed', async (t) => {
    await inWorld(async (world) => {
      await tell(world);
      const idOf = (type) => [...world.oracle.workflows.keys()].find((id) => id.startsWith(`${type}-`));
      const ids = Object.fromEntries(['timer', 'activity', 'signals', 'updates'].map((type) => [type, idOf(type)]));
      ids.runId = world.oracle.of(ids.timer).runId;
      const { rows } = world.oracle;
      for (const [name, { sql, isOld, complaint }] of Object.entries(DAMAGES))
        await t.test(name, async () => {
          world.oracle.rows = structuredClone(rows);
          await relaunch(world, isOld ? 'old' : 'new', sql?.(ids));
          await assert.rejects(world.oracle.check(world, true), complaint);
        });
      for (const [name, [claim, complaint]] of Object.entries(CLAIMS))
        await t.test(name, async () => {
          const facts = structuredClone(world.oracle.of(ids.timer));
          await relaunch(world, 'new');
          claim(world.oracle, ids);
          await assert.rejects(world.oracle.check(world, true), complaint);
          world.oracle.workflows.set(ids.timer, facts);
          world.oracle.of(ids.signals).signals.delete('never sent');
          world.oracle.of(ids.updates).updates.delete('u');
        });
      world.oracle.rows = rows;
      await relaunch(world, 'new');
      await world.oracle.check(world, true);
    });
  });
});
