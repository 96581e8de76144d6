// Rondo with the native load generator (bench_load) as client and worker, in the shape of the others' figures.

import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { machineBusyUs, run, usageOf } from './processes.mjs';

const SCALE = 0.5; // 30,000 starts, 10,000 workflows
const TIMERS = 10_000; // of bench_load at scale 1
const TICKS = 500;

const ROWS = {
  trivial: ['complete', 'complete, no activity'],
  step: ['complete', 'complete, one activity'],
  start: ['starts', 'start'],
  timers: ['timers', 'timers due together'],
  schedules: ['ticks', 'schedules of one second'],
};

function figures(row) {
  const roles = { server: row.server_cpu_us, client: row.client_cpu_us };
  return { perSecond: row.per_second, p50: row.p50_us / 1000, p99: row.p99_us / 1000, cpuUs: roles, writtenBytes: row.written_bytes };
}

async function generate({ generator, server, directory, width }, cases, scale) {
  const file = `${directory}/native.json`;
  const only = cases.flatMap((name) => ['--only', name]);
  const size = ['--scale', String(scale), '--width', String(width)];
  const before = { busyUs: machineBusyUs(), ownUs: usageOf(process.pid).cpuUs, atMs: performance.now() };
  await run(generator, ['--server', server, '--dir', directory, '--json', file, ...size, ...only]);
  const oursUs = usageOf(process.pid).cpuUs - before.ownUs;
  const wallUs = (performance.now() - before.atMs) * 1000;
  const others = Math.max((machineBusyUs() - before.busyUs - oursUs) / (wallUs * availableParallelism()), 0);
  return { rows: (await readFile(file, 'utf8')).trim().split('\n').map(JSON.parse), others };
}

async function measureIdle(options) {
  const { rows, others } = await generate(options, ['idle'], 1);
  const named = Object.fromEntries(rows.map((row) => [row.bench, row]));
  return {
    readyMs: named['cold start, empty file'].p50_us / 1000,
    memoryBytes: { server: named['idle: resident memory'].value * 2 ** 20 },
    cpuUsPerSecond: { server: named['idle: CPU'].value * 1000 },
    others,
  };
}

function scaleOf(name, { timers, schedules }) {
  return { timers: timers / TIMERS, schedules: schedules / TICKS }[name] ?? SCALE;
}

// The row of a case that is run with this many at a time.
function pick(rows, name, title, { width, schedules }) {
  const wanted = { schedules }[name] ?? (name === 'timers' ? undefined : width);
  return rows.find((row) => row.bench === title && (wanted === undefined || row.width === wanted));
}

// From due until the worker has the task: what the others measure, too.
function toldLate(rows, { timers }) {
  const value = (name) => rows.find((row) => row.bench === `timers: ${name}`).value;
  const lastMs = value('last worker told after');
  return { p50: value('worker told after, p50'), p99: value('worker told after, p99'), lastMs, perSecond: timers / (lastMs / 1000) };
}

export async function measure(name, options) {
  if (name === 'idle') return measureIdle(options);
  if (!ROWS[name]) return undefined; // it has no such case
  const [only, title] = ROWS[name];
  const { rows, others } = await generate(options, [only], scaleOf(name, options));
  const found = figures(pick(rows, name, title, options));
  return { ...found, ...(name === 'timers' && toldLate(rows, options)), others };
}
