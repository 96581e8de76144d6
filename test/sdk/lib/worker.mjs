// Clients and workers of a server under test. A client notes every run that it starts.

import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import * as activities from './activities.mjs';
import { workflowBundle } from './bundle.mjs';
import { gateSinks } from './gate.mjs';
import { installQuietRuntime } from './log.mjs';

const { attempts, running, tokens, ended, released, ...activityFunctions } = activities;

// Redial soon after a server comes back; the defaults are made for the internet.
const channelArgs = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 500 };

// `retries: false` shows errors as the server sent them.
export async function connect(server, runs, { namespace, retries = true } = {}) {
  const interceptors = [runs.interceptor()];
  if (retries) interceptors.unshift(makeGrpcRetryInterceptor(defaultGrpcRetryOptions()));
  const connection = await Connection.connect({ address: server.address, channelArgs, interceptors });
  return new Client({ connection, namespace });
}

export class RunningWorker {
  static async start(server, taskQueue, options = {}) {
    installQuietRuntime();
    const self = new RunningWorker();
    self.connection = await NativeConnection.connect({ address: server.address });
    self.worker = await self.create({
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: activityFunctions,
      sinks: gateSinks,
      shutdownForceTime: '20s',
      // Else heartbeats leave after four fifths of their timeout, which is cutting it fine on a busy machine.
      maxHeartbeatThrottleInterval: '100ms',
      ...options,
    });
    self.finished = self.worker.run();
    self.finished.catch(() => {});
    return self;
  }

  async create(options) {
    try {
      return await Worker.create({ connection: this.connection, ...options });
    } catch (error) {
      await this.connection.close();
      throw error;
    }
  }

  async stop() {
    this.worker.shutdown();
    await this.finished;
    await this.connection.close();
  }
}
