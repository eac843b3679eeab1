/**
 * Wakes the thread that waits for a page of storage while the disk still reads it. The CPU on which it slept has halted by then, and of a virtual machine's
 * CPU the way back takes as long as half of a read: it is to be on that way while the disk works. A thread that comes before the page faults
 * again and sleeps, and has lost nothing. It is woken so long before the page that it comes right after it, by how long reads have taken and how long
 * threads were on their way.
 */
import type { PageQueries } from '../../core/page-queries.js';
import { HOST } from '../../core/types.js';

/** What is taken for the way of a thread until one was seen: that of virtual machines. */
const FIRST_WAY_MS = 0.025;
/** A thread that is seen to come sooner shares the manager's CPU, or has one that does not halt. */
const LEAST_WAY_MS = 0.018;
/** Longer than any read that the manager looks for. */
const LONGEST_READ_MS = 0.3;
/** Of so many threads one is woken at once, to see how long it takes: only one that comes before its page is seen to come. */
const TRY_EVERY = 64;
/** What the last one counts for. */
const READ_WEIGHT = 1 / 8;
const WAY_WEIGHT = 1 / 4;

export class EarlyWake {
  /** The last fault of a thread of the program. */
  private page = -1;
  private thread = 0;
  /** Nothing has been read since. */
  private isNew = false;
  private reads = 0;
  private begunAt = 0;
  private dueAt = Number.POSITIVE_INFINITY;
  /** When the thread was woken that has not come yet; 0: there is none. */
  private wokenAt = 0;
  private readMs = 0;
  private wayMs = FIRST_WAY_MS;

  constructor(
    private readonly known: PageQueries,
    private readonly now: () => number,
  ) {}

  /** A thread has faulted. Returns whether it is the one that was woken, which waits as it did before: there is nothing to tell the core. */
  faulted(page: number, thread: number): boolean {
    if (this.wokenAt !== 0 && page === this.page && thread === this.thread && this.known.isAwaited(HOST, page)) {
      this.wayMs += (this.now() - this.wokenAt - this.wayMs) * WAY_WEIGHT;
      this.wokenAt = 0;
      return true;
    }
    this.page = page;
    this.thread = thread;
    this.isNew = true;
    return false;
  }

  /**
   * A disk has begun to read a page. It is taken for the one of the last fault: to wake a thread that waits for another one does no harm. Returns whether there was a
   * fault since the page before.
   */
  begun(nowMs: number): boolean {
    const { isNew } = this;
    this.begunAt = nowMs;
    this.dueAt = isNew ? nowMs + this.delayMs() : Number.POSITIVE_INFINITY;
    this.isNew = false;
    this.wokenAt = 0;
    return isNew;
  }

  /** The page whose thread is to be woken now; -1: none. */
  due(nowMs: number): number {
    if (nowMs < this.dueAt) return -1;
    this.dueAt = Number.POSITIVE_INFINITY;
    this.wokenAt = nowMs;
    return this.page;
  }

  /** The page is there. */
  ended(nowMs: number): void {
    this.readMs += (Math.min(nowMs - this.begunAt, LONGEST_READ_MS) - this.readMs) * READ_WEIGHT;
    this.dueAt = Number.POSITIVE_INFINITY;
    this.wokenAt = 0;
  }

  private delayMs(): number {
    if (++this.reads % TRY_EVERY === 0) return 0;
    return this.wayMs < LEAST_WAY_MS ? Number.POSITIVE_INFINITY : Math.max(this.readMs - this.wayMs, 0);
  }
}
