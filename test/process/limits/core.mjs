// src/core/step/limits.def: what one workflow, schedule or deployment may have.
// A case gets { service, operator, server, max }: max is the number that holds.

import assert from 'node:assert/strict';
import { NAMESPACE, scheduleRequest, seconds, startRequest, temporal, uniqueId } from '../lib/client.mjs';
import { until } from '../lib/process.mjs';
import { completeTask, pollRequest, startTimer, takeTask } from '../lib/tasks.mjs';
import { FAILED_PRECONDITION, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, describeRun, refused, startOn, times } from './check.mjs';

const { ScheduleOverlapPolicy, WorkflowIdConflictPolicy, WorkerVersioningMode } = temporal.api.enums.v1;
const LATE_MS = 30_000; // ends what hangs
const NEVER = { startTime: seconds(4e9) }; // a spec whose times are all far away

async function newSchedule(service, fields = {}) {
  const scheduleId = uniqueId('schedule');
  await service.createSchedule(scheduleRequest(scheduleId, 3600, { spec: { interval: [{ interval: seconds(3600) }], ...NEVER }, ...fields }));
  return scheduleId;
}

const patch = (service, scheduleId, fields) =>
  service.patchSchedule({ namespace: NAMESPACE, scheduleId, requestId: uniqueId('patch'), identity: 'test/process', patch: fields });
const trigger = (service, scheduleId, overlapPolicy) => patch(service, scheduleId, { triggerImmediately: { overlapPolicy } });
const describeSchedule = (service, scheduleId) => service.describeSchedule({ namespace: NAMESPACE, scheduleId });

const createDeployment = (service, deploymentName) =>
  service.createWorkerDeployment({ namespace: NAMESPACE, deploymentName, requestId: uniqueId('request'), identity: 'test/process' });
const createVersion = (service, deploymentName, buildId) =>
  service.createWorkerDeploymentVersion({
    namespace: NAMESPACE,
    deploymentVersion: { deploymentName, buildId },
    requestId: uniqueId('request'),
    identity: 'test/process',
  });
const deleteDeployment = async (service, deploymentName, buildIds = []) => {
  for (const buildId of buildIds)
    await service.deleteWorkerDeploymentVersion({ namespace: NAMESPACE, deploymentVersion: { deploymentName, buildId }, skipDrainage: true });
  await service.deleteWorkerDeployment({ namespace: NAMESPACE, deploymentName });
};
const setMetadata = (service, deploymentName, buildId, upsertEntries) =>
  service.updateWorkerDeploymentVersionMetadata({ namespace: NAMESPACE, deploymentVersion: { deploymentName, buildId }, upsertEntries });
const text = (bytes) => ({ data: Buffer.alloc(bytes, 120) });

// A deployment with one version for the length of fn.
async function withVersion(service, fn) {
  const name = uniqueId('deployment');
  await createDeployment(service, name);
  await createVersion(service, name, '1');
  await fn(name, '1');
  await deleteDeployment(service, name, ['1']);
}

export const cases = {
  'core.ID_BYTES': async ({ service, max }) => {
    await service.startWorkflowExecution(startRequest({ workflowId: 'x'.repeat(max) }));
    await refused(service.startWorkflowExecution(startRequest({ workflowId: 'x'.repeat(max + 1) })), INVALID_ARGUMENT);
    await refused(startOn(service, 'q'.repeat(max + 1)), INVALID_ARGUMENT);
  },
  'core.SCHEDULE_ID_BYTES': async ({ service, max }) => {
    await service.createSchedule(scheduleRequest('s'.repeat(max), 86400));
    await refused(service.createSchedule(scheduleRequest('s'.repeat(max + 1), 86400)), INVALID_ARGUMENT);
  },
  'core.PENDING_TIMERS': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    await completeTask(service, await takeTask(service, queue), Array.from({ length: max }, () => startTimer()));
    await service.signalWorkflowExecution({ namespace: NAMESPACE, workflowExecution: run, signalName: 'more' });
    await refused(completeTask(service, await takeTask(service, queue), [startTimer()]), INVALID_ARGUMENT);
    assert.ok((await describeRun(service, run)).workflowExecutionInfo);
  },
  'core.MESSAGES': async ({ service, max }) => {
    const queue = uniqueId('queue');
    const run = await startOn(service, queue);
    const messages = (n) => Array.from({ length: n }, (_, i) => ({ id: `${i}`, protocolInstanceId: 'none' }));
    const complete = async (n) => completeTask(service, await takeTask(service, queue), [], { messages: messages(n) });
    await refused(complete(max + 1), INVALID_ARGUMENT, /too many messages/);
    await refused(complete(max), INVALID_ARGUMENT, /^(?!.*too many)/); // they are about no update, which is found next
    assert.ok((await describeRun(service, run)).workflowExecutionInfo);
  },
  'core.SPEC_CALENDARS': async ({ service, max }) => {
    const calendar = (i) => ({ second: [{ start: i }], minute: [{ start: 0 }], hour: [{ start: 0 }] });
    const create = (n) => {
      const list = Array.from({ length: n }, (_, i) => calendar(i));
      const spec = { structuredCalendar: list.slice(1), excludeStructuredCalendar: list.slice(0, 1) };
      return service.createSchedule(scheduleRequest(uniqueId('schedule'), 3600, { spec }));
    };
    await create(max);
    await refused(create(max + 1), INVALID_ARGUMENT, /calendars and exclusions/);
  },
  'core.LINKS': async ({ service, max }) => {
    const link = () => ({ workflowEvent: { namespace: NAMESPACE, workflowId: 'w', runId: 'r' } });
    const links = (n) => startRequest({ links: Array.from({ length: n }, link) });
    await service.startWorkflowExecution(links(max));
    await refused(service.startWorkflowExecution(links(max + 1)), INVALID_ARGUMENT);
  },
  'core.ATTACHED_REQUESTS': async ({ service, max }) => {
    const { workflowId } = await startOn(service, 'quiet');
    const attach = () =>
      service.startWorkflowExecution(
        startRequest({
          workflowId,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
          onConflictOptions: { attachRequestId: true },
        }),
      );
    await times(max, attach);
    await refused(attach(), INVALID_ARGUMENT);
  },
  'core.SCHEDULE_NOTES_BYTES': async ({ service, max }) => {
    const noted = (n) => {
      const request = scheduleRequest(uniqueId('schedule'), 86400);
      request.schedule.state = { notes: 'n'.repeat(n) };
      return service.createSchedule(request);
    };
    await noted(max);
    await refused(noted(max + 1), INVALID_ARGUMENT);
  },
  'core.SCHEDULE_BUFFER': async ({ service, max }) => {
    const id = await newSchedule(service);
    const all = ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL;
    await trigger(service, id, all); // this one runs, and the others wait for it
    await until(async () => (await describeSchedule(service, id)).info.runningWorkflows.length === 1, LATE_MS, 'the first action');
    await times(max, () => trigger(service, id, all));
    await refused(trigger(service, id, all), RESOURCE_EXHAUSTED);
    assert.equal(Number((await describeSchedule(service, id)).info.bufferSize), max);
  },
  'core.SCHEDULE_RUNNING': async ({ service, max }) => {
    const id = await newSchedule(service, { action: { workflowId: uniqueId('action') } });
    await times(max + 2, () => trigger(service, id, ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL));
    const info = async () => (await describeSchedule(service, id)).info;
    await until(async () => Number((await info()).actionCount) >= max, LATE_MS, 'the actions');
    assert.equal((await info()).runningWorkflows.length, max);
    assert.equal(Number((await info()).bufferDropped), 2);
  },
  'core.SCHEDULE_STARTING': async ({ service, max }) => {
    // More at once than may be starting: all of them are started, one after the other.
    const id = await newSchedule(service, { action: { workflowId: uniqueId('action') } });
    const at = new Date(Date.now() - 86_400_000);
    const backfill = {
      startTime: seconds(at.getTime() / 1000 - (max + 2) * 3600),
      endTime: seconds(at.getTime() / 1000),
      overlapPolicy: ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
    };
    const request = scheduleRequest(uniqueId('schedule'), 3600);
    request.schedule.state = { paused: true };
    await service.createSchedule(request);
    await patch(service, request.scheduleId, { backfillRequest: [backfill] });
    const count = async () => Number((await describeSchedule(service, request.scheduleId)).info.actionCount);
    await until(async () => (await count()) >= max + 1, LATE_MS, 'the backfill');
    assert.ok(id);
  },
  'core.SCHEDULE_BACKFILLS': async ({ service, max }) => {
    const request = scheduleRequest(uniqueId('schedule'), 60);
    request.schedule.state = { paused: true };
    await service.createSchedule(request);
    const now = Date.now() / 1000;
    const backfill = { startTime: seconds(now - 864000), endTime: seconds(now - 1), overlapPolicy: ScheduleOverlapPolicy.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL };
    await patch(service, request.scheduleId, { backfillRequest: Array.from({ length: max }, () => backfill) });
    await refused(patch(service, request.scheduleId, { backfillRequest: [backfill] }), FAILED_PRECONDITION);
  },
  'core.SCHEDULE_REQUESTS': async ({ service, max }) => {
    const id = await newSchedule(service);
    await times(max + 2, () => patch(service, id, { pause: 'once more' })); // the oldest is forgotten
    assert.equal((await describeSchedule(service, id)).schedule.state.notes, 'once more');
  },
  'core.SCHEDULE_CONCURRENT': async ({ server, max }) => {
    const put = (n) => {
      const body = {
        requestId: uniqueId('request'),
        schedule: {
          spec: { interval: [{ interval: '3600s' }] },
          action: { startWorkflow: { workflowId: 'w', workflowType: { name: 't' }, taskQueue: { name: 'quiet' } } },
          extras: { maxConcurrentRuns: n },
        },
      };
      return fetch(`${server.httpAddress}/api/v1/namespaces/default/schedules/${uniqueId('schedule')}`, { method: 'POST', body: JSON.stringify(body) });
    };
    const accepted = await put(max);
    assert.equal(accepted.status, 200, await accepted.text());
    assert.equal((await put(max + 1)).status, 400);
  },
  'core.DEPLOYMENTS': async ({ service, max }) => {
    const names = Array.from({ length: max }, () => uniqueId('deployment'));
    for (const name of names) await createDeployment(service, name);
    await refused(createDeployment(service, uniqueId('deployment')), RESOURCE_EXHAUSTED);
    for (const name of names) await deleteDeployment(service, name);
  },
  'core.DEPLOYMENT_VERSIONS': async ({ service, max }) => {
    const name = uniqueId('deployment');
    await createDeployment(service, name);
    await times(max + 2, (i) => createVersion(service, name, `${i}`)); // unused ones make room
    const { workerDeploymentInfo } = await service.describeWorkerDeployment({ namespace: NAMESPACE, deploymentName: name });
    assert.equal(workerDeploymentInfo.versionSummaries.length, max);
    await deleteDeployment(service, name, workerDeploymentInfo.versionSummaries.map((v) => v.deploymentVersion.buildId));
  },
  'core.VERSION_QUEUES': async ({ service, max }) => {
    const deploymentName = uniqueId('deployment');
    const deploymentOptions = { deploymentName, buildId: '1', workerVersioningMode: WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED };
    const parked = [];
    const version = () => service.describeWorkerDeploymentVersion({ namespace: NAMESPACE, deploymentVersion: { deploymentName, buildId: '1' } });
    const queueCount = async () => {
      try {
        return (await version()).versionTaskQueues.length;
      } catch {
        return 0; // not yet
      }
    };
    for (let i = 0; i < max; i++) {
      parked.push(service.pollWorkflowTaskQueue(pollRequest(uniqueId('queue'), { deploymentOptions })).catch(() => {}));
      await until(async () => (await queueCount()) === i + 1, LATE_MS, 'the poll to be known');
    }
    await refused(service.pollWorkflowTaskQueue(pollRequest(uniqueId('queue'), { deploymentOptions })), RESOURCE_EXHAUSTED);
  },
  'core.DEPLOYMENT_BYTES': async ({ service, max }) => {
    await withVersion(service, async (name) => {
      await createVersion(service, name, '2');
      const half = Math.trunc(max / 2) - 200;
      await setMetadata(service, name, '1', { a: text(Math.min(half, 1900)) });
      await setMetadata(service, name, '2', { a: text(Math.min(half, 1900)) });
      await createVersion(service, name, '3');
      await refused(setMetadata(service, name, '3', { a: text(1900) }), RESOURCE_EXHAUSTED);
      await deleteDeployment(service, name, ['2', '3', '1']).catch(() => {});
      await createDeployment(service, name);
      await createVersion(service, name, '1');
    });
  },
  'core.VERSION_METADATA': async ({ service, max }) => {
    await withVersion(service, async (name, buildId) => {
      await times(max, (i) => setMetadata(service, name, buildId, { [`k${i}`]: text(1) }));
      await refused(setMetadata(service, name, buildId, { more: text(1) }), INVALID_ARGUMENT);
    });
  },
  'core.VERSION_METADATA_BYTES': async ({ service, max }) => {
    await withVersion(service, async (name, buildId) => {
      await setMetadata(service, name, buildId, { a: text(max - 64) });
      await refused(setMetadata(service, name, buildId, { a: text(max + 1) }), INVALID_ARGUMENT);
    });
  },
};
