/** Words for pages of arrays: where they are, and what went wrong with them. */

import { type DenyReason, isLossOfServer, PAGE_BYTES } from '../../../core/basics/types.js';
import type { ManagerContext } from '../../core/context.js';
import type { Stores } from '../../host/stores.js';
import { codeOfDenial, explainDenial, type WireError, wireError } from '../../protocol/wire.js';
import type { FileProvider } from '../../sources/files.js';
import type { Providers } from '../../sources/providers.js';
import type { ArrayTable } from './array-table.js';

export class Places {
  constructor(
    private readonly context: ManagerContext,
    private readonly table: ArrayTable,
    private readonly files: FileProvider,
    private readonly providers: Providers,
    private readonly stores: Pick<
      Stores,
      'problem' | 'readProblem' | 'unreadable' | 'serverName' | 'detailsOf'
    >,
    /** First address of the space. */
    private readonly base: number,
  ) {}

  /** Which array and elements a page is, in words and for programs. */
  placeOf(page: number): { text: string; details: Record<string, unknown> } {
    const address = `0x${(this.base + page * PAGE_BYTES).toString(16)}`;
    const record = this.table.of(page);
    if (record === undefined) return { text: `address ${address}`, details: { address } };
    const { range, elementBytes, bytes } = record;
    const first = Math.floor(((page - range.first) * PAGE_BYTES) / elementBytes);
    const last = Math.min(first + PAGE_BYTES / elementBytes, bytes / elementBytes) - 1;
    const file = this.files.sourceOf(page);
    const from = file === null || file.path === range.name ? '' : ` from ${file.path}`;
    if (first > last) {
      const text = `array ${range.name}, behind its last element (address ${address})`;
      return { text, details: { array: range.name, element: first, address } };
    }
    return {
      text: `array ${range.name}${from}, elements ${first} to ${last} (address ${address})`,
      details: { array: range.name, element: first, address },
    };
  }

  /** The element that has a byte of the space; null where there is none. */
  elementAt(offset: number): { name: string; element: number; byteOffset: number } | null {
    const record = this.table.of(Math.floor(offset / PAGE_BYTES));
    if (record === undefined || record.range.freedPages === record.range.pages) return null;
    const { range } = record;
    const byteOffset = offset - range.first * PAGE_BYTES;
    if (byteOffset >= record.bytes) return null;
    return { name: range.name, element: Math.floor(byteOffset / record.elementBytes), byteOffset };
  }

  /** True once for each array: a program that reads freed memory in a loop is told once. */
  mayWarn(page: number): boolean {
    const record = this.table.of(page);
    if (record === undefined || record.warned) return false;
    record.warned = true;
    return true;
  }

  /** @param operation what was denied the page, as messages name it */
  denialError(denial: DenyReason, page: number, operation: string, write?: boolean): WireError {
    const reason = this.reasonFor(denial, page);
    const what = write === undefined ? 'touched' : write ? 'wrote' : 'read';
    // A request for a range is told of the page that the range's provider failed on.
    const failure = write === undefined ? this.providerFailure(reason, page) : null;
    const { text, details } = this.placeOf(failure?.page ?? page);
    const message = `${operation} ${what} ${text}, ${this.explain(reason, page)}`;
    const stack = this.providerFailure(reason, page)?.stack;
    const about = this.context.sources.of(page)?.details ?? this.stores.detailsOf(reason);
    return wireError(codeOfDenial(reason), message, { ...details, ...about, reason }, stack);
  }

  /** No processor may use pages that were freed and are kept for clones. */
  private reasonFor(denial: DenyReason, page: number): DenyReason {
    return denial === 'NO_ACCESS' && this.table.isKept(page) ? 'FREED' : denial;
  }

  /** Why, with what the provider of the page said if it was its doing. */
  explain(denial: DenyReason, page: number): string {
    const reason = this.reasonFor(denial, page);
    if (reason === 'FREED' && this.table.of(page)?.moved === true)
      return 'which resize() has moved to other addresses; take array.data anew';
    const why = explainDenial(reason, this.context.sources.of(page)?.remedy);
    if (reason === 'OUT_OF_STORAGE') return `${why}: ${this.files.problem ?? this.stores.problem}`;
    if (isLossOfServer(reason))
      return (
        this.context.sources.of(page)?.loss?.(reason, page) ?? `${why}: ${this.stores.serverName}`
      );
    if (reason === 'COPY_FAILED' && this.stores.unreadable !== null)
      return `${why}: ${this.stores.unreadable}`;
    if (reason === 'NODE_LOST')
      return `${why}: ${this.context.sources.of(page)?.problem ?? this.stores.readProblem}`;
    if (reason === 'SOURCE_CHANGED') {
      // What a clone could not have its source's file did not give.
      const change = this.files.changeOf(this.context.manager.pages.originOf(page));
      return change ?? why;
    }
    const failure = this.providerFailure(reason, page);
    return failure === null ? why : `${why}: ${failure.message}`;
  }

  /** Of the ranges that begin at these pages the one whose provider failed last. */
  failedLast(reason: DenyReason, firstPages: readonly number[]): number | null {
    let latest = -1;
    let found: number | null = null;
    for (const page of firstPages) {
      const order = this.providerFailure(reason, page)?.order ?? -1;
      if (order > latest) {
        latest = order;
        found = page;
      }
    }
    return found;
  }

  /** The first of these pages that a failure is about, or the first where that is unknown. */
  pageWith(failure: DenyReason, first: number, count: number): number {
    const found = this.findDenied(failure, first, count);
    return found === -1 ? first : found;
  }

  /** The first of these pages that a failure is about, told without asking for them; or -1. */
  findDenied(failure: DenyReason, first: number, count: number): number {
    const { pages } = this.context.manager;
    for (let lost = first; lost !== -1; ) {
      lost = pages.firstLost(lost, first + count);
      if (lost !== -1 && pages.lossOf(lost) === failure) return lost;
      if (lost !== -1) lost++;
    }
    if (failure === 'SOURCE_CHANGED') return this.firstCut(first, first + count);
    return pages.firstDenied(failure, first, first + count);
  }

  /** The first of these pages that nothing has and the file no longer reaches; or -1. */
  private firstCut(first: number, end: number): number {
    const { pages } = this.context.manager;
    const origin = pages.originOf(first);
    const cut = this.files.firstCut(origin);
    if (cut === -1) return -1;
    for (let page = Math.max(first, cut + first - origin); page < end; page++) {
      if (pages.isAbsent(pages.originOf(page))) return page;
    }
    return -1;
  }

  private providerFailure(reason: DenyReason, page: number): ReturnType<Providers['failureOf']> {
    if (reason !== 'PROVIDER_FAILED' && reason !== 'ACCESS_REFUSED') return null;
    // What a clone could not have its source's provider did not give.
    const origin = this.context.manager.pages.originOf(page);
    const failure = this.providers.failureOf(origin);
    return failure === null ? null : { ...failure, page: failure.page - origin + page };
  }
}
