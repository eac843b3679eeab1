/**
 * Whether a processor that goes through the blocks of a range touches most of their pages. One that
 * goes down the columns of a matrix touches a page here and one there, block after block: the
 * faults of both look alike where blocks come whole, and no hardware says which pages were used. So
 * of the blocks that a full node had given up before, one comes page by page now and then. Where a
 * page next to one of them is wanted, the rest comes at once, and the next block is tried half as
 * soon. Where others are, and all that are used would have room where the blocks have none, or are
 * so few that they cost less than the block, pages come alone from then on (`scatter.ts`).
 */
import { has, isEmpty } from '../basics/mask.js';
import { PAGES_PER_BLOCK } from '../basics/types.js';
import type { Node } from '../table/nodes.js';
import type { Processor } from '../table/processors.js';
import type { Range, Trial } from '../table/range.js';
import type { Block, Mapping, Residence } from '../table/va-block.js';
import { isScattered, MOST } from './scatter.js';

/** Blocks that come back until one is tried: at first, and at most. */
const FIRST = 64;
const LAST = 1024;
/** Fewer pages tell nothing: another thread of the processor may have come in between. */
const FEWEST = 4;
/** So many faults of a page each take as long as a block that comes whole. */
const WORTH = 40;
/** The part of a node that the pages of one range may take, in quarters. */
const QUARTERS = 3;

/**
 * What a fault tells, or is to tell: the page is to come `alone`, since its block is tried; the
 * block that was tried is `dense`, and the rest of it had better come at once.
 * @param walks the processor is taken to walk
 */
export function tryOut(
  block: Block,
  residence: Residence,
  node: Node,
  processor: Processor,
  mapping: Mapping,
  page: number,
  walks: boolean,
): 'alone' | 'dense' | 'none' {
  const trial = block.range.trials[processor.id];
  if (trial !== undefined && trial.block !== -1) {
    if (trial.block !== block.index) conclude(trial, block.range, node, processor);
    else if (has(mapping.mapped, page)) return 'alone';
    else if (hasNeighbour(mapping, page)) {
      settle(trial, false);
      return 'dense';
    } else {
      trial.pages++;
      return 'alone';
    }
  }
  if (!walks || !isEmpty(mapping.mapped) || !isDue(block, residence, node, processor))
    return 'none';
  const begun = block.range.trials[processor.id];
  begun.block = block.index;
  begun.pages = 1;
  return 'alone';
}

/**
 * Whether pages come alone, since those that the processor touches lie apart: until it touches some
 * next to each other.
 */
export function isSparse(range: Range, processor: Processor): boolean {
  return range.trials[processor.id]?.sparse === true && isScattered(range, processor);
}

/** Whether a block that is about to come is to be tried: it is to come with no other one, then. */
export function isDue(
  { range }: Block,
  { left }: Residence,
  node: Node,
  { id }: Processor,
): boolean {
  if (!left || !node.pressed) return false;
  range.trials[id] ??= { every: FIRST, left: FIRST, block: -1, pages: 0, sparse: false };
  const trial = range.trials[id];
  if (trial.left > 0) trial.left--;
  return trial.left === 0;
}

/**
 * Whether a page next to it has come: two threads, or a partition from both ends, may be in the
 * block.
 */
function hasNeighbour({ mapped }: Mapping, page: number): boolean {
  return (
    (page > 0 && has(mapped, page - 1)) || (page + 1 < PAGES_PER_BLOCK && has(mapped, page + 1))
  );
}

/** The processor has gone on into another block. */
function conclude(trial: Trial, range: Range, { budgetPages }: Node, { id }: Processor): void {
  const { pages } = trial;
  const all = pages * Math.ceil(range.pages / PAGES_PER_BLOCK);
  const sparse = pages >= FEWEST && (pages < WORTH || all * 4 <= budgetPages * QUARTERS);
  if (sparse) range.scattered[id] = MOST;
  settle(trial, sparse);
}

function settle(trial: Trial, sparse: boolean): void {
  trial.sparse = sparse;
  trial.every = sparse ? FIRST : Math.min(trial.every * 2, LAST);
  trial.left = trial.every;
  trial.block = -1;
}
