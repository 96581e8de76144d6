// The activities that the tests run, and what the tests can see of them: how often and when each
// one ran, by workflow id.

import {
  ApplicationFailure,
  CancelledFailure,
  CompleteAsyncError,
  Context,
  activityInfo,
  heartbeat,
  sleep,
} from '@temporalio/activity';
import { Doorbell } from './doorbell.mjs';

export const attempts = new Map(); // workflow id -> [{ attempt, at, runId }]
export const running = new Doorbell(); // rings with the workflow id when an attempt starts
export const tokens = new Doorbell(); // rings with the workflow id and the task token of one that ends elsewhere
export const ended = new Doorbell(); // rings with the workflow id when a cancellable one ends, and how

export const released = new Doorbell(); // to be rung with the workflow id and a result, for untilReleased

const STALL_MS = 30_000; // longer than any timeout that is to end it

function noteAttempt() {
  const { attempt, workflowExecution } = activityInfo();
  const { workflowId, runId } = workflowExecution;
  if (!attempts.has(workflowId)) attempts.set(workflowId, []);
  attempts.get(workflowId).push({ attempt, at: Date.now(), runId });
  running.ring(workflowId);
  return { attempt, workflowId };
}

export async function greet(name) {
  noteAttempt();
  return `Hello, ${name}!`;
}

export async function untilReleased() {
  const { workflowId } = noteAttempt();
  return await released.wait(workflowId);
}

export async function echo(data) {
  return data;
}

export async function count() {
  noteAttempt();
  return 1;
}

// Fails until attempt `passing`; `failure` as for ApplicationFailure.create.
export async function flaky(passing, failure = {}) {
  const { attempt } = noteAttempt();
  if (attempt < passing) throw ApplicationFailure.create({ message: `attempt ${attempt}`, ...failure });
  return attempt;
}

// Leaves a heartbeat and fails; the next attempt resolves to what it finds of it.
export async function failsAfterHeartbeat(details) {
  const { attempt } = noteAttempt();
  if (attempt > 1) return activityInfo().heartbeatDetails;
  heartbeat(details);
  throw new Error('after the heartbeat');
}

// Leaves a heartbeat and stalls; an attempt that finds one of an attempt before it resolves to that.
export async function stallsAfterHeartbeat(details) {
  noteAttempt();
  const { heartbeatDetails } = activityInfo();
  if (heartbeatDetails !== undefined) return heartbeatDetails;
  heartbeat(details);
  await stall(STALL_MS);
}

export async function heartbeatsFor(ms) {
  const { attempt } = noteAttempt();
  for (const end = Date.now() + ms; Date.now() < end;) {
    heartbeat(Date.now());
    await sleep(50);
  }
  return attempt;
}

// Waits without a heartbeat, in the first `stalling` attempts.
export async function stalls(ms, stalling = Infinity) {
  const { attempt } = noteAttempt();
  if (attempt <= stalling) await stall(ms);
  return attempt;
}

// A wait that cancellation ends early, without an error.
async function stall(ms) {
  await Promise.race([sleep(ms), Context.current().cancelled]).catch((error) => {
    if (!(error instanceof CancelledFailure)) throw error;
  });
}

// Heartbeats until it is cancelled; then throws that, or resolves to `instead`.
export async function untilCancelled(instead) {
  const { workflowId } = noteAttempt();
  try {
    for (;;) {
      heartbeat('waiting');
      await sleep(50);
    }
  } catch (error) {
    ended.ring(workflowId, error.message);
    if (instead !== undefined) return instead;
    throw error;
  }
}

// Leaves its end to whoever has the task token.
export async function endsElsewhere() {
  const { workflowId } = noteAttempt();
  tokens.ring(workflowId, activityInfo().taskToken);
  throw new CompleteAsyncError();
}
