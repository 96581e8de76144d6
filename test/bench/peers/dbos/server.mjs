// PostgreSQL as DBOS's database; the application, which is client and worker, is dbos/client.mjs.
//
// PostgreSQL does not run as root: started by root, it runs as the user `postgres` of Debian's package.

import { chown, mkdir, readdir } from 'node:fs/promises';
import { freePort, Program, run, until } from '../processes.mjs';

const VERSIONS = '/usr/lib/postgresql';
const CHECKED = ['fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method'];

async function binaries() {
  const versions = (await readdir(VERSIONS)).map(Number).sort((a, b) => b - a);
  return `${VERSIONS}/${versions[0]}/bin`;
}

async function idOf(kind) {
  return Number((await run('id', [kind, 'postgres'])).trim());
}

async function unprivileged() {
  return process.getuid() === 0 ? { uid: await idOf('-u'), gid: await idOf('-g') } : {};
}

async function settingsOf(bin, base) {
  const found = [];
  for (const name of CHECKED) {
    const value = (await run(`${bin}/psql`, [...base, '-Atc', `SHOW ${name}`])).trim();
    if (value === 'off') throw new Error(`PostgreSQL runs with ${name}=off`);
    found.push(`${name}=${value}`);
  }
  return found.join(', ');
}

export async function start({ directory }) {
  const bin = await binaries();
  const user = await unprivileged();
  const home = `${directory}/postgres`;
  const options = { cwd: home, env: { PATH: process.env.PATH, LC_ALL: 'C' }, ...user };
  await mkdir(home);
  if (user.uid) await chown(home, user.uid, user.gid);
  await run(`${bin}/initdb`, ['-D', `${home}/data`, '-U', 'postgres', '-A', 'trust'], options);
  const port = await freePort();
  const began = performance.now();
  const where = ['-D', `${home}/data`, '-p', String(port), '-h', '127.0.0.1', '-k', home];
  const program = new Program(`${bin}/postgres`, where, options);
  const base = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
  await until('PostgreSQL', () => run(`${bin}/pg_isready`, base).then(() => true));
  const readyMs = performance.now() - began;
  return {
    connection: { url: `postgresql://postgres@127.0.0.1:${port}/dbos` },
    readyMs,
    isReadyWithClient: true, // there is nothing to start a workflow with before the application is up
    roles: { database: program.pid },
    durability: `PostgreSQL ${await settingsOf(bin, base)}`,
    stop: () => program.stop('SIGINT'), // its fast shutdown
  };
}
