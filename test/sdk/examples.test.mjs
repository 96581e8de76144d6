// Every example of the command line's help, run as it stands in a shell, beside the real SDK's workers.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { RunningWorker } from './lib/worker.mjs';
import { BINARY } from './lib/server.mjs';
import { eventually, openWorld } from './lib/world.mjs';

const world = openWorld();
const directory = mkdtempSync(path.join(os.tmpdir(), 'rondo-examples-'));
let env;
let versioned;

async function open() {
  env = {
    PATH: `${path.dirname(BINARY)}:${process.env.PATH}`,
    HOME: directory,
    RONDO_ADDRESS: world.server.address,
    ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '',
    TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? '',
  };
  const workerDeploymentOptions = {
    useWorkerVersioning: true,
    version: { deploymentName: 'orders', buildId: 'v2' },
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  };
  versioned = await RunningWorker.start(world.server, 'versioned', { workerDeploymentOptions });
}
after(async () => {
  await versioned?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const rondo = (...args) => promisify(execFile)(BINARY, args, { env });
const helpOf = (words) => JSON.parse(execFileSync(BINARY, [...words, '--help', '-o', 'json']));

// What the examples speak of is there before each of them, whatever the ones before did to it.
async function running(workflowId, type) {
  const workflowIdConflictPolicy = 'TERMINATE_EXISTING';
  const handle = await world.client.workflow.start(type, { workflowId, taskQueue: 'main', args: [{ count: 2 }], workflowIdConflictPolicy });
  await eventually(async () => {
    const { raw } = await handle.describe();
    return raw.workflowExecutionInfo.historyLength >= 4 && (type !== 'order' || raw.pendingActivities.length);
  });
  return handle;
}
const order = () => running('order-7', 'order');
const cart = () => running('cart-3', 'cart');
const gone = (workflowId) => world.client.workflow.getHandle(workflowId).terminate().catch(() => undefined);
const schedule = () =>
  rondo('schedule', 'create', '-s', 'report', '--interval', '1h', '--type', 'same', '-t', 'main', '-w', 'report').catch(() => undefined);
const deployment = async () => {
  await rondo('worker', 'deployment', 'create', '--name', 'orders').catch(() => undefined);
  await eventually(() => rondo('worker', 'deployment', 'describe-version', '--deployment-name', 'orders', '--build-id', 'v2').catch(() => false));
};
const namespace = () => rondo('operator', 'namespace', 'create', 'orders').catch(() => undefined);
const attribute = () => rondo('operator', 'search-attribute', 'create', '--name', 'Customer', '--type', 'Keyword').catch(() => undefined);
const batch = async () => {
  const visibilityQuery = "WorkflowId = 'nobody'";
  const start = { namespace: 'default', jobId: '2f9a6e2c', visibilityQuery, reason: 'x', cancellationOperation: {} };
  await world.service.startBatchOperation(start).catch(() => undefined);
};
const slowBatch = async () => {
  await order();
  await cart();
  const visibilityQuery = "WorkflowId = 'order-7' OR WorkflowId = 'cart-3'";
  const start = { namespace: 'default', jobId: '7c01d2aa', visibilityQuery, reason: 'x', maxOperationsPerSecond: 0.01 };
  await world.service.startBatchOperation({ ...start, signalOperation: { signal: 'add' } });
};
const profile = () => rondo('config', 'set', '--profile', 'prod', '--prop', 'address', '--value', 'x:1');
const environment = () => rondo('env', 'set', 'prod.address', 'x:1');

const crontab = () => rondo('crontab', 'bind', '--crontab', '0 */10 * * * *', '--type', 'scheduledFunc', '-t', 'functions');

const firstOf = {
  'crontab list': crontab,
  'crontab describe': crontab,
  'crontab delete': crontab,
  'workflow start': () => gone('order-7'),
  'workflow execute': () => gone('order-8'),
  'workflow result': async () => (await order()).signal('approve', true),
  'workflow trace': async () => (await order()).signal('approve', true),
  'workflow signal-with-start': undefined,
  'workflow query': order,
  'workflow reset with-workflow-update-options': async () => {
    await gone('order-7');
    await deployment();
    await rondo('worker', 'deployment', 'set-current-version', '--deployment-name', 'orders', '--build-id', 'v2', '--yes');
    const handle = await world.client.workflow.start('order', { workflowId: 'order-7', taskQueue: 'versioned', args: [{ count: 2 }] });
    await eventually(async () => (await handle.describe()).raw.workflowExecutionInfo.historyLength >= 4);
  },
  'workflow unpause': async () => {
    await order();
    await rondo('workflow', 'pause', '-w', 'order-7').catch(() => undefined);
  },
  'workflow update-options': async () => {
    await gone('order-7');
    await world.client.workflow.start('order', { workflowId: 'order-7', taskQueue: 'versioned', args: [{ count: 2 }] });
  },
  'workflow update result': async () => {
    await cart();
    await rondo('workflow', 'update', 'execute', '-w', 'cart-3', '--name', 'addItem', '-i', '"pen"', '--update-id', 'pen-1');
  },
  'workflow update describe': async () => {
    await cart();
    await rondo('workflow', 'update', 'execute', '-w', 'cart-3', '--name', 'addItem', '-i', '"pen"', '--update-id', 'pen-1');
  },
  'activity unpause': async () => {
    await order();
    await rondo('activity', 'pause', '-a', '1', '-w', 'order-7');
  },
  'schedule create': () => rondo('schedule', 'delete', '-s', 'report').catch(() => undefined),
  'schedule cancel-backfill': async () => {
    const period = ['--start-time', '2026-01-01T00:00:00Z', '--end-time', '2026-01-02T00:00:00Z', '--overlap-policy', 'BufferAll'];
    await rondo('schedule', 'delete', '-s', 'report').catch(() => undefined);
    await rondo('schedule', 'create', '-s', 'report', '--interval', '1h', '--type', 'same', '-t', 'nobody');
    await rondo('schedule', 'backfill', '-s', 'report', ...period);
  },
  'schedule next': undefined,
  'schedule calendar delete': () => rondo('schedule', 'calendar', 'put', '--name', 'german', '--date', '2026-12-25'),
  'batch list': undefined,
  'batch terminate': slowBatch,
  'worker describe': () =>
    world.service.recordWorkerHeartbeat({ namespace: 'default', workerHeartbeat: [{ workerInstanceKey: '8d2f7c', taskQueue: 'q' }] }),
  'worker deployment create': undefined,
  'worker deployment create-version': () => rondo('worker', 'deployment', 'create', '--name', 'billing'),
  'worker deployment delete': undefined, // the one that was just created
  'worker deployment set-ramping-version': () =>
    rondo('worker', 'deployment', 'set-current-version', '--deployment-name', 'orders', '--unversioned', '--allow-no-pollers', '--yes'),
  'operator namespace create': () => rondo('operator', 'namespace', 'delete', 'orders', '--yes').catch(() => undefined),
  'operator namespace list': undefined,
  'operator search-attribute create': undefined,
};

// For servers of several clusters.
const notOffered = ['operator cluster upsert', 'operator cluster remove'];

// In this order: what is most special first.
async function prepare(name) {
  if (name in firstOf) await firstOf[name]?.();
  else if (name.startsWith('workflow update')) await cart();
  else if (/^(workflow|activity) /.test(name)) await order();
  else if (name.startsWith('schedule ')) await schedule();
  else if (name.startsWith('batch ')) await batch();
  else if (name.startsWith('worker deployment ')) await deployment();
  else if (name.startsWith('operator namespace ')) await namespace();
  else if (name.startsWith('operator search-attribute ')) await attribute();
  else if (name.startsWith('config ')) await profile();
  else if (name.startsWith('env ')) await environment();
}

test('every example does what it says', { timeout: 300_000 }, async (t) => {
  await open();
  const commands = helpOf([]).commands.map((c) => c.name).filter((name) => !/^(server|version$|help$)/.test(name));
  for (const name of commands) {
    const help = helpOf(name.split(' '));
    for (const { line } of help.examples) {
      await t.test(line, async () => {
        await prepare(name);
        // Scripts for other shells are only printed here.
        const script = /zsh|fish/.test(name) ? /rondo [a-z ]+/.exec(line)[0] : line;
        const ran = promisify(execFile)('bash', ['-c', `set -o pipefail; ${script}`], { env, cwd: directory });
        if (notOffered.includes(name)) {
          await assert.rejects(ran, /this server does not offer that/);
          return;
        }
        assert.equal((await ran).stderr, '');
      });
    }
  }
});
