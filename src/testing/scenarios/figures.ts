/** What moving costs. */
import type { Device } from '../../index.js';
import { BLOCK_BYTES, type Context, equal, PAGE_BYTES, same, WORDS_PER_PAGE } from '../context.js';
import { flip, pattern } from '../kernels.js';
import type { Scenario } from '../suite.js';
import type { Words } from './common.js';

const KIB = 1024;
const SIZES_KIB = [512, 2048, 16 * KIB, 256 * KIB];
/** Longer moves, by the size before, are left out: a scenario has a time limit. */
const MOST_SECONDS = 6;
const WORD_BYTES = 4;

/** Moves an array by one call, or by one for each page; returns milliseconds. */
async function move(
  { space }: Context,
  array: Words,
  to: Device | 'host',
  byPages: boolean,
): Promise<number> {
  using stream = space.devices[0].stream();
  const started = performance.now();
  if (!byPages) stream.prefetch(array.range(), to);
  else {
    for (let at = 0; at < array.length; at += WORDS_PER_PAGE) {
      stream.prefetch(array.range(at, Math.min(at + WORDS_PER_PAGE, array.length)), to);
    }
  }
  await stream.synchronize();
  return performance.now() - started;
}

function speed(bytes: number, ms: number): string {
  return `${ms.toFixed(2)} ms, ${(bytes / ms / 1e6).toFixed(2)} GB/s`;
}

/** What one launch changes: a GPU runs no more workgroups at once. */
const LAUNCH_WORDS = 2 ** 23;

/** One way there, a change on the device, and the way back. Prints what the ways take. */
async function roundTrip(
  context: Context,
  array: Words,
  byPages: boolean,
  seed: number,
): Promise<void> {
  const { device, watch, note } = context;
  const content = pattern(array.length, seed);
  array.data.set(content);
  const moved = watch();
  const there = await move(context, array, device, byPages);
  equal('bytes copied there', moved(device).bytesIn, array.byteLength);
  equal('bytes on the device', array.residency().bytes[device.name], array.byteLength);
  // Both have copies now. What the device writes is there alone, so that bringing it back is to
  // copy it.
  for (let begin = 0; begin < array.length; begin += LAUNCH_WORDS) {
    const range = { size: array.length, begin, end: Math.min(begin + LAUNCH_WORDS, array.length) };
    await device.run(flip, { data: array, mask: 1 }, range);
  }
  for (let at = 0; at < array.length; at += WORDS_PER_PAGE) content[at] ^= 1;
  const back = await move(context, array, 'host', byPages);
  equal('bytes copied back', moved('host').bytesIn, array.byteLength);
  same('the data', array.data, content);
  const figures = `there ${speed(array.byteLength, there)}, back ${speed(array.byteLength, back)}`;
  note(`${nameOf(context, array.byteLength, byPages)}  ${figures}`);
}

function nameOf({ device }: Context, bytes: number, byPages: boolean): string {
  const way = byPages ? `by ${PAGE_BYTES / KIB} KiB pages` : 'by one call';
  return `${device.kind.padEnd(12)} ${String(bytes / KIB).padStart(6)} KiB ${way.padEnd(14)}`;
}

export const figures: readonly Scenario[] = [
  {
    name: 'benchmark_block_migration',
    devices: 1,
    memoryBytes: SIZES_KIB[SIZES_KIB.length - 1] * KIB + 2 * BLOCK_BYTES,
    checkInvariants: false,
    holds:
      '512 KiB to 256 MiB move there and back, by one call and page by page; prints what that takes',
    run: async (context) => {
      const { space, words, note } = context;
      let seed = 0x51ab_0080;
      for (const byPages of [false, true]) {
        let secondsPerByte = 0;
        for (const size of SIZES_KIB) {
          const bytes = size * KIB;
          const seconds = secondsPerByte * bytes;
          if (seconds > MOST_SECONDS) {
            note(
              `${nameOf(context, bytes, byPages)}  left out: it would take about ${Math.ceil(seconds)} s`,
            );
            continue;
          }
          const array = words(bytes / WORD_BYTES);
          const started = performance.now();
          await roundTrip(context, array, byPages, seed++);
          secondsPerByte = (performance.now() - started) / 1000 / bytes;
          array.free();
        }
      }
      space.checkInvariants();
    },
  },
];
