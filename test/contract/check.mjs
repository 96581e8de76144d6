// The contract check: proto/ says what the published API says, methods.def names every method, routes.def every way
// to call one over HTTP.
//
//   node check.mjs ROOT NODE_MODULES              compare; exit 1 with a line for each difference
//   node check.mjs ROOT NODE_MODULES --self-test  break copies of the files, see each one noticed
//
// NODE_MODULES is where @temporalio/proto and @temporalio/core-bridge are installed. protoc must be on the path, or named by PROTOC.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

import { compareContracts } from './compare.mjs';
import { checkMethods } from './methods.mjs';
import { loadOurs } from './ours.mjs';
import { checkRoutes, upstreamRoutes } from './routes.mjs';
import { selfTest } from './selftest.mjs';
import { loadTheirs, reachableTypes } from './theirs.mjs';

const COMPLETE_SERVICES = [
  'temporal.api.workflowservice.v1.WorkflowService',
  'temporal.api.operatorservice.v1.OperatorService',
];
const DETAILS_PACKAGE = 'temporal.api.errordetails.v1.'; // packed into Any, so no method leads to them
const isOwnPackage = (name) => /^(rondo|grpc\.reflection)(\.|$)/.test(name); // or one that the SDK does not have

function load(nodeModules) {
  const installed = createRequire(join(resolve(nodeModules), 'contract.js'));
  // The package may bring its own protobufjs: everything is resolved as it would resolve it.
  const requireFrom = createRequire(installed.resolve('@temporalio/proto/protos/json-module.js'));
  const theirs = loadTheirs(requireFrom);
  const details = [...theirs.messages.keys()].filter((name) => name.startsWith(DETAILS_PACKAGE));
  const reachable = reachableTypes(theirs, COMPLETE_SERVICES, details);
  return { requireFrom, theirs, reachable, routes: upstreamRoutes(installed) };
}

function check(protoDir, { requireFrom, theirs, reachable, routes: upstream }) {
  const ours = loadOurs(protoDir, requireFrom, isOwnPackage);
  const { differences, counts } = compareContracts(ours, theirs, reachable, COMPLETE_SERVICES);
  const methods = checkMethods(join(protoDir, 'methods.def'), ours);
  counts['lines of methods.def'] = methods.count;
  const routes = checkRoutes(join(protoDir, 'routes.def'), upstream);
  counts['lines of routes.def'] = routes.count;
  return { differences: [...differences, ...methods.differences, ...routes.differences], counts };
}

// A directory with everything that is compared: the files of proto/ and the two tables.
function stageFiles(root) {
  const dir = mkdtempSync(join(tmpdir(), 'contract-'));
  cpSync(join(root, 'proto'), dir, { recursive: true });
  for (const table of ['wire/methods.def', 'serve/routes.def']) cpSync(join(root, 'src', table), join(dir, basename(table)));
  return dir;
}

function main([root, nodeModules, mode]) {
  if (!root || !nodeModules || (mode && mode !== '--self-test')) {
    console.error('usage: check.mjs ROOT NODE_MODULES [--self-test]');
    return 2;
  }
  const upstream = load(nodeModules);
  const protoDir = stageFiles(root);
  process.on('exit', () => rmSync(protoDir, { recursive: true, force: true }));
  if (mode) return selfTest(protoDir, (dir) => check(dir, upstream).differences);
  const { differences, counts } = check(protoDir, upstream);
  for (const line of differences) console.error(line);
  const compared = Object.entries(counts).map(([what, n]) => `${n} ${what}`).join(', ');
  console.log(`compared ${compared}: ${differences.length} differences`);
  return differences.length === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
