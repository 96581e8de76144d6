// A worker by hand: one poll, one answer.

import { NAMESPACE, temporal, uniqueId } from './client.mjs';

export const { CommandType } = temporal.api.enums.v1;

export const pollRequest = (queue, fields = {}) => ({
  namespace: NAMESPACE,
  taskQueue: { name: queue },
  identity: 'test/process',
  ...fields,
});

// The next workflow task of the queue.
export const takeTask = (service, queue, fields) => service.pollWorkflowTaskQueue(pollRequest(queue, fields));

export const completeTask = (service, task, commands = [], fields = {}) =>
  service.respondWorkflowTaskCompleted({
    namespace: NAMESPACE,
    taskToken: task.taskToken,
    identity: 'test/process',
    commands,
    ...fields,
  });

export const scheduleActivity = (queue, fields = {}) => ({
  commandType: CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
  scheduleActivityTaskCommandAttributes: {
    activityId: uniqueId('activity'),
    activityType: { name: 'act' },
    taskQueue: { name: queue },
    scheduleToCloseTimeout: { seconds: 600 },
    startToCloseTimeout: { seconds: 600 },
    ...fields,
  },
});

export const completeWorkflow = {
  commandType: CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
  completeWorkflowExecutionCommandAttributes: {},
};

export const startTimer = (fields = {}) => ({
  commandType: CommandType.COMMAND_TYPE_START_TIMER,
  startTimerCommandAttributes: { timerId: uniqueId('timer'), startToFireTimeout: { seconds: 3600 }, ...fields },
});
