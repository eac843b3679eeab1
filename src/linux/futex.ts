/** Waiting on a word of memory that processes share. Atomics.wait refuses memory that is not a SharedArrayBuffer. */
import { EAGAIN, EINTR, ETIMEDOUT, FUTEX_BITSET_MATCH_ANY, FUTEX_WAIT_BITSET, FUTEX_WAKE } from './constants.js';
import { check, SystemCallError } from './errors.js';
import { errno, libc, SYSTEM_CALL } from './libc.js';
import { NativeBuffer } from './native-buffer.js';

const deadline = new NativeBuffer(4096);

/**
 * Sleeps while the 32-bit word at an address has the expected value. 'changed': it had another one. A wake-up may be spurious,
 * as with every futex: look at the word again. The page must be resident, unless faults of the kernel are served.
 */
export function futexWait(
  address: number,
  expected: number,
  timeoutMs = Number.POSITIVE_INFINITY,
): 'woken' | 'changed' | 'timeout' {
  let timeout = 0;
  if (timeoutMs !== Number.POSITIVE_INFINITY) {
    // An absolute time of the monotonic clock, which process.hrtime reads too: a signal can then simply wait again.
    const [seconds, nanoseconds] = process.hrtime();
    const total = nanoseconds + Math.max(0, timeoutMs) * 1e6;
    deadline.setU64(0, seconds + Math.floor(total / 1e9));
    deadline.setU64(8, Math.floor(total % 1e9));
    timeout = deadline.address;
  }
  for (;;) {
    const result = libc.systemCall(
      SYSTEM_CALL.futex,
      address,
      FUTEX_WAIT_BITSET,
      expected >>> 0,
      timeout,
      0,
      FUTEX_BITSET_MATCH_ANY,
    );
    if (result >= 0) return 'woken';
    const number = errno();
    if (number === EAGAIN) return 'changed';
    if (number === ETIMEDOUT) return 'timeout';
    if (number !== EINTR)
      throw new SystemCallError('futex', { address, operation: 'wait', expected, timeoutMs }, number);
  }
}

/** Wakes up to as many waiters; returns how many there were. */
export function futexWake(address: number, count = 0x7fffffff): number {
  return check(libc.systemCall(SYSTEM_CALL.futex, address, FUTEX_WAKE, count, 0, 0, 0), 'futex', {
    address,
    operation: 'wake',
    count,
  });
}
