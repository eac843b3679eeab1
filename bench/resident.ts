/**
 * What managed memory costs once it is there: nothing, as a load or store is a load or store. saxpy
 * over a managed array beside plain typed arrays, both on pages of 4 KiB; plain memory on huge
 * pages stands beside, since that is what managed memory does not use.
 */
import { readFileSync } from 'node:fs';
import { openSpace } from '../src/index.js';
import {
  MADV_HUGEPAGE,
  MADV_NOHUGEPAGE,
  MAP_ANONYMOUS,
  MAP_PRIVATE,
  PROT_READ,
  PROT_WRITE,
} from '../src/linux/base/constants.js';
import { madvise, mmap, view } from '../src/linux/memory/memory.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { pinSelf, placements, unpinSelf, warmMemory } from './placement.js';

const LENGTH = 8 * 2 ** 20;
const BYTES = LENGTH * 4;
const TOUCHES = 2 * 2 ** 20;

function saxpy(y: Float32Array, x: Float32Array, alpha: number): void {
  for (let i = 0; i < y.length; i++) y[i] += alpha * x[i];
}

/**
 * Stores of the elements of a short array again and again, the array looked up for each as a
 * property.
 */
function lookedUp(x: { readonly data: Float32Array }): void {
  for (let i = 0; i < LENGTH; i++) x.data[i & 0xfff] = i;
}

function scattered(y: Float32Array, x: Float32Array, alpha: number, order: Uint32Array): void {
  for (let i = 0; i < order.length; i++) {
    const at = order[i];
    y[at] += alpha * x[at];
  }
}

function plain(advice: number): Float32Array {
  // Two MiB more than needed, so that the array can begin where a huge page does.
  const address = mmap(BYTES + 2 ** 21, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_PRIVATE | MAP_ANONYMOUS,
  });
  const aligned = Math.ceil(address / 2 ** 21) * 2 ** 21;
  madvise(aligned, BYTES, advice);
  return new Float32Array(view(aligned, BYTES));
}

/** Huge pages of this process's anonymous memory: proof of what each side lies on. */
function hugeBytes(): number {
  const match = /^AnonHugePages:\s*(\d+) kB$/m.exec(
    readFileSync('/proc/self/smaps_rollup', 'latin1'),
  );
  return Number(match?.[1] ?? 0) * 1024;
}

async function run(settings: Settings): Promise<void> {
  const space = await openSpace({ hostMemory: '512MiB' });
  try {
    pinSelf(placements[0].faulting);
    warmMemory(6 * BYTES);
    const order = new Uint32Array(TOUCHES);
    let seed = 1;
    for (let i = 0; i < TOUCHES; i++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      order[i] = seed % LENGTH;
    }
    const sides = {
      managed: {
        x: space.array(Float32Array, LENGTH).data,
        y: space.array(Float32Array, LENGTH).data,
      },
      plain: { x: plain(MADV_NOHUGEPAGE), y: plain(MADV_NOHUGEPAGE) },
    };
    for (const { x, y } of Object.values(sides)) {
      x.fill(1);
      y.fill(0);
    }
    const before = hugeBytes();
    const huge = { x: plain(MADV_HUGEPAGE), y: plain(MADV_HUGEPAGE) };
    huge.x.fill(1);
    huge.y.fill(0);
    const hugePages = hugeBytes() - before;
    for (const [name, touches, go] of [
      ['sequential', LENGTH, (y: Float32Array, x: Float32Array) => saxpy(y, x, 1)],
      ['random', TOUCHES, (y: Float32Array, x: Float32Array) => scattered(y, x, 1, order)],
    ] as const) {
      const timed =
        ({ x, y }: { x: Float32Array; y: Float32Array }) =>
        () => {
          const start = performance.now();
          go(y, x);
          return ((performance.now() - start) * 1e6) / touches;
        };
      await compare(settings, {
        name: `resident/${name}`,
        unit: 'ns',
        better: 'lower',
        warmUp: 2,
        ours: timed(sides.managed),
        references: { 'plain, 4 KiB pages': timed(sides.plain) },
        beside: { 'plain, huge pages': timed(huge) },
        extra: { bytes: 2 * BYTES, 'huge pages of the third side, bytes': hugePages },
      });
    }
    const managed = space.array(Float32Array, 4096);
    const object = { data: new Float32Array(4096) };
    const stored = (go: () => void) => () => {
      const start = performance.now();
      go();
      return ((performance.now() - start) * 1e6) / LENGTH;
    };
    await compare(settings, {
      name: 'resident/property',
      unit: 'ns',
      better: 'lower',
      warmUp: 2,
      ours: stored(() => lookedUp(managed)),
      references: { 'property of a plain object': stored(() => lookedUp(object)) },
    });
    let wrong = 0;
    for (let i = 0; i < LENGTH; i++) if (sides.managed.y[i] !== sides.plain.y[i]) wrong++;
    verify(wrong === 0, `${wrong} elements`);
  } finally {
    unpinSelf();
    await space.close();
  }
}

export const resident: Bench = {
  name: 'resident',
  what: 'ns an element of saxpy over resident managed memory, in order and at random, and of x.data[i]; beside plain typed arrays',
  run,
};
