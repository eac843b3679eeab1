/** Ways in which programs start their threads and processes: each uses one array of a space. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Piscina } from 'piscina';
import { Tinypool } from 'tinypool';
import { type AddressSpace, type ManagedArray, openSpace } from '../../src/index.js';
import { longTest, runTests, sameData, test } from '../harness/suite.js';
import type { Part, Where } from './programs/summing.js';

const LENGTH = 2 ** 21;
const PARTS = 8;

function program(name: string): string {
  return fileURLToPath(new URL(`./programs/${name}.js`, import.meta.url));
}

async function withOnes(
  action: (space: AddressSpace, x: ManagedArray<Int32Array>) => Promise<void>,
): Promise<void> {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  x.data.fill(1);
  await action(space, x);
  sameData(x.data, () => 2);
  space.checkInvariants();
}

function partsOf(where: Where): Part[] {
  return Array.from({ length: PARTS }, (_, at) => ({
    where,
    begin: (at * LENGTH) / PARTS,
    end: ((at + 1) * LENGTH) / PARTS,
  }));
}

/** Has a pool do all parts, which together find all ones. */
async function sumBy(run: (part: Part) => Promise<unknown>, where: Where): Promise<void> {
  const sums = (await Promise.all(partsOf(where).map(run))) as number[];
  assert.equal(
    sums.reduce((all, sum) => all + sum, 0),
    LENGTH,
  );
}

test('piscina: an array passes to its threads as an argument', () =>
  withOnes(async (_space, x) => {
    const pool = new Piscina({ filename: program('summing'), maxThreads: 2 });
    await sumBy((part) => pool.run(part), x.handle);
    await pool.destroy();
  }));

test('tinypool: an array passes to its threads as an argument', () =>
  withOnes(async (_space, x) => {
    const pool = new Tinypool({ filename: program('summing'), maxThreads: 2 });
    await sumBy((part) => pool.run(part), x.handle);
    await pool.destroy();
  }));

longTest('tinypool with processes: the text of the space and a name pass', () =>
  withOnes(async (space) => {
    const filename = program('summing');
    const pool = new Tinypool({ filename, runtime: 'child_process', maxThreads: 2 });
    await sumBy((part) => pool.run(part), { space: space.share(), name: 'x' });
    await pool.destroy();
  }),
);

longTest('cluster: its workers attach by their environment', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program('cluster')]);
  assert.equal(stdout, 'right\n');
});

longTest(
  'a program that a daemon started, as pm2 does, attaches in its threads by its environment',
  () =>
    withOnes(async (space) => {
      const env = { ...process.env, ONEMEM_SPACE: space.share() };
      const stdio = ['ignore', 'ignore', 'inherit'] as const;
      const options = { env, stdio: [...stdio], detached: true, cwd: '/' };
      const child = spawn(process.execPath, [program('threads')], options);
      assert.deepEqual(await once(child, 'exit'), [0, null]);
    }),
);

await runTests();
