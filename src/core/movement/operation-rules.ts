/**
 * What each kind of operation takes from processors, says to subscribers, and leaves behind: one
 * record a kind. How an operation goes on from step to step is the same for all (operation.ts).
 */

import { add, andNot, clear, has, isEmpty, next, or, setAnd, size } from '../basics/mask.js';
import {
  Access,
  HOST_NODE,
  type InvalidationReason,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../basics/types.js';
import { releaseBacking, releaseSpare } from '../table/backing.js';
import { onlyCopies } from '../table/contents.js';
import { widen } from '../table/granules.js';
import { mappingOf, nodeOf, residenceOf, type State } from '../table/state.js';
import { countPending, newToken } from '../table/tokens.js';
import {
  type Block,
  NO_PAGES,
  perhapsNotZero,
  rareMask,
  stopWaiting,
  wakeWanting,
} from '../table/va-block.js';
import type { Operation, OperationKind } from '../table/work.js';

export interface OperationRule {
  /** What subscribers are told that it is. */
  readonly reason: InvalidationReason;
  /** Pages move: memory is reserved for them, and they are copied. */
  readonly moves: boolean;
  /**
   * Those of the 32 pages of a word whose content is forgotten; none unless said otherwise.
   * Subscribers hear of them also where no processor has them mapped: a program that remembers the
   * content may not believe in it any more.
   */
  readonly forgets?: (block: Block, word: number) => number;
  /** The most that a processor, mapped to `node`, has of the pages at the operation's end. */
  left(operation: Operation, processor: ProcessorId, node: NodeId): Access;
  /**
   * The same for the time before pages move or the operation ends: what is above it is revoked
   * first. `left` unless said otherwise.
   */
  readonly meanwhile?: (operation: Operation, processor: ProcessorId, node: NodeId) => Access;
  /** A command of its own, once the revocations have been handed out. */
  readonly command?: (state: State, block: Block, operation: Operation) => void;
  finish(state: State, block: Block, operation: Operation): void;
}

const none = (): Access => Access.None;
const read = (): Access => Access.Read;
const all = (): Access => Access.Write;
const nothing = (): void => undefined;
const every = (): number => -1;
/**
 * A freed page ceases to be, also one that was never touched: a thread that reads it was given
 * zeros, and is denied them from now on.
 */
const kept = ({ freed }: Block, word: number): number => ~freed[word];

/** The processor that is switched, or denied a page, loses it; no other one does. */
function othersKeep({ processor }: Operation, id: ProcessorId): Access {
  return id === processor ? Access.None : Access.Write;
}

const RULES: { readonly [Kind in OperationKind]: OperationRule } = {
  migrate: {
    reason: 'migrate',
    moves: true,
    // A processor that maps the very memory that the pages go to sees what happens there.
    left: ({ node, access }, _processor, reached) => {
      if (reached === node) return Access.Write;
      return access === Access.Write ? Access.None : Access.Read;
    },
    finish: nothing,
  },
  evict: {
    reason: 'migrate',
    moves: true,
    left: ({ node }, _processor, reached) => (reached === node ? Access.None : Access.Write),
    // What is copied out must stand still; to release the memory unmaps it.
    meanwhile: ({ node }, _processor, reached) => (reached === node ? Access.Read : Access.Write),
    finish: finishEviction,
  },
  scratch: {
    reason: 'migrate',
    moves: true,
    left: ({ node }, _processor, reached) => (reached === node ? Access.None : Access.Write),
    // The processor itself waits for it; one that shares its memory does not.
    meanwhile: ({ node, processor }, id, reached) =>
      reached === node && id !== processor ? Access.None : Access.Write,
    finish: nothing,
  },
  cover: {
    reason: 'migrate',
    moves: false,
    left: othersKeep,
    meanwhile: all,
    command: cover,
    finish: finishCover,
  },
  mapRemote: {
    reason: 'migrate',
    moves: false,
    left: othersKeep,
    // Its threads have ended: the switch takes all that it had.
    meanwhile: all,
    command: switchMemory,
    finish: finishRemote,
  },
  mapLocal: {
    reason: 'migrate',
    moves: false,
    left: othersKeep,
    meanwhile: all,
    command: switchMemory,
    finish: finishLocal,
  },
  zero: {
    reason: 'discard',
    moves: false,
    forgets: perhapsNotZero,
    left: none,
    finish: finishZero,
  },
  // Its pages are those that a node has, or that were changed.
  drop: { reason: 'discard', moves: false, forgets: every, left: none, finish: finishDrop },
  // To release the memory takes every right.
  free: {
    reason: 'unmap',
    moves: false,
    forgets: kept,
    left: none,
    meanwhile: all,
    finish: finishFree,
  },
  clean: { reason: 'protect', moves: false, left: read, finish: finishClean },
  copyOnWrite: { reason: 'protect', moves: false, left: read, finish: finishCopyOnWrite },
  unmap: {
    reason: 'protect',
    moves: false,
    left: (_operation, _processor, reached) => (reached === HOST_NODE ? Access.None : Access.Write),
    finish: finishUnmap,
  },
  unmapGranules: {
    reason: 'protect',
    moves: false,
    // Before granules of one node are filled no other one loses anything.
    left: ({ node }, _processor, reached) => {
      const loses = node === NO_NODE ? reached !== HOST_NODE : reached === node;
      return loses ? Access.None : Access.Write;
    },
    finish: nothing,
  },
  protect: {
    reason: 'protect',
    moves: false,
    left: ({ access }) => access,
    finish: finishProtect,
  },
};

/**
 * By name for what nearly all operations are: a look by a key that has been many things costs a
 * fault as much as a walk over a mask.
 */
export function ruleOf(kind: OperationKind): OperationRule {
  return kind === 'migrate' ? RULES.migrate : RULES[kind];
}

/**
 * The processor gets other memory at all addresses of the block. Its threads have ended, and what
 * it had mapped goes with the old one.
 */
function switchMemory(state: State, block: Block, operation: Operation): void {
  const { kind, processor } = operation;
  const mapping = mappingOf(state, block, processor);
  clear(mapping.mapped);
  clear(mapping.writable);
  if (state.processors[processor]?.state === 'dead') return;
  const token = newToken(state, 'revoke', block, mapping.node, 0, PAGES_PER_BLOCK);
  const page = block.index * PAGES_PER_BLOCK;
  countPending(
    state,
    operation,
    token,
    state.commands.remap(token.id, processor, page, kind === 'mapRemote'),
  );
}

function finishRemote(state: State, block: Block, { processor }: Operation): void {
  const owner = state.processors[processor];
  const mapping = mappingOf(state, block, processor);
  uncover(state, block, processor);
  if (owner === undefined || owner.state === 'dead' || owner.localNode === HOST_NODE) return;
  mapping.remapped = mapping.node !== HOST_NODE || mapping.remapped;
  mapping.node = HOST_NODE;
}

function finishLocal(state: State, block: Block, { processor }: Operation): void {
  const owner = state.processors[processor];
  const mapping = mappingOf(state, block, processor);
  uncover(state, block, processor);
  if (owner === undefined) return;
  mapping.node = owner.localNode;
  mapping.remapped = false;
  owner.remoteBlocks--;
}

/** What stood in for denied pages goes with the mapping. */
function uncover(state: State, block: Block, processor: ProcessorId): void {
  const mapping = mappingOf(state, block, processor);
  const owner = state.processors[processor];
  if (owner !== undefined) owner.coveredPages -= size(mapping.standIn);
  mapping.standIn = NO_PAGES;
}

/** A page of the processor's own appears where it reaches host memory in place. */
function cover(state: State, block: Block, operation: Operation): void {
  const { processor, urgentPage } = operation;
  if (state.processors[processor]?.state === 'dead') return;
  const token = newToken(state, 'revoke', block, operation.node, urgentPage, 1);
  const status = state.commands.cover(
    token.id,
    processor,
    block.index * PAGES_PER_BLOCK + urgentPage,
  );
  countPending(state, operation, token, status);
  if (status !== Status.Done && status !== Status.Pending) operation.failure = status;
}

function finishCover(state: State, block: Block, operation: Operation): void {
  const { processor, urgentPage, failure } = operation;
  const owner = state.processors[processor];
  if (owner === undefined || owner.state === 'dead') return;
  const page = block.index * PAGES_PER_BLOCK + urgentPage;
  const mapping = mappingOf(state, block, processor);
  stopWaiting(mapping, urgentPage);
  if (failure !== Status.Done) {
    operation.failure = Status.Done;
    state.commands.deny(processor, page, true, mapping.urgentThread, 'COPY_FAILED', true);
    return;
  }
  owner.coveredPages++;
  add(rareMask(mapping, 'standIn'), urgentPage);
  add(mapping.mapped, urgentPage);
  add(mapping.writable, urgentPage);
  state.commands.wake(processor, page, 1, Access.None);
}

function finishEviction(state: State, block: Block, operation: Operation): void {
  const node = nodeOf(state, operation.node);
  node.leavingPages -= operation.evictingPages;
  node.spare = true;
  const residence = residenceOf(state, block, operation.node);
  // Only what is safe elsewhere, or can be made again, may go: a page whose copy failed stays.
  const { mark } = state.masks;
  const stuck = state.masks.take();
  const going = state.masks.take();
  onlyCopies(state, block, operation.node, operation.mask, stuck);
  widen(stuck, node.granulePages);
  setAnd(going, operation.mask, residence.backed);
  andNot(going, stuck);
  andNot(going, residence.scratch);
  const before = residence.evictEffort === state.effort ? residence.evictFailures : 0;
  residence.evictFailures = isEmpty(stuck) ? 0 : before + 1;
  residence.evictEffort = state.effort;
  if (!isEmpty(going)) {
    // Where nothing had to move there was room for a block that wanted it.
    if (operation.progress) releaseBacking(state, block, node, going);
    else releaseSpare(state, block, node, going);
    node.counters.evictions++;
    residence.gaveUp = node.counters.evictions;
  }
  state.masks.backTo(mark);
}

function finishZero(state: State, block: Block, operation: Operation): void {
  finishDrop(state, block, operation);
  or(block.blank, operation.mask);
}

/** No node holds the pages any more, and nothing is known of them but where they come from. */
function finishDrop(_state: State, block: Block, { mask }: Operation): void {
  andNot(block.dirty, mask);
  andNot(block.lost, mask);
  andNot(block.blank, mask);
  andNot(block.cleaning, mask);
  for (const residence of block.residences)
    if (residence !== undefined) andNot(residence.resident, mask);
}

function finishClean(_state: State, block: Block, { mask }: Operation): void {
  or(rareMask(block, 'cleaning'), mask);
}

function finishCopyOnWrite(_state: State, block: Block, { mask }: Operation): void {
  or(rareMask(block, 'copyOnWrite'), mask);
}

/** Threads that wait for a right fault again: a guard is asked then. */
function finishUnmap(state: State, block: Block, { mask }: Operation): void {
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping?.node !== HOST_NODE || !mapping.waiting) continue;
    mapping.waitsForRoom = false;
    const { waitingRead, waitingWrite } = mapping;
    for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
      if (!has(waitingRead, page) && !has(waitingWrite, page)) continue;
      stopWaiting(mapping, page);
      state.commands.wake(id, block.index * PAGES_PER_BLOCK + page, 1, Access.None);
    }
  }
}

function finishProtect(_state: State, block: Block, operation: Operation): void {
  const { access, mask } = operation;
  const unreadable = access === Access.None ? rareMask(block, 'unreadable') : block.unreadable;
  const unwritable = access === Access.Write ? block.unwritable : rareMask(block, 'unwritable');
  if (access === Access.None) or(unreadable, mask);
  else andNot(unreadable, mask);
  if (access === Access.Write) andNot(unwritable, mask);
  else or(unwritable, mask);
  wakeWanting(block, mask);
}

function finishFree(state: State, block: Block, operation: Operation): void {
  for (const node of state.nodes)
    if (node !== undefined) releaseBacking(state, block, node, operation.mask);
  let fresh = 0;
  for (
    let page = next(operation.mask, 0);
    page < PAGES_PER_BLOCK;
    page = next(operation.mask, page + 1)
  ) {
    if (!has(block.freed, page)) fresh++;
    add(rareMask(block, 'freed'), page);
  }
  block.range.freedPages += fresh;
  // What was said about the pages goes with them.
  for (const said of [block.unreadable, block.unwritable, block.copyOnWrite, block.pinned])
    andNot(said, operation.mask);
  wakeWanting(block, operation.mask);
  finishZero(state, block, operation);
}
