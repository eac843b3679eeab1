/**
 * The end of an operation, whatever became of it: what its kind leaves behind, a word to
 * subscribers, and the block is free for the next one.
 */

import { endOf, isEmpty, type Mask, next } from '../basics/mask.js';
import { NO_NODE, Status } from '../basics/types.js';
import { classify, releaseSpare } from '../table/backing.js';
import { granulePagesOf, leaveByGranules } from '../table/granules.js';
import { noteLeaving } from '../table/large-granule-memory.js';
import type { Node } from '../table/nodes.js';
import { makeReady, nodeOf, type State } from '../table/state.js';
import { type Block, type Mapping, NO_PAGES, noteWaiting } from '../table/va-block.js';
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
  tell(state, block, operation);
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
  if (block.tasks.length > 0 || block.comeTo !== NO_NODE || isWaiting(state, block))
    makeReady(state, block);
  else block.unbroken = null;
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
 * Tells the task, or the threads, that the operation was for how it ended, and no others. Pages that
 * could not leave a node fail nothing that waits for the block.
 */
function tell(state: State, block: Block, operation: Operation): void {
  const { kind, target, processor, task, failure, progress, urgentPage } = operation;
  const threads = task === null && kind !== 'evict' ? block.mappings[processor] : undefined;
  const asker = task ?? threads;
  if (asker === undefined) return;
  const isKnown = failure === Status.Lost && isDeathKnown(state, operation);
  asker.failure = isKnown ? Status.Failed : failure;
  asker.triedNode = target;
  if (failure !== Status.Done) asker.attempts++;
  else if (progress) asker.attempts = 0;
  if (threads === undefined) return;
  threads.failedPage = -1;
  if (failure === Status.Done) return;
  if (isForOne(state, threads, operation)) threads.failedPage = urgentPage;
  // Its threads hear of it first: others might bring the page meanwhile.
  block.nextServed = processor;
  noteWaiting(threads);
}

/** Whether the node that a lost transfer went to, or the one it came from, is known to be dead. */
function isDeathKnown(state: State, { target, lostSource }: Operation): boolean {
  const to = state.nodes[target];
  if (to === undefined || to.state === 'dead') return true;
  const source = state.nodes[lostSource];
  return lostSource >= 0 && (source === undefined || source.state === 'dead');
}

/**
 * Whether the operation was about the awaited page alone, or about its granule where the processor
 * has granules.
 */
function isForOne(state: State, { node }: Mapping, { mask, urgentPage }: Operation): boolean {
  const granulePages = granulePagesOf(state, node);
  const first = urgentPage - (urgentPage % granulePages);
  return next(mask, 0) >= first && endOf(mask) <= first + granulePages;
}
