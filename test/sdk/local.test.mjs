// The SDK's own test environment with our binary as its dev server.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { greet } from './lib/activities.mjs';
import { workflowBundle } from './lib/bundle.mjs';
import { Runs } from './lib/history.mjs';
import { installQuietRuntime } from './lib/log.mjs';
import { BINARY, freePort } from './lib/server.mjs';

async function withLocal(server, body) {
  installQuietRuntime();
  const executable = { type: 'existing-path', path: BINARY };
  const environment = await TestWorkflowEnvironment.createLocal({ server: { executable, ...server } });
  try {
    return await body(environment);
  } finally {
    await environment.teardown();
  }
}

async function helloIn(environment, workflowId) {
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    namespace: environment.namespace,
    taskQueue: 'local',
    workflowBundle: await workflowBundle(),
    activities: { greet },
  });
  await worker.runUntil(async () => {
    const handle = await environment.client.workflow.start('hello', { taskQueue: 'local', workflowId, args: ['Ada'] });
    assert.equal(await handle.result(), 'Hello, Ada!');
    const runs = new Runs();
    runs.note(workflowId, handle.firstExecutionRunId);
    await runs.replay(environment.client);
  });
}

describe('createLocal', { timeout: 120_000 }, () => {
  test('runs a workflow', async () => {
    await withLocal({}, (environment) => helloIn(environment, 'plain'));
  });

  test('in a namespace of its own', async () => {
    await withLocal({ namespace: 'mine' }, async (environment) => {
      assert.equal(environment.namespace, 'mine');
      await helloIn(environment, 'named');
    });
  });

  test('in a file that outlives it', async () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'rondo-local-'));
    const dbFilename = path.join(directory, 'local.db');
    await withLocal({ dbFilename }, (environment) => helloIn(environment, 'kept'));
    await withLocal({ dbFilename }, async (environment) => {
      assert.equal(await environment.client.workflow.getHandle('kept').result(), 'Hello, Ada!');
    });
    rmSync(directory, { recursive: true });
  });

  test('with the page', async () => {
    const uiPort = await freePort();
    await withLocal({ uiPort }, async () => {
      const response = await fetch(`http://127.0.0.1:${uiPort}/healthz`);
      assert.equal(response.status, 200);
    });
  });

  test('with its other options', async () => {
    const port = await freePort();
    const extraArgs = ['--search-attribute', 'Customer=Keyword'];
    const options = { port, ip: '127.0.0.1', log: { format: 'json', level: 'error' }, extraArgs };
    await withLocal(options, async (environment) => {
      assert.equal(environment.address, `127.0.0.1:${port}`);
      await helloIn(environment, 'options');
    });
  });
});
