/**
 * Copy-on-write clones. A clone is a range whose provider is another range: a page of it that nobody has touched is filled from its
 * source. A page of the source that somebody wants to write is first given to every clone that does not have it yet; the core
 * asks for that (`save`) and lets the writer go on when it is told (`saved`).
 */
import type { MemoryManager } from '../core/memory-manager.js';
import { Access, type DenyReason, HOST, Status } from '../core/types.js';
import type { Range } from '../core/va-space.js';
import type { CoreRequests } from './core-requests.js';

interface Clone {
  readonly range: Range;
  readonly source: Range;
  /** Whether somebody was told that it lost pages. */
  told: boolean;
}

/** What carries the bytes: the manager's view of host memory. */
export interface CloneMemory {
  /** Copies pages of the host's node to where the manager can write. */
  copy(page: number, count: number, target: number): void;
  zero(count: number, target: number): void;
}

export class Clones {
  private readonly clones = new Map<number, Clone>();

  constructor(
    private readonly manager: () => MemoryManager,
    private readonly requests: CoreRequests,
    private readonly memory: CloneMemory,
    private readonly completed: (token: number, status: Status) => void,
    /** Runs something when the current event has been handled: from within a command the core cannot be called. */
    private readonly later: (action: () => void) => void,
    /** The first page of a clone is lost, since it could not be copied before its source was written. */
    private readonly onLoss: (page: number, reason: DenyReason, first: boolean) => void,
  ) {}

  /** Makes `range`, which must be untouched, a clone of `source`. `done` is called when the source is guarded. */
  add(source: Range, range: Range, done: (failure: DenyReason | null) => void): void {
    this.clones.set(range.id, { range, source, told: false });
    this.requests.start(
      (request) => this.manager().guard(request, source.first, Math.min(source.pages, range.pages)),
      (_pages, failure) => done(failure),
    );
  }

  /** The range has been freed: its source needs to keep nothing for it any more. */
  remove(range: Range): void {
    this.clones.delete(range.id);
  }

  /** Whether there are clones at all, which is asked for each page of a file. */
  get any(): boolean {
    return this.clones.size > 0;
  }

  has(range: Range): boolean {
    return this.clones.has(range.id);
  }

  /** Fills pages of a clone from its source. */
  provide(range: Range, token: number, page: number, count: number, target: number): Status {
    const clone = this.clones.get(range.id);
    if (clone === undefined) return Status.Failed;
    const from = clone.source.first + page - range.first;
    let zero = true;
    for (let at = from; at < from + count && zero; at++) zero = this.manager().pages.isZero(at);
    if (zero) {
      this.memory.zero(count, target);
      return Status.Done;
    }
    this.later(() => this.fill(token, from, count, target));
    return Status.Pending;
  }

  /** Gives the content of pages of a source to all clones that need it. */
  save(page: number, count: number): void {
    this.later(() => this.saveNow(page, count));
  }

  private fill(token: number, from: number, count: number, target: number): void {
    const manager = this.manager();
    this.requests.start(
      (request) => manager.acquire(request, HOST, from, count, Access.Read, false, true, { ahead: true }),
      (_pages, failure) => {
        if (failure === null) {
          this.memory.copy(from, count, target);
          manager.release(HOST, from, count, Access.Read);
        }
        this.completed(token, statusOf(failure));
      },
    );
  }

  private saveNow(page: number, count: number): void {
    const manager = this.manager();
    const source = manager.state.va.rangeOfPage(page);
    for (const clone of this.clones.values()) {
      if (clone.source !== source) continue;
      const first = clone.range.first + page - source.first;
      const end = Math.min(first + count, clone.range.first + clone.range.pages);
      for (let at = first; at < end; at++) {
        if (!manager.pages.isInherited(at)) continue;
        // A page of zeros needs no copy: the clone only has to know.
        if (this.isQuietZero(at, page + at - first)) {
          manager.blank(at, 1);
          continue;
        }
        let last = at + 1;
        while (last < end && manager.pages.isInherited(last) && !this.isQuietZero(last, page + last - first)) last++;
        this.saveRun(at, last - at, () => this.saveNow(page, count));
        return;
      }
    }
    // Looked at from the beginning after each copy: another clone may have been made meanwhile.
    manager.saved(page, count);
  }

  /** A page that is being filled just now could still be filled from what is written next. */
  private isQuietZero(page: number, source: number): boolean {
    return this.manager().pages.isZero(source) && !this.manager().pages.isMoving(page);
  }

  private saveRun(first: number, count: number, done: () => void): void {
    const manager = this.manager();
    this.requests.start(
      (request) => manager.own(request, first, count),
      (_pages, failure) => {
        if (failure === null) this.later(done);
        else if (count > 1) this.later(() => this.saveRun(first, 1, () => this.saveRun(first + 1, count - 1, done)));
        else {
          this.tellLoss(first, failure);
          this.later(done);
        }
      },
    );
  }

  private tellLoss(page: number, reason: DenyReason): void {
    const clone = this.clones.get(this.manager().state.va.rangeOfPage(page)?.id ?? -1);
    this.onLoss(page, reason, clone?.told !== true);
    if (clone !== undefined) clone.told = true;
  }
}

function statusOf(failure: DenyReason | null): Status {
  if (failure === null) return Status.Done;
  // What its source has lost, the clone has, too.
  if (failure === 'LOST') return Status.SourceLost;
  // There was no memory for the source's page, though nothing is under way that would give some.
  return failure === 'OUT_OF_MEMORY' ? Status.SourceStarved : Status.Failed;
}
