/**
 * A node whose memory is a sparse memory file, mapped twice: where its processor's threads touch it, registered for faults, and
 * once more for the manager, not registered. Content is written through the second mapping and published with one call, so
 * that no thread ever sees half a page. Used for the host and, with the fault descriptor of another process, for a device.
 */

import { Access, PAGE_BYTES, PAGES_PER_BLOCK, Status } from '../core/types.js';
import { createBlockFile } from '../linux/block-file.js';
import {
  EAGAIN,
  EEXIST,
  EINTR,
  ENOENT,
  ENOMEM,
  ENOSPC,
  ESRCH,
  MADV_DONTDUMP,
  MADV_DONTFORK,
  MADV_NOHUGEPAGE,
  MADV_POPULATE_WRITE,
  MAP_ANONYMOUS,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
  UFFD_EVENT_PAGEFAULT,
  UFFD_FEATURES,
  UFFD_PAGEFAULT_FLAG_WP,
  UFFD_PAGEFAULT_FLAG_WRITE,
  UFFDIO_REGISTER_MODE_MINOR,
  UFFDIO_REGISTER_MODE_MISSING,
  UFFDIO_REGISTER_MODE_WP,
} from '../linux/constants.js';
import { type CallArguments, SystemCallError } from '../linux/errors.js';
import { closeDescriptor } from '../linux/libc.js';
import { allocate, copyMemory, fillMemory, mmap, munmap, punchHole, tryMadvise } from '../linux/memory.js';
import type { Userfaultfd } from '../linux/userfaultfd.js';
import { Kind } from './copies/copy-ring.js';
import type { CopyThread } from './copies/copy-thread.js';
import type { Injection } from './driver.js';
import { insertPages, RETRIES } from './page-filling.js';
import { WholeBlocks } from './whole-blocks.js';

/** What the manager needs of userfaultfd; the process that maps the memory asks for these. */
export const FAULT_FEATURES =
  UFFD_FEATURES.PAGEFAULT_FLAG_WP |
  UFFD_FEATURES.MISSING_SHMEM |
  UFFD_FEATURES.MINOR_SHMEM |
  UFFD_FEATURES.WP_HUGETLBFS_SHMEM |
  UFFD_FEATURES.THREAD_ID;

export const FAULT_MODES = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;

/** The longest run that a transfer moves, and so the most zeros that one needs. */
const ZERO_BYTES = 512 * PAGE_BYTES;

/** Copies of fewer pages are done before another thread has been woken for them. */
const LEAST_BESIDE = 32;

/**
 * A copy that another thread has made has ended. `finish` does what is left of it and says how the whole ended; pages that were to be mapped are,
 * where it went well.
 */
export type CopyEnded = (token: number, page: number, count: number, finish: () => Status) => void;

/** Errors that pass: the address space was changing, a signal came, or the kernel found no memory for its tables just then. */
function passes(errno: number): boolean {
  return errno === EAGAIN || errno === EINTR || errno === ENOMEM;
}

/** Makes a call again while it fails for a reason that passes. Returns 0 or the error number. */
export function persist(call: () => number): number {
  let result = call();
  for (let attempt = 0; passes(result) && attempt < RETRIES; attempt++) result = call();
  return result;
}

/**
 * A node's memory or page tables cannot be made what the core's table says, though it was tried again. Nothing that follows would be
 * right: the node's processor ends, or the manager does.
 */
export class NodeError extends Error {
  override readonly name = 'NodeError';

  constructor(call: string, args: CallArguments, errno: number) {
    super(new SystemCallError(call, args, errno).message);
  }
}

let zeros = 0;

/** Never written, so that it takes no memory beyond the kernel's one zero page. */
function zeroArea(): number {
  if (zeros === 0)
    zeros = mmap(ZERO_BYTES, { protection: PROT_READ, flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE });
  return zeros;
}

/** A zero page can only be mapped writable; one that is to be watched for writes is copied from an area of zeros. */
function insertedFrom(source: number, access: Access): number {
  return source === 0 && access === Access.Read ? zeroArea() : source;
}

/** Gives that area back: this thread needs no zeros any more, and a program may open many spaces. */
export function releaseZeroArea(): void {
  if (zeros !== 0) munmap(zeros, ZERO_BYTES);
  zeros = 0;
}

/** Keeps a mapping of node memory out of forks, core dumps and huge pages: a huge page would break the budget. */
export function settleMapping(address: number, bytes: number): void {
  for (const advice of [MADV_DONTFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE]) tryMadvise(address, bytes, advice);
}

export class PagedMemory {
  readonly fd: number;
  /** The manager's mapping. */
  readonly alias: number;
  /** Pieces of more pages are refused memory, as by an allocator that has no large piece left; for tests. */
  private refuseLargerThan = Number.POSITIVE_INFINITY;
  private faults: Userfaultfd | null = null;
  private readonly wholeBlocks: WholeBlocks;
  /** What copies beside the manager, and hears of it. */
  private copies: CopyThread | null = null;
  private copied: CopyEnded = () => undefined;

  /**
   * @param base address of page 0 for the processor's threads
   * @param bytes size of the space
   */
  constructor(
    readonly name: string,
    readonly base: number,
    readonly bytes: number,
  ) {
    this.fd = createBlockFile(name, bytes);
    this.alias = mmap(bytes, {
      protection: PROT_READ | PROT_WRITE,
      flags: MAP_SHARED | MAP_NORESERVE,
      fd: this.fd,
    });
    settleMapping(this.alias, bytes);
    this.wholeBlocks = new WholeBlocks(this.fd, this.alias);
  }

  /** Faults of the processor's mapping are answered through this descriptor. */
  serve(faults: Userfaultfd): void {
    this.faults = faults;
  }

  /** Has large copies that no thread waits for made by a thread of their own. */
  copyBy(copies: CopyThread | null, copied: CopyEnded): void {
    this.copies = copies;
    this.copied = copied;
  }

  /** Waits for the copies that other threads make. */
  settle(): void {
    this.copies?.settle();
  }

  inject(injection: Injection | undefined): void {
    this.refuseLargerThan = injection?.refuseLargerThanPages ?? Number.POSITIVE_INFINITY;
  }

  get userfaultfd(): Userfaultfd {
    if (this.faults === null) throw new Error(`${this.name} is not registered for faults yet`);
    return this.faults;
  }

  /** Hands the waiting messages to the core; returns how many there were. */
  readFaults(report: (page: number, write: boolean, thread: number) => void): number {
    const count = this.userfaultfd.readMessages();
    this.reportFaults(count, report);
    return count;
  }

  /** Hands on messages that were read. */
  reportFaults(count: number, report: (page: number, write: boolean, thread: number) => void): void {
    const { userfaultfd, base } = this;
    for (let index = 0; index < count; index++) {
      if (userfaultfd.eventOf(index) !== UFFD_EVENT_PAGEFAULT) continue;
      const page = Math.floor((userfaultfd.addressOf(index) - base) / PAGE_BYTES);
      const write = (userfaultfd.flagsOf(index) & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) !== 0;
      report(page, write, userfaultfd.threadOf(index));
    }
  }

  map(page: number, count: number, access: Access, previous: Access): Status {
    const address = this.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (previous === Access.None) return this.publish(address, length, access === Access.Read);
    return this.protect(address, length, access === Access.Read);
  }

  /** Takes the right to write. No thread can write any more when this returns. */
  writeProtect(page: number, count: number): Status {
    return this.protect(this.base + page * PAGE_BYTES, count * PAGE_BYTES, true);
  }

  /**
   * A thread that is not woken would wait for ever. One that is woken while its page table lacks the page would come back for ever: the kernel
   * takes pages out of page tables when it takes a folio apart, or needs memory itself.
   */
  wake(page: number, count: number, access: Access): void {
    const address = this.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (access !== Access.None && this.userfaultfd.continue_(address, length, access === Access.Read) === 0) return;
    let result = this.userfaultfd.wake(address, length);
    if (passes(result)) result = persist(() => this.userfaultfd.wake(address, length));
    if (result === 0 || result === ESRCH || result === ENOENT) return;
    throw new NodeError('ioctl', { request: 'UFFDIO_WAKE', name: this.name, address, length }, result);
  }

  /** Gives the memory back and unmaps it everywhere. */
  release(page: number, count: number): void {
    const result = this.punch(page, count);
    if (result !== 0) throw new NodeError('fallocate', { name: this.name, page, count }, result);
    this.wholeBlocks.released(page, count);
  }

  /** As `Driver.transferIn`. */
  fill(address: number, page: number, count: number, access: Access, backed: boolean): Status {
    const target = this.alias + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (!backed && count > this.refuseLargerThan) return Status.NoMemory;
    const whole = !backed && this.wholeBlocks.has(page);
    if (!backed && !whole && access !== Access.None) return this.insert(address, page, count, access);
    if (!backed && !whole) {
      const status = this.populate(page, count, address === 0);
      if (status !== Status.Done || address === 0) return status;
    }
    if (address !== 0) copyMemory(target, address, length);
    // Memory that was taken in one piece is zero until its pages are filled.
    else if (!whole) fillMemory(target, 0, length);
    if (access === Access.None) return Status.Done;
    return this.publish(this.base + page * PAGE_BYTES, length, access === Access.Read);
  }

  /** As `fill`, for a copy that no thread waits for: Pending where another thread makes it. */
  fillBeside(token: number, address: number, page: number, count: number, access: Access, backed: boolean): Status {
    const { copies } = this;
    if (copies === null || count < LEAST_BESIDE || (!backed && count > this.refuseLargerThan) || !copies.mayTake()) {
      return this.fill(address, page, count, access, backed);
    }
    const there = backed || this.wholeBlocks.has(page);
    const insert = !there && access !== Access.None;
    // To clear memory that is there, or to get it cleared, is as good as nothing.
    if (address === 0 && !insert) return this.fill(address, page, count, access, backed);
    if (!there) this.wholeBlocks.taken(page, count);
    const target = this.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    copies.add({
      kind: insert ? Kind.Insert : there ? Kind.Fill : Kind.Populate,
      faults: this.userfaultfd.fd,
      source: insert ? insertedFrom(address, access) : address,
      memory: this.alias + page * PAGE_BYTES,
      address: target,
      length,
      access,
      done: (errno, progress) => {
        this.copied(token, page, count, () => {
          if (insert) return this.inserted(errno, progress, address, page, count, access);
          // Where there was no memory nothing has been done yet; this thread tries what else may be tried.
          if (progress < 0) return this.fill(address, page, count, access, backed);
          return errno === 0 ? Status.Done : this.publish(target + progress, length - progress, access === Access.Read);
        });
      },
    });
    return Status.Pending;
  }

  /** As `Driver.reserve`. Without it a writer would take the pages one by one, and die of a signal when there are no more. */
  reserve(page: number, count: number): Status {
    if (count > this.refuseLargerThan) return Status.NoMemory;
    return this.wholeBlocks.has(page) ? Status.Done : this.populate(page, count, false);
  }

  /** As `Driver.reserveBlock`. */
  reserveBlock(page: number): void {
    if (this.refuseLargerThan >= PAGES_PER_BLOCK) this.wholeBlocks.take(page);
  }

  /** As `Driver.isReserved`. */
  isReserved(page: number): boolean {
    return this.wholeBlocks.has(page);
  }

  /** Gives pages memory before they are written through the alias: one call instead of a fault a page. */
  private populate(page: number, count: number, zero: boolean): Status {
    this.wholeBlocks.taken(page, count);
    const offset = page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    let result = zero
      ? allocate(this.fd, offset, length)
      : tryMadvise(this.alias + offset, length, MADV_POPULATE_WRITE);
    // Kernels before 5.14 do not know the advice; the pages then come one by one as they are written.
    if (result !== 0 && result !== ENOMEM && result !== ENOSPC) result = allocate(this.fd, offset, length);
    if (result === 0) return Status.Done;
    this.release(page, count);
    return result === ENOMEM || result === ENOSPC ? Status.NoMemory : Status.Failed;
  }

  /** @param faults whether the descriptor of the faults is closed, too */
  close(faults = true): void {
    if (faults) this.faults?.close();
    munmap(this.alias, this.bytes);
    closeDescriptor(this.fd);
  }

  /** Fills and maps pages without memory in one call. */
  private insert(source: number, page: number, count: number, access: Access): Status {
    this.wholeBlocks.taken(page, count);
    const address = this.base + page * PAGE_BYTES;
    const { userfaultfd } = this;
    const from = insertedFrom(source, access);
    const result = insertPages(userfaultfd, address, from, count * PAGE_BYTES, access === Access.Read);
    return this.inserted(result, userfaultfd.progress, source, page, count, access);
  }

  /** What becomes of pages that were to be filled and mapped by one call, by its result and the bytes that were mapped by then. */
  private inserted(
    result: number,
    progress: number,
    source: number,
    page: number,
    count: number,
    access: Access,
  ): Status {
    if (result === 0) return Status.Done;
    const address = this.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (result === EEXIST) {
      // The memory was there, though not by the books of this class. No thread can have seen it mapped, so that writing it through the alias is safe.
      const rest = this.alias + page * PAGE_BYTES + progress;
      if (source === 0) fillMemory(rest, 0, length - progress);
      else copyMemory(rest, source + progress, length - progress);
      return this.publish(address + progress, length - progress, access === Access.Read);
    }
    if (result === ESRCH || result === ENOENT) return Status.Lost;
    this.release(page, count);
    return result === ENOMEM || result === ENOSPC ? Status.NoMemory : Status.Failed;
  }

  /** Maps pages that have memory. Pages that are mapped already get the right that is asked for, and their threads are woken. */
  private publish(address: number, length: number, readOnly: boolean): Status {
    const { userfaultfd } = this;
    let done = 0;
    let attempts = 0;
    while (done < length) {
      const result = userfaultfd.continue_(address + done, length - done, readOnly);
      if (result === 0) return Status.Done;
      done += userfaultfd.progress;
      if (result === EEXIST) {
        const status = this.protect(address + done, PAGE_BYTES, readOnly);
        if (status !== Status.Done) return status;
        this.wake((address + done - this.base) / PAGE_BYTES, 1, Access.None);
        done += PAGE_BYTES;
      } else if (result === ESRCH || result === ENOENT) {
        return Status.Lost;
      } else if (!passes(result) || ++attempts > RETRIES) {
        throw new NodeError(
          'ioctl',
          { request: 'UFFDIO_CONTINUE', name: this.name, address: address + done, length },
          result,
        );
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
    throw new NodeError('ioctl', { request: 'UFFDIO_WRITEPROTECT', name: this.name, address, length, on }, result);
  }

  private punch(page: number, count: number): number {
    const result = punchHole(this.fd, page * PAGE_BYTES, count * PAGE_BYTES);
    return passes(result) ? persist(() => punchHole(this.fd, page * PAGE_BYTES, count * PAGE_BYTES)) : result;
  }
}
