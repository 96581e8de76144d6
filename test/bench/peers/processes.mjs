// Processes under test: starting and ending them, and what the kernel counts for them.

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const TICKS_PER_SECOND = 100;
const STARTUP_MS = 60_000;

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended meanwhile
  }
}

// The fields of /proc/PID/stat behind the name, which may hold spaces.
function statFields(pid) {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(statFields(name)[1]) === pid)
    .map(Number);
}

// The process, its children and theirs.
function family(pid) {
  return [pid, ...childrenOf(pid).flatMap(family)];
}

function numberAt(text, key) {
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

// CPU and bytes include children that have ended. Memory is each one's share of what several of them map.
export function usageOf(pid) {
  const total = { cpuUs: 0, writtenBytes: 0, memoryBytes: 0 };
  for (const one of family(pid)) {
    const ticks = statFields(one).slice(11, 15).map(Number);
    const cpu = ticks.reduce((sum, n) => sum + n, 0);
    total.cpuUs += ((Number.isNaN(cpu) ? 0 : cpu) * 1e6) / TICKS_PER_SECOND;
    total.writtenBytes += numberAt(read(`/proc/${one}/io`), 'write_bytes');
    total.memoryBytes += numberAt(read(`/proc/${one}/smaps_rollup`), 'Pss') * 1024;
  }
  return total;
}

// Counts the syncs of these processes and their families until the function that it gives is called.
export async function countSyncs(pids) {
  const targets = pids.flatMap(family).flatMap((pid) => ['-p', String(pid)]);
  const tracer = new Program('strace', ['-f', '-c', '-e', 'trace=fsync,fdatasync', ...targets]);
  await tracer.printed(/(attached)/);
  return async () => {
    await tracer.stop('SIGINT');
    const rows = [...tracer.output.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?:fsync|fdatasync)$/gm)];
    return rows.reduce((sum, [, calls]) => sum + Number(calls), 0);
  };
}

// Microseconds that all cores together were busy, whoever it was for.
export function machineBusyUs() {
  const [user, nice, system, , , irq, softirq, steal] = read('/proc/stat').split('\n')[0].split(/\s+/).slice(1).map(Number);
  return ((user + nice + system + irq + softirq + steal) * 1e6) / TICKS_PER_SECOND;
}

export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
}

// Until `isReady` answers true; an error of it means not yet.
export async function until(what, isReady, everyMs = 2) {
  const end = Date.now() + STARTUP_MS;
  for (;;) {
    const ready = await isReady().catch(() => false);
    if (ready) return ready;
    if (Date.now() > end) throw new Error(`${what} is not ready after ${STARTUP_MS / 1000} s`);
    await sleep(everyMs);
  }
}

export class Program {
  constructor(command, args, options = {}) {
    this.name = command.split('/').pop();
    this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.output = '';
    for (const stream of [this.process.stdout, this.process.stderr])
      stream.on('data', (data) => (this.output = (this.output + data).slice(-20_000)));
    this.ended = once(this.process, 'exit');
  }

  get pid() {
    return this.process.pid;
  }

  // The first group of the pattern, once the program has printed it.
  async printed(pattern) {
    return until(this.name, async () => {
      if (this.process.exitCode !== null) throw new Error(`${this.name} ended:\n${this.output}`);
      return pattern.exec(this.output)?.[1];
    });
  }

  async stop(signal = 'SIGTERM') {
    this.process.kill(signal);
    await this.ended;
  }
}

export async function run(command, args, options) {
  const program = new Program(command, args, options);
  const [code] = await program.ended;
  if (code !== 0) throw new Error(`${command} ends with ${code}:\n${program.output}`);
  return program.output;
}

// A Node process of ours that answers messages: ask() resolves with what it sends back.
export class Helper {
  #messages = [];
  #wake = () => {};

  constructor(module, args) {
    this.process = fork(module, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.process.on('message', (message) => this.#take(message));
    this.ended = once(this.process, 'exit');
    this.ended.then(([code]) => this.#take({ error: `a helper ended with ${code}` }));
  }

  #take(message) {
    this.#messages.push(message);
    this.#wake();
  }

  get pid() {
    return this.process.pid;
  }

  async next() {
    while (this.#messages.length === 0) await new Promise((resolve) => (this.#wake = resolve));
    const message = this.#messages.shift();
    if (message.error) throw new Error(message.error);
    return message;
  }

  async ask(message) {
    this.process.send(message);
    return this.next();
  }

  async stop() {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

// The other side of a Helper. `answers` has a function for each `ask`.
export function answerMessages(answers) {
  process.on('message', async ({ ask, ...rest }) => {
    try {
      process.send({ ...(await answers[ask](rest)) });
    } catch (error) {
      process.send({ error: String(error.stack ?? error) });
    }
  });
  process.on('disconnect', () => process.exit());
  process.send({ isReady: true });
}
