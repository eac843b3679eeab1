/**
 * Page tables that are changed through a userfaultfd: of threads of this process, or of another
 * one. All pages are those of one memory file, mapped at `base`.
 */
import { Access, PAGE_BYTES, Status } from '../core/basics/types.js';
import {
  EAGAIN,
  EEXIST,
  EINTR,
  ENOENT,
  ENOMEM,
  ESRCH,
  UFFD_EVENT_FORK,
  UFFD_EVENT_PAGEFAULT,
  UFFD_PAGEFAULT_FLAG_WP,
  UFFD_PAGEFAULT_FLAG_WRITE,
} from '../linux/base/constants.js';
import { type CallArguments, SystemCallError } from '../linux/base/errors.js';
import { closeDescriptor } from '../linux/base/libc.js';
import type { Userfaultfd } from '../linux/memory/userfaultfd.js';
import { RETRIES } from './page-filling.js';

/** Errors that pass: addresses changed, a signal came, or the kernel had no memory. */
export function passes(errno: number): boolean {
  return errno === EAGAIN || errno === EINTR || errno === ENOMEM;
}

/** Makes a call again while it fails for a reason that passes. Returns 0 or the error number. */
export function persist(call: () => number): number {
  let result = call();
  for (let attempt = 0; passes(result) && attempt < RETRIES; attempt++) result = call();
  return result;
}

/**
 * A node's memory or page tables cannot be made what the core's table says, though it was tried
 * again. Nothing that follows would be right: the node's processor ends, or the manager does.
 */
export class NodeError extends Error {
  override readonly name = 'NodeError';

  constructor(call: string, args: CallArguments, errno: number) {
    super(new SystemCallError(call, args, errno).message);
  }
}

function thrown(error: NodeError): never {
  throw error;
}

/** Tries of calls that may find the page changing. */
const POISON_TRIES = 1000;

export class PageTable {
  constructor(
    private readonly name: string,
    /** Where the processor's threads have page 0. */
    readonly base: number,
    readonly userfaultfd: Userfaultfd,
    /** Is told that the tables cannot be made what they should be. Without one the error is thrown. */
    private readonly failed: (error: NodeError) => void = thrown,
  ) {}

  /** Hands on messages that were read. */
  reportFaults(
    count: number,
    report: (page: number, write: boolean, thread: number) => void,
  ): void {
    const { userfaultfd, base } = this;
    for (let index = 0; index < count; index++) {
      const event = userfaultfd.eventOf(index);
      // Nobody asked for those: a process that attached may send them by way of its userfaultfd.
      if (event === UFFD_EVENT_FORK) closeDescriptor(userfaultfd.descriptorOf(index));
      if (event !== UFFD_EVENT_PAGEFAULT) continue;
      const page = Math.floor((userfaultfd.addressOf(index) - base) / PAGE_BYTES);
      const write =
        (userfaultfd.flagsOf(index) & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) !== 0;
      report(page, write, userfaultfd.threadOf(index));
    }
  }

  map(page: number, count: number, access: Access, previous: Access): Status {
    const address = this.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (previous === Access.None) return this.publish(address, length, access === Access.Read);
    return this.protect(address, length, access === Access.Read);
  }

  /**
   * Has every access to a page fail: SIGBUS for a load or store, EFAULT for a system call. False:
   * this kernel cannot.
   *
   * @param unmap takes the page out of the page table. It comes first: what is mapped could be
   *   written as soon as it is not protected.
   */
  poison(page: number, unmap: () => void): boolean {
    const { userfaultfd } = this;
    const address = this.base + page * PAGE_BYTES;
    for (let tries = 0; tries < POISON_TRIES; tries++) {
      unmap();
      // A page that was protected against writing leaves a mark of that where the poison is to be.
      if (userfaultfd.writeProtect(address, PAGE_BYTES, false, true) !== 0) continue;
      if (userfaultfd.poison(address, PAGE_BYTES) === 0) return true;
    }
    return false;
  }

  /** Takes the right to write. No thread can write any more when this returns. */
  writeProtect(page: number, count: number): Status {
    return this.protect(this.base + page * PAGE_BYTES, count * PAGE_BYTES, true);
  }

  /**
   * A thread that is not woken would wait for ever. One that is woken while its page table lacks
   * the page would come back for ever: the kernel takes pages out of page tables when it takes a
   * folio apart, or needs memory itself.
   */
  wake(page: number, count: number, access: Access): void {
    const address = this.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (
      access !== Access.None &&
      this.userfaultfd.continue_(address, length, access === Access.Read) === 0
    )
      return;
    let result = this.userfaultfd.wake(address, length);
    if (passes(result)) result = persist(() => this.userfaultfd.wake(address, length));
    if (result === 0 || result === ESRCH || result === ENOENT) return;
    this.fail('UFFDIO_WAKE', address, length, result);
  }

  /** Maps pages that have memory. Mapped ones get the right, and their threads are woken. */
  publish(address: number, length: number, readOnly: boolean): Status {
    const { userfaultfd } = this;
    let done = 0;
    let attempts = 0;
    while (done < length) {
      const result = userfaultfd.continue_(address + done, length - done, readOnly);
      if (result === 0) return Status.Done;
      done += userfaultfd.progress;
      if (result === EEXIST) {
        const status = this.protect(address + done, PAGE_BYTES, readOnly);
        if (status !== Status.Done) return Status.Lost;
        this.wake((address + done - this.base) / PAGE_BYTES, 1, Access.None);
        done += PAGE_BYTES;
      } else if (result === ESRCH || result === ENOENT) {
        return Status.Lost;
      } else if (!passes(result) || ++attempts > RETRIES) {
        this.fail('UFFDIO_CONTINUE', address + done, length, result);
        return Status.Lost;
      }
    }
    return Status.Done;
  }

  private protect(address: number, length: number, on: boolean): Status {
    const { userfaultfd } = this;
    let result = userfaultfd.writeProtect(address, length, on);
    if (passes(result)) result = persist(() => userfaultfd.writeProtect(address, length, on));
    if (result === 0) return Status.Done;
    if (result === ESRCH || result === ENOENT) return Status.Lost;
    return this.fail('UFFDIO_WRITEPROTECT', address, length, result);
  }

  private fail(request: string, address: number, length: number, errno: number): Status {
    this.failed(new NodeError('ioctl', { request, name: this.name, address, length }, errno));
    return Status.Failed;
  }
}
