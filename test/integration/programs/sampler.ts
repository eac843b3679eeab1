/** A thread that samples how much memory a memory file has. */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** `words` says whether to stop, and is told how often the memory was looked at. */
const { path, words } = workerData as { path: string; words: Int32Array };
const seen = new Set<number>();
while (Atomics.load(words, 0) === 0) {
  seen.add(statSync(path).blocks * 512);
  Atomics.add(words, 1, 1);
}
const count = Atomics.load(words, 1);
parentPort?.postMessage({ count, largest: Math.max(...seen), smallest: Math.min(...seen) });
