/**
 * System calls that fail on purpose, so that tests can see what becomes of it. The calls of this
 * thread are replaced where they stand: a thread that was told of no failure calls the C library
 * directly, as if this file did not exist.
 */
import { constants as os } from 'node:os';
import * as numbers from './constants.js';
import { libc, SYSTEM_CALL, setErrno } from './libc.js';

/** The environment variable of failures, read by the manager's threads as they start. */
export const FAILING_CALLS = 'ONEMEM_FAILING_CALLS';

/** Set in the word that is shared with the test: uses count from then on. */
const ARMED = 1;
/** What each failure adds to the word. */
const FIRED = 2;

interface Failure {
  readonly errno: number;
  /** The use that fails first, and the last one. */
  readonly first: number;
  readonly last: number;
  uses: number;
}

type AnyCall = (...args: never[]) => number;

/** The C function that makes a call, and its uses: requests of ioctl, numbers of syscall. */
function siteOf(call: string): { name: keyof typeof libc; argument: number; value: number } {
  if (call.startsWith('UFFDIO_')) {
    const value = (numbers as unknown as Record<string, number | undefined>)[call];
    if (value !== undefined) return { name: 'ioctl', argument: 1, value };
  }
  const number = (SYSTEM_CALL as Record<string, number | undefined>)[call];
  if (number !== undefined) return { name: 'systemCall', argument: 0, value: number };
  if (call in libc) return { name: call as keyof typeof libc, argument: -1, value: 0 };
  throw new RangeError(`${FAILING_CALLS} names ${call}, which is no system call of this program`);
}

/**
 * Has calls of this thread fail: `CALL:ERROR:FIRST-LAST`, separated by commas, where the use
 * numbered FIRST fails and all up to LAST, or FIRST alone. What stands behind `later` fails while
 * bit 0 of the word is set. `THREAD/CALL` means threads of one kind alone.
 *
 * @param thread the kind of this thread
 * @param word shared with the test: bit 0 arms the failures, and the rest counts those that have
 * happened
 */
export function failCalls(
  text: string,
  thread: 'manager' | 'io' | 'copy',
  word: Int32Array,
  index: number,
): void {
  const parts = text.split(',').filter((part) => part !== '');
  if (!parts.includes('later')) Atomics.or(word, index, ARMED);
  const always = parts.indexOf('later');
  for (const [at, part] of parts.entries()) {
    if (at === always) continue;
    const [where, error, uses = '1'] = part.split(':');
    const [call, kind = thread] = where.split('/').reverse();
    if (kind !== thread) continue;
    const [first, last = first] = uses.split('-').map(Number);
    const errno = (os.errno as Record<string, number | undefined>)[error];
    if (errno === undefined || !(first >= 1 && last >= first))
      throw new RangeError(`${FAILING_CALLS}: ${part}`);
    const { name, argument, value } = siteOf(call);
    const failure: Failure = { errno, first, last, uses: 0 };
    const original = libc[name] as AnyCall;
    const replaced: AnyCall = (...args) => {
      const meant = argument === -1 || args[argument] === value;
      const armed = at < always || (Atomics.load(word, index) & ARMED) !== 0;
      if (!meant || !armed) return original(...args);
      failure.uses++;
      if (failure.uses < failure.first || failure.uses > failure.last) return original(...args);
      Atomics.add(word, index, FIRED);
      setErrno(failure.errno);
      return -1;
    };
    (libc as unknown as Record<string, AnyCall>)[name] = replaced;
  }
}
