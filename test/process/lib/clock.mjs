// A wall clock that a test sets, with libfaketime. The monotonic clock stays as it is.

import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const NAME = 'faketime/libfaketimeMT.so.1';

function findLibrary() {
  const root = '/usr/lib';
  const directories = [root, ...readdirSync(root).map((name) => path.join(root, name))];
  const found = directories.map((directory) => path.join(directory, NAME)).find((file) => existsSync(file));
  if (!found) throw new Error('libfaketime is missing: apt-get install faketime');
  return found;
}

// `env` is for the server's process; set(seconds) moves its wall clock to that many seconds from the real one and
// returns when that was, in milliseconds by the server's clock.
export class FakeClock {
  constructor() {
    this.file = path.join(mkdtempSync(path.join(os.tmpdir(), 'rondo-clock-')), 'offset');
    this.set(0);
  }

  get env() {
    return {
      LD_PRELOAD: findLibrary(),
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
    };
  }

  set(offsetSeconds) {
    this.offsetSeconds = offsetSeconds;
    writeFileSync(`${this.file}.new`, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}\n`);
    renameSync(`${this.file}.new`, this.file);
    return this.now();
  }

  now() {
    return Date.now() + this.offsetSeconds * 1000;
  }
}
