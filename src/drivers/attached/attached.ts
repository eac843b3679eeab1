/**
 * The threads of another process as a processor. It has no memory of its own: it maps the host's
 * memory file at the same addresses, and hands over the userfaultfd that serves its faults. Nothing
 * here waits for that process, which may be stopped or end at any moment.
 */
import {
  Access,
  BLOCK_BYTES,
  PAGE_BYTES,
  type ProcessorDescription,
  Status,
} from '../../core/basics/types.js';
import { ESRCH } from '../../linux/base/constants.js';
import type { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import type { ProcessorDriver } from '../driver.js';
import { PageTable } from '../page-table.js';
import type { HostSharer, SharedHost } from '../shared-host.js';
import { IdleBlocks } from './idle-blocks.js';

/** Threads whose last page is kept until they fault again. */
const THREADS = 1;

export interface AttachedEvents {
  fault(page: number, write: boolean, thread: number): void;
  /** These pages, whose accesses failed, may be used again. */
  restored(pages: readonly number[]): void;
  /** Its page tables cannot be changed any more. */
  failed(): void;
}

export class AttachedProcess implements ProcessorDriver, HostSharer {
  readonly kind = 'attached';
  readonly description: ProcessorDescription;
  private readonly table: PageTable;
  /** Pages whose accesses are about to fail: no thread of the process is woken for them. */
  private readonly denied = new Set<number>();
  private readonly report: AttachedEvents['fault'];
  private readonly blocks = new IdleBlocks();
  private dead = false;

  constructor(
    name: string,
    base: number,
    faults: Userfaultfd,
    private readonly host: SharedHost,
    private readonly writes: boolean,
    private readonly events: AttachedEvents,
  ) {
    this.report = (page, write, thread) => events.fault(page, write, thread);
    this.description = { name, faults: true, units: THREADS };
    this.table = new PageTable(name, base, faults, () => events.failed());
    host.addSharer(this);
  }

  readFaults(): number {
    if (this.dead) return 0;
    let count = 0;
    try {
      count = this.table.userfaultfd.readMessages();
    } catch {
      this.events.failed();
    }
    if (count > 0) this.table.reportFaults(count, this.report);
    return count;
  }

  map(page: number, count: number, access: Access, previous: Access): void {
    if (this.dead) return;
    this.restore(page, count);
    this.blocks.touch(page, count);
    this.table.map(page, count, this.given(access), previous);
  }

  revoke(_token: number, page: number, count: number, to: Access): Status {
    if (this.dead) return Status.Done;
    if (to === Access.Read) this.stopWrites(page, count);
    else this.host.unmapEverywhere(page, count);
    return Status.Done;
  }

  stopWrites(page: number, count: number): void {
    if (!this.dead) this.table.writeProtect(page, count);
  }

  wake(page: number, count: number, access: Access): void {
    if (this.dead || (this.denied.size > 0 && this.denied.has(page))) return;
    this.blocks.touch(page, count);
    this.table.wake(page, count, this.given(access));
  }

  /** False: the process runs another program by now (exec), without the memory. */
  hasMemory(): boolean {
    const { base, userfaultfd } = this.table;
    // Below the range nothing is served: the kernel says so, or before that there is no such memory.
    return userfaultfd.zeropage(base - PAGE_BYTES, PAGE_BYTES) !== ESRCH;
  }

  /** From now on no thread is woken for the page, until it is restored. False: that was so before. */
  deny(page: number): boolean {
    if (this.dead || this.denied.has(page)) return false;
    this.denied.add(page);
    return true;
  }

  /** Whether it is time to look for blocks that the process has not used for long. */
  isIdleDue(nowMs: number): boolean {
    return !this.dead && this.blocks.isDue(nowMs);
  }

  /**
   * Blocks that the process is to take out of its page tables. Where its threads may not write, that
   * leaves marks, and so the tables: the marks are removed here, where no page is mapped meanwhile,
   * and the process is asked once more.
   *
   * @param done it has taken out those of the time before
   */
  takeIdle(done: boolean): number[] {
    if (!done) this.blocks.forget();
    // A page whose accesses fail must stay as it is.
    if (this.denied.size > 0) return [];
    const { base, userfaultfd } = this.table;
    const empty = this.blocks
      .takeEmpty()
      .filter(
        (block) =>
          userfaultfd.writeProtect(base + block * BLOCK_BYTES, BLOCK_BYTES, false, true) === 0,
      );
    return [...empty, ...this.blocks.look()].sort((a, b) => a - b);
  }

  /** It has ended: nothing of it is left to be changed. */
  end(): void {
    this.dead = true;
    this.host.removeSharer(this);
  }

  close(): void {
    this.end();
    this.table.userfaultfd.close();
  }

  /** Makes accesses to the page fail: SIGBUS for a load or store, EFAULT for a system call. */
  poison(page: number): void {
    if (this.dead) return;
    const { base, userfaultfd } = this.table;
    // Most are absent. Those that are not are mapped for reading, where a write was denied.
    if (userfaultfd.poison(base + page * PAGE_BYTES, PAGE_BYTES) === 0) return;
    this.table.poison(page, () => this.host.unmapEverywhere(page, 1));
  }

  restore(page: number, count: number): void {
    if (this.denied.size === 0) return;
    const pages = [...this.denied].filter((each) => each >= page && each < page + count);
    for (const each of pages) this.denied.delete(each);
    if (pages.length > 0) this.events.restored(pages);
  }

  private given(access: Access): Access {
    return access === Access.Write && !this.writes ? Access.Read : access;
  }
}
