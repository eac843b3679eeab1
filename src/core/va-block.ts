/** The logical page table: what the manager knows about the 512 pages of one block. It is the one truth; drivers shadow it. */
import { addRun, createMask, has, type Mask } from './mask.js';
import { Access, type Advice, type DenyReason, NO_ADVICE, PAGES_PER_BLOCK } from './types.js';
import type { Range } from './va-space.js';

/** One memory node's share of a block. */
export interface Residence {
  /** The node holds the current content. */
  readonly resident: Mask;
  /** The node has memory for the page, perhaps stale. */
  readonly backed: Mask;
  /**
   * What stands in for pages after a denied access: backed pages whose content is nobody's, or, where the processor reaches host memory in
   * place, pages that its driver keeps for itself.
   */
  readonly scratch: Mask;
  backedCount: number;
  /** Frame of each page on a pooled node, -1 where there is none; null on an identity node. */
  readonly frames: Int32Array | null;
  /** Threads whose progress depends on the block staying: it is no victim while there is one. */
  protectedBy: number;
  /** Brought before anybody touched it, and not touched yet. */
  ahead: boolean;
}

/** One processor's rights in a block. */
export interface Mapping {
  /** Pages it may read. */
  readonly mapped: Mask;
  /** Pages it may write; a subset of `mapped`. */
  readonly writable: Mask;
  /** Pages that threads wait for. */
  readonly waitingRead: Mask;
  readonly waitingWrite: Mask;
  waiting: boolean;
  /** The page that faulted last, served first. */
  urgentPage: number;
  /** The thread of that fault, for messages. */
  urgentThread: number;
  /** What launches and transfers of files need to stay as it is. */
  readonly holds: Hold[];
}

export interface Hold {
  readonly mask: Mask;
  readonly access: Access;
}

/**
 * What is asked of a block besides faults. `home`: everything that a processor's node holds of it leaves the node. `clean`: nobody
 * writes its changed pages any more without being noticed. `drop`: what nobody changed comes from the provider again; `revert`: all.
 * `attach`: the processor reaches host memory in place; `separate`: its own again. `protect`: nobody may do more than `access`. `own`: the pages are brought home, and their content is no longer what their provider
 * gives. `guard`: nobody may write before a copy was made for those who cloned it.
 */
export type TaskKind =
  | 'present'
  | 'own'
  | 'home'
  | 'zero'
  | 'free'
  | 'clean'
  | 'drop'
  | 'revert'
  | 'protect'
  | 'guard'
  | 'attach'
  | 'separate';

export interface Task {
  readonly kind: TaskKind;
  readonly mask: Mask;
  /** The processor that the pages go to (present) or leave (home). */
  readonly processor: number;
  readonly access: Access;
  readonly map: boolean;
  readonly hold: boolean;
  readonly exclusive: boolean;
  /** Does not wait for the tasks before it: pages of another block wait for this one, on which those may depend. */
  readonly ahead: boolean;
  /** The source forgets the content afterwards: what a clone cannot have now is lost (own). */
  readonly lastChance: boolean;
  readonly request: number;
  /** What may be written has come; what may only be read is to follow. */
  written: boolean;
}

export type OperationKind =
  | 'migrate'
  | 'evict'
  | 'zero'
  | 'free'
  | 'scratch'
  | 'clean'
  | 'drop'
  | 'protect'
  | 'guard'
  | 'attach'
  | 'separate'
  | 'cover';

/** The three-phase change that a block is going through. A block has one at a time; faults meanwhile are kept waiting. */
export interface Operation {
  kind: OperationKind;
  processor: number;
  access: Access;
  map: boolean;
  exclusive: boolean;
  /** It waits for pages that come from another range. */
  dependent: boolean;
  /** What subscribers were told to be changing; a count of 0: nothing. */
  announcedPage: number;
  announcedCount: number;
  readonly mask: Mask;
  /** Pages of the mask that are as the operation wants them. */
  readonly settled: Mask;
  /** Memory that this operation reserved and has not filled yet. */
  readonly reserved: Mask;
  phase: 'revoke' | 'transfer';
  outstanding: number;
  /** Pages of one transfer at most; shrinks when a node refuses large allocations. */
  transferPages: number;
  urgentPage: number;
  failure: number;
  /** Where the transfer that was lost came from. */
  lostSource: number;
  /** Pages that an eviction will give back. */
  evictingPages: number;
  task: Task | null;
}

export interface Block {
  readonly index: number;
  readonly range: Range;
  /** Its range has been recycled: all that counts of it is which memory processors find at its addresses. */
  gone: boolean;
  /** Pages of the block that belong to the range. */
  readonly inside: Mask;
  /** The content differs from what the provider, or zero, would give. */
  readonly dirty: Mask;
  /** Nobody has the content any more: the only copy was on a device that died, or a clone's source could not be had when its content was forgotten. */
  readonly lost: Mask;
  /** Why, where it was for another reason than a device's death; null: nowhere. */
  losses: Map<number, DenyReason> | null;
  readonly freed: Mask;
  /** Protected: nobody may read, or nobody may write. What may not be read may not be written either. */
  unreadable: Mask;
  unwritable: Mask;
  /** Cloned pages whose content the clones do not have yet: they may not be written before `saved` comes. */
  guarded: Mask;
  /** Those of them that are being copied for the clones. */
  saving: Mask;
  /**
   * Those of them that could just now not be copied, and why: processors that wait to write them are refused, and the clones ask again
   * when they need them. Forgotten when the block has served everybody; null: none.
   */
  unsaved: Map<number, DenyReason> | null;
  /** Pinned in host memory: they stay there until the program lets go of them. */
  pinned: Mask;
  /** Emptied: where no node holds the page it is zero, whatever the range's provider would say. */
  readonly blank: Mask;
  /** Changed pages that are being written back, as long as nobody may have written them since. */
  cleaning: Mask;
  advice: Advice;
  /** A bit for each processor that reaches host memory in place here, and has nothing of the block in its own. */
  remote: number;
  /** Processors that faulted on the block since that was last asked, a bit each. */
  young: number;
  readonly residences: (Residence | undefined)[];
  readonly mappings: (Mapping | undefined)[];
  readonly tasks: Task[];
  /** Pages have come to the host on their way to a device, and are kept there until the block goes on. */
  onDetour: boolean;
  operation: Operation | null;
  /** Kept for the next operation, so that a fault allocates nothing. */
  readonly spareOperation: Operation;
  /** Where the search for waiting processors starts, so that none is always last. */
  turn: number;
  /** Failed attempts in a row for what waits now. */
  attempts: number;
  /** Evictions in a row that left pages behind because their copies failed. */
  evictFailures: number;
  /** The effort in which they were counted. */
  evictEffort: number;
}

/** What most blocks have none of. All of them share one empty mask until they have some: a block costs less, and a look, too. */
type RareMask = 'unreadable' | 'unwritable' | 'guarded' | 'saving' | 'pinned' | 'cleaning';
export const NO_PAGES: Mask = createMask();

/** The mask, to add pages to. To take some away needs no mask of one's own. */
export function rareMask(block: Block, name: RareMask): Mask {
  if (block[name] === NO_PAGES) block[name] = createMask();
  return block[name];
}

/** Whether nothing was ever said that keeps anybody from a page of the block. */
export function isUnrestricted({ unreadable, unwritable, guarded, pinned }: Block): boolean {
  return unreadable === NO_PAGES && unwritable === NO_PAGES && guarded === NO_PAGES && pinned === NO_PAGES;
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
  range.guards.each(begin, begin + PAGES_PER_BLOCK, (from, to, guarded) => {
    if (guarded) addRun(rareMask(block, 'guarded'), from - begin, to - from);
  });
  return block;
}

/**
 * The same addresses as another range's. Which memory processors find there only a remap changes: those that reach host memory in place
 * do so until then, and find what stands in for pages that they were denied.
 */
export function createBlockAfter({ index, remote, residences }: Block, range: Range): Block {
  const block = createBlock(index, range);
  block.remote = remote;
  for (let id = 0; remote >>> id !== 0; id++) {
    const covered = residences[id]?.scratch;
    if (((remote >>> id) & 1) === 0 || covered === undefined) continue;
    const residence = createResidence(false);
    const mapping = createMapping();
    for (const mask of [residence.scratch, mapping.mapped, mapping.writable]) mask.set(covered);
    block.residences[id] = residence;
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
    lost: createMask(),
    losses: null,
    freed: createMask(),
    unreadable: NO_PAGES,
    unwritable: NO_PAGES,
    guarded: NO_PAGES,
    saving: NO_PAGES,
    unsaved: null,
    pinned: NO_PAGES,
    blank: createMask(),
    cleaning: NO_PAGES,
    advice: NO_ADVICE,
    remote: 0,
    young: 0,
    residences: [],
    mappings: [],
    tasks: [],
    onDetour: false,
    operation: null,
    spareOperation: {
      kind: 'migrate',
      processor: 0,
      access: 0,
      map: true,
      exclusive: false,
      dependent: false,
      announcedPage: 0,
      announcedCount: 0,
      mask: createMask(),
      settled: createMask(),
      reserved: createMask(),
      phase: 'revoke',
      outstanding: 0,
      transferPages: 0,
      urgentPage: -1,
      failure: 0,
      lostSource: -1,
      evictingPages: 0,
      task: null,
    },
    turn: 0,
    attempts: 0,
    evictFailures: 0,
    evictEffort: 0,
  };
}

/** Whether a page that no node holds comes from its range's provider; otherwise it is zero. */
export function isProvided(block: Block, page: number): boolean {
  return block.range.provided && !has(block.blank, page) && !has(block.freed, page);
}

/** Whether the page's content is what its provider gives: nobody has written, emptied, freed or lost it. */
export function isInherited(block: Block, page: number): boolean {
  return isProvided(block, page) && !has(block.dirty, page) && !has(block.lost, page);
}

/** Writes into `result` the pages of `mask` that differ from what their provider would give, and can be had. */
export function changedPages(block: Block, mask: Mask, result: Mask): void {
  for (let word = 0; word < result.length; word++) {
    const changed = (block.dirty[word] | block.blank[word]) & ~block.freed[word] & ~block.lost[word];
    result[word] = mask[word] & changed & block.inside[word];
  }
}

export function createResidence(pooled: boolean): Residence {
  return {
    resident: createMask(),
    backed: createMask(),
    scratch: createMask(),
    backedCount: 0,
    frames: pooled ? new Int32Array(PAGES_PER_BLOCK).fill(-1) : null,
    protectedBy: 0,
    ahead: false,
  };
}

export function createMapping(): Mapping {
  return {
    mapped: createMask(),
    writable: createMask(),
    waitingRead: createMask(),
    waitingWrite: createMask(),
    waiting: false,
    urgentPage: -1,
    urgentThread: 0,
    holds: [],
  };
}
