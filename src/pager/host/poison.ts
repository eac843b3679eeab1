/**
 * Pages that the host's threads are denied. A denied access ends when the line that says why has
 * been written; then the page is poisoned, which ends the process at a load or store, and fails a
 * system call. The reader of standard error may not read now, and no thread is kept waiting long
 * for that. Such pages are restored when they may be used again.
 */

import { HOST } from '../../core/basics/types.js';
import type { HostDriver } from '../../drivers/host-linux/host.js';
import { endProcess } from '../../linux/processes/kill.js';
import { systemCallOf } from '../../linux/processes/process.js';
import type { ManagerContext } from '../core/context.js';
import { awaitMessages, isWritten } from '../protocol/output.js';

/** How long an access waits for its line, and a system call, which may keep it from coming. */
const ACCESS_MS = 10_000;
const CALL_MS = 1000;
/** How often the manager looks whether the line has been written. */
const LOOK_MS = 2;
/** How long a process that ends anyway waits for its last line. */
const LAST_LINE_MS = 1000;

interface Denied {
  readonly page: number;
  readonly write: boolean;
  readonly inCall: boolean;
  /** Of the line that says why. */
  readonly ticket: number;
  readonly endMs: number;
}

export class Poison {
  /** Accesses that wait for their line. */
  private denied: Denied[] = [];

  constructor(
    private readonly context: ManagerContext,
    private readonly host: HostDriver,
  ) {}

  /** Ends an access. @param why continues a sentence about what was touched; asked once a page */
  end(page: number, write: boolean, thread: number, explain: () => string): void {
    // The kernel may tell of one fault several times.
    if (this.denied.some((each) => each.page === page)) return;
    const inCall = systemCallOf(thread) !== null;
    if (this.host.isPoisoned(page)) {
      this.poison(page, inCall);
      return;
    }
    const what = write ? 'wrote' : 'read';
    const end = inCall ? 'The system call fails with EFAULT' : 'The process ends';
    const ticket = this.context.say(
      `onemem: denied access: thread ${thread} ${what} ${explain()}. ${end}.\n`,
    );
    const endMs = this.context.now() + (inCall ? CALL_MS : ACCESS_MS);
    this.denied.push({ page, write, inCall, ticket, endMs });
  }

  /** Pages whose every access failed, or was about to, are used as others are. */
  readonly restore = (firstPage: number, count: number): void => {
    this.host.restore(firstPage, count);
    for (const { page } of this.take(({ page }) => page >= firstPage && page < firstPage + count))
      this.host.wake(page, 1);
  };

  /** Goes on with accesses whose line has been written. */
  look(nowMs: number): void {
    const { control, manager } = this.context;
    if (this.denied.length === 0) return;
    for (const { page, write, inCall } of this.take(
      ({ ticket, endMs }) => nowMs >= endMs || isWritten(control, ticket),
    )) {
      // Another array may lie there by now.
      if (manager.pages.isMapped(HOST, page, write)) this.host.wake(page, 1);
      else this.poison(page, inCall);
    }
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    return this.denied.length > 0 ? Math.min(most, LOOK_MS) : most;
  }

  /** Those that wait no longer. */
  private take(isOver: (access: Denied) => boolean): Denied[] {
    const over = this.denied.filter(isOver);
    this.denied = this.denied.filter((each) => !over.includes(each));
    return over;
  }

  private poison(page: number, inCall: boolean): void {
    this.context.deferred.invalidate(page, 1, 'protect', HOST);
    if (this.host.poison(page)) {
      this.context.manager.unmapped(page);
      this.context.deferred.invalidated(page, 1, 'protect', HOST);
      return;
    }
    if (inCall) {
      this.context.say(
        'onemem: this kernel (before 6.6) cannot make a system call fail: the process ends.\n',
      );
      awaitMessages(this.context.control, LAST_LINE_MS);
    }
    endProcess();
  }
}
