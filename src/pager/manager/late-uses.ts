/**
 * Uses of arrays whose space has been closed, through views that are left. A load gives zero, and
 * is warned of once for each array; a store ends the process after one line that names the array.
 * The thread of the last manager that was closed answers, for all closed spaces of its opener,
 * until no view is left.
 */

import { PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import {
  EAGAIN,
  EEXIST,
  MADV_DONTNEED,
  UFFD_EVENT_PAGEFAULT,
  UFFD_PAGEFAULT_FLAG_WP,
  UFFD_PAGEFAULT_FLAG_WRITE,
} from '../../linux/base/constants.js';
import { madvise } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { endProcess } from '../../linux/processes/kill.js';
import { systemCallOf } from '../../linux/processes/process.js';
import { Poller } from '../../linux/sockets/poll.js';
import { drainEventfd } from '../../linux/threads/eventfd.js';
import { type ClosedArray, type ClosedSpace, isUnmapped } from '../protocol/closed-space.js';
import { Control } from '../protocol/control.js';
import { awaitMessages } from '../protocol/output.js';

/** How often the thread looks whether views are left. */
const LOOK_MS = 200;
/** Tries of a call that the kernel asks to repeat, since the address space was changing. */
const TRIES = 1000;
/** How long the end of an access waits for the line that says why. */
const LAST_LINE_MS = 1000;
const BLOCK_BYTES = PAGES_PER_BLOCK * PAGE_BYTES;

/** Answers until no view is left or the thread is stopped; another one may go on. */
export function answerLateUses(
  spaces: readonly ClosedSpace[],
  control: Int32Array,
  wakeFd: number,
  say: (text: string) => void,
): void {
  const tell = (text: string, isLast: boolean): void => {
    say(text);
    if (isLast) awaitMessages(control, LAST_LINE_MS);
  };
  const poller = new Poller(1 + spaces.length);
  poller.set(0, wakeFd);
  let watched = spaces.map((space, index) => {
    poller.set(1 + index, space.faults);
    return new Watched(space, 1 + index, tell);
  });
  while (Atomics.load(control, Control.Stop) === 0) {
    watched = watched.filter((each) => {
      if (!isUnmapped(each.space.control)) return true;
      poller.clear(each.slot);
      return false;
    });
    if (watched.length === 0) return;
    if (poller.wait(LOOK_MS) === 0) continue;
    if (poller.readyAt(0) !== 0) drainEventfd(wakeFd);
    for (const each of watched) if (poller.readyAt(each.slot) !== 0) each.answer();
  }
}

class Watched {
  private readonly faults: Userfaultfd;
  /** Blocks that read as zero. */
  private readonly filled = new Set<number>();
  private readonly warned = new Set<ClosedArray>();

  constructor(
    readonly space: ClosedSpace,
    readonly slot: number,
    /** Has a line written on standard error; waits for that if the process may end then. */
    private readonly tell: (text: string, isLast: boolean) => void,
  ) {
    this.faults = Userfaultfd.fromFd(space.faults);
  }

  answer(): void {
    const { faults, space } = this;
    const count = faults.readMessages();
    for (let index = 0; index < count; index++) {
      if (faults.eventOf(index) !== UFFD_EVENT_PAGEFAULT) continue;
      const offset = faults.addressOf(index) - space.base;
      const write =
        (faults.flagsOf(index) & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) !== 0;
      if (write) this.deny(Math.floor(offset / PAGE_BYTES), faults.threadOf(index));
      else this.fill(offset);
    }
  }

  /** Zeros for the whole block: they take no memory, and another load comes soon. */
  private fill(offset: number): void {
    const { faults, space } = this;
    const block = Math.floor(offset / BLOCK_BYTES);
    const address = space.base + block * BLOCK_BYTES;
    const length = Math.min(BLOCK_BYTES, space.bytes - block * BLOCK_BYTES);
    const { array, text } = this.placeOf(Math.floor(offset / PAGE_BYTES));
    if (array !== undefined && !this.warned.has(array)) {
      this.warned.add(array);
      this.tell(
        `onemem: warning: the program read ${text}, whose space has been closed; it reads as zero\n`,
        false,
      );
    }
    if (!this.filled.has(block)) {
      // Threads are woken only when the pages are protected, so that a store is seen. A page that
      // is there already came by a load while the space was being closed.
      const result = faults.zeropage(address, length, true);
      if (result === 0 || result === EEXIST) {
        if (result === 0) this.filled.add(block);
        else
          faults.zeropage(
            space.base + Math.floor(offset / PAGE_BYTES) * PAGE_BYTES,
            PAGE_BYTES,
            true,
          );
        this.protect(address, length, true);
      }
    }
    faults.wake(address, length);
  }

  private deny(page: number, thread: number): void {
    const { text } = this.placeOf(page);
    const inCall = systemCallOf(thread) !== null;
    const end = inCall ? 'The system call fails with EFAULT' : 'The process ends';
    this.tell(
      `onemem: denied access: thread ${thread} wrote ${text}, whose space has been closed. ${end}.\n`,
      true,
    );
    const address = this.space.base + page * PAGE_BYTES;
    madvise(address, PAGE_BYTES, MADV_DONTNEED);
    this.protect(address, PAGE_BYTES, false);
    for (let tries = 0; tries < TRIES; tries++) {
      const result = this.faults.poison(address, PAGE_BYTES);
      if (result === 0) return;
      if (result !== EAGAIN) break;
    }
    if (inCall)
      this.tell(
        'onemem: this kernel (before 6.6) cannot make a system call fail: the process ends.\n',
        true,
      );
    endProcess();
  }

  /** Has stores to pages that are there fault, or no more. */
  private protect(address: number, length: number, on: boolean): void {
    for (let tries = 0; tries < TRIES; tries++)
      if (this.faults.writeProtect(address, length, on, true) !== EAGAIN) return;
  }

  private placeOf(page: number): { array: ClosedArray | undefined; text: string } {
    const address = `address 0x${(this.space.base + page * PAGE_BYTES).toString(16)}`;
    const array = this.space.arrays.find(
      ({ firstPage, pages }) => page >= firstPage && page < firstPage + pages,
    );
    if (array === undefined) return { array, text: address };
    const { name, firstPage, bytes, elementBytes } = array;
    const first = Math.floor(((page - firstPage) * PAGE_BYTES) / elementBytes);
    const last = Math.min(first + PAGE_BYTES / elementBytes, bytes / elementBytes) - 1;
    return { array, text: `array ${name}, elements ${first} to ${last} (${address})` };
  }
}
