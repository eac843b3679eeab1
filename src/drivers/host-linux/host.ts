/** The host: the application's threads, their page tables, and main memory. */
import {
  type Access,
  type DeviceDescription,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  Access as Rights,
  Status,
} from '../../core/basics/types.js';
import {
  MADV_DONTNEED,
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/base/constants.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../../linux/memory/managed-mapping.js';
import { mmap, tryMadvise } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import type { CopyThread } from '../copies/copy-thread.js';
import type { Driver, DriverEvents, TransferOrder } from '../driver.js';
import { NodeError, persist } from '../page-table.js';
import { PagedMemory, releaseZeroArea } from '../paged-memory.js';
import type { CopiesInThreads } from '../process-driver.js';
import type { HostSharer, SharedHost } from '../shared-host.js';
import { watchClosed } from './closed-space.js';

/** Threads of the application whose last page is kept until they fault again. */
const THREADS = 64;
/** What those take at most of the budget: threads of other processes may come. */
const SHARE = 3 / 4;

export class HostDriver implements Driver, CopiesInThreads, SharedHost {
  readonly kind = 'host';
  readonly description: DeviceDescription;
  readonly memory: number;
  readonly node: PagedMemory;
  private readonly report: DriverEvents['fault'];
  /** Pages whose every access fails, until they are mapped again or their rights are given back. */
  private readonly poisoned = new Set<number>();
  private readonly sharers = new Set<HostSharer>();

  /**
   * @param base first address of the space, which must be free
   * @param bytes its size
   * @param copies makes large copies that no thread waits for; null: this thread does
   */
  constructor(
    base: number,
    bytes: number,
    budgetPages: number,
    userModeOnly: boolean,
    events: DriverEvents,
    copies: CopyThread | null,
  ) {
    this.report = (page, write, thread) => events.fault(page, write, thread);
    this.description = {
      name: 'host',
      budgetPages,
      frames: 'identity',
      faults: true,
      addressable: true,
      units: Math.min(THREADS, Math.floor((SHARE * budgetPages) / PAGES_PER_BLOCK) - 1),
      memorySurvives: true,
    };
    const faults = Userfaultfd.open({ features: FAULT_FEATURES, userModeOnly });
    try {
      this.node = new PagedMemory('onemem-host', base, bytes);
    } catch (error) {
      faults.close();
      throw error;
    }
    try {
      mmap(bytes, {
        address: base,
        protection: PROT_READ | PROT_WRITE,
        flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
        fd: this.node.fd,
      });
      settleMapping(base, bytes);
      faults.register(base, bytes, FAULT_MODES);
    } catch (error) {
      faults.close();
      this.node.close();
      throw error;
    }
    this.node.serve(faults);
    this.node.copyBy(copies, (token, page, count, finish) => {
      const status = finish();
      // What has been poisoned meanwhile is not mapped.
      if (this.poisoned.size > 0) this.heal(page, count);
      events.transferred(token, status);
    });
    this.memory = this.node.alias;
  }

  /** The descriptor to poll, and by which way it was opened. */
  get faults(): Userfaultfd {
    return this.node.userfaultfd;
  }

  readFaults(): number {
    return this.node.readFaults(this.report);
  }

  map(page: number, count: number, access: Access, previous: Access): void {
    if (this.poisoned.size > 0) this.heal(page, count);
    this.node.table.map(page, count, access, previous);
  }

  revoke(_token: number, page: number, count: number, to: Access): Status {
    if (to === Rights.Read) return this.node.table.writeProtect(page, count);
    this.unmap(page, count);
    return Status.Done;
  }

  release(_token: number, page: number, count: number): Status {
    this.node.release(page, count);
    return Status.Done;
  }

  wake(page: number, count: number, access: Access = Rights.None): void {
    // To be mapped would end what a poisoned page is there for.
    this.node.table.wake(page, count, this.poisoned.has(page) ? Rights.None : access);
  }

  transferIn(order: TransferOrder): Status {
    if (this.poisoned.size > 0 && order.access !== Rights.None) this.heal(order.page, order.count);
    return this.node.fill(order);
  }

  transferInThread(order: TransferOrder): Status {
    if (this.poisoned.size > 0 && order.access !== Rights.None) this.heal(order.page, order.count);
    return this.node.fillBeside(order);
  }

  reserve(page: number, count: number): Status {
    return this.node.reserve(page, count);
  }

  /**
   * Not where system calls cannot wait for pages: to give back one page of a folio unmaps the
   * others for a moment, and a system call that has been handed one of them would fail.
   */
  reserveBlock(page: number): void {
    if (this.node.userfaultfd.via !== 'user-mode') this.node.reserveBlock(page);
  }

  isReserved(page: number): boolean {
    return this.node.isReserved(page);
  }

  /**
   * Makes every later access to the page fail: SIGBUS for a load or store, EFAULT for a system
   * call. A thread that waits for it goes on to that end. False: this kernel cannot.
   */
  poison(page: number): boolean {
    const isDone = this.node.table.poison(page, () => this.unmap(page, 1));
    if (isDone) this.poisoned.add(page);
    return isDone;
  }

  private unmap(page: number, count: number): void {
    const address = this.node.base + page * PAGE_BYTES;
    const length = count * PAGE_BYTES;
    if (tryMadvise(address, length, MADV_DONTNEED) === 0) return;
    const result = persist(() => tryMadvise(address, length, MADV_DONTNEED));
    if (result !== 0)
      throw new NodeError('madvise', { address, length, advice: 'MADV_DONTNEED' }, result);
  }

  isPoisoned(page: number): boolean {
    return this.poisoned.has(page);
  }

  /** Accesses to poisoned pages fault again, in every process, as to any unmapped page. */
  restore(page: number, count: number): void {
    this.heal(page, count);
    for (const sharer of this.sharers) sharer.restore?.(page, count);
  }

  private heal(page: number, count: number): void {
    const end = page + count;
    for (const each of this.poisoned) {
      if (each < page || each >= end) continue;
      this.poisoned.delete(each);
      this.unmap(each, 1);
    }
  }

  addSharer(sharer: HostSharer): void {
    this.sharers.add(sharer);
  }

  removeSharer(sharer: HostSharer): void {
    this.sharers.delete(sharer);
  }

  /**
   * Takes pages out of the page tables of every process. The kernel does so only when their memory
   * is given back: their content is kept meanwhile. A thread that has a right to one faults, and
   * gets it again.
   */
  unmapEverywhere(page: number, count: number): void {
    this.unmap(page, count);
    for (const sharer of this.sharers) sharer.stopWrites(page, count);
    this.node.renew(page, count);
  }

  /**
   * Gives all memory back. The addresses stay taken until their owner unmaps them, for views that
   * are left: if `watched`, their faults still come by the descriptor that is returned; otherwise,
   * or where that is not possible, they read zeros, and a store through one ends the process.
   */
  close(watched = false): number | null {
    const { base, bytes } = this.node;
    const isWatched = watchClosed(base, bytes, watched ? this.faults : null);
    this.node.close(!isWatched);
    releaseZeroArea();
    return isWatched ? this.faults.fd : null;
  }
}
