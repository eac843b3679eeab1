/**
 * Rundown protection of native calls: a thread that Node.js stops while the foreign function
 * interface makes a JavaScript value for it, a function or a view, aborts the process instead of
 * ending. Such calls are counted while they run, and the thread that is about to take others along
 * with its end waits until there is none, and lets no more begin.
 *
 * Each thread takes along those that it has started, and these theirs. So each has a gate, which it
 * closes when it ends, and goes through those of the threads above it. No thread stops the first
 * one of the process, which goes through none.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** The name by which threads hand gates down; the number is that of the words below. */
const GATES = 'onemem: gates 1';
/** Words of a gate: how many calls are running, and whether no more may begin. */
const RUNNING = 0;
const CLOSED = 1;

const above = ((getEnvironmentData(GATES) ?? []) as SharedArrayBuffer[]).map(
  (gate) => new Int32Array(gate),
);
let own = handDown();

/** A new gate for the threads that this one starts from now on. */
function handDown(): Int32Array {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  setEnvironmentData(
    GATES,
    [...above, gate].map(({ buffer }) => buffer),
  );
  return gate;
}

/** Begins a call that must not be cut short. Does not return where a thread above ends. */
export function beginUncut(): void {
  for (const gate of above) {
    Atomics.add(gate, RUNNING, 1);
    if (Atomics.load(gate, CLOSED) === 1) standStill(gate);
  }
}

export function endUncut(): void {
  for (const gate of above) {
    if (Atomics.sub(gate, RUNNING, 1) === 1 && Atomics.load(gate, CLOSED) === 1)
      Atomics.notify(gate, RUNNING);
  }
}

/** Waits until the thread is stopped, which Node.js does in such a wait without harm. */
function standStill(closed: Int32Array): never {
  for (const gate of above) {
    Atomics.sub(gate, RUNNING, 1);
    Atomics.notify(gate, RUNNING);
    if (gate === closed) break;
  }
  for (;;) Atomics.wait(closed, CLOSED, 1);
}

/**
 * Before this thread ends: lets no such call of a thread that it has started begin, nor of those
 * below, and waits for those that run. False: one still runs after so many milliseconds.
 */
export function runDown(limitMs: number): boolean {
  Atomics.store(own, CLOSED, 1);
  const end = performance.now() + limitMs;
  for (;;) {
    const running = Atomics.load(own, RUNNING);
    if (running === 0) return true;
    const left = end - performance.now();
    if (left <= 0) return false;
    Atomics.wait(own, RUNNING, running, left);
  }
}

/** This thread goes on after all: threads that it starts may make such calls. */
export function goOn(): void {
  if (Atomics.load(own, CLOSED) === 1) own = handDown();
}
