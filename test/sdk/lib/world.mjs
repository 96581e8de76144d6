// What a test file works with: one server, one client that notes every run it starts, one worker.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { Runs } from './history.mjs';
import { Server } from './server.mjs';
import { RunningWorker, connect } from './worker.mjs';

export class World {
  constructor() {
    this.runs = new Runs();
    this.taskQueue = 'main';
  }

  // `options` as for Server.start().
  async open(options) {
    this.server = await Server.start(options);
    this.client = await connect(this.server, this.runs);
    this.worker = await RunningWorker.start(this.server, this.taskQueue);
  }

  async close() {
    await this.worker?.stop();
    await this.client?.connection.close();
    await this.server?.close();
  }

  // The raw service, for what the client has no word for.
  get service() {
    return this.client.workflowService;
  }

  options(type, args, options) {
    return { taskQueue: this.taskQueue, workflowId: `${type}-${randomUUID()}`, args, ...options };
  }

  async start(type, args = [], options = {}) {
    return await this.client.workflow.start(type, this.options(type, args, options));
  }

  async execute(type, args = [], options = {}) {
    return await this.client.workflow.execute(type, this.options(type, args, options));
  }

  // Deletes the schedule and ends what it left running, unless that ends by itself first; its runs are noted.
  async endSchedule(handle) {
    await handle.delete().catch(() => undefined);
    for await (const run of this.client.workflow.list({ query: `TemporalScheduledById = "${handle.scheduleId}"` })) {
      const ended = (error) => assert.ok(error instanceof WorkflowNotFoundError, error);
      if (run.status.name === 'RUNNING')
        await this.client.workflow.getHandle(run.workflowId, run.runId).terminate().catch(ended);
      this.runs.note(run.workflowId, run.runId);
    }
  }

  // Runs `body` while a second worker polls `taskQueue`.
  async withWorker(taskQueue, body, options) {
    const worker = await RunningWorker.start(this.server, taskQueue, options);
    try {
      return await body(worker);
    } finally {
      await worker.stop();
    }
  }
}

// For the top of a test file.
export function openWorld() {
  const world = new World();
  before(() => world.open());
  after(() => world.close());
  return world;
}

// For its end.
export function replayAll(world) {
  test('every history written here replays', { timeout: 120_000 }, async () => {
    assert.ok((await world.runs.replay(world.client)) > 0);
  });
}

// Runs `body` in a world of its own and replays what it left behind.
export async function inNewWorld(body) {
  const world = new World();
  await world.open();
  try {
    await body(world);
    await world.runs.replay(world.client);
  } finally {
    await world.close();
  }
}

// Resolves to the error that the promise must end with.
export async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: 'an error was expected' });
}

// Asks until the answer is truthy, and resolves to it.
export async function eventually(ask) {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(20)) {
    const answer = await ask();
    if (answer) return answer;
  }
  throw new assert.AssertionError({ message: `not within 30 s: ${ask}` });
}
