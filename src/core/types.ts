/**
 * The words that the core shares with everything around it. Pages are counted in 4 KiB from the start of the space:
 * a page index is an address without its base, so the same number names the page for every processor and node.
 */

/** Bytes of a page, the unit of residency. */
export const PAGE_BYTES = 4096;
/** Pages of a block, the unit of locking, eviction and address allocation (2 MiB). */
export const PAGES_PER_BLOCK = 512;
export const BLOCK_BYTES = PAGE_BYTES * PAGES_PER_BLOCK;
/** The largest run that one transfer moves (256 KiB), so that the manager can look for faults in between. */
export const PAGES_PER_TRANSFER = 64;
/** 64 KiB, the unit in which a fault is widened and in which medium chunks are cut. */
export const PAGES_PER_GROUP = 16;
/** Rights of processors to a page are reported as two bits each, of a word of 32. */
export const MAX_PROCESSORS = 16;
/** Nodes that hold a page are reported as a bit each. */
export const MAX_NODES = 32;

/** What a processor may do to a page, ordered: a stronger right includes the weaker. */
export const Access = { None: 0, Read: 1, Write: 2 } as const;
export type Access = (typeof Access)[keyof typeof Access];

/**
 * Why processors lose what they had of pages, as subscribers are told. The core knows no 'resize', no 'release' and no 'lost': the part of
 * the pager that does something for such a reason says so.
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
 * The outcome of a command. Pending means that its token comes back later in an event. From SourceChanged on, trying again at
 * once would give the same: the content cannot be had where it comes from.
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

/** Numbers of processors and of nodes are both counted from 0, and one never stands for the other. */
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
/** Where changed pages go that their provider takes back. */
export const PROVIDER: NodeId = -2;
/** A node, SOURCE_ZERO or SOURCE_PROVIDER. */
export type Source = NodeId;

/** Why an access was denied. */
export type DenyReason =
  | 'FREED'
  /** The only copy was on a device that died. */
  | 'LOST'
  /** The processor that the pages should go to has died, or leaves. */
  | 'DEVICE_LOST'
  /** The processor reaches host memory in place there, and has none of its own that could be held. */
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
  /** The only copy is in a store that does not answer, or the server that machines share an array by does not. */
  | 'NODE_LOST'
  /** The only copy came back from a disk other than it was sent there. */
  | 'CORRUPTED'
  /** The only copy came back from a server other than it was sent there; or the server has it no more. */
  | 'ALTERED'
  | 'GONE'
  /** The only copy was in a store that has forgotten it: a server that was started again without what it had. */
  | 'FORGOTTEN'
  | 'SOURCE_CHANGED'
  | 'PROVIDER_FAILED'
  | 'ACCESS_REFUSED';

/** A memory that holds pages, as its driver describes it. */
export interface NodeDescription {
  readonly name: string;
  /** The most pages that it may have backed. */
  readonly budgetPages: number;
  /** `identity`: page n lives at frame n of a sparse memory. `pooled`: the core hands out frames. */
  readonly frames: 'identity' | 'pooled';
  /**
   * Whether the manager can address it. Copies between two that it cannot go over the host, or, from a node to its home, over memory of the
   * manager's; a provider fills only memory that it can.
   */
  readonly addressable: boolean;
  /**
   * Of one that the manager cannot address: whether one copy between it and memory that the manager addresses may be of all of a block. Otherwise a copy is
   * of PAGES_PER_TRANSFER pages at most, as where the manager copies, which looks at no fault meanwhile.
   */
  readonly longCopies?: boolean;
  /** Whether it can still be read after the processor that it belongs to died. */
  readonly memorySurvives: boolean;
}

/** What reads and writes through page tables of its own, as its driver describes it. */
export interface ProcessorDescription {
  readonly name: string;
  /** Whether its accesses fault and can be replayed. If not, all pages of a launch are made present and held. */
  readonly faults: boolean;
  /** Threads that may wait in a fault at once, at most; each needs one block that is not taken from it. */
  readonly units: number;
  /** Whether atomic operations of its threads on pages of the space are atomic for every processor; not so unless it says. */
  readonly atomics?: boolean;
  /**
   * Whether its page tables can point to host memory instead of its own, block by block, so that its threads use that in place (remote
   * mappings); not so unless it says. Of devices with a memory of their own it takes a driver of the library's own, with `remap`.
   */
  readonly remoteAccess?: boolean;
}

/** A processor with a memory of its own. */
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
  page: number;
  count: number;
  /** The first page's frame on the node. */
  frame: number;
  /** The right that the processor gets; None without one. */
  access: Access;
  /** Whether the node has memory for them already. */
  backed: boolean;
  /** The first run of those by which all pages of the block get memory on the node; none of them has any yet. */
  whole: boolean;
  /** A thread waits for this run. */
  urgent: boolean;
}

/**
 * Commands out. The core calls these and never looks at a clock or a file. None of them may call back into the core: what
 * cannot be done at once returns Pending and comes back as an event with the same token.
 */
export interface Commands {
  /** Maps pages that the node which the processor reaches there holds already. `previous` is the access it had. */
  map(processor: ProcessorId, page: number, count: number, access: Access, previous: Access, frame: number): void;
  /** Takes access away, down to `to`. Done when no thread of the processor can use more than `to`. */
  revoke(token: number, processor: ProcessorId, page: number, count: number, to: Access): Status;
  /** Fills pages of a node, then maps them there in one visible step. The record is the core's: it is read now and not kept. */
  transfer(transfer: Readonly<Transfer>): Status;
  /** Has the processor, no thread of which runs, reach host memory at a block's addresses (`on`), or its own memory again. */
  remap(token: number, processor: ProcessorId, page: number, on: boolean): Status;
  /**
   * Where the processor reaches host memory in place: has it find a page of its own instead, that no other one sees, until the block is
   * remapped. Failed: it cannot.
   */
  cover(token: number, processor: ProcessorId, page: number): Status;
  /**
   * Gives the memory of pages back, and with it every mapping of them. Never called before its content is safe elsewhere. Pending, from a
   * node of pooled frames only: something may still read or write the frames, which are given to no page before the event `released`.
   */
  release(token: number, node: NodeId, page: number, count: number, frame: number): Status;
  /**
   * Wakes threads that may still wait for pages which are mapped by now, with the right `access`. Kernels take mappings away for reasons of
   * their own: where the page tables lack them all the same they are mapped again. None: the threads are woken, and nothing else.
   */
  wake(processor: ProcessorId, page: number, count: number, access: Access): void;
  /**
   * An access that cannot be allowed. On a device the thread goes on with a page that stands in, and its launch must fail; if it is
   * `stranded`, nothing can be moved for the device any more, not even that page: its threads wait for ever, and it must be ended.
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
   * The clones of these pages are to be given copies, since a processor wants to write the pages, or, with `lastChance`, since their content is
   * to be forgotten: a clone then loses what it cannot have. The event `copyOnWriteBroken` follows; until then the pages stay as they are. The
   * core commands it once for a page.
   */
  breakCopyOnWrite(page: number, count: number, lastChance: boolean): void;
  /**
   * A thread of the host waits for a right to a page that other machines have, too, and that this one may not use so. It waits until the
   * page's protection is changed, and is asked for again if that is not enough; or until `refuse`.
   */
  want(page: number, write: boolean): void;
  /**
   * Processors are about to lose what they have of some of these pages, on behalf of `owner`; `invalidated` with the same arguments
   * follows when it is done. Only for ranges that are watched.
   */
  invalidate(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
  invalidated(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
  /** A request (prefetch, acquire, zero, free, protect, guard, launch) is through; `pages` of it are as asked. */
  requestDone(request: number, pages: number, failure: DenyReason | null): void;
  /** A detached or dead processor has gone, and no page is left on a node of its own; their numbers may be used again. */
  drained(processor: ProcessorId): void;
  /** No page is left on a node that was removed or lost, and that no processor calls its own; its number may be used again. */
  emptied(node: NodeId): void;
}

/** What a program has said about its use of pages. */
export interface Advice {
  /** Reads make copies and never move a page, also where a launch might write it; any write leaves one copy. */
  readonly readMostly: boolean;
  /** The node that keeps the pages longest, and whose copies go last; -1: none. */
  readonly preferred: NodeId;
  /** A bit for each processor that is to reach host memory in place. */
  readonly accessedBy: number;
  readonly pattern: 'normal' | 'sequential' | 'random';
}

export const NO_ADVICE: Advice = { readMostly: false, preferred: -1, accessedBy: 0, pattern: 'normal' };

/** What a policy for victims must do; block numbers are its whole world. */
export interface EvictionPolicy {
  /**
   * The node got memory for so many pages of the block. More come without a word.
   */
  activate(block: number, pages: number): void;
  /** A processor was seen using the block (a fault, a launch argument, a sample). */
  used(block: number): void;
  /** The block to evict next among those that `evictable` allows, or -1. Does not forget it. */
  evict(evictable: (block: number) => boolean): number;
  /** The node holds nothing of the block any more. */
  deactivate(block: number): void;
  /**
   * Blocks that a node of `nodeBlocks` which is full should have free, or on their way out, before anybody needs their memory; none unless it
   * says. What need not be sent anywhere stays until it is needed.
   */
  ahead?(nodeBlocks: number): number;
}

/** What a prefetch policy is told about a fault, and where it puts its answer. All masks are of one block; it writes into `result` alone. */
export interface PrefetchRequest {
  /** Page of the block that was touched. */
  page: number;
  write: boolean;
  /** Pages that the destination has with the access that is needed. */
  occupied: Int32Array;
  /** Pages that may be brought. */
  allowed: Int32Array;
  /** The touch is at the border to a block of the same range that is wholly there: the processor seems to stream. */
  streaming: boolean;
  /** The node has no room for another block: what is brought on a guess pushes out something else. */
  pressed: boolean;
  /** Faults in a row up to this one that came right after what the one before them brought. */
  walked: number;
  /** The page has to come from a processor's memory that only its engine reaches, such as a GPU's: that answers late, however much it is asked for. */
  distant: boolean;
  /**
   * Faults of the processor on blocks of the range that its node, which is full, had given up shortly before, less those that followed others; 0 where this
   * one follows another.
   */
  scattered: number;
  /** The page comes from host memory to another one, where a page alone costs little more than its share of several. */
  close: boolean;
  /** The most pages that are to come, 16 to 512, a power of two: fewer than a block's where the launch goes through more arrays at once than the node has blocks. */
  most: number;
  /** The answer: pages to bring, the touched one among them. */
  result: Int32Array;
}
export type PrefetchPolicy = (request: PrefetchRequest) => void;

/** What a policy for reading ahead is told when a processor walks into a block of a range. */
export interface ReadAheadRequest {
  /** The program has said that it will walk (`pattern: 'sequential'`); otherwise the processor has the block before wholly. */
  advised: boolean;
  /** Blocks that the node may have. */
  nodeBlocks: number;
  /** Blocks that were brought to it ahead of a processor, and that none has entered yet. */
  aheadBlocks: number;
  /** Those of them that come right after this block. */
  reached: number;
  /**
   * The next block that the node does not have has to come from where only an engine reaches it, which answers late and many at once: a store, such as a
   * disk, or a GPU.
   */
  stored: boolean;
}
/** How many blocks after this one are to be brought before a thread touches them; 0: none. */
export type ReadAheadPolicy = (request: Readonly<ReadAheadRequest>) => number;

/** What a policy for placement is told before a launch, for each block that a processor could reach in host memory. */
export interface PlacementRequest {
  processor: ProcessorId;
  /** The program has said `accessedBy`, and does not prefer that the block lies in the processor's own memory. */
  advised: boolean;
  /** It reaches the block in host memory now. */
  remote: boolean;
}
/** Where the processor is to find the block: in its own memory, to which its pages migrate, or in the host's, in place. */
export type PlacementPolicy = (request: Readonly<PlacementRequest>) => 'own' | 'remote';

/** Bits of a page's state in a snapshot. */
export const PageState = { Freed: 1, Lost: 2, Dirty: 4, Provided: 8, NoAccess: 16, ReadOnly: 32, Pinned: 64 } as const;
