// src/wire/methods.def against the services of proto/: each method has one line, and its line fits it.
import { readFileSync } from 'node:fs';

const SERVICES = {
  WORKFLOW: { name: 'temporal.api.workflowservice.v1.WorkflowService', prefix: 'ws__' },
  OPERATOR: { name: 'temporal.api.operatorservice.v1.OperatorService', prefix: 'ops__' },
  HEALTH: { name: 'grpc.health.v1.Health', prefix: 'health__' },
  REFLECTION: { name: 'grpc.reflection.v1.ServerReflection', prefix: 'reflection__' },
  REFLECTION_ALPHA: { name: 'grpc.reflection.v1alpha.ServerReflection', prefix: 'reflection__' },
  SCHEDULE: { name: 'rondo.api.v1.ScheduleService', prefix: 'rondo__' },
  QUEUE: { name: 'rondo.api.v1.TaskQueueService', prefix: 'rondo__' },
};
const KINDS = ['UNARY', 'POLL', 'WAIT', 'STREAM', 'DUPLEX'];
const ACCESS = ['OPEN', 'READ', 'WORKER', 'WRITE', 'ADMIN'];
const LIMITS = ['MESSAGE', 'NAME'];

const snakeCase = (name) => name.replace(/(?<!^)[A-Z]/g, (c) => `_${c}`).toLowerCase();

function stemOf(prefix, method) {
  const short = (type) => type.slice(type.lastIndexOf('.') + 1);
  const request = short(method.request).replace(/Request$/, '');
  const response = short(method.response).replace(/Response$/, '');
  return request === response ? prefix + snakeCase(request) : undefined;
}

function checkRow(row, ours, report) {
  const [service, name, type, kind, access, bytesMax, handler] = row;
  const known = SERVICES[service];
  const services = known && (ours.services.get(known.name) ?? ours.ownServices.get(known.name));
  const method = services?.get(name);
  if (!method) {
    report(`methods.def: ${service} ${name} is no method of proto/`);
    return;
  }
  const stem = stemOf(known.prefix, method);
  const stream = { 'false/true': 'STREAM', 'true/true': 'DUPLEX' }[method.streams];
  const isFitting = stream ? kind === stream : !['STREAM', 'DUPLEX'].includes(kind);
  if (type !== stem) report(`methods.def: ${name}: type is ${type}, not ${stem}`);
  if (!KINDS.includes(kind)) report(`methods.def: ${name}: kind ${kind} does not exist`);
  if (!isFitting) report(`methods.def: ${name}: kind ${kind} does not fit its stream`);
  if (!ACCESS.includes(access)) report(`methods.def: ${name}: access ${access} does not exist`);
  if (!LIMITS.includes(bytesMax)) report(`methods.def: ${name}: limit ${bytesMax} does not exist`);
  if (!/^(NOT_YET|[a-z][a-z0-9_]*)$/.test(handler)) report(`methods.def: ${name}: ${handler} is not a handler's name`);
}

// Returns { differences, count }.
export function checkMethods(path, ours) {
  const differences = [];
  const report = (line) => differences.push(line);
  const seen = new Set();
  const lines = readFileSync(path, 'utf8').split('\n').filter((line) => /^RPC(_DUPLEX)?\(/.test(line));

  for (const line of lines) {
    const row = /^RPC(?:_DUPLEX)?\((.*)\)$/.exec(line)?.[1].split(',').map((cell) => cell.trim());
    if (row?.length !== 7) {
      report(`methods.def: cannot read ${line}`);
      continue;
    }
    const key = `${SERVICES[row[0]]?.name}/${row[1]}`;
    if (seen.has(key)) report(`methods.def: ${row[1]} is there twice`);
    seen.add(key);
    checkRow(row, ours, report);
  }
  for (const [service, methods] of [...ours.services, ...ours.ownServices])
    for (const name of methods.keys())
      if (!seen.has(`${service}/${name}`)) report(`methods.def: ${service}.${name} is missing`);
  return { differences, count: lines.length };
}
