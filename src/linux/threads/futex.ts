/** Waiting on a word of memory. Atomics.wait refuses memory that is not a SharedArrayBuffer. */
import { monotonicMs } from '../base/clock.js';
import {
  EAGAIN,
  EFAULT,
  EINTR,
  ETIMEDOUT,
  FUTEX_BITSET_MATCH_ANY,
  FUTEX_PRIVATE_FLAG,
  FUTEX_WAIT_BITSET,
  FUTEX_WAKE,
} from '../base/constants.js';
import { type CallArguments, check, SystemCallError } from '../base/errors.js';
import { errno, libc, SYSTEM_CALL } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

const deadline = new NativeBuffer(4096);

/**
 * Which threads meet at a word. 'shared': those of all processes that have mapped its memory; the
 * page is then needed for writing, even to wake. 'private': those of this process, by the address
 * alone; the page is needed only to wait, and only for reading.
 */
export type FutexScope = 'shared' | 'private';

function flagOf(scope: FutexScope): number {
  return scope === 'private' ? FUTEX_PRIVATE_FLAG : 0;
}

/**
 * Sleeps while the 32-bit word at an address has the expected value. 'changed': it had another one.
 * 'absent': its page is not there, and faults of the kernel are not served. A wake-up may be
 * spurious, as with every futex: look at the word again.
 */
export function futexWait(
  address: number,
  expected: number,
  timeoutMs = Number.POSITIVE_INFINITY,
  scope: FutexScope = 'shared',
): 'woken' | 'changed' | 'timeout' | 'absent' {
  let timeout = 0;
  if (timeoutMs !== Number.POSITIVE_INFINITY) {
    // An absolute time of the monotonic clock: after a signal the same call can simply be made
    // again.
    const at = monotonicMs() + Math.max(0, timeoutMs);
    deadline.setU64(0, Math.floor(at / 1000));
    deadline.setU64(8, Math.floor((at % 1000) * 1e6));
    timeout = deadline.address;
  }
  const operation = FUTEX_WAIT_BITSET | flagOf(scope);
  for (;;) {
    const result = libc.systemCall(
      SYSTEM_CALL.futex,
      address,
      operation,
      expected >>> 0,
      timeout,
      0,
      FUTEX_BITSET_MATCH_ANY,
    );
    if (result >= 0) return 'woken';
    const number = errno();
    if (number === EAGAIN) return 'changed';
    if (number === ETIMEDOUT) return 'timeout';
    if (number === EFAULT) return 'absent';
    if (number !== EINTR)
      throw new SystemCallError(
        'futex',
        { address, operation: 'wait', expected, timeoutMs },
        number,
      );
  }
}

/** Wakes up to as many waiters; returns how many there were. */
export function futexWake(
  address: number,
  count = 0x7fffffff,
  scope: FutexScope = 'shared',
): number {
  return tryFutexWake(address, count, scope) ?? check(-1, 'futex', wakeOf(address, count));
}

/** Null: the page is not there, and faults of the kernel are not served. */
export function tryFutexWake(address: number, count: number, scope: FutexScope): number | null {
  const operation = FUTEX_WAKE | flagOf(scope);
  const woken = libc.systemCall(SYSTEM_CALL.futex, address, operation, count, 0, 0, 0);
  if (woken < 0 && errno() === EFAULT) return null;
  return check(woken, 'futex', wakeOf(address, count));
}

function wakeOf(address: number, count: number): CallArguments {
  return { address, operation: 'wake', count };
}
