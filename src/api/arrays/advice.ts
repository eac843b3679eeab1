/** Advice after madvise and cudaMemAdvise: it changes what is fast, never what is right. */

import { type OptionNames, refuseUnknown } from '../../messages/option-names.js';
import type { AdviceChange, AdviceRun } from '../../pager/protocol/pages.js';
import type { ArrayInternals, DeviceInternals } from '../line/internals.js';
import { isObject, show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import type { PlaceNames, Residency } from '../values/residency.js';

/** What was advised for a run of elements, and how far it is so. */
export interface AttributeRun {
  readonly begin: number;
  readonly end: number;
  readonly readMostly: boolean;
  readonly preferredLocation: string | null;
  /**
   * Devices by name: `in place` if all of the run is mapped from host memory, `partly`, or
   * `migrates`.
   */
  readonly accessedBy: Readonly<Record<string, 'in place' | 'partly' | 'migrates'>>;
  readonly pattern: 'normal' | 'sequential' | 'random';
}

/** Advice for an array, by runs. */
export interface Attributes {
  readonly runs: readonly AttributeRun[];
  /** Where the pages are. */
  readonly residency: Residency;
}

interface AdviceGiven {
  readonly readMostly?: boolean;
  readonly preferredLocation?: unknown;
  readonly accessedBy?: unknown;
  readonly pattern?: 'normal' | 'sequential' | 'random';
}

const NAMES: OptionNames<AdviceGiven> = {
  readMostly: true,
  preferredLocation: true,
  accessedBy: true,
  pattern: true,
};
const PATTERNS = ['normal', 'sequential', 'random'];

/** The change in the manager's words, after a look at every part of it. */
export function adviceChange(array: ArrayInternals, advice: AdviceGiven): AdviceChange {
  if (!isObject(advice)) {
    throw typeError(
      'ADVICE',
      `advice is an object such as { readMostly: true }, not ${show(advice)}`,
    );
  }
  refuseUnknown('ADVICE', 'there is no advice', Object.keys(advice), Object.keys(NAMES));
  const { readMostly, preferredLocation, accessedBy, pattern } = advice;
  if (readMostly !== undefined && typeof readMostly !== 'boolean')
    throw typeError('ADVICE', `readMostly is ${show(readMostly)}; it must be true or false`);
  if (pattern !== undefined && !PATTERNS.includes(pattern))
    throw argumentError(
      'ADVICE',
      `pattern is ${show(pattern)}; it must be one of ${PATTERNS.join(', ')}`,
    );
  return {
    ...(readMostly === undefined ? {} : { readMostly }),
    ...(preferredLocation === undefined ? {} : { preferred: nodeOf(array, preferredLocation) }),
    ...(accessedBy === undefined ? {} : { accessedBy: bitsOf(array, accessedBy) }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

function nodeOf(array: ArrayInternals, location: unknown): number {
  if (location === null) return -1;
  return location === 'host' ? 0 : deviceOf(array, location, 'preferredLocation').node;
}

function bitsOf(array: ArrayInternals, devices: unknown): number {
  const list: readonly unknown[] =
    devices === null ? [] : Array.isArray(devices) ? devices : [devices];
  let bits = 0;
  for (const device of list) bits |= 1 << deviceOf(array, device, 'accessedBy').id;
  return bits;
}

function deviceOf(array: ArrayInternals, device: unknown, what: string): DeviceInternals {
  const known = array.space.devices.find((each) => each === device);
  if (known === undefined) {
    throw typeError(
      'ADVICE',
      `${what} takes a device of the space of array ${array.name}, 'host' where memory is meant, or null; not ${show(device)}`,
    );
  }
  known.assertUsable();
  return known;
}

export function attributeRuns(
  runs: readonly AdviceRun[],
  { nodes, processors }: PlaceNames,
  begin: number,
  end: number,
  elementsPerPage: number,
): AttributeRun[] {
  return runs.map(({ first, end: last, advice, remote }) => {
    const accessedBy: Record<string, 'in place' | 'partly' | 'migrates'> = {};
    for (let id = 1; advice.accessedBy >>> id !== 0; id++) {
      if (((advice.accessedBy >>> id) & 1) === 0) continue;
      accessedBy[processors[id] ?? `device ${id}`] = remote[id] ?? 'migrates';
    }
    return {
      begin: Math.max(begin, first * elementsPerPage),
      end: Math.min(end, last * elementsPerPage),
      readMostly: advice.readMostly,
      preferredLocation:
        advice.preferred === -1 ? null : (nodes[advice.preferred] ?? `device ${advice.preferred}`),
      accessedBy,
      pattern: advice.pattern,
    };
  });
}
