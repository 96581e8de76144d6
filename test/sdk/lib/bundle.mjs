// The workflows, bundled once for all test files: the bundle is kept under a name that changes
// with its source.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { quiet } from './log.mjs';

const SOURCE = fileURLToPath(new URL('../workflows.mjs', import.meta.url));
const CACHE = fileURLToPath(new URL('../node_modules/.cache/', import.meta.url));

export async function workflowBundle() {
  const digest = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const codePath = `${CACHE}workflows-${digest}.js`;
  if (!existsSync(codePath)) {
    const { code } = await bundleWorkflowCode({ workflowsPath: SOURCE, logger: quiet });
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(`${codePath}.${process.pid}`, code);
    renameSync(`${codePath}.${process.pid}`, codePath);
  }
  return { codePath };
}
