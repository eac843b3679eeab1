/**
 * Four threads work on one array, take the next part from a counter that lies in another one, and a
 * bar on the terminal shows how far they are: for each number how many steps the Collatz sequence
 * takes from it to 1.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { type SingleBar as Bar, default as progress } from 'cli-progress';
import { type ArrayHandle, attachArray, openSpace } from 'onemem';

const NUMBERS = 400_000;
const PART = 5000;
const THREADS = 4;
/** Words of the counter. */
const NEXT = 0;
const DONE = 1;

interface Work {
  readonly steps: ArrayHandle;
  readonly counter: ArrayHandle;
}

function collatzSteps(start: number): number {
  let steps = 0;
  for (let n = start; n > 1; n = n % 2 === 0 ? n / 2 : 3 * n + 1) steps++;
  return steps;
}

if (isMainThread) {
  await using space = await openSpace();
  const steps = space.array(Uint16Array, NUMBERS, { name: 'steps' });
  const counter = space.array(Int32Array, 2, { name: 'counter' });
  const work: Work = { steps: steps.handle, counter: counter.handle };
  // Where there is no terminal, but a pipe or a file, there is no bar.
  const bar: Bar = new progress.SingleBar({
    format: '{bar} {percentage}% of {total} numbers, {eta} s left',
  });
  bar.start(NUMBERS, 0);
  const look = setInterval(() => bar.update(Atomics.load(counter.data, DONE)), 50);
  try {
    const threads = Array.from(
      { length: THREADS },
      () => new Worker(new URL(import.meta.url), { workerData: work }),
    );
    await Promise.all(
      threads.map(
        (thread) =>
          new Promise((resolve, reject) => thread.once('exit', resolve).once('error', reject)),
      ),
    );
  } finally {
    clearInterval(look);
    bar.update(Atomics.load(counter.data, DONE));
    bar.stop();
  }
  // The same by one thread and without onemem.
  const { data } = steps;
  for (let n = 1; n <= NUMBERS; n++) {
    const right = collatzSteps(n);
    if (data[n - 1] !== right)
      throw new Error(`${n} takes ${data[n - 1]} steps instead of ${right}`);
  }
  const longest = data.reduce((best, count, i) => (count > data[best] ? i : best), 0);
  console.log(
    `${THREADS} threads counted for ${NUMBERS} numbers; ${longest + 1} takes ${data[longest]} steps`,
  );
} else {
  const { steps, counter } = workerData as Work;
  const result = attachArray(steps).data as Uint16Array;
  const words = attachArray(counter).data as Int32Array;
  for (;;) {
    const begin = Atomics.add(words, NEXT, PART);
    if (begin >= NUMBERS) break;
    const end = Math.min(begin + PART, NUMBERS);
    for (let i = begin; i < end; i++) result[i] = collatzSteps(i + 1);
    Atomics.add(words, DONE, end - begin);
  }
}
