// Starts the binary that RONDO_BIN names: once to its end, or as a server on free ports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const bin = process.env.RONDO_BIN;
if (!bin) throw new Error('RONDO_BIN must name the binary to test');

function collect(stream) {
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

export function launch(args, { env = {}, cwd } = {}) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^((RONDO|TEMPORAL)_|XDG_|NO_COLOR|PAGER)/.test(name)));
  clean.HOME = '/nonexistent'; // nobody's own files of flags
  const proc = spawn(bin, args, { cwd, env: { ...clean, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(proc, 'close').then(([code, signal]) => ({ code, signal }));
  // Everything that was printed is there once it has ended.
  const stop = (signal = 'SIGTERM') => {
    proc.kill(signal);
    return ended;
  };
  return { proc, ended, stop, stdout: collect(proc.stdout), stderr: collect(proc.stderr) };
}

// Runs to the end: { code, stdout, stderr }.
export async function run(args, options) {
  const child = launch(args, options);
  const timer = setTimeout(() => child.proc.kill('SIGKILL'), 30_000);
  const { code } = await child.ended;
  clearTimeout(timer);
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

// Starts a server and waits for its line on stdout, which names the addresses it took.
export async function serve(t, args, options) {
  const child = launch([...args, '-o', 'json'], options);
  t.after(() => child.proc.kill('SIGKILL'));
  const line = await Promise.race([
    once(child.proc.stdout, 'data').then(([chunk]) => chunk.toString()),
    child.ended.then(({ code }) => {
      throw new Error(`the server ended with ${code}: ${child.stderr()}`);
    }),
  ]);
  return { ...child, ...JSON.parse(line) };
}

export function temporaryDirectory(t) {
  const path = mkdtempSync(join(tmpdir(), 'rondo-cli-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
