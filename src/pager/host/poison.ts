/**
 * Pages that the host's threads are denied. A denied access ends when the line that says why has
 * been written; then the page is poisoned, which ends the process at a load or store, and fails a
 * system call. Such pages are restored when they may be used again.
 */

import { HOST } from '../../core/basics/types.js';
import type { HostDriver } from '../../drivers/host-linux/host.js';
import { endProcess } from '../../linux/processes/kill.js';
import { systemCallOf } from '../../linux/processes/process.js';
import type { ManagerContext } from '../core/context.js';
import { awaitMessages } from '../protocol/output.js';
import { LastWords } from './last-words.js';

/** How long a process that ends anyway waits for its last line. */
const LAST_LINE_MS = 1000;

export class Poison {
  private readonly lastWords: LastWords;

  constructor(
    private readonly context: ManagerContext,
    private readonly host: HostDriver,
  ) {
    this.lastWords = new LastWords(context.control, (page, write, inCall) => {
      // Another array may lie there by now.
      if (context.manager.pages.isMapped(HOST, page, write)) host.wake(page, 1);
      else this.poison(page, inCall);
    });
  }

  /** Ends an access. @param why continues a sentence about what was touched; asked once a page */
  end(page: number, write: boolean, thread: number, explain: () => string): void {
    // The kernel may tell of one fault several times.
    if (this.lastWords.has(page)) return;
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
    this.lastWords.add(page, write, inCall, ticket, this.context.now());
  }

  /** Pages whose every access failed, or was about to, are used as others are. */
  readonly restore = (firstPage: number, count: number): void => {
    this.host.restore(firstPage, count);
    for (const page of this.lastWords.forget(firstPage, count)) this.host.wake(page, 1);
  };

  /** Goes on with accesses whose line has been written. */
  look(nowMs: number): void {
    this.lastWords.look(nowMs);
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    return this.lastWords.sleepMs(most);
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
