// docs/openapi.yaml: a valid document; it has every path and every field of our own services, and no other; what the
// server answers to its examples, and to bad requests, fits its schemas.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { definition } from './lib/own.mjs';
import { Server } from './lib/server.mjs';

const read = (path) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const api = parse(read('docs/openapi.yaml'));
const VERBS = ['get', 'post', 'delete'];
const operations = Object.entries(api.paths).flatMap(([path, item]) =>
  VERBS.filter((verb) => item[verb]).map((verb) => ({
    path,
    verb,
    ...item[verb],
    parameters: [...(item.parameters ?? []), ...(item[verb].parameters ?? [])].map(resolve),
  })),
);

function resolve(node) {
  return node.$ref ? node.$ref.slice(2).split('/').reduce((at, key) => at[key], api) : node;
}

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'api', components: api.components });

function checkSchema(name, value) {
  const validate = ajv.getSchema(`api#/components/schemas/${name}`);
  assert.ok(validate, `no schema ${name}`);
  assert.ok(validate(value), `${JSON.stringify(validate.errors)} in ${JSON.stringify(value)}`);
}

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const message = (name) =>
  (definition[`rondo.api.v1.${name}`] ?? definition[`temporal.api.schedule.v1.${name}`])?.type;

describe('docs/openapi.yaml', { timeout: 120_000 }, () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.close());

  async function call(operation, values = {}) {
    const value = (parameter) => values[parameter.name] ?? parameter.example;
    const url = new URL(`http://127.0.0.1:${server.httpPort}`);
    url.pathname = operation.path.replace(/\{([^}]+)\}/g, (_, name) =>
      encodeURIComponent(value(operation.parameters.find((each) => each.name === name))),
    );
    for (const parameter of operation.parameters.filter((each) => each.in === 'query'))
      for (const each of [value(parameter) ?? []].flat()) url.searchParams.append(parameter.name, each);
    const example = values.body ?? operation.requestBody?.content['application/json'].example;
    const response = await fetch(url, { method: operation.verb.toUpperCase(), body: example && JSON.stringify(example) });
    return { status: response.status, body: await response.json() };
  }

  const byId = (id) => operations.find((each) => each.operationId === id);

  // The answer, after its schema was checked.
  async function ok(id, values) {
    const { status, body } = await call(byId(id), values);
    assert.equal(status, 200, `${id}: ${JSON.stringify(body)}`);
    checkSchema(`${id}Response`, body);
    return body;
  }

  test('is a valid OpenAPI document', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(api));
    assert.ok(valid, JSON.stringify(errors));
  });

  test('has the paths of our own services, and only those', () => {
    const rows = [...read('src/serve/routes.def').matchAll(/^ROUTE\((?:SCHEDULE|QUEUE), (\w+), +(\w+), +"([^"]+)", (\w+)\)/gm)];
    const table = rows.map(([, name, verb, path, body]) => `${name} ${verb} ${path} ${body}`);
    const listed = operations.map(
      (each) =>
        `${each.operationId} ${each.verb.toUpperCase()} ${each.path} ${each.requestBody ? 'ALL' : 'NONE'}`,
    );
    assert.deepEqual(listed.sort(), table.sort());
  });

  test('has every field and every enum value of proto/', () => {
    let count = 0;
    for (const [name, schema] of Object.entries(api.components.schemas)) {
      const type = message(name);
      if (!type) continue;
      const fields = (type.field ?? []).map((each) => camel(each.name)).sort();
      const values = (type.value ?? []).map((each) => each.name);
      if (schema.enum) assert.deepEqual(schema.enum, values, name);
      else assert.deepEqual(Object.keys(schema.properties ?? {}).sort(), fields, name);
      count++;
    }
    for (const { operationId, parameters, requestBody } of operations) {
      const fields = message(`${operationId}Request`).field.map((each) => camel(each.name));
      for (const each of parameters)
        assert.ok(fields.includes(camel(each.name.split('.')[0])), `${operationId}: ${each.name}`);
      const named = parameters.map((each) => camel(each.name));
      if (!requestBody) assert.deepEqual(named.sort(), fields.sort(), operationId);
    }
    assert.ok(count >= 20, `${count} schemas are messages`);
  });

  test('says what the server answers', async () => {
    for (const { operationId, requestBody } of operations)
      if (requestBody) checkSchema(`${operationId}Request`, requestBody.content['application/json'].example);
    await ok('PutHolidayCalendar');
    assert.equal((await ok('ListHolidayCalendars')).calendars[0].name, 'germany');
    await ok('DeleteHolidayCalendar');
    assert.deepEqual(await ok('ListHolidayCalendars'), {});
    const bound = await ok('BindCrontab', { 'binding.name': 'nightly' });
    assert.deepEqual([bound.scheduleId, bound.isNew], ['nightly', true]);
    const { entry } = await ok('TriggerSchedule');
    assert.equal(entry.fate, 'LEDGER_FATE_STARTED');
    assert.deepEqual((await ok('TriggerSchedule')).entry.runId, entry.runId);
    const { entries } = await ok('ListScheduleLedger');
    assert.ok(entries.some((each) => each.runId === entry.runId));
    assert.equal((await ok('ExplainScheduleTime')).verdict, 'time');
    assert.deepEqual(await ok('ListBackfills'), {});
    assert.ok((await ok('ListTaskQueues')).taskQueues.some((each) => each.name === 'functions'));
  });

  test('shows a backfill, which can be cancelled', async () => {
    const body = { patch: { backfillRequest: [{ startTime: '2001-01-01T00:00:00Z', endTime: '2021-01-01T00:00:00Z', overlapPolicy: 'BufferAll' }] } };
    await ok('BindCrontab', { 'binding.name': 'nightly' });
    const url = `http://127.0.0.1:${server.httpPort}/api/v1/namespaces/default/schedules/nightly/patch`;
    assert.equal((await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status, 200);
    const [backfill] = (await ok('ListBackfills')).backfills;
    assert.ok(Number(backfill.considered) > 0);
    await ok('CancelBackfill', { backfill_id: backfill.id });
    assert.deepEqual(await ok('ListBackfills'), {});
  });

  test('says how errors look', async () => {
    for (const operation of operations) {
      const answer = await call(operation, { namespace: 'nowhere', time: '2030-01-01T12:00:00Z' });
      assert.equal(answer.status, 404, operation.operationId);
      checkSchema('Status', answer.body);
      const { status, body } = operation.requestBody
        ? await call(operation, { body: { nonsense: true } })
        : await call({ ...operation, parameters: [...operation.parameters, { name: 'nonsense', in: 'query', example: '1' }] });
      assert.equal(status, 400, operation.operationId);
      assert.match(body.message, /nonsense/);
      checkSchema('Status', body);
    }
  });
});
