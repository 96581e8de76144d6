// Bad input: one table of requests that are wrong in one place, over the raw wire.
//
// A line names the RPC and how its good request is spoiled, then the status and a part of the text
// that must come back. After each line the server must look as before. Lines that are the same
// everywhere (namespace, execution, token, ids, durations) are made by rules from the request's
// own fields, so that an RPC cannot be added without them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Client, credentials, status } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { definition } from './lib/own.mjs';
import { Server } from './lib/server.mjs';
import { eventually } from './lib/world.mjs';

const { INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, ALREADY_EXISTS, PERMISSION_DENIED, UNIMPLEMENTED, OK } = status;
const services = {
  WORKFLOW: ['temporal.api.workflowservice.v1.WorkflowService', proto.temporal.api.workflowservice.v1],
  OPERATOR: ['temporal.api.operatorservice.v1.OperatorService', proto.temporal.api.operatorservice.v1],
  HEALTH: ['grpc.health.v1.Health', proto.grpc.health.v1],
  SCHEDULE: ['rondo.api.v1.ScheduleService'],
  QUEUE: ['rondo.api.v1.TaskQueueService'],
};
const table = readFileSync(new URL('../../src/wire/methods.def', import.meta.url), 'utf8');
const methods = new Map(
  [...table.matchAll(/^RPC\((\w+), +(\w+),.* (\w+)\)$/gm)]
    .filter(([, , , handler]) => handler !== 'NOT_YET' && handler !== 'method_health_watch') // a stream: test/cli/grpc
    .map(([, service, name]) => [name, service]),
);

let server;
let channel;
const call = (path, bytes) =>
  new Promise((resolve) => {
    const same = (value) => value;
    channel.makeUnaryRequest(path, same, same, bytes, { deadline: Date.now() + 30_000 }, (error, reply) =>
      resolve(error ? { code: error.code, text: error.details } : { code: OK, text: '', reply }),
    );
  });

const lowerCamel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

// How a method's request is written, its response read, and which fields the request has.
function wireOf(name) {
  const [service, space] = services[methods.get(name)];
  if (!space) {
    const { requestSerialize, responseDeserialize, requestType } = definition[service][name];
    const fields = requestType.type.field.map((field) => lowerCamel(field.name));
    return { encode: requestSerialize, decode: responseDeserialize, fields };
  }
  const stem = name === 'Check' ? 'HealthCheck' : name;
  const [Request, Response] = [space[`${stem}Request`], space[`${stem}Response`]];
  return {
    encode: (request) => Buffer.from(Request.encode(Request.fromObject(request)).finish()),
    decode: (bytes) => Response.toObject(Response.decode(bytes)),
    fields: Object.keys(Request.toObject(Request.create(), { defaults: true, arrays: true, objects: true })),
  };
}

const pathOf = (name) => `/${services[methods.get(name)][0]}/${name}`;

async function send(name, request) {
  const { encode, decode } = wireOf(name);
  const answer = await call(pathOf(name), encode(request));
  return answer.code === OK ? { ...answer, reply: decode(answer.reply) } : answer;
}

async function good(name, request) {
  const { code, text, reply } = await send(name, request);
  assert.equal(code, OK, `${name}: ${text}`);
  return reply;
}

// What the good requests speak of. Filled in by `before`.
const namespace = 'default';
const NO_RUN = '33333333-3333-4333-8333-333333333333';
const LONG = 'x'.repeat(1001);
const execution = { workflowId: 'open' };
const closed = { workflowId: 'closed' };
const taskQueue = { name: 'queue' };
const workflowType = { name: 'Type' };
const payloads = { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('1') }] };
const tokens = {};
const runs = {};
const version = { deploymentName: 'dep', buildId: '1' };
const lately = { earliestTime: { seconds: 1 }, latestTime: { seconds: 4_000_000_000 } };
const big = { payloads: [{ data: Buffer.alloc(3 << 20) }] };

// The open run has a task with a worker, whose token good requests carry. It is another one before its time is over.
const TASK_SECONDS = 100;
let taskUntil;

async function giveTask() {
  await good('SignalWorkflowExecution', { namespace, workflowExecution: execution, signalName: 's' });
  tokens.task = (await good('PollWorkflowTaskQueue', { namespace, taskQueue, identity: 'w' })).taskToken;
  taskUntil = Date.now() + (TASK_SECONDS / 2) * 1000;
}

async function openRun() {
  const timeout = { seconds: TASK_SECONDS };
  const start = { namespace, workflowType, taskQueue, workflowTaskTimeout: timeout };
  runs.open = (await good('StartWorkflowExecution', { ...start, workflowId: 'open' })).runId;
  const first = await good('PollWorkflowTaskQueue', { namespace, taskQueue, identity: 'w' });
  const activity = (activityId) => ({
    commandType: 'COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK',
    scheduleActivityTaskCommandAttributes: {
      activityId,
      activityType: { name: 'Act' },
      taskQueue: { name: 'acts' },
      scheduleToCloseTimeout: { seconds: 3000 },
    },
  });
  await good('RespondWorkflowTaskCompleted', { namespace, taskToken: first.taskToken, commands: [activity('act')] });
  tokens.old = first.taskToken;
  tokens.activity = (await good('PollActivityTaskQueue', { namespace, taskQueue: { name: 'acts' } })).taskToken;
  await giveTask();
  runs.closed = (await good('StartWorkflowExecution', { ...start, workflowId: 'closed' })).runId;
  tokens.closed = (await good('PollWorkflowTaskQueue', { namespace, taskQueue, identity: 'w' })).taskToken;
  await good('TerminateWorkflowExecution', { namespace, workflowExecution: closed });
  await good('CreateSchedule', { namespace, scheduleId: 'sched', schedule, requestId: 'first' });
  const gone = [{ workflowId: 'nobody' }];
  await good('StartBatchOperation', { namespace, jobId: 'job', reason: 'r', executions: gone, terminationOperation: {} });
  await eventually(async () => (await good('DescribeBatchOperation', { namespace, jobId: 'job' })).closeTime);
  await good('CreateWorkerDeployment', { namespace, deploymentName: 'dep', requestId: 'first' });
  await good('CreateWorkerDeploymentVersion', { namespace, deploymentVersion: version, requestId: 'first' });
}

// What must stay as it is.
async function look() {
  const isRate = (key) => /^tasks\w+Rate$/.test(key); // it changes by itself
  const ask = async (name, request) =>
    JSON.stringify(await good(name, request), (key, value) => (isRate(key) ? undefined : value));
  return await Promise.all([
    ask('DescribeWorkflowExecution', { namespace, execution }),
    ask('DescribeWorkflowExecution', { namespace, execution: closed }),
    ask('CountWorkflowExecutions', { namespace }),
    ask('ListNamespaces', {}),
    ask('ListSearchAttributes', { namespace }),
    ask('CountWorkers', { namespace }),
    ask('DescribeSchedule', { namespace, scheduleId: 'sched' }),
    ask('CountSchedules', { namespace }),
    ask('DescribeWorkerDeployment', { namespace, deploymentName: 'dep' }),
    ask('ListWorkerDeployments', { namespace }),
    ask('ListHolidayCalendars', { namespace }),
    ask('DescribeTaskQueue', { namespace, taskQueue: { name: 'acts' }, taskQueueType: 2, reportConfig: true }),
    ask('ListBatchOperations', { namespace }),
  ]);
}

// The good request of each RPC: what a line begins with.
const update = {
  namespace,
  workflowExecution: execution,
  waitPolicy: { lifecycleStage: 3 },
  request: { meta: { updateId: 'u', identity: 'me' }, input: { name: 'up' } },
};
const begin = { namespace, workflowId: 'new', workflowType, taskQueue, identity: 'me', requestId: 'r' };
const schedule = {
  spec: { interval: [{ interval: { seconds: 3600 } }] },
  action: { startWorkflow: { workflowId: 'by-schedule', workflowType, taskQueue } },
  state: { paused: true },
};
const both = (start, change) => [{ startWorkflow: { ...begin, ...start } }, { updateWorkflow: { ...update, ...change } }];
const ofSchedule = (extra) => () => ({ namespace, scheduleId: 'sched', ...extra });
const byToken = (token) => () => ({ namespace, taskToken: tokens[token], identity: 'me' });
const byId = () => ({ namespace, workflowId: 'open', activityId: 'act', identity: 'me' });
const named = (extra) => () => ({ namespace, workflowExecution: execution, identity: 'me', ...extra });
const requests = {
  RegisterNamespace: () => ({ namespace: 'fresh', workflowExecutionRetentionPeriod: { seconds: 86400 } }),
  DescribeNamespace: () => ({ namespace }),
  ListNamespaces: () => ({}),
  UpdateNamespace: () => ({ namespace, updateInfo: {} }),
  DeprecateNamespace: () => ({ namespace }),
  StartWorkflowExecution: () => begin,
  ExecuteMultiOperation: () => ({
    namespace,
    operations: both({ workflowId: 'multi' }, { workflowExecution: { workflowId: 'multi' } }),
  }),
  GetWorkflowExecutionHistory: () => ({ namespace, execution }),
  GetWorkflowExecutionHistoryReverse: () => ({ namespace, execution }),
  PollWorkflowTaskQueue: () => ({ namespace, taskQueue: { name: 'idle' }, identity: 'me' }),
  RespondWorkflowTaskCompleted: byToken('task'),
  RespondWorkflowTaskFailed: byToken('task'),
  PollActivityTaskQueue: () => ({ namespace, taskQueue: { name: 'idle' }, identity: 'me' }),
  RecordActivityTaskHeartbeat: byToken('activity'),
  RecordActivityTaskHeartbeatById: byId,
  RespondActivityTaskCompleted: byToken('activity'),
  RespondActivityTaskCompletedById: byId,
  RespondActivityTaskFailed: byToken('activity'),
  RespondActivityTaskFailedById: byId,
  RespondActivityTaskCanceled: byToken('activity'),
  RespondActivityTaskCanceledById: byId,
  RequestCancelWorkflowExecution: named(),
  SignalWorkflowExecution: named({ signalName: 's' }),
  SignalWithStartWorkflowExecution: () => ({ ...begin, signalName: 's' }),
  ResetWorkflowExecution: named({ workflowTaskFinishEventId: 4, requestId: 'r' }),
  TerminateWorkflowExecution: named(),
  DeleteWorkflowExecution: named(),
  ListOpenWorkflowExecutions: () => ({ namespace, startTimeFilter: lately }),
  ListClosedWorkflowExecutions: () => ({ namespace, startTimeFilter: lately }),
  ListWorkflowExecutions: () => ({ namespace }),
  ListArchivedWorkflowExecutions: () => ({ namespace }),
  ScanWorkflowExecutions: () => ({ namespace }),
  CountWorkflowExecutions: () => ({ namespace }),
  GetSearchAttributes: () => ({}),
  RespondQueryTaskCompleted: () => ({ namespace, taskToken: tokens.task, completedType: 1 }),
  ResetStickyTaskQueue: () => ({ namespace, execution }),
  ShutdownWorker: () => ({ namespace, stickyTaskQueue: 'sticky', identity: 'me' }),
  QueryWorkflow: () => ({ namespace, execution, query: { queryType: 'q' } }),
  DescribeWorkflowExecution: () => ({ namespace, execution }),
  DescribeTaskQueue: () => ({ namespace, taskQueue }),
  GetClusterInfo: () => ({}),
  GetSystemInfo: () => ({}),
  ListTaskQueuePartitions: () => ({ namespace, taskQueue }),
  UpdateTaskQueueConfig: () => ({
    namespace,
    identity: 'me',
    taskQueue: 'acts',
    taskQueueType: 2,
    updateQueueRateLimit: { rateLimit: { requestsPerSecond: 1000 }, reason: 'r' },
    setFairnessWeightOverrides: { key: 2 },
  }),
  UpdateWorkflowExecution: () => update,
  PollWorkflowExecutionUpdate: () => ({ namespace, updateRef: { workflowExecution: execution, updateId: 'u' } }),
  UpdateActivityOptions: () => ({
    namespace,
    execution,
    id: 'act',
    activityOptions: { startToCloseTimeout: { seconds: 9 } },
    updateMask: { paths: ['startToCloseTimeout'] },
  }),
  PauseActivity: () => ({ namespace, execution, id: 'act', identity: 'me' }),
  UnpauseActivity: () => ({ namespace, execution, id: 'act', identity: 'me' }),
  ResetActivity: () => ({ namespace, execution, id: 'act', identity: 'me' }),
  PauseActivityExecution: byId,
  UnpauseActivityExecution: byId,
  ResetActivityExecution: byId,
  UpdateActivityExecutionOptions: () => ({
    ...byId(),
    activityOptions: { startToCloseTimeout: { seconds: 9 } },
    updateMask: { paths: ['start_to_close_timeout'] },
  }),
  RecordWorkerHeartbeat: () => ({ namespace, identity: 'me', workerHeartbeat: [{ workerInstanceKey: 'k' }] }),
  ListWorkers: () => ({ namespace }),
  CountWorkers: () => ({ namespace }),
  DescribeWorker: () => ({ namespace, workerInstanceKey: 'k' }),
  PauseWorkflowExecution: () => ({ namespace, workflowId: 'open', identity: 'me', requestId: 'r' }),
  UnpauseWorkflowExecution: () => ({ namespace, workflowId: 'open', identity: 'me', requestId: 'r' }),
  StartBatchOperation: () => ({
    namespace,
    jobId: 'new-job',
    reason: 'r',
    visibilityQuery: "WorkflowId = 'nobody'",
    terminationOperation: { identity: 'me' },
  }),
  StopBatchOperation: () => ({ namespace, jobId: 'job', reason: 'r', identity: 'me' }),
  DescribeBatchOperation: () => ({ namespace, jobId: 'job' }),
  ListBatchOperations: () => ({ namespace }),
  CreateSchedule: () => ({ namespace, scheduleId: 'fresh', schedule, identity: 'me', requestId: 'r' }),
  DescribeSchedule: ofSchedule(),
  UpdateSchedule: ofSchedule({ schedule, identity: 'me', requestId: 'r' }),
  PatchSchedule: ofSchedule({ patch: { pause: 'note' }, identity: 'me', requestId: 'r' }),
  ListScheduleMatchingTimes: ofSchedule({ startTime: { seconds: 1e9 }, endTime: { seconds: 1e9 + 7200 } }),
  DeleteSchedule: ofSchedule({ identity: 'me' }),
  ListSchedules: () => ({ namespace }),
  CountSchedules: () => ({ namespace }),
  TriggerSchedule: ofSchedule({ identity: 'me', requestId: 'r' }),
  ListScheduleLedger: ofSchedule(),
  ExplainScheduleTime: ofSchedule({ time: { seconds: 1e9 } }),
  BindCrontab: () => ({ namespace, binding: { crontab: '* * * * *', workflowType: 'bound', taskQueue: 'q' }, identity: 'me' }),
  ListBackfills: ofSchedule(),
  CancelBackfill: ofSchedule({ backfillId: 99, identity: 'me' }),
  PutHolidayCalendar: () => ({ namespace, calendar: { name: 'days', dates: ['2026-12-25'] } }),
  ListHolidayCalendars: () => ({ namespace }),
  ListCrontabs: () => ({ namespace }),
  ListTaskQueues: () => ({ namespace }),
  DeleteHolidayCalendar: () => ({ namespace, name: 'nope' }),
  ListWorkerDeployments: () => ({ namespace }),
  DescribeWorkerDeployment: () => ({ namespace, deploymentName: 'dep' }),
  DescribeWorkerDeploymentVersion: () => ({ namespace, deploymentVersion: version }),
  CreateWorkerDeployment: () => ({ namespace, deploymentName: 'fresh', identity: 'me', requestId: 'r' }),
  CreateWorkerDeploymentVersion: () => ({
    namespace,
    deploymentVersion: { ...version, buildId: '2' },
    identity: 'me',
    requestId: 'r',
  }),
  DeleteWorkerDeployment: () => ({ namespace, deploymentName: 'dep', identity: 'me' }),
  DeleteWorkerDeploymentVersion: () => ({ namespace, deploymentVersion: version, identity: 'me' }),
  SetWorkerDeploymentCurrentVersion: () => ({ namespace, deploymentName: 'dep', buildId: '1', identity: 'me' }),
  SetWorkerDeploymentRampingVersion: () => ({
    namespace,
    deploymentName: 'dep',
    buildId: '1',
    percentage: 5,
    identity: 'me',
  }),
  SetWorkerDeploymentManager: () => ({ namespace, deploymentName: 'dep', managerIdentity: 'boss', identity: 'me' }),
  UpdateWorkerDeploymentVersionMetadata: () => ({ namespace, deploymentVersion: version, removeEntries: ['x'], identity: 'me' }),
  UpdateWorkflowExecutionOptions: named({
    workflowExecutionOptions: { priority: { priorityKey: 2 } },
    updateMask: { paths: ['priority'] },
  }),
  AddSearchAttributes: () => ({ namespace, searchAttributes: { Fresh: 1 } }),
  RemoveSearchAttributes: () => ({ namespace, searchAttributes: ['Nope'] }),
  ListSearchAttributes: () => ({ namespace }),
  DeleteNamespace: () => ({ namespace }),
  ListClusters: () => ({}),
  ListNexusEndpoints: () => ({}),
  Check: () => ({ service: '' }),
};

// A copy of the request with other values at these paths; undefined leaves the field out.
function spoil(request, changes) {
  const copy = structuredClone(request);
  for (const [path, value] of Object.entries(changes)) {
    const steps = path.split('.');
    const last = steps.pop();
    steps.reduce((at, step) => (at[step] ??= {}), copy)[last] = value;
  }
  return copy;
}

// The good batch job with another operation.
const batch = (operation) => ({ terminationOperation: undefined, ...operation });

// The rules: from the fields of a request to lines.

const anyNamespace = new Set(['ListNamespaces', 'RegisterNamespace', 'GetSearchAttributes']);
function namespaceRule(name, fields) {
  if (!fields.includes('namespace') || anyNamespace.has(name)) return [];
  const optional = name === 'DeleteNamespace' ? { namespaceId: undefined } : {};
  const unset = fields.includes('taskToken') // which names it, too
    ? [{ namespace: '', taskToken: () => tokens.closed }, NOT_FOUND, /already completed|not found|is completed/]
    : [{ namespace: '', ...optional }, INVALID_ARGUMENT, /Namespace (is )?not set/];
  return [
    unset,
    [{ namespace: LONG }, INVALID_ARGUMENT, /Namespace length exceeds limit/],
    [{ namespace: 'nowhere' }, NOT_FOUND, /Namespace nowhere is not found/],
  ];
}

// RPCs for which a run that is closed is as good as an open one.
const readsClosed = /^(Describe|Get|Delete|RequestCancel|Query|ResetWorkflow|PollWorkflowExecutionUpdate)/;

function executionRule(name, fields) {
  const at = fields.includes('workflowExecution') ? 'workflowExecution' : 'execution';
  if (!fields.includes(at) || /^(List|Scan|Count)/.test(name)) return [];
  const lines = [
    [{ [at]: undefined }, INVALID_ARGUMENT, /Execution is not set/],
    [{ [`${at}.workflowId`]: '' }, INVALID_ARGUMENT, /WorkflowId is not set/],
    [{ [`${at}.workflowId`]: LONG }, INVALID_ARGUMENT, /WorkflowId length exceeds limit/],
    [{ [`${at}.runId`]: 'no-uuid' }, INVALID_ARGUMENT, /Invalid RunId/],
    [{ [`${at}.workflowId`]: 'nobody' }, NOT_FOUND, /nobody|not found/],
    [{ [`${at}.runId`]: NO_RUN }, NOT_FOUND, /not found/],
    [{ [at]: { workflowId: 'closed', runId: () => runs.open } }, NOT_FOUND, /not found/],
  ];
  if (!readsClosed.test(name)) lines.push([{ [at]: closed }, NOT_FOUND, /already completed|not found|is completed/]);
  return lines;
}

function tokenRule(name, fields) {
  if (!fields.includes('taskToken')) return [];
  const lines = [
    [{ taskToken: Buffer.alloc(0) }, INVALID_ARGUMENT, /Task token not set/],
    [{ taskToken: Buffer.from('garbage') }, INVALID_ARGUMENT, /Error deserializing task token/],
    [{ taskToken: Buffer.alloc(100, 0xff) }, INVALID_ARGUMENT, /Error deserializing task token/],
  ];
  if (name === 'RespondQueryTaskCompleted') return lines;
  return [
    ...lines,
    [{ taskToken: () => tokens.closed }, NOT_FOUND, /already completed|not found|is completed/],
    [{ taskToken: () => tokens.old }, NOT_FOUND, /not found|is completed/],
  ];
}

// Ids and names: at most 1000 bytes, wherever they stand.
const ids = ['identity', 'requestId', 'activityId', 'workflowId', 'signalName', 'stickyTaskQueue', 'workerInstanceKey'];

function lengthRule(name, fields) {
  const label = (field) => field[0].toUpperCase() + field.slice(1);
  return ids
    .filter((field) => fields.includes(field))
    .map((field) => [{ [field]: LONG }, INVALID_ARGUMENT, new RegExp(`${label(field)} length exceeds limit`)]);
}

function idRule(name) {
  if (!/ById$|auseWorkflow|ActivityExecution/.test(name)) return [];
  const activity = [
    [{ activityId: '' }, INVALID_ARGUMENT, /ActivityId is not set/],
    [{ activityId: 'other' }, NOT_FOUND, /cannot find pending activity with ActivityID other|Can't find pending activity/],
  ];
  const standalone = [[{ workflowId: '' }, UNIMPLEMENTED, /WorkflowId is not set.* no standalone activities/]];
  return [
    ...(/Activity/.test(name) ? activity : [[{ workflowId: '' }, INVALID_ARGUMENT, /WorkflowId is not set/]]),
    ...(/ActivityExecution/.test(name) ? standalone : []),
    [{ workflowId: 'nobody' }, NOT_FOUND, /nobody|not found/],
    [{ workflowId: 'closed' }, NOT_FOUND, /already completed|is completed/],
    [{ runId: 'no-uuid' }, INVALID_ARGUMENT, /Invalid RunId/],
  ];
}

function queueRule(name, fields) {
  if (!fields.includes('taskQueue') || name === 'ShutdownWorker') return [];
  if (name === 'UpdateTaskQueueConfig') {
    return [
      [{ taskQueue: '' }, INVALID_ARGUMENT, /TaskQueue is not set/],
      [{ taskQueue: LONG }, INVALID_ARGUMENT, /TaskQueue length exceeds limit/],
      [{ taskQueue: '/_sys/x' }, INVALID_ARGUMENT, /reserved prefix/],
    ];
  }
  return [
    [{ taskQueue: undefined }, INVALID_ARGUMENT, /TaskQueue is not set/],
    [{ 'taskQueue.name': '' }, INVALID_ARGUMENT, /TaskQueue is not set/],
    [{ 'taskQueue.name': LONG }, INVALID_ARGUMENT, /TaskQueue length exceeds limit/],
    [{ 'taskQueue.name': '/_sys/x' }, INVALID_ARGUMENT, /reserved prefix/],
  ];
}

function pageRule(name, fields) {
  const size = fields.includes('pageSize') ? 'pageSize' : 'maximumPageSize';
  if (!fields.includes(size) || !fields.includes('nextPageToken')) return [];
  if (!/Workflow|Batch/.test(name) || /Archived/.test(name)) return []; // else a token is a name, and any name will do
  return [[{ nextPageToken: Buffer.from('garbage') }, INVALID_ARGUMENT, /page token|NextPageToken|deserializ/i]];
}

function jobRule(name, fields) {
  if (!fields.includes('jobId')) return [];
  return [
    [{ jobId: '' }, INVALID_ARGUMENT, /JobId is not set/],
    [{ jobId: LONG }, INVALID_ARGUMENT, /JobId length exceeds limit/],
    name === 'StartBatchOperation'
      ? [{ jobId: 'job' }, ALREADY_EXISTS, /exists already/]
      : [{ jobId: 'nobody' }, NOT_FOUND, /batch operation "nobody" not found/],
  ];
}

function scheduleRule(name, fields) {
  if (!fields.includes('scheduleId')) return [];
  return [
    [{ scheduleId: '' }, INVALID_ARGUMENT, /ScheduleId|schedule id/i],
    [{ scheduleId: LONG }, INVALID_ARGUMENT, /ScheduleId length exceeds limit/],
    name === 'CreateSchedule'
      ? [{ scheduleId: 'sched' }, ALREADY_EXISTS, /already registered/]
      : [{ scheduleId: 'nobody' }, NOT_FOUND, /not found/],
  ];
}

function deploymentRule(name, fields) {
  const isNew = /^Create/.test(name);
  const missing = /^Delete/.test(name) ? [OK, /^$/] : [NOT_FOUND, /./]; // what is gone already need not be deleted
  const ofDeployment = [
    [{ deploymentName: '' }, INVALID_ARGUMENT, /./],
    [{ deploymentName: LONG }, INVALID_ARGUMENT, /./],
    isNew ? [{ deploymentName: 'dep' }, ALREADY_EXISTS, /already exists/] : [{ deploymentName: 'nobody' }, ...missing],
  ];
  const ofVersion = [
    [{ deploymentVersion: undefined }, INVALID_ARGUMENT, /not set/],
    [{ 'deploymentVersion.deploymentName': '' }, INVALID_ARGUMENT, /./],
    [{ 'deploymentVersion.buildId': '' }, INVALID_ARGUMENT, /./],
    [{ 'deploymentVersion.buildId': LONG }, INVALID_ARGUMENT, /./],
    ...(isNew
      ? [[{ deploymentVersion: version }, ALREADY_EXISTS, /already exists/]]
      : [
          [{ 'deploymentVersion.deploymentName': 'nobody' }, NOT_FOUND, /./],
          [{ 'deploymentVersion.buildId': '9' }, ...missing],
        ]),
  ];
  if (fields.includes('deploymentName')) return ofDeployment;
  return fields.includes('deploymentVersion') ? ofVersion : [];
}

const negative = { seconds: -1 };
const wild = { seconds: 1, nanos: 2_000_000_000 };
const durations = (...paths) =>
  paths.flatMap((path) => [
    [{ [path]: negative }, INVALID_ARGUMENT, /./],
    [{ [path]: wild }, INVALID_ARGUMENT, /./],
  ]);
const starting = [
  [{ workflowId: '' }, INVALID_ARGUMENT, /WorkflowId is not set/],
  [{ workflowType: undefined }, INVALID_ARGUMENT, /WorkflowType is not set/],
  [{ workflowType: { name: '' } }, INVALID_ARGUMENT, /WorkflowType is not set/],
  [{ workflowType: { name: LONG } }, INVALID_ARGUMENT, /WorkflowType length exceeds limit/],
  ...durations('workflowExecutionTimeout', 'workflowRunTimeout', 'workflowTaskTimeout', 'workflowStartDelay'),
  [{ cronSchedule: 'not a cron' }, INVALID_ARGUMENT, /cron/i],
  [{ cronSchedule: '* * * * *', workflowStartDelay: { seconds: 1 } }, INVALID_ARGUMENT, /cron/i],
  [{ workflowIdReusePolicy: 99 }, INVALID_ARGUMENT, /polic/i],
  [{ workflowIdConflictPolicy: 99 }, INVALID_ARGUMENT, /polic/i],
  [{ workflowIdReusePolicy: 4, workflowIdConflictPolicy: 2 }, INVALID_ARGUMENT, /polic/i],
  [{ workflowIdReusePolicy: 3, workflowIdConflictPolicy: 3 }, INVALID_ARGUMENT, /polic/i],
  [{ retryPolicy: { backoffCoefficient: 0.5 } }, INVALID_ARGUMENT, /BackoffCoefficient/i],
  [{ retryPolicy: { maximumAttempts: -1 } }, INVALID_ARGUMENT, /MaximumAttempts/i],
  [{ retryPolicy: { initialInterval: negative } }, INVALID_ARGUMENT, /InitialInterval/i],
  [{ retryPolicy: { maximumInterval: negative } }, INVALID_ARGUMENT, /MaximumInterval/i],
  [
    { retryPolicy: { initialInterval: { seconds: 9 }, maximumInterval: { seconds: 1 } } },
    INVALID_ARGUMENT,
    /MaximumInterval/i,
  ],
  [{ searchAttributes: { indexedFields: { Nope: payloads.payloads[0] } } }, INVALID_ARGUMENT, /Nope/],
  [{ input: big }, INVALID_ARGUMENT, /exceeds/i],
  [{ memo: { fields: { m: big.payloads[0] } } }, INVALID_ARGUMENT, /exceeds/i],
];
const filtered = [
  [{ startTimeFilter: undefined }, INVALID_ARGUMENT, /StartTimeFilter is not set/],
  [{ startTimeFilter: { earliestTime: { seconds: 9 }, latestTime: { seconds: 1 } } }, INVALID_ARGUMENT, /time/i],
];
const query = [
  [{ query: 'Nope = 1' }, INVALID_ARGUMENT, /invalid query/],
  [{ query: 'WorkflowId =' }, INVALID_ARGUMENT, /invalid query/],
  [{ query: "StartTime > 'yesterday'" }, INVALID_ARGUMENT, /invalid query|Unable to parse/i],
];

const scheduling = [
  [{ schedule: undefined }, INVALID_ARGUMENT, /./],
  [{ 'schedule.action': undefined }, INVALID_ARGUMENT, /action/i],
  [{ 'schedule.action.startWorkflow.workflowId': '' }, INVALID_ARGUMENT, /WorkflowId/],
  [{ 'schedule.action.startWorkflow.workflowType': undefined }, INVALID_ARGUMENT, /WorkflowType/],
  [{ 'schedule.action.startWorkflow.taskQueue': undefined }, INVALID_ARGUMENT, /TaskQueue/],
  [{ 'schedule.action.startWorkflow.cronSchedule': '* * * * *' }, INVALID_ARGUMENT, /CronSchedule/],
  [{ 'schedule.spec.interval': [{ interval: { seconds: 0 } }] }, INVALID_ARGUMENT, /interval/],
  [{ 'schedule.spec.interval': [{ interval: negative }] }, INVALID_ARGUMENT, /interval/],
  [{ 'schedule.spec.cronString': ['not a cron'] }, INVALID_ARGUMENT, /./],
  [{ 'schedule.spec.timezoneName': 'Nowhere/City' }, INVALID_ARGUMENT, /Nowhere/],
  [{ 'schedule.spec.structuredCalendar': [{ hour: [{ start: 99 }] }] }, INVALID_ARGUMENT, /./],
  [{ 'schedule.policies.overlapPolicy': 99 }, INVALID_ARGUMENT, /overlap policy/],
  [{ 'schedule.state.notes': 'x'.repeat(10_000) }, INVALID_ARGUMENT, /notes/],
];
const range = { startTime: { seconds: 9 }, endTime: { seconds: 1 } };

// What only one RPC has.
const special = {
  RegisterNamespace: [
    [{ namespace: '' }, INVALID_ARGUMENT, /Namespace is not set/],
    [{ namespace: LONG }, INVALID_ARGUMENT, /Namespace length exceeds limit/],
    [{ namespace }, ALREADY_EXISTS, /already exists/],
    [{ namespace: 'temporal-system' }, ALREADY_EXISTS, /already exists/],
    [{ workflowExecutionRetentionPeriod: undefined }, INVALID_ARGUMENT, /retention/i],
    [{ workflowExecutionRetentionPeriod: { seconds: 1 } }, INVALID_ARGUMENT, /retention/i],
    ...durations('workflowExecutionRetentionPeriod'),
  ],
  UpdateNamespace: [
    ...durations('config.workflowExecutionRetentionTtl'),
    [{ 'updateInfo.state': 99 }, INVALID_ARGUMENT, /state/],
  ],
  DescribeNamespace: [[{ namespace: '', id: 'nobody' }, NOT_FOUND, /nobody is not found/]],
  DeleteNamespace: [
    [{ namespaceId: 'x' }, INVALID_ARGUMENT, /Only one/],
    [{ namespace: undefined, namespaceId: NO_RUN }, NOT_FOUND, /is not found/],
    [{ namespace: 'temporal-system' }, FAILED_PRECONDITION, /system namespace/],
    ...durations('namespaceDeleteDelay'),
  ],
  StartWorkflowExecution: starting,
  SignalWithStartWorkflowExecution: [
    ...starting,
    [{ workflowIdConflictPolicy: 1 }, INVALID_ARGUMENT, /WORKFLOW_ID_CONFLICT_POLICY_FAIL is not supported/],
    [{ signalName: '' }, INVALID_ARGUMENT, /SignalName is not set/],
    [{ signalInput: big }, INVALID_ARGUMENT, /exceeds/i],
  ],
  ExecuteMultiOperation: [
    [{ operations: [] }, INVALID_ARGUMENT, /./],
    [{ operations: [{}, {}] }, INVALID_ARGUMENT, /./],
    [{ operations: [{ startWorkflow: begin }] }, INVALID_ARGUMENT, /./],
    [{ operations: [{ startWorkflow: begin }, { startWorkflow: begin }] }, INVALID_ARGUMENT, /./],
    [{ operations: both({ workflowId: 'a' }, {}) }, INVALID_ARGUMENT, /./],
    [{ operations: both({ workflowType: undefined }, { workflowExecution: { workflowId: 'new' } }) }, INVALID_ARGUMENT, /./],
    [{ operations: both({ cronSchedule: '* * * * *' }, { workflowExecution: { workflowId: 'new' } }) }, INVALID_ARGUMENT, /./],
  ],
  PollWorkflowTaskQueue: [[{ taskQueue: { name: LONG } }, INVALID_ARGUMENT, /length/]],
  RespondWorkflowTaskCompleted: [[{ taskToken: () => tokens.activity }, NOT_FOUND, /./]],
  RespondWorkflowTaskFailed: [[{ taskToken: () => tokens.activity }, NOT_FOUND, /./]],
  RespondActivityTaskCanceled: [[{}, INVALID_ARGUMENT, /cancel/i]],
  RespondActivityTaskCanceledById: [[{}, INVALID_ARGUMENT, /cancel/i]],
  SignalWorkflowExecution: [
    [{ signalName: '' }, INVALID_ARGUMENT, /SignalName is not set/],
    [{ input: big }, INVALID_ARGUMENT, /exceeds/i],
    [{ links: Array.from({ length: 11 }, () => ({ workflowEvent: {} })) }, INVALID_ARGUMENT, /links/],
  ],
  RequestCancelWorkflowExecution: [
    [{ firstExecutionRunId: NO_RUN }, NOT_FOUND, /not found/],
    [{ firstExecutionRunId: 'of-nobody' }, NOT_FOUND, /not found/],
    [{ firstExecutionRunId: LONG }, INVALID_ARGUMENT, /FirstExecutionRunId length exceeds limit/],
  ],
  TerminateWorkflowExecution: [
    [{ firstExecutionRunId: NO_RUN }, NOT_FOUND, /not found/],
    [{ firstExecutionRunId: 'of-nobody' }, NOT_FOUND, /not found/],
    [{ firstExecutionRunId: LONG }, INVALID_ARGUMENT, /FirstExecutionRunId length exceeds limit/],
    [{ details: big }, INVALID_ARGUMENT, /exceeds/i],
  ],
  ResetWorkflowExecution: [
    [{ workflowTaskFinishEventId: 0 }, INVALID_ARGUMENT, /WorkflowTaskFinishEventId|event/i],
    [{ workflowTaskFinishEventId: -1 }, INVALID_ARGUMENT, /WorkflowTaskFinishEventId|event/i],
    [{ workflowTaskFinishEventId: 2 }, INVALID_ARGUMENT, /./],
    [{ workflowTaskFinishEventId: 999 }, INVALID_ARGUMENT, /./],
    [{ resetReapplyType: 99 }, INVALID_ARGUMENT, /./],
  ],
  ListOpenWorkflowExecutions: filtered,
  ListClosedWorkflowExecutions: [...filtered, [{ statusFilter: { status: 99 } }, INVALID_ARGUMENT, /status/i]],
  ListWorkflowExecutions: query,
  ListArchivedWorkflowExecutions: [[{}, UNIMPLEMENTED, /no archive/]],
  ScanWorkflowExecutions: query,
  CountWorkflowExecutions: [...query, [{ query: 'GROUP BY WorkflowType' }, INVALID_ARGUMENT, /GROUP BY/]],
  QueryWorkflow: [
    [{ query: undefined }, INVALID_ARGUMENT, /Query is not set/],
    [{ 'query.queryType': '' }, INVALID_ARGUMENT, /QueryType is not set/],
    [{ 'query.queryType': LONG }, INVALID_ARGUMENT, /length exceeds limit/],
    [{ queryRejectCondition: 99 }, INVALID_ARGUMENT, /QueryRejectCondition/i],
  ],
  RespondQueryTaskCompleted: [[{ completedType: 99 }, INVALID_ARGUMENT, /./]],
  DescribeTaskQueue: [
    [{ taskQueueType: 99 }, INVALID_ARGUMENT, /TaskQueueType/i],
    [{ apiMode: 99 }, INVALID_ARGUMENT, /ApiMode/i],
    [{ apiMode: 1, taskQueueTypes: [0] }, INVALID_ARGUMENT, /TaskQueueTypes/],
    [{ apiMode: 1, 'taskQueue.kind': 2 }, INVALID_ARGUMENT, /sticky/],
    [{ versions: { buildIds: ['1', '2', '3', '4', '5', '6'] }, reportTaskReachability: true }, INVALID_ARGUMENT, /Too many build ids/],
  ],
  UpdateTaskQueueConfig: [
    [{ taskQueueType: 0 }, INVALID_ARGUMENT, /TaskQueueType is not set/],
    [{ taskQueueType: 99 }, INVALID_ARGUMENT, /TaskQueueType/i],
    [{ taskQueueType: 1 }, INVALID_ARGUMENT, /Setting rate limit on workflow task queues is not allowed/],
    [{ 'updateQueueRateLimit.rateLimit.requestsPerSecond': -1 }, INVALID_ARGUMENT, /must be non-negative/],
    [{ 'updateQueueRateLimit.reason': LONG }, INVALID_ARGUMENT, /Reason field too long/],
    [{ 'setFairnessWeightOverrides.key': 0 }, INVALID_ARGUMENT, /must be greater than zero/],
    [{ 'setFairnessWeightOverrides.': 1 }, INVALID_ARGUMENT, /must not be empty/],
    [{ unsetFairnessWeightOverrides: ['key'] }, INVALID_ARGUMENT, /both set and unset/],
  ],
  UpdateWorkflowExecution: [
    [{ request: undefined }, INVALID_ARGUMENT, /request is not set/i],
    [{ 'request.input': undefined }, INVALID_ARGUMENT, /input is not set/i],
    [{ 'request.input.name': '' }, INVALID_ARGUMENT, /name is not set/i],
    [{ 'request.input.name': LONG }, INVALID_ARGUMENT, /length exceeds limit/],
    [{ 'request.input.args': big }, INVALID_ARGUMENT, /exceeds/i],
    [{ 'request.meta.updateId': LONG }, INVALID_ARGUMENT, /UpdateId length exceeds limit/],
    [{ 'request.meta.identity': LONG }, INVALID_ARGUMENT, /Identity length exceeds limit/],
    [{ firstExecutionRunId: NO_RUN }, NOT_FOUND, /not found/],
    [{ 'waitPolicy.lifecycleStage': 99 }, INVALID_ARGUMENT, /stage/i],
    [{ 'waitPolicy.lifecycleStage': 1 }, PERMISSION_DENIED, /admitted/i],
  ],
  PollWorkflowExecutionUpdate: [
    [{ updateRef: undefined }, INVALID_ARGUMENT, /not set/],
    [{ 'updateRef.workflowExecution': undefined }, INVALID_ARGUMENT, /not set/],
    [{ 'updateRef.updateId': '' }, INVALID_ARGUMENT, /UpdateId is not set/],
    [{ 'updateRef.updateId': LONG }, INVALID_ARGUMENT, /UpdateId length exceeds limit/],
    [{ 'updateRef.workflowExecution': { workflowId: 'nobody' } }, NOT_FOUND, /./],
    [{ 'updateRef.updateId': 'unknown' }, NOT_FOUND, /not found/],
    [{ 'waitPolicy.lifecycleStage': 99 }, INVALID_ARGUMENT, /stage/i],
  ],
  UpdateActivityOptions: [
    [{ updateMask: undefined }, INVALID_ARGUMENT, /mask/i],
    [{ updateMask: { paths: ['nope'] } }, INVALID_ARGUMENT, /nope|mask/i],
    [{ activityOptions: undefined }, INVALID_ARGUMENT, /ActivityOptions/i],
    [{ id: 'other' }, NOT_FOUND, /./],
    [{ id: '' }, INVALID_ARGUMENT, /./],
    [{ activityOptions: { startToCloseTimeout: negative } }, INVALID_ARGUMENT, /./],
  ],
  PauseActivity: [[{ id: '' }, INVALID_ARGUMENT, /./], [{ id: 'other' }, NOT_FOUND, /./]],
  UnpauseActivity: [[{ id: '' }, INVALID_ARGUMENT, /./], [{ id: 'other' }, NOT_FOUND, /./], ...durations('jitter')],
  ResetActivity: [[{ id: '' }, INVALID_ARGUMENT, /./], [{ id: 'other' }, NOT_FOUND, /./], ...durations('jitter')],
  PauseActivityExecution: [[{ reason: LONG }, INVALID_ARGUMENT, /Reason length exceeds limit/]],
  UnpauseActivityExecution: durations('jitter'),
  ResetActivityExecution: durations('jitter'),
  UpdateActivityExecutionOptions: [
    [{ updateMask: undefined }, INVALID_ARGUMENT, /UpdateMask is not provided/],
    [{ updateMask: { paths: [] } }, INVALID_ARGUMENT, /at least one path/],
    [{ updateMask: { paths: ['nope'] } }, INVALID_ARGUMENT, /nope/],
    [{ activityOptions: undefined }, INVALID_ARGUMENT, /ActivityOptions are not provided/],
    [{ restoreOriginal: true }, INVALID_ARGUMENT, /Both UpdateMask and RestoreOriginal/],
    [{ activityOptions: { startToCloseTimeout: negative } }, INVALID_ARGUMENT, /./],
  ],
  RecordWorkerHeartbeat: [
    [{ workerHeartbeat: [{}] }, INVALID_ARGUMENT, /WorkerInstanceKey is not set/],
    [{ workerHeartbeat: [{ workerInstanceKey: LONG }] }, INVALID_ARGUMENT, /WorkerInstanceKey length/],
    [{ workerHeartbeat: [{ workerInstanceKey: 'k', taskQueue: 'x'.repeat(20_000) }] }, INVALID_ARGUMENT, /16384/],
  ],
  ShutdownWorker: [[{ workerHeartbeat: {} }, INVALID_ARGUMENT, /WorkerInstanceKey is not set/]],
  ListWorkers: [[{ query: 'Nope = 1' }, INVALID_ARGUMENT, /invalid query/]],
  CountWorkers: [[{ query: "WorkflowId = 'a'" }, INVALID_ARGUMENT, /workers do not have/]],
  DescribeWorker: [[{ workerInstanceKey: '' }, INVALID_ARGUMENT, /not set/], [{}, NOT_FOUND, /Worker k not found/]],
  AddSearchAttributes: [
    [{ searchAttributes: {} }, INVALID_ARGUMENT, /not set/],
    [{ searchAttributes: { WorkflowId: 2 } }, INVALID_ARGUMENT, /reserved/],
    [{ searchAttributes: { Fresh: 99 } }, INVALID_ARGUMENT, /type/],
    [{ searchAttributes: { Fresh: 0 } }, INVALID_ARGUMENT, /type/],
    [{ searchAttributes: { [LONG]: 1 } }, INVALID_ARGUMENT, /length/],
    [{ searchAttributes: { '': 1 } }, INVALID_ARGUMENT, /not set/],
  ],
  RemoveSearchAttributes: [
    [{}, NOT_FOUND, /Nope/],
    [{ searchAttributes: [] }, INVALID_ARGUMENT, /not set/],
    [{ searchAttributes: ['WorkflowId'] }, INVALID_ARGUMENT, /reserved|system/i],
  ],
  DeleteWorkerDeployment: [[{}, FAILED_PRECONDITION, /has versions/]],
  SetWorkerDeploymentCurrentVersion: [
    [{ buildId: '9' }, NOT_FOUND, /build ID '9' not found/],
    [{ conflictToken: Buffer.from('old') }, FAILED_PRECONDITION, /conflict token/],
  ],
  SetWorkerDeploymentRampingVersion: [
    [{ buildId: '9' }, NOT_FOUND, /build ID '9' not found/],
    [{ percentage: -1 }, INVALID_ARGUMENT, /Percentage/],
    [{ percentage: 101 }, INVALID_ARGUMENT, /Percentage/],
    [{ conflictToken: Buffer.from('old') }, FAILED_PRECONDITION, /conflict token/],
  ],
  SetWorkerDeploymentManager: [[{ conflictToken: Buffer.from('old') }, FAILED_PRECONDITION, /conflict token/]],
  UpdateWorkerDeploymentVersionMetadata: [[{ removeEntries: [] }, INVALID_ARGUMENT, /nothing to upsert/]],
  UpdateWorkflowExecutionOptions: [
    [{ workflowExecutionOptions: undefined }, INVALID_ARGUMENT, /WorkflowExecutionOptions is required/],
    [{ updateMask: undefined }, INVALID_ARGUMENT, /UpdateMask is required/],
    [{ updateMask: { paths: ['nope'] } }, INVALID_ARGUMENT, /./],
  ],
  StartBatchOperation: [
    [{ reason: '' }, INVALID_ARGUMENT, /must provide required parameters/],
    [{ reason: LONG }, INVALID_ARGUMENT, /Reason length exceeds limit/],
    [{ visibilityQuery: '' }, INVALID_ARGUMENT, /must provide required parameters/],
    [{ terminationOperation: undefined }, INVALID_ARGUMENT, /must provide required parameters/],
    [{ executions: [{ workflowId: 'a' }] }, INVALID_ARGUMENT, /mutually exclusive/],
    [{ visibilityQuery: '', executions: [{}] }, INVALID_ARGUMENT, /WorkflowId is not set/],
    [{ visibilityQuery: '', executions: [{ workflowId: 'a', runId: 'no-uuid' }] }, INVALID_ARGUMENT, /Invalid RunId/],
    [{ visibilityQuery: '', targetExecutions: [{ businessId: 'a' }] }, INVALID_ARGUMENT, /target_executions\[0\] has type 0/],
    [{ visibilityQuery: 'Nope = 1' }, INVALID_ARGUMENT, /invalid query/],
    [{ visibilityQuery: 'WorkflowId =' }, INVALID_ARGUMENT, /invalid query/],
    [{ visibilityQuery: 'GROUP BY ExecutionStatus' }, INVALID_ARGUMENT, /GROUP BY/],
    [{ maxOperationsPerSecond: -1 }, INVALID_ARGUMENT, /MaxOperationsPerSecond/],
    [{ maxOperationsPerSecond: NaN }, INVALID_ARGUMENT, /MaxOperationsPerSecond/],
    [{ 'terminationOperation.identity': LONG }, INVALID_ARGUMENT, /Identity length exceeds limit/],
    [{ 'terminationOperation.details': big }, INVALID_ARGUMENT, /exceeds/i],
    [batch({ signalOperation: {} }), INVALID_ARGUMENT, /must provide signal name/],
    [batch({ signalOperation: { signal: LONG } }), INVALID_ARGUMENT, /SignalName length exceeds limit/],
    [batch({ resetOperation: {} }), INVALID_ARGUMENT, /unknown batch reset type 0/],
    [batch({ resetOperation: { resetType: 99 } }), INVALID_ARGUMENT, /unknown batch reset type 99/],
    [batch({ resetOperation: { options: {} } }), INVALID_ARGUMENT, /batch reset missing target/],
    [batch({ updateWorkflowOptionsOperation: {} }), INVALID_ARGUMENT, /must provide UpdateOptions/],
    [batch({ updateWorkflowOptionsOperation: { workflowExecutionOptions: {} } }), INVALID_ARGUMENT, /must provide UpdateMask/],
    [batch({ unpauseActivitiesOperation: {} }), INVALID_ARGUMENT, /activity filter must be set/],
    [batch({ unpauseActivitiesOperation: { type: '' } }), INVALID_ARGUMENT, /match all should be set/],
    [batch({ unpauseActivitiesOperation: { matchAll: true, jitter: negative } }), INVALID_ARGUMENT, /Jitter/],
    [batch({ resetActivitiesOperation: {} }), INVALID_ARGUMENT, /activity filter must be set/],
    [batch({ resetActivitiesOperation: { matchAll: false } }), INVALID_ARGUMENT, /match all should be set/],
    [batch({ updateActivityOptionsOperation: { matchAll: true } }), INVALID_ARGUMENT, /restore original/],
    [
      batch({ updateActivityOptionsOperation: { matchAll: true, activityOptions: {}, restoreOriginal: true } }),
      INVALID_ARGUMENT,
      /cannot set both/,
    ],
    [batch({ updateActivityOptionsOperation: { matchAll: true, activityOptions: {} } }), INVALID_ARGUMENT, /must provide UpdateMask/],
    [batch({ cancelActivitiesOperation: {} }), INVALID_ARGUMENT, /standalone activities/],
    [batch({ terminateActivitiesOperation: {} }), INVALID_ARGUMENT, /standalone activities/],
    [batch({ deleteActivitiesOperation: {} }), INVALID_ARGUMENT, /standalone activities/],
  ],
  StopBatchOperation: [
    [{ reason: '' }, INVALID_ARGUMENT, /Reason is not set/],
    [{ reason: LONG }, INVALID_ARGUMENT, /Reason length exceeds limit/],
    [{}, NOT_FOUND, /over already/],
  ],
  CreateSchedule: scheduling,
  UpdateSchedule: [...scheduling, [{ conflictToken: Buffer.from('old') }, FAILED_PRECONDITION, /conflict token/]],
  PatchSchedule: [
    [{ patch: undefined }, INVALID_ARGUMENT, /Patch is not set/],
    [{ patch: { triggerImmediately: { overlapPolicy: 99 } } }, INVALID_ARGUMENT, /overlap policy/],
    [{ patch: { backfillRequest: [{}] } }, INVALID_ARGUMENT, /StartTime/],
    [{ patch: { backfillRequest: [range] } }, INVALID_ARGUMENT, /EndTime/],
    [{ patch: { pause: 'x'.repeat(10_000) } }, INVALID_ARGUMENT, /notes/],
  ],
  ListScheduleMatchingTimes: [[{ startTime: undefined }, INVALID_ARGUMENT, /StartTime/]],
  ListSchedules: query,
  CountSchedules: query,
  TriggerSchedule: [
    [{ overlapPolicy: 99 }, INVALID_ARGUMENT, /OverlapPolicy is not known/],
    [{ scheduledTime: { seconds: 1e17 } }, INVALID_ARGUMENT, /ScheduledTime is not a valid time/],
  ],
  ListScheduleLedger: [
    [{ runId: 'no-id' }, INVALID_ARGUMENT, /Invalid RunId/],
    [{ runId: '11111111-2222-4333-8444-555555555555' }, NOT_FOUND, /not found/],
    [{ fates: [99] }, INVALID_ARGUMENT, /no fate/],
  ],
  ExplainScheduleTime: [
    [{ time: undefined }, INVALID_ARGUMENT, /Time is not set/],
    [{ runId: 'no-id' }, INVALID_ARGUMENT, /Invalid RunId/],
  ],
  BindCrontab: [
    [{ binding: undefined }, INVALID_ARGUMENT, /Binding is not set/],
    [{ 'binding.crontab': '61 * * * *' }, INVALID_ARGUMENT, /./],
    [{ 'binding.mode': 99 }, INVALID_ARGUMENT, /mode/],
    [{ 'binding.workflowType': '' }, INVALID_ARGUMENT, /./],
    [{ 'binding.timeZone': 'Mars/Olympus' }, INVALID_ARGUMENT, /Mars/],
  ],
  CancelBackfill: [[{}, NOT_FOUND, /./]],
  PutHolidayCalendar: [
    [{ calendar: undefined }, INVALID_ARGUMENT, /./],
    [{ 'calendar.name': '' }, INVALID_ARGUMENT, /name/i],
    [{ 'calendar.name': LONG }, INVALID_ARGUMENT, /length|long/i],
    [{ 'calendar.dates': ['2026-13-45'] }, INVALID_ARGUMENT, /2026-13-45/],
    [{ 'calendar.cronStrings': ['not a cron'] }, INVALID_ARGUMENT, /./],
  ],
  DeleteHolidayCalendar: [[{}, NOT_FOUND, /nope/], [{ name: '' }, INVALID_ARGUMENT, /./]],
  Check: [[{ service: 'nobody' }, NOT_FOUND, /unknown service/]],
};

const rules = [namespaceRule, executionRule, tokenRule, lengthRule, idRule, scheduleRule, deploymentRule, queueRule, pageRule, jobRule];
// They take nothing that could be wrong but their bytes.
const takesNothing = new Set(['ListNamespaces', 'GetClusterInfo', 'GetSystemInfo', 'GetSearchAttributes', 'ListClusters', 'ListNexusEndpoints']);

function linesOf(name) {
  const { fields } = wireOf(name);
  return [...rules.flatMap((rule) => rule(name, fields)), ...(special[name] ?? [])];
}

const resolved = (value) => {
  if (typeof value === 'function') return value();
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(resolved);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolved(each)]));
};
const size = (v) => v?.length ?? v?.data?.length;
const short = (changes) => JSON.stringify(changes, (_, v) => (size(v) > 40 ? `${size(v)} bytes` : v))?.slice(0, 120);

before(async () => {
  server = await Server.start();
  channel = new Client(server.address, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
  await openRun();
});

after(async () => {
  channel?.close();
  await server?.close();
});

test('every method that is there has lines, and no others', () => {
  assert.deepEqual(Object.keys(requests).sort(), [...methods.keys()].sort());
  for (const name of methods.keys()) if (!takesNothing.has(name)) assert.ok(linesOf(name).length > 0, name);
});

test('bad requests are refused with the right status and change nothing', { timeout: 300_000 }, async (t) => {
  const wrong = [];
  let seen = await look();
  let count = 0;
  for (const name of methods.keys()) {
    for (const [changes, code, text] of linesOf(name)) {
      if (Date.now() > taskUntil) {
        await good('RespondWorkflowTaskCompleted', { namespace, taskToken: tokens.task });
        await giveTask();
        seen = await look();
      }
      const answer = await send(name, spoil(requests[name](), resolved(changes)));
      const label = `${name} ${short(changes)}`;
      if (answer.code !== code || !text.test(answer.text)) wrong.push(`${label}: ${status[answer.code]} "${answer.text}"`);
      const now = await look();
      if (now.some((each, i) => each !== seen[i])) wrong.push(`${label}: changed something`);
      seen = now;
      count++;
    }
  }
  t.diagnostic(`${count} lines`);
  assert.deepEqual(wrong, []);
});

test('good requests of the methods that only look are answered', { timeout: 180_000 }, async () => {
  for (const name of methods.keys())
    if (/^(Get|List|Scan|Count|Describe|Check)/.test(name) && !/Archived|DescribeWorker$/.test(name))
      await good(name, requests[name]());
});

test('bytes that are no message are refused', { timeout: 180_000 }, async () => {
  const wrong = [];
  const cases = {
    'cut short': Buffer.from([0x0a, 0x05, 0x61]),
    'a number where a text belongs': Buffer.from([0x08, 0x01]),
    'a text that is not UTF-8': Buffer.from([0x0a, 0x02, 0xff, 0xfe]),
    'a field number 0': Buffer.from([0x02, 0x00]),
    'an unknown wire type': Buffer.from([0x0f]),
  };
  for (const name of methods.keys())
    for (const [what, bytes] of Object.entries(cases)) {
      const { code, text } = await call(pathOf(name), bytes);
      const isTaken = code === OK && what !== 'cut short'; // a field that this request does not know is kept
      if (code !== INVALID_ARGUMENT && !isTaken) wrong.push(`${name}, ${what}: ${status[code]} "${text}"`);
    }
  assert.deepEqual(wrong, []);
});
