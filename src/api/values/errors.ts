/** What a user of onemem catches. */
import type { OnememErrorCode } from '../../messages/error-codes.js';
import type { WireError } from '../../pager/protocol/wire.js';

/**
 * An error with a `code`, and `details` that help to act on it.
 * @example
 * const x = space.array(Float32Array, 10);
 * x.free();
 * const error = await x.discard().catch((error) => error);
 * console.log(error.code); // USE_AFTER_FREE
 */
export class OnememError extends Error {
  override readonly name = 'OnememError';

  constructor(
    readonly code: OnememErrorCode,
    message: string,
    readonly details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Arrays, or parts of them, whose content is indeterminate after a device was lost. */
  get ranges(): readonly { parameter: string; offset: number; length: number }[] {
    return (
      (this.details.ranges as
        | { parameter: string; offset: number; length: number }[]
        | undefined) ?? []
    );
  }
}

export function fromWire(wire: WireError, options?: ErrorOptions): Error {
  if (wire.name !== 'OnememError') {
    const made =
      wire.name === 'RangeError' ? new RangeError(wire.message) : new TypeError(wire.message);
    return Object.assign(made, { code: wire.code, details: wire.details });
  }
  const error = new OnememError(wire.code, wire.message, wire.details, options);
  // The stack of a kernel's own error is what its author needs; ours would only show the way of a
  // message.
  if (wire.stack !== undefined)
    error.stack = `OnememError [${wire.code}]: ${wire.message}\n${wire.stack}`;
  return error;
}

export function argumentError(code: OnememErrorCode, message: string): RangeError {
  return Object.assign(new RangeError(message), { code });
}

/** Tells what is no error, once the program goes on. */
export function warn(code: `ONEMEM_${string}`, message: string): void {
  process.emitWarning(message, { type: 'OnememWarning', code });
}

/** The error of `new` for a class whose objects only the package makes. */
export function madeElsewhere(what: string, by: string): TypeError {
  return typeError('CONSTRUCTOR', `${what} is made by ${by}, and not by new`);
}

export function typeError(code: OnememErrorCode, message: string): TypeError {
  return Object.assign(new TypeError(message), { code });
}
