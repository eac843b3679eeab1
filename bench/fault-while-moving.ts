/**
 * What a thread waits for a page that a device has written, while a long prefetch to that device is
 * under way; beside the same with nothing that moves.
 */
import { f32, kernel, type ManagedArray, openSpace } from '../src/index.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { warmMemory } from './placement.js';

const NAME = 'fault-while-moving';
const MOVED_BYTES = 96 * 2 ** 20;
const TOUCHED_BYTES = 2 ** 21;
/** So long the prefetch is under way before the first touch. */
const AHEAD_MS = 3;
const PAGE_WORDS = 1024;
/** The element that is touched. */
const AT = 8 * PAGE_WORDS;

/** Writes a word of every page, so that the device has the only copy. */
const stamp = kernel({ data: f32.inout, by: f32 }, ({ data, by }, { begin, end }) => {
  for (let page = begin; page < end; page++) data[page * 1024] = page + by;
});

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Microseconds for which a thread that writes to the page waits. */
function touch({ data }: ManagedArray, by: number): number {
  const start = performance.now();
  data[AT]++;
  const took = 1000 * (performance.now() - start);
  verify(data[AT] === AT / PAGE_WORDS + by + 1, `element ${AT}`);
  return took;
}

async function run(settings: Settings): Promise<void> {
  if (!settings.wants(NAME)) return;
  warmMemory(4 * MOVED_BYTES);
  const space = await openSpace({
    hostMemory: '512MiB',
    devices: [{ kind: 'process', memory: '256MiB' }],
  });
  const [device] = space.devices;
  const moved = space.array(Float32Array, MOVED_BYTES / 4);
  const touched = space.array(Float32Array, TOUCHED_BYTES / 4);
  let by = 0;
  const onDevice = (): Promise<void> =>
    device.run(stamp, { data: touched, by: ++by }, { size: touched.length / PAGE_WORDS });
  try {
    await compare(settings, {
      name: NAME,
      unit: 'us',
      better: 'lower',
      warmUp: 4,
      ours: async () => {
        for (let at = 0; at < moved.length; at += PAGE_WORDS) moved.data[at] = by;
        await onDevice();
        using stream = device.stream();
        stream.prefetch(moved.range());
        Atomics.wait(sleeper, 0, 0, AHEAD_MS);
        const took = touch(touched, by);
        await stream.synchronize();
        return took;
      },
      references: {
        'nothing moves': async () => {
          await onDevice();
          return touch(touched, by);
        },
      },
    });
  } finally {
    await space.close();
  }
}

export const faultWhileMoving: Bench = {
  name: NAME,
  what: 'us of a touch of the CPU of what a device has written, while a prefetch of 96 MiB to it is under way; beside the same with nothing that moves',
  run,
};
