/** A touch as policies are told of it, for unit tests. The package goes without it. */
import { createMask } from '../core/basics/mask.js';
import type { Touch } from '../core/basics/types.js';

/** Of a page of the first block of a large range, of which the processor has nothing. */
export function touchOf(page: number, about: Partial<Touch> = {}): Touch {
  return {
    memory: undefined,
    again: false,
    page,
    block: 0,
    pages: 2 ** 20,
    write: false,
    advice: 'normal',
    mapped: createMask(),
    occupied: createMask(),
    allowed: createMask(),
    source: 'near',
    sourcePages: Number.POSITIVE_INFINITY,
    budgetPages: 8 * 512,
    full: false,
    pressed: false,
    evictions: 0,
    aheadBlocks: 0,
    units: 1,
    uses: [],
    declared: false,
    continues: true,
    hasWhole: () => false,
    placeOf: () => 'near',
    goneFor: () => -1,
    result: createMask(),
    ahead: 0,
    certain: false,
    reason: 'lone',
    ...about,
  };
}
