// Closed runs by the ten thousand: a few are made by the server, the others are copies of them in its data file.
//
// The server must be stopped meanwhile. A copy has a run id of its own and the rows of its model in every table; it
// is not the current run of its workflow id.

import { execFileSync } from 'node:child_process';
import { startRequest, withClient } from './client.mjs';

export async function closeSome(server, count, fields = {}) {
  await withClient(server, async (service) => {
    for (let i = 0; i < count; i++) {
      const request = startRequest(fields);
      const { runId } = await service.startWorkflowExecution(request);
      const workflowExecution = { workflowId: request.workflowId, runId };
      await service.terminateWorkflowExecution({ namespace: request.namespace, workflowExecution, reason: 'enough' });
    }
  });
}

function columnsOf(file, table) {
  const text = execFileSync('sqlite3', ['-json', file, `PRAGMA table_info(${table})`], { encoding: 'utf8' });
  return JSON.parse(text).map((column) => column.name);
}

// Copies the closed runs of a namespace until there are `factor` times as many. As those of the server, the ids of
// the copies begin with the time.
export function multiplyClosed(file, namespace, factor, tables = ['executions', 'history', 'visibility']) {
  const space = `(SELECT namespace_id FROM namespaces WHERE name = '${namespace}')`;
  const copies = tables.map((table) => {
    const columns = columnsOf(file, table);
    const values = columns.map((name) => (name === 'run_id' ? 'c.new_id' : `t.${name}`));
    const from = `FROM copies c JOIN ${table} t ON t.namespace_id = c.namespace_id AND t.run_id = c.old_id`;
    return `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} ${from};`;
  });
  const sql = `
    PRAGMA synchronous = OFF;
    CREATE TEMP TABLE copies AS
      WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${factor})
      SELECT e.namespace_id, e.run_id AS old_id, 
        CAST(substr(e.run_id, 1, 6) || printf('%07d', n.i) || substr(e.run_id, 14) AS BLOB) AS new_id FROM n, executions e
      WHERE e.namespace_id = ${space} AND e.close_us IS NOT NULL;
    BEGIN;
    ${copies.join('\n')}
    COMMIT;`;
  execFileSync('sqlite3', [file], { input: sql });
}

// As if they had closed so many hours earlier.
export function closeEarlier(file, namespace, hours) {
  const where = `namespace_id = (SELECT namespace_id FROM namespaces WHERE name = '${namespace}')`;
  execFileSync('sqlite3', [file], {
    input: `UPDATE executions SET close_us = close_us - ${hours} * 3600000000 WHERE close_us IS NOT NULL AND ${where};`,
  });
}
