// Medians over the rounds, tables for people, and how many times better or worse than each peer Rondo is.

import { median } from './figures.mjs';

export const SYSTEMS = {
  native: 'Rondo, native generator',
  rondo: 'Rondo, TypeScript SDK',
  restate: 'Restate, its Node SDK',
  dbos: 'DBOS on PostgreSQL',
};

export const CASES = {
  idle: 'nothing to do: until a start is accepted, memory, CPU',
  syncs: 'syncs of the disk (fsync, fdatasync) for a workflow that only returns, one at a time, counted by strace',
  trivial: 'a workflow that only returns, start to completed',
  step: 'a workflow with one step (Rondo: an activity), start to completed',
  start: 'durably accepted, and nobody executes it',
  signal: 'started, sent a message, completed',
  timers: 'timers due at one instant: from due until the code behind the timer runs',
  schedules: 'schedules of one second: from due until the workflow runs (native generator: until it is started)',
};

// The medians of all numbers in objects of one shape.
export function medians(rounds) {
  const first = rounds[0];
  if (typeof first === 'number') return median(rounds);
  return Object.fromEntries(Object.keys(first).map((key) => [key, medians(rounds.map((round) => round[key]))]));
}

function stored({ server = 0, database = 0 }) {
  return server + database;
}

function column(text, width) {
  return String(text).padStart(width);
}

function number(value, width, digits = 0) {
  return column(value === undefined ? '-' : value.toFixed(digits), width);
}

function printIdle(results) {
  console.log(`${''.padEnd(26)}${['ready ms', 'server MiB', 'db MiB', 'CPU ms/s'].map((t) => column(t, 12)).join('')}`);
  for (const [system, { readyMs, memoryBytes, cpuUsPerSecond }] of results) {
    const mib = (bytes) => (bytes === undefined ? undefined : bytes / 2 ** 20);
    const figures = [number(readyMs, 12, 1), number(mib(memoryBytes.server), 12, 1), number(mib(memoryBytes.database), 12, 1)];
    console.log(`${SYSTEMS[system].padEnd(26)}${figures.join('')}${number(stored(cpuUsPerSecond) / 1000, 12, 1)}`);
  }
}

function printSyncs(results) {
  for (const [system, { perOperation }] of results) console.log(`${SYSTEMS[system].padEnd(26)}${number(perOperation, 12, 1)}`);
}

const HEADS = ['a second', 'p50 ms', 'p99 ms', 'last ms', 'server us', 'db us', 'worker us', 'client us', 'bytes', 'others %'];

function printLoad(results) {
  console.log(`${''.padEnd(26)}${HEADS.map((t) => column(t, 10)).join('')}`);
  for (const [system, r] of results) {
    const cpu = ['server', 'database', 'worker', 'client'].map((role) => number(r.cpuUs[role], 10));
    const times = [number(r.perSecond, 10), number(r.p50, 10, 1), number(r.p99, 10, 1), number(r.lastMs, 10)];
    const rest = [number(r.writtenBytes, 10), number(r.others * 100, 10)];
    console.log(`${SYSTEMS[system].padEnd(26)}${[...times, ...cpu, ...rest].join('')}`);
  }
}

// How many times the peer's figure is Rondo's, or the other way round, so that more is better for Rondo.
function ratiosOf(name, ours, peer) {
  if (name === 'syncs') return { 'times fewer syncs': peer.perOperation / ours.perOperation };
  if (name === 'idle')
    return {
      'times sooner ready': peer.readyMs / ours.readyMs,
      'times less memory': stored(peer.memoryBytes) / stored(ours.memoryBytes),
    };
  const cpu = { 'times less CPU of server and database': stored(peer.cpuUs) / stored(ours.cpuUs) };
  if (name === 'timers') return { 'times sooner the last': peer.lastMs / ours.lastMs, ...cpu };
  if (name === 'schedules') return { 'times less late (p99)': peer.p99 / ours.p99, ...cpu };
  return { 'times the throughput': ours.perSecond / peer.perSecond, 'times less p99': peer.p99 / ours.p99, ...cpu };
}

function printRatios(name, results) {
  const ratios = {};
  const named = Object.fromEntries(results);
  for (const own of ['native', 'rondo'])
    for (const peer of ['restate', 'dbos']) {
      if (!named[own] || !named[peer]) continue;
      const found = ratiosOf(name, named[own], named[peer]);
      const text = Object.entries(found).map(([what, times]) => `${times.toFixed(1)} ${what}`);
      console.log(`  ${SYSTEMS[own]} to ${SYSTEMS[peer]}: ${text.join(', ')}`);
      ratios[`${own}/${peer}`] = found;
    }
  return ratios;
}

// `rounds` has, for each case and system, what each round gave. Returns medians and ratios by case.
export function report(rounds) {
  const all = {};
  for (const [name, text] of Object.entries(CASES)) {
    if (!rounds[name]) continue;
    const results = Object.entries(rounds[name]).map(([system, figures]) => [system, medians(figures)]);
    console.log(`\n${name}: ${text}`);
    ({ idle: printIdle, syncs: printSyncs }[name] ?? printLoad)(results);
    all[name] = { medians: Object.fromEntries(results), ratios: printRatios(name, results) };
  }
  return all;
}
