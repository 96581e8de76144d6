// Every method of src/wire/methods.def as a raw call: any request goes out as it is, and answers are not decoded.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(new URL('../../sdk/package.json', import.meta.url));
const { Client, credentials } = require('@grpc/grpc-js');
const { loadSync } = require('@grpc/proto-loader');

const PROTO = fileURLToPath(new URL('../../../proto', import.meta.url));
const INCLUDE = '/usr/include'; // protobuf-c's options and the well-known types

const definition = loadSync(['rondo.proto', 'workflowservice.proto', 'operatorservice.proto', 'health.proto'], {
  includeDirs: [PROTO, INCLUDE],
  longs: Number,
  enums: String,
});

const SERVICES = {
  WORKFLOW: 'temporal.api.workflowservice.v1.WorkflowService',
  OPERATOR: 'temporal.api.operatorservice.v1.OperatorService',
  HEALTH: 'grpc.health.v1.Health',
  SCHEDULE: 'rondo.api.v1.ScheduleService',
  QUEUE: 'rondo.api.v1.TaskQueueService',
};

const ROW = /^RPC\((\w+),\s*(\w+),\s*\w+,\s*(\w+),.*,\s*(\w+)\)/;

// { service, name, kind } of each method that the server answers.
export const methods = readFileSync(new URL('../../../src/wire/methods.def', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const row = ROW.exec(line);
    return row && row[4] !== 'NOT_YET' ? [{ service: row[1], name: row[2], kind: row[3] }] : [];
  });

const definitions = new Map(methods.map((m) => [m.name, definition[SERVICES[m.service]][m.name]]));

export class RawClient {
  constructor(server) {
    this.client = new Client(server.address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  // The status of one call: 0, or the code of the error.
  async call(name, request, { decode = false } = {}) {
    const { path, requestSerialize, responseDeserialize } = definitions.get(name);
    const deserialize = decode ? responseDeserialize : (bytes) => bytes;
    return new Promise((resolve) => {
      this.client.makeUnaryRequest(path, requestSerialize, deserialize, request, (error, response) =>
        resolve({ code: error ? error.code : 0, message: error?.details, response }),
      );
    });
  }

  close() {
    this.client.close();
  }
}
