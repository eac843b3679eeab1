/** Looks at what a driver's module has made, before anything is asked of it. */
import { type DeviceDescription, PAGE_BYTES } from '../core/basics/types.js';
import { wrongGranularity } from '../messages/granularity.js';
import type { Driver, DriverContext } from './driver.js';

/** As the driver gave it; memory of a failed driver is not trusted. */
export type CheckedDescription = { memorySurvives: boolean } & Omit<
  DeviceDescription,
  'memorySurvives'
>;

const COMMANDS = [
  'map',
  'revoke',
  'release',
  'wake',
  'transferIn',
  'close',
] as const satisfies readonly (keyof Driver)[];
const OPTIONAL = [
  'reserve',
  'transferOut',
  'launch',
  'abort',
  'progress',
  'lose',
] as const satisfies readonly (keyof Driver)[];

/** A copy of the driver's description. Throws a TypeError that says what is wrong. */
export function describeDriver(
  made: unknown,
  { name, budgetPages }: Pick<DriverContext, 'name' | 'budgetPages'>,
): CheckedDescription {
  if (typeof made !== 'object' || made === null)
    refuse(`is ${String(made)}, not an object with the commands of a driver`);
  const driver = made as Partial<Record<keyof Driver, unknown>>;
  for (const command of COMMANDS) {
    if (typeof driver[command] !== 'function') refuse(`has no function ${command}()`);
  }
  for (const command of OPTIONAL) {
    if (driver[command] !== undefined && typeof driver[command] !== 'function')
      refuse(`has a ${command} that is no function`);
  }
  if (typeof driver.kind !== 'string' || driver.kind === '')
    refuse(`has kind ${String(driver.kind)}; it must be a word`);
  const given = driver.description;
  if (typeof given !== 'object' || given === null) refuse('has no description');
  const description = { ...(given as DeviceDescription) };
  if (description.name !== name)
    refuse(`is described as '${description.name}'; its device is named '${name}'`);
  wholeNumber('budgetPages', description.budgetPages, 1, budgetPages);
  wholeNumber('units', description.units, 0, Number.MAX_SAFE_INTEGER);
  if (description.frames !== 'identity' && description.frames !== 'pooled') {
    refuse(`has frames '${String(description.frames)}'; there are 'identity' and 'pooled'`);
  }
  for (const flag of ['faults', 'addressable', 'memorySurvives'] as const) {
    if (typeof description[flag] !== 'boolean')
      refuse(`has a description in which ${flag} is no boolean`);
  }
  for (const flag of ['atomics', 'remoteAccess', 'longCopies', 'writeCombining'] as const) {
    if (description[flag] !== undefined && typeof description[flag] !== 'boolean')
      refuse(`has a description in which ${flag} is no boolean`);
  }
  checkGranularity(description);
  if (description.remoteAccess === true)
    refuse(
      'says remoteAccess, and a driver of a module has no way to map host memory: leave it out, and pages migrate',
    );
  if (description.addressable) wholeNumber('memory', driver.memory, 1, Number.MAX_SAFE_INTEGER);
  else if (driver.transferOut === undefined)
    refuse('has memory that is not addressable, and no function transferOut()');
  return description;
}

function checkGranularity({ granularityBytes, budgetPages }: DeviceDescription): void {
  if (granularityBytes === undefined) return;
  const wrong = wrongGranularity(granularityBytes);
  if (wrong !== null) refuse(`has a granularityBytes of ${wrong}`);
  const least = (2 * granularityBytes) / PAGE_BYTES;
  if (budgetPages < least)
    refuse(
      `has a granularityBytes of ${granularityBytes}, and a budgetPages of ${budgetPages}: its memory must have room for two granules; ` +
        `give the device a memory of at least ${2 * granularityBytes} bytes`,
    );
}

function wholeNumber(what: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)
    return;
  refuse(`has ${what} ${String(value)}; it must be a whole number from ${least} to ${most}`);
}

function refuse(what: string): never {
  throw new TypeError(`the driver ${what}`);
}
