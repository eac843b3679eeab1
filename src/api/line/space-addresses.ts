/** Where spaces lie, and how many addresses a space gets. */
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { fileSizeLimit, tooLarge } from '../../linux/files/file-limit.js';
import { type Mapping, occupantsOf } from '../../linux/memory/memory.js';
import { freeAddresses, processes } from '../../linux/processes/process.js';
import { argumentError } from '../values/errors.js';
import { toBytes } from '../values/sizes.js';

/** Where spaces lie: from 96 TiB on, where neither V8 nor the dynamic linker puts anything. */
const FIRST_BASE = 0x6000_0000_0000;

const LAST_ADDRESS = 0x7000_0000_0000;

const DEFAULT_SPACE_BYTES = 2 ** 40;

const LEAST_SLOT = 2 ** 34;

/** Addresses between the beginnings of two spaces that lie next to each other: a power of two. */
export function slotOf(bytes: number): number {
  let slot = LEAST_SLOT;
  while (slot < bytes) slot *= 2;
  return slot;
}

/** How many spaces a process has room for: the host's memory is mapped once more, above. */
export const SPACES_OF_DEFAULT = 15;

/**
 * How many bytes of addresses a space gets. The host's memory is mapped twice, a device's once;
 * where a limit leaves only so many addresses, half of them stay for the program's own threads and
 * heap.
 */
export function addressesFor(wanted: number | string | undefined, devices: number): number {
  checkFileLimit(toBytes('addressSpace', wanted ?? DEFAULT_SPACE_BYTES));
  const free = freeAddresses();
  const most = Math.floor(free / (2 * (2 + devices)) / BLOCK_BYTES) * BLOCK_BYTES;
  if (wanted === undefined && most >= BLOCK_BYTES) return Math.min(DEFAULT_SPACE_BYTES, most);
  const bytes =
    Math.ceil(toBytes('addressSpace', wanted ?? DEFAULT_SPACE_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
  if (bytes <= free / (2 + devices)) return bytes;
  throw argumentError(
    'ADDRESS_SPACE',
    `addressSpace of ${bytes} bytes is mapped ${2 + devices} times, and a limit on addresses leaves ${free} bytes; raise it ` +
      '(ulimit -v unlimited), or leave addressSpace out for a share of what there is',
  );
}

/** What a space has lies in a file in memory, as large as its addresses. */
function checkFileLimit(bytes: number): void {
  const limit = fileSizeLimit();
  if (bytes <= limit) return;
  throw argumentError(
    'ADDRESS_SPACE',
    `addressSpace of ${bytes} bytes is a file in memory, and ${tooLarge()}, or say a smaller addressSpace`,
  );
}

/** Where a space may begin, in the order in which that is tried. */
export function basesFor(bytes: number): number[] {
  const bases: number[] = [];
  for (let base = FIRST_BASE; base + bytes <= LAST_ADDRESS; base += slotOf(bytes)) bases.push(base);
  if (bases.length > 0) return bases;
  throw argumentError(
    'ADDRESS_SPACE',
    `addressSpace of ${bytes} bytes is more than the ${LAST_ADDRESS - FIRST_BASE} that are possible`,
  );
}

/** The same bases, from another one on. */
export function beginningAt(bases: readonly number[], first: number): number[] {
  const at = first % bases.length;
  return [...bases.slice(at), ...bases.slice(0, at)];
}

/** Which of the bases, by their numbers, processes that this one may look at have in use. */
export function basesInUse(bases: readonly number[]): Set<number> {
  const used = new Set<number>();
  for (const pid of processes()) {
    for (const { start, end } of mappedBy(pid))
      for (const [at, base] of bases.entries()) {
        const next = bases[at + 1] ?? LAST_ADDRESS;
        if (start < next && end > base) used.add(at);
      }
  }
  return used;
}

function mappedBy(pid: number): Mapping[] {
  try {
    return occupantsOf(FIRST_BASE, LAST_ADDRESS - FIRST_BASE, pid);
  } catch {
    // It has ended, or is another user's.
    return [];
  }
}

/** Those of the bases at which nothing lies; another thread may take one meanwhile. */
export function freeBases(bases: readonly number[], bytes: number): number[] {
  const taken = occupantsOf(FIRST_BASE, LAST_ADDRESS - FIRST_BASE);
  return bases.filter(
    (base) => !taken.some(({ start, end }) => start < base + bytes && end > base),
  );
}

/** Whether so many addresses are most of what there is for spaces. */
export function isMostOfAll(addresses: number): boolean {
  return addresses > (LAST_ADDRESS - FIRST_BASE) / 2;
}
