// What proto/*.proto states, as protoc understands it.
//
// protoc writes a descriptor set; it is decoded with the descriptor types that
// protobufjs carries and flattened into maps of full names. A file that protoc
// refuses ends the check with protoc's own words.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LABEL_REPEATED = 3;
const TYPE_NAMES = [
  undefined, 'double', 'float', 'int64', 'uint64', 'int32', 'fixed64', 'fixed32', 'bool', 'string', 'group',
  'message', 'bytes', 'uint32', 'enum', 'sfixed32', 'sfixed64', 'sint32', 'sint64',
];
const NAMED_TYPES = new Set(['message', 'enum']);
const UNPACKABLE = new Set(['string', 'bytes', 'message', 'group']);

function descriptorSet(protoDir, requireFrom) {
  const dir = mkdtempSync(join(tmpdir(), 'contract-'));
  try {
    const out = join(dir, 'set.bin');
    const files = readdirSync(protoDir).filter((name) => name.endsWith('.proto'));
    const protoc = process.env.PROTOC || 'protoc';
    execFileSync(protoc, [`-I${protoDir}`, '-I/usr/include', `--descriptor_set_out=${out}`, ...files], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    return requireFrom('protobufjs/ext/descriptor').FileDescriptorSet.decode(readFileSync(out));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

// protobufjs answers unset options with false; only a stated one counts. proto3 packs by default.
const isPacked = (field) => !field.options || !Object.hasOwn(field.options, 'packed') || field.options.packed;
const fullName = (scope, name) => (scope ? `${scope}.${name}` : name);
const reference = (typeName) => typeName.replace(/^\./, '');

function fieldShape(field, message, entries) {
  const kind = TYPE_NAMES[field.type];
  const type = NAMED_TYPES.has(kind) ? reference(field.typeName) : kind;
  const entry = entries.get(type);
  if (entry) return { number: field.number, label: 'map', type: entry, oneof: null, packed: false };
  const isRepeated = field.label === LABEL_REPEATED;
  const inOneof = Object.hasOwn(field, 'oneofIndex') && !field.proto3Optional;
  return {
    number: field.number,
    label: isRepeated ? 'repeated' : field.proto3Optional ? 'optional' : 'singular',
    type,
    oneof: inOneof ? message.oneofDecl[field.oneofIndex].name : null,
    packed: isRepeated && !UNPACKABLE.has(kind) && isPacked(field),
  };
}

// Full name of each map entry message -> "key, value".
function mapEntries(name, message) {
  const entries = new Map();
  for (const nested of message.nestedType) {
    if (!nested.options?.mapEntry) continue;
    const [key, value] = nested.field;
    const typeOf = (f) => (f.typeName ? reference(f.typeName) : TYPE_NAMES[f.type]);
    entries.set(fullName(name, nested.name), `${typeOf(key)}, ${typeOf(value)}`);
  }
  return entries;
}

function addEnum(contract, scope, e) {
  contract.enums.set(fullName(scope, e.name), new Map(e.value.map((v) => [v.name, v.number])));
}

function addMessage(contract, scope, message) {
  const name = fullName(scope, message.name);
  const entries = mapEntries(name, message);
  const fields = new Map(message.field.map((f) => [f.name, fieldShape(f, message, entries)]));
  const reserved = message.reservedRange.map((r) => [r.start, r.end - 1]);
  contract.messages.set(name, { fields, reserved });
  for (const e of message.enumType) addEnum(contract, name, e);
  for (const nested of message.nestedType) if (!nested.options?.mapEntry) addMessage(contract, name, nested);
}

function addService(services, scope, service) {
  const methods = service.method.map((m) => [
    m.name,
    {
      request: reference(m.inputType),
      response: reference(m.outputType),
      streams: `${Boolean(m.clientStreaming)}/${Boolean(m.serverStreaming)}`,
    },
  ]);
  services.set(fullName(scope, service.name), new Map(methods));
}

// What is in a package of our own is no part of the contract; its services still need their lines in methods.def.
export function loadOurs(protoDir, requireFrom, isOwnPackage) {
  const contract = { messages: new Map(), enums: new Map(), services: new Map(), ownServices: new Map() };
  for (const file of descriptorSet(protoDir, requireFrom).file) {
    const isOwn = isOwnPackage(file.package);
    for (const s of file.service) addService(isOwn ? contract.ownServices : contract.services, file.package, s);
    if (isOwn) continue;
    for (const e of file.enumType) addEnum(contract, file.package, e);
    for (const m of file.messageType) addMessage(contract, file.package, m);
  }
  return contract;
}
