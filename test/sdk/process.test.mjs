// The server as a process: how it stops, what it refuses, and that two of them are two.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempts } from './lib/activities.mjs';
import { Server, freePort } from './lib/server.mjs';
import { World } from './lib/world.mjs';

describe('a server process', { timeout: 120_000 }, () => {
  test('stops on SIGTERM while polls and long polls are parked', async () => {
    const world = new World();
    await world.open();
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
    await world.runs.replay(world.client);
    await world.close();
  });

  test('stops on SIGINT', async () => {
    const server = await Server.start();
    server.child.kill('SIGINT');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  test('is one of two that share nothing', async () => {
    const worlds = [new World(), new World()];
    await Promise.all(worlds.map((world) => world.open()));
    const workflowId = 'same id, same queue, two servers';
    const handles = await Promise.all(
      worlds.map((world, index) => world.start('hello', [`server ${index}`], { workflowId }))
    );
    const results = await Promise.all(handles.map((handle) => handle.result()));
    assert.deepEqual(results, ['Hello, server 0!', 'Hello, server 1!']);
    assert.equal(attempts.get(workflowId).length, 2);
    assert.notEqual(handles[0].firstExecutionRunId, handles[1].firstExecutionRunId);
    for (const world of worlds) await world.runs.replay(world.client);
    await Promise.all(worlds.map((world) => world.close()));
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
