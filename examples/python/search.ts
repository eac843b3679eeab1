/**
 * NumPy makes embeddings, a device that is smaller than they are searches them, and Node.js checks
 * what it found. Python 3 with NumPy runs make_embeddings.py.
 *
 *   node .build/examples/python/search.js
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { f32, f64, kernel, openSpace, u32 } from 'onemem';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const [ROWS, COLUMNS, QUERIES, TOP] = [20_000, 64, 8, 5];

/** The rows with the largest dot products with each query, the best first. */
const search = kernel(
  { vectors: f32.in, queries: f32.in, columns: u32, count: u32, best: u32.out, scores: f64.out },
  ({ vectors, queries, columns, count, best, scores }, { begin, end }) => {
    scores.fill(Number.NEGATIVE_INFINITY, begin * count, end * count);
    for (let row = 0; row < vectors.length / columns; row++) {
      for (let query = begin; query < end; query++) {
        let score = 0;
        for (let i = 0; i < columns; i++)
          score += vectors[row * columns + i] * queries[query * columns + i];
        const first = query * count;
        const last = first + count - 1;
        if (score <= scores[last]) continue;
        let at = last;
        for (; at > first && scores[at - 1] < score; at--) {
          scores[at] = scores[at - 1];
          best[at] = best[at - 1];
        }
        scores[at] = score;
        best[at] = row;
      }
    }
  },
);

await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
const PYTHONPATH = `${ROOT}python:${process.env.PYTHONPATH ?? ''}`;
const env = { ...process.env, PYTHONPATH, ONEMEM_SPACE: space.share() };
const program = [`${ROOT}examples/python/make_embeddings.py`, ROWS, COLUMNS, QUERIES].map(String);
await promisify(execFile)('python3', program, { env });
const vectors = space.find<Float32Array>('vectors');
const queries = space.find<Float32Array>('queries');
if (vectors === null || queries === null) throw new Error('Python has made no arrays');

const best = space.array(Uint32Array, QUERIES * TOP);
const scores = space.array(Float64Array, QUERIES * TOP);
const args = { vectors, queries, columns: COLUMNS, count: TOP, best, scores };
await space.devices[0].run(search, args, { size: QUERIES });

// The same by a plain loop over plain arrays.
const [plain, asked] = [vectors.data.slice(), queries.data.slice()];
for (let query = 0; query < QUERIES; query++) {
  const all = new Float64Array(ROWS);
  for (let i = 0; i < plain.length; i++)
    all[Math.floor(i / COLUMNS)] += plain[i] * asked[query * COLUMNS + (i % COLUMNS)];
  const rows = [...all.keys()].sort((a, b) => all[b] - all[a]).slice(0, TOP);
  const found = best.data.slice(query * TOP, (query + 1) * TOP);
  if (rows.join() !== found.join()) throw new Error(`query ${query}: rows ${found}, not ${rows}`);
  console.log(`query ${query}: rows ${found.join(', ')}`);
}
