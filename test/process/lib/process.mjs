// The release binary as a process that is judged from outside: its data file, its ports, /proc.
//
// launchSilently() opens no connection: it waits for the line that the server logs when it is ready. What
// happens after that, happens without any client.

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, freePort } from '../../sdk/lib/server.mjs';

export { BINARY, freePort } from '../../sdk/lib/server.mjs';
export { sleep };

// The long form of the suite: `make test-process`. Without it every test keeps its checks and does less of each.
export const isLong = process.env.PROCESS_LONG === '1';
export const pick = (short, long) => (isLong ? long : short);

const READY_MS = 60_000;
const TICKS_PER_SECOND = 100; // USER_HZ, which Linux fixes at 100 for programs

export class RondoProcess extends Server {
  // readyMs: for a data file whose recovery takes long.
  constructor(options) {
    super(options);
    this.readyMs = options.readyMs ?? READY_MS;
  }

  // Starts the server on free ports and opens no connection to it.
  static async startSilently(options = {}) {
    const server = new this(options);
    server.grpcPort = await freePort();
    server.httpPort = await freePort();
    await server.launchSilently();
    return server;
  }

  async launchSilently() {
    const readyBefore = this.countLog('server_ready');
    this.spawn();
    await until(() => this.countLog('server_ready') > readyBefore || !this.running, this.readyMs, 'the server to be ready');
    if (!this.running) throw new Error(await this.epitaph());
  }

  get pid() {
    return this.child.pid;
  }

  get httpAddress() {
    return `http://127.0.0.1:${this.httpPort}`;
  }

  // How many lines of the log have this name.
  countLog(name) {
    return this.log.split('\n').filter((line) => line.split(/\s+/).includes(name)).length;
  }

  // Rows of the data file as objects, read by SQLite's own shell beside the server.
  rows(sql) {
    return readRows(this.dataFile, sql);
  }

  signal(name) {
    this.child.kill(name);
  }

  // SIGSTOP for so long, as a suspended machine or a starved container is.
  async freeze(ms) {
    this.signal('SIGSTOP');
    await sleep(ms);
    this.signal('SIGCONT');
  }

  // Seconds of processor time that the process has used so far.
  cpuSeconds() {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  residentBytes() {
    return this.statusBytes('VmRSS');
  }

  peakResidentBytes() {
    return this.statusBytes('VmHWM');
  }

  statusBytes(name) {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)[1]) * 1024;
  }

  // What each open descriptor is: a path, or socket:[inode].
  descriptors() {
    const directory = `/proc/${this.pid}/fd`;
    return readdirSync(directory).flatMap((fd) => {
      try {
        return [readlinkSync(`${directory}/${fd}`)];
      } catch {
        return []; // closed since it was listed
      }
    });
  }

  countSockets() {
    return this.descriptors().filter((target) => target.startsWith('socket:')).length;
  }
}

export function readRows(file, sql) {
  const text = execFileSync('sqlite3', ['-readonly', '-json', '-cmd', '.timeout 10000', file, sql], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return text.trim() ? JSON.parse(text) : [];
}

// Waits until the condition holds; the limit only ends what hangs, and says what was waited for.
export async function until(condition, limitMs, what) {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${limitMs} ms were not enough for ${what}`);
    await sleep(20);
  }
}

// One sample of /metrics, by its name with labels.
export async function readMetric(server, name) {
  const text = await (await fetch(`${server.httpAddress}/metrics`)).text();
  const line = text.split('\n').find((l) => l.startsWith(`${name} `));
  if (!line) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}

// fn(0) ... fn(count - 1), so many at a time.
export async function inParallel(count, fn, atOnce = 200) {
  let next = 0;
  const work = async () => {
    while (next < count) await fn(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

// A directory's worth of processes: each test closes what it opened, also when it fails.
export async function withProcess(options, fn) {
  const server = await RondoProcess.startSilently(options);
  try {
    return await fn(server);
  } finally {
    if (server.running) {
      server.signal('SIGCONT');
      await server.kill();
    }
  }
}
