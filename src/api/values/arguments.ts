/** Checks of what a program hands in. Errors say what it was, and what is wanted. */

import { types } from 'node:util';
import type { OnememErrorCode } from '../../messages/error-codes.js';
import { type OptionNames, refuseUnknown } from '../../messages/option-names.js';
import { argumentError, typeError } from './errors.js';

const LONGEST_TEXT = 60;

/** Any value in a message, without asking it: its own text may be long, secret, an error. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(
      value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}...` : value,
    );
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return ArrayBuffer.isView(value) ? (arrayTypeName(value) ?? 'a DataView') : 'an object';
}

const { get: typeNameOf } = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
) as { get: () => string | undefined };

/** 'Float32Array' for one and for what is derived from it; undefined for what is no typed array. */
export function arrayTypeName(value: unknown): string | undefined {
  return typeNameOf.call(value);
}

/** Words as a sentence lists them: with commas, and 'and' before the last. */
export function enumerated(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(' and ');
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Errors of another realm are no instances of this one's class. */
export function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || types.isNativeError(thrown);
}

/** What was thrown, in words: it may have no text, or fail when it is asked for it. */
export function textOf(thrown: unknown): string {
  try {
    const text: unknown = isError(thrown) ? thrown.message : thrown;
    return typeof text === 'string' ? text : show(text);
  } catch {
    return 'something that has no text';
  }
}

/** An object of known options. @param example of them, where that is not to be guessed */
export function checkOptions<T extends object>(
  what: string,
  options: T,
  names: OptionNames<T>,
  example = '',
): void {
  checkObject(what, options, example);
  refuseUnknown('OPTIONS', `${what} has no option`, Object.keys(options), Object.keys(names));
}

/** An object of options, whatever they are called. */
export function checkObject(what: string, options: unknown, example = ''): void {
  if (isObject(options) && !ArrayBuffer.isView(options)) return;
  const such = example === '' ? '' : ` such as ${example}`;
  throw typeError('OPTIONS', `${what} takes an object of options${such}, not ${show(options)}`);
}

/** A flag that may be left out. */
export function checkFlag(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw typeError('OPTIONS', `${name} is true or false, not ${show(value)}`);
}

/** Refuses what cannot be copied to another thread. @param what does not do, for the message */
export function checkSendable(code: OnememErrorCode, what: string, value: unknown): void {
  try {
    structuredClone(value);
  } catch (error) {
    throw typeError(code, `${what}: ${textOf(error)}`);
  }
}

/** Whether the kernel may swap pages. */
export function checkLock(lock: unknown): void {
  if (lock === true || lock === false || lock === 'require') return;
  throw typeError('OPTIONS', `lock is true, false or 'require', not ${show(lock)}`);
}

/** Names are sent with each listing, to every process. */
const LONGEST_NAME = 65_536;

/** A name that may be left out. */
export function checkName(what: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'string')
    throw typeError('NAME', `the name of ${what} is a string, not ${show(value)}`);
  if (value.length <= LONGEST_NAME) return;
  const message = `the name of ${what} has ${value.length} characters; give it one of at most ${LONGEST_NAME}`;
  throw argumentError('NAME', message);
}

export function isWhole(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}

/** Beyond it timers of Node.js do not go. */
const MOST_MS = 2 ** 31 - 1;

export function checkMs(what: string, value: unknown, least: number): void {
  if (isWhole(value, least) && value <= MOST_MS) return;
  throw argumentError(
    'TIMEOUT_MS',
    `${what} is ${show(value)}; it must be a whole number of milliseconds from ${least} to ${MOST_MS}`,
  );
}

export function checkSize(name: string, value: unknown, least: number): void {
  if (isWhole(value, least)) return;
  throw argumentError(
    'SIZE',
    `${name} is ${show(value)}; it must be a whole number of ${least} or more`,
  );
}
