// A worker by hand: single polls and single answers, so that a test decides when each is sent.

import { NAMESPACE, seconds, startRequest, temporal, uniqueId } from './client.mjs';

const { CommandType, EventType } = temporal.api.enums.v1;

const LONG = seconds(3600);

export async function takeWorkflowTask(service, queue) {
  const task = await service.pollWorkflowTaskQueue({
    namespace: NAMESPACE,
    taskQueue: { name: queue },
    identity: 'test/process',
  });
  if (!task.taskToken?.length) throw new Error(`no workflow task came from ${queue}`);
  return task;
}

export function completeWorkflowTask(service, task, commands = []) {
  return service.respondWorkflowTaskCompleted({
    namespace: NAMESPACE,
    taskToken: task.taskToken,
    identity: 'test/process',
    commands,
  });
}

export async function takeActivity(service, queue) {
  const task = await service.pollActivityTaskQueue({
    namespace: NAMESPACE,
    taskQueue: { name: queue },
    identity: 'test/process',
  });
  if (!task.taskToken?.length) throw new Error(`no activity task came from ${queue}`);
  return task;
}

export function completeActivity(service, task, result) {
  return service.respondActivityTaskCompleted({
    namespace: NAMESPACE,
    taskToken: task.taskToken,
    identity: 'test/process',
    result,
  });
}

export function failActivity(service, task) {
  return service.respondActivityTaskFailed({
    namespace: NAMESPACE,
    taskToken: task.taskToken,
    identity: 'test/process',
    failure: { message: 'for the test', applicationFailureInfo: { type: 'Test' } },
  });
}

export function sendHeartbeat(service, task) {
  return service.recordActivityTaskHeartbeat({
    namespace: NAMESPACE,
    taskToken: task.taskToken,
    identity: 'test/process',
  });
}

// The command for one activity. Without a retry policy of its own it is tried once.
export function activityCommand(queue, fields = {}) {
  return {
    commandType: CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
    scheduleActivityTaskCommandAttributes: {
      activityId: 'activity',
      activityType: { name: 'work' },
      taskQueue: { name: queue },
      scheduleToCloseTimeout: LONG,
      retryPolicy: { maximumAttempts: 1 },
      ...fields,
    },
  };
}

export function timerCommand(delaySeconds) {
  return {
    commandType: CommandType.COMMAND_TYPE_START_TIMER,
    startTimerCommandAttributes: { timerId: 'timer', startToFireTimeout: seconds(delaySeconds) },
  };
}

// Starts a workflow on a queue of its own and lets its first task give these commands.
export async function startWithCommands(service, commands, fields = {}) {
  const queue = uniqueId('queue');
  const workflowId = uniqueId('workflow');
  const { runId } = await service.startWorkflowExecution(
    startRequest({ workflowId, taskQueue: { name: queue }, ...fields }),
  );
  const task = await takeWorkflowTask(service, queue);
  await completeWorkflowTask(service, task, commands(queue));
  return { workflowId, runId, queue };
}

// A workflow with one activity that this test has taken and not answered.
export async function startActivity(service, fields) {
  const started = await startWithCommands(service, (queue) => [activityCommand(queue, fields)]);
  return { ...started, task: await takeActivity(service, started.queue) };
}

const nameOf = (type) => EventType[type].replace('EVENT_TYPE_', '');

// Names of the events of the current run of a workflow id, as the server tells them.
export async function askEvents(service, workflowId) {
  const names = [];
  let nextPageToken;
  do {
    const page = await service.getWorkflowExecutionHistory({
      namespace: NAMESPACE,
      execution: { workflowId },
      nextPageToken,
    });
    names.push(...page.history.events.map((event) => nameOf(event.eventType)));
    ({ nextPageToken } = page);
  } while (nextPageToken?.length);
  return names;
}

// The same from the data file, all runs of the workflow id together: a row of history is a packed History message.
export function readEvents(server, workflowId) {
  const rows = server.rows(
    `SELECT hex(h.events) AS events FROM history h JOIN executions e USING (namespace_id, run_id)
      WHERE e.workflow_id = '${workflowId}' ORDER BY h.run_id, h.first_event_id`,
  );
  return rows.flatMap((row) => temporal.api.history.v1.History.decode(Buffer.from(row.events, 'hex')).events);
}

export const readEventNames = (server, workflowId) =>
  readEvents(server, workflowId).map((event) => nameOf(event.eventType));
