// Namespaces, their search attributes, and workflows that are deleted.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import proto from '@temporalio/proto';
import { eventually, failure, openWorld, replayAll } from './lib/world.mjs';

const { ArchivalState, IndexedValueType } = proto.temporal.api.enums.v1;
const DAY = { seconds: 86400 };
const HOUR = { seconds: 3600 };

const world = openWorld();
const operator = () => world.client.connection.operatorService;

async function refusal(promise, code, text) {
  const error = await failure(promise);
  assert.equal(error.code, code, String(error));
  assert.match(error.details, text);
}

describe('namespaces', { concurrency: 4, timeout: 180_000 }, () => {
  test('are registered, described, updated and listed', async () => {
    const { connection } = world.client;
    const namespace = 'second';
    await world.service.registerNamespace({
      namespace,
      description: 'for tests',
      data: { team: 'a' },
      workflowExecutionRetentionPeriod: DAY,
    });
    await world.service.updateNamespace({ namespace, updateInfo: { ownerEmail: 'who@example.com' } });
    const { namespaceInfo, config, replicationConfig } = await world.service.describeNamespace({ namespace });
    assert.equal(namespaceInfo.description, 'for tests');
    assert.equal(namespaceInfo.ownerEmail, 'who@example.com');
    assert.deepEqual(namespaceInfo.data, { team: 'a' });
    assert.equal(Number(config.workflowExecutionRetentionTtl.seconds), 86400);
    assert.equal(namespaceInfo.supportsSchedules, true);
    assert.equal(config.historyArchivalState, ArchivalState.ARCHIVAL_STATE_DISABLED);
    assert.equal(config.visibilityArchivalState, ArchivalState.ARCHIVAL_STATE_DISABLED);
    assert.equal(replicationConfig.activeClusterName, 'active');
    assert.deepEqual(replicationConfig.clusters.map((each) => each.clusterName), ['active']);
    const byId = await world.service.describeNamespace({ id: namespaceInfo.id });
    assert.equal(byId.namespaceInfo.name, namespace);

    const shortened = await world.service.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: HOUR } });
    assert.equal(Number(shortened.config.workflowExecutionRetentionTtl.seconds), 3600);

    const names = [];
    let nextPageToken = new Uint8Array();
    do {
      const page = await world.service.listNamespaces({ pageSize: 1, nextPageToken });
      names.push(...page.namespaces.map((each) => each.namespaceInfo.name));
      ({ nextPageToken } = page);
    } while (nextPageToken.length);
    assert.deepEqual(names.sort(), ['default', namespace]);

    // The same id in two namespaces is two workflows.
    const there = new Client({ connection, namespace });
    const workflowId = 'in-both';
    await world.start('pause', [60_000], { workflowId });
    const other = await there.workflow.start('hello', { taskQueue: 'main', workflowId, args: ['Ada'] });
    assert.equal((await other.describe()).status.name, 'RUNNING');
    await world.client.workflow.getHandle(workflowId).terminate();
    assert.equal((await other.describe()).status.name, 'RUNNING');
    await other.terminate();
    world.runs.noted.delete(other.firstExecutionRunId); // it is not where the replay looks
  });

  test('bad requests are refused', async () => {
    const register = (request) => world.service.registerNamespace(request);
    await refusal(register({ workflowExecutionRetentionPeriod: DAY }), status.INVALID_ARGUMENT, /Namespace is not set/);
    await refusal(register({ namespace: 'x' }), status.INVALID_ARGUMENT, /retention/);
    await refusal(
      register({ namespace: 'x', workflowExecutionRetentionPeriod: { seconds: 3599 } }),
      status.INVALID_ARGUMENT,
      /at least an hour/
    );
    await refusal(
      register({ namespace: 'default', workflowExecutionRetentionPeriod: DAY }),
      status.ALREADY_EXISTS,
      /already exists/
    );
  });
});

describe('search attributes', { concurrency: 4, timeout: 180_000 }, () => {
  const city = defineSearchAttributeKey('City', SearchAttributeType.KEYWORD);
  const year = defineSearchAttributeKey('Year', SearchAttributeType.INT);

  test('are added, used and removed', async () => {
    const namespace = 'default';
    await operator().addSearchAttributes({
      namespace,
      searchAttributes: { City: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD, Year: IndexedValueType.INDEXED_VALUE_TYPE_INT },
    });
    const typedSearchAttributes = new TypedSearchAttributes([
      { key: city, value: 'Lisbon' },
      { key: year, value: 1755 },
    ]);
    const handle = await world.start('hello', ['Ada'], { typedSearchAttributes });
    const described = await handle.describe();
    assert.equal(described.typedSearchAttributes.get(city), 'Lisbon');
    assert.equal(described.typedSearchAttributes.get(year), 1755);
    await handle.result();

    const listed = await operator().listSearchAttributes({ namespace });
    assert.equal(listed.customAttributes.City, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD);
    assert.equal(listed.systemAttributes.WorkflowId, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD);
  });

  test('unknown names and wrong types are refused', async () => {
    const start = (searchAttributes) => world.start('hello', ['Ada'], { searchAttributes });
    const unknown = await failure(start({ Nowhere: ['x'] }));
    assert.match(unknown.cause.details, /no mapping defined for search attribute Nowhere/);
    const system = await failure(start({ WorkflowId: ['x'] }));
    assert.match(system.cause.details, /WorkflowId attribute can't be set/);
  });
});

test('a deleted workflow is gone, and its id is free', async () => {
  const workflowId = 'to-delete';
  const handle = await world.client.workflow.start('pause', { taskQueue: 'nobody', workflowId, args: [60_000] });
  await world.service.deleteWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId } });
  assert.equal((await failure(handle.describe())).name, 'WorkflowNotFoundError');
  world.runs.noted.delete(handle.firstExecutionRunId);
  const again = await world.start('hello', ['Ada'], { workflowId });
  assert.equal(await again.result(), 'Hello, Ada!');
});

describe('namespaces that go', { concurrency: 4, timeout: 180_000 }, () => {
  test('are emptied and removed, polls are ended, their name is free at once', async () => {
    const namespace = 'doomed';
    const register = () => world.service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: DAY });
    await register();
    const there = new Client({ connection: world.client.connection, namespace });
    const starts = Array.from({ length: 150 }, (_, n) =>
      there.workflow.start('hello', { taskQueue: 'nobody', workflowId: `w${n}` }),
    );
    const handles = await Promise.all(starts);
    for (const each of handles) world.runs.noted.delete(each.firstExecutionRunId); // they will not be there to replay
    await handles[0].terminate();
    const poll = world.service.pollWorkflowTaskQueue({ namespace, taskQueue: { name: 'idle' } });
    const { deletedNamespace } = await operator().deleteNamespace({ namespace });
    assert.match(deletedNamespace, /^doomed-deleted-[0-9a-f]{5}$/);
    assert.equal((await poll).taskToken.length, 0);
    const look = (name) => world.service.describeNamespace({ namespace: name });
    await refusal(look(namespace), status.NOT_FOUND, /doomed is not found/);
    await register();
    assert.equal((await there.workflow.count()).count, 0);
    await eventually(() => look(deletedNamespace).then(() => false, (error) => error.code === status.NOT_FOUND));
    const { namespaceInfo } = await world.service.describeNamespace({ namespace });
    assert.equal(namespaceInfo.name, namespace);
  });

  test('are listed only when asked for, and take no calls', async () => {
    const namespace = 'lingering';
    await world.service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: DAY });
    const { deletedNamespace } = await operator().deleteNamespace({ namespace, namespaceDeleteDelay: DAY });
    const names = async (request) =>
      (await world.service.listNamespaces(request)).namespaces.map((each) => each.namespaceInfo.name);
    assert.ok(!(await names({})).includes(deletedNamespace));
    assert.ok((await names({ namespaceFilter: { includeDeleted: true } })).includes(deletedNamespace));
    const call = world.service.listWorkflowExecutions({ namespace: deletedNamespace });
    await refusal(call, status.FAILED_PRECONDITION, /invalid state: Deleted/);
  });

  test('may only be deprecated: what runs there goes on', async () => {
    const namespace = 'old';
    await world.service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: DAY });
    const there = new Client({ connection: world.client.connection, namespace });
    const before = await there.workflow.start('hello', { taskQueue: 'nobody', workflowId: 'before' });
    await world.service.deprecateNamespace({ namespace });
    const late = there.workflow.start('hello', { taskQueue: 'nobody', workflowId: 'after' });
    await refusal(late.catch((e) => Promise.reject(e.cause ?? e)), status.FAILED_PRECONDITION, /Deprecated/);
    await before.terminate();
    world.runs.noted.delete(before.firstExecutionRunId); // it is not where the replay looks
    assert.equal((await world.service.describeNamespace({ namespace })).namespaceInfo.state, 2);
  });

  test('belong to one cluster', async () => {
    const { clusters } = await operator().listClusters({});
    assert.deepEqual(
      clusters.map((each) => [each.clusterName, each.historyShardCount]),
      [['active', 1]],
    );
  });
});

replayAll(world);
