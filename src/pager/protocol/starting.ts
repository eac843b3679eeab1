/** Threads of the manager that are starting must be up before the process exits. */
import { Control } from './control.js';

/** Waits until none is starting any more, at most so long. */
export function awaitStarting(control: Int32Array, limitMs: number): void {
  const end = performance.now() + limitMs;
  for (let count = starting(control); count > 0 && performance.now() < end; count = starting(control)) {
    Atomics.wait(control, Control.StartingThreads, count, end - performance.now());
  }
}

function starting(control: Int32Array): number {
  return Atomics.load(control, Control.StartingThreads);
}
