// The TypeScript SDK's client.

import { Client, Connection, ScheduleOverlapPolicy } from '@temporalio/client';
import { forEachOf, ORDER } from '../orders.mjs';

export async function connect({ address }) {
  const client = new Client({ connection: await Connection.connect({ address }) });
  const { workflow, schedule } = client;
  const start = (type, workflowId, args, taskQueue = 'bench') => workflow.start(type, { workflowId, taskQueue, args });
  return {
    operations: {
      trivial: async (i) => (await start('trivial', `trivial-${i}`, [ORDER])).result(),
      step: async (i) => (await start('step', `step-${i}`, [ORDER])).result(),
      start: (i) => start('trivial', `parked-${i}`, [ORDER], 'nobody'),
      signal: async (i) => {
        const handle = await start('waiter', `waiter-${i}`, []);
        await handle.signal('go');
        await handle.result();
      },
    },
    timers: (count, dueMs) => forEachOf(count, (i) => start('timer', `timer-${i}`, [dueMs])),
    schedules: (count) =>
      forEachOf(count, (i) =>
        schedule.create({
          scheduleId: `tick-${i}`,
          spec: { intervals: [{ every: '1s' }] },
          policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL },
          action: { type: 'startWorkflow', workflowId: `tick-${i}`, workflowType: 'tick', taskQueue: 'bench' },
        }),
      ),
  };
}
