/** Numbers as arguments: an integer type takes what an element can hold, unrounded. */
import type { ElementType } from '../../core/basics/elements.js';
import { show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';

interface Limits {
  readonly least: bigint;
  readonly most: bigint;
}

function signed(bits: bigint): Limits {
  return { least: -(2n ** (bits - 1n)), most: 2n ** (bits - 1n) - 1n };
}

function unsigned(bits: bigint): Limits {
  return { least: 0n, most: 2n ** bits - 1n };
}

/** Of the integers among the types of elements. */
export const LIMITS: Readonly<Partial<Record<ElementType, Limits>>> = {
  i8: signed(8n),
  u8: unsigned(8n),
  u8c: unsigned(8n),
  bytes: unsigned(8n),
  i16: signed(16n),
  u16: unsigned(16n),
  i32: signed(32n),
  u32: unsigned(32n),
  i64: signed(64n),
  u64: unsigned(64n),
};

/** Refuses what is no value of the type, by name and with the type's limits. */
export function checkScalar(
  where: string,
  type: ElementType,
  value: unknown,
): asserts value is number | bigint {
  const wanted = type === 'i64' || type === 'u64' ? 'bigint' : 'number';
  if (typeof value !== wanted)
    throw typeError(
      'KERNEL_ARGUMENT',
      `${where} is ${type}: it takes a ${wanted}, not ${show(value)}`,
    );
  const limits = LIMITS[type];
  if (limits === undefined) return;
  const { least, most } = limits;
  if (
    typeof value === 'bigint'
      ? value >= least && value <= most
      : isWholeBetween(value as number, least, most)
  )
    return;
  throw argumentError(
    'KERNEL_ARGUMENT',
    `${where} is ${type}: it takes whole numbers from ${least} to ${most}, not ${show(value)}`,
  );
}

function isWholeBetween(value: number, least: bigint, most: bigint): boolean {
  return Number.isInteger(value) && value >= Number(least) && value <= Number(most);
}
