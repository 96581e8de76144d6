// Every number of every limits.def: reached, exceeded by one, and the server killed and started again.
//
// The build with tiny limits (make tiny, tiny_limits.h) makes this quick. What is refused was not committed; what was
// committed is there after the restart. A new line in a limits.def needs a case in limits/, or a reason there.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NAMESPACE, openConnection, seconds, startRequest, uniqueId } from './lib/client.mjs';
import { TINY_BINARY, definitions, limit, tiny } from './lib/limits.mjs';
import { BINARY, RondoProcess, inParallel } from './lib/process.mjs';
import { takeTask } from './lib/tasks.mjs';
import { cases as coreCases } from './limits/core.mjs';
import { cases as engineCases } from './limits/engine.mjs';
import { cases as netCases } from './limits/net.mjs';
import { reasonOf } from './limits/reasons.mjs';
import { groups } from './limits/settable.mjs';

// Those that need a server of their own: they fill a table of the whole server.
const ALONE = new Set(['engine.QUEUES', 'engine.RUNS', 'engine.NAMESPACES', 'engine.DEPLOYMENTS', 'engine.PARKED', 'engine.QUEUE_CONFIGS', 'engine.LISTED_QUEUES']);

const nameOf = ({ layer, name }) => `${layer}.${name}`;

describe('the tables', () => {
  const known = new Set([coreCases, engineCases, netCases, ...groups.map((g) => g.cases)].flatMap((cases) => Object.keys(cases)));

  for (const definition of definitions)
    test(`${nameOf(definition)} has a case, or a reason why it needs none`, () => {
      const name = nameOf(definition);
      assert.ok(known.has(name) || reasonOf.has(name), 'add a case to test/process/limits, or a reason to reasons.mjs');
      assert.ok(!(known.has(name) && reasonOf.has(name)), 'it has both');
    });

  test('every case, reason and tiny number is about a limit that exists', () => {
    const existing = new Set(definitions.map(nameOf));
    for (const name of [...known, ...reasonOf.keys(), ...tiny.keys()]) assert.ok(existing.has(name), name);
  });
});

// A server with tiny limits and a connection to it. restart() kills it and connects anew.
class Subject {
  static async start(options = {}) {
    const subject = new Subject();
    subject.server = await RondoProcess.startSilently({ binary: TINY_BINARY, ...options });
    await subject.connect();
    return subject;
  }

  async connect() {
    await this.connection?.close();
    this.connection = await openConnection(this.server);
  }

  async restart() {
    assert.ok(this.server.running, `the server has ended\n${this.server.log}`);
    await this.server.kill();
    await this.server.launchSilently();
    await this.connect();
    return this.connection.workflowService;
  }

  async run(fn, max, more = {}) {
    const { workflowService: service, operatorService: operator } = this.connection;
    await fn({ service, operator, server: this.server, restart: () => this.restart(), max, ...more });
    assert.ok(this.server.running, `the server has ended\n${this.server.log}`);
  }

  // Started again, it answers.
  async judge() {
    const service = await this.restart();
    await service.describeNamespace({ namespace: NAMESPACE });
  }

  async stop() {
    await this.connection.close();
    if (this.server.running) await this.server.kill();
  }
}

function suite(title, cases, options, { alone = () => false, numberOf = limit, more = {} } = {}) {
  describe(title, { timeout: 600_000, concurrency: 1 }, () => {
    let shared;
    for (const [name, fn] of Object.entries(cases))
      test(name, async () => {
        if (!shared?.server.running || alone(name)) {
          await shared?.stop();
          shared = await Subject.start(options());
        }
        try {
          await shared.run(fn, numberOf(name), more);
          await shared.judge();
        } finally {
          if (alone(name) || !shared.server.running) {
            await shared.stop();
            shared = undefined;
          }
        }
      });
    test('the server stops cleanly', async () => {
      if (!shared) return;
      assert.equal(await shared.server.stop(), 0);
      await shared.stop();
    });
  });
}

// Each has a server of its own, and waits for disks and timers most of the time.
describe('every limit is reached and exceeded', { concurrency: 3 }, () => {
  suite('core', coreCases, () => ({}));
  suite('engine', engineCases, () => ({}), { alone: (name) => ALONE.has(name) });
  suite('net', netCases, () => ({}));
  const keys = new Map(definitions.map((d) => [nameOf(d), d.key]));
  for (const { settings, cases } of groups)
    suite('settable', cases, () => ({ dynamicConfig: Object.entries(settings).map(([name, value]) => `${keys.get(name)}=${value}`) }), {
      numberOf: (name) => settings[name],
      more: { slack: limit('core.LEDGER_SLACK') },
    });
});

describe('a data file with more than the limits', { timeout: 120_000 }, () => {
  test('is opened, and all of its tasks are handed out', async () => {
    const server = await RondoProcess.startSilently({ binary: BINARY });
    let connection = await openConnection(server);
    let service = connection.workflowService;
    const queues = Array.from({ length: limit('engine.QUEUES') + 5 }, () => uniqueId('queue'));
    try {
      const late = { workflowRunTimeout: seconds(86400) }; // a deadline, so that it counts as a run in memory
      await inParallel(queues.length, (i) => service.startWorkflowExecution(startRequest({ taskQueue: { name: queues[i] }, ...late })));
      for (let i = 0; i < limit('engine.NAMESPACES') + 2; i++) {
        const namespace = uniqueId('namespace');
        await service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: seconds(86400) });
        for (let k = 0; k < 2; k++)
          await service.createWorkerDeployment({ namespace, deploymentName: uniqueId('deployment'), requestId: uniqueId('request'), identity: 'test/process' });
      }
      await connection.close();
      assert.equal(await server.stop(), 0);
      server.binary = TINY_BINARY;
      await server.launchSilently();
      connection = await openConnection(server);
      service = connection.workflowService;
      await inParallel(queues.length, async (i) => assert.ok((await takeTask(service, queues[i])).taskToken.length, queues[i]), 20);
    } finally {
      await connection.close();
      await server.kill();
    }
  });
});
