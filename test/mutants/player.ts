/**
 * A thread that plays schedules with one mutant after the other. It runs from the code that has the
 * switches: main.ts compiles it, and ends it where a schedule does not end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { chooseMutant, mutantReached } from '../harness/mutant-switch.js';
import { type Failure, notePlaying, type Playing, runSchedule } from '../simulation/schedule.js';

export interface Order {
  /** '': none. */
  readonly mutant: string;
  readonly firstSeed: number;
  readonly schedules: number;
}

export interface Answer {
  /** The first schedule that failed, or null. */
  readonly failure: Failure | null;
  /** Whether a schedule has come by the place of the mutant. */
  readonly reached: boolean;
}

function play({ mutant, firstSeed, schedules }: Order): Answer {
  chooseMutant(mutant);
  let failure: Failure | null = null;
  for (let seed = firstSeed; seed < firstSeed + schedules && failure === null; seed++) {
    notePlaying(workerData as Playing, seed);
    failure = runSchedule(seed, null);
  }
  return { failure, reached: mutantReached() };
}

parentPort?.on('message', (order: Order) => parentPort?.postMessage(play(order)));
