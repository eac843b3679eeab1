/** The thread that tells a program what it may act on. It ends with the space. */
import { parentPort, workerData } from 'node:worker_threads';
import type { AddressSpace } from '../api/objects/address-space.js';
import { attachSpace } from '../api/opening/attach.js';
import { Signals } from '../trace/signals.js';
import type { FromSignalsThread, SignalsThreadData } from './protocol.js';
import { Tail } from './tail.js';

const LOOK_MS = 100;

const { handle } = workerData as SignalsThreadData;
const say = (message: FromSignalsThread): void => parentPort?.postMessage(message);
const space = attachSpace(handle) as AddressSpace;

async function main(): Promise<void> {
  const tail = await Tail.of(space.client, () => new Signals());
  const end = (): void => {
    clearInterval(looking);
    tail.end();
    void space.close();
    parentPort?.close();
  };
  const look = async (): Promise<void> => {
    await tail.update();
    const signals = tail.teller.take(tail.nowMs);
    if (signals.length > 0) say({ signals, atMs: performance.timeOrigin + performance.now() });
  };
  const looking = setInterval(() => {
    if (space.isClosed) end();
    else void look().catch(end);
  }, LOOK_MS);
  parentPort?.once('message', end);
  say({ signals: [], atMs: 0 });
}

await main().catch((error: NodeJS.ErrnoException) => {
  say({ failed: error.message });
  process.exit();
});
