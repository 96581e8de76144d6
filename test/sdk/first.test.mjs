// The README's first workflow, as a newcomer runs it: worker.mjs and client.mjs in first/.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from '@temporalio/worker';
import { Runs, checkForm } from './lib/history.mjs';
import { installQuietRuntime } from './lib/log.mjs';
import { Server } from './lib/server.mjs';
import { connect } from './lib/worker.mjs';

test('a first workflow', { timeout: 180_000 }, async (t) => {
  const server = await Server.start();
  const cwd = fileURLToPath(new URL('first/', import.meta.url));
  const env = { ...process.env, TEMPORAL_ADDRESS: server.address };
  const worker = spawn(process.execPath, ['worker.mjs'], { cwd, env, stdio: 'ignore' });
  t.after(() => worker.kill('SIGKILL'));
  const client = await promisify(execFile)(process.execPath, ['client.mjs'], { cwd, env });
  assert.equal(client.stdout, 'Hello, world!\n');

  const viewer = await connect(server, new Runs());
  const history = await viewer.workflow.getHandle('first').fetchHistory();
  await viewer.connection.close();
  checkForm('first', history.events);
  installQuietRuntime();
  await Worker.runReplayHistory({ workflowsPath: `${cwd}workflows.ts` }, history, 'first');

  worker.kill('SIGTERM');
  const [code] = await once(worker, 'exit');
  assert.equal(code, 0);
  await server.close();
});
