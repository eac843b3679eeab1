/**
 * CPU threads and a device change the same words at the same time: increments, minima, maxima,
 * compare-and-swap, bits. A word that is written is in one memory at a time, so that Atomics are
 * atomic for all processors, and no operation is lost.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray, i32, kernel, openSpace } from 'onemem';

const THREADS = 2;
const UNITS = 2;
const ROUNDS = 100_000;

/** The words, and what must be in them at the end. `players` count from 0. */
const PLAYERS = THREADS + UNITS;
const EXPECTED = {
  sum: PLAYERS * ROUNDS,
  difference: -PLAYERS * ROUNDS,
  maximum: PLAYERS * ROUNDS - 1,
  minimum: -(PLAYERS * ROUNDS - 1),
  // Each player adds 3 by compare-and-swap, again and again until no other player came between.
  swapped: 3 * PLAYERS * ROUNDS,
  ands: 0b1111 & ~((1 << PLAYERS) - 1),
  ors: (1 << PLAYERS) - 1,
  // Every player turns each of its bits an odd number of times.
  xors: (1 << PLAYERS) - 1,
};

const play = kernel(
  { words: i32.inout, first: i32, rounds: i32 },
  ({ words, first, rounds }, { begin, end }) => {
    /**
     * There is no Atomics.max: compare-and-swap until the word is right or another player has made
     * it so.
     */
    const change = (index: number, better: (old: number) => number): void => {
      for (let old = Atomics.load(words, index); ; ) {
        const wanted = better(old);
        if (wanted === old) return;
        const found = Atomics.compareExchange(words, index, old, wanted);
        if (found === old) return;
        old = found;
      }
    };
    for (let item = begin; item < end; item++) {
      const player = first + item;
      for (let round = 0; round < rounds; round++) {
        const value = player * rounds + round;
        Atomics.add(words, 0, 1);
        Atomics.sub(words, 1, 1);
        change(2, (old) => Math.max(old, value));
        change(3, (old) => Math.min(old, -value));
        change(4, (old) => old + 3);
      }
      Atomics.and(words, 5, ~(1 << player));
      Atomics.or(words, 6, 1 << player);
      Atomics.xor(words, 7, 1 << player);
    }
  },
);

if (isMainThread) {
  await using space = await openSpace({
    devices: [{ kind: 'process', memory: '8MiB', units: UNITS }],
  });
  const words = space.array(Int32Array, Object.keys(EXPECTED).length);
  const { data } = words;
  data[5] = 0b1111;
  const threads = Array.from(
    { length: THREADS },
    (_, player) =>
      new Worker(new URL(import.meta.url), { workerData: { handle: words.handle, player } }),
  );
  const ended = threads.map((thread) => new Promise((resolve) => thread.once('exit', resolve)));
  await space.devices[0].run(play, { words, first: THREADS, rounds: ROUNDS }, { size: UNITS });
  await Promise.all(ended);
  for (const [index, [name, expected]] of Object.entries(EXPECTED).entries()) {
    const found = data[index];
    if (found !== expected)
      throw new Error(`${name} is ${found} instead of ${expected}: an operation was lost`);
    console.log(`${name.padEnd(10)} ${String(found).padStart(8)}`);
  }
  console.log(`${THREADS} threads and ${UNITS} units of a device lost none of their operations`);
} else {
  const { handle, player } = workerData as { handle: ArrayHandle; player: number };
  const words = attachArray(handle).data as Int32Array;
  play.kernel?.(
    { words, first: player, rounds: ROUNDS },
    { begin: 0, end: 1, size: 1, unit: 0, units: 1 },
  );
}
