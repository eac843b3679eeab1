/**
 * Search in 1 GiB of embeddings that lie in a file which the kernel has in memory, as
 * examples/apps/embedding-search.ts does it: the dot products of all rows with a query. Beside it
 * the same without the library, written as well as can be: one thread that reads chunks into a
 * buffer which stays.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { f32, kernel, openSpace, u32 } from '../src/index.js';
import { getAffinity } from '../src/linux/threads/affinity.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { warmMemory } from './placement.js';

const BYTES = 2 ** 30;
const COLUMNS = 256;
const ROWS = BYTES / 4 / COLUMNS;
/** Small enough for the caches, large enough for a system call to be nothing. */
const CHUNK_ROWS = 512;

function dotProducts(
  {
    vectors,
    query,
    columns,
    scores,
  }: {
    readonly vectors: Readonly<Float32Array>;
    readonly query: Readonly<Float32Array>;
    readonly columns: number;
    readonly scores: Float32Array;
  },
  { begin, end }: { readonly begin: number; readonly end: number },
): void {
  for (let row = begin; row < end; row++) {
    let sum = 0;
    for (let column = 0; column < columns; column++)
      sum += vectors[row * columns + column] * query[column];
    scores[row] = sum;
  }
}

const search = kernel(
  { vectors: f32.in, query: f32.in, columns: u32, scores: f32.out },
  dotProducts,
);

function byHand(path: string, query: Float32Array, scores: Float32Array): void {
  const buffer = new Float32Array(CHUNK_ROWS * COLUMNS);
  const fd = openSync(path, 'r');
  for (let row = 0; row < ROWS; row += CHUNK_ROWS) {
    const bytes = readSync(fd, buffer, 0, buffer.byteLength, row * COLUMNS * 4);
    verify(bytes === buffer.byteLength, `${bytes} bytes were read`);
    const part = scores.subarray(row, row + CHUNK_ROWS);
    dotProducts(
      { vectors: buffer, query, columns: COLUMNS, scores: part },
      { begin: 0, end: CHUNK_ROWS },
    );
  }
  closeSync(fd);
}

async function run(settings: Settings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-bench-'));
  try {
    const path = join(folder, 'embeddings');
    const fd = openSync(path, 'w');
    const part = new Float32Array(2 ** 20);
    for (let at = 0; at < BYTES / 4; at += part.length) {
      for (let i = 0; i < part.length; i++) part[i] = (((at + i) * 31) % 251) / 251;
      writeSync(fd, part);
    }
    closeSync(fd);
    warmMemory(2 ** 29);
    const query = Float32Array.from({ length: COLUMNS }, (_, column) => (column % 17) / 17);
    const expected = new Float32Array(ROWS);
    const units = getAffinity().length;
    await using space = await openSpace({
      hostMemory: '512MiB',
      devices: [{ kind: 'process', memory: '64MiB', units }],
    });
    const scores = space.array(Float32Array, ROWS);
    for (const mapped of [false, true]) {
      const line = await compare(settings, {
        name: mapped ? 'search/mapped' : 'search/pages',
        unit: 'ms',
        better: 'lower',
        ours: async () => {
          const vectors = space.fileArray(Float32Array, path, { mapped });
          const start = performance.now();
          await space.devices[0].run(
            search,
            { vectors, query, columns: COLUMNS, scores },
            { size: ROWS },
          );
          const elapsed = performance.now() - start;
          vectors.free();
          return elapsed;
        },
        references: {
          'chunked readSync': () => {
            const start = performance.now();
            byHand(path, query, expected);
            return performance.now() - start;
          },
        },
        extra: { bytes: BYTES, units },
      });
      if (line === null) continue;
      const { data } = scores;
      let wrong = 0;
      for (let row = 0; row < ROWS; row++) if (data[row] !== expected[row]) wrong++;
      verify(wrong === 0, `${wrong} scores`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const searchBench: Bench = {
  name: 'search',
  what: 'ms of dot products with 1 GiB of embeddings in a cached file, on a device of 64 MiB, by pages and mapped; beside plain chunked readSync',
  run,
};
