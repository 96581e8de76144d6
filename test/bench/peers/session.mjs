// One system for one round, from its start to its end: what each case of it gives.
//
// Every figure of CPU is for one operation, by role: server, database, worker, client. `others` is the part of
// the machine that was used by nobody of ours while it was measured.

import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { countSyncs, Helper, machineBusyUs, usageOf } from './processes.mjs';

const SETTLE_MS = 2000;
const IDLE_MS = 3000;
const WARM_UP_SECONDS = 2;
const LOADING_RATE = 150; // timers a second that every system can set
const QUIET_CPU = 0.1; // of a core
const QUIET_MAX_MS = 30_000;
const FIRST_TICK_MAX_MS = 45_000; // DBOS looks for new schedules every 30 s

export class Session {
  static async open(system, started) {
    const began = performance.now();
    const driver = new Helper(new URL('driver.mjs', import.meta.url), [system, JSON.stringify(started.connection)]);
    await driver.next();
    return new Session(started, driver, performance.now() - began);
  }

  constructor(started, driver, driverMs) {
    this.started = started;
    this.driver = driver;
    this.lateness = started.lateness ?? driver;
    this.roles = { ...started.roles, client: driver.pid };
    this.readyMs = started.readyMs + (started.isReadyWithClient ? driverMs : 0);
  }

  async close() {
    await this.driver.stop();
    await this.started.stop();
  }

  #usage() {
    const roles = Object.fromEntries(Object.entries(this.roles).map(([role, pid]) => [role, usageOf(pid)]));
    return { roles, busyUs: machineBusyUs(), ownUs: process.cpuUsage(), atMs: performance.now() };
  }

  // What it took since `before`, for each of `count` operations.
  #cost(before, count) {
    const after = this.#usage();
    const cost = { cpuUs: {}, writtenBytes: 0 };
    let oursUs = after.ownUs.user + after.ownUs.system - before.ownUs.user - before.ownUs.system;
    for (const [role, usage] of Object.entries(after.roles)) {
      const cpuUs = usage.cpuUs - before.roles[role].cpuUs;
      oursUs += cpuUs;
      cost.cpuUs[role] = cpuUs / count;
      if (role === 'server' || role === 'database')
        cost.writtenBytes += (usage.writtenBytes - before.roles[role].writtenBytes) / count;
    }
    const wallUs = (after.atMs - before.atMs) * 1000;
    cost.others = Math.max((after.busyUs - before.busyUs - oursUs) / (wallUs * availableParallelism()), 0);
    return cost;
  }

  async idle() {
    await sleep(SETTLE_MS);
    const before = this.#usage();
    await sleep(IDLE_MS);
    const { cpuUs, others } = this.#cost(before, IDLE_MS / 1000);
    const { roles } = this.#usage();
    const memoryBytes = Object.fromEntries(Object.entries(roles).map(([role, usage]) => [role, usage.memoryBytes]));
    return { readyMs: this.readyMs, memoryBytes, cpuUsPerSecond: cpuUs, others };
  }

  async closedLoop(name, { width, seconds }) {
    await this.driver.ask({ ask: 'measure', name, width, seconds, warmUp: WARM_UP_SECONDS });
    const before = this.#usage();
    const figures = await this.driver.next();
    const cost = this.#cost(before, figures.count);
    await this.driver.next(); // what was still under way has ended
    return { perSecond: figures.count / figures.seconds, p50: figures.p50, p99: figures.p99, ...cost };
  }

  // One at a time, so that no sync is shared. Slower than it is, since every call of the server is looked at.
  async syncs({ seconds }) {
    const { server, database } = this.roles;
    await this.driver.ask({ ask: 'measure', name: 'trivial', width: 1, seconds, warmUp: WARM_UP_SECONDS });
    const finish = await countSyncs([server, database].filter(Boolean));
    const figures = await this.driver.next();
    const count = await finish();
    await this.driver.next();
    return { perOperation: count / figures.count, perSecond: figures.count / figures.seconds };
  }

  // Until nobody of ours works any more: results are still written when the last timer has fired.
  async #quiet() {
    const end = Date.now() + QUIET_MAX_MS;
    for (let isBusy = true; isBusy && Date.now() < end; ) {
      const before = this.#usage();
      await sleep(500);
      const { cpuUs } = this.#cost(before, 0.5e6);
      isBusy = Object.values(cpuUs).some((share) => share > QUIET_CPU);
    }
  }

  async timers({ timers: count }) {
    const dueMs = Date.now() + (count / LOADING_RATE) * 1000 + 3000;
    await this.lateness.ask({ ask: 'clear' });
    await this.driver.ask({ ask: 'timers', count, dueMs });
    if (Date.now() > dueMs - 1000) throw new Error(`${count} timers could not be set before they were due`);
    await sleep(dueMs - Date.now() - 500);
    const before = this.#usage();
    const late = await this.lateness.ask({ ask: 'await', count });
    const lastMs = late.worst;
    await this.#quiet();
    return { perSecond: count / (lastMs / 1000), p50: late.p50, p99: late.p99, lastMs, ...this.#cost(before, count) };
  }

  async schedules({ schedules: count, scheduleSeconds }) {
    await this.lateness.ask({ ask: 'clear' });
    await this.driver.ask({ ask: 'schedules', count });
    const end = Date.now() + FIRST_TICK_MAX_MS;
    while ((await this.lateness.ask({ ask: 'read' })).count < count && Date.now() < end) await sleep(200);
    await sleep(SETTLE_MS);
    await this.lateness.ask({ ask: 'clear' });
    const before = this.#usage();
    await sleep(scheduleSeconds * 1000);
    const late = await this.lateness.ask({ ask: 'read' });
    const cost = this.#cost(before, late.count);
    return { perSecond: late.count / scheduleSeconds, p50: late.p50, p99: late.p99, lastMs: late.worst, ...cost };
  }
}
