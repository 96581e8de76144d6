import { Client, Connection } from '@temporalio/client';

const address = process.env.TEMPORAL_ADDRESS ?? '127.0.0.1:7233';
const client = new Client({ connection: await Connection.connect({ address }) });
const options = { taskQueue: 'first', workflowId: 'first', args: ['world'] };
console.log(await client.workflow.execute('hello', options));
await client.connection.close();
