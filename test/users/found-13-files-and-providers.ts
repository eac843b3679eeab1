/**
 * Arrays that fill the host's budget while threads read arrays over files and ask provided arrays:
 * no thread stands still, and no element is wrong.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openSpace } from '../../src/index.js';
import { filled, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const LENGTH = (12 * MIB) / 4;
/** Of the budget of 32 MiB that of the files, the provided arrays and this one is too much. */
const CROWD = (28 * MIB) / 4;
const PROVIDER = `data:text/javascript,${encodeURIComponent(
  'export default ({ values, begin }) => { for (let i = 0; i < values.length; i++) values[i] = (begin + i) * 3; };',
)}`;

/** Reads arrays at random until it is told to end, and counts wrong elements. */
const READER = `
  const { parentPort, workerData: { library, arrays, word, seed } } = require('node:worker_threads');
  import(library).then(({ attachArray }) => {
    const views = arrays.map(({ handle, factor }) => ({ data: attachArray(handle).data, factor }));
    let state = seed, wrong = 0, reads = 0;
    while (Atomics.load(word, 0) === 0) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const { data, factor } = views[state % views.length];
      const begin = (state >>> 3) % (data.length - 4096);
      for (let i = begin; i < begin + 4096; i += 512) if (data[i] !== (i * factor) >>> 0) wrong++;
      reads++;
    }
    parentPort.postMessage({ wrong, reads });
  });`;

async function play(rounds: number, workers: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-found-13-'));
  const path = join(folder, 'file');
  writeFileSync(
    path,
    filled(new Uint32Array(LENGTH), (i) => i),
  );
  await using space = await openSpace({
    hostMemory: '32MiB',
    storage: { path: folder, bytes: '64MiB' },
  });
  const file = space.fileArray(Uint32Array, path);
  const provided = await space.providedArray(Uint32Array, LENGTH, { module: PROVIDER });
  const crowd = space.array(Uint32Array, CROWD);
  const word = new Int32Array(new SharedArrayBuffer(4));
  const arrays = [
    { handle: file.handle, factor: 1 },
    { handle: provided.handle, factor: 3 },
  ];
  const library = new URL('../../src/index.js', import.meta.url).href;
  const readers = Array.from({ length: workers }, (_, seed) => {
    const worker = new Worker(READER, {
      eval: true,
      workerData: { library, arrays, word, seed: seed + 1 },
    });
    return new Promise<{ wrong: number; reads: number }>((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
    });
  });
  for (let round = 1; round <= rounds; round++) {
    crowd.data.fill(round);
    sameData(provided.data.subarray(0, LENGTH / 2), (i) => i * 3);
    await new Promise((resolve) => setTimeout(resolve, 1));
    sameData(file.data.subarray(LENGTH / 2), (i) => i + LENGTH / 2);
    sameData(crowd.data, () => round);
  }
  Atomics.store(word, 0, 1);
  for (const { wrong, reads } of await Promise.all(readers)) {
    assert.equal(wrong, 0);
    assert.ok(reads > 0);
  }
  rmSync(folder, { recursive: true });
}

test('files and provided arrays are read while others fill host memory', () => play(1, 1), 60);

longTest('the same by several threads, for long', () => play(12, 4), 300);

await runTests();
