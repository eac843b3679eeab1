/**
 * The process that is soaked: rounds of random work, and after each a look at what the process
 * holds. One space lasts from the first round to the last; the others are opened and closed within
 * one. Started by main.ts.
 */
import assert from 'node:assert/strict';
import { openSync, writeSync } from 'node:fs';
import { openSpace } from '../../src/index.js';
import { setParentDeathSignal } from '../../src/linux/processes/process.js';
import { Player } from '../model/player.js';
import { clear, close, step } from '../model/steps.js';
import { meet } from '../model/threads.js';
import { Random } from '../simulation/random.js';
import { collect, describeChildren, type Holdings, holdings, privateBytes } from './measure.js';

const MIB = 2 ** 20;
/**
 * Rounds before growth counts: code is compiled, pools are filled, lists grow to their usual
 * length.
 */
const WARM_UP = 2;
const STEPS_PER_ROUND = 160;
/** Of a run of seconds. */
const FEW_STEPS = 60;
const SHORT_MS = 10_000;

// The storage of the lasting space starts its threads, two that read and two that write, when there
// is so much to do at once, which may be late.
const STORAGE_THREADS = 4;
/** Of a thread's event loop. */
const DESCRIPTORS_OF_A_THREAD = 4;
// What may be more than at the end of the warm-up, however long it takes.
const TOLERATED = {
  // With the file of the storage.
  descriptors: STORAGE_THREADS * DESCRIPTORS_OF_A_THREAD + 1,
  children: 0,
  memoryFiles: 0,
  spaces: 0,
  threads: STORAGE_THREADS,
  mappings: 60 + STORAGE_THREADS * 10,
  privateBytes: 48 * MIB,
  heapBytes: 6 * MIB,
  // Views of closed spaces are counted until the collector finds them, some rounds later.
  externalBytes: 6 * MIB,
};
/** The same for a device's process. */
const TOLERATED_IN_DEVICE = 24 * MIB;
/**
 * What each thread leaves behind that has called a function of the C library: koffi 3.3.4 does not
 * give back the stack of its own, the heap and the tables that it makes for each thread. Nothing of
 * ours can free them.
 */
const LEFT_BY_A_THREAD = { mappings: 3, privateBytes: 80 * 1024 };
/** Of each space: the manager and the thread for files. */
const THREADS_OF_A_SPACE = 2;

const SIGKILL = 9;
// The end of main.ts, for instance because it takes too long, ends this, too.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);

const seed = Number(process.argv[2]);
const milliseconds = Number(process.argv[3]);
const logFd = openSync(process.argv[4], 'w');
const stepsPerRound = milliseconds < SHORT_MS ? FEW_STEPS : STEPS_PER_ROUND;
const random = new Random(seed);
let spaces = 0;
let steps = 0;
let failedOpenings = 0;

function log(text: string): void {
  // At once, so that the last lines are there however the process ends.
  writeSync(logFd, `${text}\n`);
}

async function open(name: string, lasting = false): Promise<Player> {
  spaces++;
  return Player.open(name, new Random(random.next()), log, { lasting });
}

/** A space whose device does not come up leaves nothing behind. */
async function failToOpen(): Promise<void> {
  log('a space whose device cannot start');
  failedOpenings++;
  spaces++;
  process.env.NODE_OPTIONS = '--no-such-option-for-the-soak';
  try {
    await assert.rejects(openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] }), {
      code: 'DEVICE_START',
    });
  } finally {
    delete process.env.NODE_OPTIONS;
  }
}

async function playRound(home: Player, round: number): Promise<void> {
  let others: Player[] = [];
  for (let count = 0; count < stepsPerRound; count++) {
    if (others.length < 2 && random.chance(0.02))
      others.push(await open(`round ${round}, space ${spaces}`));
    if (others.length > 0 && random.chance(0.01)) {
      const oldest = others.shift();
      if (oldest !== undefined) await close(oldest);
    }
    if (random.chance(0.002)) await failToOpen();
    await step(random.pick([home, ...others]));
    steps++;
  }
  for (const play of others) await close(play);
  others = [];
  await clear(home);
}

/** What the process holds when nothing is under way and nothing is in use any more. */
async function measure(home: Player): Promise<{ held: Holdings; inDevices: number }> {
  await collect();
  // A thread that comes, and a space that opens, are when the manager and the library look after
  // what others have left.
  await meet(home);
  spaces++;
  await (await openSpace()).close();
  await collect();
  assert.equal(home.space.stats().ranges, 0, 'the lasting space has arrays that nobody can reach');
  assert.equal(home.space.stats().allocatedBytes, 0);
  for (const { name, backedBytes } of home.space.stats().processors) {
    assert.equal(backedBytes, 0, `${name} keeps memory for arrays that have been freed`);
  }
  let inDevices = 0;
  for (const { pid } of home.space.devices)
    if (pid !== null) inDevices = Math.max(inDevices, privateBytes(pid));
  return { held: holdings(), inDevices };
}

function shown(key: string, value: number): string {
  return key.endsWith('Bytes') ? `${(value / MIB).toFixed(1)} MiB` : `${value}`;
}

const end = Date.now() + milliseconds;
const home = await open('lasting', true);
let base: { held: Holdings; threads: number } | null = null;
let checks = 0;
/**
 * Of the rounds before growth counts: a device's engine collects when it likes, so that one of them
 * alone may have little.
 */
let warmDevices = 0;
for (let round = 1; Date.now() < end || base === null || checks === 0; round++) {
  const before = steps;
  const started = performance.now();
  await playRound(home, round);
  const { held, inDevices } = await measure(home);
  const threads = spaces * THREADS_OF_A_SPACE + Player.threads;
  const figures = Object.entries(held).map(([key, value]) => `${key} ${shown(key, value)}`);
  const ms = Math.round(performance.now() - started);
  console.log(
    `round ${round}: ${steps - before} steps in ${ms} ms; ${figures.join(', ')}, in a device ${shown('Bytes', inDevices)}`,
  );
  if (round <= WARM_UP) warmDevices = Math.max(warmDevices, inDevices);
  if (round < WARM_UP) continue;
  if (base === null) {
    base = { held, threads };
    continue;
  }
  checks++;
  const since = threads - base.threads;
  for (const [key, tolerated] of Object.entries(TOLERATED) as [keyof Holdings, number][]) {
    const left = LEFT_BY_A_THREAD[key as keyof typeof LEFT_BY_A_THREAD] ?? 0;
    const limit = base.held[key] + tolerated + left * since;
    if (key === 'children' && held.children > limit) console.log(describeChildren());
    assert.ok(
      held[key] <= limit,
      `${key} grew from ${shown(key, base.held[key])} to ${shown(key, held[key])}; at most ${shown(key, limit)} were expected after ${since} threads`,
    );
  }
  assert.ok(
    inDevices <= warmDevices + TOLERATED_IN_DEVICE,
    `a device's process grew from ${shown('Bytes', warmDevices)} to ${shown('Bytes', inDevices)}`,
  );
}
await close(home);
await collect();
let last = holdings();
// The collector decides when a view is gone, and its finalizer when its addresses are: they are
// given a few seconds.
for (let time = 0; time < 50 && last.spaces + last.children > 0; time++) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  await collect();
  last = holdings();
}
assert.equal(last.children, 0, 'child processes are left');
assert.equal(last.memoryFiles, 0, 'memory files are left');
assert.equal(last.spaces, 0, 'addresses of spaces are left');
console.log(
  `${steps} steps in ${spaces} spaces with ${Player.threads} threads of the program; ${failedOpenings} spaces could not open; ` +
    `${checks} comparisons after the warm-up`,
);
console.log('the work is done');
