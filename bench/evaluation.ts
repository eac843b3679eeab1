/**
 * Workloads whose working set is larger than the device: the time over that in memory, the bytes
 * that come over the bytes that there are, and the pages that come over those of Belady's MIN, with
 * onemem's usual policies and with NVIDIA's. The pages are counted in the core, by what the kernels
 * touch at another size: there the optimum is known. It is that of single pages, since MIN of whole
 * blocks is none where only a part of a block comes.
 */
import { openSpace } from '../src/index.js';
import { choicesOf } from '../src/policy/choices.js';
import { type Bench, median, rounded, type Settings } from './harness.js';
import { WORKLOADS } from './workloads/all.js';
import { played } from './workloads/played.js';
import { bytesOf, type Ran, runOn, runPlain, type Work } from './workloads/workload.js';

const BLOCK = 2 ** 21;
const BYTES = 32 * 2 ** 20;
/** Of the working set, what the device has memory for, in percent. */
const SHARES = [100, 75, 50, 25];
const UVM_SHARE = 80;
const UVM_WORKLOADS = ['bfs', 'fft', 'stencil'];
const LEAST_BLOCKS = 4;

type Set = 'default' | 'uvm';

async function measure(work: Work, set: Set, share: number, expected: object): Promise<Ran> {
  const whole = Math.ceil(bytesOf(work) / BLOCK) + Object.keys(work.arrays).length;
  const blocks = Math.max(LEAST_BLOCKS, share === 100 ? whole : Math.floor((whole * share) / 100));
  await using space = await openSpace({
    devices: [{ kind: 'process', memory: blocks * BLOCK }],
    ...(set === 'uvm' ? { policies: 'uvm' as const } : {}),
  });
  return await runOn(space, space.devices[0], work, expected as Record<string, never>);
}

async function runEvaluation(settings: Settings): Promise<void> {
  for (const workload of WORKLOADS) {
    const name = `evaluation/${workload.name}`;
    if (!settings.wants(name)) continue;
    const work = workload.make(BYTES);
    const expected = runPlain(work);
    work.known?.(expected);
    const { blocks, leastPages, play } = played(workload);
    const overMin = (share: number, choices = {}): number => {
      const room = Math.max(LEAST_BLOCKS, Math.floor((blocks * share) / 100));
      return rounded(play(room, choices).pages / leastPages(room));
    };
    const inMemory = await measure(work, 'default', 100, expected);
    for (const share of SHARES) {
      const ours = share === 100 ? inMemory : await measure(work, 'default', share, expected);
      const theirs = await measure(work, 'uvm', share, expected);
      settings.report({
        name: `${name}/${share}%`,
        ours: rounded(ours.ms),
        reference: rounded(theirs.ms),
        ratio: rounded(ours.ms / theirs.ms),
        unit: 'ms',
        runs: 1,
        spread: 0,
        comparedWith: 'uvm',
        slowdown: rounded(ours.ms / inMemory.ms),
        uvmSlowdown: rounded(theirs.ms / inMemory.ms),
        bytesOverNeeded: rounded(ours.bytesIn / bytesOf(work)),
        uvmBytesOverNeeded: rounded(theirs.bytesIn / bytesOf(work)),
        pagesOverMin: overMin(share),
        uvmPagesOverMin: overMin(share, choicesOf('uvm')),
      });
    }
  }
}

/** The time with NVIDIA's policies over ours, at 1.25 times the memory. */
async function runUvm(settings: Settings): Promise<void> {
  for (const workload of WORKLOADS) {
    const name = `oversubscribed-uvm/${workload.name}`;
    if (!UVM_WORKLOADS.includes(workload.name) || !settings.wants(name)) continue;
    const work = workload.make(BYTES);
    const expected = runPlain(work);
    work.known?.(expected);
    const times = { default: [] as number[], uvm: [] as number[] };
    for (let run = 0; run < settings.runs; run++)
      for (const set of ['default', 'uvm'] as const)
        times[set].push((await measure(work, set, UVM_SHARE, expected)).ms);
    const ours = median(times.default);
    const theirs = median(times.uvm);
    settings.report({
      name,
      ours: rounded(ours),
      reference: rounded(theirs),
      ratio: rounded(ours / theirs),
      unit: 'ms',
      runs: settings.runs,
      spread: rounded((Math.max(...times.default) - Math.min(...times.default)) / ours),
      comparedWith: 'uvm',
      uvmOverOurs: rounded(theirs / ours),
    });
  }
}

export const evaluation: Bench = {
  name: 'evaluation',
  what: 'workloads at 100, 75, 50 and 25 % of their working set, beside NVIDIA’s policies',
  run: runEvaluation,
};

export const oversubscribedUvm: Bench = {
  name: 'oversubscribed-uvm',
  what: 'bfs, fft and stencil at 1.25 times the memory: the time with NVIDIA’s policies over ours',
  run: runUvm,
};
