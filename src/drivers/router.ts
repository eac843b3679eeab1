/**
 * Carries the core's commands to the drivers and joins two of them for a copy. A run that a thread
 * waits for is copied at once when both ends are memory; everything else is queued, and the owner
 * of the loop takes one piece between two looks at the faults, so that a large copy delays no fault
 * by more than a piece.
 */
import {
  type Access,
  type Commands,
  type NodeId,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  PROVIDER,
  type ProcessorId,
  Access as Rights,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  type Source,
  Status,
  type Transfer,
} from '../core/basics/types.js';
import type { Driver, NodeDriver, ProcessorDriver, TransferOrder } from './driver.js';
import type { CopiesInThreads } from './process-driver.js';

/** Fills pages from outside: a file, a user's module. At once, or Pending. */
export interface ProviderPort {
  /** `target`: where the manager writes the pages, and maps them afterwards. */
  provide(token: number, page: number, count: number, target: number, urgent: boolean): Status;
  /** Takes changed pages, readable at `address` until the answer: Pending or a failure. */
  takeBack?(token: number, page: number, count: number, address: number): Status;
  /** Where pages can be read until the next request; 0: they must be provided. */
  contentOf?(page: number, count: number): number;
}

/** Commands that are no driver's: what the core tells the owner of the loop. */
export type Notices = Pick<
  Commands,
  | 'deny'
  | 'drained'
  | 'emptied'
  | 'invalidate'
  | 'invalidated'
  | 'requestDone'
  | 'breakCopyOnWrite'
  | 'want'
>;

/** Memory that copies between two engines go over: pieces for one transfer each. */
export interface Staging {
  /** The address of a piece that is free, or 0: there is none just now. */
  take(): number;
  give(address: number): void;
}

/** A transfer, without what only the record of it wants. */
type Copied = Omit<Transfer, 'reason'>;

/** A transfer under way. */
class Pending implements Copied {
  token = 0;
  source: Source = 0;
  sourceFrame = 0;
  node: NodeId = 0;
  processor: ProcessorId = 0;
  page = 0;
  count = 0;
  frame = 0;
  access: Access = Rights.None;
  backed = false;
  whole = false;
  urgent = false;
  active = true;
  /** When it was handed out, in milliseconds. */
  startedMs = 0;
  /** The piece of memory that it goes over, or 0; and whether it has come there. */
  staged = 0;
  half = false;
  /** The target's driver makes the pages visible itself, in the same step. */
  visible = false;
  /** No thread waits for its block, so that another thread may copy it. */
  inThread = false;
}

/** What the content of pages comes out of or goes into, as far as a copy is concerned. */
const Memory = { Addressable: 0, Engine: 1, Zero: 2, Provider: 3 } as const;
type Memory = (typeof Memory)[keyof typeof Memory];

/** What carries a copy out: the target's driver, the source's, a provider, both, nothing. */
const Way = { Target: 0, Source: 1, Provider: 2, Staged: 3, None: 4 } as const;
type Way = (typeof Way)[keyof typeof Way];

/**
 * How bytes get from one kind of memory (by row) into another one (addressable, engine). Between
 * two that only their own engines reach they go over memory of the manager's; the core asks for
 * that where a node sends pages to its home, since the host may have no room. From a provider there
 * is no way: the core has such pages come to the host before.
 */
const WAYS: readonly (readonly [Way, Way])[] = [
  /* addressable */ [Way.Target, Way.Target],
  /* engine      */ [Way.Source, Way.Staged],
  /* zero        */ [Way.Target, Way.Target],
  /* provider    */ [Way.Provider, Way.None],
];

/** Pages read into memory between: what one call of a disk takes without a thread. */
const MOST_STAGED = 16;

export class Router implements Commands {
  private readonly nodes: (NodeDriver | undefined)[] = [];
  private readonly processors: (ProcessorDriver | undefined)[] = [];
  /** Transfers under way by token; entries are used again. */
  private readonly transfers: Pending[] = [];
  /** By node: how long copies from and to it took, and how many came to it. */
  private readonly copied: number[] = [];
  private readonly received: number[] = [];
  private readonly queue: number[] = [];
  /** What the driver of a copy is told: filled in again for each, since faults allocate nothing. */
  private readonly copy: { -readonly [K in keyof TransferOrder]: TransferOrder[K] } = {
    token: 0,
    address: 0,
    page: 0,
    count: 0,
    frame: 0,
    access: Rights.None,
    backed: false,
    urgent: false,
  };
  private queueHead = 0;
  /** The block that a thread waited for last: more of its runs belong to the same fault. */
  private urgentBlock = -1;
  /**
   * How often pages were filled or mapped at once, or threads woken: a thread that waited for that
   * may fault again at once. One that waited for a disk sleeps by then, and it takes longer to wake
   * it than it pays to look out for its next fault.
   */
  answers = 0;
  /** Transfers that wait for memory to go over. */
  private readonly unstaged: number[] = [];
  /** Ended transfers that the core has not heard of, and whether it is to hear of none now. */
  private readonly untold: number[] = [];
  private putsOff = false;

  // The owner of the loop hears these from the core itself.
  readonly deny: Notices['deny'];
  readonly drained: Notices['drained'];
  readonly emptied: Notices['emptied'];
  readonly invalidate: Notices['invalidate'];
  readonly invalidated: Notices['invalidated'];
  readonly requestDone: Notices['requestDone'];
  readonly breakCopyOnWrite: Notices['breakCopyOnWrite'];
  readonly want: Notices['want'];

  constructor(
    notices: Notices,
    private readonly provider: ProviderPort,
    /** The core's event `transferred`. */
    private readonly transferred: (token: number, status: Status) => void,
    private readonly pageBytes: number = PAGE_BYTES,
    private readonly staging: Staging | null = null,
    private readonly nowMs: () => number = () => 0,
  ) {
    this.deny = notices.deny.bind(notices);
    this.drained = notices.drained.bind(notices);
    this.emptied = notices.emptied.bind(notices);
    this.invalidate = notices.invalidate.bind(notices);
    this.invalidated = notices.invalidated.bind(notices);
    this.requestDone = notices.requestDone.bind(notices);
    this.breakCopyOnWrite = notices.breakCopyOnWrite.bind(notices);
    this.want = notices.want.bind(notices);
  }

  /** A device: a processor, and the memory of its own. */
  attach(processor: ProcessorId, node: NodeId, driver: Driver): void {
    this.attachProcessor(processor, driver);
    this.attachNode(node, driver);
  }

  attachProcessor(processor: ProcessorId, driver: ProcessorDriver): void {
    this.processors[processor] = driver;
  }

  attachNode(node: NodeId, driver: NodeDriver): void {
    this.nodes[node] = driver;
    this.copied[node] = 0;
    this.received[node] = 0;
  }

  detach(processor: ProcessorId, node: NodeId): void {
    this.detachProcessor(processor);
    this.detachNode(node);
  }

  detachProcessor(processor: ProcessorId): void {
    this.processors[processor] = undefined;
  }

  detachNode(node: NodeId): void {
    this.nodes[node] = undefined;
  }

  node(id: NodeId): NodeDriver {
    const driver = this.nodes[id];
    if (driver === undefined) throw new Error(`node ${id} has no driver`);
    return driver;
  }

  processor(id: ProcessorId): ProcessorDriver {
    const driver = this.processors[id];
    if (driver === undefined) throw new Error(`processor ${id} has no driver`);
    return driver;
  }

  map(
    processor: ProcessorId,
    page: number,
    count: number,
    access: Access,
    previous: Access,
    frame: number,
  ): void {
    this.answers++;
    this.processor(processor).map(page, count, access, previous, frame);
  }

  revoke(token: number, processor: ProcessorId, page: number, count: number, to: Access): Status {
    return this.processor(processor).revoke(token, page, count, to);
  }

  remap(token: number, processor: ProcessorId, page: number, on: boolean): Status {
    return this.processor(processor).remap?.(token, page, on) ?? Status.Failed;
  }

  cover(token: number, processor: ProcessorId, page: number): Status {
    return this.processor(processor).cover?.(token, page) ?? Status.Failed;
  }

  release(token: number, node: NodeId, page: number, count: number, frame: number): Status {
    return this.node(node).release(token, page, count, frame);
  }

  wake(processor: ProcessorId, page: number, count: number, access: Access): void {
    this.answers++;
    this.processor(processor).wake(page, count, access);
  }

  transfer(order: Readonly<Transfer>): Status {
    const status = order.urgent && order.source === SOURCE_ZERO ? this.clear(order) : null;
    return status ?? this.note(order);
  }

  /**
   * Zeros for a thread that waits are made and mapped by one call of the driver of its processor,
   * mostly at once: there is nothing to be kept in mind then. Null: it is not so.
   */
  private clear(order: Readonly<Transfer>): Status | null {
    const { node, processor, page, access, whole } = order;
    const target = this.node(node);
    if (
      whole ||
      (this.processors[processor] as unknown) !== target ||
      kindOf(target) !== Memory.Addressable
    )
      return null;
    this.urgentBlock = Math.floor(page / PAGES_PER_BLOCK);
    const status = target.transferIn(this.ordered(order, 0, access));
    if (status !== Status.Pending) this.answers++;
    else this.record(order).visible = true;
    return status;
  }

  /** Begins at once where a thread waits; otherwise when its turn comes. */
  private note(order: Readonly<Transfer>): Status {
    const transfer = this.record(order);
    const block = Math.floor(order.page / PAGES_PER_BLOCK);
    if (order.urgent) this.urgentBlock = block;
    else if (block !== this.urgentBlock) this.urgentBlock = -1;
    transfer.inThread = this.urgentBlock === -1;
    if (order.urgent) return this.start(transfer);
    this.queue.push(order.token);
    return Status.Pending;
  }

  private record(order: Readonly<Transfer>): Pending {
    const transfer = (this.transfers[order.token] ??= new Pending());
    copyOrder(order, transfer);
    return transfer;
  }

  /** A copy that a driver or provider had pending is through. */
  completed(token: number, status: Status): void {
    const transfer = this.transfers[token];
    if (transfer === undefined || !transfer.active) return;
    const result = transfer.staged === 0 ? status : this.goOn(transfer, status);
    if (result !== Status.Pending) {
      this.noteCopied(transfer);
      this.tell(token, this.publish(transfer, result));
    }
    this.startUnstaged();
  }

  /** From now on threads get what is there before the core hears of it, until `tellRest`. */
  putOff(): void {
    this.putsOff = true;
  }

  /** The core hears of what was put off. */
  tellRest(): void {
    this.putsOff = false;
    for (let token = this.untold.pop(); token !== undefined; token = this.untold.pop())
      this.transferred(token, Status.Done);
  }

  private tell(token: number, status: Status): void {
    if (this.putsOff && status === Status.Done) this.untold.push(token);
    else this.transferred(token, status);
  }

  /** Where the pages of a transfer that is under way come from, and the first of them. */
  orderOf(token: number): { source: NodeId; first: number } {
    const { source, page } = this.transfers[token];
    return { source, first: page };
  }

  /** Takes the next piece. Pages copied meanwhile, 1 if others copy them, 0: there is none. */
  step(): number {
    if (!this.busy) {
      // To set the length of an array costs as much as a system call, and each look at the faults
      // asks here.
      if (this.queueHead > 0) this.queue.length = 0;
      this.queueHead = 0;
      return 0;
    }
    const transfer = this.transfers[this.queue[this.queueHead++]];
    const { count } = transfer;
    if (!transfer.active) return count;
    const status = this.start(transfer);
    if (status === Status.Pending) return 1;
    this.transferred(transfer.token, status);
    return count;
  }

  /** Whether queued pieces are left. */
  get busy(): boolean {
    return this.queueHead < this.queue.length;
  }

  private start(transfer: Pending): Status {
    transfer.startedMs = transfer.source < 0 ? 0 : this.nowMs();
    const status = this.begin(transfer);
    if (status !== Status.Pending) {
      this.answers++;
      this.noteCopied(transfer);
    }
    return status;
  }

  /** A copy between two nodes is through, well or not. */
  private noteCopied({ source, node, startedMs }: Pending): void {
    if (source < 0 || node < 0) return;
    const ms = this.nowMs() - startedMs;
    this.copied[source] = this.copyMs(source) + ms;
    this.copied[node] = this.copyMs(node) + ms;
    this.received[node] = this.copiesTo(node) + 1;
  }

  /** How long copies from and to a node took, of which several may be under way at once. */
  copyMs(node: NodeId): number {
    return this.copied[node] ?? 0;
  }

  copiesTo(node: NodeId): number {
    return this.received[node] ?? 0;
  }

  private begin(transfer: Pending): Status {
    const { source, sourceFrame, page, count, frame, backed } = transfer;
    if (transfer.node === PROVIDER) return this.takeBack(transfer);
    const target = this.node(transfer.node);
    const from = source >= 0 ? this.nodes[source] : undefined;
    const way = WAYS[memoryOf(source, from)][kindOf(target)];
    // A device that died takes its copies along; its own event tells the core what that means.
    if (source >= 0 && from === undefined) return this.publish(transfer, Status.Lost);
    if (way === Way.Staged) return this.stage(transfer);
    if (transfer.whole) target.reserveBlock?.(page - (page % PAGES_PER_BLOCK));
    let status: Status;
    // To fill and map pages without memory is one call of the driver's, and cheaper than to give
    // them memory first: for its own processor only.
    const own = (this.processors[transfer.processor] as unknown) === target;
    if (way === Way.Source && own && this.fitsStaging(transfer)) {
      transfer.visible = true;
      transfer.staged = this.staging?.take() ?? 0;
      if (transfer.staged !== 0) return this.readWaitedFor(transfer, target);
    }
    const between = way === Way.Provider && own && !backed && target.isReserved?.(page) !== true;
    const content = between ? (this.provider.contentOf?.(page, count) ?? 0) : 0;
    transfer.visible = own && (way === Way.Target || content !== 0);
    if (way === Way.Target || content !== 0) {
      const address = from === undefined ? content : from.memory + sourceFrame * this.pageBytes;
      const access = transfer.visible ? transfer.access : Rights.None;
      // What a provider has is read into memory that is used again.
      const copier =
        transfer.inThread && content === 0
          ? (target as NodeDriver & Partial<CopiesInThreads>)
          : undefined;
      status =
        copier?.transferInThread?.(this.ordered(transfer, address, access)) ??
        target.transferIn(this.ordered(transfer, address, access));
    } else {
      status = backed ? Status.Done : (target.reserve?.(page, count) ?? Status.Done);
      const address = target.memory + frame * this.pageBytes;
      if (status === Status.Done) status = this.fill(way, transfer, from, address);
    }
    return status === Status.Pending ? status : this.publish(transfer, status);
  }

  /** The source's engine writes where the target's reads afterwards. */
  private stage(transfer: Pending): Status {
    const address = this.staging?.take() ?? 0;
    if (address === 0) {
      this.unstaged.push(transfer.token);
      return Status.Pending;
    }
    transfer.staged = address;
    transfer.visible = false;
    return this.readStaged(transfer);
  }

  /** Whether pages that show as they are filled come by way of memory. Whole blocks do not. */
  private fitsStaging({ backed, whole, count, access }: Pending): boolean {
    return !backed && !whole && count <= MOST_STAGED && access !== Rights.None;
  }

  /** A thread's pages get memory while the source is read: less is left to do then. */
  private readWaitedFor(transfer: Pending, target: NodeDriver): Status {
    const { urgent, page, count } = transfer;
    const status = this.readStaged(transfer);
    if (status === Status.Pending && urgent)
      transfer.backed = target.reserve?.(page, count) === Status.Done;
    return status;
  }

  private readStaged(transfer: Pending): Status {
    transfer.half = false;
    const { source, staged } = transfer;
    const status =
      this.node(source).transferOut?.(this.orderedOut(transfer, staged)) ?? Status.Failed;
    const result = status === Status.Pending ? status : this.goOn(transfer, status);
    return result === Status.Pending ? result : this.publish(transfer, result);
  }

  /** One of the two halves of a transfer that goes over memory between has ended. */
  private goOn(transfer: Pending, ended: Status): Status {
    let status = ended;
    if (status === Status.Done && !transfer.half) {
      transfer.half = true;
      const { staged, node, visible } = transfer;
      const access = visible ? transfer.access : Rights.None;
      status = this.node(node).transferIn(this.ordered(transfer, staged, access));
    }
    if (status === Status.Pending) return status;
    this.staging?.give(transfer.staged);
    transfer.staged = 0;
    return status;
  }

  private startUnstaged(): void {
    for (let tries = this.unstaged.length; tries > 0; tries--) {
      const transfer = this.transfers[this.unstaged.shift() as number];
      if (!transfer.active) continue;
      const status = this.start(transfer);
      if (status !== Status.Pending) this.transferred(transfer.token, status);
      else if (transfer.staged === 0) return;
    }
  }

  private takeBack(transfer: Pending): Status {
    const { token, source, sourceFrame, page, count } = transfer;
    const address = this.node(source).memory + sourceFrame * this.pageBytes;
    const status = this.provider.takeBack?.(token, page, count, address) ?? Status.Failed;
    return status === Status.Pending ? status : this.publish(transfer, status);
  }

  /** The provider, or the source's engine, writes where the manager addresses the target. */
  private fill(way: Way, transfer: Pending, from: NodeDriver | undefined, address: number): Status {
    const { token, source, page, count, urgent } = transfer;
    if (way === Way.Provider) return this.provider.provide(token, page, count, address, urgent);
    if (way === Way.Source && from?.transferOut !== undefined)
      return from.transferOut(this.orderedOut(transfer, address));
    throw new Error(
      `there is no way for page ${page} from ${from?.kind ?? source} to node ${transfer.node}`,
    );
  }

  /** What the target's driver is told. */
  private ordered(
    { token, page, count, frame, backed, urgent }: Readonly<Copied>,
    address: number,
    access: Access,
  ): TransferOrder {
    const { copy } = this;
    copy.token = token;
    copy.address = address;
    copy.page = page;
    copy.count = count;
    copy.frame = frame;
    copy.access = access;
    copy.backed = backed;
    copy.urgent = urgent;
    return copy;
  }

  /** What the source's driver is told. */
  private orderedOut(transfer: Readonly<Copied>, address: number): TransferOrder {
    const order = this.ordered(transfer, address, Rights.None);
    this.copy.frame = transfer.sourceFrame;
    return order;
  }

  /** The transfer is through: content that something else wrote into the target becomes visible. */
  private publish(transfer: Pending, status: Status): Status {
    transfer.active = false;
    const { processor, page, count, frame, access, visible } = transfer;
    if (status === Status.Done && access !== Rights.None && !visible)
      this.processor(processor).map(page, count, access, Rights.None, frame);
    return status;
  }
}

function memoryOf(source: number, driver: NodeDriver | undefined): Memory {
  if (source === SOURCE_ZERO) return Memory.Zero;
  if (source === SOURCE_PROVIDER) return Memory.Provider;
  return driver === undefined ? Memory.Addressable : kindOf(driver);
}

function kindOf(driver: NodeDriver): 0 | 1 {
  return driver.memory === 0 ? Memory.Engine : Memory.Addressable;
}

/** Field by field, since a copy of the object would be garbage for each fault. */
function copyOrder(order: Readonly<Transfer>, to: Pending): void {
  to.token = order.token;
  to.source = order.source;
  to.sourceFrame = order.sourceFrame;
  to.node = order.node;
  to.processor = order.processor;
  to.page = order.page;
  to.count = order.count;
  to.frame = order.frame;
  to.access = order.access;
  to.backed = order.backed;
  to.whole = order.whole;
  to.urgent = order.urgent;
  to.active = true;
}
