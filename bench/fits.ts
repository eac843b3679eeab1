/**
 * Everything fits the device: what managed memory then costs beside bulk copies by hand. Cold: the
 * data is on the host, the device has no memory yet, and the result comes home. Warm: the second
 * and later launches, with everything in its place.
 */
import { type AddressSpace, f32, kernel, type ManagedArray, openSpace } from '../src/index.js';
import { HandDevice, saxpy } from './hand-device.js';
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

const LENGTH = 8 * 2 ** 20;
const BYTES = LENGTH * 4;

const kernelOfOurs = kernel({ x: f32.in, y: f32.inout, alpha: f32 }, saxpy);

interface Sides {
  readonly space: AddressSpace;
  readonly hand: HandDevice;
  readonly x: ManagedArray<Float32Array>;
  readonly y: ManagedArray<Float32Array>;
}

/**
 * Both devices, the device's process on one CPU and everything that copies on the other where there
 * are two.
 */
async function withSides(use: (sides: Sides) => Promise<void>): Promise<void> {
  const { result: space, threads } = await startedThreads(() =>
    openSpace({ hostMemory: '1GiB', devices: [{ kind: 'process', memory: '128MiB' }] }),
  );
  const hand = HandDevice.start(LENGTH);
  try {
    const { faulting, handler } = placements.find(({ name }) => name === 'across') ?? placements[0];
    pin([...threadsOf(space.devices[0].pid ?? 0), ...threadsOf(hand.pid)], faulting);
    pin(threads, handler);
    pinSelf(handler);
    warmMemory(8 * BYTES);
    const x = space.array(Float32Array, LENGTH);
    const y = space.array(Float32Array, LENGTH);
    x.data.fill(2);
    y.data.fill(1);
    await use({ space, hand, x, y });
  } finally {
    unpinSelf();
    hand.close();
    await space.close();
  }
}

function verifyAll(data: Float32Array, expected: number): void {
  let wrong = 0;
  for (let i = 0; i < data.length; i++) if (data[i] !== expected) wrong++;
  verify(wrong === 0, `${wrong} elements are not ${expected}`);
}

/** The launch and the way home of its result, in milliseconds. */
async function launchCold({ space }: Sides, prefetch: boolean): Promise<number> {
  const [device] = space.devices;
  // New arrays, so that the device has no memory for them; what the last run left there has been
  // freed.
  const x = space.array(Float32Array, LENGTH);
  const y = space.array(Float32Array, LENGTH);
  x.data.fill(2);
  y.data.fill(1);
  using stream = device.stream();
  const start = performance.now();
  if (prefetch) {
    stream.prefetch(x.range());
    stream.prefetch(y.range());
  }
  stream.launch(kernelOfOurs, { x, y, alpha: 3 }, { size: LENGTH });
  stream.prefetch(y.range(), 'host');
  await stream.synchronize();
  const elapsed = performance.now() - start;
  verifyAll(y.data, 7);
  x.free();
  y.free();
  return elapsed;
}

async function runCold(settings: Settings): Promise<void> {
  await withSides(async (sides) => {
    const { hand, x, y } = sides;
    await compare(settings, {
      name: 'fits-cold',
      unit: 'ms',
      better: 'lower',
      warmUp: 2,
      ours: () => launchCold(sides, false),
      references: {
        'by hand': () => {
          hand.empty();
          y.data.fill(1);
          const start = performance.now();
          hand.copyIn(0, Number(x.address), BYTES);
          hand.copyIn(BYTES, Number(y.address), BYTES);
          hand.run();
          hand.copyOut(Number(y.address), BYTES, BYTES);
          const elapsed = performance.now() - start;
          verifyAll(y.data, 7);
          return elapsed;
        },
      },
      beside: { 'ours, prefetched': () => launchCold(sides, true) },
      extra: { bytes: 2 * BYTES },
    });
  });
}

async function runWarm(settings: Settings): Promise<void> {
  await withSides(async ({ space, hand, x, y }) => {
    const [device] = space.devices;
    hand.copyIn(0, Number(x.address), BYTES);
    hand.copyIn(BYTES, Number(y.address), BYTES);
    let launches = 0;
    await compare(settings, {
      name: 'fits-warm',
      unit: 'ms',
      better: 'lower',
      warmUp: 4,
      ours: async () => {
        launches++;
        const start = performance.now();
        await device.run(kernelOfOurs, { x, y, alpha: 3 }, { size: LENGTH });
        return performance.now() - start;
      },
      references: {
        'by hand': () => {
          const start = performance.now();
          hand.run();
          return performance.now() - start;
        },
      },
      extra: () => ({ bytes: 2 * BYTES, launches }),
    });
    verifyAll(y.data, 1 + 6 * launches);
    hand.copyOut(Number(y.address), BYTES, BYTES);
    verifyAll(y.data, 1 + 6 * launches);
  });
}

export const fitsCold: Bench = {
  name: 'fits-cold',
  what: 'ms of a launch whose data is on the host, with its result brought home; beside bulk copies by hand',
  run: runCold,
};

export const fitsWarm: Bench = {
  name: 'fits-warm',
  what: 'ms of the second and later launches; beside the same by hand',
  run: runWarm,
};
