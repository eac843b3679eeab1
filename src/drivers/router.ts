/**
 * Carries the core's commands to the drivers and joins two of them for a copy. A run that a thread waits for is copied at once
 * when both ends are memory; everything else is queued, and the owner of the loop takes one piece between two looks at the
 * faults, so that a large copy delays nobody by more than a piece.
 */
import {
  type Access,
  type Commands,
  type DenyReason,
  type InvalidationReason,
  PAGE_BYTES,
  type ProcessorId,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  Status,
} from '../core/types.js';
import type { Driver } from './driver.js';

/** Fills pages from outside: a file, later a module of the user's. Done or a failure at once, or Pending. */
export interface ProviderPort {
  /** `target` is where the manager can write the pages; it maps them itself once they are filled. */
  provide(token: number, page: number, count: number, target: number, urgent: boolean): Status;
}

/** What the core tells the owner of the loop. */
export interface Notices {
  deny(
    processor: ProcessorId,
    page: number,
    write: boolean,
    thread: number,
    reason: DenyReason,
    stranded: boolean,
  ): void;
  requestDone(request: number, pages: number, failure: DenyReason | null): void;
  drained(processor: ProcessorId): void;
  save(page: number, count: number, lastChance: boolean): void;
  invalidate(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
  invalidated(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
}

interface Transfer {
  token: number;
  source: number;
  sourceFrame: number;
  processor: number;
  page: number;
  count: number;
  frame: number;
  access: Access;
  backed: boolean;
  active: boolean;
}

export class Router implements Commands {
  private readonly drivers: (Driver | undefined)[] = [];
  /** Transfers under way by token; entries are used again. */
  private readonly transfers: Transfer[] = [];
  private readonly queue: number[] = [];
  private queueHead = 0;

  constructor(
    private readonly notices: Notices,
    private readonly provider: ProviderPort,
    /** The core's event `transferred`. */
    private readonly transferred: (token: number, status: Status) => void,
    private readonly pageBytes: number = PAGE_BYTES,
  ) {}

  attach(processor: ProcessorId, driver: Driver): void {
    this.drivers[processor] = driver;
  }

  detach(processor: ProcessorId): void {
    this.drivers[processor] = undefined;
  }

  driver(processor: ProcessorId): Driver {
    const driver = this.drivers[processor];
    if (driver === undefined) throw new Error(`processor ${processor} has no driver`);
    return driver;
  }

  map(processor: ProcessorId, page: number, count: number, access: Access, previous: Access, frame: number): void {
    this.driver(processor).map(page, count, access, previous, frame);
  }

  revoke(token: number, processor: ProcessorId, page: number, count: number, to: Access): Status {
    return this.driver(processor).revoke(token, page, count, to);
  }

  remap(token: number, processor: ProcessorId, page: number, on: boolean): Status {
    return this.driver(processor).remap?.(token, page, on) ?? Status.Failed;
  }

  cover(token: number, processor: ProcessorId, page: number): Status {
    return this.driver(processor).cover?.(token, page) ?? Status.Failed;
  }

  release(node: number, page: number, count: number, frame: number): void {
    this.driver(node).release(page, count, frame);
  }

  wake(processor: ProcessorId, page: number, count: number): void {
    this.driver(processor).wake(page, count);
  }

  deny(
    processor: ProcessorId,
    page: number,
    write: boolean,
    thread: number,
    reason: DenyReason,
    stranded: boolean,
  ): void {
    this.notices.deny(processor, page, write, thread, reason, stranded);
  }

  requestDone(request: number, pages: number, failure: DenyReason | null): void {
    this.notices.requestDone(request, pages, failure);
  }

  drained(processor: ProcessorId): void {
    this.notices.drained(processor);
  }

  save(page: number, count: number, lastChance: boolean): void {
    this.notices.save(page, count, lastChance);
  }

  invalidate(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void {
    this.notices.invalidate(page, count, reason, owner);
  }

  invalidated(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void {
    this.notices.invalidated(page, count, reason, owner);
  }

  transfer(
    token: number,
    source: number,
    sourceFrame: number,
    processor: ProcessorId,
    page: number,
    count: number,
    frame: number,
    access: Access,
    backed: boolean,
    urgent: boolean,
  ): Status {
    const transfer = (this.transfers[token] ??= {
      token,
      source: 0,
      sourceFrame: 0,
      processor: 0,
      page: 0,
      count: 0,
      frame: 0,
      access: 0,
      backed: false,
      active: false,
    });
    transfer.source = source;
    transfer.sourceFrame = sourceFrame;
    transfer.processor = processor;
    transfer.page = page;
    transfer.count = count;
    transfer.frame = frame;
    transfer.access = access;
    transfer.backed = backed;
    transfer.active = true;
    if (!urgent) {
      this.queue.push(token);
      return Status.Pending;
    }
    return this.start(transfer, true);
  }

  /** A copy that a driver or provider had pending is through. */
  completed(token: number, status: Status): void {
    const transfer = this.transfers[token];
    if (transfer === undefined || !transfer.active) return;
    this.transferred(token, this.publish(transfer, status));
  }

  /** Takes the next queued piece. False when there is none. */
  step(): boolean {
    if (this.queueHead === this.queue.length) {
      this.queue.length = 0;
      this.queueHead = 0;
      return false;
    }
    const transfer = this.transfers[this.queue[this.queueHead++]];
    if (!transfer.active) return true;
    const status = this.start(transfer, false);
    if (status !== Status.Pending) this.transferred(transfer.token, status);
    return true;
  }

  /** Whether queued pieces are left. */
  get busy(): boolean {
    return this.queueHead < this.queue.length;
  }

  private start(transfer: Transfer, urgent: boolean): Status {
    const { token, source, page, count, frame, access, backed } = transfer;
    const target = this.driver(transfer.processor);
    let status: Status;
    if (source === SOURCE_PROVIDER) {
      const refused = this.reserve(transfer, target);
      if (refused !== Status.Done) return refused;
      status = this.provider.provide(token, page, count, target.memory + frame * this.pageBytes, urgent);
      if (status !== Status.Pending) status = this.publish(transfer, status);
      return status;
    }
    if (source === SOURCE_ZERO) {
      status = target.transferIn(token, 0, page, count, frame, access, backed);
    } else {
      const from = this.drivers[source];
      // A device that died takes its copies along; its own event tells the core what that means.
      if (from === undefined) status = Status.Lost;
      else if (from.memory !== 0) {
        const address = from.memory + transfer.sourceFrame * this.pageBytes;
        status = target.transferIn(token, address, page, count, frame, access, backed);
      } else if (from.transferOut !== undefined) {
        const refused = this.reserve(transfer, target);
        if (refused !== Status.Done) return refused;
        const address = target.memory + frame * this.pageBytes;
        status = from.transferOut(token, transfer.sourceFrame, count, address);
        if (status !== Status.Pending) status = this.publish(transfer, status);
        return status;
      } else throw new Error(`driver ${from.kind} neither lets its memory be addressed nor copies it out`);
    }
    if (status !== Status.Pending) transfer.active = false;
    return status;
  }

  /** Memory for what something else is about to write; the target itself is only told afterwards. */
  private reserve(transfer: Transfer, target: Driver): Status {
    if (transfer.backed) return Status.Done;
    const status = target.reserve?.(transfer.page, transfer.count) ?? Status.Done;
    if (status !== Status.Done) transfer.active = false;
    return status;
  }

  /** Content that something else wrote into the target's memory becomes visible there. */
  private publish(transfer: Transfer, status: Status): Status {
    transfer.active = false;
    const { source, processor, page, count, frame, access } = transfer;
    const byTarget = source === SOURCE_ZERO || (source >= 0 && this.drivers[source]?.memory !== 0);
    if (status === Status.Done && access !== 0 && !byTarget) this.driver(processor).map(page, count, access, 0, frame);
    return status;
  }
}
