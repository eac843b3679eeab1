/**
 * Accesses of the host that are denied. A load or store ends the process, so that the line that
 * says why has to be written before; but the reader of standard error may not read now, and no
 * thread is kept waiting long for that.
 */
import { isWritten } from '../protocol/output.js';

/** How long an access waits for its line, and a system call, which may keep it from coming. */
const ACCESS_MS = 10_000;
const CALL_MS = 1000;
/** How often the manager looks whether the line has been written. */
const LOOK_MS = 2;

interface Denied {
  readonly page: number;
  readonly write: boolean;
  readonly ticket: number;
  readonly inCall: boolean;
  readonly end: number;
}

export class LastWords {
  private readonly denied: Denied[] = [];

  constructor(
    private readonly control: Int32Array,
    private readonly deny: (page: number, write: boolean, inCall: boolean) => void,
  ) {}

  has(page: number): boolean {
    return this.denied.some((each) => each.page === page);
  }

  /** @param ticket of the line that says why */
  add(page: number, write: boolean, inCall: boolean, ticket: number, nowMs: number): void {
    this.denied.push({ page, write, ticket, inCall, end: nowMs + (inCall ? CALL_MS : ACCESS_MS) });
  }

  /** The pages may be used after all. Returns those that a thread waits for. */
  forget(firstPage: number, count: number): number[] {
    const pages: number[] = [];
    for (let index = this.denied.length - 1; index >= 0; index--) {
      const { page } = this.denied[index];
      if (page < firstPage || page >= firstPage + count) continue;
      this.denied.splice(index, 1);
      pages.push(page);
    }
    return pages;
  }

  look(nowMs: number): void {
    for (let index = this.denied.length - 1; index >= 0; index--) {
      const { page, write, ticket, inCall, end } = this.denied[index];
      if (nowMs < end && !isWritten(this.control, ticket)) continue;
      this.denied.splice(index, 1);
      this.deny(page, write, inCall);
    }
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    return this.denied.length > 0 ? Math.min(most, LOOK_MS) : most;
  }
}
