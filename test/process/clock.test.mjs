// A wall clock that is set while the server runs. Nothing connects to the server after the preparation.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { scheduleRequest, seconds, startRequest, temporal, withClient } from './lib/client.mjs';
import { FakeClock } from './lib/clock.mjs';
import { pick, sleep, until, withProcess } from './lib/process.mjs';
import { activityCommand, readEvents, startActivity, startWithCommands, timerCommand } from './lib/steps.mjs';

const { EventType } = temporal.api.enums.v1;
const { SCHEDULE_OVERLAP_POLICY_ALLOW_ALL } = temporal.api.enums.v1.ScheduleOverlapPolicy;

const HANG_MS = 90_000; // ends what hangs
const DONE_MS = 2_000; // what the server promises

async function withFakeClock(fn) {
  const clock = new FakeClock();
  await withProcess({ env: clock.env }, (server) => fn(server, clock));
}

// The times of events of this type, in milliseconds by the server's clock.
function eventTimes(server, workflowId, type) {
  return readEvents(server, workflowId)
    .filter((event) => event.eventType === EventType[`EVENT_TYPE_${type}`])
    .map((event) => Number(event.eventTime.seconds) * 1000 + event.eventTime.nanos / 1e6);
}

const ledger = (server) => server.rows('SELECT nominal_s FROM ledger ORDER BY id');
// When the schedule's actions began, in milliseconds by the server's clock.
const actionTimes = (server, scheduleId) =>
  server.rows(`SELECT start_ns FROM visibility WHERE workflow_id LIKE '${scheduleId}-%'`).map((row) => row.start_ns / 1e6);

// The log comes by a pipe, which is read between other things.
async function seeSteps(server, count) {
  await until(() => server.countLog('clock_stepped') >= count, HANG_MS, `${count} steps in the log`);
  assert.equal(server.countLog('clock_stepped'), count);
}

describe('the wall clock goes forward', { timeout: 300_000 }, () => {
  test('everything that is due is done within 2 s', async () => {
    await withFakeClock(async (server, clock) => {
      const due = await withClient(server, async (service) => {
        const timer = await startWithCommands(service, () => [timerCommand(1000)]);
        const started = await startActivity(service, { startToCloseTimeout: seconds(1800) });
        const waiting = await startWithCommands(service, (queue) => [
          activityCommand(queue, { scheduleToStartTimeout: seconds(600) }),
        ]);
        const run = startRequest({ workflowRunTimeout: seconds(1900 - 10) });
        await service.startWorkflowExecution(run);
        const delayed = startRequest({ workflowStartDelay: seconds(900) });
        await service.startWorkflowExecution(delayed);
        await service.createSchedule(scheduleRequest('in-fifteen-minutes', 900));
        return [
          [timer.workflowId, 'TIMER_FIRED'],
          [started.workflowId, 'ACTIVITY_TASK_TIMED_OUT'],
          [waiting.workflowId, 'ACTIVITY_TASK_TIMED_OUT'],
          [run.workflowId, 'WORKFLOW_EXECUTION_TIMED_OUT'],
          [delayed.workflowId, 'WORKFLOW_TASK_SCHEDULED'],
        ];
      });
      await sleep(1500); // the server is idle
      const setAt = clock.set(1900);
      for (const [workflowId, type] of due) {
        const [at] = await until(
          () => {
            const times = eventTimes(server, workflowId, type);
            return times.length && times;
          },
          HANG_MS,
          `${type} of ${workflowId}`,
        );
        assert.ok(at - setAt <= DONE_MS, `${type} came ${at - setAt} ms after the clock was set`);
      }
      await until(() => ledger(server).length >= 2, HANG_MS, 'the two times of the schedule');
      const [startedAt] = await until(() => actionTimes(server, 'in-fifteen-minutes'), HANG_MS, 'its action');
      const late = startedAt - setAt;
      assert.ok(late <= DONE_MS, `the schedule came ${late} ms after the clock was set`);
      await seeSteps(server, 1);
      assert.match(server.log, /clock_stepped .*forward/);
    });
  });
});

describe('the wall clock goes an hour forward and back again', { timeout: 300_000 }, () => {
  test('a schedule goes on, and acts on each of its times once', async () => {
    await withFakeClock(async (server, clock) => {
      const policies = { overlapPolicy: SCHEDULE_OVERLAP_POLICY_ALLOW_ALL };
      await withClient(server, (service) => service.createSchedule(scheduleRequest('beat', 2, { policies })));
      const begin = Date.now();
      const moreRows = async (count, what) => {
        const before = ledger(server).length;
        await until(() => ledger(server).length >= before + count, 20_000, what);
      };
      await moreRows(1, 'the schedule to begin');
      for (let i = 0; i < pick(1, 5); i++) {
        clock.set(3600);
        await moreRows(2, 'two times while the clock is an hour ahead');
        await sleep(pick(0, 5000));
        clock.set(0);
        await moreRows(2, 'two times after the clock went back');
      }
      const times = ledger(server).map((row) => row.nominal_s);
      assert.equal(new Set(times).size, times.length, 'no time twice');
      const possible = (Date.now() - begin) / 2000 + 2;
      assert.ok(times.length <= possible, `${times.length} actions, and only ${possible} times have passed`);
      await seeSteps(server, 2 * pick(1, 5));
      assert.match(server.log, /clock_stepped .*forward[^]*clock_stepped .*back/);
      assert.ok(server.countLog('schedules_keep_old_time') >= 1);
      const metrics = await (await fetch(`${server.httpAddress}/metrics`)).text();
      assert.match(metrics, new RegExp(`rondo_clock_steps_total\\{direction="back"\\} ${pick(1, 5)}\n`));
    });
  });

  test('a timer that was set before is not early when the clock goes back', async () => {
    await withFakeClock(async (server, clock) => {
      const timer = await withClient(server, (service) => startWithCommands(service, () => [timerCommand(8)]));
      const startedAt = clock.now();
      clock.set(-3600);
      await sleep(1500);
      clock.set(0);
      const type = 'TIMER_FIRED';
      await until(() => eventTimes(server, timer.workflowId, type).length, HANG_MS, 'the timer');
      const [at] = eventTimes(server, timer.workflowId, type);
      assert.ok(at - startedAt >= 8000 - 1000, `it took ${at - startedAt} ms`);
      await seeSteps(server, 2);
    });
  });
});
