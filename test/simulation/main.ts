/**
 * Runs seeded schedules of the memory manager, or one of them again.
 *
 *   npm run -s simulation -- --schedules 20000 --first-seed 1 [--jobs N]
 *   npm run -s simulation -- --minutes 10 --first-seed 1             as many as that allows
 *   npm run -s simulation -- --seed 17 [--verbose]                   or several: --seed 17,42
 */
import { readlinkSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { threadState } from '../../src/linux/thread-state.js';
import { World } from './world.js';

/** A schedule takes milliseconds of a processor, the longest some seconds. One that takes so long goes round in a circle. */
const LIMIT_SECONDS = 90;

interface Failure {
  readonly seed: number;
  readonly text: string;
}

interface Share {
  readonly first: number;
  readonly count: number;
  readonly stride: number;
  readonly stopAfter: number;
  /** When no more schedules begin, by Date.now(). */
  readonly end: number;
  /** For the thread that watches: the seed that is played now, and the number that the kernel gave the thread which plays it. */
  readonly playing: Int32Array;
}

/** What went wrong in the schedule, or null. */
function runSchedule(seed: number, tracer: ((text: string) => void) | null): Failure | null {
  let world: World | undefined;
  try {
    world = new World(seed, tracer);
    world.run();
    return null;
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const where = world === undefined ? 'while it was set up' : `at step ${world.step} (${world.current})`;
    return {
      seed,
      text: `seed ${seed} failed ${where}: ${error.message}\n${error.stack?.split('\n').slice(1, 6).join('\n')}`,
    };
  }
}

function runShare(
  { first, count, stride, stopAfter, end, playing }: Share,
  report: (done: number, failure: Failure | null) => void,
): void {
  let failed = 0;
  Atomics.store(playing, 1, Number(readlinkSync('/proc/thread-self').split('/').at(-1)));
  for (let at = 0; at < count && Date.now() < end; at++) {
    const seed = first + at * stride;
    Atomics.store(playing, 0, seed);
    const failure = runSchedule(seed, null);
    report(1, failure);
    if (failure !== null && ++failed >= stopAfter) return;
  }
}

/** Calls `stuck` when one seed has had the processor for too long: on a busy machine a schedule that is merely slow takes any time. */
function watch(playing: Int32Array, limitSeconds: number, stuck: (seed: number) => void): () => void {
  let last = 0;
  let began = 0;
  const timer = setInterval(() => {
    const seed = Atomics.load(playing, 0);
    const ranMs = threadState(Atomics.load(playing, 1))?.ranMs ?? 0;
    if (seed !== last) began = ranMs;
    last = seed;
    if (seed === 0 || ranMs - began < limitSeconds * 1000) return;
    clearInterval(timer);
    stuck(seed);
  }, 1000);
  return () => clearInterval(timer);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      schedules: { type: 'string' },
      minutes: { type: 'string' },
      'first-seed': { type: 'string', default: '1' },
      jobs: { type: 'string' },
      seed: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      'stop-after': { type: 'string', default: '10' },
      /** Seconds of a processor that a schedule may take. */
      limit: { type: 'string', default: String(LIMIT_SECONDS) },
    },
  });
  if (values.seed !== undefined) {
    const seeds = values.seed.split(',').map(Number);
    const failures = seeds.flatMap((seed) => {
      const failure = runSchedule(seed, values.verbose ? (text) => console.log(text) : null);
      console.log(failure === null ? `seed ${seed} passed` : failure.text);
      return failure ?? [];
    });
    console.log(`${seeds.length - failures.length} passed, ${failures.length} failed`);
    process.exitCode = failures.length === 0 ? 0 : 1;
    return;
  }
  const limit = Number(values.limit);
  const limited = values.minutes !== undefined;
  const schedules = Number(values.schedules ?? (limited ? Number.MAX_SAFE_INTEGER : 1000));
  const first = Number(values['first-seed']);
  const jobs = Math.max(1, Math.min(Number(values.jobs ?? availableParallelism()), schedules));
  const end = limited ? Date.now() + Number(values.minutes) * 60_000 : Number.POSITIVE_INFINITY;
  const started = performance.now();
  let done = 0;
  let failed = 0;
  let shown = started;
  const note = (count: number, failures: readonly Failure[]): void => {
    done += count;
    for (const { text, seed } of failures) {
      failed++;
      console.log(`${text}\n  again: npm run -s simulation -- --seed ${seed} --verbose`);
    }
    if (performance.now() - shown < 5000) return;
    shown = performance.now();
    console.log(
      `${done}${limited ? '' : ` of ${schedules}`} schedules after ${((shown - started) / 1000).toFixed(0)} s`,
    );
  };
  const workers: Promise<void>[] = [];
  for (let job = 0; job < jobs; job++) {
    const share: Share = {
      first: first + job,
      count: Math.ceil((schedules - job) / jobs),
      stride: jobs,
      stopAfter: Number(values['stop-after']),
      end,
      playing: new Int32Array(new SharedArrayBuffer(8)),
    };
    workers.push(
      new Promise((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url), { workerData: share });
        worker.on('message', ({ count, failures }: { count: number; failures: Failure[] }) => note(count, failures));
        const unwatch = watch(share.playing, limit, (seed) => {
          note(1, [{ seed, text: `seed ${seed} failed by not ending within ${limit} s of a processor` }]);
          void worker.terminate();
        });
        worker.on('error', reject);
        worker.on('exit', () => {
          unwatch();
          resolve();
        });
      }),
    );
  }
  await Promise.all(workers);
  console.log(
    `${limited ? `${done} seeds from ${first} on` : `seeds ${first} to ${first + schedules - 1}`} in ${((performance.now() - started) / 1000).toFixed(1)} s with ${jobs} jobs`,
  );
  console.log(`${done - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || done === 0 ? 1 : 0;
}

if (isMainThread) await main();
else {
  let count = 0;
  let failures: Failure[] = [];
  const flush = (): void => {
    parentPort?.postMessage({ count, failures });
    count = 0;
    failures = [];
  };
  runShare(workerData as Share, (done, failure) => {
    count += done;
    if (failure !== null) failures.push(failure);
    if (count >= 50 || failure !== null) flush();
  });
  flush();
}
