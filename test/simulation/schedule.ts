/** One schedule from its beginning to its end, and a watch for those that have none. */
import { readlinkSync } from 'node:fs';
import { threadState } from '../../src/linux/threads/thread-state.js';
import { World } from './world.js';

export interface Failure {
  readonly seed: number;
  /** Where, and what: one line, and then the stack. */
  readonly text: string;
}

/** What went wrong in the schedule, or null. */
export function runSchedule(seed: number, tracer: ((text: string) => void) | null): Failure | null {
  let world: World | undefined;
  try {
    world = new World(seed, tracer);
    world.run();
    return null;
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const where =
      world === undefined ? 'while it was set up' : `at step ${world.step} (${world.current})`;
    return {
      seed,
      text: `${where}: ${error.message}\n${error.stack?.split('\n').slice(1, 6).join('\n')}`,
    };
  }
}

/**
 * What a thread that plays schedules is doing, for the one that watches it: the schedule's seed, a
 * count of schedules, and the kernel's number of the thread.
 */
export type Playing = Int32Array<SharedArrayBuffer>;

export function createPlaying(): Playing {
  return new Int32Array(new SharedArrayBuffer(12));
}

/** The thread that calls this begins with the schedule. */
export function notePlaying(playing: Playing, seed: number): void {
  if (playing[2] === 0) playing[2] = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  playing[0] = seed;
  Atomics.add(playing, 1, 1);
}

/**
 * Calls `stuck` when one schedule has had the processor for too long: on a busy machine one that is
 * merely slow takes any time.
 */
export function watch(
  playing: Playing,
  limitSeconds: number,
  stuck: (seed: number) => void,
): () => void {
  let last = 0;
  let began = 0;
  const timer = setInterval(() => {
    const count = Atomics.load(playing, 1);
    const ranMs = threadState(playing[2])?.ranMs ?? 0;
    if (count !== last) began = ranMs;
    last = count;
    if (count === 0 || ranMs - began < limitSeconds * 1000) return;
    clearInterval(timer);
    stuck(playing[0]);
  }, 250);
  return () => clearInterval(timer);
}
