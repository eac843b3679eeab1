/**
 * Entry of a thread of copies: fills pages and maps them, so that the manager need not. Copies come
 * through a ring in shared memory; how one ended is written into its place, where an awake manager
 * looks, and the eventfd raised for one that sleeps.
 */
import { workerData } from 'node:worker_threads';
import { FAILING_CALLS, failCalls } from '../../linux/base/failing-calls.js';
import { SERVING_SLICE_NS, setTimeSlice, threadId } from '../../linux/processes/process.js';
import { notifyEventfd } from '../../linux/threads/eventfd.js';
import { areLeft, type CopyRing, placeOf, Signal, takeFirst } from './copy-ring.js';
import { PageCopier } from './page-copy.js';

const { numbers, signals, wakeFd, control, awake, starting, failingCalls, ends } =
  workerData as CopyRing;
const counts = new Int32Array(control);
const failing = process.env[FAILING_CALLS];
if (failing !== undefined) failCalls(failing, 'copy', counts, failingCalls);

const signal = new Int32Array(signals);
const copier = new PageCopier(new Float64Array(numbers));

/** A copy that nobody else has; waits until there is one. */
function take(): number {
  for (;;) {
    const end = Atomics.load(signal, Signal.End);
    const copy = takeFirst(signal);
    if (copy !== null) return copy;
    if (!areLeft(signal)) Atomics.wait(signal, Signal.End, end);
  }
}

function tellManager(): void {
  try {
    notifyEventfd(wakeFd);
  } catch {
    // The manager looks for itself now and then.
  }
}

setTimeSlice(SERVING_SLICE_NS);
Atomics.store(signal, Signal.Thread, threadId());
Atomics.sub(counts, starting, 1);
Atomics.notify(counts, starting);
for (;;) {
  const copy = take();
  if (Atomics.load(signal, Signal.Stop) === 1) process.exit(0);
  if (ends) throw new Error('ended on purpose');
  copier.carryOut(placeOf(copy));
  Atomics.add(signal, Signal.Done, 1);
  // The manager may be waiting for this word, where a device has ended.
  Atomics.notify(signal, Signal.Done);
  // One that is awake looks for what has ended; one that sleeps has nothing to do before all have.
  if (Atomics.load(counts, awake) === 0 && !areLeft(signal)) tellManager();
}
