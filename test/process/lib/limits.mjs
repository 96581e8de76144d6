// The numbers of every limits.def, as the release binary has them and as the build with tiny limits does.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export const TINY_BINARY = process.env.RONDO_TINY_BIN ?? `${root}build-tiny/rondo`;

// Every limits.def of the sources, so that a new layer's is not forgotten.
const files = execFileSync('find', [`${root}src`, '-name', 'limits.def'], { encoding: 'utf8' }).trim().split('\n').sort();

// "4 << 20" and "365 * 86400" are numbers, too.
function evaluate(text) {
  if (!/^[\d\s*+<()-]+$/.test(text)) throw new Error(`not a number: ${text}`);
  return Function(`return ${text}`)();
}

// { layer, name, value, key }: key only for those that an operator may set.
function readDefinitions(file) {
  const layer = /src\/([^/]*)\/.*limits\.def$/.exec(file)[1];
  const text = readFileSync(file, 'utf8').replace(/\/\*.*?\*\//gs, '');
  const lines = [...text.matchAll(/^(LIMIT|SETTABLE)\((\w+),\s*([^,]+),\s*("[^"]*")?/gm)];
  if (lines.length !== [...text.matchAll(/^(LIMIT|SETTABLE)\(/gm)].length) throw new Error(`${file} has a line that is not understood`);
  return lines.map(([, kind, name, value, string]) => ({
    layer,
    name,
    value: evaluate(value),
    key: kind === 'SETTABLE' ? JSON.parse(string) : undefined,
  }));
}

export const definitions = files.flatMap(readDefinitions);

const tinyTable = readFileSync(new URL('../tiny_limits.h', import.meta.url), 'utf8');
export const tiny = new Map(
  [...tinyTable.matchAll(/^#define TINY_([a-z]+)_(\w+) ~, (\d+)$/gm)].map(([, layer, name, value]) => [`${layer}.${name}`, Number(value)]),
);

const byName = new Map(definitions.map((d) => [`${d.layer}.${d.name}`, d]));

// The number that holds in the release build.
export const realLimit = (name) => byName.get(name).value;

// The number that holds in the build with tiny limits.
export function limit(name) {
  if (!byName.has(name)) throw new Error(`no limits.def has ${name}`);
  return tiny.get(name) ?? byName.get(name).value;
}
