// The data file: used by two servers, removed, replaced, copied, cut short, unwritable, full, locked by another program.
// Each has its exit code and a message that says what to do, and nothing that was acknowledged is lost.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { startRequest, withClient } from './lib/client.mjs';
import { assertKept, assertRefused, holdWriteLock, runToEnd, startMany } from './lib/files.mjs';
import { BINARY, RondoProcess, pick, readRows, sleep, until, withProcess } from './lib/process.mjs';

const LATE_MS = 30_000; // ends what hangs
const RUNS = pick(50, 2000);

async function assertEnds(server, pattern) {
  await until(() => !server.running, LATE_MS, 'the server to end');
  assert.deepEqual(await server.exited, { code: 1, signal: null }, server.log);
  assert.match(server.log, /store_failed/);
  assert.match(server.log, pattern);
}

// Starts a server on the file, which must hold these runs, and stops it again.
async function assertCarriesOn(dataFile, runIds) {
  await withProcess({ dataFile }, async (server) => {
    await startMany(server, 1);
    assert.equal(await server.stop(), 0, server.log);
    assertKept(dataFile, runIds);
  });
}

describe('a second server on the same file', { timeout: 300_000, concurrency: 3 }, () => {
  const names = {
    'its own name': (file) => file,
    'a symbolic link': (file) => link(file, fs.symlinkSync),
    'a hard link': (file) => link(file, fs.linkSync),
    'a relative path': (file) => path.relative(process.cwd(), file),
    'a path through /proc': (file) => `/proc/self/cwd/${path.relative(process.cwd(), file)}`, // not path.join: it would resolve the ..
  };
  function link(file, make) {
    const name = `${file}.${make.name}`;
    make(file, name);
    return name;
  }
  for (const isLockRemoved of [false, true])
    for (const [what, nameOf] of Object.entries(names))
      test(`is refused by ${what}${isLockRemoved ? ', without the lock file' : ''}`, async () => {
        await withProcess({}, async (server) => {
          const runs = await startMany(server, 3);
          if (isLockRemoved) fs.rmSync(`${server.dataFile}.lock`);
          await assertRefused(nameOf(server.dataFile), /in use by another server/);
          runs.push(...(await startMany(server, 3)));
          assert.equal(await server.stop(), 0);
          assertKept(server.dataFile, runs);
        });
      });

  test('starts when the first has stopped, which leaves no lock file behind', async () => {
    await withProcess({}, async (server) => {
      assert.ok(fs.existsSync(`${server.dataFile}.lock`));
      assert.equal(await server.stop(), 0);
      assert.deepEqual(fs.readdirSync(server.directory), ['rondo.db']);
      await server.launchSilently();
      await server.kill();
      assert.ok(fs.existsSync(`${server.dataFile}.lock`)); // that is not a lock
      await server.launchSilently();
      assert.equal(await server.stop(), 0);
    });
  });
});

describe('a file that goes while a server uses it', { timeout: 300_000, concurrency: 3 }, () => {
  test('removed: the server ends', async () => {
    await withProcess({}, async (server) => {
      await startMany(server, RUNS);
      fs.rmSync(server.dataFile);
      await assertEnds(server, /was removed while the server used it/);
    });
  });

  test('removed between two commits: the second is not acknowledged', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, async (service) => {
        await service.startWorkflowExecution(startRequest());
        fs.rmSync(server.dataFile);
        await assert.rejects(service.startWorkflowExecution(startRequest()));
      });
      await assertEnds(server, /was removed/);
    });
  });

  test('renamed: the server ends, and the renamed file holds everything', async () => {
    await withProcess({}, async (server) => {
      const runs = await startMany(server, RUNS);
      const elsewhere = path.join(server.directory, 'elsewhere.db');
      fs.renameSync(server.dataFile, elsewhere);
      await assertEnds(server, /was renamed or replaced while the server used it/);
      await assertCarriesOn(elsewhere, runs);
    });
  });

  test('replaced: the server ends, and its log is not applied to the other file', async () => {
    await withProcess({}, async (other) => {
      const runs = await startMany(other, RUNS);
      assert.equal(await other.stop(), 0);
      await withProcess({}, async (server) => {
        await startMany(server, RUNS);
        fs.copyFileSync(other.dataFile, `${server.dataFile}.new`);
        fs.renameSync(`${server.dataFile}.new`, server.dataFile);
        await assertEnds(server, /was removed while the server used it/);
        await assertCarriesOn(server.dataFile, runs);
      });
    });
  });

  for (const suffix of ['-wal', '-shm'])
    test(`${suffix} removed: the server ends, and the file holds everything`, async () => {
      await withProcess({}, async (server) => {
        const runs = await startMany(server, RUNS);
        fs.rmSync(`${server.dataFile}${suffix}`);
        await assertEnds(server, /was removed or replaced while the server used it/);
        await assertCarriesOn(server.dataFile, runs);
      });
    });
});

describe('a copy of a file in use', { timeout: 300_000 }, () => {
  test('without its log is refused', async () => {
    await withProcess({}, async (server) => {
      await startMany(server, RUNS);
      const copy = `${server.dataFile}.copy`;
      fs.copyFileSync(server.dataFile, copy);
      await assertRefused(copy, /copied without its log.*\.backup/);
      await assertRefused(copy, /copied without its log/); // again: the first attempt has not changed it
    });
  });

  test('without its log is refused also after a restart', async () => {
    await withProcess({}, async (server) => {
      await startMany(server, RUNS);
      assert.equal(await server.stop(), 0);
      await server.launchSilently();
      await startMany(server, RUNS);
      const copy = `${server.dataFile}.copy`;
      fs.copyFileSync(server.dataFile, copy);
      await assertRefused(copy, /copied without its log/);
    });
  });

  test('with its log holds everything', async () => {
    await withProcess({}, async (server) => {
      const runs = await startMany(server, RUNS);
      const copy = `${server.dataFile}.copy`;
      for (const suffix of ['', '-wal']) fs.copyFileSync(`${server.dataFile}${suffix}`, `${copy}${suffix}`);
      await assertCarriesOn(copy, runs);
    });
  });

  test('made by SQLite holds everything', async () => {
    await withProcess({}, async (server) => {
      const runs = await startMany(server, RUNS);
      const copy = `${server.dataFile}.copy`;
      execFileSync('sqlite3', [server.dataFile, `.backup ${copy}`]);
      await assertCarriesOn(copy, runs);
    });
  });

  test('a header without tables, as older versions left it, is refused', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'rondo-files-'));
    try {
      const file = path.join(directory, 'rondo.db');
      execFileSync('sqlite3', [file, 'PRAGMA journal_mode = WAL']);
      await assertRefused(file, /copied without its log/);
    } finally {
      fs.rmSync(directory, { recursive: true });
    }
  });
});

describe('a file that cannot be used', { timeout: 300_000 }, () => {
  test('cut short is refused; empty is begun', async () => {
    await withProcess({}, async (server) => {
      await startMany(server, RUNS);
      assert.equal(await server.stop(), 0);
      fs.truncateSync(server.dataFile, fs.statSync(server.dataFile).size / 2);
      await assertRefused(server.dataFile, /is cut short\. Restore it from a backup/);
      fs.truncateSync(server.dataFile, 0);
      await server.launchSilently();
      assert.equal(await server.stop(), 0);
    });
  });

  // Permissions do not stop root, unless it gives that up.
  const unprivileged = process.getuid() ? [] : ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override'];
  test('read-only is refused', async () => {
    await withProcess({}, async (server) => {
      const runs = await startMany(server, RUNS);
      assert.equal(await server.stop(), 0);
      fs.chmodSync(server.dataFile, 0o400);
      await assertRefused(server.dataFile, /Cannot write to .*Permission denied/, { wrapper: unprivileged });
      fs.chmodSync(server.dataFile, 0o600);
      await assertCarriesOn(server.dataFile, runs);
    });
  });

  test('in a read-only directory is refused', async () => {
    await withProcess({}, async (server) => {
      const runs = await startMany(server, RUNS);
      assert.equal(await server.stop(), 0);
      fs.chmodSync(server.directory, 0o500);
      await assertRefused(server.dataFile, /Cannot create .*\.lock: Permission denied/, { wrapper: unprivileged });
      fs.chmodSync(server.directory, 0o700);
      await assertCarriesOn(server.dataFile, runs);
    });
  });
});

// Writes fail from a file size on: the limit of the process, whose signal is ignored. That works without privileges.
class LimitedProcess extends RondoProcess {
  command = 'sh';

  args() {
    const blocks = pick(8, 128) * 1024; // of 512 bytes
    return ['-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`, BINARY, ...super.args()];
  }
}

describe('a full disk', { timeout: 300_000 }, () => {
  // Starts until one fails; those that were acknowledged.
  async function startUntilFull(server) {
    const runs = [];
    const memo = { fields: { text: { data: Buffer.alloc(20_000, 'x') } } };
    return withClient(server, async (service) => {
      for (;;) {
        const some = Array.from({ length: 20 }, () => service.startWorkflowExecution(startRequest({ memo })));
        const settled = await Promise.allSettled(some);
        runs.push(...settled.filter((one) => one.status === 'fulfilled').map((one) => one.value.runId));
        if (settled.some((one) => one.status === 'rejected')) return runs;
      }
    });
  }

  async function check(server, makeRoom) {
    const runs = await startUntilFull(server);
    assert.ok(runs.length > 0);
    await assertEnds(server, /Make room, then start again|Check the disk/);
    await makeRoom();
    await assertCarriesOn(server.dataFile, runs);
  }

  test('ends the server with exit code 1, and nothing acknowledged is lost', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'rondo-full-'));
    const size = pick('4m', '64m');
    const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]).status === 0;
    try {
      if (isMounted) {
        const makeRoom = () => execFileSync('mount', ['-o', 'remount,size=512m', directory]);
        await withProcess({ dataFile: path.join(directory, 'rondo.db') }, (server) => check(server, makeRoom));
      } else {
        await check(await LimitedProcess.startSilently(), () => {});
      }
    } finally {
      if (isMounted) execFileSync('umount', [directory]);
      fs.rmSync(directory, { recursive: true });
    }
  });
});

describe('another program that has locked the file', { timeout: 300_000, concurrency: 3 }, () => {
  const HELD_MS = pick(11_500, 60_000); // SQLite's own patience was 10 s

  test('holds up commits and nothing else', async () => {
    await withProcess({}, async (server) => {
      const [runId] = await startMany(server, 1);
      const release = await holdWriteLock(server.dataFile);
      await withClient(server, async (service) => {
        let isAnswered = false;
        const request = startRequest();
        const waiting = service.startWorkflowExecution(request).finally(() => (isAnswered = true));
        waiting.catch(() => {});
        const end = Date.now() + HELD_MS;
        while (Date.now() < end) {
          const first = readRows(server.dataFile, 'SELECT workflow_id FROM executions')[0].workflow_id;
          const execution = { workflowId: first, runId };
          await service.describeWorkflowExecution({ namespace: 'default', execution });
          assert.equal((await fetch(`${server.httpAddress}/healthz`)).status, 200);
          assert.equal((await fetch(`${server.httpAddress}/readyz`)).status, 200);
          assert.equal(isAnswered, false);
          await sleep(250);
        }
        assert.equal(server.countLog('store_waiting'), 1);
        await release();
        const { runId: second } = await waiting;
        await until(() => server.countLog('store_resumed') === 1, LATE_MS, 'the line that says so');
        assert.equal(await server.stop(), 0);
        assertKept(server.dataFile, [runId, second]);
      });
    });
  });

  test('a server that is stopped meanwhile ends, and says why', async () => {
    await withProcess({}, async (server) => {
      const runs = await startMany(server, 1);
      const release = await holdWriteLock(server.dataFile);
      await withClient(server, async (service) => {
        const lost = service.startWorkflowExecution(startRequest());
        const refused = assert.rejects(lost);
        await until(() => server.countLog('store_waiting') === 1, LATE_MS, 'the commit to wait');
        server.signal('SIGTERM');
        await until(() => server.countLog('server_stopping') === 1, LATE_MS, 'the server to begin to stop');
        server.signal('SIGTERM'); // does not wait for calls
        await assertEnds(server, /is locked by another program/);
        await refused;
      });
      await release();
      await assertCarriesOn(server.dataFile, runs);
    });
  });

  test('a server that cannot begin because of it says so', async () => {
    await withProcess({}, async (server) => {
      assert.equal(await server.stop(), 0);
      const release = await holdWriteLock(server.dataFile);
      const { code, text } = await runToEnd(server.dataFile);
      assert.equal(code, 1);
      assert.match(text, /is locked by another program\. Close that one first/);
      await release();
    });
  });
});
