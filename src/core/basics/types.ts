/**
 * The words that the core shares with everything around it. Pages are counted in 4 KiB from the
 * start of the space: a page index is an address without its base, so the same number names the
 * page for every processor and node.
 */

/** Bytes of a page. */
export const PAGE_BYTES = 4096;
/** Pages of a block, the unit of locking, eviction and address allocation (2 MiB). */
export const PAGES_PER_BLOCK = 512;
export const BLOCK_BYTES = PAGE_BYTES * PAGES_PER_BLOCK;
/**
 * The largest run that one transfer moves (256 KiB), so that the manager can look for faults in
 * between.
 */
export const PAGES_PER_TRANSFER = 64;
/** 64 KiB, the unit in which a fault is widened and in which medium chunks are cut. */
export const PAGES_PER_GROUP = 16;
/** The most blocks that come ahead of a fault. */
export const MOST_AHEAD = 8;
/**
 * Faults and requests between two turns of a block from which on they belong together no more:
 * about what a processor's faults bring in half a millisecond.
 */
export const TURN_LAPSE = 256;
/** Rights of processors to a page are reported as two bits each, of a word of 32. */
export const MAX_PROCESSORS = 16;
/** Nodes that hold a page are reported as a bit each. */
export const MAX_NODES = 32;

/** Rights to a page; a stronger one includes the weaker. */
export const Access = { None: 0, Read: 1, Write: 2 } as const;
export type Access = (typeof Access)[keyof typeof Access];

/**
 * Why processors lose what they had of pages, as subscribers are told. The core knows no 'resize',
 * no 'release' and no 'lost': the part of the pager that does something for such a reason says so.
 */
export type InvalidationReason =
  | 'unmap'
  | 'protect'
  | 'migrate'
  | 'discard'
  | 'exclusive'
  | 'resize'
  | 'release'
  | 'lost';

/**
 * The result of a command. Pending: its token comes back in an event. From SourceChanged on, trying
 * again at once would give the same.
 */
export const Status = {
  Done: 0,
  Pending: 1,
  Failed: 2,
  NoMemory: 3,
  Lost: 4,
  SourceChanged: 5,
  ProviderFailed: 6,
  Refused: 7,
  SourceLost: 8,
  SourceStarved: 9,
  SourceFailed: 10,
  Unreachable: 11,
} as const;
export type Status = (typeof Status)[keyof typeof Status];

/** Where the content of a page comes from when no node holds it. */
export const SOURCE_ZERO = -1;
export const SOURCE_PROVIDER = -2;

/** Processors and nodes are both counted from 0; one number never stands for the other. */
declare const numbers: unique symbol;
/** What reads and writes pages: a number of its own among processors. */
export type ProcessorId = number & { readonly [numbers]?: 'processor' };
/** A memory that holds pages: a number of its own among nodes. */
export type NodeId = number & { readonly [numbers]?: 'node' };
/** The host is always the first processor. */
export const HOST: ProcessorId = 0;
/** Its memory is always the first node. */
export const HOST_NODE: NodeId = 0;
export const NO_NODE: NodeId = -1;
export const NO_PROCESSOR: ProcessorId = -1;

/** Whether it is the host's processor: that of the process that owns the space. */
export function isOwner(processor: ProcessorId): boolean {
  return processor === HOST;
}

/** Where changed pages go that their provider takes back. */
export const PROVIDER: NodeId = -2;
/** A node, SOURCE_ZERO or SOURCE_PROVIDER. */
export type Source = NodeId;

/** Why the content of a page is lost: no node has it any more. */
export type LossReason =
  /** The only copy was on a device that died. */
  | 'LOST'
  /** The only copy came back from a disk other than it was sent there. */
  | 'CORRUPTED'
  /** The only copy came back from a server altered. */
  | 'ALTERED'
  /** The server that had the only copy lacks it. */
  | 'GONE'
  /** The only copy was in a store that has forgotten it, such as a restarted server. */
  | 'FORGOTTEN';

/** What had the only copy. */
const LOST_BY: Readonly<Record<LossReason, 'device' | 'disk' | 'server'>> = {
  LOST: 'device',
  CORRUPTED: 'disk',
  ALTERED: 'server',
  GONE: 'server',
  FORGOTTEN: 'server',
};

/** Whether it is for good that the page cannot be had. */
export function isLoss(reason: DenyReason): reason is LossReason {
  return reason in LOST_BY;
}

/** Whether a server has lost the page. */
export function isLossOfServer(reason: DenyReason): boolean {
  return isLoss(reason) && LOST_BY[reason] === 'server';
}

/** Why an access was denied. */
export type DenyReason =
  | LossReason
  | 'FREED'
  /** The processor that the pages should go to has died, or leaves. */
  | 'DEVICE_LOST'
  /** The processor reaches host memory in place, and has no memory of its own there. */
  | 'IN_PLACE'
  | 'READ_ONLY'
  /** Protected against all access. */
  | 'NO_ACCESS'
  /** Pinned in host memory, so that no device can have it for writing. */
  | 'PINNED'
  | 'OUTSIDE'
  | 'COPY_FAILED'
  | 'OUT_OF_MEMORY'
  /** The store that pages of the host go on to could not take them: its disk is full, or fails. */
  | 'OUT_OF_STORAGE'
  /** The only copy is in a store, or behind a server, that does not answer. */
  | 'NODE_LOST'
  | 'SOURCE_CHANGED'
  | 'PROVIDER_FAILED'
  | 'ACCESS_REFUSED';

/** A memory that holds pages, as its driver describes it. */
export interface NodeDescription {
  readonly name: string;
  /** The most pages that may have memory. */
  readonly budgetPages: number;
  /** `identity`: page n is in frame n of a sparse memory. `pooled`: the core hands out frames. */
  readonly frames: 'identity' | 'pooled';
  /** Whether the manager can address it. Otherwise it asks for copies (`transferOut`). */
  readonly addressable: boolean;
  /** Whether one copy may have all of a block, 2 MiB; otherwise 256 KiB at most. */
  readonly longCopies?: boolean;
  /** Whether its driver brings copies that are asked for together in one transfer. */
  readonly writeCombining?: boolean;
  /** Whether it can be read after the device died. */
  readonly memorySurvives: boolean;
  /** How fast its pages come, where that was described. */
  readonly speed?: MemorySpeed;
  /**
   * It gets memory, maps pages and gives both back by aligned granules of so many bytes: a power of
   * two from 4 KiB (the default) to 128 MiB. Granules above 2 MiB are of memory alone: it maps 2
   * MiB. Of a pooled node the frames of a granule lie side by side.
   */
  readonly granularityBytes?: number;
}

/** Of a memory: the time before the first byte of a copy, and then bytes of a microsecond. */
export interface MemorySpeed {
  readonly latencyUs: number;
  readonly bytesPerUs: number;
}

/** What reads and writes through page tables of its own, as its driver describes it. */
export interface ProcessorDescription {
  readonly name: string;
  /** Whether accesses fault and can be replayed. Otherwise all pages of a launch come before it. */
  readonly faults: boolean;
  /** Threads that may wait in a fault at once. */
  readonly units: number;
  /** Whether atomics of its threads are atomic for every processor; false by default. */
  readonly atomics?: boolean;
  /** Whether its page tables can point to host memory. Refused for drivers from modules. */
  readonly remoteAccess?: boolean;
}

/** A device as its driver describes it. */
export interface DeviceDescription extends NodeDescription, ProcessorDescription {}

/** What is to be moved: pages of one block, neighbours in the source as well as in the target. */
export interface Transfer {
  token: number;
  source: Source;
  /** The first page's frame on the source, where that is a node. */
  sourceFrame: number;
  /** Where they go: a node, or PROVIDER for pages that it takes back. */
  node: NodeId;
  /** The processor that they are mapped for in the same visible step; NO_PROCESSOR: for none. */
  processor: ProcessorId;
  /** The touched page of the block. */
  page: number;
  count: number;
  /** The first page's frame on the node. */
  frame: number;
  /** The right that the processor gets; None without one. */
  access: Access;
  /** Whether the node has memory for them already. */
  backed: boolean;
  /** The first of the runs by which a node without any gets memory for the whole block. */
  whole: boolean;
  /** A thread waits for this run. */
  urgent: boolean;
  /** Why it comes with a touch, as the policy said; null: it was asked for, or makes room. */
  reason: Reason | null;
}

/**
 * Commands out. The core calls these and never looks at a clock or a file. None of them may call
 * back into the core: what cannot be done at once returns Pending and comes back as an event with
 * the same token.
 */
export interface Commands {
  /** Maps pages that the node reached there holds. `previous` is the access it had. */
  map(
    processor: ProcessorId,
    page: number,
    count: number,
    access: Access,
    previous: Access,
    frame: number,
  ): void;
  /** Takes access down to `to`. Done when no thread can use more than that. */
  revoke(token: number, processor: ProcessorId, page: number, count: number, to: Access): Status;
  /** Fills pages of a node, then maps them in one visible step. The record is not kept. */
  transfer(transfer: Readonly<Transfer>): Status;
  /** Switches a processor without running threads to host memory (`on`), or back to its own. */
  remap(token: number, processor: ProcessorId, page: number, on: boolean): Status;
  /**
   * Where the processor reaches host memory in place: has it find a page of its own instead, that
   * no other one sees, until the block is remapped. Failed: it cannot.
   */
  cover(token: number, processor: ProcessorId, page: number): Status;
  /**
   * Gives the memory of pages back, and with it every mapping of them. Never called before its
   * content is safe elsewhere. Pending, from a node of pooled frames only: something may still read
   * or write the frames, which are given to no page before the event `released`.
   */
  release(token: number, node: NodeId, page: number, count: number, frame: number): Status;
  /**
   * Wakes threads that may still wait for pages which are mapped by now, with the right `access`.
   * Kernels take mappings away for reasons of their own: where the page tables lack them all the
   * same they are mapped again. None: the threads are woken, and nothing else.
   */
  wake(processor: ProcessorId, page: number, count: number, access: Access): void;
  /**
   * An access that cannot be allowed. On a device the thread goes on with a page that stands in,
   * and its launch must fail; if it is `stranded`, nothing can be moved for the device any more,
   * not even that page: its threads wait for ever, and it must be ended.
   */
  deny(
    processor: ProcessorId,
    page: number,
    write: boolean,
    thread: number,
    reason: DenyReason,
    stranded: boolean,
  ): void;
  /**
   * The clones of these pages are to be given copies, since a processor wants to write the pages,
   * or, with `lastChance`, since their content is to be forgotten: a clone then loses what cannot
   * be had for good. The event `copyOnWriteBroken` follows; until then the pages stay as they are.
   * The core commands it once for a page.
   */
  breakCopyOnWrite(page: number, count: number, lastChance: boolean): void;
  /**
   * A thread of the host waits for a right to a page that other machines have, too, and that this
   * one may not use so. It waits until the page's protection is changed, and is asked for again if
   * that is not enough; or until `refuse`.
   */
  want(page: number, write: boolean): void;
  /**
   * Processors are about to lose what they have of some of these pages, on behalf of `owner`;
   * `invalidated` with the same arguments follows when it is done. Only for ranges that are
   * watched.
   */
  invalidate(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
  invalidated(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
  /** A request is through; `pages` of it are as asked. */
  requestDone(request: number, pages: number, failure: DenyReason | null): void;
  /**
   * A detached or dead processor has gone, with its pages. Done: all have heard of it, and its
   * numbers serve again. Pending: they do once `endHeard` is told.
   */
  drained(processor: ProcessorId): Status;
  /** A removed or lost node without a processor has no pages left: its number may serve again. */
  emptied(node: NodeId): void;
}

/** What a program has said about its use of pages. */
export interface Advice {
  /** Reads copy and never move a page, also before a launch writes; a write leaves one copy. */
  readonly readMostly: boolean;
  /** The node that keeps the pages longest, and whose copies go last; -1: none. */
  readonly preferred: NodeId;
  /** A bit for each processor that is to reach host memory in place. */
  readonly accessedBy: number;
  readonly pattern: 'normal' | 'sequential' | 'random';
}

export const NO_ADVICE: Advice = {
  readMostly: false,
  preferred: -1,
  accessedBy: 0,
  pattern: 'normal',
};

/** Chooses the block that leaves a node. Blocks are numbers. */
export interface EvictionPolicy {
  /** The node got memory for so many pages of the block. More may follow without a call. */
  activate(block: number, pages: number): void;
  /** A processor used the block: a fault, a launch argument, a sample. */
  used(block: number): void;
  /**
   * The next block to leave among those that `evictable` allows, or -1. It stays until
   * `deactivate`.
   */
  evict(evictable: (block: number) => boolean): number;
  /** The node holds nothing of the block any more. */
  deactivate(block: number): void;
  /**
   * Blocks that a full node of `nodeBlocks` keeps free, or on their way out, ahead of need; none by
   * default.
   */
  keepFree?(nodeBlocks: number): number;
  /**
   * Blocks of a full node of `nodeBlocks` that may be copied ahead of walks and not be entered yet.
   * Each stands where one could be that was known to be used. No limit by default, beside that of
   * the read-ahead.
   */
  mostAhead?(nodeBlocks: number): number;
  /**
   * A launch begins on the processor whose memory this is. `spans` are the blocks of its arguments.
   */
  launchBegins?(kernel: string, spans: readonly BlockSpan[]): void;
  /** It has ended, well or not. */
  launchEnds?(): void;
  /** A launch waits for those that are known to come before it. It may never begin. */
  launchWaits?(kernel: string, spans: readonly BlockSpan[]): void;
  /**
   * No thread waits just now: the next block to bring before a processor comes to it, or -1. Asked
   * while launches run on processors with faults.
   */
  wants?(wish: Wish): number;
}

/** What is known where a block may be brought before it is used, and the place for the answer. */
export interface Wish {
  /**
   * Blocks that there is room for. With 0 the block that `evict` then names goes for the one that
   * is wanted: it must be used later.
   */
  readonly freeBlocks: number;
  /** Whether a block may go. */
  readonly evictable: (block: number) => boolean;
  /** The answer: the block is to be written; false at first. */
  write: boolean;
}

/** The blocks [first, end). */
export interface BlockSpan {
  readonly first: number;
  readonly end: number;
  /** The launch begins them from zeros: what is in them now is not needed. */
  readonly emptied: boolean;
  /** The launch may write them. */
  readonly written: boolean;
}

/**
 * Why so much comes: the program's advice; a walk, upwards, from where a launch walked before, or
 * from where content begins; steps that are all alike; pages nearby that are there already; nothing
 * but its neighbourhood; a look at which pages of a block are touched; touches here and there; no
 * reason to bring more. Without a touch: a launch that is known to come uses it.
 */
export type Reason =
  | 'advice'
  | 'walk'
  | 'repeat'
  | 'begin'
  | 'stride'
  | 'dense'
  | 'near'
  | 'trial'
  | 'scattered'
  | 'lone'
  | 'plan';

/**
 * Where the content of a block is: beyond the range; brought ahead and not entered yet; in the
 * processor's memory; to be copied, or made of zeros; behind an engine, which answers late, but
 * many at once.
 */
export type Place = 'outside' | 'ahead' | 'here' | 'near' | 'far';

/**
 * A fault: what was touched, what is known of it, and the place for the answer. A mask has the 512
 * pages of one block in sixteen words of 32 bits: page p is bit p % 32 of word p >> 5. Write into
 * `memory`, `result`, `ahead`, `certain` and `reason` alone. Valid until the policy returns.
 */
export interface Touch {
  /**
   * What the policy keeps of this processor in this range: undefined at first. Nothing else looks
   * at it.
   */
  memory: unknown;
  /** The policy has been asked of this fault before: what was to come found no room then. */
  again: boolean;
  /** Page of its block. */
  page: number;
  /** Block of the range, from 0. */
  block: number;
  /** Pages of the range. */
  pages: number;
  write: boolean;
  advice: Advice['pattern'];
  /** Pages of the block that the processor may read, and those that it may use as it needs now. */
  mapped: Readonly<Int32Array>;
  occupied: Readonly<Int32Array>;
  /** Pages that may be brought. */
  allowed: Readonly<Int32Array>;
  /**
   * Where the page comes from: from no other memory, the host's, another one, or behind an engine.
   */
  source: 'none' | 'host' | 'near' | 'far';
  /** Pages that come from there in the time of one more fault, where its speed was described. */
  sourcePages: number;
  /** Pages that the processor's memory may have. */
  budgetPages: number;
  /** It has no room for another block. */
  full: boolean;
  /** It had to make room, and was not half empty since. */
  pressed: boolean;
  /** Blocks that it has given up. */
  evictions: number;
  /** Blocks that were brought ahead and not entered yet, in all ranges. */
  aheadBlocks: number;
  /** Threads of the processor. */
  units: number;
  /** The pages [first, end) of each argument of launches that run on it, of any range. */
  uses: readonly { readonly first: number; readonly end: number }[];
  /** One of these is the page's. */
  declared: boolean;
  /** The source has the page before the 64 KiB of this one, too. */
  readonly continues: boolean;
  /** Whether the processor has all of the block so many further on, or before. */
  hasWhole(step: number): boolean;
  /** Where the content of the block so many further on is. */
  placeOf(step: number): Place;
  /** Blocks that the memory has given up since it gave up that one; -1: it never did. */
  goneFor(step: number): number;
  /** The answer: pages to bring, with the touched one. Empty at first. */
  result: Int32Array;
  /** How many of the blocks after this one to bring, 8 at most; 0 at first. */
  ahead: number;
  /**
   * These come wholly but for the last, so that no fault says that the processor has come into
   * them.
   */
  certain: boolean;
  reason: Reason;
}
/** Says what comes with a fault. Each processor has one of its own. */
export type PrefetchPolicy = (touch: Touch) => void;

/** A processor walks into a block. */
export interface ReadAheadRequest {
  /** The program advised `sequential`; otherwise the processor has the block before wholly. */
  advised: boolean;
  /** Blocks that the node may have. */
  nodeBlocks: number;
  /** Blocks brought ahead that no processor has entered yet. */
  aheadBlocks: number;
  /** Those of them that follow this block. */
  reached: number;
  /** The next block comes from a store or a GPU, which answers late, but many at once. */
  stored: boolean;
}
/** How many blocks after this one to bring; 0: none. */
export type ReadAheadPolicy = (request: Readonly<ReadAheadRequest>) => number;

/**
 * A block that a processor could use in host memory: before a launch, and where it begins to go to
 * and fro.
 */
export interface PlacementRequest {
  processor: ProcessorId;
  /** The program said `accessedBy`, and does not prefer the processor's own memory. */
  advised: boolean;
  /** It is used in host memory now. */
  remote: boolean;
  /**
   * How often in a row a fault of another processor than before took pages of the block from where
   * they were, each at most 256 faults and requests after the last.
   */
  turns: number;
  /** Faults and requests since the last of them; Infinity: there was none. */
  sinceTurn: number;
}
/** Where the processor finds the block: in its own memory, or in place in the host's. */
export type PlacementPolicy = (request: Readonly<PlacementRequest>) => 'own' | 'remote';

/** Bits of a page's state in a snapshot. */
export const PageState = {
  Freed: 1,
  Lost: 2,
  Dirty: 4,
  Provided: 8,
  NoAccess: 16,
  ReadOnly: 32,
  Pinned: 64,
} as const;
