/**
 * What a fault of the process device costs, a page at a time, beside two processes in C. The kernel
 * times itself.
 */
import { f64, kernel, openSpace, u32 } from '../src/index.js';
import { buildReference } from './c-reference.js';
import { cReferences } from './cpu-fault.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { pin, placements, startedThreads, threadsOf, warmMemory } from './placement.js';

const PAGES = 1024;
const WORDS = 1024;
/** The engine compiles what it has learned of eight arrays once more when the ninth comes. */
const WARM_UP = 16;

const write = kernel({ pages: u32.inout, result: f64.inout }, ({ pages, result }, { size }) => {
  const start = performance.now();
  for (let page = 0; page < size; page++) pages[page * 1024 + 1] = page + 1;
  result[0] = performance.now() - start;
});

const read = kernel({ pages: u32.in, result: f64.inout }, ({ pages, result }, { size }) => {
  let wrong = 0;
  const start = performance.now();
  for (let page = 0; page < size; page++) if (pages[page * 1024] !== page + 1) wrong++;
  result[0] = performance.now() - start;
  result[1] = wrong;
});

async function run(settings: Settings): Promise<void> {
  const reference = buildReference('faults');
  const { result: space, threads } = await startedThreads(() =>
    openSpace({
      hostMemory: '512MiB',
      policies: { prefetch: 'none', readAhead: 'none' },
      devices: [{ kind: 'process', memory: '64MiB' }],
    }),
  );
  const [device] = space.devices;
  const result = space.array(Float64Array, 512);
  try {
    for (const placement of placements) {
      pin(threads, placement.handler);
      pin(threadsOf(device.pid ?? 0), placement.faulting);
      for (const kind of ['zero', 'copy'] as const) {
        await compare(settings, {
          name: `device-fault/${kind}/${placement.name}`,
          unit: 'us',
          better: 'lower',
          warmUp: WARM_UP,
          ours: async () => {
            warmMemory(3 * PAGES * 4096);
            const pages = space.array(Uint32Array, PAGES * WORDS);
            const { data } = pages;
            if (kind === 'copy')
              for (let page = 0; page < PAGES; page++) data[page * WORDS] = page + 1;
            // The page of the result is brought before the clock starts.
            result.data[1] = 0;
            if (kind === 'zero') await device.run(write, { pages, result }, { size: PAGES });
            else await device.run(read, { pages, result }, { size: PAGES });
            verify(result.data[1] === 0, `${result.data[1]} pages`);
            if (kind === 'zero')
              for (let page = 0; page < PAGES; page++)
                verify(data[page * WORDS + 1] === page + 1, `page ${page}`);
            const elapsed = result.data[0];
            pages.free();
            return (elapsed * 1000) / PAGES;
          },
          references: cReferences(
            reference,
            `device-${kind}`,
            PAGES,
            placement,
            [],
            (ns) => ns / 1000 / PAGES,
          ),
          extra: { placement: placement.name, pages: PAGES },
        });
      }
    }
  } finally {
    await space.close();
  }
}

export const deviceFault: Bench = {
  name: 'device-fault',
  what: 'us a fault of the process device: zero page, 4 KiB from the host; beside two processes in C',
  run,
};
