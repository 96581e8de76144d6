// What the cases of limits share: refusals by their gRPC code, and messages of an exact size.

import assert from 'node:assert/strict';
import { NAMESPACE, startRequest, temporal, uniqueId } from '../lib/client.mjs';

export const INVALID_ARGUMENT = 3;
export const RESOURCE_EXHAUSTED = 8;
export const FAILED_PRECONDITION = 9;

export async function refused(promise, code, text) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.code, code, `${error.code}: ${error.details ?? error.message}`);
    if (text) assert.match(error.details, text);
    return true;
  });
}

// Calls fn(0), fn(1) ... fn(count - 1), one after the other.
export async function times(count, fn) {
  for (let i = 0; i < count; i++) await fn(i);
}

const { Payloads } = temporal.api.common.v1;
export const raw = (bytes) => ({ metadata: { encoding: Buffer.from('binary/plain') }, data: Buffer.alloc(bytes, 120) });

// The fill of a message so that it has exactly so many bytes: wrap(payload) is the message, size(message) its size.
export function fitted(bytes, wrap, size) {
  let data = Math.max(bytes - 64, 0);
  while (size(wrap(raw(data))) < bytes) data++;
  const message = wrap(raw(data));
  assert.equal(size(message), bytes);
  return message;
}
export const payloadsOf = (bytes) =>
  fitted(
    bytes,
    (payload) => ({ payloads: [payload] }),
    (message) => Payloads.encode(message).finish().length,
  );

export async function startOn(service, queue, fields = {}) {
  const workflowId = uniqueId('workflow');
  const { runId } = await service.startWorkflowExecution(startRequest({ workflowId, taskQueue: { name: queue }, ...fields }));
  return { workflowId, runId };
}

export const signal = (service, execution, fields = {}) =>
  service.signalWorkflowExecution({
    namespace: NAMESPACE,
    workflowExecution: execution,
    signalName: 'go',
    requestId: uniqueId('signal'),
    identity: 'test/process',
    ...fields,
  });

export const describeRun = (service, execution) =>
  service.describeWorkflowExecution({ namespace: NAMESPACE, execution });

export async function eventTypes(service, execution) {
  const { history } = await service.getWorkflowExecutionHistory({ namespace: NAMESPACE, execution });
  return history.events.map((event) => temporal.api.enums.v1.EventType[event.eventType].replace('EVENT_TYPE_', ''));
}

export async function isTerminated(service, execution) {
  const { workflowExecutionInfo } = await describeRun(service, execution);
  return workflowExecutionInfo.status === temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED;
}
