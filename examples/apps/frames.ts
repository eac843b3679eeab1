/**
 * A pool of video frames: two decoders write 4K frames into a ring of arrays, and this process reads
 * them where they are. In the middle one decoder is killed, and the other one does the rest. Prints
 * how long a frame takes from the first byte that is decoded to the last one that is read.
 *
 *   node .build/examples/apps/frames.js --frames 600 --rate 60
 */
import { type ChildProcess, fork } from 'node:child_process';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { attachSpace, openSpace } from 'onemem';

/** A frame of 3840 x 2160 pixels, 12 bits each (NV12), as rows of words. */
const ROWS = (2160 * 3) / 2;
const ROW_WORDS = 3840 / 4;
const PAGE_WORDS = 1024;
const SLOTS = 6;
const DECODERS = 2;
/** What a slot is: free, ready to be read, or in the hands of decoder 1, 2, ... */
const FREE = 0;
const READY = -1;
/** Words behind those of the slots: the next frame, and two that change with each frame. */
const NEXT = SLOTS;
const FILLED = SLOTS + 1;
const EMPTIED = SLOTS + 2;

const now = (): number => Number(process.hrtime.bigint()) / 1e6;
const wordOf = (frame: number, row: number): number => Math.imul(frame + 1, 40_503) ^ row;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    frames: { type: 'string', default: '240' },
    rate: { type: 'string', default: '60' },
  },
});
const frames = Number(values.frames);
const periodMs = 1000 / Number(values.rate);

/** Has this process map all pages of a frame, so that none of them faults later. */
function map(data: Uint32Array): void {
  for (let i = 0; i < data.length; i += PAGE_WORDS) Atomics.add(data, i, 0);
}

/** One of the decoders: an attached process. */
async function decode(text: string, id: number): Promise<void> {
  const space = attachSpace(text);
  const states = space.find<Int32Array>('states');
  const began = space.find<Float64Array>('began');
  if (states === null || began === null) throw new Error('the pool is not there');
  const pool = Array.from(
    { length: SLOTS },
    (_, slot) => space.find<Uint32Array>(`frame ${slot}`)?.data as Uint32Array,
  );
  for (const data of pool) map(data);
  const firstAt = now();
  for (;;) {
    const frame = Atomics.add(states.data, NEXT, 1);
    if (frame >= frames) return;
    // A camera has no frame earlier than this.
    await setTimeout(firstAt + frame * periodMs - now());
    let slot = -1;
    for (;;) {
      const emptied = Atomics.load(states.data, EMPTIED);
      slot = states.data.subarray(0, SLOTS).indexOf(FREE);
      if (slot >= 0 && Atomics.compareExchange(states.data, slot, FREE, id) === FREE) break;
      space.wait(states, EMPTIED, emptied, 100);
    }
    const data = pool[slot];
    began.data[2 * slot] = now();
    began.data[2 * slot + 1] = frame;
    for (let row = 0; row < ROWS; row++)
      data.fill(wordOf(frame, row), row * ROW_WORDS, (row + 1) * ROW_WORDS);
    Atomics.store(states.data, slot, READY);
    Atomics.add(states.data, FILLED, 1);
    space.notify(states, FILLED);
  }
}

const expected = Buffer.alloc(4 * ROW_WORDS);

/** Reads all of a frame; -1, or the row in which it is wrong. */
function wrongRow(data: Uint32Array, frame: number): number {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const words = new Uint32Array(expected.buffer, expected.byteOffset, ROW_WORDS);
  for (let row = 0; row < ROWS; row++) {
    words.fill(wordOf(frame, row));
    const at = row * expected.length;
    if (bytes.compare(expected, 0, expected.length, at, at + expected.length) !== 0) return row;
  }
  return -1;
}

async function consume(): Promise<void> {
  await using space = await openSpace();
  const states = space.array(Int32Array, SLOTS + 3, { name: 'states' });
  const began = space.array(Float64Array, 2 * SLOTS, { name: 'began' });
  const pool = Array.from({ length: SLOTS }, (_, slot) =>
    space.array(Uint32Array, ROWS * ROW_WORDS, { name: `frame ${slot}` }),
  );
  for (const { data } of pool) map(data);
  const text = space.share();
  const decoders: ChildProcess[] = [];
  let running = DECODERS;
  let lost = 0;
  for (let id = 1; id <= DECODERS; id++) {
    const decoder = fork(new URL(import.meta.url), [...process.argv.slice(2), text, String(id)]);
    decoders.push(decoder);
    decoder.once('exit', () => {
      running--;
      // What it had in its hands is free again.
      for (let slot = 0; slot < SLOTS; slot++) {
        if (Atomics.compareExchange(states.data, slot, id, FREE) === id) lost++;
      }
      Atomics.add(states.data, EMPTIED, 1);
      space.notify(states, EMPTIED);
    });
  }
  /** Those that can be read, in the order of their frames. */
  const readySlots = (): number[] =>
    Array.from({ length: SLOTS }, (_, slot) => slot)
      .filter((slot) => Atomics.load(states.data, slot) === READY)
      .sort((a, b) => began.data[2 * a + 1] - began.data[2 * b + 1]);
  const latencies: number[] = [];
  const afterKill: number[] = [];
  let killed = false;
  while (running > 0 || states.data.subarray(0, SLOTS).includes(READY)) {
    const filled = Atomics.load(states.data, FILLED);
    let read = 0;
    for (const slot of readySlots()) {
      const [start, frame] = began.data.subarray(2 * slot, 2 * slot + 2);
      const row = wrongRow(pool[slot].data, frame);
      if (row >= 0) throw new Error(`frame ${frame} is wrong in row ${row}`);
      (killed ? afterKill : latencies).push(now() - start);
      Atomics.store(states.data, slot, FREE);
      Atomics.add(states.data, EMPTIED, 1);
      space.notify(states, EMPTIED);
      read++;
    }
    if (!killed && latencies.length >= frames / 2) {
      decoders[0].kill('SIGKILL');
      killed = true;
    }
    if (read === 0) space.wait(states, FILLED, filled, 20);
    await setImmediate();
  }
  const read = latencies.length + afterKill.length;
  if (read + lost < frames - 1 || afterKill.length === 0)
    throw new Error(`only ${read} of ${frames} frames came`);
  // Node.js compiles the code while the first frames pass.
  const warm = [...latencies.slice(2 * SLOTS), ...afterKill].sort((a, b) => a - b);
  const at = (share: number): string => warm[Math.floor(share * (warm.length - 1))].toFixed(1);
  console.log(`${read} of ${frames} frames of 3840 x 2160 were read, and all are right`);
  console.log(`a decoder was killed after ${latencies.length}; ${frames - read} went with it`);
  console.log(`from decoder to reader: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}

if (positionals.length === 0) await consume();
else await decode(positionals[0], Number(positionals[1]));
