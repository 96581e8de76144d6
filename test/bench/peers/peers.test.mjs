// The parts of the comparison that need nothing installed: arithmetic, the kernel's counts, the command line.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { closedLoop, Lateness, median, summary } from './figures.mjs';
import { Helper, usageOf } from './processes.mjs';
import { CASES, medians, report, SYSTEMS } from './report.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));

test('summaries are of all values, whatever their order', () => {
  const values = Array.from({ length: 1000 }, (_, i) => 999 - i);
  assert.deepEqual(summary(values), { count: 1000, p50: 500, p99: 990, worst: 999 });
  assert.equal(median([3, 1, 2]), 2);
  assert.deepEqual(medians([{ a: 1, b: { c: 9 } }, { a: 2, b: { c: 7 } }, { a: 5, b: { c: 8 } }]), { a: 2, b: { c: 8 } });
});

test('a closed loop counts what ended while it was measured', async () => {
  let underWay = 0;
  let most = 0;
  let ended = 0;
  const operation = async () => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    ended++;
  };
  const onMeasuring = async () => void (ended = 0);
  const figures = await closedLoop({ width: 3, warmUp: 0.01, seconds: 0.05, operation, onMeasuring });
  await figures.finish();
  assert.ok(figures.count <= ended && figures.count >= ended - 3, `${figures.count} of ${ended}`);
  assert.ok(figures.seconds > 0);
  assert.equal(most, 3);
  assert.equal(underWay, 0);
});

test('an operation that fails ends the loop', async () => {
  const operation = async () => Promise.reject(new Error('refused'));
  await assert.rejects(closedLoop({ width: 2, warmUp: 1, seconds: 1, operation, onMeasuring: async () => {} }), /refused/);
});

test('lateness is awaited until all have come', async () => {
  const lateness = new Lateness();
  const all = lateness.await({ count: 2 });
  lateness.note(Date.now() - 50);
  lateness.note(Date.now());
  assert.equal((await all).count, 2);
  assert.deepEqual(lateness.clear(), {});
  assert.equal(lateness.read().count, 0);
});

test('the CPU of a process and of its children is counted', () => {
  const before = usageOf(process.pid);
  execFileSync(process.execPath, ['-e', 'const end = Date.now() + 200; while (Date.now() < end);']);
  const after = usageOf(process.pid);
  assert.ok(after.cpuUs > before.cpuUs);
  assert.ok(after.memoryBytes > 1 << 20);
});

test('a helper that fails says why', async () => {
  const helper = new Helper(new URL('driver.mjs', import.meta.url), ['nothing', '{}']);
  await assert.rejects(helper.next(), /a helper ended with 1/);
});

test('every case is reported with ratios in which more is better', () => {
  const load = { perSecond: 10, p50: 1, p99: 4, lastMs: 8, cpuUs: { server: 2 }, writtenBytes: 0, others: 0 };
  const idle = { readyMs: 4, memoryBytes: { server: 2 ** 20 }, cpuUsPerSecond: { server: 0 }, others: 0 };
  const better = { ...load, perSecond: 20, p99: 2, lastMs: 4, cpuUs: { server: 1 } };
  const rounds = { idle: { native: [{ ...idle, readyMs: 2 }], dbos: [idle] }, trivial: { native: [better], dbos: [load] } };
  const said = console.log;
  console.log = () => {};
  const { idle: idleFigures, trivial } = report(rounds);
  console.log = said;
  assert.equal(idleFigures.ratios['native/dbos']['times sooner ready'], 2);
  assert.deepEqual(Object.values(trivial.ratios['native/dbos']), [2, 2, 2]);
});

test('every file of it can be parsed, and the command line explains itself', () => {
  const files = [folder, ...Object.keys(SYSTEMS).filter((s) => s !== 'native').map((s) => `${folder}${s}/`)].flatMap((place) =>
    readdirSync(place).filter((name) => name.endsWith('.mjs')).map((name) => place + name),
  );
  assert.ok(files.length > 12);
  for (const file of files) assert.equal(spawnSync(process.execPath, ['--check', file]).status, 0, file);
  const help = execFileSync(process.execPath, [`${folder}run.mjs`, '--help'], { encoding: 'utf8' });
  for (const name of Object.keys(CASES)) assert.match(help, new RegExp(name));
});
