/** Debian's NumPy, pandas and scipy over arrays of a space, and the programs of examples/python. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openSpace } from '../../src/index.js';
import { longTest, note, runTests, sameData } from '../harness/suite.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const ROWS = 100_000;

let found: NodeJS.ProcessEnv | string | null = null;

/** The environment in which python3 is Debian's and has the packages, or why there is none. */
function debianPackages(): NodeJS.ProcessEnv | string {
  if (found !== null) return found;
  const script = `${ROOT}/scripts/python-packages.mjs`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  found =
    status === 0
      ? { ...process.env, ...JSON.parse(stdout) }
      : `no packages of Debian's for Python, and none to be had: ${stderr.trim()}`;
  return found as NodeJS.ProcessEnv | string;
}

/** A test that needs the packages: where none are to be had it says so aloud, and passes. */
function debianTest(name: string, run: (env: NodeJS.ProcessEnv) => Promise<void>): void {
  const runWithPackages = (): unknown => {
    const env = debianPackages();
    return typeof env === 'string' ? note(`SKIPPED: ${env}`) : run(env);
  };
  longTest(name, runWithPackages, 300);
}

async function runExample(name: string, env: NodeJS.ProcessEnv): Promise<string> {
  const program = fileURLToPath(new URL(`../../examples/python/${name}.js`, import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], { env });
  assert.equal(stderr, '');
  return stdout;
}

/** A query is one of the rows with noise, which it must find first. */
async function runExamples(env: NodeJS.ProcessEnv): Promise<void> {
  const sorted = await runExample('sort', env);
  assert.equal(sorted, '500000 numbers that NumPy has sorted were served\n');
  const lines = (await runExample('search', env)).trim().split('\n');
  lines.forEach((line, query) => {
    const row = Math.floor((query * 19_999) / 7);
    assert.match(line, new RegExp(`^query ${query}: rows ${row}(, \\d+){4}$`));
  });
  assert.equal(lines.length, 8);
}

async function run(program: string, handle: string, debian: NodeJS.ProcessEnv): Promise<string> {
  const PYTHONPATH = `${ROOT}/python:${debian.PYTHONPATH}`;
  const env = { ...debian, PYTHONPATH, ONEMEM_SPACE: handle };
  const prelude = 'import numpy as np, onemem\nspace = onemem.attach()\n';
  const { stdout } = await promisify(execFile)('python3', ['-c', prelude + program], { env });
  return stdout;
}

debianTest("the examples sort and search with Debian's NumPy", runExamples);

const SUM_BY_KEY = `
import pandas as pd
rows = space['rows'].reshape(-1, 2)
frame = pd.DataFrame(rows, columns=['key', 'value'], copy=False)
assert np.shares_memory(frame.to_numpy(), rows)
sums = frame.groupby('key')['value'].sum()
space['sums'][:] = sums.to_numpy()
frame.loc[frame['key'] == 3, 'value'] = -1
print(len(frame), len(sums))
`;

debianTest('a DataFrame of pandas lies over an array of more than host memory', async (env) => {
  await using space = await openSpace({ hostMemory: '32MiB', storage: true });
  const length = 30 * ROWS;
  const rows = space.array(Float64Array, 2 * length, { name: 'rows' });
  const expected = new Float64Array(7);
  for (let i = 0; i < length; i++) {
    rows.data[2 * i] = i % 7;
    rows.data[2 * i + 1] = i;
    expected[i % 7] += i;
  }
  const sums = space.array(Float64Array, 7, { name: 'sums' });
  assert.equal(await run(SUM_BY_KEY, space.share(), env), `${length} 7\n`);
  sameData(sums.data, (i) => expected[i]);
  sameData(rows.data, (i) => {
    const key = (i >> 1) % 7;
    if (i % 2 === 0) return key;
    return key === 3 ? -1 : i >> 1;
  });
});

const MULTIPLY = `
from scipy.sparse import csr_matrix
values, columns, starts = (space[name] for name in ('values', 'columns', 'starts'))
matrix = csr_matrix((values, columns, starts), shape=(len(starts) - 1,) * 2, copy=False)
assert np.shares_memory(matrix.data, values) and np.shares_memory(matrix.indices, columns)
space['y'][:] = matrix @ space['x']
matrix.data *= 2
print(matrix.nnz)
`;

debianTest('a sparse matrix of scipy lies over three arrays', async (env) => {
  await using space = await openSpace();
  const values = space.array(Float64Array, 2 * ROWS, { name: 'values' });
  const columns = space.array(Int32Array, 2 * ROWS, { name: 'columns' });
  const starts = space.array(Int32Array, ROWS + 1, { name: 'starts' });
  const x = space.array(Float64Array, ROWS, { name: 'x' });
  const y = space.array(Float64Array, ROWS, { name: 'y' });
  for (let row = 0; row < ROWS; row++) {
    values.data.set([3, row], 2 * row);
    columns.data.set([row, (row * 7919) % ROWS], 2 * row);
    starts.data[row + 1] = 2 * row + 2;
    x.data[row] = row % 1000;
  }
  assert.equal(await run(MULTIPLY, space.share(), env), `${2 * ROWS}\n`);
  sameData(y.data, (row) => 3 * (row % 1000) + row * (((row * 7919) % ROWS) % 1000));
  sameData(values.data, (i) => (i % 2 === 0 ? 6 : i - 1));
});

await runTests();
