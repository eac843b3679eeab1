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

/** Of each block, the most that was seen of its additions, and how often less was seen later. */
const most = new Uint32Array(BLOCKS);
let less = 0;

function see(block: number, value: number): void {
  if (value < most[block]) less++;
  most[block] = value;
}

/** Copies a word out by a call of the library, which fails by a code where it cannot be had. */
async function copyOut(block: number, way: 'toBuffer' | 'copy'): Promise<void> {
  const word = new Uint32Array(1);
  const [begin, end] = [block * BLOCK, block * BLOCK + 1];
  const copied = await unlessFailed(way, async () => {
    if (way === 'toBuffer') {
      new Uint8Array(word.buffer).set(shared.toBuffer({ begin, end }));
      return;
    }
    using stream = space.stream();
    stream.copy(word, shared.range(begin, end));
    await stream.synchronize();
  });
  if (copied) see(block, word[0]);
}

async function step(): Promise<void> {
  const block = below(BLOCKS);
  const element = block * BLOCK;
  const what = below(20);
  if (what === 0 && (await launch())) made.launched++;
  else if (what === 1) await unlessFailed('fence', () => shared.fence());
  else if (what === 2) await copyOut(block, 'toBuffer');
  else if (what === 3) await copyOut(block, 'copy');
  else if (what < 12) {
    Atomics.add(shared.data, element, 1);
    made.adds++;
  } else see(block, Atomics.load(shared.data, element));
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
say(JSON.stringify({ ...made, less, failed, sums }));
