/**
 * A node whose memory is a sparse memory file, mapped twice: where its processor's threads touch
 * it, registered for faults, and once more for the manager, not registered. Content is written
 * through the second mapping and published with one call, so that no thread ever sees half a page.
 * Used for the host and, with the fault descriptor of another process, for a device.
 */

import { Access, PAGE_BYTES, PAGES_PER_BLOCK, Status } from '../core/basics/types.js';
import {
  EEXIST,
  ENOENT,
  ENOMEM,
  ENOSPC,
  ESRCH,
  MADV_POPULATE_WRITE,
  MAP_ANONYMOUS,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../linux/base/constants.js';
import { closeDescriptor } from '../linux/base/libc.js';
import { createBlockFile } from '../linux/files/block-file.js';
import { settleMapping } from '../linux/memory/managed-mapping.js';
import {
  allocate,
  copyMemory,
  fillMemory,
  mmap,
  munmap,
  punchHole,
  tryMadvise,
} from '../linux/memory/memory.js';
import type { Userfaultfd } from '../linux/memory/userfaultfd.js';
import { Kind } from './copies/copy-ring.js';
import type { CopyThread } from './copies/copy-thread.js';
import type { Injection, TransferOrder } from './driver.js';
import { insertPages } from './page-filling.js';
import { NodeError, PageTable, passes, persist } from './page-table.js';
import { WholeBlocks } from './whole-blocks.js';

/** The longest run that a transfer moves, and so the most zeros that one needs. */
const ZERO_BYTES = 512 * PAGE_BYTES;

/** Copies of fewer pages are done before another thread has been woken for them. */
const LEAST_BESIDE = 32;

/**
 * A copy that another thread has made has ended. `finish` does what is left of it and says how the
 * whole ended; pages that were to be mapped are, where it went well.
 */
export type CopyEnded = (token: number, page: number, count: number, finish: () => Status) => void;

let zeros = 0;

/** Never written, so that it takes no memory beyond the kernel's one zero page. */
function zeroArea(): number {
  if (zeros === 0)
    zeros = mmap(ZERO_BYTES, {
      protection: PROT_READ,
      flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
    });
  return zeros;
}

/** Zero pages are mapped writable; one watched for writes is copied from an area of zeros. */
function insertedFrom(source: number, access: Access): number {
  return source === 0 && access === Access.Read ? zeroArea() : source;
}

/** Gives that area back: a program may open many spaces. */
export function releaseZeroArea(): void {
  if (zeros !== 0) munmap(zeros, ZERO_BYTES);
  zeros = 0;
}

/** What a copy to pages is told. */
type Filling = Pick<TransferOrder, 'address' | 'page' | 'count' | 'access' | 'backed'>;

export class PagedMemory {
  readonly fd: number;
  /** The manager's mapping. */
  readonly alias: number;
  /** Larger pieces are refused memory, as by an allocator without any; for tests. */
  private refuseLargerThan = Number.POSITIVE_INFINITY;
  private served: PageTable | null = null;
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
  serve(faults: Userfaultfd, failed?: (error: NodeError) => void): void {
    this.served = new PageTable(this.name, this.base, faults, failed);
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

  get table(): PageTable {
    if (this.served === null) throw new Error(`${this.name} is not registered for faults yet`);
    return this.served;
  }

  get userfaultfd(): Userfaultfd {
    return this.table.userfaultfd;
  }

  /** Hands the waiting messages to the core; returns how many there were. */
  readFaults(report: (page: number, write: boolean, thread: number) => void): number {
    const count = this.userfaultfd.readMessages();
    this.table.reportFaults(count, report);
    return count;
  }

  /** Gives the memory back and unmaps it everywhere. */
  release(page: number, count: number): void {
    const result = this.punch(page, count);
    if (result !== 0) throw new NodeError('fallocate', { name: this.name, page, count }, result);
    this.wholeBlocks.released(page, count);
  }

  /** Moves pages to other memory with their content; nobody can write them meanwhile. */
  renew(page: number, count: number): void {
    const length = count * PAGE_BYTES;
    const target = this.alias + page * PAGE_BYTES;
    const kept = mmap(length, {
      protection: PROT_READ | PROT_WRITE,
      flags: MAP_PRIVATE | MAP_ANONYMOUS,
    });
    try {
      copyMemory(kept, target, length);
      this.release(page, count);
      const status = this.populate(page, count, false);
      if (status !== Status.Done)
        throw new NodeError('madvise', { name: this.name, page, count }, ENOMEM);
      copyMemory(target, kept, length);
    } finally {
      munmap(kept, length);
    }
  }

  /** As `Driver.transferIn`. */
  fill({ address, page, count, access, backed }: Filling): Status {
    const target = this.alias + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (!backed && count > this.refuseLargerThan) return Status.NoMemory;
    const whole = !backed && this.wholeBlocks.has(page);
    if (!backed && !whole && access !== Access.None)
      return this.insert(address, page, count, access);
    if (!backed && !whole) {
      const status = this.populate(page, count, address === 0);
      if (status !== Status.Done || address === 0) return status;
    }
    if (address !== 0) copyMemory(target, address, length);
    // Memory that was taken in one piece is zero until its pages are filled.
    else if (!whole) fillMemory(target, 0, length);
    if (access === Access.None) return Status.Done;
    return this.table.publish(this.base + page * PAGE_BYTES, length, access === Access.Read);
  }

  /** As `fill`, for a copy that no thread waits for: Pending where another thread makes it. */
  fillBeside(order: TransferOrder): Status {
    const { copies } = this;
    const { token, address, page, count, access, backed } = order;
    if (
      copies === null ||
      count < LEAST_BESIDE ||
      (!backed && count > this.refuseLargerThan) ||
      !copies.mayTake()
    ) {
      return this.fill(order);
    }
    const there = backed || this.wholeBlocks.has(page);
    const insert = !there && access !== Access.None;
    // To clear memory that is there, or to get it cleared, is as good as nothing.
    if (address === 0 && !insert) return this.fill(order);
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
          // Where there was no memory nothing has been done yet; this thread tries what else may be
          // tried.
          if (progress < 0) return this.fill({ address, page, count, access, backed });
          return errno === 0
            ? Status.Done
            : this.table.publish(target + progress, length - progress, access === Access.Read);
        });
      },
    });
    return Status.Pending;
  }

  /** As `Driver.reserve`: a writer would take pages one by one, and die when there are none. */
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

  /** Gives pages memory before they are written through the alias: one call, no faults. */
  private populate(page: number, count: number, zero: boolean): Status {
    this.wholeBlocks.taken(page, count);
    const offset = page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    let result = zero
      ? allocate(this.fd, offset, length)
      : tryMadvise(this.alias + offset, length, MADV_POPULATE_WRITE);
    // Kernels before 5.14 do not know the advice; the pages then come one by one as they are
    // written.
    if (result !== 0 && result !== ENOMEM && result !== ENOSPC)
      result = allocate(this.fd, offset, length);
    if (result === 0) return Status.Done;
    this.release(page, count);
    return result === ENOMEM || result === ENOSPC ? Status.NoMemory : Status.Failed;
  }

  /** @param faults whether the descriptor of the faults is closed, too */
  close(faults = true): void {
    if (faults) this.served?.userfaultfd.close();
    munmap(this.alias, this.bytes);
    closeDescriptor(this.fd);
  }

  /** Fills and maps pages without memory in one call. */
  private insert(source: number, page: number, count: number, access: Access): Status {
    this.wholeBlocks.taken(page, count);
    const address = this.base + page * PAGE_BYTES;
    const { userfaultfd } = this;
    const from = insertedFrom(source, access);
    const result = insertPages(
      userfaultfd,
      address,
      from,
      count * PAGE_BYTES,
      access === Access.Read,
    );
    return this.inserted(result, userfaultfd.progress, source, page, count, access);
  }

  /** What becomes of pages to be filled and mapped by one call, by result and bytes mapped. */
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
      // The memory was there, though not by the books of this class. No thread can have seen it
      // mapped, so that writing it through the alias is safe.
      const rest = this.alias + page * PAGE_BYTES + progress;
      if (source === 0) fillMemory(rest, 0, length - progress);
      else copyMemory(rest, source + progress, length - progress);
      return this.table.publish(address + progress, length - progress, access === Access.Read);
    }
    if (result === ESRCH || result === ENOENT) return Status.Lost;
    this.release(page, count);
    return result === ENOMEM || result === ENOSPC ? Status.NoMemory : Status.Failed;
  }

  private punch(page: number, count: number): number {
    const result = punchHole(this.fd, page * PAGE_BYTES, count * PAGE_BYTES);
    return passes(result)
      ? persist(() => punchHole(this.fd, page * PAGE_BYTES, count * PAGE_BYTES))
      : result;
  }
}
