// What the server has acknowledged, and what must therefore be found, once, whatever happened to it since.
//
// Clients and workers note a fact when the answer is there, and an attempt before they ask. check() looks at the
// server and at its file, and throws at the first thing that is missing, there twice, or changed. A workflow id is
// used for one workflow only.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { temporal } from './client.mjs';

const { HistoryEvent } = temporal.api.history.v1;
const { EventType } = temporal.api.enums.v1;
const STARTED = 2; // the fate of a time in a ledger
const LEDGER_ROWS = 900; // of the last ones none may go; 1000 are kept

const digest = (event) => createHash('sha1').update(HistoryEvent.encode(event).finish()).digest('base64');
const typed = (events, name) => events.filter((event) => event.eventType === EventType[`EVENT_TYPE_${name}`]);
const textOf = (payloads) => Buffer.from(payloads.payloads[0].data).toString();

export class Oracle {
  constructor() {
    this.workflows = new Map(); // by id
    this.touched = new Set(); // ids of those that are not checked since
    this.times = new Map(); // schedule id -> nominal second -> whether it is acknowledged
    this.rows = new Map(); // schedule id -> ledger id -> row, as last seen
    this.acknowledged = {};
    this.checked = {};
  }

  // Facts. Each `attempt` may or may not have happened; each `note` has.

  of(workflowId) {
    let w = this.workflows.get(workflowId);
    if (!w) {
      w = { workflowId, runIds: new Set(), signals: new Map(), updates: new Map(), tasks: new Map(), seen: new Map() };
      this.workflows.set(workflowId, w);
    }
    this.touched.add(workflowId);
    return w;
  }

  count(kind, counts = this.acknowledged) {
    counts[kind] = (counts[kind] ?? 0) + 1;
  }

  noteStart(request, runId) {
    const w = this.of(request.workflowId);
    w.request = request;
    w.runId = runId;
    w.runIds.add(runId);
    this.count('start');
  }

  attemptSignal(workflowId, value) {
    this.of(workflowId).signals.set(value, false);
  }

  noteSignal(workflowId, value) {
    this.of(workflowId).signals.set(value, true);
    this.count('signal');
  }

  noteUpdate(workflowId, updateId, outcome) {
    this.of(workflowId).updates.set(updateId, outcome);
    this.count('update');
  }

  // A worker's task: of the workflow itself, or an activity. `key` names it within the run.
  noteTask(kind, workflowId, runId, key) {
    const w = this.of(workflowId);
    w.tasks.set(`${kind} ${runId} ${key}`, { kind, runId, key });
    this.count(kind);
  }

  noteReset(workflowId, runId) {
    const w = this.of(workflowId);
    w.runIds.add(runId);
    w.isReset = true;
    this.count('reset');
  }

  // The workflow has ended by this: 'terminate', 'cancel', 'complete'.
  noteEnd(workflowId, kind) {
    this.of(workflowId).end = kind;
    this.count(kind);
  }

  noteAttribute(workflowId, name, value) {
    this.of(workflowId).attribute = { name, value };
    this.count('attribute');
  }

  attemptDelete(workflowId) {
    this.of(workflowId).maybeGone = true;
  }

  noteDelete(workflowId) {
    this.of(workflowId).isGone = true;
    this.count('delete');
  }

  attemptTimes(scheduleId, seconds) {
    const times = this.times.get(scheduleId) ?? new Map();
    this.times.set(scheduleId, times);
    for (const second of seconds) if (!times.has(second)) times.set(second, false);
  }

  noteTimes(kind, scheduleId, seconds) {
    for (const second of seconds) this.times.get(scheduleId).set(second, true);
    this.count(kind);
  }

  // What was read of a run, before a kill or after one: later it may only be longer.
  noteHistory(workflowId, runId, events) {
    const w = this.of(workflowId);
    const before = w.seen.get(runId) ?? [];
    const now = events.map(digest);
    events.forEach((event, at) => assert.equal(Number(event.eventId), at + 1, `${workflowId}: its history has a gap`));
    assert.ok(now.length >= before.length, `${workflowId}: ${before.length} events were shown, now ${now.length}`);
    before.forEach((was, at) => assert.equal(now[at], was, `${workflowId}: event ${at + 1} has changed`));
    w.seen.set(runId, now);
    this.count('history', this.checked);
  }

  // Checks. `world` asks the server: history(workflowId, runId), start(request), describe(workflowId), rows(sql).

  // A signal that came while a worker had the task is kept beside the history until the task ends.
  checkSignals(w, events, isFinal) {
    const found = typed(events, 'WORKFLOW_EXECUTION_SIGNALED').map((event) =>
      textOf(event.workflowExecutionSignaledEventAttributes.input),
    );
    const ends = ['COMPLETED', 'FAILED', 'TIMED_OUT'].flatMap((name) => typed(events, `WORKFLOW_TASK_${name}`));
    const isBusy = typed(events, 'WORKFLOW_TASK_STARTED').length > ends.length;
    for (const [value, isAcknowledged] of w.signals) {
      const times = found.filter((text) => text === JSON.stringify(value)).length;
      assert.ok(times <= 1, `${w.workflowId}: signal ${value} is there ${times} times`);
      if (isAcknowledged && (isFinal || !isBusy)) assert.equal(times, 1, `${w.workflowId}: signal ${value} is missing`);
      this.count('signal', this.checked);
    }
    assert.ok(found.length <= w.signals.size, `${w.workflowId}: signals that were not sent`);
  }

  checkUpdates(w, events) {
    const ended = typed(events, 'WORKFLOW_EXECUTION_UPDATE_COMPLETED').map(
      (event) => event.workflowExecutionUpdateCompletedEventAttributes,
    );
    for (const [updateId, outcome] of w.updates) {
      const found = ended.filter((event) => event.meta.updateId === updateId);
      assert.equal(found.length, 1, `${w.workflowId}: update ${updateId} has ${found.length} outcomes`);
      assert.equal(textOf(found[0].outcome.success), JSON.stringify(outcome), `${w.workflowId}: outcome of ${updateId}`);
      this.count('update', this.checked);
    }
  }

  checkTasks(w, runId, events) {
    const completed = {
      task: typed(events, 'WORKFLOW_TASK_COMPLETED').map((event) =>
        String(event.workflowTaskCompletedEventAttributes.startedEventId),
      ),
      activity: typed(events, 'ACTIVITY_TASK_COMPLETED').map((event) =>
        textOf(event.activityTaskCompletedEventAttributes.result),
      ),
      timer: typed(events, 'TIMER_STARTED').map((event) => event.timerStartedEventAttributes.timerId),
      child: typed(events, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED').map(
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes.workflowId,
      ),
    };
    for (const task of w.tasks.values()) {
      if (task.runId !== runId) continue;
      const times = completed[task.kind].filter((key) => key === task.key).length;
      assert.equal(times, 1, `${w.workflowId}: ${task.kind} ${task.key} was acknowledged and is there ${times} times`);
      this.count(task.kind, this.checked);
    }
    const fired = typed(events, 'TIMER_FIRED').length;
    assert.ok(fired <= completed.timer.length, `${w.workflowId}: ${fired} timers fired of ${completed.timer.length}`);
    const born = typed(events, 'CHILD_WORKFLOW_EXECUTION_STARTED').length;
    assert.ok(born <= completed.child.length, `${w.workflowId}: ${born} children were born of ${completed.child.length}`);
  }

  checkEnd(w, events) {
    const names = { terminate: 'TERMINATED', cancel: 'CANCELED', complete: 'COMPLETED' };
    for (const name of Object.values(names)) {
      const times = typed(events, `WORKFLOW_EXECUTION_${name}`).length;
      assert.ok(times <= 1, `${w.workflowId}: ${name} ${times} times`);
      if (names[w.end] !== name) continue;
      assert.equal(times, 1, `${w.workflowId}: its end (${w.end}) was acknowledged and is not there`);
      this.count(w.end, this.checked);
    }
  }

  async checkRun(world, w, runId, isFinal) {
    const isLast = runId === [...w.runIds].at(-1);
    const events = await world.history(w.workflowId, runId);
    assert.ok(events, `${w.workflowId}: run ${runId} was acknowledged and is missing`);
    this.noteHistory(w.workflowId, runId, events);
    this.checkTasks(w, runId, events);
    if (!isLast) return;
    this.checkSignals(w, events, isFinal);
    this.checkUpdates(w, events);
    this.checkEnd(w, events);
    if (w.isReset) this.count('reset', this.checked);
  }

  async checkWorkflow(world, w, isFinal) {
    if (!w.request) return; // its start is not acknowledged
    if (w.maybeGone) {
      if (w.isGone) {
        assert.equal(await world.history(w.workflowId, w.runId), undefined, `${w.workflowId}: deleted, and still there`);
        this.count('delete', this.checked);
      }
      return;
    }
    for (const runId of w.runIds) await this.checkRun(world, w, runId, isFinal);
    if (!w.isReset) assert.equal(await world.start(w.request), w.runId, `${w.workflowId}: the same request, another run`);
    this.count('start', this.checked);
    if (w.attribute) {
      const { name, value } = w.attribute;
      assert.equal(await world.attribute(w.workflowId, name), value, `${w.workflowId}: its attribute ${name}`);
      this.count('attribute', this.checked);
    }
  }

  // The rows that are there now; old ones may have been removed, but none may change its time.
  checkLedger(world, isFinal) {
    for (const [scheduleId, times] of this.times) {
      const known = this.rows.get(scheduleId) ?? new Map();
      this.rows.set(scheduleId, known);
      const present = world.ledger(scheduleId);
      const ids = new Set(present.map((row) => row.id));
      const newest = Math.max(...known.keys(), ...ids);
      for (const id of known.keys())
        assert.ok(ids.has(id) || id <= newest - LEDGER_ROWS, `${scheduleId}: row ${id} of its ledger is gone`);
      for (const row of present) {
        const before = known.get(row.id);
        if (before) assert.equal(row.nominal_s, before.nominal_s, `${scheduleId}: row ${row.id} has another time`);
        known.set(row.id, row);
      }
      const rows = [...known.values()];
      for (const [second, isAcknowledged] of times) {
        const found = rows.filter((row) => row.nominal_s === second);
        const what = `${scheduleId}: ${new Date(second * 1000).toISOString()}`;
        assert.ok(found.length <= 1, `${what} has ${found.length} rows`);
        if (!isFinal || !isAcknowledged) continue;
        assert.equal(found.length, 1, `${what} was acknowledged and has no row`);
        assert.equal(found[0].fate, STARTED, `${what} was not started`);
        assert.equal(world.runsOf(`${scheduleId}-${timeText(second)}`), 1, `${what} has one run`);
        this.count('time', this.checked);
      }
    }
  }

  // Since the last one; everything at the end, when nothing is under way.
  async check(world, isFinal = false) {
    const ids = isFinal ? [...this.workflows.keys()] : [...this.touched];
    this.touched.clear();
    const lane = async () => {
      for (let id; (id = ids.pop()) !== undefined; ) await this.checkWorkflow(world, this.workflows.get(id), isFinal);
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    if (!isFinal) this.touched.clear(); // checking touches
    this.checkLedger(world, isFinal);
    if (isFinal) this.checkRunCounts(world);
  }

  checkRunCounts(world) {
    const counts = world.runCounts();
    for (const w of this.workflows.values()) {
      if (!w.request || (w.maybeGone && !w.isGone)) continue;
      const wanted = w.isGone ? 0 : w.runIds.size;
      assert.equal(counts.get(w.workflowId) ?? 0, wanted, `${w.workflowId}: runs in the file`);
      this.count('run', this.checked);
      for (const { kind, key } of w.tasks.values())
        if (kind === 'child') assert.equal(counts.get(key), 1, `${key}: runs of a child in the file`);
    }
  }
}

// As the runs of a schedule are called.
export function timeText(second) {
  return new Date(second * 1000).toISOString().replace('.000Z', 'Z');
}
