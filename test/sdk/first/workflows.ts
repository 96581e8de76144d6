import { proxyActivities, sleep } from '@temporalio/workflow';

interface Activities {
  greet(name: string): Promise<string>;
}
const { greet } = proxyActivities<Activities>({ startToCloseTimeout: '1 minute' });

export async function hello(name: string): Promise<string> {
  await sleep('1 second');
  return await greet(name);
}
