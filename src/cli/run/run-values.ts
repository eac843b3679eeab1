/** Numbers of the command line, as a kernel's parameters take them. */
import { LIMITS } from '../../api/kernels/scalars.js';
import type { ElementType, KernelParameter } from '../../index.js';
import { CommandError } from '../terminal/failure.js';

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
  const limits = LIMITS[type];
  if (limits === undefined) {
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
  const { least, most } = limits;
  if (value < least || value > most) throw refuse(`it must be from ${least} to ${most}`);
  return type === 'i64' || type === 'u64' ? value : Number(value);
}
