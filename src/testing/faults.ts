/** What can be wrong with the driver that is there to be found out. */

import type { DeviceKind } from './device-kind.js';
import { driverKind } from './kinds.js';

/** Mistakes that a driver may have, and their effects. */
export const driverFaults = {
  'loses write-backs': 'every third copy home is not made, and said to be',
  'forgets the last bytes of a copy': 'copies home end a cache line too early',
  'keeps old translations':
    'a page that was taken away and comes back is looked for where it was at first',
  'maps before the copy ends': 'a copy counts as made while it waits for its turn',
  'maps the wrong frame': 'a piece that is no whole one is mapped a frame too far',
  'says Done on failure': 'memory that was not to be had counts as there',
  'leaves memory as it was': 'where zeros are asked for, there is what was in the memory before',
  'ends launches before they run':
    'a program that waits for a launch reads what was there before it',
  'rounds launches up': 'a launch over a part covers whole groups of 1024',
  'throws where memory is given back': 'a command throws',
  'answers twice': 'a copy that has ended ends again',
  'never answers a copy': 'a processor that needs the pages waits',
  'never answers a revocation': 'a processor that needs the pages waits',
  'keeps a process': 'what the device has started is left behind when its space closes',
} as const;

export type DriverFault = keyof typeof driverFaults;

/** Those that give wrong data and nothing else: each scenario has to see for itself. */
const SILENT = [
  'loses write-backs',
  'forgets the last bytes of a copy',
  'keeps old translations',
  'maps before the copy ends',
  'maps the wrong frame',
  'says Done on failure',
  'leaves memory as it was',
  'ends launches before they run',
  'rounds launches up',
] as const satisfies readonly DriverFault[];

/**
 * A kind of device with these mistakes, which the suite must find. It runs only if it is asked for
 * by name.
 * @example
 * import { brokenKind } from 'onemem/testing';
 *
 * console.log(brokenKind('forgetful', ['loses write-backs']).name); // forgetful
 */
export function brokenKind(name: string, faults: readonly DriverFault[]): DeviceKind {
  // The build joins this file with others in a folder beside: the path has to hold from there, too.
  const module = new URL('../testing/broken-driver.js', import.meta.url);
  const about = { options: { faults }, refusesMemory: true };
  return { ...driverKind(name, { module, export: 'create' }, about), onlyByName: true };
}

/** A kind of device with all mistakes that give wrong data and nothing else. */
export const broken: DeviceKind = brokenKind('broken', SILENT);
