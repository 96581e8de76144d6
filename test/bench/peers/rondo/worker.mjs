// The TypeScript SDK's worker: node rondo/worker.mjs ADDRESS BUNDLE

import { NativeConnection, Runtime, DefaultLogger, Worker } from '@temporalio/worker';
import { Lateness } from '../figures.mjs';
import { answerMessages } from '../processes.mjs';

const [address, codePath] = process.argv.slice(2);
const lateness = new Lateness();
Runtime.install({ logger: new DefaultLogger('ERROR') });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'bench',
  workflowBundle: { codePath },
  activities: { charge: async (input) => input },
  sinks: { lateness: { note: { fn: (_info, dueMs) => lateness.note(dueMs) } } },
  maxCachedWorkflows: 10_000,
  maxConcurrentWorkflowTaskExecutions: 200,
  maxConcurrentActivityTaskExecutions: 200,
});
const running = worker.run();
running.catch((error) => {
  console.error(error);
  process.exit(1);
});
answerMessages(lateness.answers);
