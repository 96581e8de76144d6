// A worker without an SDK: it polls, decides by the type of the workflow and its history, and answers.
// What the server acknowledged of its answers is noted with the oracle. An answer that got lost is not sent again:
// the server hands the task out once more.

import { payloads, seconds, temporal } from './client.mjs';

const { EventType, CommandType } = temporal.api.enums.v1;
const update = temporal.api.update.v1;
const TYPE_URL = 'type.googleapis.com/temporal.api.update.v1.';

const typed = (events, name) => events.filter((event) => event.eventType === EventType[`EVENT_TYPE_${name}`]);
const has = (events, name) => typed(events, name).length > 0;
const command = (name, field, attributes) => ({
  commandType: CommandType[`COMMAND_TYPE_${name}`],
  [`${field}CommandAttributes`]: attributes,
});
const complete = (result) => command('COMPLETE_WORKFLOW_EXECUTION', 'completeWorkflowExecution', { result: payloads(result) });

const signalled = (events) =>
  typed(events, 'WORKFLOW_EXECUTION_SIGNALED').map((event) => event.workflowExecutionSignaledEventAttributes.signalName);
const untilFinished = (events) => (signalled(events).includes('finish') ? [complete('finished')] : []);

// Each returns the commands that follow from the history so far.
const WORKFLOWS = {
  quick: () => [complete('quick')],
  signals: untilFinished,
  reset: untilFinished,
  updates: () => [],
  deleted: () => [],
  activity(events, { queue }) {
    if (has(events, 'ACTIVITY_TASK_COMPLETED')) return [complete('done')];
    if (has(events, 'ACTIVITY_TASK_SCHEDULED')) return [];
    const attributes = {
      activityId: 'work',
      activityType: { name: 'echo' },
      taskQueue: { name: queue },
      startToCloseTimeout: seconds(3),
      retryPolicy: { initialInterval: seconds(0.1), backoffCoefficient: 1 },
    };
    return [command('SCHEDULE_ACTIVITY_TASK', 'scheduleActivityTask', attributes)];
  },
  timer(events) {
    if (has(events, 'TIMER_FIRED')) return [complete('fired')];
    if (has(events, 'TIMER_STARTED')) return [];
    return [command('START_TIMER', 'startTimer', { timerId: 'soon', startToFireTimeout: seconds(0.2) })];
  },
  parent(events, { workflowId, queue }) {
    if (has(events, 'CHILD_WORKFLOW_EXECUTION_COMPLETED')) return [complete('grown up')];
    if (has(events, 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')) return [];
    const attributes = { workflowId: `${workflowId}-child`, workflowType: { name: 'quick' }, taskQueue: { name: queue } };
    return [command('START_CHILD_WORKFLOW_EXECUTION', 'startChildWorkflowExecution', attributes)];
  },
  attributes(events, { workflowId, attribute }) {
    if (has(events, 'WORKFLOW_EXECUTION_CANCEL_REQUESTED'))
      return [command('CANCEL_WORKFLOW_EXECUTION', 'cancelWorkflowExecution', {})];
    if (has(events, 'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES')) return [];
    const indexedFields = { [attribute]: payloads(workflowId).payloads[0] };
    return [command('UPSERT_WORKFLOW_SEARCH_ATTRIBUTES', 'upsertWorkflowSearchAttributes', { searchAttributes: { indexedFields } })];
  },
};

const any = (name, message) => ({ type_url: TYPE_URL + name, value: update[name].encode(message).finish() });

// Accepts and completes an update; the outcome is its argument.
function answerUpdate(message) {
  const request = update.Request.decode(message.body.value);
  const { updateId } = request.meta;
  const messages = [
    any('Acceptance', {
      acceptedRequestMessageId: message.id,
      acceptedRequestSequencingEventId: message.eventId,
      acceptedRequest: request,
    }),
    any('Response', { meta: request.meta, outcome: { success: request.input.args } }),
  ].map((body, at) => ({ id: `${updateId}/${at}`, protocolInstanceId: updateId, body }));
  const commands = messages.map(({ id }) => command('PROTOCOL_MESSAGE', 'protocolMessage', { messageId: id }));
  return { messages, commands };
}

export class RawWorker {
  // `call(fn)` waits until the server is up and gives fn the service; it throws what the call threw.
  constructor(call, queue, oracle, attribute) {
    Object.assign(this, { call, queue, oracle, attribute, isOn: true });
  }

  run(pollers) {
    const lanes = Array.from({ length: pollers }, () => [this.decideAll(), this.workAll()]).flat();
    this.done = Promise.all(lanes);
  }

  async stop() {
    this.isOn = false;
    await this.done;
  }

  poll(method) {
    const request = { namespace: 'default', taskQueue: { name: this.queue }, identity: 'raw worker' };
    return this.call((service) => service[method](request));
  }

  async decideAll() {
    while (this.isOn) {
      try {
        const task = await this.poll('pollWorkflowTaskQueue');
        if (task.taskToken.length) await this.decide(task);
      } catch (error) {
        this.check(error);
      }
    }
  }

  // What a dying server causes, or that it has forgotten the task.
  check(error) {
    if (!this.isOn) return;
    if (error.code === undefined) throw error;
    if (error.code === 3) throw error; // INVALID_ARGUMENT is a mistake of this worker
  }

  async decide(task) {
    const { workflowId, runId } = task.workflowExecution;
    const { events } = task.history;
    const commands = WORKFLOWS[task.workflowType.name](events, { ...this, workflowId });
    const updates = task.messages.map(answerUpdate);
    const request = {
      namespace: 'default',
      taskToken: task.taskToken,
      identity: 'raw worker',
      commands: [...updates.flatMap((u) => u.commands), ...commands],
      messages: updates.flatMap((u) => u.messages),
    };
    await this.call((service) => service.respondWorkflowTaskCompleted(request));
    // A task without any effect may leave no trace.
    if (request.commands.length) this.note(workflowId, runId, String(task.startedEventId), commands);
  }

  note(workflowId, runId, startedEventId, commands) {
    this.oracle.noteTask('task', workflowId, runId, startedEventId);
    for (const c of commands) {
      if (c.startTimerCommandAttributes) this.oracle.noteTask('timer', workflowId, runId, c.startTimerCommandAttributes.timerId);
      if (c.startChildWorkflowExecutionCommandAttributes)
        this.oracle.noteTask('child', workflowId, runId, c.startChildWorkflowExecutionCommandAttributes.workflowId);
      if (c.upsertWorkflowSearchAttributesCommandAttributes) this.oracle.noteAttribute(workflowId, this.attribute, workflowId);
      if (c.cancelWorkflowExecutionCommandAttributes) this.oracle.noteEnd(workflowId, 'cancel');
      if (c.completeWorkflowExecutionCommandAttributes) this.oracle.noteEnd(workflowId, 'complete');
    }
  }

  async workAll() {
    while (this.isOn) {
      try {
        const task = await this.poll('pollActivityTaskQueue');
        if (!task.taskToken.length) continue;
        const { workflowId, runId } = task.workflowExecution;
        const result = `${runId}/${task.attempt}`;
        const request = { namespace: 'default', taskToken: task.taskToken, identity: 'raw worker', result: payloads(result) };
        await this.call((service) => service.respondActivityTaskCompleted(request));
        this.oracle.noteTask('activity', workflowId, runId, JSON.stringify(result));
      } catch (error) {
        this.check(error);
      }
    }
  }
}
