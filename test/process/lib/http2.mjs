// One gRPC call on a connection of its own, whose first bytes leave together with the request.

import { connect } from 'node:http2';
import { temporal } from './client.mjs';

function encode(method, request) {
  const body = temporal.api.workflowservice.v1[`${method}Request`].encode(request).finish();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

// The socket may be one that is connected already and has not sent anything. Resolves to the HTTP status when the call has ended with gRPC status 0, and rejects otherwise.
export function callOnNewConnection(server, method, request, socket) {
  const service = 'temporal.api.workflowservice.v1.WorkflowService';
  const options = socket && { createConnection: () => socket };
  const session = connect(`http://${server.address}`, options);
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${service}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let status;
    let trailers;
    stream.on('response', (headers) => {
      status = headers[':status'];
      if (headers['grpc-status'] !== undefined) trailers = headers;
    });
    stream.on('trailers', (headers) => (trailers = headers));
    stream.on('error', reject);
    stream.on('close', () => {
      if (trailers?.['grpc-status'] === '0') resolve(status);
      else reject(new Error(`${method}: ${trailers?.['grpc-message'] ?? 'the connection was closed'}`));
    });
    stream.resume();
    stream.end(encode(method, request));
  }).finally(() => session.close());
}
