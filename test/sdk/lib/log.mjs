// The SDK's log: silent, since tests make workers and servers fail on purpose; SDK_LOG=WARN
// (INFO, DEBUG, …) shows it.

import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';

const level = process.env.SDK_LOG;
let installed = false;

export const quiet = new DefaultLogger(level ?? 'ERROR', level ? undefined : () => {});

// To be called before the first worker is made, and not sooner: a runtime without a worker would
// keep the process from ending.
export function installQuietRuntime(options = {}) {
  if (installed) return;
  installed = true;
  const logging = { forward: {}, filter: makeTelemetryFilterString({ core: level ?? 'ERROR' }) };
  Runtime.install({ logger: quiet, telemetryOptions: { logging }, shutdownSignals: [], ...options });
}
