// What tests of the data file share: starts that were acknowledged, servers that should refuse to start, a shell
// that holds a lock.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startRequest, withClient } from './client.mjs';
import { BINARY, readRows } from './process.mjs';

const END_MS = 30_000;

// Starts so many workflows; resolves to the run ids, each of which the server has acknowledged.
export async function startMany(server, count, fields = {}) {
  return withClient(server, async (service) => {
    const answers = await Promise.all(Array.from({ length: count }, () => service.startWorkflowExecution(startRequest(fields))));
    return answers.map((answer) => answer.runId);
  });
}

export function runsOf(file) {
  return new Set(readRows(file, 'SELECT lower(hex(run_id)) AS id FROM executions').map((row) => row.id));
}

// Every run that was acknowledged is in the file.
export function assertKept(file, runIds) {
  const kept = runsOf(file);
  const missing = runIds.filter((id) => !kept.has(id.replaceAll('-', '')));
  assert.deepEqual(missing, [], `${missing.length} of ${runIds.length} runs are missing`);
  assert.equal(readRows(file, 'PRAGMA integrity_check')[0].integrity_check, 'ok');
}

// Runs a server that should end by itself; its exit code and what it wrote to stderr.
export async function runToEnd(dataFile, { wrapper = [] } = {}) {
  const command = [...wrapper, BINARY, 'server', '--data', dataFile, '--grpc', '127.0.0.1:0', '--http', 'off'];
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], timeout: END_MS });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (part) => (text += part));
  const [code, signal] = await once(child, 'close');
  return { code, signal, text };
}

export async function assertRefused(dataFile, pattern, options) {
  const { code, signal, text } = await runToEnd(dataFile, options);
  assert.match(text, pattern);
  assert.deepEqual({ code, signal }, { code: 1, signal: null }, text);
}

// SQLite's shell with a transaction that nobody else can write beside.
export async function holdWriteLock(file) {
  const shell = spawn('sqlite3', ['-cmd', '.timeout 20000', file], { stdio: ['pipe', 'pipe', 'inherit'] });
  shell.stdin.write("BEGIN IMMEDIATE; SELECT 'locked';\n");
  await once(shell.stdout, 'data');
  return async () => {
    shell.stdin.end('COMMIT;\n.quit\n');
    await once(shell, 'close');
  };
}
