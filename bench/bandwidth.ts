/**
 * How fast pages move by prefetch, by size and direction, beside one memcpy of as many bytes
 * between memory that is backed.
 */
import { type Device, f32, kernel, type ManagedArray, openSpace } from '../src/index.js';
import {
  MADV_POPULATE_WRITE,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../src/linux/base/constants.js';
import { copyMemory, createMemoryFile, madvise, mmap } from '../src/linux/memory/memory.js';
import { type Bench, compare, median, rounded, type Settings, verify } from './harness.js';
import { warmMemory } from './placement.js';

const SIZES = [
  ['64KiB', 2 ** 16],
  ['1MiB', 2 ** 20],
  ['16MiB', 2 ** 24],
  ['64MiB', 2 ** 26],
] as const;
const LARGEST = 2 ** 26;
/**
 * The engine has compiled the way of a prefetch after about a thousand, and a small one is little
 * else.
 */
const WARM_BYTES = 2 ** 26;

/** Writes a word of every page, so that the device has the only copy. */
const stamp = kernel({ data: f32.inout, by: f32 }, ({ data, by }, { begin, end }) => {
  for (let page = begin; page < end; page++) data[page * 1024] = page + by;
});

/** Two memory files with all of their pages, and GB/s of copying from one to the other. */
export class MemoryCopy {
  private readonly from = backed('bench-from');
  private readonly to = backed('bench-to');

  /** In pieces of at most `piece` bytes, `bytes` altogether. */
  rate(bytes: number, piece = bytes): number {
    const start = performance.now();
    for (let at = 0; at < bytes; at += piece) copyMemory(this.to + at, this.from + at, piece);
    return bytes / 1e6 / (performance.now() - start);
  }
}

function backed(name: string): number {
  const fd = createMemoryFile(name, LARGEST);
  const address = mmap(LARGEST, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE,
    fd,
  });
  madvise(address, LARGEST, MADV_POPULATE_WRITE);
  return address;
}

async function run(settings: Settings): Promise<void> {
  warmMemory(6 * LARGEST);
  const space = await openSpace({
    hostMemory: '1GiB',
    devices: [
      { kind: 'process', memory: '128MiB', name: 'a' },
      { kind: 'process', memory: '128MiB', name: 'b' },
    ],
  });
  const [a, b] = space.devices;
  const memory = new MemoryCopy();
  let by = 0;
  try {
    for (const [size, bytes] of SIZES) {
      const array = space.array(Float32Array, bytes / 4);
      const plain = new Float32Array(bytes / 4).fill(1);
      const pages = bytes / 4096;
      const onHost = (): void => {
        by++;
        for (let page = 0; page < pages; page++) array.data[page * 1024] = page + by;
      };
      const onDevice = async (device: Device): Promise<void> => {
        by++;
        await device.run(stamp, { data: array, by }, { size: pages });
      };
      const directions: Record<string, () => Promise<number>> = {
        'host-to-device': async () => {
          onHost();
          return moved(array, a, a);
        },
        'pinned-to-device': async () => {
          onHost();
          using _pin = await array.pin();
          return await moved(array, a, a);
        },
        'device-to-host': async () => {
          await onDevice(a);
          return moved(array, a, 'host');
        },
        'device-to-device': async () => {
          await onDevice(a);
          return moved(array, b, b);
        },
        pageable: async () => {
          // A plain array into managed memory that the CPU has nothing of yet: the first touch is
          // part of the copy.
          const fresh = space.array(Float32Array, bytes / 4);
          const { data } = fresh;
          const start = performance.now();
          data.set(plain);
          const rate = bytes / 1e6 / (performance.now() - start);
          verify(data[bytes / 4 - 1] === 1, 'the last element');
          fresh.free();
          return rate;
        },
      };
      for (const [direction, ours] of Object.entries(directions)) {
        const rates: number[] = [];
        await compare(settings, {
          name: `bandwidth/${direction}/${size}`,
          unit: 'GB/s',
          better: 'higher',
          warmUp: Math.max(2, WARM_BYTES / bytes),
          // A program that moves only now and then has these.
          extra: () => ({ beforeCompiled: rounded(median(rates.slice(2, 7))) }),
          ours: async () => {
            const rate = await ours();
            rates.push(rate);
            if (direction !== 'pageable') {
              let wrong = 0;
              for (let page = 0; page < pages; page++)
                if (array.data[page * 1024] !== page + by) wrong++;
              verify(wrong === 0, `${wrong} pages`);
            }
            return rate;
          },
          references: { memcpy: () => memory.rate(bytes) },
        });
      }
      array.free();
    }
  } finally {
    await space.close();
  }
}

/** GB/s of a prefetch, on the manager's clock: from its turn to its end. */
async function moved(array: ManagedArray, device: Device, to: Device | 'host'): Promise<number> {
  using stream = device.stream();
  const event = stream.prefetch(array.range(), to);
  await event.synchronize();
  verify(event.bytes === array.byteLength, `${event.bytes} bytes came`);
  return array.byteLength / 1e6 / event.elapsedMs;
}

export const bandwidth: Bench = {
  name: 'bandwidth',
  what: 'GB/s of prefetches host to device, back, and between devices, of pinned pages, and of writing plain arrays; beside memcpy',
  run,
};
