// A server for a whole file, and commands that ask it: what must succeed, in each format, and what must fail.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { launch, run } from './rondo.mjs';

export function openServer() {
  const world = { env: {} };
  let server;
  before(async () => {
    server = launch(['server', 'start-dev', '--port', '0', '--headless', '-o', 'json']);
    const line = await new Promise((resolve, reject) => {
      server.proc.stdout.once('data', resolve);
      server.ended.then(() => reject(new Error(server.stderr())));
    });
    world.env = { TEMPORAL_ADDRESS: JSON.parse(line).grpc };
  });
  after(async () => {
    const { code } = await server.stop();
    assert.equal(code, 0);
  });
  world.ask = (args, options) => run(args, { env: world.env, ...options });
  // Must succeed, with nothing on stderr.
  world.text = async (...args) => {
    const { code, stdout, stderr } = await world.ask(args);
    assert.equal(stderr, '', args.join(' '));
    assert.equal(code, 0, args.join(' '));
    return stdout;
  };
  world.json = async (...args) => JSON.parse(await world.text(...args, '-o', 'json'));
  world.lines = async (...args) =>
    (await world.text(...args, '-o', 'jsonl')).split('\n').filter(Boolean).map((l) => JSON.parse(l));
  // Must fail with this code, nothing on stdout, and one line on stderr that matches.
  world.refused = async (code, pattern, ...args) => {
    const result = await world.ask(args);
    assert.equal(result.code, code, result.stderr);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, pattern);
    assert.equal(result.stderr.trimEnd().split('\n').length, 1);
  };
  return world;
}
