// Holiday calendars: kept by the namespace, named by schedules, and heard of when they change.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { connectOwn } from './lib/own.mjs';
import { Server } from './lib/server.mjs';
import { eventually, failure } from './lib/world.mjs';

const NAMESPACE = 'default';
const DAY_MS = 86_400_000;

async function withServer(body) {
  const server = await Server.start();
  let own = connectOwn(server);
  const restart = async () => {
    own.close();
    await server.kill();
    await server.launch();
    own = connectOwn(server);
    return own;
  };
  try {
    await body(own, restart);
  } finally {
    own.close();
    await server.close();
  }
}

async function refusal(promise, code, text) {
  const error = await failure(promise);
  assert.equal(error.code, code, String(error));
  assert.match(error.details, text);
}

const put = (own, calendar) => own.schedules.putHolidayCalendar({ namespace: NAMESPACE, calendar });
const list = async (own) => (await own.schedules.listHolidayCalendars({ namespace: NAMESPACE })).calendars;
const names = async (own) => (await list(own)).map((each) => each.name);

// The next times, as dates.
async function nextDates(own, scheduleId) {
  const { info } = await own.workflows.describeSchedule({ namespace: NAMESPACE, scheduleId });
  return info.futureActionTimes.map(({ seconds }) => new Date(seconds * 1000).toISOString().slice(0, 10));
}

const dateIn = (days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

describe('holiday calendars', { timeout: 120_000 }, () => {
  test('are put, replaced, listed and deleted, and outlive the process', async () => {
    await withServer(async (own, restart) => {
      assert.deepEqual(await list(own), []);
      const christmas = {
        name: 'de',
        description: 'Germany',
        days: [{ month: [{ start: 12 }], dayOfMonth: [{ start: 25, end: 26 }] }],
        cronStrings: ['0 0 1 1 *'],
        dates: ['2026-10-03'],
      };
      await put(own, christmas);
      await put(own, { name: 'fr', dates: ['2026-07-14'] });
      await put(own, { name: 'us', dates: ['2026-07-04'] });
      await put(own, { name: 'fr', dates: ['2027-07-14'] });
      await own.schedules.deleteHolidayCalendar({ namespace: NAMESPACE, name: 'us' });
      const again = await restart();
      const [de, fr, ...others] = await list(again);
      assert.deepEqual(others, []);
      assert.equal(de.description, 'Germany');
      assert.deepEqual(de.days[0].dayOfMonth, [{ start: 25, end: 26 }]);
      assert.deepEqual(de.cronStrings, christmas.cronStrings);
      assert.deepEqual(de.dates, christmas.dates);
      assert.deepEqual(fr.dates, ['2027-07-14']);
    });
  });

  test('that are wrong are refused and change nothing', async () => {
    await withServer(async (own) => {
      await put(own, { name: 'de', dates: ['2026-12-25'] });
      const wrong = [
        [undefined, /^Calendar is not set on request\.$/],
        [{ dates: ['2026-12-25'] }, /^Calendar name is not set on request\.$/],
        [{ name: 'x'.repeat(201) }, /^Calendar name length exceeds limit\.$/],
        [{ name: 'de', dates: ['2026-02-30'] }, /2026-02-30/],
        [{ name: 'de', dates: ['Christmas'] }, /Christmas/],
        [{ name: 'de', dates: ['2026-12-25T10:00:00'] }, /2026-12-25T10/],
        [{ name: 'de', cronStrings: ['61 0 1 1 *'] }, /de/],
        [{ name: 'de', days: [{ month: [{ start: 13 }] }] }, /de/],
        [{ name: 'de', days: [{ month: [{ start: 12 }], hour: [{ start: 24 }] }] }, /de/],
        [{ name: 'de', dates: Array(1001).fill('2026-12-25') }, /at most 1000 days/],
      ];
      for (const [calendar, text] of wrong) await refusal(put(own, calendar), status.INVALID_ARGUMENT, text);
      const { schedules } = own;
      await refusal(schedules.putHolidayCalendar({ namespace: 'nowhere' }), status.NOT_FOUND, /nowhere/);
      await refusal(schedules.listHolidayCalendars({ namespace: 'nowhere' }), status.NOT_FOUND, /nowhere/);
      const missing = { namespace: NAMESPACE, name: 'fr' };
      await refusal(schedules.deleteHolidayCalendar(missing), status.NOT_FOUND, /holiday calendar "fr" not found/);
      const [de, ...others] = await list(own);
      assert.deepEqual([de.dates, others], [['2026-12-25'], []]);
    });
  });

  test('are at most 100', async () => {
    await withServer(async (own) => {
      for (let i = 0; i < 100; i += 1) await put(own, { name: `c${i}`, dates: ['2026-12-25'] });
      await refusal(put(own, { name: 'one more' }), status.FAILED_PRECONDITION, /at most 100/);
      await put(own, { name: 'c7', dates: [] });
      assert.equal((await names(own)).length, 100);
    });
  });

  test('are excluded from schedules that name them, also when they change later', async () => {
    await withServer(async (own, restart) => {
      const scheduleId = `s-${randomUUID()}`;
      const schedule = {
        // Noon is not close to a midnight at which the dates below would move.
        spec: { cronString: ['0 12 * * *'] },
        action: {
          startWorkflow: {
            workflowId: 'daily',
            workflowType: { name: 'hello' },
            taskQueue: { name: 'nobody' },
          },
        },
        extras: { holidayCalendars: ['de'] },
      };
      const request = { namespace: NAMESPACE, scheduleId, schedule, requestId: randomUUID() };
      await refusal(own.workflows.createSchedule(request), status.INVALID_ARGUMENT, /no holiday calendar "de"/);
      const [first, second, third] = [dateIn(2), dateIn(3), dateIn(4)];
      await put(own, { name: 'de', dates: [first] });
      await own.workflows.createSchedule(request);
      const has = async (server, date) => (await nextDates(server, scheduleId)).includes(date);
      assert.deepEqual([await has(own, first), await has(own, second)], [false, true]);
      await put(own, { name: 'de', dates: [second] });
      await eventually(async () => (await has(own, first)) && !(await has(own, second)));
      await put(own, { name: 'de', dates: [third] });
      const again = await restart(); // perhaps before the schedule has heard of it
      await eventually(async () => (await has(again, second)) && !(await has(again, third)));
      await again.schedules.deleteHolidayCalendar({ namespace: NAMESPACE, name: 'de' });
      await eventually(async () => (await has(again, third)) && (await has(again, first)));
    });
  });
});
