/**
 * What a fault of a thread of the application costs, a page at a time, beside the same handler in
 * C. Prefetching is off: with it a fault brings 64 KiB or more, which is cpu-fault-block.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddressSpace, type ManagedArray, openSpace } from '../src/index.js';
import { buildReference, runReference } from './c-reference.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { pin, pinSelf, placements, startedThreads, unpinSelf, warmMemory } from './placement.js';

const PAGES = 1024;
const WORDS = 1024;
const PAGE_BYTES = 4096;
/**
 * The reference looks around for as long as this before it sleeps, or not at all: ours is compared
 * with whichever is faster, so that no choice of ours can handicap it.
 */
const REFERENCE_SPINS_NS = {
  'C, blocking': 0,
  'C, spinning 5 us': 5000,
  'C, spinning 20 us': 20_000,
};
/**
 * Measured in C on the machine on which the design was made; a reference far above them is a
 * handicapped one.
 */
const DESIGN_US = {
  same: 'C 3.0 us',
  across: 'C 6.0 us spinning, 9.1 us blocking',
  free: 'not measured',
};

interface Kind {
  readonly name: string;
  readonly mode: string;
  make(space: AddressSpace, path: string): Promise<ManagedArray<Uint32Array>>;
  touch(data: Uint32Array): void;
}

const number = (page: number): number => page + 1;

function readAll(expected: (page: number) => number): (data: Uint32Array) => void {
  return (data) => {
    let wrong = 0;
    for (let page = 0; page < PAGES; page++) if (data[page * WORDS] !== expected(page)) wrong++;
    verify(wrong === 0, `${wrong} pages`);
  };
}

const fresh = async (space: AddressSpace): Promise<ManagedArray<Uint32Array>> =>
  space.array(Uint32Array, PAGES * WORDS);

const kinds: readonly Kind[] = [
  {
    name: 'zero',
    mode: 'zero',
    make: fresh,
    touch: (data) => {
      for (let page = 0; page < PAGES; page++) data[page * WORDS + 1] = number(page);
    },
  },
  { name: 'zero-read', mode: 'zero-read', make: fresh, touch: readAll(() => 0) },
  {
    name: 'minor',
    mode: 'minor',
    // Reading a file into an array gives its pages memory and content, and maps none of them.
    make: async (space, path) => {
      const array = await fresh(space);
      const fd = openSync(path, 'r');
      await array.readFrom(fd);
      closeSync(fd);
      return array;
    },
    touch: readAll(number),
  },
  {
    name: 'file',
    mode: 'file',
    make: async (space, path) => space.fileArray(Uint32Array, path),
    touch: readAll(number),
  },
];

async function run(settings: Settings): Promise<void> {
  const reference = buildReference('faults');
  const folder = mkdtempSync(join(tmpdir(), 'onemem-bench-'));
  const path = join(folder, 'pages');
  const content = new Uint32Array(PAGES * WORDS);
  for (let page = 0; page < PAGES; page++) content[page * WORDS] = number(page);
  writeFileSync(path, content);
  const { result: space, threads } = await startedThreads(() =>
    openSpace({ hostMemory: '512MiB', policies: { prefetch: 'none', readAhead: 'none' } }),
  );
  try {
    for (const placement of placements) {
      pin(threads, placement.handler);
      pinSelf(placement.faulting);
      for (const kind of kinds) {
        const { name } = kind;
        const touchAll = async (): Promise<number> => {
          warmMemory(2 * PAGES * PAGE_BYTES);
          const array = await kind.make(space, path);
          const { data } = array;
          const start = performance.now();
          kind.touch(data);
          const elapsed = performance.now() - start;
          if (name === 'zero')
            for (let page = 0; page < PAGES; page++)
              verify(data[page * WORDS + 1] === number(page), `page ${page}`);
          array.free();
          return (elapsed * 1000) / PAGES;
        };
        await compare(settings, {
          name: `cpu-fault/${name}/${placement.name}`,
          unit: 'us',
          better: 'lower',
          warmUp: 8,
          ours: touchAll,
          // What a program gets that has the manager on its CPU, beside one that says nothing.
          beside:
            placement.name === 'free'
              ? {
                  bound: async () => {
                    using _bound = space.bindThread();
                    return touchAll();
                  },
                }
              : {},
          references: cReferences(
            reference,
            kind.mode,
            PAGES,
            placement,
            [path],
            (ns) => ns / 1000 / PAGES,
          ),
          extra: {
            placement: placement.name,
            pages: PAGES,
            design: DESIGN_US[placement.name as keyof typeof DESIGN_US],
            ...('missing' in reference ? { skipped: reference.missing } : {}),
          },
        });
      }
    }
  } finally {
    unpinSelf();
    await space.close();
    rmSync(folder, { recursive: true });
  }
}

/** One run of the C handler for each way of waiting, at the same placement. */
export function cReferences(
  reference: ReturnType<typeof buildReference>,
  mode: string,
  count: number,
  { faulting, handler }: { readonly faulting: number; readonly handler: number },
  more: readonly string[],
  figure: (nanoseconds: number) => number,
): Record<string, () => number> {
  if ('missing' in reference) return {};
  return Object.fromEntries(
    Object.entries(REFERENCE_SPINS_NS).map(([name, spin]) => [
      name,
      () => figure(runReference(reference.path, [mode, count, spin, faulting, handler, ...more])),
    ]),
  );
}

export const cpuFault: Bench = {
  name: 'cpu-fault',
  what: 'us a fault of the CPU, a page each: zero page, present page, 4 KiB from a file; beside the same handler in C',
  run,
};
