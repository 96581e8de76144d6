// Every run that a test starts is noted as its start passes through the client's connection. At
// the end of a test file each noted history is fetched, checked for form, and replayed by the
// SDK, which runs the workflow's code against it and reports any event that does not fit.

import assert from 'node:assert/strict';
import { InterceptingCall } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { workflowBundle } from './bundle.mjs';
import { installQuietRuntime } from './log.mjs';

const { EventType } = proto.temporal.api.enums.v1;
const { StartWorkflowExecutionRequest, StartWorkflowExecutionResponse } = proto.temporal.api.workflowservice.v1;
const START = '/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution';

const PREFIX = 'EVENT_TYPE_';
const CLOSING = new Set([
  'WORKFLOW_EXECUTION_COMPLETED',
  'WORKFLOW_EXECUTION_FAILED',
  'WORKFLOW_EXECUTION_TIMED_OUT',
  'WORKFLOW_EXECUTION_CANCELED',
  'WORKFLOW_EXECUTION_TERMINATED',
  'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
]);
const ACTIVITY_CLOSING = new Set([
  'ACTIVITY_TASK_COMPLETED',
  'ACTIVITY_TASK_FAILED',
  'ACTIVITY_TASK_TIMED_OUT',
  'ACTIVITY_TASK_CANCELED',
]);
const MESSAGES = new Set(['WORKFLOW_EXECUTION_UPDATE_ACCEPTED', 'WORKFLOW_EXECUTION_UPDATE_COMPLETED']);
const TIMER_CLOSING = new Set(['TIMER_FIRED', 'TIMER_CANCELED']);
const TASK_CLOSING = new Set(['WORKFLOW_TASK_COMPLETED', 'WORKFLOW_TASK_FAILED', 'WORKFLOW_TASK_TIMED_OUT']);

export class Runs {
  constructor() {
    this.noted = new Map();
  }

  note(workflowId, runId) {
    this.noted.set(runId, workflowId);
  }

  // A gRPC interceptor for Connection.connect(): notes each start that was acknowledged.
  interceptor() {
    return (options, nextCall) => {
      const call = nextCall(options);
      if (options.method_definition.path !== START) return new InterceptingCall(call);
      let workflowId;
      return new InterceptingCall(call, {
        start: (metadata, listener, next) => {
          next(metadata, {
            onReceiveMessage: (message, deliver) => {
              if (message) this.note(workflowId, StartWorkflowExecutionResponse.decode(message).runId);
              deliver(message);
            },
          });
        },
        sendMessage: (message, next) => {
          workflowId = StartWorkflowExecutionRequest.decode(message).workflowId;
          next(message);
        },
      });
    };
  }

  async *histories(client) {
    for (const [runId, workflowId] of this.noted) {
      const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      checkForm(workflowId, history.events);
      yield { workflowId, history };
    }
  }

  // Resolves to the number of histories that were replayed; throws if any did not fit its workflow.
  async replay(client) {
    installQuietRuntime();
    const failures = [];
    let count = 0;
    for await (const { workflowId, runId, error } of Worker.runReplayHistories(
      { workflowBundle: await workflowBundle() },
      this.histories(client)
    )) {
      count++;
      if (error) failures.push(`${workflowId} ${runId}: ${error.message}`);
    }
    assert.deepEqual(failures, []);
    assert.equal(count, this.noted.size);
    return count;
  }
}

export function eventName(event) {
  return EventType[event.eventType].slice(PREFIX.length);
}

export async function eventNames(handle) {
  const { events } = await handle.fetchHistory();
  return events.map(eventName);
}

export async function eventsNamed(handle, name) {
  const { events } = await handle.fetchHistory();
  return events.filter((event) => eventName(event) === name);
}

function attributes(event) {
  return event[event.attributes] ?? {};
}

// What holds for every history, whatever its workflow does.
export function checkForm(workflowId, events) {
  const at = (event) => `${workflowId} event ${event.eventId} ${eventName(event)}`;
  const byId = new Map();
  const closed = new Set();

  function closes(event, key) {
    assert.ok(!closed.has(key), `${at(event)}: ${key} was closed before`);
    closed.add(key);
  }
  function refersTo(event, id, name) {
    const target = byId.get(Number(id));
    assert.ok(target && eventName(target) === name, `${at(event)}: event ${id} is not ${name}`);
  }

  assert.equal(eventName(events[0]), 'WORKFLOW_EXECUTION_STARTED', workflowId);
  for (const [index, event] of events.entries()) {
    const name = eventName(event);
    const attrs = attributes(event);
    assert.equal(Number(event.eventId), index + 1, `${at(event)}: ids must be contiguous`);
    assert.ok(Number(event.eventTime.seconds) > 0, `${at(event)}: no time`);
    if (index) {
      const before = Number(events[index - 1].taskId);
      assert.ok(Number(event.taskId) > before, `${at(event)}: task id ${event.taskId} after ${before}`);
    }
    byId.set(index + 1, event);

    if (CLOSING.has(name)) assert.equal(index, events.length - 1, `${at(event)}: must be last`);
    if (name === 'WORKFLOW_TASK_STARTED') {
      refersTo(event, attrs.scheduledEventId, 'WORKFLOW_TASK_SCHEDULED');
      closes(event, `workflow task ${attrs.scheduledEventId} started`);
    }
    if (TASK_CLOSING.has(name)) {
      refersTo(event, attrs.scheduledEventId, 'WORKFLOW_TASK_SCHEDULED');
      closes(event, `workflow task ${attrs.scheduledEventId}`);
    }
    if (name === 'ACTIVITY_TASK_STARTED') {
      refersTo(event, attrs.scheduledEventId, 'ACTIVITY_TASK_SCHEDULED');
    }
    if (ACTIVITY_CLOSING.has(name)) {
      refersTo(event, attrs.scheduledEventId, 'ACTIVITY_TASK_SCHEDULED');
      if (Number(attrs.startedEventId)) refersTo(event, attrs.startedEventId, 'ACTIVITY_TASK_STARTED');
      closes(event, `activity ${attrs.scheduledEventId}`);
    }
    if (TIMER_CLOSING.has(name)) {
      refersTo(event, attrs.startedEventId, 'TIMER_STARTED');
      closes(event, `timer ${attrs.startedEventId}`);
    }
    if (attrs.workflowTaskCompletedEventId && Number(attrs.workflowTaskCompletedEventId)) {
      refersTo(event, attrs.workflowTaskCompletedEventId, 'WORKFLOW_TASK_COMPLETED');
      // SDKs predict the id of the event that each command makes: nothing else may stand among them.
      const before = events[index - 1];
      const asked = Number(attributes(before).workflowTaskCompletedEventId);
      assert.ok(
        Number(before.eventId) === Number(attrs.workflowTaskCompletedEventId) ||
          asked === Number(attrs.workflowTaskCompletedEventId) ||
          MESSAGES.has(eventName(before)),
        `${at(event)}: stands behind ${eventName(before)}`
      );
    }
  }
}
