/**
 * Waiting for an element of a managed array to change, as Atomics.wait does for shared memory; it
 * refuses memory that is not a SharedArrayBuffer. Threads meet by the address of the element, so
 * that its page may move meanwhile, and need not be there to wake a thread.
 */
import { isWritableHere } from '../../../linux/memory/pagemap.js';
import { futexWait, futexWake, tryFutexWake } from '../../../linux/threads/futex.js';
import { type ArrayInternals, isManaged } from '../../line/internals.js';
import { show } from '../../values/arguments.js';
import { argumentError, typeError } from '../../values/errors.js';
import { typeName } from '../parts/array-type.js';

/**
 * 'ok': notified, changed, or woken for no reason. 'not-equal': the element had another value from
 * the beginning.
 */
export type WaitResult = 'ok' | 'not-equal' | 'timed-out';

type WaitedFor = ArrayInternals<Int32Array> | ArrayInternals<Uint32Array>;

/** A sleeping thread hears neither of its worker's end nor of its space's: it looks so often. */
const LOOK_MS = 200;

export function wait(
  array: WaitedFor,
  index: number,
  value: number,
  timeoutMs: number,
): WaitResult {
  checkElement('wait for', array, index);
  checkValue(array, value);
  if (typeof timeoutMs !== 'number' || Number.isNaN(timeoutMs)) {
    throw argumentError(
      'TIMEOUT_MS',
      `timeout is ${show(timeoutMs)}; it must be a number of milliseconds, or Infinity`,
    );
  }
  const { client } = array.space;
  const address = addressOf(array, index);
  const deadline = performance.now() + Math.max(0, timeoutMs);
  client.assertOpen(waitingFor(array));
  let wasAlone = false;
  for (let isFirst = true; ; isFirst = false) {
    const left = Math.max(0, deadline - performance.now());
    const isShared = client.hasOtherProcesses;
    const scope = isShared && mayMeetOthers(array, index) ? 'shared' : 'private';
    // Since the element may be written again, a thread of another process may have notified unheard.
    if (wasAlone && scope === 'shared') return 'ok';
    wasAlone = isShared && scope === 'private';
    // The kernel looks at the element first, and asks nobody where its page is there.
    const result = futexWait(address, value, Math.min(left, LOOK_MS), scope);
    if (result === 'woken') return 'ok';
    const isOther = result === 'changed' || (result === 'absent' && isChanged(array, index, value));
    if (isOther) return isFirst ? 'not-equal' : 'ok';
    if (performance.now() >= deadline) return 'timed-out';
    client.hear();
    client.assertOpen(waitingFor(array));
  }
}

/**
 * Whether threads of several processes may meet at the element. The kernel asks for its page to
 * write then. Where that is denied, accesses to the page fail from then on.
 */
function mayMeetOthers(array: ArrayInternals, index: number): boolean {
  if (isWritableHere(addressOf(array, index))) return true;
  return array.space.client.call('mayWrite', array.pagesOf(index, index + 1));
}

function waitingFor(array: ArrayInternals): string {
  return `waiting for array ${array.name}`;
}

/** Whether an element has another value. Its page is not there, and has come afterwards. */
function isChanged(array: WaitedFor, index: number, value: number): boolean {
  if (read(array, index) !== value) return true;
  // It may be read: the manager has just said so.
  return Atomics.load(array.data, index) !== value;
}

/**
 * The element, which the manager reads: a touch of one that may not be read, or whose content is
 * lost, would end the process, and the manager says why as an error.
 */
function read(array: WaitedFor, index: number): number {
  const { client } = array.space;
  const { rangeId: range, name, offset } = array;
  const { data } = client.call('readBytes', { range, name, offset: offset + index * 4, bytes: 4 });
  const word = new DataView(data.buffer, data.byteOffset).getInt32(0, true);
  return array.type === 'i32' ? word : word >>> 0;
}

export function notify(array: WaitedFor, index: number, count: number): number {
  checkElement('notify', array, index);
  if (count !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(count) && count >= 0)) {
    throw argumentError(
      'COUNT',
      `count is ${show(count)}; it must be a whole number of 0 or more, or Infinity`,
    );
  }
  if (count === 0) return 0;
  const address = addressOf(array, index);
  const most = Math.min(count, 0x7fff_ffff);
  const woken = futexWake(address, most, 'private');
  if (!array.space.client.hasOtherProcesses || woken === most) return woken;
  // Threads of other processes that wait for it look by themselves.
  if (!mayMeetOthers(array, index)) return woken;
  for (;;) {
    // The kernel finds threads of other processes by the page, which must be there.
    const others = tryFutexWake(address, most - woken, 'shared');
    if (others !== null) return woken + others;
    array.assertUsable('notify');
    Atomics.load(array.data as Int32Array, index);
  }
}

function addressOf(array: ArrayInternals, index: number): number {
  return Number(array.address) + index * 4;
}

function checkElement(verb: string, array: ArrayInternals, index: number): void {
  if (!isManaged(array)) {
    throw typeError(
      'WAIT_ARRAY',
      `cannot ${verb} ${show(array)}: only elements of managed arrays can be waited for`,
    );
  }
  // That another thread has freed it is seen by its pages, which are gone.
  array.assertHere(verb);
  if (array.type !== 'i32' && array.type !== 'u32') {
    throw typeError(
      'WAIT_ARRAY',
      `cannot ${verb} array ${array.name}: it is ${typeName(array)}, and the kernel waits for words of 32 bits only; ` +
        'keep an Int32Array or Uint32Array beside it that counts its changes',
    );
  }
  if (Number.isSafeInteger(index) && index >= 0 && index < array.length) return;
  throw argumentError(
    'ARRAY_INDEX',
    `element ${show(index)} is not in array ${array.name}: an index is a whole number from 0 to ${array.length - 1}`,
  );
}

function checkValue(array: ArrayInternals, value: number): void {
  if (typeof value === 'number' && value === (array.type === 'i32' ? value | 0 : value >>> 0))
    return;
  throw argumentError(
    'VALUE',
    `${show(value)} is no value of an element of array ${array.name} (${typeName(array)}): waiting for it to change would not wait`,
  );
}
