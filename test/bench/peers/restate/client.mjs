// Restate's HTTP ingress, over connections that are kept.

import { Agent, request } from 'node:http';
import { forEachOf, ORDER } from '../orders.mjs';

export async function connect({ port }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });

  const call = (method, path, input) =>
    new Promise((resolve, reject) => {
      const body = input === undefined ? undefined : JSON.stringify(input);
      const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => {
          if (response.statusCode < 300) resolve(text);
          else reject(new Error(`${path} answers ${response.statusCode}: ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });

  return {
    operations: {
      trivial: () => call('POST', '/orders/trivial', ORDER),
      step: () => call('POST', '/orders/step', ORDER),
      start: () => call('POST', '/orders/trivial/send?delay=1h', ORDER),
      signal: async (i) => {
        await call('POST', `/waiter/${i}/run/send`);
        await call('POST', `/waiter/${i}/go`);
        await call('GET', `/restate/workflow/waiter/${i}/attach`);
      },
    },
    timers: (count, dueMs) => forEachOf(count, () => call('POST', '/orders/timer/send', dueMs)),
    schedules: (count) => {
      const first = Math.ceil(Date.now() / 1000) * 1000 + 1000;
      return forEachOf(count, (i) => call('POST', `/ticker/${i}/tick/send?delay=${first - Date.now()}ms`, first));
    },
  };
}
