/**
 * Threads of the manager that are starting must be up before they are stopped, as the end of the
 * manager does: in the middle of loading the foreign function interface that would abort the
 * process. The end of the process waits for such calls themselves.
 */
import { Control } from './control.js';

/** How long the end of a space waits for them. */
const LIMIT_MS = 2000;

/** A thread that is counted while it starts: what it needs to say that it is up. */
export interface Start {
  /** The control memory of the space. */
  readonly control: SharedArrayBuffer;
  /** One word: 1 when it is counted no more. */
  readonly ended: SharedArrayBuffer;
}

/** Counts a thread that is about to be started. */
export function beginStart(control: SharedArrayBuffer): Start {
  Atomics.add(new Int32Array(control), Control.StartingThreads, 1);
  return { control, ended: new SharedArrayBuffer(4) };
}

/** A counted thread is up, as it says, or has ended, as its starter says: the first counts. */
export function endStart({ control, ended }: Start): void {
  if (Atomics.exchange(new Int32Array(ended), 0, 1) === 1) return;
  const words = new Int32Array(control);
  Atomics.sub(words, Control.StartingThreads, 1);
  Atomics.notify(words, Control.StartingThreads);
}

/** Waits until none is starting any more, or one takes too long. */
export async function startsEnded(control: Int32Array): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (starting(control) > 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 1));
}

function starting(control: Int32Array): number {
  return Atomics.load(control, Control.StartingThreads);
}
