/**
 * The end of an operation, whatever became of it: what its kind leaves behind, a word to
 * subscribers, and the block is free for the next one.
 */

import { endOf, isEmpty, type Mask, next, size } from '../basics/mask.js';
import { NO_NODE, Status } from '../basics/types.js';
import { classify, releaseSpare } from '../table/backing.js';
import { granulePagesOf, leaveByGranules } from '../table/granules.js';
import { noteLeaving } from '../table/large-granule-memory.js';
import type { Node } from '../table/nodes.js';
import { makeReady, nodeOf, type State } from '../table/state.js';
import { type Block, NO_PAGES } from '../table/va-block.js';
import type { Operation } from '../table/work.js';
import { announceEnd } from './announcing.js';
import { ruleOf } from './operation-rules.js';

/** The node that pages are copied to; none where a node makes room for pages without a home. */
export function targetOf(state: State, { target }: Operation): Node | undefined {
  return state.nodes[target];
}

export function hasAny({ firstWord, endWord }: Operation, mask: Mask): boolean {
  for (let word = firstWord; word < endWord; word++) if (mask[word] !== 0) return true;
  return false;
}

export function finish(state: State, block: Block, operation: Operation): void {
  const target = targetOf(state, operation);
  // Memory that was taken for pages which have not come.
  if (target !== undefined && hasAny(operation, operation.reserved))
    releaseReserved(state, block, target, operation);
  ruleOf(operation.kind).finish(state, block, operation);
  announceEnd(state, operation);
  block.operation = null;
  state.activeOperations--;
  // What it could not send away stays, and with it the rest of a granule.
  if (operation.kind === 'evict') noteLeaving(state, nodeOf(state, operation.node), block);
  if (operation.dependent) {
    operation.dependent = false;
    state.dependentOperations--;
  }
  noteEnd(state, block, operation);
  classify(state, block);
  goOn(state, block);
  // The block can be a victim again, which may be what others wait for.
  if (target !== undefined && target.waiters.size > 0) target.pump = true;
}

/** Memory in granules is in vain where nothing of a granule has come. */
function releaseReserved(state: State, block: Block, target: Node, { reserved }: Operation): void {
  const residence = block.residences[target.id];
  if (target.granulePages > 1 && residence !== undefined)
    leaveByGranules(state, target, residence, reserved);
  if (target.granulePages === 1 || !isEmpty(reserved)) releaseSpare(state, block, target, reserved);
}

/** Has the block looked at again, if something waits for that: after most faults nothing does. */
export function goOn(state: State, block: Block): void {
  const { ended } = block;
  if (
    ended.failure !== Status.Done ||
    block.tasks.length > 0 ||
    block.comeTo !== NO_NODE ||
    isWaiting(state, block)
  ) {
    makeReady(state, block);
    return;
  }
  block.unbroken = null;
  if (!ended.progress) return;
  block.attempts = 0;
  ended.progress = false;
}

/** Whether threads wait for pages of the block, or a node has lost some of it. */
function isWaiting(state: State, { mappings, residences }: Block): boolean {
  for (let id = 0; id < mappings.length; id++) if (mappings[id]?.waiting === true) return true;
  for (let id = 0; id < residences.length; id++) {
    const residence = residences[id];
    if (residence === undefined) continue;
    if (residence.forgotten !== NO_PAGES || state.nodes[id]?.gone === true) return true;
  }
  return false;
}

/**
 * The page that the operation was about, or of its granule the one that a thread waits for; or -1.
 */
function onlyPage(state: State, { mask, target, urgentPage }: Operation): number {
  const first = next(mask, 0);
  const granulePages = granulePagesOf(state, target);
  if (granulePages === 1) return size(mask) === 1 ? first : -1;
  const ofOne = Math.floor(first / granulePages) === Math.floor((endOf(mask) - 1) / granulePages);
  return ofOne && urgentPage !== -1 ? urgentPage : -1;
}

/** The record serves the next operation: what the block must know of this one is kept apart. */
function noteEnd(state: State, { ended }: Block, operation: Operation): void {
  ended.kind = operation.kind;
  ended.node = operation.target;
  ended.failure = operation.failure;
  ended.lostSource = operation.lostSource;
  ended.task = operation.task;
  ended.page = operation.urgentPage;
  const failed = operation.failure !== Status.Done;
  ended.only = failed ? onlyPage(state, operation) : -1;
  ended.progress = operation.progress;
}
