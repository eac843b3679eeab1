/**
 * Which parts of arrays to keep in a memory, and how much of them: those whose pages came again most
 * after evictions. Half of the memory stays for what passes by.
 */
import { BLOCK_BYTES, PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import type { Names, RecordedArray } from '../recording/moves.js';

/** Of the returns that a part could save, a smaller part that saves so much is enough. */
const ENOUGH = 0.9;
/** More than any number of pages that return by block. */
const WHOLE = 2 ** 40;

export interface Keeping {
  readonly array: RecordedArray;
  /** Elements. */
  readonly begin: number;
  readonly end: number;
  readonly isWhole: boolean;
  readonly bytes: number;
  /** What came again of it. */
  readonly bytesReturned: number;
}

/** Pages of a memory that came again. */
export class Returns {
  private readonly byBlock = new Map<number, number>();

  add(page: number, pages: number): void {
    const block = Math.floor(page / PAGES_PER_BLOCK);
    this.byBlock.set(block, (this.byBlock.get(block) ?? 0) + pages);
  }

  /** What is worth to be kept, best first. */
  worthKeeping(budgetPages: number, names: Names): Keeping[] {
    let room = Math.floor(budgetPages / PAGES_PER_BLOCK / 2);
    const found: Keeping[] = [];
    // Of an array that passes by, a part helps less than its returns promise.
    const worth = (array: RecordedArray): number => {
      const part = this.partOf(array, room);
      if (part === null) return 0;
      const fits = array.pages <= room * PAGES_PER_BLOCK;
      return part.pages / part.blocks + (fits ? WHOLE : 0);
    };
    const arrays = this.arrays(names).map((array) => ({ array, worth: worth(array) }));
    for (const { array } of arrays.sort((a, b) => b.worth - a.worth)) {
      const part = this.partOf(array, room);
      // Each of its pages came again at least once.
      if (part === null || part.pages < part.blocks * PAGES_PER_BLOCK) continue;
      room -= part.blocks;
      found.push(keepingOf(array, part));
    }
    return found;
  }

  private arrays(names: Names): RecordedArray[] {
    const found = new Set<RecordedArray>();
    for (const block of this.byBlock.keys()) {
      const array = names.arrayAt(block * PAGES_PER_BLOCK);
      if (array !== null) found.add(array);
    }
    return [...found];
  }

  /** The shortest run of at most so many blocks that saves almost as much as any. */
  private partOf({ first, pages }: RecordedArray, most: number): Part | null {
    const from = first / PAGES_PER_BLOCK;
    const count = Math.ceil(pages / PAGES_PER_BLOCK);
    const length = Math.min(count, most);
    if (length < 1) return null;
    // Of the blocks before each.
    const sums = [0];
    for (let at = 0; at < count; at++) sums.push(sums[at] + (this.byBlock.get(from + at) ?? 0));
    const best = bestRun(sums, length);
    let [shorter, longer] = [1, length];
    while (shorter < longer) {
      const middle = (shorter + longer) >> 1;
      if (bestRun(sums, middle).pages >= ENOUGH * best.pages) longer = middle;
      else shorter = middle + 1;
    }
    return longer === length ? best : bestRun(sums, longer);
  }
}

interface Part {
  /** Of the array's. */
  readonly at: number;
  readonly blocks: number;
  /** That came again. */
  readonly pages: number;
}

function bestRun(sums: readonly number[], blocks: number): Part {
  let best: Part = { at: 0, blocks, pages: 0 };
  for (let at = 0; at + blocks < sums.length; at++) {
    const pages = sums[at + blocks] - sums[at];
    if (pages > best.pages) best = { at, blocks, pages };
  }
  return best;
}

function keepingOf(array: RecordedArray, { at, blocks, pages }: Part): Keeping {
  const { elementBytes } = array;
  const bytes = array.pages * PAGE_BYTES;
  const end = Math.min(bytes, (at + blocks) * BLOCK_BYTES);
  return {
    array,
    begin: Math.ceil((at * BLOCK_BYTES) / elementBytes),
    end: Math.floor(end / elementBytes),
    isWhole: at === 0 && end === bytes,
    bytes: end - at * BLOCK_BYTES,
    bytesReturned: pages * PAGE_BYTES,
  };
}
