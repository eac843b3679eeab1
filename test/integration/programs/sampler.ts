/** A thread that samples how much memory a memory file has. */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const { path, stop } = workerData as { path: string; stop: Int32Array };
const seen = new Set<number>();
let count = 0;
while (Atomics.load(stop, 0) === 0) {
  seen.add(statSync(path).blocks * 512);
  count++;
}
parentPort?.postMessage({ count, largest: Math.max(...seen), seen: seen.size });
