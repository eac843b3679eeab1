/** Numbers among options of policies: one out of range makes a policy useless in silence. */

/** Throws a RangeError for a wrong number; none is right. @param whole no fractions */
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
