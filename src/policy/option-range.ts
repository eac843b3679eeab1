/**
 * Numbers among the options of policies: one that is out of its range would make a policy useless
 * without a word.
 */

/**
 * Throws a RangeError where the option is no such number; one that is left out is right.
 * @param whole whether it must be a whole number
 */
export function checkOption(
  name: string,
  value: unknown,
  least: number,
  most: number,
  whole: boolean,
): void {
  if (value === undefined) return;
  const right = whole ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (right && (value as number) >= least && (value as number) <= most) return;
  const range =
    most === Number.POSITIVE_INFINITY ? `of ${least} or more` : `from ${least} to ${most}`;
  const shown = typeof value === 'object' && value !== null ? 'an object' : String(value);
  const message = `${name} is a ${whole ? 'whole number' : 'number'} ${range}, not ${shown}`;
  throw Object.assign(new RangeError(message), { code: 'POLICY' });
}
