/** Values for `override` declarations: WebGPU calls them the pipeline's constants. */

import type { WgslConstant } from '../../drivers/wgsl-launch.js';
import { refuseUnknown } from '../../messages/option-names.js';
import type { Override } from '../../wgsl/reading/overrides.js';
import { isObject, show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';

const LARGEST = { f32: 3.4028234663852886e38, f16: 65504 } as const;

/** @param kernel its name @param given by names of `override` declarations, or their `@id` */
export function constantsOf(
  kernel: string,
  overrides: readonly Override[],
  given: unknown,
): WgslConstant[] {
  if (!isObject(given)) {
    const example = overrides[0]?.name ?? 'NAME';
    throw typeError(
      'WGSL_CONSTANTS',
      `constants of kernel ${kernel} is an object such as { ${example}: 64 }, not ${show(given)}`,
    );
  }
  const names = Object.keys(given);
  const known = overrides.flatMap(({ name, key }) => (name === key ? [name] : [name, key]));
  refuseUnknown('WGSL_CONSTANTS', `the module of kernel ${kernel} has no override`, names, known);
  return overrides.flatMap((override): WgslConstant[] => {
    const { name, key } = override;
    const said = names.filter((each) => each === name || each === key);
    if (said.length === 0) return [];
    if (said.length > 1)
      throw refuse(kernel, override, `it is given twice, as ${said.join(' and as ')}`);
    const value = (given as Readonly<Record<string, unknown>>)[said[0]];
    const wanted = wantedOf(override, value);
    if (wanted !== null) throw refuse(kernel, override, `it is ${wanted}, not ${show(value)}`);
    return [{ name, key, value: value as number | boolean }];
  });
}

/** What the override takes, if it does not take the value. */
function wantedOf({ type }: Override, value: unknown): string | null {
  if (type === 'bool') return typeof value === 'boolean' ? null : 'bool: true or false';
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  if (type === null)
    return isNumber || typeof value === 'boolean' ? null : 'a number, true or false';
  if (type === 'f32' || type === 'f16')
    return isNumber && Math.abs(value) <= LARGEST[type]
      ? null
      : `${type}: a number of at most ${LARGEST[type]}`;
  const [least, most] = type === 'u32' ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
  const fits = isNumber && Number.isInteger(value) && value >= least && value <= most;
  return fits ? null : `${type}: a whole number from ${least} to ${most}`;
}

function refuse(
  kernel: string,
  { name, position: { line, column } }: Override,
  problem: string,
): TypeError {
  return typeError(
    'WGSL_CONSTANTS',
    `kernel ${kernel}, WGSL ${line}:${column}: constant ${name}: ${problem}`,
  );
}
