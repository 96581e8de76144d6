// HTTP/1.1 at its edges: where a request ends, which names the server answers to, and probes in a crowd.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NAMESPACE, startRequest, withClient } from './lib/client.mjs';
import { pick, sleep, until, withProcess } from './lib/process.mjs';
import { HttpPeer, httpRequest } from './lib/raw.mjs';

const HANGS_MS = 20_000; // ends what hangs

// What the server sends for these bytes until it closes the connection, or until `isEnough`.
async function say(server, bytes, isEnough = () => false) {
  const peer = await HttpPeer.connect(server, bytes);
  try {
    await until(() => peer.isEnded || peer.socket.destroyed || isEnough(peer.text), HANGS_MS, 'an answer');
    return peer;
  } finally {
    peer.close();
  }
}

const statusOf = (text) => Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1]);
const answerCount = (text) => text.split(/^HTTP\/1\.1 \d/m).length - 1;

describe('where a request ends', { timeout: 120_000 }, () => {
  // Each has a second request where another reading of the headers would see one.
  const inner = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const path = `/api/v1/namespaces/${NAMESPACE}/workflows/none/terminate`; // answered with 404
  const post = (headers, body) => `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
  const ambiguous = {
    'two lengths that differ': post(`Content-Length: 2\r\nContent-Length: ${2 + inner.length}\r\n`, `{}${inner}`),
    'two lengths that agree': post('Content-Length: 2\r\nContent-Length: 2\r\n', `{}${inner}`),
    'a list of lengths': post('Content-Length: 2, 2\r\n', `{}${inner}`),
    'a length with a sign': post('Content-Length: +2\r\n', `{}${inner}`),
    'a negative length': post('Content-Length: -2\r\n', `{}${inner}`),
    'a length that is no number': post('Content-Length: 2x\r\n', `{}${inner}`),
    'a length and chunks': post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${inner}`),
    'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${inner}`),
    'two encodings': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${inner}`),
    'an unknown encoding': post('Transfer-Encoding: gzip\r\n', inner),
    'an encoding that is not last': post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${inner}`),
    'a space before the colon': post('Content-Length : 2\r\n', `{}${inner}`),
    'two hosts': `GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: example.com\r\n\r\n${inner}`,
  };
  for (const [name, bytes] of Object.entries(ambiguous)) {
    test(`${name}: refused, and the connection ends`, async () => {
      await withProcess({}, async (server) => {
        const { text } = await say(server, bytes);
        assert.equal(statusOf(text), 400, text);
        assert.equal(answerCount(text), 1, text);
      });
    });
  }

  test('one length, or chunks: both requests are answered', async () => {
    await withProcess({}, async (server) => {
      for (const bytes of [post('Content-Length: 2\r\n', `{}${inner}`), post('Transfer-Encoding: Chunked\r\n', `2\r\n{}\r\n0\r\n\r\n${inner}`)]) {
        const { text } = await say(server, bytes, (t) => t.includes('"status":"ok"'));
        assert.equal(statusOf(text), 404, text);
        assert.equal(answerCount(text), 2, text);
      }
    });
  });

  test('a HEAD request with a body is the last one', async () => {
    await withProcess({}, async (server) => {
      const { text } = await say(server, `HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`);
      assert.equal(statusOf(text), 200);
      assert.equal(answerCount(text), 1, text);
    });
  });
});

test('names of the server', { timeout: 60_000 }, async () => {
  await withProcess({}, async (server) => {
    const ask = async (host) => {
      const { text } = await say(server, `GET /namespaces HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      return statusOf(text);
    };
    for (const host of ['localhost', 'LOCALHOST', 'LocalHost:8233', 'localhost.', 'localhost.:80', 'localhost:', '127.0.0.1', '127.0.0.1:8233', '127.1.2.3', '[::1]', '[::1]:8233', '[0:0:0:0:0:0:0:1]'])
      assert.equal(await ask(host), 200, host);
    for (const host of ['example.com', 'localhost.example.com', 'xlocalhost', 'localhost..', 'localhost:80x', '127.0.0.1.example.com', '[::1', '::1', '[::2]', '10.0.0.1', ''])
      assert.equal(await ask(host), 403, host);
  });
});

describe('a crowd of waiting calls', { timeout: 300_000 }, () => {
  test('probes and short calls are answered, and what is too much is refused', async () => {
    await withProcess({}, (server) =>
      withClient(server, async (client) => {
        await client.startWorkflowExecution(startRequest({ workflowId: 'crowded' }));
        const path = `/api/v1/namespaces/${NAMESPACE}/workflows/crowded/history?waitNewEvent=true&historyEventFilterType=2`;
        const crowd = [];
        for (let i = 0; i < pick(700, 2000); i++) crowd.push(await HttpPeer.connect(server, httpRequest('GET', path)));
        const refused = () => crowd.filter((peer) => statusOf(peer.text) === 429).length;
        const waiting = () => crowd.filter((peer) => !peer.text && !peer.isEnded && !peer.socket.destroyed).length;
        await until(() => refused() > 0, HANGS_MS, 'a refusal');
        for (let i = 0; i < 20; i++) {
          const began = Date.now();
          const probe = await say(server, httpRequest('GET', '/healthz'), (text) => text.includes('ok'));
          assert.equal(statusOf(probe.text), 200);
          const short = await say(server, httpRequest('GET', `/api/v1/namespaces/${NAMESPACE}/workflows/crowded`), (text) => text.includes('runId'));
          assert.equal(statusOf(short.text), 200);
          assert.ok(Date.now() - began < 3_000, `a probe and a short call took ${Date.now() - began} ms`);
          await sleep(20);
        }
        assert.ok(waiting() >= 400, `${waiting()} calls wait`);
        await client.terminateWorkflowExecution({ namespace: NAMESPACE, workflowExecution: { workflowId: 'crowded' } });
        await until(() => waiting() === 0, HANGS_MS, 'the answers of those who waited');
        for (const peer of crowd) peer.close();
      }),
    );
  });
});
