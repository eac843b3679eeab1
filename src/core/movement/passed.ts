/**
 * Pages that a walk in strides has passed. Down the columns of a matrix each row has one page in
 * use, and the next one for the columns after: where a page comes, the pages beside it are of other
 * columns. They leave by themselves (reclaim.ts), since most others of their block are still in use.
 */
import { andNot, type Mask, size, WORDS } from '../basics/mask.js';
import { PAGES_PER_GROUP, type Reason } from '../basics/types.js';
import type { Fault } from '../table/fault.js';
import { residenceOf, type State } from '../table/state.js';
import { NO_PAGES, rareMask } from '../table/va-block.js';

/** Pages that are worth an eviction: to take rights costs as much for one page as for many. */
const WORTH_IT = PAGES_PER_GROUP;

/** A fault is about to bring pages, or has their rights changed. */
export function notePassed(state: State, fault: Fault, came: Mask, reason: Reason): void {
  const { block, node } = fault;
  const residence = residenceOf(state, block, node.id);
  if (reason === 'stride' && node.granulePages === 1)
    addBeside(came, fault.mapping.mapped, rareMask(residence, 'passed'));
  const { passed } = residence;
  if (passed === NO_PAGES) return;
  andNot(passed, came);
  if (!node.passed.has(block.index) && size(passed) >= WORTH_IT) node.passed.append(block.index);
}

/** Adds those pages of a mask that lie right beside ones that came. */
function addBeside(came: Mask, mask: Mask, result: Mask): void {
  for (let word = 0; word < WORDS; word++) {
    const below = word === 0 ? 0 : came[word - 1] >>> 31;
    const above = word + 1 === WORDS ? 0 : came[word + 1] << 31;
    result[word] |= ((came[word] << 1) | below | (came[word] >>> 1) | above) & mask[word];
  }
}
