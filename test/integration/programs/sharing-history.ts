/**
 * A program that does with a shared array whatever a seed says, until it is told to end, and says
 * what came of it.
 */
import { kernel, type OnememError, openSpace, u32 } from '../../../src/index.js';
import { say } from './common.js';

const BLOCK = 1024;
const BLOCKS = 3;
/** No operation waits so long while the server runs. */
const STUCK_MS = 40_000;
const [url, leaseMs, seed, programs] = process.argv.slice(2);
const space = await openSpace({
  hostMemory: '64MiB',
  devices: [{ kind: 'process', memory: '8MiB' }],
});
const on = { url, leaseMs: Number(leaseMs), timeoutMs: 120_000 };
const shared = await space.sharedArray(Uint32Array, BLOCKS * BLOCK, {
  name: 'x',
  blockBytes: 4 * BLOCK,
  on,
});
const add = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) if (i % 1024 === 1) x[i] += 1;
});

let state = Number(seed) >>> 0 || 1;
function below(most: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * most);
}

/** Additions that were made, of the processor and of kernels; what failed, by its code. */
const made = { adds: 0, launched: 0 };
const failed: Record<string, number> = {};

async function unlessFailed(what: string, run: () => PromiseLike<unknown>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    const name = `${what} ${(error as OnememError).code}`;
    failed[name] = (failed[name] ?? 0) + 1;
    return false;
  }
}

function launch(): Promise<boolean> {
  const signal = AbortSignal.timeout(STUCK_MS);
  const run = () => space.devices[0].run(add, { x: shared }, { size: BLOCKS * BLOCK, signal });
  return unlessFailed('launch', run);
}

async function step(): Promise<void> {
  const element = below(BLOCKS) * BLOCK;
  const what = below(20);
  if (what === 0 && (await launch())) made.launched++;
  else if (what === 1) await unlessFailed('fence', () => shared.fence());
  else if (what < 10) {
    Atomics.add(shared.data, element, 1);
    made.adds++;
  } else Atomics.load(shared.data, element);
}

let ends = false;
process.on('SIGUSR2', () => {
  ends = true;
});
say('runs');
while (!ends) {
  await step();
  if (below(8) === 0) await new Promise(setImmediate);
}
// What a lease took is told once; from then on all is as it was.
await unlessFailed('last fence', () => shared.fence());
await shared.barrier('ended', Number(programs));
const sums = [0, 1].map((element) => {
  let sum = 0;
  for (let block = 0; block < BLOCKS; block++) sum += shared.data[block * BLOCK + element];
  return sum;
});
await shared.barrier('read', Number(programs));
await space.close();
say(JSON.stringify({ ...made, failed, sums }));
