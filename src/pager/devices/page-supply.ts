/**
 * Memory on a device for pages of arrays that a launch does not have as a whole, and the pages
 * themselves, which are held on the host while the device copies them. To the core the memory is an
 * array that the launch writes: it counts, and moves, as any other.
 */

import { Access, type DenyReason, HOST, HOST_NODE, PAGE_BYTES } from '../../core/basics/types.js';
import type { Arrays } from '../arrays/arrays.js';
import type { ArrayRecord } from '../arrays/table/array-table.js';
import type { ManagerContext } from '../core/context.js';

export interface PageRun {
  readonly first: number;
  readonly count: number;
}

export class PageSupply {
  private held: PageRun[] = [];
  private readonly heldPages = new Set<number>();
  private access: Access = Access.Read;
  private closed = false;
  private readonly record: ArrayRecord;

  /** @throws RequestError where no addresses, or no memory, are left for so much */
  constructor(
    private readonly context: ManagerContext,
    private readonly arrays: Arrays,
    bytes: number,
    kernelName: string,
  ) {
    this.record = arrays.make(
      bytes,
      PAGE_BYTES,
      { name: `pages of kernel ${kernelName}`, writable: true, provided: false },
      `cannot run kernel ${kernelName}`,
    );
  }

  /** Where the memory begins, by byte. */
  get offset(): number {
    return this.record.range.first * PAGE_BYTES;
  }

  /**
   * Has pages be on the host, to be read or to be written, and lets go of those before.
   * @param atOnce they are read when `done` returns, and need not stay
   * @param done hears why they cannot be, and of which
   */
  bring(
    wanted: readonly PageRun[],
    access: Access,
    atOnce: boolean,
    done: (failure: DenyReason | null, page: number) => void,
  ): void {
    // What may be read just now is not asked for: a request to the core for each page, and the end
    // of its hold, take longer than to copy it.
    const absent = access === Access.Read ? wanted.filter((run) => !this.isThere(run)) : wanted;
    if (absent.length === 0) {
      done(null, -1);
      return;
    }
    this.letGo();
    this.access = access;
    const { manager, requests } = this.context;
    let outstanding = absent.length;
    let failed: { reason: DenyReason; page: number } | null = null;
    for (const run of absent) {
      requests.start(
        (request) =>
          manager.bring(request, HOST_NODE, run.first, run.count, access, { hold: true }),
        (_pages, failure) => {
          if (failure === null) this.hold(run);
          else failed ??= { reason: failure, page: run.first };
          if (--outstanding > 0) return;
          if (!this.closed) done(failed?.reason ?? null, failed?.page ?? -1);
          if (this.closed || atOnce) this.letGo();
        },
      );
    }
  }

  close(): void {
    this.closed = true;
    this.letGo();
    const { id, first: firstPage, pages: count } = this.record.range;
    this.arrays.free({ range: id, firstPage, count });
  }

  /** Whether the host has these pages to be read: held, or readable without a fault. */
  private isThere({ first, count }: PageRun): boolean {
    const { pages } = this.context.manager;
    for (let page = first; page < first + count; page++)
      if (!pages.isMapped(HOST, page, false) && !this.heldPages.has(page)) return false;
    return true;
  }

  private hold(run: PageRun): void {
    this.held.push(run);
    for (let page = run.first; page < run.first + run.count; page++) this.heldPages.add(page);
  }

  private letGo(): void {
    for (const { first, count } of this.held)
      this.context.manager.release(HOST_NODE, first, count, this.access);
    this.held = [];
    this.heldPages.clear();
  }
}

export function bytesOf(runs: readonly PageRun[]): number {
  return runs.reduce((sum, { count }) => sum + count, 0) * PAGE_BYTES;
}
