/**
 * Entry of a thread of copies: fills pages and maps them, so that the manager need not. Copies come through a ring in shared memory; how one
 * ended is written into its place, and the manager's eventfd raised.
 */
import { workerData } from 'node:worker_threads';
import { Access } from '../../core/types.js';
import { MADV_POPULATE_WRITE } from '../../linux/constants.js';
import { notifyEventfd } from '../../linux/eventfd.js';
import { FAILING_CALLS, failCalls } from '../../linux/failing-calls.js';
import { copyMemory, tryMadvise } from '../../linux/memory.js';
import { Userfaultfd } from '../../linux/userfaultfd.js';
import { insertPages } from '../page-filling.js';
import { COPY_WORDS, type CopyRing, Kind, Signal, Word } from './copy-ring.js';

const { numbers, signals, wakeFd, control, starting, failingCalls, ends } = workerData as CopyRing;
const counts = new Int32Array(control);
const failing = process.env[FAILING_CALLS];
if (failing !== undefined) failCalls(failing, 'copy', counts, failingCalls);

const words = new Float64Array(numbers);
const signal = new Int32Array(signals);
const places = words.length / COPY_WORDS;
/** For all descriptors, each of which is set before a call. */
const faults = Userfaultfd.fromFd(-1);

function carryOut(at: number): void {
  const kind = words[at + Word.Kind];
  const source = words[at + Word.Source];
  const memory = words[at + Word.Memory];
  const address = words[at + Word.Address];
  const length = words[at + Word.Length];
  const access = words[at + Word.Access];
  faults.fd = words[at + Word.Faults];
  if (kind === Kind.Insert) {
    end(at, insertPages(faults, address, source, length, access === Access.Read), faults.progress);
    return;
  }
  const refused = kind === Kind.Populate ? tryMadvise(memory, length, MADV_POPULATE_WRITE) : 0;
  if (refused !== 0) {
    end(at, refused, -1);
    return;
  }
  copyMemory(memory, source, length);
  if (access === Access.None) end(at, 0, length);
  else end(at, faults.continue_(address, length, access === Access.Read), faults.progress);
}

function end(at: number, result: number, progress: number): void {
  words[at + Word.Result] = result;
  words[at + Word.Progress] = progress;
}

function tellManager(): void {
  try {
    notifyEventfd(wakeFd);
  } catch {
    // The manager looks for itself now and then.
  }
}

Atomics.store(signal, Signal.Up, 1);
Atomics.sub(counts, starting, 1);
Atomics.notify(counts, starting);
for (let next = 0; ; next = (next + 1) | 0) {
  while (Atomics.load(signal, Signal.HandedIn) === next) Atomics.wait(signal, Signal.HandedIn, next);
  if (Atomics.load(signal, Signal.Stop) === 1) process.exit(0);
  if (ends) throw new Error('ended on purpose');
  carryOut((next % places) * COPY_WORDS);
  Atomics.store(signal, Signal.Done, (next + 1) | 0);
  // The manager may be waiting for this word, where a device has ended.
  Atomics.notify(signal, Signal.Done);
  tellManager();
}
