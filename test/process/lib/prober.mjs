// A prober in a process of its own: two small calls every 10 ms, GetSystemInfo and StartWorkflowExecution, and how
// long the slowest answer took. An answer that is still missing counts as if it came now.
//
//   const prober = await startProber(server);
//   await prober.reset();
//   ... load ...
//   const { worstMs, count, failed } = await prober.report();

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const EVERY_MS = 10;
const WAITING_MAX = 400; // probes on their way; a server that stands still gets no more

export async function startProber(server) {
  const child = fork(fileURLToPath(import.meta.url), [server.address], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ask = async (what) => {
    child.send(what);
    const [answer] = await once(child, 'message');
    return answer;
  };
  await once(child, 'message');
  return {
    reset: () => ask('reset'),
    report: () => ask('report'),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function probe(address) {
  const { startRequest } = await import('./client.mjs');
  const { createRequire } = await import('node:module');
  const { Connection } = createRequire(new URL('../../sdk/package.json', import.meta.url))('@temporalio/client');
  const connection = await Connection.connect({ address, interceptors: [] });
  const service = connection.workflowService;
  const begun = new Set();
  let worstMs = 0;
  let count = 0;
  let failed = 0;
  const timed = async (call) => {
    const at = { ms: performance.now() };
    begun.add(at);
    const isAnswered = await call().then(() => true, () => false);
    if (!begun.delete(at)) return; // it was sent before the last reset
    worstMs = Math.max(worstMs, performance.now() - at.ms);
    if (isAnswered) count++;
    else failed++;
  };
  const send = () => {
    if (begun.size > WAITING_MAX) return;
    timed(() => service.getSystemInfo({}));
    timed(() => service.startWorkflowExecution(startRequest({ taskQueue: { name: 'probes' } })));
  };
  process.on('message', (what) => {
    if (what === 'reset') {
      begun.clear();
      worstMs = count = failed = 0;
      process.send('reset');
      return;
    }
    for (const at of begun) worstMs = Math.max(worstMs, performance.now() - at.ms);
    process.send({ worstMs, count, failed });
  });
  await service.getSystemInfo({});
  setInterval(send, EVERY_MS);
  process.send('ready');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await probe(process.argv[2]);
