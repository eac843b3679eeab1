/**
 * Bringing home what a device wrote last, by 64 KiB or 2 MiB at a fault of the CPU, beside the same
 * in C.
 */
import { f32, kernel, openSpace } from '../src/index.js';
import { buildReference } from './c-reference.js';
import { cReferences } from './cpu-fault.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import {
  pin,
  pinSelf,
  placements,
  startedThreads,
  threadsOf,
  unpinSelf,
  warmMemory,
} from './placement.js';

const BLOCKS = 16;
const BLOCK_BYTES = 2 * 2 ** 20;
const GROUPS = 32;
const BYTES = BLOCKS * BLOCK_BYTES;
const WORDS = 1024;
const PAGES = BYTES / 4096;

/** Numbers the pages, so that only the device has them. */
const number = kernel({ pages: f32.inout, by: f32 }, ({ pages, by }, { begin, end }) => {
  for (let page = begin; page < end; page++) pages[page * 1024] = page + by;
});

// A density above which more than 64 KiB come is 0 for a whole block at once, and 100 for never.
const kinds = [
  { name: '64KiB', mode: 'group', prefetch: { name: 'pattern', thresholdPercent: 100 } },
  { name: '2MiB', mode: 'block', prefetch: { name: 'pattern', thresholdPercent: 0 } },
] as const;

function touch(name: string, data: Float32Array, by: number): number {
  let wrong = 0;
  const start = performance.now();
  if (name === '64KiB') {
    // One group of each block in turn: where a neighbouring block is whole, more than a group would
    // come.
    for (let group = 0; group < GROUPS; group++) {
      for (let block = 0; block < BLOCKS; block++) {
        const page = block * 512 + group * 16;
        if (data[page * WORDS] !== page + by) wrong++;
      }
    }
  } else for (let page = 0; page < PAGES; page++) if (data[page * WORDS] !== page + by) wrong++;
  const elapsed = performance.now() - start;
  for (let page = 0; page < PAGES; page++) if (data[page * WORDS] !== page + by) wrong++;
  verify(wrong === 0, `${wrong} pages`);
  return elapsed;
}

async function run(settings: Settings): Promise<void> {
  const reference = buildReference('faults');
  for (const { name, mode, prefetch } of kinds) {
    const { result: space, threads } = await startedThreads(() =>
      openSpace({
        hostMemory: '512MiB',
        policies: { prefetch },
        devices: [{ kind: 'process', memory: '64MiB' }],
      }),
    );
    const [device] = space.devices;
    try {
      warmMemory(3 * BYTES);
      const array = space.array(Float32Array, BYTES / 4);
      array.data.fill(0);
      let by = 0;
      for (const placement of placements) {
        pin([...threads, ...threadsOf(device.pid ?? 0)], placement.handler);
        pinSelf(placement.faulting);
        await compare(settings, {
          name: `cpu-fault-block/${name}/${placement.name}`,
          unit: 'GB/s',
          better: 'higher',
          warmUp: 8,
          ours: async () => {
            by++;
            await device.run(number, { pages: array, by }, { size: PAGES });
            const elapsed = touch(name, array.data, by);
            return BYTES / 1e6 / elapsed;
          },
          references: cReferences(reference, mode, BLOCKS, placement, [], (ns) => BYTES / ns),
          extra: { placement: placement.name, bytes: BYTES },
        });
      }
    } finally {
      unpinSelf();
      await space.close();
    }
  }
}

export const cpuFaultBlock: Bench = {
  name: 'cpu-fault-block',
  what: 'GB/s of bringing home 64 KiB and 2 MiB at a fault of the CPU; beside C',
  run,
};
