import { proxyActivities, sleep } from '@temporalio/workflow';

const { greet } = proxyActivities({ startToCloseTimeout: '1 minute' });

export async function hello(name) {
  await sleep('1 second');
  return await greet(name);
}
