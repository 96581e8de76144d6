// The SDK's log: silent, since tests make workers and servers fail on purpose; SDK_LOG=WARN
// (INFO, DEBUG, …) shows it.

import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';

const level = process.env.SDK_LOG;

export const quiet = new DefaultLogger(level ?? 'ERROR', level ? undefined : () => {});

Runtime.install({
  logger: quiet,
  telemetryOptions: {
    logging: { forward: {}, filter: makeTelemetryFilterString({ core: level ?? 'ERROR' }) },
  },
  shutdownSignals: [],
});
