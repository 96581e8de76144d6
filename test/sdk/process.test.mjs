// The server as a process: how it stops, what it refuses, and that two of them are two.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempts } from './lib/activities.mjs';
import { Server, freePort } from './lib/server.mjs';
import { inNewWorld } from './lib/world.mjs';

describe('a server process', { timeout: 120_000 }, () => {
  test('stops on SIGTERM while polls and long polls are parked', async () => {
    await inNewWorld(async (world) => {
      const handle = await world.start('forever');
      await handle.query('seen');
      const result = handle.result().catch((error) => error);
      await sleep(500);

      const before = Date.now();
      assert.equal(await world.server.stop(), 0);
      assert.ok(Date.now() - before < 10_000, `${Date.now() - before} ms`);

      // Its workers and clients get over it.
      await world.server.launch();
      await handle.terminate('the end');
      assert.equal((await result).message, 'the end');
    });
  });

  test('stops on SIGINT', async () => {
    const server = await Server.start();
    server.child.kill('SIGINT');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  test('is one of two that share nothing', async () => {
    const workflowId = 'same id, same queue, two servers';
    async function hello(world, name) {
      const handle = await world.start('hello', [name], { workflowId });
      assert.equal(await handle.result(), `Hello, ${name}!`);
      return handle.firstExecutionRunId;
    }
    await inNewWorld(async (one) => {
      await inNewWorld(async (other) => {
        const runIds = await Promise.all([hello(one, 'one'), hello(other, 'other')]);
        assert.equal(new Set(runIds).size, 2);
        assert.deepEqual(new Set(attempts.get(workflowId).map(({ runId }) => runId)), new Set(runIds));
        assert.equal(attempts.get(workflowId).length, 2);
      });
    });
  });

  test('does not open a data file that another one has open', async () => {
    const first = await Server.start();
    const second = new Server({ dataFile: first.dataFile });
    second.grpcPort = await freePort();
    second.httpPort = await freePort();
    second.spawn();
    const { code, signal } = await second.exited;
    assert.equal(signal, null);
    assert.ok(code > 0, `exit code ${code}`);
    assert.match(second.log, /in use|locked|another/i);
    assert.ok(second.log.includes(first.dataFile), second.log);
    await first.close();
  });

  test('does not share a port', async () => {
    const first = await Server.start();
    const second = new Server({});
    second.grpcPort = first.grpcPort;
    second.httpPort = await freePort();
    second.spawn();
    const { code } = await second.exited;
    assert.ok(code > 0, `exit code ${code}`);
    assert.match(second.log, /in use/i);
    await first.close();
  });
});
