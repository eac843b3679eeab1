/** Cuts copies into parts: short enough for faults, and in one block at each end. */
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';

/** The most that is moved between two looks at the faults. */
export const PART_BYTES = 256 * 1024;

/** Byte offsets in the space, and how many bytes. */
export interface Part {
  readonly to: number;
  readonly from: number;
  readonly bytes: number;
}

/**
 * Whether the copy must begin at its end: its destination overlaps its source and lies behind it,
 * so that the first bytes to be written are those that are still to be read.
 */
export function runsBackwards({ to, from, bytes }: Part): boolean {
  return to > from && to < from + bytes;
}

/**
 * What comes next of a copy of which `moved` bytes have been moved. A part begins and ends at pages
 * of the destination where it can, so that what these pages held before need not be fetched.
 */
export function nextPart(whole: Part, moved: number, backwards: boolean): Part {
  const left = whole.bytes - moved;
  if (!backwards) {
    const to = whole.to + moved;
    const from = whole.from + moved;
    const most = Math.min(left, PART_BYTES, toNextBlock(to), toNextBlock(from));
    const aligned = Math.floor((to + most) / PAGE_BYTES) * PAGE_BYTES - to;
    return { to, from, bytes: most < left && aligned > 0 ? aligned : most };
  }
  const toEnd = whole.to + left;
  const fromEnd = whole.from + left;
  const most = Math.min(left, PART_BYTES, toBlockBefore(toEnd), toBlockBefore(fromEnd));
  const aligned = toEnd - Math.ceil((toEnd - most) / PAGE_BYTES) * PAGE_BYTES;
  const bytes = most < left && aligned > 0 ? aligned : most;
  return { to: toEnd - bytes, from: fromEnd - bytes, bytes };
}

/** The first bytes of a part (backwards: the last) all of whose pages are alike at both ends. */
export function uniformPart(
  part: Part,
  backwards: boolean,
  kindOfTarget: (page: number) => number,
  kindOfSource: (page: number) => number,
): Part {
  const { to, from } = part;
  const bytes = Math.min(
    alike(to, part.bytes, backwards, kindOfTarget),
    alike(from, part.bytes, backwards, kindOfSource),
  );
  const skipped = backwards ? part.bytes - bytes : 0;
  return { to: to + skipped, from: from + skipped, bytes };
}

/** The page of the part that is copied first. */
export function leadingPage(offset: number, bytes: number, backwards: boolean): number {
  return Math.floor((backwards ? offset + bytes - 1 : offset) / PAGE_BYTES);
}

function alike(
  offset: number,
  bytes: number,
  backwards: boolean,
  kindOf: (page: number) => number,
): number {
  const end = offset + bytes;
  const lead = leadingPage(offset, bytes, backwards);
  const kind = kindOf(lead);
  if (!backwards) {
    for (let page = lead + 1; page * PAGE_BYTES < end; page++) {
      if (kindOf(page) !== kind) return page * PAGE_BYTES - offset;
    }
    return bytes;
  }
  for (let page = lead - 1; (page + 1) * PAGE_BYTES > offset; page--) {
    if (kindOf(page) !== kind) return end - (page + 1) * PAGE_BYTES;
  }
  return bytes;
}

function toNextBlock(offset: number): number {
  return BLOCK_BYTES - (offset % BLOCK_BYTES);
}

function toBlockBefore(end: number): number {
  return ((end - 1) % BLOCK_BYTES) + 1;
}
