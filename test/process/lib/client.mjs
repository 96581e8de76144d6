// Calls over gRPC without a worker or a retry: what the SDK's connection sends, one call at a time.

import { createRequire } from 'node:module';

const require = createRequire(new URL('../../sdk/package.json', import.meta.url));
const { Connection } = require('@temporalio/client');
const { defaultPayloadConverter } = require('@temporalio/common');
export const { temporal } = require('@temporalio/proto');

export const NAMESPACE = 'default';

// A connection that the caller closes, and that is not shared. Calls are not retried, so that refusals are seen.
export const openConnection = (server) =>
  Connection.connect({
    address: server.address,
    interceptors: [],
    channelArgs: { 'grpc.use_local_subchannel_pool': 1 },
  });

// The service of one connection; withClient closes it.
export async function withClient(server, fn) {
  const connection = await openConnection(server);
  try {
    return await fn(connection.workflowService, connection);
  } finally {
    await connection.close();
  }
}

export const seconds = (n) => ({ seconds: Math.trunc(n), nanos: Math.round((n % 1) * 1e9) });
export const payloads = (...values) => ({ payloads: values.map((value) => defaultPayloadConverter.toPayload(value)) });

let count = 0;
export const uniqueId = (prefix = 'id') => `${prefix}-${process.pid}-${count++}`;

// The request that starts a workflow of which nothing is asked but to exist.
export function startRequest(fields = {}) {
  return {
    namespace: NAMESPACE,
    workflowId: uniqueId('workflow'),
    workflowType: { name: 'wait' },
    taskQueue: { name: 'quiet' },
    requestId: uniqueId('request'),
    identity: 'test/process',
    ...fields,
  };
}

// The request that creates a schedule which starts a workflow every so many seconds.
export function scheduleRequest(scheduleId, everySeconds, { policies, action, spec } = {}) {
  return {
    namespace: NAMESPACE,
    scheduleId,
    requestId: uniqueId('request'),
    identity: 'test/process',
    schedule: {
      spec: spec ?? { interval: [{ interval: seconds(everySeconds) }] },
      policies,
      action: {
        startWorkflow: {
          workflowId: scheduleId,
          workflowType: { name: 'wait' },
          taskQueue: { name: 'quiet' },
          ...action,
        },
      },
    },
  };
}
