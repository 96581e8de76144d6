// Lists and counts: the filter language, custom attributes of every type, pages, the older calls.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import proto from '@temporalio/proto';
import { failure, openWorld, replayAll } from './lib/world.mjs';

const Indexed = proto.temporal.api.enums.v1.IndexedValueType;
const NAMESPACE = 'default';
const QUEUE = 'lists'; // nobody polls it, so what is started there stays as it is
const BORN = new Date('1815-12-10T12:00:00.250Z');

const world = openWorld();

async function all(query) {
  const found = [];
  for await (const each of world.client.workflow.list({ query, pageSize: 7 })) found.push(each);
  return found;
}

async function ids(query) {
  return (await all(query)).map((each) => each.workflowId);
}

async function refuses(query, text) {
  const error = await failure(world.service.listWorkflowExecutions({ namespace: NAMESPACE, query }));
  assert.equal(error.code, status.INVALID_ARGUMENT, String(error));
  assert.match(error.details, text);
}

async function begin(workflowId, options = {}) {
  const handle = await world.client.workflow.start('pause', { taskQueue: QUEUE, workflowId, args: [1], ...options });
  world.runs.noted.delete(handle.firstExecutionRunId); // no worker has seen it: nothing to replay
  return handle;
}

describe('lists', { timeout: 120_000 }, () => {
  const keys = {
    City: defineSearchAttributeKey('City', SearchAttributeType.KEYWORD),
    Notes: defineSearchAttributeKey('Notes', SearchAttributeType.TEXT),
    Year: defineSearchAttributeKey('Year', SearchAttributeType.INT),
    Score: defineSearchAttributeKey('Score', SearchAttributeType.DOUBLE),
    Urgent: defineSearchAttributeKey('Urgent', SearchAttributeType.BOOL),
    Born: defineSearchAttributeKey('Born', SearchAttributeType.DATETIME),
    Tags: defineSearchAttributeKey('Tags', SearchAttributeType.KEYWORD_LIST),
  };
  const attributes = (values) =>
    new TypedSearchAttributes(Object.entries(values).map(([name, value]) => ({ key: keys[name], value })));

  before(async () => {
    await world.client.connection.operatorService.addSearchAttributes({
      namespace: NAMESPACE,
      searchAttributes: {
        City: Indexed.INDEXED_VALUE_TYPE_KEYWORD,
        Notes: Indexed.INDEXED_VALUE_TYPE_TEXT,
        Year: Indexed.INDEXED_VALUE_TYPE_INT,
        Score: Indexed.INDEXED_VALUE_TYPE_DOUBLE,
        Urgent: Indexed.INDEXED_VALUE_TYPE_BOOL,
        Born: Indexed.INDEXED_VALUE_TYPE_DATETIME,
        Tags: Indexed.INDEXED_VALUE_TYPE_KEYWORD_LIST,
      },
    });
    await begin('attr-ada', {
      memo: { who: 'Ada' },
      typedSearchAttributes: attributes({
        City: 'London',
        Notes: 'Wrote the first Program, for an engine.',
        Year: 1815,
        Score: 9.5,
        Urgent: true,
        Born: BORN,
        Tags: ['math', 'poetry "née"'],
      }),
    });
    await begin('attr-bob', {
      typedSearchAttributes: attributes({ City: "L'Aquila", Year: -3, Score: 2, Urgent: false, Tags: ['math'] }),
    });
    await begin('attr-none');
  });

  test('a run is listed the moment its start is answered, with what describe shows', async () => {
    const handle = await begin('now', { memo: { a: 1 } });
    const [found, ...rest] = await all(`WorkflowId = 'now'`);
    assert.equal(rest.length, 0);
    const described = await handle.describe();
    assert.equal(found.runId, described.runId);
    assert.equal(found.type, 'pause');
    assert.equal(found.taskQueue, QUEUE);
    assert.equal(found.status.name, 'RUNNING');
    assert.deepEqual(found.memo, { a: 1 });
    assert.equal(found.startTime.getTime(), described.startTime.getTime());
    assert.equal(found.closeTime, undefined);
    assert.equal(found.rootExecution.workflowId, 'now');
    await handle.terminate();
    const [closed] = await all(`WorkflowId = 'now' AND ExecutionStatus = 'Terminated'`);
    const after = await handle.describe();
    assert.equal(closed.closeTime.getTime(), after.closeTime.getTime());
    assert.equal(closed.historyLength, after.historyLength);
  });

  const cases = [
    [`City = 'London'`, 'ada'],
    [`City = "L'Aquila"`, 'bob'],
    [`City = 'L''Aquila'`, 'bob'],
    [`City STARTS_WITH 'L'`, 'ada bob'],
    [`City STARTS_WITH 'L' AND City NOT STARTS_WITH 'Lon'`, 'bob'],
    [`City IN ('London', 'Paris')`, 'ada'],
    [`City > 'L' and City < 'Lo'`, 'bob'],
    [`City BETWEEN 'La' AND 'Lz'`, 'ada'],
    [`City != 'London'`, 'bob none'],
    [`City IS NULL`, 'none'],
    [`City IS NOT NULL`, 'ada bob'],
    [`NOT (City IS NULL OR Year > 0)`, 'bob'],
    [`\`City\` = 'London'`, 'ada'],
    [`Year = 1815`, 'ada'],
    [`Year < 0`, 'bob'],
    [`Year >= -3`, 'ada bob'],
    [`Year NOT BETWEEN 0 AND 2000`, 'bob none'],
    [`Year IN (1, 1815, 3)`, 'ada'],
    [`Score = 9.5`, 'ada'],
    [`Score <= 2`, 'bob'],
    [`Score BETWEEN 2 AND 9.5`, 'ada bob'],
    [`Urgent = true`, 'ada'],
    [`Urgent = false`, 'bob'],
    [`Urgent != TRUE`, 'bob none'],
    [`Born = '1815-12-10T12:00:00.250Z'`, 'ada'],
    [`Born = '1815-12-10T13:00:00.25+01:00'`, 'ada'],
    [`Born < '1900-01-01T00:00:00Z'`, 'ada'],
    [`Born BETWEEN '0001-01-01T00:00:00Z' AND '9999-12-31T23:59:59Z'`, 'ada'],
    [`Born > 0`, ''],
    [`Tags = 'math'`, 'ada bob'],
    [`Tags = 'poetry "née"'`, 'ada'],
    [`Tags != 'math'`, 'none'],
    [`Tags IN ('chess', 'poetry "née"')`, 'ada'],
    [`Tags NOT IN ('poetry "née"')`, 'bob none'],
    [`Notes = 'program'`, 'ada'],
    [`Notes = 'pro'`, ''],
    [`Notes != 'Engine'`, 'bob none'],
    [`City = 'London' AND Year = 1815 AND Tags = 'math' OR City IS NULL`, 'ada none'],
    [`City = 'London' AND (Year = 1815 OR City IS NULL)`, 'ada'],
    [`City = 'x'' OR 1=1 --'`, ''],
  ];
  for (const [query, names] of cases) {
    test(query, async () => {
      const found = await ids(`(${query}) AND WorkflowId STARTS_WITH 'attr-'`);
      assert.deepEqual(found.sort(), names.split(' ').filter(Boolean).map((name) => `attr-${name}`));
      const { count } = await world.client.workflow.count(`(${query}) AND WorkflowId STARTS_WITH 'attr-'`);
      assert.equal(Number(count), found.length);
    });
  }

  test('attributes and memo come back with their types', async () => {
    const [ada] = await all(`WorkflowId = 'attr-ada'`);
    assert.deepEqual(ada.memo, { who: 'Ada' });
    assert.equal(ada.typedSearchAttributes.get(keys.City), 'London');
    assert.equal(ada.typedSearchAttributes.get(keys.Score), 9.5);
    assert.equal(ada.typedSearchAttributes.get(keys.Urgent), true);
    assert.deepEqual(ada.typedSearchAttributes.get(keys.Born), BORN);
    assert.deepEqual(ada.typedSearchAttributes.get(keys.Tags), ['math', 'poetry "née"']);
  });

  test('statuses, times and durations', async () => {
    const done = await world.start('hello', ['Ada'], { workflowId: 'st-done' });
    await done.result();
    const bad = await world.start('fails', [], { workflowId: 'st-failed' });
    await failure(bad.result());
    await begin('st-open');
    const mine = (query) => ids(`WorkflowId STARTS_WITH 'st-' AND (${query})`);
    assert.deepEqual(await mine(`ExecutionStatus = 'Running'`), ['st-open']);
    assert.deepEqual(await mine(`ExecutionStatus = 2`), ['st-done']);
    assert.deepEqual(await mine(`ExecutionStatus IN ('Failed', "TimedOut")`), ['st-failed']);
    assert.deepEqual(await mine(`ExecutionStatus != "Running"`), ['st-failed', 'st-done']);
    assert.deepEqual(await mine(`CloseTime IS NULL`), ['st-open']);
    assert.deepEqual(await mine(`ExecutionDuration < '1h30m'`), ['st-failed', 'st-done']);
    assert.deepEqual(await mine(`ExecutionDuration > '01:30:00'`), []);
    assert.deepEqual(await mine(`HistoryLength > 3 AND StateTransitionCount > 0`), ['st-failed', 'st-done']);
    const { startTime, closeTime, runId } = await done.describe();
    assert.deepEqual(await mine(`StartTime < '${startTime.toISOString()}' AND RunId = '${runId}'`), []);
    assert.deepEqual(await mine(`StartTime >= '${startTime.toISOString()}' AND RunId = '${runId}'`), ['st-done']);
    assert.deepEqual(await mine(`CloseTime > ${closeTime.getTime() - 1}000000 AND WorkflowType = 'hello'`), ['st-done']);
    // Open ones first, then the last closed.
    assert.deepEqual(await mine(`WorkflowId IS NOT NULL`), ['st-open', 'st-failed', 'st-done']);
  });

  test('children know their parents', async () => {
    const handle = await world.start('parent', ['hello', { args: ['Ada'], workflowId: 'kin-child' }], { workflowId: 'kin-parent' });
    await handle.result();
    assert.deepEqual(await ids(`ParentWorkflowId = 'kin-parent'`), ['kin-child']);
    const { runId } = await handle.describe();
    assert.deepEqual((await ids(`RootRunId = '${runId}'`)).sort(), ['kin-child', 'kin-parent']);
    const [child] = await all(`ParentRunId = '${runId}'`);
    assert.equal(child.parentExecution.workflowId, 'kin-parent');
  });

  test('counts, grouped by status', async () => {
    for (let i = 0; i < 3; i++) await begin(`count-${i}`);
    await world.client.workflow.getHandle('count-0').terminate();
    const query = `WorkflowId STARTS_WITH 'count-'`;
    const result = await world.client.workflow.count(`${query} GROUP BY ExecutionStatus`);
    assert.equal(Number(result.count), 3);
    const groups = result.groups.map(({ count, groupValues }) => [groupValues[0][0] ?? groupValues[0], Number(count)]);
    assert.deepEqual(groups.sort(), [['Running', 2], ['Terminated', 1]]);
    await refuses(`GROUP BY ExecutionStatus`, /GROUP BY/);
    const error = await failure(world.client.workflow.count('GROUP BY WorkflowType'));
    assert.match(String(error.cause?.details ?? error), /only supported for ExecutionStatus/);
  });

  test('pages go on where they were while workflows come and go', async () => {
    const expected = new Set();
    for (let i = 0; i < 20; i++) {
      await begin(`page-${i}`);
      expected.add(`page-${i}`);
    }
    const query = `WorkflowId STARTS_WITH 'page-'`;
    const seen = new Set();
    let nextPageToken = new Uint8Array();
    let pages = 0;
    do {
      const page = await world.service.listWorkflowExecutions({ namespace: NAMESPACE, pageSize: 3, query, nextPageToken });
      for (const { execution } of page.executions) seen.add(execution.workflowId);
      ({ nextPageToken } = page);
      await world.client.workflow.getHandle(`page-${(pages * 5) % 20}`).terminate().catch(() => {});
      await begin(`page-new-${pages++}`);
      assert.ok(pages < 30);
    } while (nextPageToken.length);
    for (const id of expected) assert.ok(seen.has(id), id);
    // A whole page that is also the last one has no successor.
    const exact = await world.service.listWorkflowExecutions({ namespace: NAMESPACE, pageSize: 3, query: `WorkflowId STARTS_WITH 'attr-'` });
    assert.equal(exact.executions.length, 3);
    assert.equal(exact.nextPageToken.length, 0);
  });

  test('upserted attributes are found, removed ones are not', async () => {
    const handle = await world.start('relabels', ['City', ['Rome'], ['Oslo']], { workflowId: 'relabels' });
    await handle.result();
    assert.deepEqual(await ids(`City = 'Oslo'`), ['relabels']);
    assert.deepEqual(await ids(`City = 'Rome'`), []);
  });

  test('attributes come, go, and come back as another type', async () => {
    const { operatorService } = world.client.connection;
    const { INDEXED_VALUE_TYPE_KEYWORD: KEYWORD, INDEXED_VALUE_TYPE_INT: INT } = Indexed;
    const add = (type) => operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes: { Mood: type } });
    const custom = async () => (await operatorService.listSearchAttributes({ namespace: NAMESPACE })).customAttributes;
    const labelled = (type, value) => ({
      typedSearchAttributes: new TypedSearchAttributes([{ key: defineSearchAttributeKey('Mood', type), value }]),
    });
    await refuses(`Mood = 'glad'`, /'Mood' is not a valid search attribute/);
    await add(KEYWORD);
    await begin('mood-1', labelled(SearchAttributeType.KEYWORD, 'glad'));
    assert.deepEqual(await ids(`Mood > 'a'`), ['mood-1']);
    await operatorService.removeSearchAttributes({ namespace: NAMESPACE, searchAttributes: ['Mood'] });
    assert.ok(!('Mood' in (await custom())));
    await refuses(`Mood = 'glad'`, /'Mood' is not a valid search attribute/);
    const error = await failure(begin('mood-2', labelled(SearchAttributeType.KEYWORD, 'glad')));
    assert.match(String(error.cause?.details ?? error), /Mood/);
    await add(INT);
    assert.equal((await custom()).Mood, INT);
    await refuses(`Mood = 'glad'`, /of type Int/);
    await begin('mood-3', labelled(SearchAttributeType.INT, 7));
    assert.deepEqual(await ids('Mood > 5'), ['mood-3']);
    assert.deepEqual(await ids('Mood BETWEEN 1 AND 9'), ['mood-3']);
  });

  test('deleted ones are not listed', async () => {
    await begin('gone', { typedSearchAttributes: attributes({ City: 'Gone' }) });
    await world.service.deleteWorkflowExecution({ namespace: NAMESPACE, workflowExecution: { workflowId: 'gone' } });
    assert.deepEqual(await ids(`WorkflowId = 'gone' OR City = 'Gone'`), []);
  });

  test('queries that cannot be are refused with the place', async () => {
    await refuses(`Nowhere = 'x'`, /column name 'Nowhere' is not a valid search attribute, at column 1/);
    await refuses(`City = `, /expected a value at column 8/);
    await refuses(`City = 'x' AND`, /expected the name of a search attribute at column 15/);
    await refuses(`City = 'x`, /unclosed ' at column 8/);
    await refuses(`City LIKE 'x%'`, /not supported: LIKE/);
    await refuses(`Year = 'many'`, /invalid value 'many' for search attribute 'Year' of type Int/);
    await refuses(`ExecutionStatus = 'Sleeping'`, /ExecutionStatus value 'Sleeping'/);
    await refuses(`Notes > 'a'`, /not supported/);
    await refuses(`City = 'x' ORDER BY StartTime`, /operation is not supported: 'ORDER BY' clause/);
    await refuses(`${'('.repeat(100)}City = 'x'${')'.repeat(100)}`, /nested deeper/);
  });

  test('the older calls and the archive', async () => {
    const startTimeFilter = { earliestTime: { seconds: 1 }, latestTime: { seconds: 4102444800 } };
    const open = await world.service.listOpenWorkflowExecutions({
      namespace: NAMESPACE, maximumPageSize: 50, startTimeFilter, executionFilter: { workflowId: 'attr-ada' },
    });
    assert.deepEqual(open.executions.map((each) => each.execution.workflowId), ['attr-ada']);
    await world.execute('hello', ['x'], { workflowId: 'older' });
    const closed = await world.service.listClosedWorkflowExecutions({
      namespace: NAMESPACE, startTimeFilter, executionFilter: { workflowId: 'older' },
    });
    assert.equal(closed.executions.length, 1);
    const byType = await world.service.listClosedWorkflowExecutions({
      namespace: NAMESPACE, startTimeFilter, typeFilter: { name: 'hello' },
    });
    assert.ok(byType.executions.every((each) => each.type.name === 'hello') && byType.executions.length > 0);
    const byStatus = await world.service.listClosedWorkflowExecutions({
      namespace: NAMESPACE, startTimeFilter, statusFilter: { status: 5 },
    });
    assert.ok(byStatus.executions.every((each) => each.status === 5));
    const scanned = await world.service.scanWorkflowExecutions({ namespace: NAMESPACE, query: `WorkflowId = 'older'` });
    assert.equal(scanned.executions.length, 1);
    const unset = await failure(world.service.listOpenWorkflowExecutions({ namespace: NAMESPACE }));
    assert.match(unset.details, /StartTimeFilter is not set/);
    const archived = await failure(world.service.listArchivedWorkflowExecutions({ namespace: NAMESPACE }));
    assert.equal(archived.code, status.UNIMPLEMENTED);
    assert.match(archived.details, /no archive/);
  });
});

replayAll(world);
