// The client of one system, a process of its own: node driver.mjs SYSTEM CONNECTION
//
// SYSTEM/client.mjs exports connect(connection), which gives `operations` for the closed loop and `timers` and
// `schedules` for what happens by the clock. Where the client is also the worker (DBOS), it notes lateness, too.

import { closedLoop } from './figures.mjs';
import { answerMessages } from './processes.mjs';

const [system, connection] = process.argv.slice(2);
const { connect } = await import(`./${system}/client.mjs`);
const client = await connect(JSON.parse(connection));

async function measure({ name, width, warmUp, seconds }) {
  const { finish, ...figures } = await closedLoop({
    width,
    warmUp,
    seconds,
    operation: client.operations[name],
    onMeasuring: async () => process.send({ isMeasuring: true }),
  });
  process.send(figures);
  await finish();
  return { isFinished: true };
}

answerMessages({
  measure,
  timers: ({ count, dueMs }) => client.timers(count, dueMs),
  schedules: ({ count }) => client.schedules(count),
  ...client.lateness?.answers,
});
