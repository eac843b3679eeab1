/**
 * Arrays of more than the host memory, on storage: written and read in order, touched page by page,
 * and walked through again and again; beside C and NumPy over a mapped file, under the same limit
 * of memory where a control group can be made.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddressSpace, openSpace } from '../src/index.js';
import { interruptedCpu } from '../src/linux/files/disk-interrupts.js';
import { buildReference } from './c-reference.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { type Limited, limitMemory } from './memory-limit.js';

/** What both sides may have of memory. */
const MEMORY = 2 ** 26;
const LARGE = 4 * MEMORY;
/** Half as much again: of this a pass could find two thirds in memory. */
const LOOP = 1.5 * MEMORY;
const ROUNDS = 10;
/** So many read each page at most once; so many bring far more than there is memory for. */
const TOUCHES = 4096;
const LONG_TOUCHES = 100_000;
/**
 * Of a mapped file that nothing was said about: each takes milliseconds where the kernel reads
 * megabytes around it.
 */
const FEW_TOUCHES = 512;
const PAGE_WORDS = 1024;
const LINE_WORDS = 16;
const ZIPF = 0.99;

interface Place {
  readonly file: string;
  readonly limited: Limited;
  readonly space: AddressSpace;
}

async function withPlace(use: (place: Place) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-bench-'));
  const limited = limitMemory(MEMORY);
  try {
    await using space = await openSpace({
      hostMemory: MEMORY,
      storage: { path: folder, bytes: 2 * LARGE },
    });
    await use({ file: join(folder, 'words'), limited, space });
  } finally {
    limited.remove();
    rmSync(folder, { recursive: true });
  }
}

/** Word i is i. */
function fill(data: Uint32Array): void {
  for (let at = 0; at < data.length; at++) data[at] = at;
}

function sumLines(data: Uint32Array): number {
  let sum = 0;
  for (let at = 0; at < data.length; at += LINE_WORDS) sum += data[at];
  return sum;
}

function expectedSum(words: number): number {
  const lines = words / LINE_WORDS;
  return (LINE_WORDS * lines * (lines - 1)) / 2;
}

/** Nanoseconds. */
function timed(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) * 1e6;
}

/**
 * The C program in one of its modes, over a file that it has written first; nothing where there is
 * no compiler.
 */
function reference(
  { file, limited }: Place,
  mode: string,
  bytes: number,
  count: number,
  figure: (ns: number) => number,
  input?: Uint8Array,
): Record<string, () => number> {
  const built = buildReference('storage');
  if ('missing' in built) return {};
  const { path } = built;
  return {
    [`C, ${mode}`]: () => {
      if (mode !== 'write') limited.run(path, ['write', file, bytes, 0]);
      return figure(limited.run(path, [mode, file, bytes, count], input));
    },
  };
}

function about({ limited, file }: Place, bytes: number): Record<string, unknown> {
  return {
    bytes,
    memory: MEMORY,
    limitOfC: limited.by,
    fileSystem: statfsSync(join(file, '..')).type.toString(16),
  };
}

async function runScan(settings: Settings): Promise<void> {
  await withPlace(async (place) => {
    const rate = (ns: number): number => LARGE / ns;
    const x = place.space.array(Uint32Array, LARGE / 4);
    const common = { unit: 'GB/s', better: 'higher', extra: about(place, LARGE) } as const;
    await compare(settings, {
      name: 'storage-scan/write',
      ...common,
      references: reference(place, 'write', LARGE, 0, rate),
      ours: () => rate(timed(() => fill(x.data))),
    });
    fill(x.data);
    await compare(settings, {
      name: 'storage-scan/read',
      ...common,
      references: reference(place, 'scan', LARGE, 0, rate),
      beside: reference(place, 'direct', LARGE, 0, rate),
      ours: () => rate(timed(() => verify(sumLines(x.data) === expectedSum(LARGE / 4), 'the sum'))),
    });
  });
}

/** Pages to touch: C draws the same ones, or gets the list. */
function uniform(touches: number): Uint32Array {
  let state = 1;
  return Uint32Array.from({ length: touches }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * (LARGE / 4 / PAGE_WORDS));
  });
}

/**
 * Page of rank n comes n ** -0.99 times as often as the first; ranks are scattered over the array.
 */
function skewed(touches: number): Uint32Array {
  const pages = LARGE / 4 / PAGE_WORDS;
  const sums = new Float64Array(pages);
  let sum = 0;
  for (let rank = 0; rank < pages; rank++) {
    sum += (rank + 1) ** -ZIPF;
    sums[rank] = sum;
  }
  return uniform(touches).map((page) => {
    const wanted = (page / pages) * sum;
    let [low, high] = [0, pages - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return (Math.imul(low, 40503) >>> 0) % pages;
  });
}

interface Touches {
  readonly name: string;
  /** Of the C program. */
  readonly mode: 'random' | 'skewed' | 'skewed-default';
  readonly list: Uint32Array;
  /** Whether both sides are told that touches are random. */
  readonly advised: boolean;
  /** Everything that is touched fits, so that each page is read once. */
  readonly fits: boolean;
}

async function runTouches(
  settings: Settings,
  { name, mode, list, advised, fits }: Touches,
): Promise<void> {
  if (!settings.wants(name)) return;
  await withPlace(async (place) => {
    const each = (ns: number): number => ns / 1000 / list.length;
    const touchAll = (): number => {
      // What is touched must not be in memory, as with C, whose file is dropped from the kernel's
      // cache; of an array that had been touched before, eviction would have kept some.
      const x = place.space.array(Uint32Array, LARGE / 4);
      if (advised) x.advise({ pattern: 'random' });
      const { data } = x;
      fill(data);
      const other = place.space.array(Uint32Array, MEMORY / 4);
      verify(sumLines(other.data) === 0, 'zeros');
      const before = place.space.stats().storage?.bytesRead ?? 0;
      const ns = timed(() => {
        for (const page of list)
          verify(data[page * PAGE_WORDS] === page * PAGE_WORDS, `page ${page}`);
      });
      const read = (place.space.stats().storage?.bytesRead ?? 0) - before;
      const once = read === new Set(list).size * PAGE_WORDS * 4;
      verify(!(advised && fits) || once, 'each page is read once, and no other one');
      x.free();
      other.free();
      return each(ns);
    };
    // What the doctor tells a program that binds its thread.
    const cpu = interruptedCpu(join(place.file, '..'));
    const input = mode === 'random' ? undefined : new Uint8Array(list.buffer);
    await compare(settings, {
      name,
      unit: 'us',
      better: 'lower',
      references: reference(place, mode, LARGE, list.length, each, input),
      rotates: true,
      extra: { touches: list.length, ...about(place, LARGE) },
      beside: {
        bound: () => {
          using _bound = place.space.bindThread(cpu === null ? {} : { cpu });
          return touchAll();
        },
      },
      ours: touchAll,
    });
  });
}

async function runSkewed(settings: Settings): Promise<void> {
  const common = { mode: 'skewed', advised: true } as const;
  await runTouches(settings, {
    ...common,
    name: 'storage-skewed/first',
    list: skewed(TOUCHES),
    fits: true,
  });
  await runTouches(settings, {
    ...common,
    name: 'storage-skewed/long',
    list: skewed(LONG_TOUCHES),
    fits: false,
  });
  await runTouches(settings, {
    name: 'storage-skewed/default',
    mode: 'skewed-default',
    list: skewed(FEW_TOUCHES),
    advised: false,
    fits: true,
  });
}

async function runIterate(settings: Settings): Promise<void> {
  await withPlace(async (place) => {
    const rate = (ns: number): number => (LOOP * ROUNDS) / ns;
    const { data } = place.space.array(Uint32Array, LOOP / 4);
    fill(data);
    await compare(settings, {
      name: 'storage-iterate',
      unit: 'GB/s',
      better: 'higher',
      references: reference(place, 'iterate', LOOP, ROUNDS, rate),
      extra: { rounds: ROUNDS, ...about(place, LOOP) },
      ours: () =>
        rate(
          timed(() => {
            for (let round = 0; round < ROUNDS; round++)
              verify(sumLines(data) === expectedSum(LOOP / 4), `the sum of round ${round}`);
          }),
        ),
    });
  });
}

const NUMPY = `
import sys, time, os, numpy
x = numpy.memmap(sys.argv[1], dtype='<u4', mode='r')
os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
start = time.perf_counter_ns()
x.sum(dtype='u8')
print(time.perf_counter_ns() - start)
`;

async function runNumpy(settings: Settings): Promise<void> {
  await withPlace(async (place) => {
    const { file, limited, space } = place;
    const rate = (ns: number): number => LARGE / ns;
    const { data } = space.array(Uint32Array, LARGE / 4);
    fill(data);
    const built = buildReference('storage');
    const there = 'path' in built && spawnSync('python3', ['-c', 'import numpy']).status === 0;
    if ('path' in built && there) limited.run(built.path, ['write', file, LARGE, 0]);
    await compare(settings, {
      name: 'storage-numpy',
      unit: 'GB/s',
      better: 'higher',
      references: there
        ? { 'NumPy, memmap': () => rate(limited.run('python3', ['-c', NUMPY, file])) }
        : {},
      extra: about(place, LARGE),
      ours: () =>
        rate(
          timed(() => {
            let sum = 0;
            for (let at = 0; at < data.length; at++) sum += data[at];
            verify(sum === (data.length * (data.length - 1)) / 2, 'the sum');
          }),
        ),
    });
  });
}

const beside = 'beside C over a mapped file under the same limit of memory';

export const storageBenches: readonly Bench[] = [
  {
    name: 'storage-scan',
    what: `GB/s of 4 times the memory, written, then read in order; ${beside}`,
    run: runScan,
  },
  {
    name: 'storage-random',
    what: `us of touching a page of 4 times the memory, any one; ${beside}`,
    run: (settings) =>
      runTouches(settings, {
        name: 'storage-random',
        mode: 'random',
        list: uniform(TOUCHES),
        advised: true,
        fits: true,
      }),
  },
  {
    name: 'storage-skewed',
    what: `us of touching a page of 4 times the memory, some much more often (zipf 0.99): what fits, more than that, and without advice; ${beside}`,
    run: runSkewed,
  },
  {
    name: 'storage-iterate',
    what: `GB/s of the same pass ten times over 1.5 times the memory; ${beside}`,
    run: runIterate,
  },
  {
    name: 'storage-numpy',
    what: 'GB/s of a sum over 4 times the memory; beside numpy.memmap',
    run: runNumpy,
  },
];
