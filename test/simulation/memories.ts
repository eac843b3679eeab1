/** What programs of a schedule allocated, and what is going on with it. */
import type { Range } from '../../src/core/table/range.js';
import type { Keeper } from '../../src/pager/arrays/clones/kept-pages.js';

/** What a program allocated. */
export interface Memory extends Keeper {
  readonly range: Range;
  /** Programs that are in the middle of using it. */
  users: number;
  /** It is being emptied, so that programs keep off. */
  exclusive: boolean;
  /** Free requests that are under way or through. */
  frees: number;
  freesLeft: number;
  /** What it was cloned from. */
  readonly source: Memory | null;
  /** First page and number of pages that are pinned. */
  pinned: [number, number] | null;
}

export function newMemory(range: Range, source: Memory | null): Memory {
  return {
    range,
    users: 0,
    exclusive: false,
    frees: 0,
    freesLeft: 0,
    source,
    pinned: null,
    kept: [],
  };
}

export function isPinned(memory: Memory): boolean {
  return memory.pinned !== null;
}

export function covers([first, count]: [number, number], page: number): boolean {
  return page >= first && page < first + count;
}

export function isProvided({ range }: Memory): boolean {
  return range.provided && range.derived !== true;
}

export function isRecyclable(memory: Memory): boolean {
  return (
    memory.users === 0 &&
    memory.freesLeft === 0 &&
    memory.kept.length === 0 &&
    memory.range.freedPages === memory.range.pages
  );
}
