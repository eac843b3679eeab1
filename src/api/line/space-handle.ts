/** Handles of spaces: how a changed or hand-made one is told from a good one. */

import { types } from 'node:util';
import { CONTROL_WORDS, Control, DIGEST_WORDS } from '../../pager/protocol/control.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import { isObject, isWhole } from '../values/arguments.js';
import { typeError } from '../values/errors.js';

/**
 * The handle for another thread. A digest of it is kept in the memory that the threads share, where
 * no program changes it by accident. It is made when the handle is first given away: most programs
 * have one thread, and need not load the module that makes digests.
 */
export function handOut(handle: SpaceHandle): SpaceHandle {
  const words = digestWords(handle);
  if (words.every((word) => word === 0)) words.set(digestOf(handle));
  return handle;
}

/** What to do instead, in another process than that which opened the space. */
export const FOR_OTHER_PROCESSES = 'other processes attach by the text that space.share() gives';

/** What was handed in where a handle is wanted, as far as that can be told. */
export function whatIs(given: unknown, wanted: 'space' | 'array'): string {
  const { onemem, control, range, space } = (isObject(given) ? given : {}) as Record<
    string,
    unknown
  >;
  const found = range !== undefined && isObject(space) ? 'array' : onemem === 1 ? 'space' : null;
  // Memory that threads share is sent by postMessage and workerData alone.
  if (found === 'space' && !types.isSharedArrayBuffer(control))
    return (
      'a handle that has lost the memory that is in it, as in text (JSON) or a message to another process: ' +
      `send it to threads of its process by postMessage or workerData; ${FOR_OTHER_PROCESSES}`
    );
  if (found === null || found === wanted)
    return `no handle of ${wanted === 'array' ? 'an array' : 'a space'}`;
  return found === 'array'
    ? 'the handle of an array, for attachArray()'
    : 'the handle of a space, for attachSpace()';
}

export function checkSpaceHandle(handle: unknown): asserts handle is SpaceHandle {
  if (isObject(handle)) {
    const { onemem, owner, control } = handle as Partial<SpaceHandle>;
    const shared = types.isSharedArrayBuffer(control) && control.byteLength === CONTROL_WORDS * 4;
    if (onemem === 1 && shared && isWhole(owner, 1)) return;
  }
  throw typeError(
    'SPACE_HANDLE',
    `this is ${whatIs(handle, 'space')}; pass what space.handle gives, or space.share() in another process`,
  );
}

/** Before the handle is used: a wrong descriptor would be written to, a wrong name awaited. */
export function checkUnchanged(handle: SpaceHandle): void {
  const words = digestWords(handle);
  if (digestOf(handle).every((word, index) => words[index] === word)) return;
  throw typeError(
    'SPACE_HANDLE',
    'the handle of the space has been changed; pass what space.handle gives, as it is',
  );
}

function digestWords({ control }: SpaceHandle): Int32Array {
  return new Int32Array(control, Control.Digest * 4, DIGEST_WORDS);
}

function digestOf({ control: _control, ...rest }: SpaceHandle): Int32Array {
  const { buffer, byteOffset } = process
    .getBuiltinModule('node:crypto')
    .createHash('sha256')
    .update(textOf(rest))
    .digest();
  return new Int32Array(buffer.slice(byteOffset, byteOffset + DIGEST_WORDS * 4));
}

function textOf(fields: object): string {
  try {
    return JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
  } catch {
    // It holds what no handle holds.
    return '';
  }
}
