// A rondo server as a child process: on free ports, with a data file in a directory of its own.
// Ready means that GetSystemInfo was answered. A server that ends before that is an error
// that carries its log.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';

export const BINARY = process.env.RONDO_BIN ?? fileURLToPath(new URL('../../../build/rondo', import.meta.url));

const READY_MS = 20_000;
const STOP_MS = 20_000;
const LOG_BYTES = 1 << 20;

// Below the range from which the kernel takes the local ports of outgoing connections: a client
// that redials a dead server in that range can be connected to itself.
const PORT_FIRST = 20_000;
const PORT_COUNT = 12_000;

async function canBind(port) {
  const probe = net.createServer();
  probe.listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((done) => probe.close(done));
  }
}

// A port that is free now can be taken before our server binds it: by another test that drew the same number, or by its
// probe. A file per port, which holds the pid of its owner, reserves the port for one test process until that ends.
const PORT_DIRECTORY = path.join(os.tmpdir(), `rondo-ports-${process.getuid()}`);
const reservations = [];

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function reservePort(port) {
  const file = path.join(PORT_DIRECTORY, String(port));
  mkdirSync(PORT_DIRECTORY, { recursive: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    reservations.push(file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

// Removes the reservation of a process that was killed. An empty file is one that is being written.
function removeStaleReservation(port) {
  const file = path.join(PORT_DIRECTORY, String(port));
  try {
    const owner = readFileSync(file, 'utf8');
    if (owner !== '' && !isAlive(Number(owner))) rmSync(file, { force: true });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

export async function freePort() {
  for (;;) {
    const port = PORT_FIRST + Math.floor(Math.random() * PORT_COUNT);
    if (!reservePort(port)) removeStaleReservation(port);
    else if (await canBind(port)) return port;
  }
}

export async function accepts(port) {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

// No server outlives the tests, however they end, and no data does.
const children = new Set();
const directories = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  for (const file of reservations) rmSync(file, { force: true });
});

export class Server {
  constructor(options) {
    this.directory = mkdtempSync(path.join(os.tmpdir(), 'rondo-sdk-'));
    directories.push(this.directory);
    this.dataFile = options.dataFile ?? path.join(this.directory, 'rondo.db');
    this.binary = options.binary ?? BINARY;
    this.dynamicConfig = options.dynamicConfig;
    this.flags = options.flags ?? []; // more of the command line
    this.env = options.env ?? {}; // more of the environment
    this.log = '';
    this.child = undefined;
  }

  static async start(options = {}) {
    const server = new this(options);
    server.grpcPort = options.grpcPort ?? (await freePort());
    server.httpPort = await freePort();
    await server.launch();
    return server;
  }

  get address() {
    return `127.0.0.1:${this.grpcPort}`;
  }

  get running() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  // `dynamicConfig`, a list of KEY=VALUE, is for start-dev only.
  args() {
    const logs = ['--log-level', 'info', '--log-format', 'text'];
    if (!this.dynamicConfig)
      return [
        'server',
        '--data',
        this.dataFile,
        '--grpc',
        this.address,
        '--http',
        `127.0.0.1:${this.httpPort}`,
        ...logs,
        ...this.flags,
      ];
    const settings = this.dynamicConfig.flatMap((pair) => ['--dynamic-config-value', pair]);
    const ports = ['--port', String(this.grpcPort), '--http-port', String(this.httpPort)];
    const flags = ['--ip', '127.0.0.1', ...ports, '--db-filename', this.dataFile];
    return ['server', 'start-dev', ...flags, ...settings, ...logs, ...this.flags];
  }

  // Starts the process without waiting for it to be ready; `exited` resolves to { code, signal }.
  spawn() {
    const child = spawn(this.binary, this.args(), { env: { ...process.env, ...this.env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => (this.log = (this.log + text).slice(-LOG_BYTES)));
    }
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        children.delete(child);
        resolve({ code, signal });
      });
    });
    children.add(child);
    this.exited.catch(() => {});
    this.child = child;
  }

  async launch() {
    this.spawn();
    const deadline = Date.now() + READY_MS;
    while (!(await accepts(this.grpcPort))) {
      if (!this.running || Date.now() > deadline) throw new Error(await this.epitaph());
      await sleep(10);
    }
    const connection = await Connection.connect({ address: this.address });
    await connection.close();
  }

  async epitaph() {
    if (this.running) return `${this.binary} is not ready after ${READY_MS} ms\n${this.log}`;
    const { code, signal } = await this.exited;
    return `${this.binary} ended (code ${code}, signal ${signal}) before it was ready\n${this.log}`;
  }

  // SIGTERM; resolves to the exit code. A server that does not stop is killed, which is an error.
  async stop() {
    if (this.running) this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
    const { code, signal } = await this.exited;
    clearTimeout(late);
    if (signal === 'SIGKILL') throw new Error(`no stop within ${STOP_MS} ms of SIGTERM\n${this.log}`);
    return code;
  }

  async kill() {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async killAndRestart() {
    await this.kill();
    await this.launch();
  }

  // For the end of a test file: the server must be alive still, must stop cleanly, and must not
  // have been aborted by a sanitizer at any time.
  async close() {
    if (!this.running) throw new Error(await this.epitaph());
    const code = await this.stop();
    if (code !== 0) throw new Error(`exit code ${code}\n${this.log}`);
    if (/(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|runtime error:/.test(this.log)) throw new Error(this.log);
  }
}
