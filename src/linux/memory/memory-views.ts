/**
 * Views of memory that is not the engine's, kept since it is looked at again and again: to make a
 * view takes longer than to look at a page through it. A view says nothing of whether the memory is
 * still there.
 */
import { rawView } from '../base/libc.js';

/** A view is of so many bytes, from a multiple of them on. */
export const VIEW_BYTES = 2 ** 21;
/**
 * Views that are kept at once, of 2 GiB together: the engine counts the bytes of new ones as if
 * they were its own, and collects garbage for every 64 MiB.
 */
const MOST = 1024;

export interface MemoryView {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

const views = new Map<number, MemoryView>();
let last = -1;
let lastView: MemoryView | null = null;

/** The view that has an address. It ends at a multiple of the views' size. */
export function viewAt(address: number): MemoryView {
  const index = Math.floor(address / VIEW_BYTES);
  if (index === last && lastView !== null) return lastView;
  let view = views.get(index);
  if (view === undefined) {
    // Those that are used go on being found; it matters little which others have to be made again.
    if (views.size === MOST) views.clear();
    const buffer = rawView(index * VIEW_BYTES, VIEW_BYTES);
    view = { bytes: new Uint8Array(buffer), words: new Uint32Array(buffer) };
    views.set(index, view);
  }
  last = index;
  lastView = view;
  return view;
}

/** Where the address is in the bytes of its view. */
export function offsetInView(address: number): number {
  return address % VIEW_BYTES;
}
