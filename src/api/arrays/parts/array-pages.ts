/** Which pages the elements of an array lie in, and which elements lie in pages. */
import { bytesOf } from '../../../core/basics/elements.js';
import { BLOCK_BYTES, PAGE_BYTES, PAGES_PER_BLOCK } from '../../../core/basics/types.js';
import type { ArrayPages } from '../../../pager/protocol/pages.js';
import type { ArrayHandle } from './array-handle.js';

type Placement = Pick<ArrayHandle, 'range' | 'name' | 'firstPage' | 'pages' | 'length' | 'type'>;

function run({ range, name, firstPage }: Placement, first: number, end: number): ArrayPages {
  return { range, name, firstPage: firstPage + first, count: end - first };
}

/** Whole pages that touch elements; none where there are no elements. */
export function pagesAround(placement: Placement, begin: number, end: number): ArrayPages {
  const size = bytesOf(placement.type);
  if (begin === end) return run(placement, 0, 0);
  return run(
    placement,
    Math.floor((begin * size) / PAGE_BYTES),
    Math.ceil((end * size) / PAGE_BYTES),
  );
}

/** Whole pages that belong to elements alone; none: a count of 0 or less. */
export function pagesWithin(placement: Placement, begin: number, end: number): ArrayPages {
  const size = bytesOf(placement.type);
  // The last page belongs to the array alone, even if the array ends within it.
  const last = end === placement.length ? placement.pages : Math.floor((end * size) / PAGE_BYTES);
  return run(placement, Math.ceil((begin * size) / PAGE_BYTES), last);
}

/** All pages of an array: at least one, by which an array without elements is known. */
export function allPages({ range, name, firstPage, pages }: Placement): ArrayPages {
  return { range, name, firstPage, count: pages };
}

/** The whole blocks around elements, counted from the array's beginning: advice is by block. */
export function blocksAround(placement: Placement, begin: number, end: number): ArrayPages {
  const size = bytesOf(placement.type);
  const first = Math.floor((begin * size) / BLOCK_BYTES) * PAGES_PER_BLOCK;
  const last = Math.ceil((end * size) / BLOCK_BYTES) * PAGES_PER_BLOCK;
  return run(placement, first, Math.min(last, placement.pages));
}

/** The elements that lie, in whole or in part, in pages. */
export function elementsIn(
  placement: Placement,
  firstPage: number,
  count: number,
): { begin: number; end: number } {
  const size = bytesOf(placement.type);
  const first = (firstPage - placement.firstPage) * PAGE_BYTES;
  const end = Math.min(placement.length, Math.ceil((first + count * PAGE_BYTES) / size));
  return { begin: Math.floor(first / size), end };
}
