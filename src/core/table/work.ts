/** What a block may be asked for besides faults, and the change that it is going through. */
import type { Mask } from '../basics/mask.js';
import type {
  Access,
  DenyReason,
  NodeId,
  ProcessorId,
  Reason,
  Source,
  Status,
} from '../basics/types.js';

/**
 * What is asked of a block besides faults. `home`: everything that a node holds of it leaves the
 * node. `clean`: no processor writes its changed pages any more without being noticed. `drop`:
 * unchanged pages come from the provider again; `revert`: all pages. `mapRemote`: the processor
 * reaches host memory in place; `mapLocal`: its own again. `protect`: no processor may do more than
 * `access`. `own`: the pages are brought to the host, and their content is no longer what their
 * provider gives. `copyOnWrite`: no processor writes the pages before their clones have copies.
 * `unmap`: what reaches host memory loses its rights, and gets them again by faults.
 * `unmapGranules`: so do devices that map the pages in granules with others.
 */
export type TaskKind =
  | 'present'
  | 'materialize'
  | 'home'
  | 'zero'
  | 'free'
  | 'clean'
  | 'drop'
  | 'revert'
  | 'protect'
  | 'copyOnWrite'
  | 'unmap'
  | 'unmapGranules'
  | 'mapRemote'
  | 'mapLocal';

/**
 * A task, or the threads of one processor that wait for pages of the block: pages are moved for it.
 * It alone is told how that ended (`tell`), and keeps this until it tries again.
 */
export interface Asker {
  /** Failed attempts in a row. */
  attempts: number;
  /** How the last one ended; `Lost`: by a death that is yet to be reported. */
  failure: Status;
  /** The node that it was to bring pages to. */
  triedNode: NodeId;
}

export interface Task extends Asker {
  readonly kind: TaskKind;
  readonly mask: Mask;
  /** The node that pages go to (present) or leave (home); NO_NODE: where the processor looks. */
  readonly node: NodeId;
  /** The processor they are mapped for, or that is switched (mapRemote, mapLocal). */
  readonly processor: ProcessorId;
  readonly access: Access;
  /** Whether it is to be mapped for the processor as well. */
  readonly map: boolean;
  /** All but the first group, so that the processor faults when it comes into the block. */
  readonly entry: boolean;
  readonly hold: boolean;
  readonly exclusive: boolean;
  /** Does not wait for tasks before it, which may depend on this one by another block. */
  readonly overtakes: boolean;
  /** Comes before its turn, and need not: no task waits behind it. */
  readonly early: boolean;
  /** The source forgets the content afterwards: what cannot be had for good is lost (own). */
  readonly lastChance: boolean;
  readonly request: number;
  /** Pages that stay, since a clone needs them and could not be given them just now; null: none. */
  kept: Mask | null;
  /** Why it could not. */
  keptFor: DenyReason | null;
  /** Pages that were forgotten since: there may be room by now for copies of those that stay. */
  forgot: number;
  /** What may be written has come; what may only be read is to follow. */
  written: boolean;
  /** Of blocks that come ahead of a touch: why; otherwise null. */
  readonly reason: Reason | null;
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
  | 'copyOnWrite'
  | 'unmap'
  | 'unmapGranules'
  | 'mapRemote'
  | 'mapLocal'
  | 'cover';

/** The change that a block is going through, one at a time; faults wait meanwhile. */
export interface Operation {
  kind: OperationKind;
  /**
   * The node that gets the pages (migrate, scratch) or gives them up (evict), or whose processors
   * lose them (unmapGranules; NO_NODE: those of all devices do).
   */
  node: NodeId;
  /** The node that pages are copied to: `node`, or their home; NO_NODE: nowhere. */
  target: NodeId;
  /**
   * The processor that they are mapped for, that is switched, or that gets a page of its own; the
   * one on whose behalf others lose rights, and whose threads it is for unless it has a task.
   */
  processor: ProcessorId;
  access: Access;
  map: boolean;
  /** All but the first group is mapped. */
  entry: boolean;
  /** The processor wants the pages for itself, for atomic operations. */
  exclusive: boolean;
  /** It waits for pages that come from another range. */
  dependent: boolean;
  /** What subscribers were told to be changing; a count of 0: nothing. */
  announcedPage: number;
  announcedCount: number;
  readonly mask: Mask;
  /** Those yet to be copied: all, or for making room those that no other node has. */
  readonly moving: Mask;
  /** Memory that this operation reserved and has not filled yet. */
  readonly reserved: Mask;
  /** Where the masks have pages: the first word, and the one after the last. */
  firstWord: number;
  endWord: number;
  /** Pages are as the operation wants them. */
  progress: boolean;
  /** That is the whole block, and no transfer has said so yet. */
  whole: boolean;
  phase: 'revoke' | 'transfer';
  outstanding: number;
  /** Pages of one transfer at most; shrinks when a node refuses large allocations. */
  transferPages: number;
  urgentPage: number;
  /** That page comes after all others of the operation, and these at once. */
  together: boolean;
  /** Why it brings pages with a touch; null: they were asked for, or make room. */
  reason: Reason | null;
  failure: Status;
  /** Where the transfer that was lost came from. */
  lostSource: Source;
  /** Pages that an eviction will give back. */
  evictingPages: number;
  /** What it is for; null: an eviction makes room, all else is for threads of its processor. */
  task: Task | null;
}

/** Something asked for over a range: it becomes one task a block, a few blocks at a time. */
export interface Request {
  readonly id: number;
  readonly kind: TaskKind;
  readonly node: NodeId;
  readonly processor: ProcessorId;
  readonly access: Access;
  readonly map: boolean;
  readonly hold: boolean;
  readonly exclusive: boolean;
  readonly overtakes: boolean;
  readonly early: boolean;
  readonly lastChance: boolean;
  /** First page and the page after the last. */
  readonly first: number;
  readonly end: number;
  cursor: number;
  outstanding: number;
  pages: number;
  /** Blocks that it holds so far. */
  held: number;
  failure: DenyReason | null;
}
