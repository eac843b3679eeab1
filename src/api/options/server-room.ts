/**
 * Warnings of what a server has no room for. It may get more memory later, or have other keys
 * removed, so that it is no error; the program should know before it meets the end of it.
 */
import type { ServerMemory } from '../../valkey/check.js';
import { warn } from '../values/errors.js';

/**
 * What a server counts for a byte of a page: its allocator rounds a power of two with the head of a
 * value up to the next of four sizes between two powers.
 */
const COUNTED = 1.25;

/** What is to have room there. */
export interface RoomWanted {
  /** What takes it, as the beginning of a sentence. */
  readonly what: string;
  readonly bytes: number;
  /** Some of it may be there already, so that what other keys take does not count. */
  readonly mayBeThere: boolean;
  /** What becomes of it when the memory is used up. */
  readonly then: string;
}

/** @param memory null: the server does not tell */
export function warnOfRoom(memory: ServerMemory | null, wanted: RoomWanted): void {
  if (memory === null) return;
  const { limitBytes, usedBytes, shown } = memory;
  const { what, bytes, mayBeThere, then } = wanted;
  const needed = bytes * COUNTED;
  const left = mayBeThere ? limitBytes : Math.max(0, limitBytes - usedBytes);
  if (needed <= left) return;
  const found = mayBeThere
    ? `there are ${limitBytes} in all on ${shown}`
    : `${left} of ${limitBytes} are left on ${shown}`;
  warn(
    'ONEMEM_STORAGE',
    `${what}, which take about ${needed} bytes of a server, and ${found}; raise maxmemory, ${mayBeThere ? '' : 'remove other keys, '}or ask for less; when these are used up, ${then}`,
  );
}
