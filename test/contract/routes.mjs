// src/serve/routes.def against the HTTP annotations of the service definitions that @temporalio/core-bridge ships.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PROTOS = 'sdk-core/crates/protos/protos/api_upstream/temporal/api';
const SERVICES = {
  WORKFLOW: { file: 'workflowservice/v1/service.proto', name: 'WorkflowService' },
  OPERATOR: { file: 'operatorservice/v1/service.proto', name: 'OperatorService' },
};
const VERBS = ['get', 'post', 'put', 'delete', 'patch'];

// One binding of an annotation as a line of the table, without the columns' padding.
function lineOf(service, method, binding) {
  const verbs = VERBS.filter((verb) => binding[verb] !== undefined);
  const isKnown = verbs.length === 1 && (binding.body === undefined || binding.body === '*');
  if (!isKnown) throw new Error(`${method}: a binding that routes.def has no words for: ${JSON.stringify(binding)}`);
  const body = binding.body === '*' ? 'ALL' : 'NONE';
  return `ROUTE(${service}, ${method}, ${verbs[0].toUpperCase()}, "${binding[verbs[0]]}", ${body})`;
}

// protobufjs gives a repeated option once as itself, more often as an array, or one entry for each.
function bindingsOf(method) {
  const rules = (method.parsedOptions ?? []).filter((option) => option['(google.api.http)']);
  return rules.flatMap((option) => {
    const { additional_bindings: more = [], ...first } = option['(google.api.http)'];
    return [first, ...[more].flat()];
  });
}

// Every line that upstream would have, in its order.
export function upstreamRoutes(requireFrom) {
  const root = dirname(requireFrom.resolve('@temporalio/core-bridge/package.json'));
  const { parse } = requireFrom('protobufjs');
  return Object.entries(SERVICES).flatMap(([service, { file, name }]) => {
    const text = readFileSync(join(root, PROTOS, file), 'utf8');
    const parsed = parse(text, { keepCase: true });
    const methods = parsed.root.lookupService(`${parsed.package}.${name}`).methodsArray;
    return methods.flatMap((method) => bindingsOf(method).map((b) => lineOf(service, method.name, b)));
  });
}

// Returns { differences, count }.
export function checkRoutes(path, upstream) {
  const lines = readFileSync(path, 'utf8').split('\n').filter((line) => /^ROUTE\((WORKFLOW|OPERATOR),/.test(line));
  const ours = lines.map((line) => line.replace(/\s+/g, ' '));
  const differences = [];
  for (const line of new Set(ours)) if (!upstream.includes(line)) differences.push(`routes.def: not upstream: ${line}`);
  for (const line of upstream) if (!ours.includes(line)) differences.push(`routes.def: missing: ${line}`);
  if (new Set(ours).size !== ours.length) differences.push('routes.def: a line is there twice');
  return { differences, count: ours.length };
}
