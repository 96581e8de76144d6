// Runs the shell examples of a guide against a server. A block of `sh` may be followed by what it shows: JSON, of which
// everything shown must be there, or text. One that shows nothing must answer with nothing, or with {}.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The same value, or at least the same type for what differs each time.
function showsOf(shown, actual, path) {
  assert.equal(typeof actual, typeof shown, path);
  if (shown === null || typeof shown !== 'object') {
    if (!path.endsWith('.runId')) assert.equal(actual, shown, path);
    return;
  }
  for (const [key, value] of Object.entries(shown)) showsOf(value, actual?.[key], `${path}.${key}`);
}

export async function runExamples(server, name, atLeast) {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8');
  const blocks = [...text.matchAll(/```sh\n(.*?)```\n(?:```(json)?\n(.*?)```)?/gs)];
  assert.ok(blocks.length >= atLeast);
  for (const [, command, json, shown] of blocks) {
    const { stdout } = await promisify(execFile)('sh', ['-c', command.replaceAll('127.0.0.1:8233', server.http)]);
    if (json) showsOf(JSON.parse(shown), JSON.parse(stdout), command);
    else if (shown) assert.equal(stdout.trim(), shown.trim(), command);
    else assert.ok(stdout === '' || stdout === '{}\n', `${command}${stdout}`);
  }
}
