/**
 * Search among embeddings that lie in a NumPy file larger than the device: which rows have the
 * largest dot products with a query? The file is never read as a whole; the device faults its pages
 * in as it goes through the rows, and the CPU sorts the scores.
 *
 *   node .build/examples/apps/embedding-search.js [--rows 40000] [--columns 96] [--memory 8MiB]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { f32, kernel, openSpace, u32 } from 'onemem';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '40000' },
    columns: { type: 'string', default: '96' },
    memory: { type: 'string', default: '8MiB' },
  },
});
const rows = Number(options.rows);
const columns = Number(options.columns);
const TOP = 3;

const dotProducts = kernel(
  { vectors: f32.in, query: f32.in, columns: u32, scores: f32.out },
  ({ vectors, query, columns, scores }, { begin, end }) => {
    for (let row = begin; row < end; row++) {
      let sum = 0;
      for (let column = 0; column < columns; column++)
        sum += vectors[row * columns + column] * query[column];
      scores[row] = sum;
    }
  },
);

/** The rows with the highest scores, the best first. */
function best(scores: Float32Array, count: number): number[] {
  const found: number[] = [];
  for (let row = 0; row < scores.length; row++) {
    if (found.length === count && scores[row] <= scores[found[count - 1]]) continue;
    const at = found.findIndex((other) => scores[row] > scores[other]);
    found.splice(at === -1 ? found.length : at, 0, row);
    found.length = Math.min(found.length, count);
  }
  return found;
}

/** Numbers from -1 to 1 that are the same in every run. */
let state = 1;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return state / 2 ** 31;
}

const folder = mkdtempSync(join(tmpdir(), 'onemem-embeddings-'));
try {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: options.memory }] });
  const [device] = space.devices;
  const path = join(folder, 'embeddings.npy');

  // The data: in practice a model writes the file.
  const made = space.array(Float32Array, rows * columns, { name: 'made' });
  const { data } = made;
  for (let i = 0; i < data.length; i++) data[i] = random();
  await space.saveNpy(path, made, { shape: [rows, columns] });
  made.free();

  // The search. Each query is a row of the file with some noise, which should be found.
  const { array: vectors, shape } = space.openNpy(path, { type: Float32Array });
  const query = space.array(Float32Array, columns);
  const scores = space.array(Float32Array, shape[0]);
  const MIB = 2 ** 20;
  console.log(
    `${shape.join(' x ')} floats, ${(vectors.byteLength / MIB).toFixed(1)} MiB, on a device of ${device.memory / MIB} MiB`,
  );
  const plain = new Float32Array(readFileSync(path).buffer.slice(-vectors.byteLength));
  for (const wanted of [0, Math.floor(rows / 2), rows - 1]) {
    const asked = query.data;
    for (let column = 0; column < columns; column++) {
      asked[column] = plain[wanted * columns + column] + random() / 4;
    }
    await device.run(dotProducts, { vectors, query, columns, scores }, { size: rows });
    const found = best(scores.data, TOP);

    // The same without onemem: everything in memory.
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let column = 0; column < columns; column++)
        sum += plain[row * columns + column] * asked[column];
      if (Math.fround(sum) !== scores.data[row])
        throw new Error(`the score of row ${row} is ${scores.data[row]} instead of ${sum}`);
    }
    if (found[0] !== wanted) throw new Error(`row ${found[0]} was found instead of ${wanted}`);
    console.log(`row ${wanted} with noise: rows ${found.join(', ')}`);
  }
  const [, { bytesFromFiles, peakBytes }] = space.stats().processors;
  if (peakBytes > device.memory) throw new Error(`the device used ${peakBytes} bytes`);
  if (bytesFromFiles < vectors.byteLength)
    throw new Error(`${bytesFromFiles} bytes of the file reached the device`);
} finally {
  rmSync(folder, { recursive: true });
}
