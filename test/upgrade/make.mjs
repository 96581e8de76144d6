// Makes the text of a data file in the middle of work: what upgrade.test.mjs of test/sdk carries on with.
//
//   RONDO_BIN=OLD_BINARY node test/upgrade/make.mjs > test/upgrade/schema_4.sql
//
// Run once with the last server of a schema version. The text is SQL that makes the file again.

import { execFileSync } from 'node:child_process';
import os from 'node:os';

os.hostname = () => 'host'; // clients and workers say where they run; the text should not
const { World, eventually } = await import('../sdk/lib/world.mjs');

const DUMP = `
import re, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.text_factory = bytes
def literal(value):
    if value is None: return "NULL"
    if isinstance(value, int): return str(value)
    return "x'%s'" % value.hex()
def cell(value, kind):
    if kind != b"text": return literal(value)
    if re.fullmatch(rb"[ -&(-~]*", value): return "'%s'" % value.decode()
    return "CAST(%s AS TEXT)" % literal(value)
for pragma in ("application_id", "user_version"):
    print("PRAGMA %s = %d;" % (pragma, db.execute("PRAGMA " + pragma).fetchone()[0]))
schema = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'index'").fetchall()
for name, sql in schema: print(sql.decode() + ";")
for name, sql in schema:
    if not sql.startswith(b"CREATE TABLE"): continue
    columns = [row[1].decode() for row in db.execute("PRAGMA table_info(%s)" % name.decode())]
    kinds = ["typeof(%s)" % column for column in columns]
    for row in db.execute("SELECT %s FROM %s" % (", ".join(columns + kinds), name.decode())):
        cells = [cell(*pair) for pair in zip(row, row[len(columns):])]
        print("INSERT INTO %s VALUES (%s);" % (name.decode(), ", ".join(cells)))
`;

// A year from now at the earliest: nothing of it is ever caught up with.
const YEARLY = { calendars: [{ month: 'JANUARY', dayOfMonth: 1, hour: 3 }] };

async function createSchedule(world) {
  try {
    await world.client.schedule.create({
      scheduleId: 'yearly',
      spec: YEARLY,
      policies: { catchupWindow: '1 minute' },
      action: { type: 'startWorkflow', workflowType: 'hello', args: ['year'], taskQueue: world.taskQueue },
      memo: { kept: 'since then' },
    });
  } catch {
    process.stderr.write('this server has no schedules\n');
  }
}

async function work(world) {
  const id = (workflowId) => ({ workflowId });
  const collects = await world.start('collect', [], id('collects'));
  await collects.signal('add', 1);
  await eventually(async () => (await collects.query('seen')).length === 1);
  await world.start('pause', [1000], id('pauses'));
  await world.start('parent', ['collect', { workflowId: 'child' }], id('parents'));
  await eventually(() => world.client.workflow.getHandle('child').describe().catch(() => false));
  const account = await world.start('account', [10], id('accounts'));
  await account.executeUpdate('deposit', { args: [5], updateId: 'first' });
  await world.start('collectTwice', [], id('chains'));
  await world.start('hello', ['history'], { ...id('waits'), taskQueue: 'later' });
  await createSchedule(world);
}

const world = new World();
await world.open();
try {
  await work(world);
  await world.worker.stop();
  world.worker = undefined;
  await world.client.workflow.getHandle('collects').signal('add', 2); // nobody has seen it yet
} finally {
  await world.close();
}
process.stdout.write(execFileSync('/usr/bin/python3', ['-c', DUMP, world.server.dataFile]));
process.exit(0);
