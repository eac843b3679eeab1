/** The logical page table: the 512 pages of a block. It is the one truth; drivers shadow it. */
import { addRun, createMask, has, isEmpty, type Mask, remove } from '../basics/mask.js';
import {
  Access,
  type Advice,
  type DenyReason,
  NO_ADVICE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../basics/types.js';
import type { Range } from './range.js';
import type { Asker, Operation, Task } from './work.js';

/** One memory node's share of a block. */
export interface Residence {
  /** The node holds the current content. */
  readonly resident: Mask;
  /** The node has memory for the page, perhaps stale. */
  readonly backed: Mask;
  /**
   * Pages of which the node has forgotten the content, and that are still looked at as resident: an
   * operation of the block is under way.
   */
  forgotten: Mask;
  /** Memory that stands in for denied pages: its content is not the range's. */
  scratch: Mask;
  /** Pages that a walk in strides has passed (movement/passed.ts): they go before any others. */
  passed: Mask;
  backedCount: number;
  /** Frame of each page on a pooled node, -1 where there is none; null on an identity node. */
  readonly frames: Int32Array | null;
  /** Threads whose progress depends on the block staying: it is no victim while there is one. */
  shields: number;
  /** Brought before it was touched, and not touched yet. */
  ahead: boolean;
  /** How many blocks the node had given up when it last gave this one up; -1: it never did. */
  gaveUp: number;
  /** Evictions in a row that left pages behind because their copies failed. */
  evictFailures: number;
  /** The effort in which they were counted. */
  evictEffort: number;
  /** What launches and transfers of files need to stay as it is. */
  readonly holds: Hold[];
}

/** One processor's rights in a block, and what its threads wait for there. */
export interface Mapping extends Asker {
  /** The memory its page tables point to: its own node, or the host's, reached in place. */
  node: NodeId;
  /** It was switched to that memory (`remap`), and would reach another one otherwise. */
  remapped: boolean;
  readonly mapped: Mask;
  /** Pages it may write; a subset of `mapped`. */
  readonly writable: Mask;
  /**
   * Mapped pages that show what stands in for them after a denied access: scratch memory of its
   * node, or, in host memory that it reaches in place, a page that its driver keeps for itself.
   */
  standIn: Mask;
  readonly waitingRead: Mask;
  readonly waitingWrite: Mask;
  waiting: boolean;
  /**
   * They have found no room, and are not tried again before there may be some: the block may be
   * looked at for no more than that others took its pages.
   */
  waitsForRoom: boolean;
  /** Pages awaited until other machines allow the right: nothing is done meanwhile. */
  wantedRead: Mask;
  wantedWrite: Mask;
  /** The page that faulted last, served first. */
  urgentPage: number;
  /** The thread of that fault, for messages. */
  urgentThread: number;
  /** The awaited page that could not be had, with `failure`; -1: none, or several together. */
  failedPage: number;
}

export interface Hold {
  readonly mask: Mask;
  /** The same, or the granules around it, where a processor has them mapped. */
  readonly reach: Mask;
  readonly access: Access;
}

export interface Block {
  readonly index: number;
  readonly range: Range;
  /** Its range was recycled: all that counts is which memory processors find there. */
  gone: boolean;
  /** Pages of the block that belong to the range. */
  readonly inside: Mask;
  /** The content differs from what the provider, or zero, would give. */
  readonly dirty: Mask;
  /**
   * No node has the content any more: the only copy died with a device, or a clone's source could
   * not be had when its content was forgotten.
   */
  lost: Mask;
  /** Why, where it was for another reason than a device's death; null: nowhere. */
  losses: Map<number, DenyReason> | null;
  freed: Mask;
  /** Protected: no processor may read, or none may write. Unreadable pages are unwritable. */
  unreadable: Mask;
  unwritable: Mask;
  /** Cloned pages without copies yet: nobody writes them before `copyOnWriteBroken`. */
  copyOnWrite: Mask;
  /** Those of them that are being copied for the clones. */
  breaking: Mask;
  /**
   * Those of them that could just now not be copied, and why: processors that wait to write them
   * are refused, and the clones ask again when they need them. Forgotten when the block has served
   * all that waits; null: none.
   */
  unbroken: Map<number, DenyReason> | null;
  /** Pinned in host memory: they stay there until the program lets go of them. */
  pinned: Mask;
  /** Emptied: where no node holds the page it is zero, whatever the range's provider would say. */
  readonly blank: Mask;
  /** Pages being written back, unless a processor may have written them since. */
  cleaning: Mask;
  advice: Advice;
  /** Processors that faulted on the block since that was last asked, a bit each. */
  young: number;
  /** How often in a row another processor's faults took pages of it; `pattern/turns.ts`. */
  turns: number;
  /** The processor whose faults did so last. */
  turnOf: ProcessorId;
  /** When: the count of faults and requests (`State.effort`). */
  turnAt: number;
  readonly residences: (Residence | undefined)[];
  readonly mappings: (Mapping | undefined)[];
  readonly tasks: Task[];
  /** Above 0: room is being made for it, or for what it sends home; no node gives any back. */
  kept: number;
  /**
   * The node that pages have come to for what the block does next with them, and on which they are
   * kept until it goes on; NO_NODE: none.
   */
  comeTo: NodeId;
  operation: Operation | null;
  /** The next operation's record, so that a fault allocates nothing: `operation` is it or null. */
  readonly record: Operation;
  /** Where the search for waiting processors starts, so that none is always last. */
  nextServed: number;
}

/** What most blocks have none of: all share one empty mask until they have some. */
export const NO_PAGES: Mask = createMask();

/** The mask of a block or mapping, to add to. Taking away needs none of one's own. */
export function rareMask<Name extends string>(of: Record<Name, Mask>, name: Name): Mask {
  if (of[name] === NO_PAGES) of[name] = createMask();
  return of[name];
}

/** Whether nothing was ever said that keeps anybody from a page of the block. */
export function isUnrestricted({ unreadable, unwritable, copyOnWrite, pinned }: Block): boolean {
  return (
    unreadable === NO_PAGES &&
    unwritable === NO_PAGES &&
    copyOnWrite === NO_PAGES &&
    pinned === NO_PAGES
  );
}

export function createBlock(index: number, range: Range): Block {
  const inside = createMask();
  const first = index * PAGES_PER_BLOCK;
  const pages = Math.min(range.first + range.pages - first, PAGES_PER_BLOCK);
  if (pages > 0) addRun(inside, 0, pages);
  const block = emptyBlock(index, range, inside);
  block.advice = range.advice.at(first - range.first);
  // What was said about the range before anybody touched this part of it.
  const begin = first - range.first;
  range.protection.each(begin, begin + PAGES_PER_BLOCK, (from, to, access) => {
    if (access < Access.Write) addRun(rareMask(block, 'unwritable'), from - begin, to - from);
    if (access < Access.Read) addRun(rareMask(block, 'unreadable'), from - begin, to - from);
  });
  range.copyOnWrite.each(begin, begin + PAGES_PER_BLOCK, (from, to, copyOnWrite) => {
    if (copyOnWrite) addRun(rareMask(block, 'copyOnWrite'), from - begin, to - from);
  });
  return block;
}

/** Whether a processor finds something at the block's addresses that only a remap takes away. */
export function outlivesRange({ remapped, standIn }: Mapping): boolean {
  return remapped || !isEmpty(standIn);
}

/**
 * The same addresses as another range's. Which memory processors find there only a remap changes:
 * those that reach host memory in place do so until then, and find what stands in for pages that
 * they were denied.
 */
export function createBlockAfter({ index, mappings }: Block, range: Range): Block {
  const block = createBlock(index, range);
  for (let id = 0; id < mappings.length; id++) {
    const left = mappings[id];
    if (left === undefined || !outlivesRange(left)) continue;
    const mapping = createMapping(left.node);
    mapping.remapped = left.remapped;
    if (left.standIn !== NO_PAGES) {
      mapping.standIn = left.standIn;
      for (const mask of [mapping.mapped, mapping.writable]) mask.set(left.standIn);
    }
    block.mappings[id] = mapping;
  }
  return block;
}

function emptyBlock(index: number, range: Range, inside: Mask): Block {
  return {
    index,
    range,
    gone: false,
    inside,
    dirty: createMask(),
    lost: NO_PAGES,
    losses: null,
    freed: NO_PAGES,
    unreadable: NO_PAGES,
    unwritable: NO_PAGES,
    copyOnWrite: NO_PAGES,
    breaking: NO_PAGES,
    unbroken: null,
    pinned: NO_PAGES,
    blank: createMask(),
    cleaning: NO_PAGES,
    advice: NO_ADVICE,
    young: 0,
    turns: 0,
    turnOf: NO_PROCESSOR,
    turnAt: 0,
    residences: [],
    mappings: [],
    tasks: [],
    kept: 0,
    comeTo: NO_NODE,
    operation: null,
    record: createOperation(),
    nextServed: 0,
  };
}

/** Whether a page that no node holds comes from its range's provider; otherwise it is zero. */
export function isProvided(block: Block, page: number): boolean {
  return block.range.provided && !has(block.blank, page) && !has(block.freed, page);
}

/** Those of the 32 pages of a word that are not known to be zero. */
export function perhapsNotZero({ range, blank, freed, dirty, lost }: Block, word: number): number {
  const provided = range.provided ? ~(blank[word] | freed[word]) : 0;
  return provided | dirty[word] | lost[word];
}

/** Whether the content is what its provider gives: not written, emptied, freed or lost. */
export function isInherited(block: Block, page: number): boolean {
  return isProvided(block, page) && !has(block.dirty, page) && !has(block.lost, page);
}

/** Puts those pages of `mask` into `result` that differ from their provider's, and can be had. */
export function changedPages(block: Block, mask: Mask, result: Mask): void {
  for (let word = 0; word < result.length; word++) {
    const changed =
      (block.dirty[word] | block.blank[word]) & ~block.freed[word] & ~block.lost[word];
    result[word] = mask[word] & changed & block.inside[word];
  }
}

export function createResidence(pooled: boolean): Residence {
  return {
    resident: createMask(),
    backed: createMask(),
    forgotten: NO_PAGES,
    scratch: NO_PAGES,
    passed: NO_PAGES,
    backedCount: 0,
    frames: pooled ? new Int32Array(PAGES_PER_BLOCK).fill(-1) : null,
    shields: 0,
    gaveUp: -1,
    evictFailures: 0,
    evictEffort: 0,
    ahead: false,
    holds: [],
  };
}

/** Whether a thread waits for the page. */
export function isAwaited({ waitingRead, waitingWrite }: Mapping, page: number): boolean {
  return has(waitingRead, page) || has(waitingWrite, page);
}

/** No thread waits for the page any more. */
export function stopWaiting(mapping: Mapping, page: number): void {
  remove(mapping.waitingRead, page);
  remove(mapping.waitingWrite, page);
  noteWaiting(mapping);
}

/** Threads that wait for rights to these pages are looked at again: the rights have changed. */
export function wakeWanting(block: Block, pages: Mask): void {
  for (const mapping of block.mappings) {
    if (
      mapping === undefined ||
      (mapping.wantedRead === NO_PAGES && mapping.wantedWrite === NO_PAGES)
    )
      continue;
    mapping.waitsForRoom = false;
    for (let word = 0; word < pages.length; word++) {
      mapping.waitingRead[word] |= mapping.wantedRead[word] & pages[word];
      mapping.waitingWrite[word] |= mapping.wantedWrite[word] & pages[word];
      mapping.wantedRead[word] &= ~pages[word];
      mapping.wantedWrite[word] &= ~pages[word];
    }
    noteWaiting(mapping);
  }
}

/** Threads that found no room for pages of the block are tried again. */
export function endRoomWait({ mappings }: Block): void {
  for (const mapping of mappings) if (mapping !== undefined) mapping.waitsForRoom = false;
}

/** Pages have been taken out of what threads wait for: what failed for them is of no account. */
export function noteWaiting(mapping: Mapping): void {
  const { waitingRead, waitingWrite, failedPage } = mapping;
  let word = 0;
  while (word < waitingRead.length && (waitingRead[word] | waitingWrite[word]) === 0) word++;
  mapping.waiting = word < waitingRead.length;
  const isOver = failedPage !== -1 && !isAwaited(mapping, failedPage);
  if (isOver || !mapping.waiting) forgetFailure(mapping);
}

/** Its threads try anew. */
export function forgetFailure(mapping: Mapping): void {
  mapping.attempts = 0;
  mapping.failure = Status.Done;
  mapping.failedPage = -1;
}

export function createMapping(node: NodeId): Mapping {
  return {
    node,
    remapped: false,
    mapped: createMask(),
    writable: createMask(),
    standIn: NO_PAGES,
    waitingRead: createMask(),
    waitingWrite: createMask(),
    waiting: false,
    waitsForRoom: false,
    wantedRead: NO_PAGES,
    wantedWrite: NO_PAGES,
    urgentPage: -1,
    urgentThread: 0,
    attempts: 0,
    failure: Status.Done,
    triedNode: NO_NODE,
    failedPage: -1,
  };
}

function createOperation(): Operation {
  return {
    kind: 'migrate',
    node: NO_NODE,
    target: NO_NODE,
    processor: NO_PROCESSOR,
    access: Access.None,
    map: false,
    entry: false,
    exclusive: false,
    dependent: false,
    announcedPage: 0,
    announcedCount: 0,
    mask: createMask(),
    moving: createMask(),
    reserved: createMask(),
    firstWord: 0,
    endWord: 0,
    progress: false,
    whole: false,
    phase: 'revoke',
    outstanding: 0,
    transferPages: 0,
    urgentPage: -1,
    together: false,
    reason: null,
    failure: Status.Done,
    lostSource: NO_NODE,
    evictingPages: 0,
    task: null,
  };
}
