/**
 * Files that the kernel has in memory, read as arrays: in order by the CPU and by a device, and
 * page by page at random; beside C.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddressSpace, f64, kernel, openSpace, u32 } from '../src/index.js';
import { buildReference, runReference } from './c-reference.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { warmMemory } from './placement.js';

const BYTES = 2 ** 28;
const WORDS = BYTES / 4;
const PAGE_WORDS = 1024;
const PAGES = WORDS / PAGE_WORDS;
/** A word of each cache line: more would measure the adding. */
const LINE_WORDS = 16;
const TOUCHES = 8192;
const FREE_CPU = -1;

/** Sums of lines, by parts of the launch, each of which has an element of its own. */
const sumLines = kernel(
  { words: u32.in, sums: f64.out },
  ({ words, sums }, { begin, end, size }) => {
    const each = words.length / size;
    for (let part = begin; part < end; part++) {
      let sum = 0;
      for (let at = part * each; at < (part + 1) * each; at += 16) sum += words[at];
      sums[part] = sum;
    }
  },
);

/** Word i of the file is i, so that the sum of its lines is known. */
function expectedSum(): number {
  const lines = WORDS / LINE_WORDS;
  return (LINE_WORDS * lines * (lines - 1)) / 2;
}

/**
 * Functions of their own, as a program would have them, so that the compiler sees the loop and
 * nothing else.
 */
function sumOfLines(words: Uint32Array): number {
  let sum = 0;
  for (let at = 0; at < words.length; at += LINE_WORDS) sum += words[at];
  return sum;
}

/** Returns how many words were wrong. */
function touchAtRandom(words: ArrayLike<number>): number {
  let state = 1;
  let wrong = 0;
  for (let k = 0; k < TOUCHES; k++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const page = Math.floor((state / 2 ** 32) * PAGES);
    if (words[page * PAGE_WORDS] !== page * PAGE_WORDS) wrong++;
  }
  return wrong;
}

async function withFile(use: (path: string, space: AddressSpace) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-bench-'));
  try {
    const path = join(folder, 'words');
    const fd = openSync(path, 'w');
    const part = new Uint32Array(2 ** 20);
    for (let at = 0; at < WORDS; at += part.length) {
      for (let i = 0; i < part.length; i++) part[i] = at + i;
      writeSync(fd, part);
    }
    closeSync(fd);
    warmMemory(2 * BYTES);
    await using space = await openSpace({
      hostMemory: '512MiB',
      devices: [{ kind: 'process', memory: '64MiB', units: 1 }],
    });
    await use(path, space);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The C program, in one of its ways, as a figure. */
function reference(
  mode: string,
  path: string,
  figure: (ns: number) => number,
): Record<string, () => number> {
  const built = buildReference('files');
  if ('missing' in built) return {};
  return {
    [`C, ${mode}`]: () => figure(runReference(built.path, [mode, path, TOUCHES, FREE_CPU])),
  };
}

async function runScan(settings: Settings): Promise<void> {
  await withFile(async (path, space) => {
    const rate = (ns: number): number => BYTES / ns;
    const common = {
      unit: 'GB/s',
      better: 'higher',
      references: { ...reference('scan-map', path, rate), ...reference('scan-read', path, rate) },
      extra: { bytes: BYTES },
    } as const;
    for (const mapped of [false, true]) {
      await compare(settings, {
        name: mapped ? 'file-scan/mapped' : 'file-scan/cpu',
        ...common,
        ours: () => {
          const words = space.fileArray(Uint32Array, path, { mapped });
          words.advise({ pattern: 'sequential' });
          const { data } = words;
          const start = performance.now();
          const sum = sumOfLines(data);
          const elapsed = performance.now() - start;
          verify(sum === expectedSum(), 'the sum');
          words.free();
          return rate(elapsed * 1e6);
        },
      });
    }
    const parts = 1024;
    const sums = space.array(Float64Array, parts);
    for (const mapped of [false, true]) {
      await compare(settings, {
        name: mapped ? 'file-scan/device-mapped' : 'file-scan/device',
        ...common,
        ours: async () => {
          const words = space.fileArray(Uint32Array, path, { mapped });
          const start = performance.now();
          await space.devices[0].run(sumLines, { words, sums }, { size: parts });
          const elapsed = performance.now() - start;
          const sum = sums.data.reduce((total, each) => total + each, 0);
          verify(sum === expectedSum(), 'the sum');
          words.free();
          return rate(elapsed * 1e6);
        },
      });
    }
  });
}

async function runRandom(settings: Settings): Promise<void> {
  await withFile(async (path, space) => {
    for (const mapped of [false, true]) {
      await compare(settings, {
        name: mapped ? 'file-random/mapped' : 'file-random',
        unit: 'us',
        better: 'lower',
        references: reference('random', path, (ns) => ns / 1000 / TOUCHES),
        extra: { touches: TOUCHES, bytes: BYTES },
        ours: () => {
          const words = space.fileArray(Uint32Array, path, { mapped });
          words.advise({ pattern: 'random' });
          const { data } = words;
          const start = performance.now();
          const wrong = touchAtRandom(data);
          const elapsed = performance.now() - start;
          verify(wrong === 0, `${wrong} words`);
          words.free();
          return (elapsed * 1000) / TOUCHES;
        },
      });
    }
  });
}

export const fileScan: Bench = {
  name: 'file-scan',
  what: 'GB/s of reading a cached file in order as an array, by the CPU, by a device, and by both where it is mapped; beside C by a mapping and by read()',
  run: runScan,
};

export const fileRandom: Bench = {
  name: 'file-random',
  what: 'us of touching a page of a cached file at random; beside C by a mapping',
  run: runRandom,
};
