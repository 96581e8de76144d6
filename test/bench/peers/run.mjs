// Rondo beside Restate and DBOS, in one run on one machine: make bench-peers, or see HELP.
//
// Each round has every system once, on fresh data and alone, in an order that changes from round to round; what is
// printed are medians over the rounds. README.md says what is compared with what.

import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as native from './native.mjs';
import { CASES, report, SYSTEMS } from './report.mjs';
import { Session } from './session.mjs';

const HELP = `usage: node run.mjs --server build/rondo --generator build/test/bench_load [OPTIONS]
  --rounds N         how often each system is measured (3)
  --seconds N        how long each case with so many in flight is (4)
  --width N          operations in flight (64)
  --timers N         timers due together (2000)
  --schedules N      schedules of one second (100), measured for 10 s
  --only SYSTEM,...  of ${Object.keys(SYSTEMS).join(', ')}
  --cases CASE,...   of ${Object.keys(CASES).join(', ')}
  --dir DIRECTORY    where data is kept while it runs (.): that disk is measured
  --json FILE        all figures of all rounds, medians and ratios`;

const TMPFS = 0x01021994;
const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean' },
    server: { type: 'string' },
    generator: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    width: { type: 'string', default: '64' },
    timers: { type: 'string', default: '2000' },
    schedules: { type: 'string', default: '100' },
    only: { type: 'string', default: Object.keys(SYSTEMS).join() },
    cases: { type: 'string', default: Object.keys(CASES).join() },
    dir: { type: 'string', default: '.' },
    json: { type: 'string' },
  },
});

function chosen(list, known) {
  const names = list.split(',');
  for (const name of names) if (!known[name]) throw new Error(`${name} is none of ${Object.keys(known).join(', ')}`);
  return names;
}

function optionsOf() {
  return {
    server: resolve(flags.server),
    generator: resolve(flags.generator),
    rounds: Number(flags.rounds),
    seconds: Number(flags.seconds),
    width: Number(flags.width),
    timers: Number(flags.timers),
    schedules: Number(flags.schedules),
    scheduleSeconds: 10,
    systems: chosen(flags.only, SYSTEMS),
    cases: chosen(flags.cases, CASES),
  };
}

async function versions() {
  const { dependencies } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8'));
  return { node: process.version, kernel: execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim(), ...dependencies };
}

async function* measureNative(options, directory) {
  for (const name of options.cases) yield [name, await native.measure(name, { ...options, directory })];
}

async function* measureSystem(system, options, directory, prepared) {
  const { start } = await import(`./${system}/server.mjs`);
  const session = await Session.open(system, await start({ directory, server: options.server, prepared }));
  try {
    prepared.durability = session.started.durability;
    for (const name of options.cases) yield [name, await measureCase(session, name, options)];
  } finally {
    await session.close();
  }
}

function measureCase(session, name, options) {
  if (name === 'idle') return session.idle();
  if (name === 'syncs') return session.syncs(options);
  if (name === 'timers') return session.timers(options);
  if (name === 'schedules') return session.schedules(options);
  return session.closedLoop(name, options);
}

// PostgreSQL's user must be able to reach its part of it.
async function scratch() {
  const directory = await mkdtemp(resolve(flags.dir, 'peers.'));
  await chmod(directory, 0o755);
  if ((await statfs(directory)).type === TMPFS) throw new Error(`${directory} is in memory: nothing would be synced; see --dir`);
  return directory;
}

async function prepareAll(options, directory) {
  const prepared = {};
  for (const system of options.systems) {
    const module = system === 'native' ? {} : await import(`./${system}/server.mjs`);
    prepared[system] = (await module.prepare?.({ directory })) ?? {};
  }
  return prepared;
}

async function measureRound(round, options, directory, prepared, results) {
  const turn = round % options.systems.length;
  const order = [...options.systems.slice(turn), ...options.systems.slice(0, turn)];
  for (const system of order) {
    const place = `${directory}/${system}-${round}`;
    await mkdir(place);
    const figures = system === 'native' ? measureNative(options, place) : measureSystem(system, options, place, prepared[system]);
    for await (const [name, found] of figures) {
      if (!found) continue;
      const rate = found.perSecond ? `${found.perSecond.toFixed(0)} a second` : `ready after ${found.readyMs.toFixed(0)} ms`;
      console.log(`round ${round + 1}: ${SYSTEMS[system]}: ${name}: ${rate}`);
      ((results[name] ??= {})[system] ??= []).push(found);
    }
    await rm(place, { recursive: true });
  }
}

function inOrder(results) {
  const sorted = (bySystem) => Object.fromEntries(Object.keys(SYSTEMS).filter((s) => bySystem[s]).map((s) => [s, bySystem[s]]));
  return Object.fromEntries(Object.entries(results).map(([name, bySystem]) => [name, sorted(bySystem)]));
}

async function main() {
  const options = optionsOf();
  const directory = await scratch();
  const results = {};
  const about = { cores: availableParallelism(), ...(await versions()) };
  console.log(Object.entries(about).map(([name, version]) => `${name} ${version}`).join(', '));
  try {
    const prepared = await prepareAll(options, directory);
    for (let round = 0; round < options.rounds; round++) await measureRound(round, options, directory, prepared, results);
    const durability = Object.fromEntries(Object.entries(prepared).filter(([, p]) => p.durability).map(([s, p]) => [s, p.durability]));
    console.log('\nsynced before acknowledged, as configured:');
    for (const [system, text] of Object.entries(durability)) console.log(`  ${SYSTEMS[system]}: ${text}`);
    console.log(`${options.width} in flight; medians of ${options.rounds} rounds; CPU and bytes are for one operation`);
    const figures = report(inOrder(results));
    if (flags.json) await writeFile(flags.json, JSON.stringify({ about, options, durability, figures, rounds: results }, null, 1));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

if (flags.help || !flags.server || !flags.generator) {
  console.log(HELP);
  process.exit(flags.help ? 0 : 2);
}
await main();
