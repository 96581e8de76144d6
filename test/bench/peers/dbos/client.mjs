// The DBOS application: client and worker in one process, as its users write it.

import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { Lateness } from '../figures.mjs';
import { forEachOf, ORDER } from '../orders.mjs';

const lateness = new Lateness();
const register = (name, fn) => DBOS.registerWorkflow(fn, { name });

const trivial = register('trivial', async (input) => input);
const step = register('step', (input) => DBOS.runStep(async () => input, { name: 'charge' }));
const waiter = register('waiter', () => DBOS.recv('go'));
const timer = register('timer', async (dueMs) => {
  await DBOS.sleep(Math.max(dueMs - Date.now(), 0));
  lateness.note(dueMs);
});
const tick = register('tick', async (scheduledDate) => lateness.note(scheduledDate.getTime()));

export async function connect({ url }) {
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' });
  await DBOS.launch();
  const client = await DBOSClient.create({ systemDatabaseUrl: url });
  return {
    lateness,
    operations: {
      trivial: () => trivial(ORDER),
      step: () => step(ORDER),
      start: () => client.enqueue({ queueName: 'nobody', workflowName: 'trivial' }, ORDER),
      signal: async () => {
        const handle = await DBOS.startWorkflow(waiter)();
        await DBOS.send(handle.workflowID, 'gone', 'go');
        await handle.getResult();
      },
    },
    timers: (count, dueMs) => forEachOf(count, () => DBOS.startWorkflow(timer)(dueMs)),
    schedules: async (count) => {
      const one = (i) => ({ scheduleName: `tick-${i}`, workflowFn: tick, schedule: '* * * * * *' });
      await DBOS.applySchedules(Array.from({ length: count }, (_, i) => one(i)));
      return { count };
    },
  };
}
