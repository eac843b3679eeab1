/**
 * Threads that ask for much without waiting for any of it: faults and the manager's heartbeat come
 * first.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openSpace } from '../../src/index.js';
import { LONG, longTest, note, runTests, sleep, test } from '../harness/suite.js';

const SECONDS = LONG ? 1.5 : 0.7;

for (const how of ['prefetch', 'discard']) {
  (how === 'discard' ? test : longTest)(
    `two threads queue every ${how} that they can, and faults are served meanwhile`,
    async () => {
      const space = await openSpace({
        devices: [{ kind: 'simulated', memory: '8MiB' }],
        hostMemory: '512MiB',
        heartbeatLimitMs: 1000,
      });
      const x = space.array(Int32Array, 1024);
      const other = space.array(Int32Array, 50 << 20);
      const url = new URL('./programs/flooding-thread.js', import.meta.url);
      const workerData = { space: space.handle, array: x.handle, seconds: SECONDS, how };
      const threads = [0, 1].map(() => new Worker(url, { workerData }));
      let left = threads.length;
      let queued = 0;
      for (const thread of threads) {
        thread.on('message', (count: number) => {
          queued += count;
          left--;
        });
      }
      let served = 0;
      let worst = 0;
      for (; left > 0; served++) {
        const begun = performance.now();
        other.data[(served * 16384 * 33) % other.length] = 1;
        worst = Math.max(worst, performance.now() - begun);
        await sleep(2);
      }
      note(`${queued} queued; ${served} faults meanwhile, the longest took ${worst.toFixed(0)} ms`);
      // One after the other they would have waited for the whole flood.
      assert.ok(served > 5, `only ${served} faults were served`);
      for (const thread of threads) {
        thread.postMessage('end');
        await once(thread, 'exit');
      }
      await space.close();
    },
    90,
  );
}

await runTests();
