// Restate's server with its own settings, but for addresses, and its SDK as the worker.

import { createRequire } from 'node:module';
import { freePort, Helper, Program, run, until } from '../processes.mjs';

const require = createRequire(import.meta.url);
const binary = require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);

function settings(directory, ports) {
  return {
    ...process.env,
    RESTATE_BASE_DIR: `${directory}/restate`,
    RESTATE_NODE_NAME: 'bench',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_PORT: ports.node,
    RESTATE_ADMIN__BIND_PORT: ports.admin,
    RESTATE_INGRESS__BIND_PORT: ports.ingress,
    RESTATE_DISABLE_TELEMETRY: 'true',
  };
}

async function durabilityOf(env) {
  const config = await run(binary, ['--dump-config'], { env });
  const provider = /default-provider = "(\w+)"/.exec(config)[1];
  const withoutSync = /\[log-server\][^[]*rocksdb-disable-wal-fsync = (\w+)/.exec(config)[1];
  if (withoutSync !== 'false') throw new Error('Restate does not sync its log');
  return `bifrost.default-provider=${provider}, log-server.rocksdb-disable-wal-fsync=${withoutSync}`;
}

async function answers(url) {
  return (await fetch(url)).ok;
}

export async function start({ directory }) {
  const ports = { node: await freePort(), admin: await freePort(), ingress: await freePort(), worker: await freePort() };
  const env = settings(directory, ports);
  const durability = await durabilityOf(env);
  const worker = new Helper(new URL('worker.mjs', import.meta.url), [String(ports.worker)]);
  await worker.next();
  const began = performance.now();
  const program = new Program(binary, ['--no-logo'], { env });
  const admin = `http://127.0.0.1:${ports.admin}`;
  await until('Restate', () => answers(`${admin}/health`));
  await until('Restate', () => answers(`http://127.0.0.1:${ports.ingress}/restate/health`));
  const readyMs = performance.now() - began;
  await register(admin, ports.worker);
  return {
    connection: { port: ports.ingress },
    readyMs,
    roles: { server: program.pid, worker: worker.pid },
    lateness: worker,
    durability,
    stop: async () => {
      await worker.stop();
      await program.stop('SIGKILL'); // its own end waits for what is under way, and the data is thrown away
    },
  };
}

async function register(admin, port) {
  const body = JSON.stringify({ uri: `http://127.0.0.1:${port}` });
  const headers = { 'content-type': 'application/json' };
  await until('the worker of Restate', async () => {
    const response = await fetch(`${admin}/deployments`, { method: 'POST', headers, body });
    return response.ok;
  });
}
