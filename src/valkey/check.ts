/** Whether a server can have pages of a space: asked once, before the space is opened. */
import { type ConnectionOptions, ValkeyConnection } from './connection.js';
import { ValkeyError } from './errors.js';

/** @throws ValkeyError when it cannot be reached, lets nobody in, or would not keep what it is given */
export async function checkServer(url: string, options: ConnectionOptions): Promise<void> {
  const connection = await ValkeyConnection.open(url, options);
  const refuse = (why: string): never => {
    throw new ValkeyError('REFUSED', `${connection.address.shown} ${why}`);
  };
  try {
    const { mode, role } = connection.info;
    if (mode === 'cluster')
      refuse('is part of a cluster, which onemem cannot use yet; name a server that stands alone');
    if (mode === 'sentinel') refuse('is a sentinel; name the server that it watches');
    if (role !== 'master') refuse(`is a ${role}, which cannot be written; name the primary`);
    const about = Buffer.from((await connection.call(['INFO', 'memory'])) as Uint8Array).toString();
    const most = Number(/^maxmemory:(\d+)/m.exec(about)?.[1] ?? 0);
    const policy = /^maxmemory_policy:(\S+)/m.exec(about)?.[1] ?? 'noeviction';
    if (most > 0 && policy !== 'noeviction')
      refuse(
        `drops what it has when its memory is full (maxmemory-policy ${policy}), and pages of arrays with it; set maxmemory-policy noeviction`,
      );
  } finally {
    connection.close();
  }
}
