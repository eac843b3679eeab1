/**
 * What a piece of code took of this thread. A clock on the wall also counts the time in which other
 * threads had the processor, which on a busy machine is most of it.
 */
import { CLOCK_THREAD_CPUTIME_ID, RUSAGE_THREAD } from '../base/constants.js';
import { libc } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

/** Where struct rusage counts voluntary switches: behind two times and twelve counts. */
const VOLUNTARY_SWITCHES = 128;
const RUSAGE_BYTES = 144;

const buffer = new NativeBuffer(RUSAGE_BYTES);

/** Nanoseconds that this thread has run. */
export function threadRunningNs(): number {
  libc.clockGettime(CLOCK_THREAD_CPUTIME_ID, buffer.address);
  return buffer.getU64(0) * 1e9 + buffer.getU64(8);
}

/** How often this thread has given the processor up by itself, to wait for something. */
export function threadWaits(): number {
  libc.getrusage(RUSAGE_THREAD, buffer.address);
  return buffer.getU64(VOLUNTARY_SWITCHES);
}
