// Our own service, and the API with our own fields, from proto/ as it stands: what the SDK's client cannot say.

import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTO = fileURLToPath(new URL('../../../proto', import.meta.url));
const INCLUDE = '/usr/include'; // protobuf-c's options and the well-known types

export const definition = loadSync(['rondo.proto', 'workflowservice.proto'], {
  includeDirs: [PROTO, INCLUDE],
  longs: Number,
  enums: String,
  arrays: true,
});
const { rondo, temporal } = loadPackageDefinition(definition);

// Methods that return promises, under their names in lower camel case.
function promised(Service, target) {
  const stub = new Service(target, credentials.createInsecure());
  const methods = Object.entries(Service.service).map(([name, { originalName }]) => [
    originalName,
    promisify(stub[name].bind(stub)),
  ]);
  return { ...Object.fromEntries(methods), close: () => stub.close() };
}

export function connectOwn(server) {
  const target = `127.0.0.1:${server.grpcPort}`;
  const schedules = promised(rondo.api.v1.ScheduleService, target);
  const workflows = promised(temporal.api.workflowservice.v1.WorkflowService, target);
  return {
    schedules,
    workflows,
    close() {
      schedules.close();
      workflows.close();
    },
  };
}
