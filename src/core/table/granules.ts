/**
 * Granules of a device: it gets memory, maps pages and gives both back by aligned granules of 4 KiB
 * to 2 MiB, and has one right to all pages of a granule. Content moves by pages all the same: a
 * granule that has lost a page lacks no more than that one. What has no content, behind a range's
 * end or given back, comes with the rest of its granule and counts for nothing. `large-granules.ts`
 * has larger ones.
 */
import { and, andNot, type Mask, setAndNot, WORDS } from '../basics/mask.js';
import type { NodeId } from '../basics/types.js';
import type { Node } from './nodes.js';
import type { State } from './state.js';
import type { Block, Residence } from './va-block.js';

/** By the logarithm of a granule's pages: the first page of each granule in a word. */
const FIRSTS = [-1, 0x55555555, 0x11111111, 0x01010101, 0x00010001];

/** Adds all pages of each granule of which the mask has one. */
export function widen(mask: Mask, granulePages: number): void {
  if (granulePages === 1) return;
  if (granulePages >= 32) {
    widenWords(mask, granulePages / 32);
    return;
  }
  const firsts = FIRSTS[31 - Math.clz32(granulePages)];
  const granule = 2 ** granulePages - 1;
  for (let word = 0; word < WORDS; word++) {
    let bits = mask[word];
    if (bits === 0) continue;
    for (let shift = 1; shift < granulePages; shift <<= 1) bits |= bits >>> shift;
    mask[word] = Math.imul(bits & firsts, granule);
  }
}

function widenWords(mask: Mask, words: number): void {
  for (let first = 0; first < WORDS; first += words) {
    let any = 0;
    for (let word = first; word < first + words; word++) any |= mask[word];
    if (any !== 0) mask.fill(-1, first, first + words);
  }
}

/** Takes out all pages of each granule of which `without` has one; `without` is widened. */
export function excludeGranules(mask: Mask, without: Mask, granulePages: number): void {
  widen(without, granulePages);
  andNot(mask, without);
}

/** Pages of the block that have content, or may have some, in a word of it. */
export function contentIn({ inside, freed }: Block, word: number): number {
  return inside[word] & ~freed[word];
}

/** Leaves in the mask those granules only of which it has all pages with content. */
export function keepWhole(state: State, block: Block, mask: Mask, granulePages: number): void {
  const { mark } = state.masks;
  const lacking = state.masks.take();
  setAndNot(lacking, block.inside, block.freed);
  andNot(lacking, mask);
  excludeGranules(mask, lacking, granulePages);
  state.masks.backTo(mark);
}

/** All pages with content of the granules of which `mask` has some, in a mask of the stack. */
export function granulesAround(state: State, block: Block, mask: Mask, granulePages: number): Mask {
  const wide = state.masks.take();
  wide.set(mask);
  widen(wide, granulePages);
  and(wide, block.inside);
  andNot(wide, block.freed);
  return wide;
}

/**
 * What processors of the node have mapped of granules of which some of these pages are yet to come,
 * in a mask of the stack. There is such a granule only where the range has grown into it.
 */
export function mappedAround(
  state: State,
  block: Block,
  { id, granulePages }: Node,
  pages: Mask,
): Mask {
  const granules = state.masks.take();
  granules.set(pages);
  const resident = block.residences[id]?.resident;
  if (resident !== undefined) andNot(granules, resident);
  widen(granules, granulePages);
  for (let word = 0; word < WORDS; word++) {
    if (granules[word] === 0) continue;
    let mapped = 0;
    for (let at = 0; at < block.mappings.length; at++) {
      const mapping = block.mappings[at];
      if (mapping?.node === id) mapped |= mapping.mapped[word] & ~mapping.standIn[word];
    }
    granules[word] &= mapped;
  }
  return granules;
}

export function granulePagesOf({ nodes }: State, node: NodeId): number {
  return nodes[node]?.granulePages ?? 1;
}

/**
 * What of the mask the node gives back: whole granules in which nothing is left that counts. Adds
 * to them what they have besides.
 */
export function leaveByGranules(
  state: State,
  { granulePages }: Node,
  { backed, resident, scratch }: Residence,
  going: Mask,
): void {
  const { mark } = state.masks;
  const staying = state.masks.take();
  for (let word = 0; word < WORDS; word++)
    staying[word] = (resident[word] | scratch[word]) & ~going[word];
  widen(going, granulePages);
  excludeGranules(going, staying, granulePages);
  and(going, backed);
  state.masks.backTo(mark);
}
