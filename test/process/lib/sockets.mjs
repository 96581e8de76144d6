// What waits in the sockets of a server, as the kernel tells it: /proc/net/tcp.

import { readFileSync } from 'node:fs';

// How many sockets on this port of this machine have input that the server has not read. A connection that was not
// accepted yet counts, too, when it has sent something.
export function countUnreadSockets(port) {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return rows.filter((row) => {
    const [, address, , state, queues] = row.trim().split(/\s+/);
    return address === local && state === '01' && Number.parseInt(queues.split(':')[1], 16) > 0;
  }).length;
}
