// One client's burst of the most expensive calls delays another client by about one call, not by the burst.
//
// A prober in another process sends small calls all the time. Its slowest answer during each burst is judged against
// its slowest answer on the idle server of the same run. The bound is far above what a busy machine adds and far
// below what a burst takes: a loop that works through the burst in one turn stands still for seconds.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { addTimers, buildHeavyWorld, bursts, closeRuns, generic, genericCount, reasons } from './lib/heavy.mjs';
import { RawClient, methods } from './lib/methods.mjs';
import { startProber } from './lib/prober.mjs';
import { RondoProcess, pick, sleep, until, withProcess } from './lib/process.mjs';

const IDLE_MS = pick(1500, 5000);
const FLOOR_MS = 1500;
const FACTOR = 4;
// UNKNOWN, INTERNAL, UNAVAILABLE, or a stream that was reset to calm the client: no answer to a call. One client that
// asks for much must wait, and then gets all of it.
const isBroken = ({ code, message }) => [2, 13, 14].includes(code) || /Bandwidth exhausted/.test(message ?? '');

describe('while one client sends bursts', { timeout: 1_800_000 }, () => {
  let server, client, prober, boundMs;

  before(async () => {
    server = await RondoProcess.startSilently();
    client = new RawClient(server);
    await buildHeavyWorld(client);
    prober = await startProber(server);
    await prober.reset();
    await sleep(IDLE_MS);
    const idle = await prober.report();
    assert.ok(idle.count > 10, 'the prober is answered');
    boundMs = FLOOR_MS + FACTOR * idle.worstMs;
  });

  after(async () => {
    await prober?.stop();
    client?.close();
    if (server?.running) await server.kill();
  });

  async function judge(what, load) {
    await prober.reset();
    const begin = performance.now();
    await load();
    const tookMs = performance.now() - begin;
    await sleep(50);
    const { worstMs, count, failed } = await prober.report();
    const text = `${what}: ${Math.round(tookMs)} ms, ${count} probes, the slowest ${Math.round(worstMs)} ms`;
    if (process.env.FAIRNESS_VERBOSE) console.error(text);
    assert.ok(worstMs < boundMs, `${text}; the bound is ${Math.round(boundMs)} ms`);
    assert.equal(failed, 0, `${what}: probes failed`);
    assert.ok(server.running);
  }

  const burst = (name, count, request) => () =>
    Promise.all(Array.from({ length: count }, () => client.call(name, request()))).then((answers) => {
      const broken = answers.find(isBroken);
      assert.equal(broken, undefined, `${name} is answered: ${broken?.code} ${broken?.message}`);
      return answers;
    });

  for (const [name, [count, request]] of Object.entries(bursts))
    test(`${count} times ${name}`, () =>
      judge(name, async () => {
        const answers = await burst(name, count, request)();
        const ok = answers.filter((a) => a.code === 0).length;
        assert.ok(ok > 0, `${name} succeeds: ${answers[0].code} ${answers[0].message}`);
      }));

  test('1,000 new timers in a run that has many', () =>
    judge('RespondWorkflowTaskCompleted', async () => {
      for (let round = 0; round < pick(2, 4); round++) await addTimers(client, round);
    }));

  test('times of a schedule over HTTP', () =>
    judge('HTTP', async () => {
      const path = '/api/v1/namespaces/default/schedules/dense/matching-times?startTime=2026-01-01T00:00:00Z&endTime=2027-01-01T00:00:00Z';
      const answers = await Promise.all(Array.from({ length: pick(10, 20) }, () => fetch(server.httpAddress + path)));
      for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
    }));

  test('a large history over HTTP', () =>
    judge('HTTP', async () => {
      const path = '/api/v1/namespaces/default/workflows/large/history';
      for (let round = 0; round < pick(1, 10); round++) {
        const answers = await Promise.all(Array.from({ length: pick(30, 100) }, () => fetch(server.httpAddress + path)));
        for (const answer of answers) assert.equal(answer.status, 200);
        await Promise.all(answers.map((answer) => answer.arrayBuffer()));
      }
    }));

  const rest = methods.filter((m) => !(m.name in bursts) && !(m.name in reasons));
  test(`${rest.length} other methods`, async () => {
    for (const { name } of rest) await judge(name, burst(name, genericCount, generic));
  });

  test('bursts and reasons are about methods that exist', () => {
    const known = new Set(methods.map((m) => m.name));
    for (const name of [...Object.keys(bursts), ...Object.keys(reasons)]) assert.ok(known.has(name), `${name} is a method`);
  });
});

const AGED = Number(process.env.FAIRNESS_CLOSED ?? pick(20_000, 1_000_000));
const SWEEP_MS = pick(300_000, 7_200_000); // ends what hangs

// The runs become older than any retention while the server is down.
const age = (server) =>
  execFileSync('sqlite3', [server.dataFile, `UPDATE executions SET close_us = close_us - ${40 * 86_400} * 1000000 WHERE close_us IS NOT NULL`]);
const countClosed = (server) => server.rows('SELECT count(*) AS n FROM executions WHERE close_us IS NOT NULL')[0].n;

describe('while retention removes closed runs', { timeout: SWEEP_MS + 1_800_000 }, () => {
  test(`${AGED} of them`, async () => {
    await withProcess({}, async (server) => {
      const client = new RawClient(server);
      await closeRuns(client, AGED);
      client.close();
      assert.equal(await server.stop(), 0);
      age(server);
      await server.launchSilently();
      const prober = await startProber(server);
      try {
        await prober.reset();
        await until(() => countClosed(server) < AGED / 10, SWEEP_MS, 'the runs to be removed');
        const { worstMs, count, failed } = await prober.report();
        assert.equal(failed, 0, 'no probe fails');
        assert.ok(worstMs < FLOOR_MS, `${count} probes, the slowest ${Math.round(worstMs)} ms`);
      } finally {
        await prober.stop();
      }
    });
  });
});
