// Runs that an operator pauses: what is kept from workers, what is written meanwhile, and how they go on.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { QueryRejectedError } from '@temporalio/client';
import { tokens } from './lib/activities.mjs';
import { eventNames } from './lib/history.mjs';
import { eventually, failure, inNewWorld, openWorld, replayAll } from './lib/world.mjs';

const world = openWorld();
const namespace = 'default';

const pause = (handle, service = world.service, requestId = randomUUID()) =>
  service.pauseWorkflowExecution({ namespace, workflowId: handle.workflowId, identity: 'me', reason: 'a look', requestId });
const unpause = (handle, service = world.service) =>
  service.unpauseWorkflowExecution({ namespace, workflowId: handle.workflowId, identity: 'me', reason: 'enough' });
const isIdle = (handle) => eventually(async () => (await eventNames(handle)).at(-1) === 'WORKFLOW_TASK_COMPLETED');
const tasks = async (handle) => (await eventNames(handle)).filter((name) => name === 'WORKFLOW_TASK_SCHEDULED').length;

describe('a paused workflow', { concurrency: 8, timeout: 120_000 }, () => {
  test('takes signals and sees them when it goes on', async () => {
    const handle = await world.start('collect');
    await isIdle(handle);
    await pause(handle);
    await handle.signal('add', 'a');
    await handle.signal('add', 'b');
    assert.deepEqual((await eventNames(handle)).slice(4), [
      'WORKFLOW_EXECUTION_PAUSED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_SIGNALED',
    ]);
    await unpause(handle);
    await handle.signal('stop');
    assert.deepEqual(await handle.result(), ['a', 'b']);
  });

  test('is shown as paused, also in lists', async () => {
    const handle = await world.start('collect');
    await pause(handle);
    const described = await handle.describe();
    assert.equal(described.status.name, 'PAUSED');
    const { workflowExtendedInfo, workflowExecutionInfo } = described.raw;
    assert.equal(workflowExtendedInfo.pauseInfo.reason, 'a look');
    assert.equal(workflowExtendedInfo.pauseInfo.identity, 'me');
    assert.ok(workflowExtendedInfo.pauseInfo.pausedTime);
    const paused = workflowExecutionInfo.searchAttributes.indexedFields.TemporalPauseInfo;
    assert.deepEqual(JSON.parse(Buffer.from(paused.data)), [`Workflow:${handle.workflowId}`, 'Reason:a look']);
    const listed = [];
    const query = `ExecutionStatus = 'Paused' AND TemporalPauseInfo = 'Workflow:${handle.workflowId}'`;
    for await (const run of world.client.workflow.list({ query })) listed.push(run.workflowId);
    assert.deepEqual(listed, [handle.workflowId]);
    await unpause(handle);
    assert.equal((await handle.describe()).status.name, 'RUNNING');
    await handle.signal('stop');
    await handle.result();
  });

  test('is paused once for each request', async () => {
    const handle = await world.start('collect');
    const requestId = randomUUID();
    await pause(handle, world.service, requestId);
    await pause(handle, world.service, requestId);
    const error = await failure(pause(handle));
    assert.equal(error.code, status.FAILED_PRECONDITION);
    await unpause(handle);
    assert.equal((await failure(unpause(handle))).code, status.FAILED_PRECONDITION);
    await handle.terminate();
    assert.equal((await failure(pause(handle))).code, status.NOT_FOUND);
  });

  test('refuses queries and updates', async () => {
    const handle = await world.start('account', [5]);
    await isIdle(handle);
    await pause(handle);
    const rejected = await failure(handle.query('balance'));
    assert.ok(rejected instanceof QueryRejectedError, rejected);
    const refused = await failure(handle.executeUpdate('deposit', { args: [1] }));
    assert.match(String(refused.cause?.details ?? refused.details), /Workflow is paused/);
    await unpause(handle);
    assert.equal(await handle.executeUpdate('deposit', { args: [1] }), 6);
    await handle.signal('stop');
    await handle.result();
  });

  test('lets its activity end, and goes on with that', async () => {
    const handle = await world.start('activity', ['endsElsewhere', { startToCloseTimeout: '1m' }]);
    const token = await tokens.wait(handle.workflowId);
    await pause(handle);
    await world.client.activity.complete(token, 'meanwhile');
    assert.ok((await eventNames(handle)).includes('ACTIVITY_TASK_COMPLETED'));
    assert.equal(await tasks(handle), 1);
    await unpause(handle);
    assert.equal(await handle.result(), 'meanwhile');
  });

  test('can be cancelled and terminated', async () => {
    const cancelled = await world.start('forever');
    await isIdle(cancelled);
    await pause(cancelled);
    await cancelled.cancel();
    assert.equal(await tasks(cancelled), 1);
    await unpause(cancelled);
    await failure(cancelled.result());
    const terminated = await world.start('forever');
    await pause(terminated);
    await terminated.terminate('done');
    assert.match((await failure(terminated.result())).cause.message, /done/);
  });

  test('stays paused when the server is killed', async () => {
    await inNewWorld(async (other) => {
      const handle = await other.start('collect');
      await isIdle(handle);
      await pause(handle, other.service);
      await handle.signal('add', 'a');
      await other.server.kill();
      await other.server.launch();
      assert.equal((await handle.describe()).status.name, 'PAUSED');
      await unpause(handle, other.service);
      await handle.signal('stop');
      assert.deepEqual(await handle.result(), ['a']);
    });
  });
});

replayAll(world);
