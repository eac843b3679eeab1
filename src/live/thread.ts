/**
 * The thread that serves the live picture of a space. It has an event loop of its own, so that the
 * picture goes on while the program computes or waits in a fault. It ends with the space.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { AddressSpace } from '../api/objects/address-space.js';
import { attachSpace } from '../api/opening/attach.js';
import { Following } from './following.js';
import type { FromLiveThread, LiveThreadData } from './protocol.js';
import { LiveServer } from './server.js';

/**
 * How often the thread asks for moves that nobody looks at, so that none is lost, and whether the
 * space is still open.
 */
const LOOK_MS = 250;

const { handle, port, title } = workerData as LiveThreadData;
const say = (message: FromLiveThread): void => parentPort?.postMessage(message);
const space = attachSpace(handle) as AddressSpace;

async function main(): Promise<void> {
  const following = await Following.start(space.client);
  const server = new LiveServer({
    title,
    frame: (since) => following.frame(since),
    moves: (row, atMs) => following.moves(row, atMs),
    metrics: () => space.metrics(),
  });
  const end = (): void => {
    clearInterval(looking);
    server.close();
    following.end();
    void space.close();
    parentPort?.close();
  };
  const looking = setInterval(() => {
    if (space.isClosed) end();
    else void following.update().catch(end);
  }, LOOK_MS);
  parentPort?.once('message', end);
  say({ url: await server.listen(port) });
}

await main().catch((error: NodeJS.ErrnoException) => {
  say({ failed: error.message, code: error.code ?? '' });
  process.exit();
});
