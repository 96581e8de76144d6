// Rondo with the TypeScript SDK as client and worker.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { Helper, Program } from '../processes.mjs';

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error: console.error, log() {} };

// Once for all rounds: what a build does before a worker is started.
export async function prepare({ directory }) {
  const workflowsPath = fileURLToPath(new URL('workflows.mjs', import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
  const bundle = `${directory}/workflows.bundle.js`;
  await writeFile(bundle, code);
  return { bundle };
}

export async function start({ directory, server, prepared }) {
  const began = performance.now();
  const data = ['--data', `${directory}/rondo.db`, '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0'];
  const program = new Program(server, ['server', ...data, '--log-level', 'warn']);
  const address = await program.printed(/Server:\s+(\S+)\s/);
  const readyMs = performance.now() - began;
  const worker = new Helper(new URL('worker.mjs', import.meta.url), [address, prepared.bundle]);
  await worker.next();
  return {
    connection: { address },
    readyMs,
    roles: { server: program.pid, worker: worker.pid },
    lateness: worker,
    durability: 'SQLite WAL with synchronous=FULL, answers after the sync (it has no other mode)',
    stop: async () => {
      await worker.stop();
      await program.stop();
    },
  };
}
