// The comparison itself: pure functions from two contracts to a list of differences, one line each.
const FIRST_OWN_NUMBER = 50000; // from here up field and enum numbers are our additions

// As protobufjs turns field names around: an underscore before a lone letter or a word joins it.
const camelCase = (name) => name[0] + name.slice(1).replace(/_([a-z])(?=[a-z]|$)/g, (_, c) => c.toUpperCase());
// Oneof names do not travel, and upstream gives them in either style.
const sameOneof = (ours, theirs) => ours === theirs || (ours !== null && theirs !== null && camelCase(ours) === theirs);

function compareField(where, name, ours, theirs, report) {
  if (camelCase(name) !== theirs.camel || (theirs.protoName && theirs.protoName !== name))
    report(`${where}: field ${ours.number} is called ${name}, upstream ${theirs.protoName ?? theirs.camel}`);
  for (const key of ['label', 'type', 'packed'])
    if (ours[key] !== theirs[key]) report(`${where}.${name}: ${key} is ${ours[key]}, upstream ${theirs[key]}`);
  if (!sameOneof(ours.oneof, theirs.oneof))
    report(`${where}.${name}: oneof is ${ours.oneof}, upstream ${theirs.oneof}`);
}

function compareMessage(name, ours, theirs, report) {
  const numbers = new Set();
  let count = 0;
  for (const [field, shape] of ours.fields) {
    if (shape.number >= FIRST_OWN_NUMBER) continue;
    count++;
    numbers.add(shape.number);
    const upstream = theirs.fields.get(shape.number);
    const isReserved = theirs.reserved.some(([from, to]) => from <= shape.number && shape.number <= to);
    if (upstream) compareField(name, field, shape, upstream, report);
    else if (isReserved) report(`${name}.${field}: number ${shape.number} is reserved upstream`);
    else report(`${name}.${field}: number ${shape.number} is not upstream`);
  }
  for (const [number, shape] of theirs.fields)
    if (!numbers.has(number)) report(`${name}: field ${shape.protoName ?? shape.camel} = ${number} is missing`);
  for (const [from, to] of ours.reserved)
    if (from < FIRST_OWN_NUMBER && !theirs.reserved.some(([f, t]) => f <= from && to <= t))
      report(`${name}: numbers ${from} to ${to} are reserved here, not upstream`);
  return count;
}

function compareEnum(name, ours, theirs, report) {
  for (const [value, number] of ours) {
    if (number >= FIRST_OWN_NUMBER) continue;
    if (!theirs.has(value)) report(`${name}: value ${value} = ${number} is not upstream`);
    else if (theirs.get(value) !== number) report(`${name}.${value}: is ${number}, upstream ${theirs.get(value)}`);
  }
  for (const [value, number] of theirs) if (!ours.has(value)) report(`${name}: value ${value} = ${number} is missing`);
}

function compareMethods(name, ours, theirs, mustBeComplete, report) {
  for (const [method, shape] of ours) {
    const upstream = theirs.get(method);
    if (!upstream) {
      report(`${name}: method ${method} is not upstream`);
      continue;
    }
    for (const key of ['request', 'response', 'streams'])
      if (shape[key] !== upstream[key]) report(`${name}.${method}: ${key} is ${shape[key]}, upstream ${upstream[key]}`);
  }
  if (!mustBeComplete) return;
  for (const method of theirs.keys()) if (!ours.has(method)) report(`${name}: method ${method} is missing`);
}

// Returns { differences, counts }. `reachable` are the type names that must be stated, `complete` the
// services of which no method may be missing.
export function compareContracts(ours, theirs, reachable, complete) {
  const differences = [];
  const report = (line) => differences.push(line);
  const counts = { messages: 0, fields: 0, enums: 0, values: 0, methods: 0 };

  for (const [name, message] of ours.messages) {
    counts.messages++;
    const upstream = theirs.messages.get(name);
    if (upstream) counts.fields += compareMessage(name, message, upstream, report);
    else report(`${name}: the message is not upstream`);
  }
  for (const [name, values] of ours.enums) {
    counts.enums++;
    counts.values += values.size;
    const upstream = theirs.enums.get(name);
    if (upstream) compareEnum(name, values, upstream, report);
    else report(`${name}: the enum is not upstream`);
  }
  for (const [name, methods] of ours.services) {
    counts.methods += methods.size;
    const upstream = theirs.services.get(name);
    if (upstream) compareMethods(name, methods, upstream, complete.includes(name), report);
    else report(`${name}: the service is not upstream`);
  }
  for (const name of complete) if (!ours.services.has(name)) report(`${name}: the service is missing`);
  for (const name of reachable) {
    // These come with protoc.
    if (name.startsWith('google.protobuf.')) continue;
    if (!ours.messages.has(name) && !ours.enums.has(name)) report(`${name}: the type is missing`);
  }
  return { differences, counts };
}
