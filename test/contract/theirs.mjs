// What the published package @temporalio/proto states, in the same shape as ours.mjs,
// and which of its types a client can reach through the services.
const nameOf = (object) => object.fullName.replace(/^\./, '');

export function loadTheirs(requireFrom) {
  const root = requireFrom('@temporalio/proto/protos/json-module.js');
  const { Enum, MapField, OneOf, Root, Service, Type, types } = requireFrom('protobufjs/light');
  if (!(root instanceof Root)) throw new Error('@temporalio/proto: json-module.js does not export a Root');
  root.resolveAll();

  const contract = { messages: new Map(), enums: new Map(), services: new Map(), references: new Map() };
  const isPackable = (f) => f.resolvedType instanceof Enum || f.type in types.packed;
  const typeOf = (f) => (f.resolvedType ? nameOf(f.resolvedType) : f.type);

  function fieldShape(f) {
    const shape = { number: f.id, camel: f.name, protoName: f.protoName, packed: false, oneof: null };
    if (f instanceof MapField) return { ...shape, label: 'map', type: `${f.keyType}, ${typeOf(f)}` };
    const isOptional = f.partOf instanceof OneOf && f.partOf.isProto3Optional;
    return {
      ...shape,
      label: f.repeated ? 'repeated' : isOptional ? 'optional' : 'singular',
      type: typeOf(f),
      oneof: f.partOf && !isOptional ? (f.partOf.protoName ?? f.partOf.name) : null,
      packed: f.repeated && f.packed && isPackable(f),
    };
  }

  function visit(object) {
    if (object instanceof Enum) {
      contract.enums.set(nameOf(object), new Map(Object.entries(object.values)));
    } else if (object instanceof Type) {
      const fields = object.fieldsArray.map((f) => [f.id, fieldShape(f)]);
      const reserved = (object.reserved ?? []).filter(Array.isArray);
      contract.messages.set(nameOf(object), { fields: new Map(fields), reserved });
      const referenced = object.fieldsArray.filter((f) => f.resolvedType).map((f) => nameOf(f.resolvedType));
      contract.references.set(nameOf(object), referenced);
    } else if (object instanceof Service) {
      const methods = object.methodsArray.map((m) => [
        m.name,
        {
          request: nameOf(m.resolvedRequestType),
          response: nameOf(m.resolvedResponseType),
          streams: `${Boolean(m.requestStream)}/${Boolean(m.responseStream)}`,
        },
      ]);
      contract.services.set(nameOf(object), new Map(methods));
    }
    for (const nested of object.nestedArray ?? []) visit(nested);
  }
  visit(root);
  return contract;
}

// Every type that the methods of these services, and these messages, lead to.
export function reachableTypes(theirs, services, messages) {
  const queue = [...messages];
  for (const service of services)
    for (const method of theirs.services.get(service).values()) queue.push(method.request, method.response);
  const seen = new Set();
  while (queue.length > 0) {
    const name = queue.pop();
    if (seen.has(name)) continue;
    seen.add(name);
    queue.push(...(theirs.references.get(name) ?? []));
  }
  return seen;
}
