/** Threads of the manager that are starting must be up before the process exits. */
import { Control } from './control.js';

/** How long the end of a space or of the process waits for them. */
const LIMIT_MS = 2000;

/** Counts a thread that is about to be started. */
export function beginStart(control: Int32Array): void {
  Atomics.add(control, Control.StartingThreads, 1);
}

/** A thread that was counted is up, or has ended before. */
export function endStart(control: Int32Array): void {
  Atomics.sub(control, Control.StartingThreads, 1);
  Atomics.notify(control, Control.StartingThreads);
}

/** Waits until none is starting any more, or one takes too long. */
export function awaitStarting(control: Int32Array): void {
  const end = performance.now() + LIMIT_MS;
  for (let count = starting(control); count > 0 && performance.now() < end; count = starting(control)) {
    Atomics.wait(control, Control.StartingThreads, count, end - performance.now());
  }
}

/** The same, for a thread whose event loop tells of those that end instead. */
export async function startsEnded(control: Int32Array): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (starting(control) > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 1));
}

function starting(control: Int32Array): number {
  return Atomics.load(control, Control.StartingThreads);
}
