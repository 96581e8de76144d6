// Workers and servers that die, and what must survive it.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { attempts } from './lib/activities.mjs';
import { eventNames, eventsNamed } from './lib/history.mjs';
import { eventually, inNewWorld, openWorld, replayAll } from './lib/world.mjs';

const upTo = (count) => Array.from({ length: count }, (_, index) => index);

describe('a worker', { timeout: 120_000 }, () => {
  const world = openWorld();
  const WORKER = fileURLToPath(new URL('lib/worker-process.mjs', import.meta.url));

  async function forkWorker(taskQueue) {
    const child = fork(WORKER, [world.server.address, taskQueue]);
    await once(child, 'message');
    return child;
  }

  test('is stopped, and another goes on', async () => {
    const taskQueue = `relay-${randomUUID()}`;
    const handle = await world.start('collect', [], { taskQueue });
    await world.withWorker(taskQueue, async () => {
      await handle.signal('add', 1);
      await eventually(async () => (await handle.query('seen')).length === 1);
    });
    await handle.signal('add', 2);
    await world.withWorker(taskQueue, async () => {
      await handle.signal('stop');
      assert.deepEqual(await handle.result(), [1, 2]);
    });
  });

  test('is killed between two tasks: its sticky queue is given up', async () => {
    const taskQueue = `killed-${randomUUID()}`;
    const child = await forkWorker(taskQueue);
    const handle = await world.start('collect', [], { taskQueue });
    await handle.signal('add', 1);
    await eventually(async () => (await handle.query('seen')).length === 1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await handle.signal('stop');
    await world.withWorker(taskQueue, async () => assert.deepEqual(await handle.result(), [1]));
  });

  test('is killed in an activity: the activity is repeated', async () => {
    const taskQueue = `killed-${randomUUID()}`;
    const child = await forkWorker(taskQueue);
    const started = once(child, 'message');
    const options = { startToCloseTimeout: '2s', retry: { initialInterval: 20 } };
    const handle = await world.start('activity', ['stalls', options, 10_000, 1], { taskQueue });
    await started;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await world.withWorker(taskQueue, async () => assert.equal(await handle.result(), 2));
  });

  for (const maxCachedWorkflows of [0, 1]) {
    test(`remembers ${maxCachedWorkflows} workflows`, async () => {
      const taskQueue = `forgetful-${randomUUID()}`;
      const body = async () => {
        const handles = await Promise.all(upTo(5).map(() => world.start('journey', [4, 1], { taskQueue })));
        for (const handle of handles) await handle.signal('add', handle.workflowId);
        for (const handle of handles) {
          assert.deepEqual(await handle.result(), { counted: 4, values: [handle.workflowId] });
        }
      };
      await world.withWorker(taskQueue, body, { maxCachedWorkflows });
    });
  }

  test('shares a queue with another', async () => {
    const taskQueue = `shared-${randomUUID()}`;
    await world.withWorker(taskQueue, async () => {
      await world.withWorker(taskQueue, async () => {
        const runs = upTo(40).map(() => world.execute('journey', [3, 0], { taskQueue }));
        for (const { counted } of await Promise.all(runs)) assert.equal(counted, 3);
      });
    });
  });

  test('is replaced again and again while workflows run', async () => {
    const taskQueue = `shift-${randomUUID()}`;
    const handles = await Promise.all(upTo(10).map(() => world.start('journey', [8, 0], { taskQueue })));
    const results = Promise.all(handles.map((handle) => handle.result()));
    for (let shift = 0; shift < 4; shift++) await world.withWorker(taskQueue, () => sleep(500));
    await world.withWorker(taskQueue, async () => {
      for (const { counted } of await results) assert.equal(counted, 8);
    });
  });

  replayAll(world);
});

describe('a server', { timeout: 240_000 }, () => {
  test('is killed in the middle of workflows', async () => {
    await inNewWorld(async (world) => {
      const handles = await Promise.all(upTo(20).map(() => world.start('journey', [6, 3])));
      await world.server.killAndRestart();
      for (const value of upTo(3)) {
        await Promise.all(handles.map((handle) => handle.signal('add', value)));
        await world.server.killAndRestart();
      }
      for (const handle of handles) {
        const { counted, values } = await handle.result();
        assert.equal(counted, 6);
        assert.deepEqual(values, [0, 1, 2]);
        assert.equal((await eventsNamed(handle, 'ACTIVITY_TASK_COMPLETED')).length, 6);
      }
    });
  });

  test('is killed while an activity runs, which then completes', async () => {
    await inNewWorld(async (world) => {
      const options = { startToCloseTimeout: '30s', heartbeatTimeout: '20s', retry: { maximumAttempts: 1 } };
      const handle = await world.start('activity', ['heartbeatsFor', options, 2000]);
      await eventually(() => attempts.has(handle.workflowId));
      await world.server.killAndRestart();
      assert.equal(await handle.result(), 1);
    });
  });

  test('is killed while a timer runs, and the timer is due before it is back', async () => {
    await inNewWorld(async (world) => {
      const handle = await world.start('pause', [300]);
      await eventually(async () => (await eventNames(handle)).includes('TIMER_STARTED'));
      await world.server.kill();
      await sleep(500);
      await world.server.launch();
      assert.equal(await handle.result(), 'slept');
    });
  });

  test('keeps what is closed', async () => {
    await inNewWorld(async (world) => {
      const handle = await world.start('hello', ['Ada']);
      await handle.result();
      const { events } = await handle.fetchHistory();
      await world.server.killAndRestart();
      assert.equal(await handle.result(), 'Hello, Ada!');
      assert.deepEqual((await handle.fetchHistory()).events, events);
      assert.equal(await world.server.stop(), 0);
      await world.server.launch();
      assert.deepEqual((await handle.fetchHistory()).events, events);
    });
  });
});
