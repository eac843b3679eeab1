/** The thread that tells a program what it may act on. */
import { parentPort, workerData } from 'node:worker_threads';
import type { FromSignalsThread, SignalsThreadData } from '../../live/protocol.js';
import { Tail } from '../../live/tail.js';
import { Signals } from '../../trace/activity/signals.js';
import { followSpace } from './follow-space.js';

const LOOK_MS = 100;

const { handle } = workerData as SignalsThreadData;

await followSpace(handle, LOOK_MS, async (space) => {
  const tail = await Tail.of(space.client, () => new Signals());
  const look = async (): Promise<void> => {
    await tail.update();
    const signals = tail.teller.take(tail.nowMs);
    const atMs = performance.timeOrigin + performance.now();
    if (signals.length > 0) parentPort?.postMessage({ signals, atMs } satisfies FromSignalsThread);
  };
  return {
    first: { signals: [], atMs: 0 } satisfies FromSignalsThread,
    look,
    async end() {
      // What has happened since the last look. A space that is closed has no answer.
      await look().catch(() => undefined);
      tail.end();
    },
  };
});
