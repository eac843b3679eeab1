/**
 * Migration in three phases. Setup takes write access (or all access) from the other processors, so
 * that the content stands still; copy moves runs (operation-transfers.ts); finalize makes each run
 * visible at its new place, and only then forgets the old one. A run that fails is left where it
 * was. Every step is an entry point of its own, since any of them may have to wait for a device.
 * What each kind takes, says and leaves behind is in operation-rules.ts.
 */

import {
  endWordOf,
  firstWordOf,
  type Mask,
  next,
  nextAbsent,
  removeRun,
  WORDS,
} from '../basics/mask.js';
import {
  Access,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../basics/types.js';
import { granulePagesOf, widen } from '../table/granules.js';
import type { State } from '../table/state.js';
import { countPending, endToken, newToken, type Token } from '../table/tokens.js';
import type { Block } from '../table/va-block.js';
import type { Operation, OperationKind } from '../table/work.js';
import { announce } from './announcing.js';
import { finish } from './operation-end.js';
import { ruleOf } from './operation-rules.js';
import { issueTransfers, reserveFor } from './operation-transfers.js';

/** Failed copies in a row before an access is denied, or a block is no victim any more. */
export const ATTEMPTS = 8;

/** An operation of the block, to be filled in further and then started; nothing has changed yet. */
export function open(
  block: Block,
  kind: OperationKind,
  node: NodeId,
  processor: ProcessorId,
  mask: Mask,
): Operation {
  if (block.operation !== null) throw new Error(`block ${block.index} has an operation already`);
  const operation = block.record;
  operation.kind = kind;
  operation.node = node;
  operation.target = node;
  operation.processor = processor;
  setPages(operation, mask);
  operation.access = Access.None;
  operation.map = false;
  operation.entry = false;
  operation.exclusive = false;
  operation.urgentPage = -1;
  operation.together = false;
  operation.reason = null;
  operation.task = null;
  return operation;
}

/** What is in the operation's masks lies where its pages, or those of the last one, were. */
export function setPages(operation: Operation, pages: Mask): void {
  const { mask, moving, reserved } = operation;
  for (let word = operation.firstWord; word < operation.endWord; word++) {
    mask[word] = 0;
    moving[word] = 0;
    reserved[word] = 0;
  }
  operation.firstWord = firstWordOf(pages);
  operation.endWord = endWordOf(pages);
  for (let word = operation.firstWord; word < operation.endWord; word++) mask[word] = pages[word];
}

/** Starts the operation; its memory has been found. It may have ended when this returns. */
export function start(state: State, block: Block, operation: Operation): void {
  operation.progress = false;
  operation.whole = false;
  operation.phase = 'revoke';
  operation.transferPages = PAGES_PER_BLOCK;
  operation.failure = Status.Done;
  block.operation = operation;
  state.activeOperations++;
  const rule = ruleOf(operation.kind);
  if (rule.moves) reserveFor(state, block, operation);
  // The count is held up by one while revocations are handed out, so that none of them ends the
  // phase early.
  operation.outstanding = 1;
  if (block.range.watchers > 0) announce(state, block, operation);
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined) continue;
    const to = takenTo(state, operation, id, mapping.node);
    if (to !== Access.Write) revoke(state, block, operation, id, to);
  }
  rule.command?.(state, block, operation);
  operation.outstanding--;
  if (operation.outstanding === 0) startTransfers(state, block, operation);
}

/**
 * What a processor is left with before pages move. To give memory back takes all rights to it; but
 * of granules it stays where something else counts, so that rights must be taken before.
 */
function takenTo(
  state: State,
  operation: Operation,
  processor: ProcessorId,
  reached: NodeId,
): Access {
  const rule = ruleOf(operation.kind);
  const keepsMemory = operation.kind === 'free' && granulePagesOf(state, reached) > 1;
  const meanwhile = keepsMemory ? rule.left : (rule.meanwhile ?? rule.left);
  return meanwhile(operation, processor, reached);
}

/** Takes from a processor what is above `to`. Stand-ins for denied pages stay. */
function revoke(
  state: State,
  block: Block,
  operation: Operation,
  from: ProcessorId,
  to: Access,
): void {
  const mapping = block.mappings[from];
  const processor = state.processors[from];
  if (mapping === undefined || processor === undefined) return;
  const { mark } = state.masks;
  const going = state.masks.take();
  const rights = to === Access.None ? mapping.mapped : mapping.writable;
  const granulePages = granulePagesOf(state, mapping.node);
  let { mask, firstWord, endWord } = operation;
  if (granulePages > 1) {
    // It has one right to all of a granule, and loses that to the whole.
    mask = state.masks.take();
    mask.set(operation.mask);
    widen(mask, granulePages);
    firstWord = 0;
    endWord = WORDS;
  }
  for (let word = firstWord; word < endWord; word++)
    going[word] = rights[word] & mask[word] & ~mapping.standIn[word];
  widen(going, granulePages);
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(going, firstWord * 32, endWord); first < PAGES_PER_BLOCK; ) {
    const end = nextAbsent(going, first, endWord);
    removeRun(mapping.writable, first, end - first);
    if (to === Access.None) removeRun(mapping.mapped, first, end - first);
    processor.counters.revocations++;
    if (processor.state !== 'dead') {
      const token = newToken(state, 'revoke', block, mapping.node, first, end - first);
      countPending(
        state,
        operation,
        token,
        state.commands.revoke(token.id, from, base + first, end - first, to),
      );
    }
    first = next(going, end, endWord);
  }
  state.masks.backTo(mark);
}

/** A revocation that was pending is through. */
export function revokeDone(state: State, token: Token): void {
  const { block } = token;
  endToken(state, token);
  const operation = block.operation;
  if (operation === null) return;
  operation.outstanding--;
  if (operation.outstanding === 0) startTransfers(state, block, operation);
}

function startTransfers(state: State, block: Block, operation: Operation): void {
  operation.phase = 'transfer';
  // Once no processor has more than it may keep, nothing else has to happen where no page moves.
  if (!ruleOf(operation.kind).moves) {
    finish(state, block, operation);
    return;
  }
  const dead = deadEnd(state, operation);
  if (dead !== NO_NODE) {
    operation.failure = Status.Lost;
    operation.lostSource = dead;
    finish(state, block, operation);
    return;
  }
  issueTransfers(state, block, operation);
}

/** The node died while others gave up their rights: nothing has moved yet, and nothing can. */
function deadEnd(state: State, { kind, node, target }: Operation): NodeId {
  if (kind === 'evict' && state.nodes[node]?.gone === true) return node;
  return state.nodes[target]?.state === 'dead' ? target : NO_NODE;
}
