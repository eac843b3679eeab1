/**
 * The end of an operation, whatever became of it: what its kind leaves behind, a word to
 * subscribers, and the block is free for the next one.
 */

import { type Mask, next, size } from '../basics/mask.js';
import { NO_NODE, Status } from '../basics/types.js';
import { classify, releaseSpare } from '../table/backing.js';
import type { Node } from '../table/nodes.js';
import { makeReady, type State } from '../table/state.js';
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
    releaseSpare(state, block, target, operation.reserved);
  ruleOf(operation.kind).finish(state, block, operation);
  announceEnd(state, operation);
  block.operation = null;
  state.activeOperations--;
  if (operation.dependent) {
    operation.dependent = false;
    state.dependentOperations--;
  }
  noteEnd(block, operation);
  classify(state, block);
  goOn(state, block);
  // The block can be a victim again, which may be what others wait for.
  if (target !== undefined && target.waiters.size > 0) target.pump = true;
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

/** The record serves the next operation: what the block must know of this one is kept apart. */
function noteEnd({ ended }: Block, operation: Operation): void {
  ended.kind = operation.kind;
  ended.node = operation.target;
  ended.failure = operation.failure;
  ended.lostSource = operation.lostSource;
  ended.task = operation.task;
  ended.page = operation.urgentPage;
  const failed = operation.failure !== Status.Done;
  ended.only = failed && size(operation.mask) === 1 ? next(operation.mask, 0) : -1;
  ended.progress = operation.progress;
}
