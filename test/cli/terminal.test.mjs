// What only a terminal shows: colours, a pager, questions, progress, completion. In tmux, as a person would see it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, run } from './rondo.mjs';

const socket = `rondo-test-${process.pid}`;
const tmux = (...args) => execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { env: clean }).toString();
const clean = {
  PATH: `${dirname(process.env.RONDO_BIN)}:${process.env.PATH}`,
  HOME: '/nonexistent',
  LANG: 'C.UTF-8',
  ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '',
  TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? '',
};

let server;
let address;

before(async () => {
  server = launch(['server', 'start-dev', '--port', '0', '--headless', '-o', 'json']);
  const line = await new Promise((resolve, reject) => {
    server.proc.stdout.once('data', resolve);
    server.ended.then(() => reject(new Error(server.stderr())));
  });
  address = JSON.parse(line).grpc;
  clean.RONDO_ADDRESS = address;
  tmux('new-session', '-d', '-x', '140', '-y', '40', '-s', 'keep', 'sleep 600');
});
after(async () => {
  try {
    tmux('kill-server');
  } finally {
    await server.stop();
  }
});

const rondo = (...args) => run(args, { env: { RONDO_ADDRESS: address } });

// A shell in a window of its own.
class Screen {
  constructor(name) {
    this.name = name;
    this.count = 0;
    tmux('new-window', '-d', '-n', name, 'bash --norc --noprofile');
    this.type("PS1='$ '; clear");
  }

  keys(...keys) {
    tmux('send-keys', '-t', `keep:${this.name}`, ...keys);
  }

  type(line) {
    tmux('send-keys', '-t', `keep:${this.name}`, '-l', '--', line);
    this.keys('Enter');
  }

  text(...options) {
    return tmux('capture-pane', '-p', '-t', `keep:${this.name}`, ...options);
  }

  // Runs the line on an empty screen: what it left there, and its exit code, once it has ended.
  begin(line) {
    this.type(`clear; ${line}; echo "ended ${++this.count}:$?"`);
  }

  async end() {
    const pattern = new RegExp(`^ended ${this.count}:(\\d+)$`, 'm');
    const text = await this.shows(pattern);
    return { text, code: Number(pattern.exec(text)[1]) };
  }

  async run(line) {
    this.begin(line);
    return await this.end();
  }

  // The text, once it matches.
  async shows(pattern, ...options) {
    for (let i = 0; i < 600; i++) {
      const text = this.text(...options);
      if (pattern.test(text)) return text;
      await sleep(50);
    }
    assert.fail(`${pattern} does not match:\n${this.text()}`);
  }
}

test('tables have colours, unless NO_COLOR is set', async () => {
  await rondo('workflow', 'start', '--type', 'x', '-t', 'q', '-w', 'coloured');
  const screen = new Screen('colours');
  const list = "rondo workflow list --no-pager -q \"WorkflowId = 'coloured'\"";
  assert.equal((await screen.run(list)).code, 0);
  assert.match(screen.text('-e'), /\u001b\[1mStatus/);
  assert.match(screen.text('-e'), /\u001b\[34m(\u001b\[\d+m)*Running/);
  assert.equal((await screen.run(`NO_COLOR=1 ${list}`)).code, 0);
  assert.match(screen.text(), /^Running  coloured/m);
  assert.ok(!screen.text('-e').includes('\u001b[34m'));
});

test('lists and help go through $PAGER, which may leave early', async () => {
  const screen = new Screen('pager');
  const paged = async (line) => {
    const { text, code } = await screen.run(line);
    assert.equal(code, 0, text);
    return text;
  };
  screen.type("export PAGER='sed s/^/paged:/'");
  assert.match(await paged('rondo workflow list'), /^paged:Status +WorkflowId/m);
  assert.match(await paged('rondo workflow list --no-pager'), /^Status +WorkflowId/m);
  assert.match(await paged("PAGER='head -1' rondo schedule --help"), /^Create, inspect and control schedules/m);
  for (let i = 0; i < 5; i++) await rondo('workflow', 'start', '--type', 'x', '-t', 'q', '-w', `paged-${i}`);
  assert.ok(!(await paged('PAGER=true rondo workflow list --page-size 1')).includes('rondo:'));
  assert.ok(!(await paged('rondo workflow describe -w coloured')).includes('paged:'));
  assert.ok(!(await paged('rondo workflow list -o jsonl | head -1')).includes('paged:'));
});

test('a workflow that is waited for shows how far it is', async () => {
  const screen = new Screen('progress');
  screen.begin('rondo workflow execute --type x -t nobody -w waited > /dev/null');
  await screen.shows(/^waited  2 events  WorkflowTaskScheduled/m);
  await rondo('workflow', 'signal', '-w', 'waited', '--name', 'hi');
  await screen.shows(/^waited  3 events  WorkflowExecutionSignaled/m);
  await rondo('workflow', 'terminate', '-w', 'waited', '--reason', 'enough');
  const { text, code } = await screen.end();
  assert.equal(code, 1);
  assert.match(text, /did not complete: TERMINATED, enough/);
  assert.ok(!text.includes('3 events'));
});

test('so does a backfill', async () => {
  await rondo('schedule', 'create', '-s', 'filled', '--interval', '1h', '--paused', '--type', 'x', '-t', 'nobody');
  const screen = new Screen('backfill');
  const period = '--start-time 2026-01-01T00:30:00Z --end-time 2026-01-02T00:30:00Z --overlap-policy BufferAll';
  screen.begin(`rondo schedule backfill -s filled ${period} --wait`);
  await screen.shows(/^backfill 1: 1 started, 23 waiting, at 2026-01-02/m);
  await rondo('schedule', 'cancel-backfill', '-s', 'filled', '--backfill-id', '1');
  const { text, code } = await screen.end();
  assert.equal(code, 0);
  assert.match(text, /^Done +true$/m);
  assert.ok(!text.includes('backfill 1:'));
  const described = await screen.run('rondo schedule describe -s filled');
  assert.match(described.text, /^When +every 1 hour$/m);
  assert.match(screen.text('-e'), /\u001b\[\d+m(\u001b\[\d+m)*When/);
});

test('what cannot be undone is asked for', async () => {
  await rondo('operator', 'namespace', 'create', 'doomed');
  const screen = new Screen('question');
  const answer = async (word) => {
    screen.begin('rondo operator namespace delete doomed');
    await screen.shows(/Delete a namespace\? y\/N/);
    screen.type(word);
    return await screen.end();
  };
  const no = await answer('n');
  assert.equal(no.code, 1);
  assert.match(no.text, /nothing was done/);
  assert.equal((await rondo('operator', 'namespace', 'describe', 'doomed')).code, 0);
  assert.equal((await answer('y')).code, 0);
  assert.equal((await rondo('operator', 'namespace', 'describe', 'doomed')).code, 1);
});

test('a batch says how many there are, and shows how far it is', async () => {
  for (let i = 0; i < 8; i++) await rondo('workflow', 'start', '--type', 'many', '-t', 'q', '-w', `many-${i}`);
  const screen = new Screen('batch');
  const answer = async (word) => {
    screen.begin("rondo workflow terminate -q \"WorkflowType = 'many'\" --rps 1");
    await screen.shows(/start a batch job for about 8 workflows\? y\/N/);
    screen.type(word);
  };
  await answer('n');
  assert.match((await screen.end()).text, /nothing was done/);
  await answer('y');
  await screen.shows(/^\[#*-+\] \d of 8/m);
  const { text, code } = await screen.end();
  assert.equal(code, 0);
  assert.match(text, /^Completed +8$/m);
  assert.ok(!/\d of 8/.test(text));
});

test('bash completes what was begun', async () => {
  const screen = new Screen('completion');
  await screen.run('source <(rondo completion bash)');
  const complete = async (begun, whole) => {
    screen.keys('-l', '--', begun);
    screen.keys('Tab');
    await screen.shows(new RegExp(`^\\$ ${whole}$`, 'm'));
  };
  await complete('rondo sch', 'rondo schedule');
  await complete('cr', 'rondo schedule create');
  await complete('--time-z', 'rondo schedule create --time-zone');
});
