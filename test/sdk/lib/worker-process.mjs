// A worker in a process of its own, so that a test can kill it: worker-process.mjs ADDRESS QUEUE.
// Tells its parent when it polls, and whenever one of its activities starts.

import { running } from './activities.mjs';
import { RunningWorker } from './worker.mjs';

const [address, taskQueue] = process.argv.slice(2);
const ring = running.ring.bind(running);
running.ring = (workflowId) => {
  ring(workflowId);
  process.send({ running: workflowId });
};

const worker = await RunningWorker.start({ address }, taskQueue, {
  stickyQueueScheduleToStartTimeout: '1s',
});
process.send({ ready: true });
await worker.finished;
