// What the process does with what it is given at its start and in large requests.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { NAMESPACE, payloads, startRequest, withClient } from './lib/client.mjs';
import { BINARY, until, withProcess } from './lib/process.mjs';

const LATE_MS = 20_000; // ends what hangs

function inNewDirectory(fn) {
  const directory = mkdtempSync(join(tmpdir(), 'rondo-inputs-'));
  return Promise.resolve(fn(directory)).finally(() => rmSync(directory, { recursive: true }));
}

// Runs the server until it ends by itself.
const serve = (...flags) => spawnSync(BINARY, ['server', ...flags], { encoding: 'utf8', timeout: LATE_MS });

describe('a start that fails', { timeout: 120_000 }, () => {
  for (const [flag, other] of [['--grpc', '--http'], ['--http', '--grpc']]) {
    test(`leaves no data file behind when the port of ${flag} is in use`, () => inNewDirectory(async (directory) => {
      const taken = createServer();
      await new Promise((done) => taken.listen(0, '127.0.0.1', done));
      const { port } = taken.address();
      const { status, stderr } = serve('--data', join(directory, 'rondo.db'), flag, `127.0.0.1:${port}`, other, '127.0.0.1:0');
      await new Promise((done) => taken.close(done));
      assert.equal(status, 1, stderr);
      assert.match(stderr, new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: Address already in use \\(see ${flag}\\)`));
      assert.deepEqual(readdirSync(directory), []);
    }));
  }

  // Arguments of Node are text, so a shell writes the bytes.
  for (const [name, script] of [
    ['a namespace', 'exec "$0" server --data "$1" --grpc 127.0.0.1:0 --http 127.0.0.1:0 --namespace "$(printf \'a\\377\')"'],
    ['a namespace of the environment', 'RONDO_NAMESPACE="$(printf \'a\\377\')" exec "$0" server --data "$1" --grpc 127.0.0.1:0 --http 127.0.0.1:0'],
    ['a namespace of start-dev', 'exec "$0" server start-dev --db-filename "$1" --port 0 --headless --namespace "$(printf \'a\\377\')"'],
    ['a search attribute', 'exec "$0" server start-dev --db-filename "$1" --port 0 --headless --search-attribute "$(printf \'a\\377\')=Text"'],
  ]) {
    test(`says that the name of ${name} is not text`, () => inNewDirectory((directory) => {
      const { status, stderr } = spawnSync('sh', ['-c', script, BINARY, join(directory, 'rondo.db')], { encoding: 'utf8', timeout: LATE_MS });
      assert.equal(status, 2, stderr);
      assert.match(stderr, /a name must be text in UTF-8/);
      assert.deepEqual(readdirSync(directory), []);
    }));
  }
});

describe('a server that runs', { timeout: 120_000 }, () => {
  test('names what a large payload belongs to', () => withProcess({}, (server) => withClient(server, async (service) => {
    await service.startWorkflowExecution(startRequest({ workflowId: 'bulky', workflowType: { name: 'heavy' }, input: payloads('x'.repeat(600_000)) }));
    const line = await until(() => server.log.split('\n').find((each) => each.includes('payload_large')), LATE_MS, 'the log line');
    for (const word of ['method=StartWorkflowExecutionRequest', 'what=input', `namespace=${NAMESPACE}`, 'workflow_id=bulky', 'workflow_type=heavy'])
      assert.ok(line.split(/\s+/).includes(word), `${word} is not in: ${line}`);
  })));

  test('says that it has schedules', () => withProcess({}, (server) => withClient(server, async (service) => {
    const { capabilities } = await service.getSystemInfo({});
    assert.equal(capabilities.supportsSchedules, true);
    const { namespaceInfo } = await service.describeNamespace({ namespace: NAMESPACE });
    assert.equal(namespaceInfo.supportsSchedules, true);
  })));
});
