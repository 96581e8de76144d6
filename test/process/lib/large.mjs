// Data files with many rows, made quickly: one row is written by the server, and SQLite copies it.
// Only what a start and a list read is copied; the copies are not meant to be worked on.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const UPGRADES = fileURLToPath(new URL('../../upgrade/', import.meta.url));
const numbers = (count) =>
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${Number(count)})`;

// Without blocking: clients of other tests must go on meanwhile.
export async function runSql(file, sql) {
  const shell = spawn('sqlite3', [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  shell.stdin.end(`.bail on\n.timeout 10000\n${sql}\n`);
  const text = (await shell.stdout.setEncoding('utf8').toArray()).join('');
  const code = shell.exitCode ?? (await once(shell, 'close'))[0];
  if (code !== 0) throw new Error(`sqlite3 ended with ${code}: ${sql}`);
  return text;
}

async function columns(file, table) {
  return (await runSql(file, `SELECT name FROM pragma_table_info('${table}');`)).trim().split('\n');
}

// Copies one row of a table so many times, each under a run id of its own.
async function copyRow(file, table, where, count) {
  const names = await columns(file, table);
  const values = names.map((name) => (name === 'run_id' ? "CAST(printf('copy%012d', i) AS BLOB)" : `t.${name}`));
  await runSql(
    file,
    `PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN;
     CREATE TEMP TABLE one AS SELECT * FROM ${table} WHERE ${where} LIMIT 1;
     ${numbers(count)} INSERT INTO ${table} (${names.join()}) SELECT ${values.join()} FROM n, one AS t;
     COMMIT;`,
  );
}

// Open runs that have a task for a worker, so that a start must look at each of them.
export async function addReadyRuns(file, count) {
  await copyRow(file, 'executions', 'ready = 1 AND close_us IS NULL', count);
}

// What lists show.
export async function addListedRuns(file, count) {
  await copyRow(file, 'visibility', 'division IS NULL', count);
}

// A file as a server with this schema left it.
export async function makeOldFile(file, version) {
  await runSql(file, `.read ${UPGRADES}schema_${version}.sql`);
}
