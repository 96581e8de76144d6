// docs/guide.md, as a reader follows it: its files are written, its commands run in one shell, what they print is compared.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BINARY, Server } from './lib/server.mjs';

const GUIDE = readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8');
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));

// Each file of the guide stands behind a paragraph that names it and ends in a colon.
function files() {
  return [...GUIDE.matchAll(/`(\w+\.(?:ts|mjs))`(?:(?!\n\n).)*:\n\n```(?:ts|js)\n(.*?)```/gs)].map(([, name, text]) => ({ name, text }));
}

// Commands, with what they print where the guide shows it.
function blocks() {
  return [...GUIDE.matchAll(/```sh\n(.*?)```\n(?:```text\n(.*?)```)?/gs)].map(([, commands, shown]) => ({ commands, shown }));
}

// One shell for all of it, so that variables and background jobs stay.
class Shell {
  constructor(cwd, env) {
    this.proc = spawn('bash', [], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true }); // a group of its own
    this.output = '';
    this.errors = '';
    this.proc.stdout.on('data', (chunk) => (this.output += chunk));
    this.proc.stderr.on('data', (chunk) => (this.errors += chunk));
    this.ended = new Promise((_, reject) => this.proc.once('exit', () => reject(new Error(this.errors))));
  }

  async run(commands) {
    const mark = `--- end of block ${(this.count = (this.count ?? 0) + 1)} ---\n`;
    this.proc.stdin.write(`${commands}\nprintf '%s' '${mark.trimEnd()}'; echo\n`);
    while (!this.output.endsWith(mark)) {
      await Promise.race([new Promise((resolve) => this.proc.stdout.once('data', resolve)), this.ended]);
    }
    const printed = this.output.slice(0, -mark.length);
    this.output = '';
    return printed;
  }

  close() {
    this.ended.catch(() => {}); // as it should
    process.kill(-this.proc.pid, 'SIGKILL'); // with the jobs in the background
  }
}

const pattern = (shown) => new RegExp(`^${shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*?')}$`);

test('the guide does what it says', { timeout: 180_000 }, async (t) => {
  const server = await Server.start();
  const cwd = mkdtempSync(join(tmpdir(), 'rondo-guide-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  symlinkSync(BINARY, join(cwd, 'rondo'));
  symlinkSync(MODULES, join(cwd, 'node_modules'));
  symlinkSync(process.execPath, join(cwd, 'node'));
  assert.deepEqual(files().map((f) => f.name), ['workflows.ts', 'worker.mjs', 'schedule.mjs']);
  for (const { name, text } of files()) writeFileSync(join(cwd, name), text);
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(RONDO|TEMPORAL)_/.test(name)));
  const env = { ...clean, PATH: `${cwd}:${process.env.PATH}`, TEMPORAL_ADDRESS: server.address };
  const shell = new Shell(cwd, env);
  t.after(() => shell.close());
  assert.ok(blocks().length > 20);
  for (const { commands, shown } of blocks()) {
    const printed = await shell.run(commands);
    if (shown === undefined) assert.equal(printed, '', commands);
    else assert.match(printed, pattern(shown), `${commands}\n${printed}\n${shell.errors}`);
  }
  await server.close();
});
