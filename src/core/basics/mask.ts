/**
 * Page masks: one bit for each of a block's 512 pages in sixteen 32-bit words. Typed arrays of 64
 * bytes live inside the JavaScript heap, so that a block costs no native allocation.
 *
 * Elsewhere a loop over words combines three masks or more in one pass, asks each node or mapping of
 * a block word by word, or goes over the words of one operation alone.
 */
import { PAGES_PER_BLOCK } from './types.js';

export type Mask = Int32Array;
export const WORDS = PAGES_PER_BLOCK / 32;

export function createMask(): Mask {
  return new Int32Array(WORDS);
}

export function has(mask: Mask, page: number): boolean {
  return ((mask[page >>> 5] >>> (page & 31)) & 1) !== 0;
}

export function add(mask: Mask, page: number): void {
  mask[page >>> 5] |= 1 << (page & 31);
}

export function remove(mask: Mask, page: number): void {
  mask[page >>> 5] &= ~(1 << (page & 31));
}

/** The bits of the run [first, end), which is not empty, in word `word`. */
function runBits(word: number, first: number, end: number): number {
  const bits = word === first >>> 5 ? -1 << (first & 31) : -1;
  return word === (end - 1) >>> 5 ? bits & ~(-2 << ((end - 1) & 31)) : bits;
}

export function addRun(mask: Mask, first: number, count: number): void {
  // What a fault does is mostly about one page.
  if (count === 1) {
    add(mask, first);
    return;
  }
  const end = first + count;
  for (let word = first >>> 5; word * 32 < end; word++) mask[word] |= runBits(word, first, end);
}

export function removeRun(mask: Mask, first: number, count: number): void {
  if (count === 1) {
    remove(mask, first);
    return;
  }
  const end = first + count;
  for (let word = first >>> 5; word * 32 < end; word++) mask[word] &= ~runBits(word, first, end);
}

export function isEmpty(mask: Mask): boolean {
  for (let word = 0; word < WORDS; word++) if (mask[word] !== 0) return false;
  return true;
}

export function equals(a: Mask, b: Mask): boolean {
  for (let word = 0; word < WORDS; word++) if (a[word] !== b[word]) return false;
  return true;
}

export function clear(mask: Mask): void {
  for (let word = 0; word < WORDS; word++) mask[word] = 0;
}

/** The first word that has a page, or 16. */
export function firstWordOf(mask: Mask): number {
  let word = 0;
  while (word < WORDS && mask[word] === 0) word++;
  return word;
}

/** The word after the last that has a page, or 0. */
export function endWordOf(mask: Mask): number {
  let word = WORDS;
  while (word > 0 && mask[word - 1] === 0) word--;
  return word;
}

/** The page after the last that is in the mask, or 0. */
export function endOf(mask: Mask): number {
  const word = endWordOf(mask);
  return word === 0 ? 0 : word * 32 - Math.clz32(mask[word - 1]);
}

/** Word by word: for so few, a call of `set` costs more than it copies. */
export function copy(to: Mask, from: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] = from[word];
}

export function or(to: Mask, mask: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] |= mask[word];
}

export function and(to: Mask, mask: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] &= mask[word];
}

export function andNot(to: Mask, mask: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] &= ~mask[word];
}

/** Pages that both have; `to` may be one of them. */
export function setAnd(to: Mask, a: Mask, b: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] = a[word] & b[word];
}

/** Pages of `a` that `b` has not; `to` may be one of them. */
export function setAndNot(to: Mask, a: Mask, b: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] = a[word] & ~b[word];
}

export function intersects(a: Mask, b: Mask): boolean {
  for (let word = 0; word < WORDS; word++) if ((a[word] & b[word]) !== 0) return true;
  return false;
}

/** The first page that both have, or 512. */
export function firstOfBoth(a: Mask, b: Mask): number {
  for (let word = 0; word < WORDS; word++) {
    const bits = a[word] & b[word];
    if (bits !== 0) return word * 32 + 31 - Math.clz32(bits & -bits);
  }
  return PAGES_PER_BLOCK;
}

/** Whether `b` has all pages of `a`. */
export function isSubset(a: Mask, b: Mask): boolean {
  for (let word = 0; word < WORDS; word++) if ((a[word] & ~b[word]) !== 0) return false;
  return true;
}

export function bitCount(value: number): number {
  value -= (value >>> 1) & 0x55555555;
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
  return Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

export function size(mask: Mask): number {
  let total = 0;
  for (let word = 0; word < WORDS; word++) {
    const bits = mask[word];
    if (bits !== 0) total += bitCount(bits);
  }
  return total;
}

export function sizeOfRun(mask: Mask, first: number, count: number): number {
  let total = 0;
  const end = first + count;
  for (let word = first >>> 5; word * 32 < end; word++) {
    const bits = mask[word];
    if (bits !== 0) total += bitCount(bits & runBits(word, first, end));
  }
  return total;
}

/** The first page from `from` on in the mask, or 512. Words from `words` on count as empty. */
export function next(mask: Mask, from: number, words: number = WORDS): number {
  let word = from >>> 5;
  if (word >= words) return PAGES_PER_BLOCK;
  let bits = mask[word] & (-1 << (from & 31));
  while (bits === 0) {
    if (++word >= words) return PAGES_PER_BLOCK;
    bits = mask[word];
  }
  return word * 32 + 31 - Math.clz32(bits & -bits);
}

/** The first page from `from` on not in the mask, or 512. Words from `words` on count as empty. */
export function nextAbsent(mask: Mask, from: number, words: number = WORDS): number {
  let word = from >>> 5;
  if (word >= words) return Math.min(from, PAGES_PER_BLOCK);
  let bits = ~mask[word] & (-1 << (from & 31));
  while (bits === 0) {
    if (++word >= words) return words * 32;
    bits = ~mask[word];
  }
  return word * 32 + 31 - Math.clz32(bits & -bits);
}

/**
 * Masks for what a function works out, taken and given back like a stack: functions that call each
 * other never have the same one, and none of them allocates. A function that takes masks remembers
 * the mark before, and goes back to it on every way out.
 */
export class MaskStack {
  private readonly masks: Mask[] = [];
  private depth = 0;

  /** How many are taken. */
  get mark(): number {
    return this.depth;
  }

  /** One more; its content is whatever it was left with. */
  take(): Mask {
    if (this.depth === this.masks.length) this.masks.push(createMask());
    return this.masks[this.depth++];
  }

  /** Gives back all that were taken since the mark. */
  backTo(mark: number): void {
    this.depth = mark;
  }
}
