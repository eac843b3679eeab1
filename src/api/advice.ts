/** Advice on the use of memory, after madvise and cudaMemAdvise: it changes what is fast, never what is right. */

import { type OptionNames, refuseUnknown } from '../core/option-names.js';
import { BLOCK_BYTES, PAGES_PER_BLOCK } from '../core/types.js';
import type { AdviceChange, AdviceRun } from '../pager/protocol/requests.js';
import { isObject, show } from './arguments.js';
import type { Device } from './device.js';
import { argumentError, typeError } from './errors.js';
import type { ManagedArray } from './managed-array.js';
import type { PlaceNames, Residency } from './residency.js';

export interface Advice {
  /**
   * Mostly read: processors that read get copies of their own (read duplication), also where a kernel's parameter says that it might
   * write. Any write leaves one copy. False unsets it.
   */
  readonly readMostly?: boolean;
  /** The memory that keeps the pages longest when room is needed there, while their copies elsewhere go first. Null unsets it. */
  readonly preferredLocation?: Device | 'host' | null;
  /**
   * Devices that reach host memory in place instead of having pages migrate; all that were named before and are not now are unset, null
   * or [] unsets all. Takes effect at each device's next launch that uses the array. At most 8,192 blocks of 2 MiB a device, and only
   * for devices that can (`device.capabilities.remoteAccess`): elsewhere pages migrate, and `attributes` says so.
   */
  readonly accessedBy?: Device | readonly Device[] | null;
  /** How the elements are walked through: neighbours are brought along early ('sequential'), or not at all ('random'). */
  readonly pattern?: 'normal' | 'sequential' | 'random';
}

/** What was advised for a run of elements, and how far it is so. */
export interface AttributeRun {
  readonly begin: number;
  readonly end: number;
  readonly readMostly: boolean;
  readonly preferredLocation: string | null;
  /** Devices by name: `in place` if all of the run is mapped from host memory, `partly`, or `migrates`. */
  readonly accessedBy: Readonly<Record<string, 'in place' | 'partly' | 'migrates'>>;
  readonly pattern: 'normal' | 'sequential' | 'random';
}

export interface Attributes {
  readonly runs: readonly AttributeRun[];
  /** Where the pages really are. */
  readonly residency: Residency;
}

const NAMES: OptionNames<Advice> = { readMostly: true, preferredLocation: true, accessedBy: true, pattern: true };
const PATTERNS = ['normal', 'sequential', 'random'];

/** The change in the manager's words, after a look at every part of it. */
export function adviceChange(array: ManagedArray, advice: Advice): AdviceChange {
  if (!isObject(advice)) {
    throw typeError('ADVICE', `advice is an object such as { readMostly: true }, not ${show(advice)}`);
  }
  refuseUnknown('ADVICE', 'there is no advice', Object.keys(advice), Object.keys(NAMES));
  const { readMostly, preferredLocation, accessedBy, pattern } = advice;
  if (readMostly !== undefined && typeof readMostly !== 'boolean')
    throw typeError('ADVICE', `readMostly is ${show(readMostly)}; it must be true or false`);
  if (pattern !== undefined && !PATTERNS.includes(pattern))
    throw argumentError('ADVICE', `pattern is ${show(pattern)}; it must be one of ${PATTERNS.join(', ')}`);
  return {
    ...(readMostly === undefined ? {} : { readMostly }),
    ...(preferredLocation === undefined ? {} : { preferred: nodeOf(array, preferredLocation) }),
    ...(accessedBy === undefined ? {} : { accessedBy: bitsOf(array, accessedBy) }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

function nodeOf(array: ManagedArray, location: Device | 'host' | null): number {
  if (location === null) return -1;
  return location === 'host' ? 0 : deviceOf(array, location, 'preferredLocation').node;
}

function bitsOf(array: ManagedArray, devices: Device | readonly Device[] | null): number {
  const list = devices === null ? [] : Array.isArray(devices) ? (devices as Device[]) : [devices as Device];
  let bits = 0;
  for (const device of list) bits |= 1 << deviceOf(array, device, 'accessedBy').id;
  return bits;
}

function deviceOf(array: ManagedArray, device: unknown, what: string): Device {
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

/** Pages of the whole blocks that elements lie in: all of a block is advised alike. Blocks are counted from the array's beginning. */
export function blocksAround(
  begin: number,
  end: number,
  elementBytes: number,
  pages: number,
): { first: number; end: number } {
  const first = Math.floor((begin * elementBytes) / BLOCK_BYTES) * PAGES_PER_BLOCK;
  const last = Math.ceil((end * elementBytes) / BLOCK_BYTES) * PAGES_PER_BLOCK;
  return { first, end: Math.min(last, pages) };
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
      preferredLocation: advice.preferred === -1 ? null : (nodes[advice.preferred] ?? `device ${advice.preferred}`),
      accessedBy,
      pattern: advice.pattern,
    };
  });
}
