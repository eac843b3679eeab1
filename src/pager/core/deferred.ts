/**
 * What is to be done when the event at hand has been handled. From within a command the core cannot
 * be called: what it says is kept until it has returned, and so are actions that parts of the
 * manager put off. What the core has said comes first.
 */
import {
  type DenyReason,
  type InvalidationReason,
  type ProcessorId,
  Status,
} from '../../core/basics/types.js';
import type { Notices } from '../../drivers/router.js';
import type { CoreRequests } from './core-requests.js';

export interface DeniedAccess {
  readonly processor: ProcessorId;
  readonly page: number;
  readonly write: boolean;
  readonly thread: number;
  readonly reason: DenyReason;
  /** The thread waits for ever. */
  readonly stranded: boolean;
}

/** The parts that do what the core has said. */
export interface CoreListener {
  denied(access: DeniedAccess): void;
  /** The last page has left a processor. Its number is given again after `endHeard`. */
  drained(processor: ProcessorId): void;
  /** Clones are to be given these pages; with `lastChance` their content is forgotten then. */
  breakCopyOnWrite(page: number, count: number, lastChance: boolean): void;
  /** A thread of the host waits for a right that other machines have. */
  wanted(page: number, write: boolean): void;
  /** A thread of the host may not have a page, for a reason that the core does not know. */
  objected(page: number, write: boolean, thread: number, why: string): void;
}

/** A listener that is told of changes of pages before they happen, and when they are through. */
export interface InvalidationListener {
  begin(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
  through(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void;
}

export class Deferred implements Notices {
  private readonly said: ((listener: CoreListener) => void)[] = [];
  private readonly actions: (() => void)[] = [];
  private listener: InvalidationListener | null = null;

  constructor(private readonly requests: CoreRequests) {}

  /** Has the listener told of changes from now on. */
  announceTo(listener: InvalidationListener): void {
    this.listener = listener;
  }

  deny(
    processor: ProcessorId,
    page: number,
    write: boolean,
    thread: number,
    reason: DenyReason,
    stranded: boolean,
  ): void {
    const access = { processor, page, write, thread, reason, stranded };
    this.said.push((listener) => listener.denied(access));
  }

  requestDone(request: number, pages: number, failure: DenyReason | null): void {
    this.said.push(() => this.requests.finished(request, pages, failure));
  }

  drained(processor: ProcessorId): Status {
    this.said.push((listener) => listener.drained(processor));
    return Status.Pending;
  }

  /** Only nodes of devices are taken away. */
  emptied(): void {}

  breakCopyOnWrite(page: number, count: number, lastChance: boolean): void {
    this.said.push((listener) => listener.breakCopyOnWrite(page, count, lastChance));
  }

  want(page: number, write: boolean): void {
    this.said.push((listener) => listener.wanted(page, write));
  }

  invalidate(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void {
    this.listener?.begin(page, count, reason, owner);
  }

  invalidated(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void {
    this.listener?.through(page, count, reason, owner);
  }

  objection(page: number, write: boolean, thread: number, why: string): void {
    this.said.push((listener) => listener.objected(page, write, thread, why));
  }

  /** Does something when the event at hand has been handled. */
  readonly later = (action: () => void): void => {
    this.actions.push(action);
  };

  /** Does all that there is to do, until nothing more comes of it. */
  handleAll(listener: CoreListener): void {
    while (this.said.length > 0 || this.actions.length > 0) {
      const said = this.said.shift();
      if (said === undefined) this.actions.shift()?.();
      else said(listener);
    }
  }
}
