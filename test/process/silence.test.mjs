// A server that nobody connects to: everything that is due happens, by the clock alone. It is prepared by a client,
// killed, and started again without one. What it does then is read from its data file.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NAMESPACE, scheduleRequest, seconds, startRequest, uniqueId, withClient } from './lib/client.mjs';
import { FakeClock } from './lib/clock.mjs';
import { isLong, pick, sleep, until, withProcess } from './lib/process.mjs';
import {
  activityCommand,
  failActivity,
  readEventNames,
  startActivity,
  startWithCommands,
  takeWorkflowTask,
  timerCommand,
} from './lib/steps.mjs';

const LATE_MS = 20_000; // ends what hangs
const DUE_S = 5; // from the preparation; longer than it takes, so that all becomes due without a client

const start = async (service, fields) => {
  const request = startRequest({ taskQueue: { name: uniqueId('queue') }, ...fields });
  await service.startWorkflowExecution(request);
  return request;
};

const countOf = (server, workflowId, name) => readEventNames(server, workflowId).filter((n) => n === name).length;

// Each prepares one run and returns what must hold in the data file after it was due.
const kinds = {
  'a timer': async (service) => {
    const { workflowId } = await startWithCommands(service, () => [timerCommand(DUE_S)]);
    return (server) => countOf(server, workflowId, 'TIMER_FIRED') === 1;
  },
  'a workflow run timeout': async (service) => {
    const { workflowId } = await start(service, { workflowRunTimeout: seconds(DUE_S) });
    return (server) => countOf(server, workflowId, 'WORKFLOW_EXECUTION_TIMED_OUT') === 1;
  },
  'a workflow execution timeout': async (service) => {
    const { workflowId } = await start(service, { workflowExecutionTimeout: seconds(DUE_S) });
    return (server) => countOf(server, workflowId, 'WORKFLOW_EXECUTION_TIMED_OUT') === 1;
  },
  'a workflow task timeout': async (service) => {
    const { workflowId, taskQueue } = await start(service, { workflowTaskTimeout: seconds(DUE_S) });
    await takeWorkflowTask(service, taskQueue.name);
    // That a worker has the task is on disk only with the next change of the run.
    await service.signalWorkflowExecution({
      namespace: NAMESPACE,
      workflowExecution: { workflowId },
      signalName: 'kept',
      requestId: uniqueId('request'),
    });
    return (server) => countOf(server, workflowId, 'WORKFLOW_TASK_TIMED_OUT') === 1;
  },
  'an activity schedule-to-start timeout': async (service) => {
    const fields = { scheduleToStartTimeout: seconds(DUE_S) };
    const { workflowId } = await startWithCommands(service, (queue) => [activityCommand(queue, fields)]);
    return (server) => countOf(server, workflowId, 'ACTIVITY_TASK_TIMED_OUT') === 1;
  },
  'an activity schedule-to-close timeout': async (service) => {
    const fields = { scheduleToCloseTimeout: seconds(DUE_S) };
    const { workflowId } = await startWithCommands(service, (queue) => [activityCommand(queue, fields)]);
    return (server) => countOf(server, workflowId, 'ACTIVITY_TASK_TIMED_OUT') === 1;
  },
  'an activity start-to-close timeout': async (service) => {
    const { workflowId } = await startActivityForGood(service, { startToCloseTimeout: seconds(DUE_S) });
    return (server) => countOf(server, workflowId, 'ACTIVITY_TASK_TIMED_OUT') === 1;
  },
  'an activity heartbeat timeout': async (service) => {
    const { workflowId } = await startActivityForGood(service, { heartbeatTimeout: seconds(DUE_S) });
    return (server) => countOf(server, workflowId, 'ACTIVITY_TASK_TIMED_OUT') === 1;
  },
  'the end of retries of an activity': async (service) => {
    // The second attempt comes after DUE_S and is offered to nobody, so it times out a second later.
    const { workflowId, task } = await startActivityForGood(service, {
      scheduleToCloseTimeout: seconds(DUE_S + 2),
      retryPolicy: { initialInterval: seconds(DUE_S), maximumAttempts: 2 },
    });
    await failActivity(service, task);
    return (server) => countOf(server, workflowId, 'ACTIVITY_TASK_TIMED_OUT') === 1;
  },
  'a start delay': async (service) => {
    const { workflowId } = await start(service, { workflowStartDelay: seconds(DUE_S) });
    return (server) => countOf(server, workflowId, 'WORKFLOW_TASK_SCHEDULED') === 1;
  },
  'the next run of a cron workflow': async (service) => {
    // The run of each round times out, which begins the next one.
    const fields = { cronSchedule: '@every 2s', workflowRunTimeout: seconds(1) };
    const { workflowId } = await start(service, fields);
    const runs = (server) => server.rows(`SELECT count(*) AS n FROM executions WHERE workflow_id = '${workflowId}'`)[0].n;
    let before;
    return (server) => {
      before ??= runs(server);
      return runs(server) >= before + 2;
    };
  },
  'the retry of a workflow': async (service) => {
    const fields = {
      workflowRunTimeout: seconds(1),
      retryPolicy: { initialInterval: seconds(DUE_S), maximumAttempts: 2 },
    };
    const { workflowId } = await start(service, fields);
    return (server) => countOf(server, workflowId, 'WORKFLOW_EXECUTION_TIMED_OUT') === 2;
  },
};

// An activity that is started on disk, too: a signal makes the run be written.
async function startActivityForGood(service, fields) {
  const started = await startActivity(service, fields);
  await service.signalWorkflowExecution({
    namespace: NAMESPACE,
    workflowExecution: { workflowId: started.workflowId },
    signalName: 'kept',
    requestId: uniqueId('request'),
  });
  return started;
}

// Times with the same fate share a row of the ledger, so the last time is looked at, and not the number of rows.
async function seeTwoTimes(server) {
  const last = () => server.rows('SELECT max(last_nominal_s) AS s FROM ledger')[0].s ?? 0;
  const before = last();
  await until(() => last() >= before + 4, LATE_MS, 'two more times of the schedule');
}

async function fill(service, count) {
  const many = 50;
  for (let done = 0; done < count; ) {
    const some = Math.min(many, count - done);
    await Promise.all(Array.from({ length: some }, () => service.startWorkflowExecution(startRequest())));
    done += some;
  }
}

describe('after a restart, with no client', { concurrency: 3, timeout: 1_800_000 }, () => {
  test('a schedule fires, and every kind of deadline', async () => {
    await withProcess({}, async (server) => {
      const checks = await withClient(server, async (service) => {
        await service.createSchedule(scheduleRequest('every-2-seconds', 2));
        return Promise.all(Object.entries(kinds).map(async ([name, prepare]) => [name, await prepare(service)]));
      });
      await server.kill();
      await server.launchSilently();
      await seeTwoTimes(server);
      for (const [name, isDone] of checks) await until(() => isDone(server), LATE_MS, name);
      assert.equal(await server.stop(), 0);
    });
  });

  test('what became due while the server was down is done', async () => {
    await withProcess({}, async (server) => {
      const names = ['a timer', 'a workflow run timeout', 'an activity start-to-close timeout', 'a start delay'];
      const checks = await withClient(server, (service) =>
        Promise.all(names.map(async (name) => [name, await kinds[name](service)])),
      );
      assert.equal(await server.stop(), 0);
      await sleep(DUE_S * 1000);
      await server.launchSilently();
      for (const [name, isDone] of checks) await until(() => isDone(server), LATE_MS, name);
    });
  });

  test('closed runs are removed when their retention is over', async () => {
    // The shortest retention is a day, so the clock goes on by a day. The server looks for such runs when it does.
    const clock = new FakeClock();
    await withProcess({ env: clock.env, flags: ['--retention-hours', '24'] }, async (server) => {
      await withClient(server, async (service) => {
        const { workflowId } = await start(service, {});
        await service.terminateWorkflowExecution({ namespace: NAMESPACE, workflowExecution: { workflowId } });
      });
      assert.equal(await server.stop(), 0);
      await server.launchSilently();
      clock.set(25 * 3600);
      const rows = (table) => server.rows(`SELECT count(*) AS n FROM ${table}`)[0].n;
      await until(() => rows('executions') + rows('history') + rows('visibility') === 0, 90_000, 'the rows to go');
    });
  });

  for (const count of isLong ? [1, 999, 1001, 50_000] : [1, 999, 1001])
    test(`a schedule and a timer among ${count} open runs`, async () => {
      await withProcess({}, async (server) => {
        const isFired = await withClient(server, async (service) => {
          await fill(service, count - 1);
          await service.createSchedule(scheduleRequest('every-2-seconds', 2));
          return kinds['a timer'](service);
        });
        await server.kill();
        await server.launchSilently();
        await seeTwoTimes(server);
        await until(() => isFired(server), LATE_MS, 'the timer');
      });
    });
});
