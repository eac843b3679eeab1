/** Reading a command line. Whatever is wrong with it is a UsageError that says how to write it. */

import { parseArgs } from 'node:util';
import { parseSize } from '../../api/values/sizes.js';
import { UsageError } from './failure.js';
import { formatBytes } from './format.js';

interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly short?: string;
}
export type Options = Readonly<Record<string, Option>>;

/** What was given: a text or true, and a list where an option may be repeated. */
export type Values<T extends Options> = {
  readonly [K in keyof T]?: T[K]['type'] extends 'boolean'
    ? boolean
    : T[K]['multiple'] extends true
      ? string[]
      : string;
};

const COMMON = {
  help: { type: 'boolean', short: 'h' },
  debug: { type: 'boolean' },
} as const satisfies Options;

/** As node:util parseArgs, strict, with positional arguments. */
export function parseOptions<T extends Options>(
  command: string,
  args: readonly string[],
  options: T,
): { values: Values<T>; positionals: string[] } {
  try {
    const all: Options = { ...COMMON, ...options };
    const { values, positionals } = parseArgs({
      args: withValues(args, all),
      options: all,
      allowPositionals: true,
    });
    return { values: values as Values<T>, positionals };
  } catch (error) {
    // The first sentence says what is wrong; what follows is advice on positional arguments that
    // look like options.
    const [what] = (error as Error).message.split(/\. (?=To )|\n/);
    const [, option] = /^Option '(--[\w-]+)' argument is ambiguous/.exec(what) ?? [];
    const said =
      option === undefined
        ? what.replace(/\.$/, '')
        : `${option} has no value; write ${option}=VALUE where that begins with -`;
    throw new UsageError(`${said}; see: onemem ${command} --help`);
  }
}

/**
 * A negative number is the value of the option before it, which is to say what it takes; node:util
 * would ask which of the two is meant.
 */
function withValues(args: readonly string[], options: Options): string[] {
  const result: string[] = [];
  for (const [index, arg] of args.entries()) {
    if (arg === '--') return [...result, ...args.slice(index)];
    const before = result[result.length - 1] ?? '';
    const wantsValue = before.startsWith('--') && options[before.slice(2)]?.type === 'string';
    if (wantsValue && /^-[.\d]/.test(arg)) result[result.length - 1] = `${before}=${arg}`;
    else result.push(arg);
  }
  return result;
}

export function wholeNumber(
  option: string,
  text: string | undefined,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d+(e\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? 'of 1 or more' : `from 1 to ${most}`;
  throw new UsageError(`--${option} is '${text}'; it must be a whole number ${range}`);
}

/** @param least how many bytes it must be, and why, for the message */
export function sizeInBytes(
  option: string,
  text: string | undefined,
  least: { readonly bytes: number; readonly why?: string },
): number | undefined {
  if (text === undefined) return undefined;
  let bytes: number;
  try {
    bytes = parseSize(text);
  } catch (error) {
    throw new UsageError(`--${option}: ${(error as Error).message}`);
  }
  if (bytes >= least.bytes) return bytes;
  const why = least.why === undefined ? '' : `, ${least.why}`;
  throw new UsageError(
    `--${option} is '${text}'; it must be ${formatBytes(least.bytes).replace(' ', '')} or more${why}`,
  );
}

/** 'NAME=VALUE' options as a map; the same name twice is refused. */
export function assignments(
  option: string,
  texts: readonly string[] | undefined,
  value: string,
): Map<string, string> {
  const result = new Map<string, string>();
  for (const text of texts ?? []) {
    const at = text.indexOf('=');
    if (at < 1 || at === text.length - 1)
      throw new UsageError(`--${option} is '${text}'; write --${option} NAME=${value}`);
    const name = text.slice(0, at);
    if (result.has(name)) throw new UsageError(`--${option} names ${name} twice`);
    result.set(name, text.slice(at + 1));
  }
  return result;
}
