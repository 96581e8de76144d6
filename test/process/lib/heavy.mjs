// What makes single calls expensive: a large history, a run with many timers or activities, specs with thousands of
// entries; and for each method the most expensive call that a client can make with them.


import { pick } from './process.mjs';
import { NAMESPACE, payloads, scheduleRequest, seconds, startRequest, uniqueId } from './client.mjs';

const LARGE_BYTES = 1_900_000;
const DAY_MINUTES = 1440;
const TIMERS = pick(20_000, 45_000);
const NEW_TIMERS = 1000;
const ACTIVITIES = 1500;
const WIDE = 1500;
const CLOSED = pick(2000, 20_000);

const one = (start) => [{ start, end: start, step: 1 }];
const all = (start, end) => [{ start, end, step: 1 }];
const largeInput = () => payloads('0123456789abcdef'.repeat(LARGE_BYTES / 16));
const execution = (workflowId) => ({ workflowId });

// An exclusion for each minute of the day but the last, beside a calendar of every minute.
function denseSpec() {
  const excludeStructuredCalendar = Array.from({ length: DAY_MINUTES - 1 }, (_, i) => ({
    second: all(0, 59),
    minute: one(i % 60),
    hour: one(Math.trunc(i / 60)),
    dayOfMonth: all(1, 31),
    month: all(1, 12),
    dayOfWeek: all(0, 6),
  }));
  return { cronString: ['* * * * *'], excludeStructuredCalendar };
}

// Calendars and exclusions of which hardly two differ in one field only.
function wideSpec() {
  const calendar = (i) => ({
    second: one((i * 7) % 60),
    minute: one((i * 13) % 60),
    hour: one((i * 5) % 24),
    dayOfMonth: one(1 + ((i * 11) % 28)),
    month: one(1 + ((i * 3) % 12)),
    dayOfWeek: all(0, i % 7),
  });
  const calendars = Array.from({ length: WIDE }, (_, i) => calendar(i));
  return { structuredCalendar: calendars, excludeStructuredCalendar: calendars.slice(0, WIDE / 2).map((c, i) => ({ ...c, hour: one((i * 5 + 1) % 24) })) };
}

const startTimer = (i) => ({
  commandType: 'COMMAND_TYPE_START_TIMER',
  startTimerCommandAttributes: { timerId: `timer-${i}`, startToFireTimeout: seconds(3600) },
});

const scheduleActivity = (i) => ({
  commandType: 'COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK',
  scheduleActivityTaskCommandAttributes: {
    activityId: `activity-${i}`,
    activityType: { name: 'work' },
    taskQueue: { name: 'nobody' },
    startToCloseTimeout: seconds(3600),
    scheduleToCloseTimeout: seconds(36_000),
  },
});

async function must(promise) {
  const { code, message, response } = await promise;
  if (code) throw new Error(`setup: ${code} ${message}`);
  return response;
}

// Lets the workflow's task end with these commands, as a worker would.
async function completeTask(client, queue, commands) {
  const poll = { namespace: NAMESPACE, taskQueue: { name: queue }, identity: 'heavy' };
  const { taskToken } = await must(client.call('PollWorkflowTaskQueue', poll, { decode: true }));
  await must(client.call('RespondWorkflowTaskCompleted', { namespace: NAMESPACE, identity: 'heavy', taskToken, commands }));
}

async function startBusy(client, workflowId, commands) {
  await must(client.call('StartWorkflowExecution', startRequest({ workflowId, taskQueue: { name: workflowId } })));
  await completeTask(client, workflowId, commands);
}

export async function buildHeavyWorld(client) {
  await must(client.call('StartWorkflowExecution', startRequest({ workflowId: 'large', input: largeInput() })));
  await must(client.call('StartWorkflowExecution', startRequest({ workflowId: 'generic' })));
  await startBusy(client, 'timers', Array.from({ length: TIMERS }, (_, i) => startTimer(i)));
  await startBusy(client, 'activities', Array.from({ length: ACTIVITIES }, (_, i) => scheduleActivity(i)));
  await must(client.call('CreateSchedule', scheduleRequest('dense', 1, { spec: denseSpec() })));
  await must(client.call('CreateSchedule', scheduleRequest('wide', 1, { spec: wideSpec() })));
  await must(client.call('CreateSchedule', scheduleRequest('every-second', 1)));
  await closeRuns(client, CLOSED);
}

// Each start ends the run before it.
export async function closeRuns(client, count) {
  const restart = () => startRequest({ workflowId: 'again', workflowIdReusePolicy: 'WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING' });
  for (let left = count; left > 0; left -= 500)
    await Promise.all(Array.from({ length: Math.min(left, 500) }, () => must(client.call('StartWorkflowExecution', restart()))));
}

// New timers in a run that has many: a signal makes the task.
async function addTimers(client, round) {
  await must(client.call('SignalWorkflowExecution', { namespace: NAMESPACE, workflowExecution: execution('timers'), signalName: 'more', identity: 'heavy' }));
  await completeTask(client, 'timers', Array.from({ length: NEW_TIMERS }, (_, i) => startTimer(`${round}-${i}`)));
}

const HOUR_S = 3600;
const nowSeconds = () => Math.trunc(Date.now() / 1000);
const year = () => ({ startTime: seconds(nowSeconds()), endTime: seconds(nowSeconds() + 366 * 24 * HOUR_S) });
const inSpace = (fields) => ({ namespace: NAMESPACE, identity: 'heavy', ...fields });
const query = `WorkflowType != 'none' AND (${Array.from({ length: 40 }, (_, i) => `WorkflowId != 'w${i}'`).join(' AND ')})`;
const ever = { earliestTime: seconds(0), latestTime: seconds(4_000_000_000) };
const history = { execution: execution('large'), maximumPageSize: 1000 };
const activity = { execution: execution('activities'), type: 'work' };

// How many calls at once, and each request. What is not named here is asked with `generic`.
export const bursts = {
  GetWorkflowExecutionHistory: [pick(150, 900), () => inSpace(history)],
  GetWorkflowExecutionHistoryReverse: [pick(150, 900), () => inSpace(history)],
  ListScheduleMatchingTimes: [pick(10, 20), () => inSpace({ scheduleId: 'dense', ...year() })],
  CreateSchedule: [pick(10, 50), () => scheduleRequest(uniqueId('wide'), 1, { spec: wideSpec() })],
  UpdateSchedule: [10, () => ({ ...scheduleRequest('wide', 1, { spec: wideSpec() }) })],
  PatchSchedule: [20, () => inSpace({ scheduleId: 'every-second', patch: { backfillRequest: [{ startTime: seconds(nowSeconds() - 30 * 24 * HOUR_S), endTime: seconds(nowSeconds()), overlapPolicy: 'SCHEDULE_OVERLAP_POLICY_SKIP' }] }, requestId: uniqueId() })],
  DescribeSchedule: [pick(30, 200), () => inSpace({ scheduleId: 'wide' })],
  ExplainScheduleTime: [50, () => inSpace({ scheduleId: 'wide', time: seconds(nowSeconds()) })],
  TriggerSchedule: [50, () => inSpace({ scheduleId: 'wide', requestId: uniqueId() })],
  ListScheduleLedger: [50, () => inSpace({ scheduleId: 'every-second' })],
  PutHolidayCalendar: [10, () => inSpace({ calendar: { name: 'days', cronStrings: Array.from({ length: 1000 }, (_, i) => `${i % 60} ${i % 24} ${1 + (i % 28)} ${1 + (i % 12)} *`) } })],
  StartWorkflowExecution: [pick(10, 200), () => startRequest({ input: largeInput() })],
  SignalWorkflowExecution: [pick(50, 200), () => inSpace({ workflowExecution: execution('timers'), signalName: 's', requestId: uniqueId() })],
  SignalWithStartWorkflowExecution: [pick(10, 200), () => ({ ...startRequest({ input: largeInput() }), signalName: 's' })],
  DescribeWorkflowExecution: [pick(40, 500), () => inSpace({ execution: execution('activities') })],
  ListWorkflowExecutions: [50, () => inSpace({ pageSize: 1000, query })],
  ScanWorkflowExecutions: [20, () => inSpace({ pageSize: 1000, query })],
  CountWorkflowExecutions: [pick(20, 100), () => inSpace({ query: `${query} GROUP BY ExecutionStatus` })],
  ListOpenWorkflowExecutions: [20, () => inSpace({ maximumPageSize: 1000, startTimeFilter: ever })],
  ListClosedWorkflowExecutions: [20, () => inSpace({ maximumPageSize: 1000, startTimeFilter: ever })],
  PauseActivity: [5, () => inSpace(activity)],
  UnpauseActivity: [5, () => inSpace(activity)],
  ResetActivity: [5, () => inSpace(activity)],
  UpdateActivityOptions: [5, () => inSpace({ ...activity, activityOptions: { startToCloseTimeout: seconds(7200) }, updateMask: { paths: ['start_to_close_timeout'] } })],
  ResetWorkflowExecution: [5, () => inSpace({ workflowExecution: execution('timers'), workflowTaskFinishEventId: 4, requestId: uniqueId(), reason: 'fairness' })],
  StartBatchOperation: [2, () => inSpace({ jobId: uniqueId('job'), visibilityQuery: query, reason: 'fairness', signalOperation: { signal: 'batch', identity: 'heavy' } })],
};

// What each other method is asked with: the fields that it has are taken. The largest text is what it may read.
const longText = 'x'.repeat(100_000);
export const genericCount = pick(5, 300);
export const generic = () => ({
  namespace: NAMESPACE,
  execution: execution('generic'),
  workflowExecution: execution('generic'),
  workflowId: 'generic',
  scheduleId: 'dense',
  taskQueue: { name: 'quiet' },
  requestId: uniqueId(),
  identity: 'heavy',
  reason: longText,
  details: payloads(longText),
  taskToken: Buffer.from(longText),
  query: { queryType: longText },
  pageSize: 1000,
});

// Methods that are not asked in this way, and why.
export const reasons = {
  PollWorkflowTaskQueue: 'is parked, and taken part in by completeTask',
  PollActivityTaskQueue: 'is parked like the poll for workflow tasks',
  RespondWorkflowTaskCompleted: 'has a test of its own: it needs a task for each call',
  Watch: 'is a stream; it sends nothing while nothing changes',
  DeleteNamespace: 'would remove what the other calls need; removal goes by small steps of the same kind as retention',
  DeprecateNamespace: 'would close what the other calls need; it changes one row',
  QueryWorkflow: 'waits for a worker',
  ExecuteMultiOperation: 'is a start and an update, which waits for a worker; the start has a case',
};

export { addTimers };
