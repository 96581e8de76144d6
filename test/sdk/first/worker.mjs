import { NativeConnection, Worker } from '@temporalio/worker';

const address = process.env.TEMPORAL_ADDRESS ?? '127.0.0.1:7233';
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'first',
  workflowsPath: new URL('workflows.ts', import.meta.url).pathname,
  activities: { greet: async (name) => `Hello, ${name}!` },
});
await worker.run();
