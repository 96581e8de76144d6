// Whether the check can fail: each case breaks a copy of proto/ in one place and must be named in the
// differences; the copy as it is must have none.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const WORKFLOW_ID = /(message WorkflowExecution \{\s+)string workflow_id = 1;/;
const EMPTY_DETAIL = /message NamespaceAlreadyExistsFailure \{\}/;
const EVENT_STARTED = /EVENT_TYPE_WORKFLOW_EXECUTION_STARTED = 1;/;
const SYSTEM_INFO = /rpc GetSystemInfo\(\w+\)/;
const SYSTEM_INFO_ROUTE = /^ROUTE\(WORKFLOW, GetSystemInfo,.*"\/system-info".*$/m;
const SYSTEM_INFO_LINE = /^RPC\(WORKFLOW, GetSystemInfo,.*$/m;

// [what, file, from, to, what a line must say]; from is a pattern that must match.
const CASES = [
  ['field number', 'common.proto', WORKFLOW_ID, '$1string workflow_id = 91;', 'workflow_id: number 91 is not upstream'],
  ['field name', 'common.proto', WORKFLOW_ID, '$1string workflow_ident = 1;', 'is called workflow_ident'],
  ['field type', 'common.proto', WORKFLOW_ID, '$1bytes workflow_id = 1;', 'workflow_id: type is bytes'],
  ['field label', 'common.proto', WORKFLOW_ID, '$1repeated string workflow_id = 1;', 'label is repeated'],
  ['optional', 'common.proto', WORKFLOW_ID, '$1optional string workflow_id = 1;', 'label is optional'],
  ['field gone', 'common.proto', WORKFLOW_ID, '$1', 'field workflow_id = 1 is missing'],
  ['field too many', 'common.proto', WORKFLOW_ID, '$& string extra = 77;', 'extra: number 77 is not upstream'],
  ['reserved', 'common.proto', WORKFLOW_ID, '$& reserved 88;', 'numbers 88 to 88 are reserved here'],
  ['packed', 'workflowservice.proto', /(types = 8);/, '$1 [packed = false];', 'packed is false'],
  ['map', 'common.proto', /map<string, Payload> fields/, 'map<string, string> fields', 'type is string, string'],
  ['oneof', 'failure.proto', /oneof failure_info \{/, 'oneof other_info {', 'oneof is other_info'],
  ['enum value', 'enums.proto', EVENT_STARTED, 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED = 999;', 'is 999, upstream 1'],
  ['enum value gone', 'enums.proto', EVENT_STARTED, '', 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED = 1 is missing'],
  ['message gone', 'errordetails.proto', EMPTY_DETAIL, '', 'NamespaceAlreadyExistsFailure: the type is missing'],
  ['message too many', 'errordetails.proto', EMPTY_DETAIL, '$& message Odd {}', 'Odd: the message is not upstream'],
  ['method gone', 'workflowservice.proto', /rpc GetSystemInfo\([^;]*;/, '', 'method GetSystemInfo is missing'],
  ['method request', 'workflowservice.proto', SYSTEM_INFO, 'rpc GetSystemInfo(GetClusterInfoRequest)', 'request is'],
  ['table line gone', 'methods.def', SYSTEM_INFO_LINE, '', 'WorkflowService.GetSystemInfo is missing'],
  ['table line twice', 'methods.def', SYSTEM_INFO_LINE, '$&\n$&', 'GetSystemInfo is there twice'],
  ['own line gone', 'methods.def', /^RPC\(SCHEDULE, ListBackfills,.*$/m, '', 'ScheduleService.ListBackfills is missing'],
  ['own method gone', 'rondo.proto', /rpc ListBackfills\([^;]*;/, '', 'SCHEDULE ListBackfills is no method of proto/'],
  ['route gone', 'routes.def', SYSTEM_INFO_ROUTE, '', 'missing: ROUTE(WORKFLOW, GetSystemInfo, GET, "/system-info", NONE)'],
  ['route twice', 'routes.def', SYSTEM_INFO_ROUTE, '$&\n$&', 'a line is there twice'],
  ['route verb', 'routes.def', /(ROUTE\(WORKFLOW, RegisterNamespace, +)POST/, '$1GET', 'RegisterNamespace, GET, "/cluster'],
  ['route body', 'routes.def', /("\/cluster\/namespaces"), ALL/, '$1, NONE', 'POST, "/cluster/namespaces", NONE)'],
  ['table type', 'methods.def', /ws__get_system_info,/, 'ws__get_cluster_info,', 'GetSystemInfo: type is'],
];
// Our own additions, which the check must not mind.
const ALLOWED = [
  ['own field', 'common.proto', WORKFLOW_ID, '$& string own = 50000;'],
  ['own enum value', 'enums.proto', EVENT_STARTED, '$& EVENT_TYPE_OWN = 50001;'],
];

function differencesAfter(protoDir, file, from, to, check) {
  const dir = mkdtempSync(join(tmpdir(), 'contract-test-'));
  try {
    cpSync(protoDir, dir, { recursive: true });
    const path = join(dir, file);
    const text = readFileSync(path, 'utf8');
    if (!from.test(text)) return [`${file} has nothing like ${from}`];
    writeFileSync(path, text.replace(from, to));
    return check(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

// 0 if all went as expected; prints TAP.
export function selfTest(protoDir, check) {
  const asItIs = check(protoDir);
  const results = [['as it is', asItIs, () => asItIs.length === 0]];
  for (const [what, file, from, to, said] of CASES) {
    const lines = differencesAfter(protoDir, file, from, to, check);
    results.push([what, lines, () => lines.some((line) => line.includes(said))]);
  }
  for (const [what, file, from, to] of ALLOWED) {
    const lines = differencesAfter(protoDir, file, from, to, check);
    results.push([what, lines, () => lines.length === 0]);
  }

  let failed = 0;
  results.forEach(([what, lines, isExpected], i) => {
    const ok = isExpected();
    failed += !ok;
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - ${what}`);
    if (!ok) console.log(lines.length ? lines.map((l) => `# ${l}`).join('\n') : '# no difference was seen');
  });
  console.log(`1..${results.length}`);
  return failed === 0 ? 0 : 1;
}
