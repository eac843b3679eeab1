/** Numbers of the command line, as a kernel's parameters take them. */
import type { ElementType, KernelParameter } from '../../index.js';
import { CommandError } from '../terminal/failure.js';

const WHOLE_NUMBERS: Readonly<Record<string, readonly [bigint, bigint]>> = {
  i8: [-(2n ** 7n), 2n ** 7n - 1n],
  u8: [0n, 2n ** 8n - 1n],
  u8c: [0n, 2n ** 8n - 1n],
  bytes: [0n, 2n ** 8n - 1n],
  i16: [-(2n ** 15n), 2n ** 15n - 1n],
  u16: [0n, 2n ** 16n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u32: [0n, 2n ** 32n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
};

/** The largest number of a floating-point type. */
const MOST: Readonly<Partial<Record<ElementType, string>>> = {
  f32: '3.4028235e38',
  f64: '1.7976931348623157e308',
};

/** A number; for a parameter of several also numbers with commas between them, or JSON. */
export function parseValue(name: string, parameter: KernelParameter, text: string): unknown {
  if (parameter.kind === 'scalar') return parseNumber(name, parameter.type, text);
  try {
    return JSON.parse(/^\s*[[{]/.test(text) || !text.includes(',') ? text : `[${text}]`) as unknown;
  } catch {
    throw new CommandError(
      'NUMBER',
      `--set ${name}=${text}: write numbers with commas between them, such as 640,480, or JSON, such as {"x":1}`,
    );
  }
}

/** A number of exactly the parameter's type: what does not fit is refused, not wrapped. */
function parseNumber(name: string, type: ElementType, text: string): number | bigint {
  const refuse = (why: string) =>
    new CommandError('NUMBER', `--set ${name}=${text}: ${why} (${name} is ${type})`);
  const range = WHOLE_NUMBERS[type];
  if (range === undefined) {
    if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
    if (/^nan$/i.test(text)) return Number.NaN;
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isNaN(value)) throw refuse('this is no number');
    if (!Number.isFinite(type === 'f32' ? Math.fround(value) : value))
      throw refuse(
        `this is more than ${type} can hold, which is ${MOST[type]} at most; write Infinity where that is meant`,
      );
    return value;
  }
  if (!/^[+-]?\d+$|^0x[\da-f]+$/i.test(text)) throw refuse('this is no whole number');
  const value = BigInt(text.replace(/^\+/, ''));
  const [least, most] = range;
  if (value < least || value > most) throw refuse(`it must be from ${least} to ${most}`);
  return type === 'i64' || type === 'u64' ? value : Number(value);
}
