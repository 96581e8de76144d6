// Restate's SDK as the worker: node restate/worker.mjs PORT

import { createEndpointHandler, object, rpc, service, workflow } from '@restatedev/restate-sdk';
import { createServer } from 'node:http2';
import { once } from 'node:events';
import { Lateness } from '../figures.mjs';
import { answerMessages } from '../processes.mjs';

const lateness = new Lateness();

const orders = service({
  name: 'orders',
  handlers: {
    trivial: async (_ctx, input) => input,
    step: async (ctx, input) => ctx.run('charge', async () => input),
    timer: async (ctx, dueMs) => {
      const now = await ctx.date.now();
      await ctx.sleep(Math.max(dueMs - now, 0));
      lateness.note(dueMs);
    },
  },
});

const waiter = workflow({
  name: 'waiter',
  handlers: {
    run: async (ctx) => ctx.promise('go'),
    go: async (ctx) => ctx.promise('go').resolve('gone'),
  },
});

// Restate has no schedules; what its users do is an object that sends itself the next call with a delay.
const ticker = object({
  name: 'ticker',
  handlers: {
    tick: async (ctx, dueMs) => {
      const next = dueMs + 1000;
      const delay = Math.max(next - (await ctx.date.now()), 0);
      ctx.objectSendClient({ name: 'ticker' }, ctx.key).tick(next, rpc.sendOpts({ delay }));
      lateness.note(dueMs);
    },
  },
});

const silent = () => {};
const handler = createEndpointHandler({ services: [orders, waiter, ticker], logger: silent });
const server = createServer(handler);
server.listen(Number(process.argv[2]), '127.0.0.1');
await once(server, 'listening');
answerMessages(lateness.answers);
