/** Errors as values that can be posted to another thread. */

import { type DenyReason, isLoss } from '../../core/basics/types.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { ThreadError } from '../../linux/threads/threads.js';
import type { OnememErrorCode } from '../../messages/error-codes.js';
import { PolicyError } from '../../policy/fallback.js';

/** An error on its way between threads. */
export interface WireError {
  readonly name: 'OnememError' | 'RangeError' | 'TypeError';
  readonly code: OnememErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly stack?: string;
}

export function wireError(
  code: OnememErrorCode,
  message: string,
  details: WireError['details'] = {},
  stack?: string,
): WireError {
  return { name: 'OnememError', code, message, details, ...(stack === undefined ? {} : { stack }) };
}

/** The error of what was cancelled before it began. */
export function abortError(reason: string): WireError {
  return wireError('CANCELLED', `cancelled before it began: ${reason}`, { cause: 'ABORTED' });
}

/** An error with the code that a user sees, thrown by the manager while it answers a request. */
export class RequestError extends Error {
  constructor(
    readonly code: OnememErrorCode,
    message: string,
    readonly details: Record<string, unknown> = {},
    readonly kind: WireError['name'] = 'OnememError',
  ) {
    super(message);
  }
}

export function toWire(error: unknown): WireError {
  if (error instanceof RequestError) {
    return { name: error.kind, code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof SystemCallError || error instanceof ThreadError) {
    const { code, message, stack } = error;
    const isOfDescriptors = code === 'EMFILE' || code === 'ENFILE';
    return wireError(
      isOfDescriptors ? 'DESCRIPTORS' : 'SYSTEM_CALL',
      isOfDescriptors
        ? `${message}; close files or sockets, or raise the limit of descriptors (ulimit -n)`
        : message,
      { errno: code },
      stack,
    );
  }
  if (error instanceof PolicyError)
    return { ...wireError(error.code, error.message), name: 'TypeError' };
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  return wireError('INTERNAL', message, {}, stack);
}

/** The code that a user sees for a denied access. */
export function codeOfDenial(reason: DenyReason): OnememErrorCode {
  if (isLoss(reason)) return 'DATA_LOST';
  switch (reason) {
    case 'FREED':
      return 'USE_AFTER_FREE';
    case 'READ_ONLY':
    case 'NO_ACCESS':
      return 'ACCESS_DENIED';
    case 'OUTSIDE':
      return 'OUT_OF_RANGE';
    case 'SOURCE_CHANGED':
      return 'FILE_CHANGED';
    default:
      return reason;
  }
}

/** Stores do not bring back what is lost, since they write parts of pages. */
const OVERWRITE =
  'empty the array (discard()), overwrite the whole array by an `out` launch or readFrom(), or free it';

/**
 * Why, as the rest of a sentence that begins with what was touched.
 *
 * @param remedy what is to be done about pages that are lost
 */
export function explainDenial(reason: DenyReason, remedy = OVERWRITE): string {
  switch (reason) {
    case 'FREED':
      return 'which has been freed';
    case 'LOST':
      return `whose only copy was on a device that died; ${remedy}`;
    case 'READ_ONLY':
      return 'which may only be read';
    case 'NO_ACCESS':
      return 'which is protected against all access';
    case 'PINNED':
      return 'which is pinned in host memory; unpin it, or advise accessedBy for the device, so that it writes the memory in place';
    case 'OUTSIDE':
      return 'which belongs to no array';
    case 'PROVIDER_FAILED':
      return 'which its provider could not fill';
    case 'ACCESS_REFUSED':
      return 'which its provider refused';
    case 'SOURCE_CHANGED':
      return 'whose file has become shorter or cannot be read any more';
    case 'CORRUPTED':
      return `whose only copy came back from storage other than it was written (a checksum does not match); have the disk looked at, and ${remedy}`;
    case 'ALTERED':
      return `whose only copy was changed on a server by another program (its checksum does not match); ${remedy}`;
    case 'GONE':
      return `whose only copy was on a server, and was evicted, removed, or expired there while this program stood still; set maxmemory-policy noeviction on the server, and ${remedy}`;
    case 'FORGOTTEN':
      return `whose only copy was on a server that was restarted empty; ${remedy}`;
    case 'NODE_LOST':
      return 'which is on another machine, and cannot be had from there';
    case 'OUT_OF_STORAGE':
      return 'for which no memory is left, since storage could not take what would make room';
    case 'OUT_OF_MEMORY':
      return 'for which no memory is left: everything is pinned, held by launches, or not to be had again';
    case 'DEVICE_LOST':
      return 'which was on its way to a device that is gone';
    case 'IN_PLACE':
      return 'which the device reaches in place and cannot have in its own memory';
    case 'COPY_FAILED':
      return 'whose content could not be copied after several attempts';
  }
}
