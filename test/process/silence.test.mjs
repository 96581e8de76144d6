// A server that nobody connects to: everything that is due happens, by the clock alone.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { scheduleRequest, withClient } from './lib/client.mjs';
import { until, withProcess } from './lib/process.mjs';

const LATE_MS = 20_000; // ends what hangs

describe('after a restart, with no client', { timeout: 300_000 }, () => {
  test('a schedule fires', async () => {
    await withProcess({}, async (server) => {
      await withClient(server, (service) => service.createSchedule(scheduleRequest('every-2-seconds', 2)));
      await server.kill();
      await server.launchSilently();
      const last = () => server.rows('SELECT max(last_nominal_s) AS s FROM ledger')[0].s ?? 0; // times may share a row
      const before = last();
      await until(() => last() >= before + 4, LATE_MS, 'two more times of the schedule');
      assert.equal(await server.stop(), 0);
    });
  });
});
