// A gate in the way of a workflow task: the workflow calls the sink gate.pass(), and the worker
// answers that task only when the test has opened the gate of that workflow id. So a test decides
// what reaches the server while a task is started.

import { Doorbell } from './doorbell.mjs';

export const arrived = new Doorbell();
export const opened = new Doorbell();

export const gateSinks = {
  gate: {
    pass: {
      async fn({ workflowId }) {
        arrived.ring(workflowId);
        await opened.wait(workflowId);
      },
      callDuringReplay: false,
    },
  },
};
