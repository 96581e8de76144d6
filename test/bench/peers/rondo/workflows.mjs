// The workflows of the comparison, for the TypeScript SDK.

import { condition, defineSignal, proxyActivities, proxySinks, setHandler, sleep, workflowInfo } from '@temporalio/workflow';

const { charge } = proxyActivities({ startToCloseTimeout: '1 minute' });
const { lateness } = proxySinks();
const go = defineSignal('go');

export async function trivial(input) {
  return input;
}

export async function step(input) {
  return charge(input);
}

export async function waiter() {
  let isGone = false;
  setHandler(go, () => void (isGone = true));
  await condition(() => isGone);
}

export async function timer(dueMs) {
  await sleep(dueMs - Date.now());
  lateness.note(dueMs);
}

export async function tick() {
  lateness.note(workflowInfo().searchAttributes.TemporalScheduledStartTime[0].getTime());
}
