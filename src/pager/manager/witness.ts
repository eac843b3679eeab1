/**
 * Watches the manager for a thread that attached to a space which a worker thread opened. When that
 * worker is terminated, or exits without a close, Node ends the workers that it started with it:
 * the manager, and the sentinel before it can say a word. A thread that sat in a fault would then
 * sit there for ever. So this thread, which belongs to the one that attached, says what has
 * happened and ends the process.
 */
import { existsSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { endProcess } from '../../linux/processes/kill.js';
import { Control, SpaceState } from '../protocol/control.js';
import { count } from '../protocol/output.js';
import { StandardError } from './standard-error.js';

const TICK_MS = 250;
/** Where the sentinel lives it has said by then what the manager ended of. */
const LOOKS = 8;
/** How long the end of the process waits for its message to be written. */
const LAST_WORDS_MS = 5000;

const control = new Int32Array(workerData as SharedArrayBuffer);
const standardError = new StandardError(control);

/** Looks in a row at which there was no such thread, and the manager did not move either. */
let missing = 0;
let beat = 0;
const watch = setInterval(() => {
  const state = Atomics.load(control, Control.State);
  if (state === SpaceState.Closed) clearInterval(watch);
  const moved = Atomics.load(control, Control.Heartbeat);
  const thread = `/proc/self/task/${Atomics.load(control, Control.ManagerThread)}`;
  const isMissing =
    state === SpaceState.Running &&
    moved === beat &&
    existsSync('/proc/self') &&
    !existsSync(thread);
  missing = isMissing ? missing + 1 : 0;
  beat = moved;
  if (missing === LOOKS) fail();
}, TICK_MS);

function fail(): void {
  clearInterval(watch);
  setTimeout(endProcess, LAST_WORDS_MS);
  count(control);
  const why =
    'the worker thread that opened it has ended without space.close(), while another thread was attached';
  standardError.write(
    `onemem: the memory of a space cannot be served any more: ${why}. The process ends.\n`,
    endProcess,
  );
}
