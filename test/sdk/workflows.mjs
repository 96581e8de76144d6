// The workflows that the tests run.

import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  getExternalWorkflowHandle,
  isCancellation,
  makeContinueAsNewFunc,
  proxyActivities,
  proxyLocalActivities,
  proxySinks,
  setHandler,
  setWorkflowOptions,
  sleep,
  startChild,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';

const { greet, echo, count } = proxyActivities({ startToCloseTimeout: '30s' });
const { gate } = proxySinks();

const add = defineSignal('add');
const stop = defineSignal('stop');
const seen = defineQuery('seen');
const broken = defineQuery('broken');
const deposit = defineUpdate('deposit');
const hold = defineUpdate('hold');
const close = defineUpdate('close');

export async function hello(name) {
  return await greet(name);
}

// Runs one activity with any options, so that a test says all that matters in one place.
export async function activity(name, options, ...args) {
  return await proxyActivities(options)[name](...args);
}

// The same, in the worker that runs the workflow.
export async function localActivity(name, options, ...args) {
  return await proxyLocalActivities(options)[name](...args);
}

// The same, in a scope that the signal `stop` cancels; resolves to what the workflow then saw.
export async function cancelActivity(name, options, ...args) {
  const scope = new CancellationScope();
  setHandler(stop, () => scope.cancel());
  const cancellationType = ActivityCancellationType[options.cancellationType];
  try {
    const run = proxyActivities({ ...options, cancellationType })[name];
    return { completed: await scope.run(() => run(...args)) };
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return { cancelled: error.name };
  }
}

export async function pause(ms) {
  await sleep(ms);
  return 'slept';
}

// Resolves to the order in which timers of these lengths fired.
export async function timers(lengths) {
  const order = [];
  await Promise.all(lengths.map((ms) => sleep(ms).then(() => order.push(ms))));
  return order;
}

export async function impatient(ms) {
  try {
    await CancellationScope.withTimeout(ms, () => sleep('1 hour'));
    return 'slept';
  } catch (error) {
    if (isCancellation(error)) return 'cancelled';
    throw error;
  }
}

// Resolves to whether `stop` came within the time.
export async function stoppedWithin(ms) {
  let stopped = false;
  setHandler(stop, () => void (stopped = true));
  return await condition(() => stopped, ms);
}

// Collects what `add` brings until `stop`.
export async function collect() {
  const values = [];
  let stopped = false;
  setHandler(add, (value) => void values.push(value));
  setHandler(stop, () => void (stopped = true));
  setHandler(seen, () => values);
  setHandler(broken, () => {
    throw new Error('this query always fails');
  });
  await condition(() => stopped);
  return values;
}

// Like collect, and then once more in another run.
export async function collectTwice(values = [], isSecond = false) {
  let stopped = false;
  setHandler(add, (value) => void values.push(value));
  setHandler(stop, () => void (stopped = true));
  await condition(() => stopped);
  if (!isSecond) await continueAsNew(values, true);
  return values;
}

// Like collect; but before its last task is answered, the worker waits at the gate of the test.
export async function collectBehindGate() {
  const values = [];
  let stopped = false;
  setHandler(add, (value) => void values.push(value));
  setHandler(stop, () => void (stopped = true));
  setHandler(seen, () => values);
  await condition(() => stopped);
  gate.pass();
  return values;
}

// Ends after `expected` signals; a timer and an activity between any two of them.
export async function collectSlowly(expected) {
  const values = [];
  setHandler(add, (value) => void values.push(value));
  for (let done = 0; done < expected; done++) {
    await condition(() => values.length > done);
    await sleep(20);
    await count(workflowInfo().workflowId);
  }
  return values;
}

// An account: deposits must be positive; `hold` takes until the first signal `add`, and an activity
// more; the signal `stop` or the update `close` end it.
export async function account(balance = 0) {
  let isClosed = false;
  let isReleased = false;
  const check = (amount) => {
    if (!(amount > 0)) throw ApplicationFailure.nonRetryable('nothing to deposit', 'BadAmount');
  };
  setHandler(deposit, (amount) => (balance += amount), { validator: check });
  setHandler(hold, async (name) => {
    await condition(() => isReleased);
    return await echo(name);
  });
  setHandler(close, () => {
    isClosed = true;
    return balance;
  });
  setHandler(seen, () => balance);
  setHandler(add, () => void (isReleased = true));
  setHandler(stop, () => void (isClosed = true));
  await condition(() => isClosed);
  return balance;
}

// Its first run waits at the gate of the test and then continues as an account.
export async function movingAccount() {
  gate.pass();
  await makeContinueAsNewFunc({ workflowType: 'account' })(100);
}

// Accepts `hold`, which it never answers, and ends behind the gate.
export async function leavesBehindGate() {
  let isHeld = false;
  setHandler(hold, async () => {
    isHeld = true;
    await condition(() => false);
  });
  setHandler(seen, () => isHeld);
  let stopped = false;
  setHandler(stop, () => void (stopped = true));
  await condition(() => stopped);
  gate.pass();
}

export async function forever() {
  setHandler(seen, () => 'running');
  await condition(() => false);
}

// Cleans up by an activity when it is cancelled.
export async function cleansUp(name) {
  try {
    await sleep('1 hour');
  } catch (error) {
    await CancellationScope.nonCancellable(() => greet(name));
    throw error;
  }
}

// Ends by `stop`, whoever cancels it.
export async function ignoresCancel() {
  let stopped = false;
  setHandler(stop, () => void (stopped = true));
  await CancellationScope.nonCancellable(() => condition(() => stopped));
  return 'not cancelled';
}

export async function fails() {
  throw ApplicationFailure.create({
    message: 'no such order',
    type: 'OrderError',
    details: [42, { reason: 'gone' }],
    nonRetryable: true,
  });
}

// Throws what is not a workflow failure until that moment, so that its tasks fail and are repeated.
export async function failsTasksUntil(ms, napFirst) {
  if (napFirst) await sleep(1);
  if (workflowInfo().unsafe.now() < ms) throw new Error('the task fails, not the workflow');
  return 'recovered';
}

export async function echoes(data) {
  return await echo(data);
}

export async function returnsBytes(length) {
  return 'x'.repeat(length);
}

// Asks for many large things in one task.
export async function shouts(times, length) {
  await Promise.all(Array.from({ length: times }, () => echo('x'.repeat(length))));
}

// Steps of a timer and an activity each, then `add` must have come `expected` times.
export async function journey(steps, expected) {
  const values = [];
  setHandler(add, (value) => void values.push(value));
  let counted = 0;
  for (let step = 0; step < steps; step++) {
    await sleep(100);
    counted += await count(workflowInfo().workflowId);
  }
  await condition(() => values.length >= expected);
  return { counted, values };
}

// Continues as new until n is 0; resolves to how many runs it took.
export async function countdown(n, runs = 1) {
  if (n === 0) return runs;
  await continueAsNew(n - 1, runs + 1);
}

// Fails until the given attempt.
export async function failsUntilAttempt(attempt) {
  if (workflowInfo().attempt < attempt) throw ApplicationFailure.create({ message: 'not yet', type: 'Early' });
  return workflowInfo().attempt;
}

// For cron: what the run before left behind, and one more.
export async function tally() {
  const { lastResult } = workflowInfo();
  return (lastResult ?? 0) + 1;
}

// For schedules: ends when it is told to, and says who it is and whose result it was given.
export async function successor() {
  let stopped = false;
  setHandler(stop, () => void (stopped = true));
  await condition(() => stopped);
  const { workflowId, lastResult } = workflowInfo();
  return { id: workflowId, given: lastResult?.id ?? null };
}

// Starts a child with these options and resolves to what became of it.
export async function parent(type, options) {
  try {
    return { result: await executeChild(type, options) };
  } catch (error) {
    return { error: error.name, cause: error.cause?.name, message: error.cause?.message ?? error.message };
  }
}

// Starts a child and ends, or waits for `stop` first.
export async function abandons(type, options, waits = false) {
  const child = await startChild(type, options);
  let stopped = !waits;
  setHandler(stop, () => void (stopped = true));
  await condition(() => stopped);
  return child.firstExecutionRunId;
}

// Starts a child and cancels it.
export async function cancelsChild(type, options) {
  const scope = new CancellationScope();
  setHandler(stop, () => scope.cancel());
  try {
    return { result: await scope.run(() => executeChild(type, options)) };
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return { cancelled: error.name };
  }
}

export async function signalsOther(workflowId, value) {
  try {
    await getExternalWorkflowHandle(workflowId).signal(add, value);
    return 'delivered';
  } catch (error) {
    return error.name;
  }
}

export async function cancelsOther(workflowId) {
  try {
    await getExternalWorkflowHandle(workflowId).cancel();
    return 'delivered';
  } catch (error) {
    return error.name;
  }
}

// `count` activities at once.
export async function crowd(size) {
  const numbers = Array.from({ length: size }, (_, index) => index);
  return await Promise.all(numbers.map((number) => echo(number)));
}

// Gives an attribute one value after the other, each in a task of its own.
export async function relabels(name, ...values) {
  for (const value of values) {
    upsertSearchAttributes({ [name]: value });
    await sleep(1);
  }
}

export async function same(value) {
  return value;
}

// Worker versions: runs that stay with theirs, runs that move, and one that moves when it is told to.

setWorkflowOptions({ versioningBehavior: 'PINNED' }, stays);
export async function stays(...calls) {
  return await untilStopped(calls);
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, moves);
export async function moves(...calls) {
  return await untilStopped(calls);
}

// Signals are answered one by one; after `stop` each of `calls` runs an activity.
async function untilStopped(calls) {
  const items = [];
  let isStopped = false;
  setHandler(add, (item) => void items.push(item));
  setHandler(stop, () => void (isStopped = true));
  setHandler(seen, () => items);
  await condition(() => isStopped);
  for (const call of calls) items.push(await echo(call));
  return items;
}

setWorkflowOptions({ versioningBehavior: 'PINNED' }, staysWithChild);
export async function staysWithChild() {
  let isStopped = false;
  setHandler(stop, () => void (isStopped = true));
  await condition(() => isStopped);
  return await executeChild('bornOn');
}

setWorkflowOptions({ versioningBehavior: 'PINNED' }, bornOn);
export async function bornOn() {
  await sleep(1);
  return workflowInfo().currentDeploymentVersion?.buildId ?? 'none';
}

// Ends with the build that its last run is on: it continues as new when it hears of another version.
setWorkflowOptions({ versioningBehavior: 'PINNED' }, followsVersions);
export async function followsVersions(initialVersioningBehavior, hops) {
  if (hops > 0) return await bornOn();
  let isStopped = false;
  setHandler(stop, () => void (isStopped = true));
  await condition(() => isStopped);
  const next = makeContinueAsNewFunc({ initialVersioningBehavior });
  while (initialVersioningBehavior === 'AUTO_UPGRADE' && !workflowInfo().targetWorkerDeploymentVersionChanged)
    await sleep(20);
  return await next(initialVersioningBehavior, hops + 1);
}

// The two arguments of a run that a crontab started.
export async function echoTimes(scheduled, started) {
  return [scheduled, started];
}

// For the examples of the command line: an order is paid by an activity that ends elsewhere, or approved; order-8 is
// free. It says how far it is.
export async function order({ count: size }) {
  let isApproved = workflowInfo().workflowId === 'order-8';
  setHandler(defineSignal('approve'), () => void (isApproved = true));
  setHandler(defineQuery('progress'), () => ({ size, isApproved }));
  const scope = new CancellationScope();
  const paid = scope.run(() => proxyActivities({ startToCloseTimeout: '1h' }).endsElsewhere());
  paid.then(() => (isApproved = true), () => undefined);
  await condition(() => isApproved);
  scope.cancel();
  return { size };
}

// And a cart, to which signals and updates add.
export async function cart() {
  const items = [];
  setHandler(defineSignal('add'), (item) => void items.push(item));
  setHandler(defineUpdate('addItem'), (item) => items.push(item));
  await condition(() => false);
}
