/** Runs seeded schedules of the memory manager, or one of them again. */
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { readOptions } from '../harness/options.js';
import {
  createPlaying,
  type Failure,
  notePlaying,
  type Playing,
  runSchedule,
  watch,
} from './schedule.js';

/**
 * A schedule takes milliseconds of a processor, the longest some seconds. One that takes so long
 * goes round in a circle.
 */
const LIMIT_SECONDS = 90;

const USAGE = `npm run -s simulation -- [--schedules N] [--first-seed S]   1000 from 1 on unless said otherwise
npm run -s simulation -- --minutes M [--first-seed S]       as many as that allows
npm run -s simulation -- --seed 17 [--verbose]              one of them again, or several: --seed 17,42

--jobs J         so many at the same time; as many as there are CPUs unless said otherwise
--stop-after N   a job begins none any more when so many of its own have failed; 10 unless said otherwise
--limit SECONDS  of a processor that a schedule may take; ${LIMIT_SECONDS} unless said otherwise`;

interface Share {
  readonly first: number;
  readonly count: number;
  readonly stride: number;
  readonly stopAfter: number;
  /** When no more schedules begin, by Date.now(). */
  readonly end: number;
  readonly playing: Playing;
}

function runShare(
  { first, count, stride, stopAfter, end, playing }: Share,
  report: (done: number, failure: Failure | null) => void,
): void {
  let failed = 0;
  for (let at = 0; at < count && Date.now() < end; at++) {
    const seed = first + at * stride;
    notePlaying(playing, seed);
    const failure = runSchedule(seed, null);
    report(1, failure);
    if (failure !== null && ++failed >= stopAfter) return;
  }
}

async function main(): Promise<void> {
  const { values } = readOptions(USAGE, {
    options: {
      schedules: { type: 'string' },
      minutes: { type: 'string' },
      'first-seed': { type: 'string', default: '1' },
      jobs: { type: 'string' },
      seed: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      'stop-after': { type: 'string', default: '10' },
      limit: { type: 'string', default: String(LIMIT_SECONDS) },
    },
  });
  if (values.seed !== undefined) {
    const seeds = values.seed.split(',').map(Number);
    const failures = seeds.flatMap((seed) => {
      const failure = runSchedule(seed, values.verbose ? (text) => console.log(text) : null);
      console.log(`seed ${seed} ${failure === null ? 'passed' : `failed ${failure.text}`}`);
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
      console.log(
        `seed ${seed} failed ${text}\n  again: npm run -s simulation -- --seed ${seed} --verbose`,
      );
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
      playing: createPlaying(),
    };
    workers.push(
      new Promise((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url), { workerData: share });
        worker.on('message', ({ count, failures }: { count: number; failures: Failure[] }) =>
          note(count, failures),
        );
        const unwatch = watch(share.playing, limit, (seed) => {
          note(1, [{ seed, text: `by not ending within ${limit} s of a processor` }]);
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
