/** The arrays of a space as the manager sees them: ranges with names, files, views, and words for what went wrong with them. */
import type { MemoryManager } from '../../core/memory-manager.js';
import type { Range, RangeOptions } from '../../core/range.js';
import { Access, type DenyReason, HOST, PAGE_BYTES } from '../../core/types.js';
import type { CoreRequests } from '../core/core-requests.js';
import type { ClosedArray } from '../manager/late-uses.js';
import type { AdviceRun, ArrayPages, Requests, WireError } from '../protocol/requests.js';
import { codeOfDenial, explainDenial, RequestError, wireError } from '../protocol/wire.js';
import type { FileProvider } from '../sources/files.js';
import type { Providers } from '../sources/providers.js';
import type { Wanted } from './array-pages.js';

export interface ArrayRecord {
  readonly range: Range;
  bytes: number;
  /** Pages that it has now, freed ones among them; its range may have had more. */
  pages: number;
  resizing: boolean;
  /** Handles may be of it as it was before. */
  wasResized: boolean;
  readonly elementBytes: number;
  /** Views of it in all threads. */
  views: number;
  /** Operations of streams that were given it and have not ended. */
  uses: number;
  warned: boolean;
  /** What of the host's budget is kept for it: whatever was written must fit the host, where a device's pages go. */
  committedPages: number;
}

export class Arrays {
  private readonly records = new Map<number, ArrayRecord>();
  private committedPages = 0;
  /** Ranges whose arrays have moved. */
  private readonly movedRanges = new Set<number>();

  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    private readonly files: FileProvider,
    private readonly providers: Providers,
    private readonly base: () => number,
    private readonly spaceBytes: number,
    /** Whether a launch that has not ended uses the range. */
    private readonly isInLaunch: (range: Range) => boolean,
    /** Pages that the host's threads were denied may be used again. */
    private readonly restore: (firstPage: number, count: number) => void,
    /** Called with an array all of which has been freed. */
    private readonly gone: (range: Range) => void,
  ) {}

  get count(): number {
    return this.records.size;
  }

  get allocatedBytes(): number {
    let bytes = 0;
    for (const { range } of this.records.values()) bytes += (range.pages - range.freedPages) * PAGE_BYTES;
    return bytes;
  }

  /** The array, if not all of it has been freed. A handle may be of one whose addresses are another one's by now. */
  usable(id: number, name: string, verb: string): ArrayRecord {
    const record = this.records.get(id);
    if (record?.resizing === true) throw resizingError(verb, name);
    if (record !== undefined && record.range.freedPages < record.range.pages) return record;
    if (this.movedRanges.has(id)) throw staleError(name);
    throw new RequestError('USE_AFTER_FREE', `cannot ${verb} array ${name}: it has been freed`, { array: name });
  }

  /** Refuses pages of an array that has gone, and pages that have been freed, unless those may be among them. */
  checkPages({ pages: { range: id, name, firstPage, count }, verb, freedToo = false }: Wanted): void {
    const { range } = this.usable(id, name, verb);
    const freed = freedToo || range.freedPages === 0 ? -1 : this.findDenied('FREED', firstPage, count);
    if (freed === -1) return;
    const { text, details } = this.placeOf(freed);
    throw new RequestError('USE_AFTER_FREE', `cannot ${verb} array ${name}: ${text}, has been freed`, details);
  }

  /** The array that a request has been checked for. */
  rangeOf(id: number): Range {
    return (this.records.get(id) as ArrayRecord).range;
  }

  /** Whether so many pages from its first on are all that an array has. */
  isWhole(id: number, count: number): boolean {
    return count >= (this.records.get(id)?.pages ?? 0);
  }

  allocate(wanted: Requests['allocate']['in']): Requests['allocate']['out'] {
    const { bytes, name, writable, file, provider, elementBytes, reserveBytes = bytes } = wanted;
    const options = { name, writable, provided: file !== null || provider !== null };
    const { range } = this.make(bytes, elementBytes, options, `cannot allocate array ${name}`, reserveBytes);
    if (file !== null) this.files.add(range.first, range.pages, file);
    return { id: range.id, firstPage: range.first, pages: range.pages };
  }

  /** Makes an array that is to be a clone of another one. */
  clone({ range: id, name, cloneName }: Requests['clone']['in']): { source: Range; range: Range } {
    const record = this.usable(id, name, 'clone');
    const { range: source, pages, bytes, elementBytes } = record;
    const { first } = source;
    const known = this.hasFreed(record) ? 'FREED' : this.manager.pages.denial(first, pages, Access.Read, HOST);
    // A clone of what nobody has any more could never be read.
    const lost = known === null ? this.manager.pages.firstLost(first, first + pages) : -1;
    const denial = lost === -1 ? known : this.manager.pages.lossOf(lost);
    if (denial !== null) {
      const { text, details } = this.placeOf(lost === -1 ? this.pageWith(denial, first, pages) : lost);
      const message = `cannot clone array ${name}: it contains ${text}, ${explainDenial(denial)}`;
      throw new RequestError(codeOfDenial(denial), message, details);
    }
    const options = { name: cloneName, writable: true, provided: true, derived: true };
    return { source, range: this.make(bytes, elementBytes, options, `cannot clone array ${name}`).range };
  }

  private hasFreed({ range: { first, freedPages }, pages }: ArrayRecord): boolean {
    return freedPages > 0 && this.manager.pages.firstFreed(first, first + pages) !== -1;
  }

  /** @param what what is not possible when it cannot be made */
  make(
    bytes: number,
    elementBytes: number,
    options: RangeOptions,
    what: string,
    reserveBytes: number = bytes,
  ): ArrayRecord {
    const { writable } = options;
    const pages = Math.ceil(bytes / PAGE_BYTES);
    const committed = writable ? pages : 0;
    this.reserve(what, bytes, committed);
    const range = this.manager.allocate(pages, options, Math.max(pages, Math.ceil(reserveBytes / PAGE_BYTES)));
    if (range === null) {
      this.unreserve(committed);
      throw new RequestError(
        'ADDRESS_SPACE',
        `${what}: no ${Math.max(bytes, reserveBytes)} bytes of addresses are left in the space of ${this.spaceBytes} bytes; ` +
          'free arrays and drop their views, or open the space with a larger addressSpace',
        { requestedBytes: bytes, addressSpaceBytes: this.spaceBytes },
        'RangeError',
      );
    }
    const record = {
      range,
      bytes,
      pages,
      resizing: false,
      wasResized: false,
      elementBytes,
      views: 0,
      uses: 0,
      warned: false,
      committedPages: committed,
    };
    this.records.set(range.id, record);
    return record;
  }

  /** The pages to free: who frees all of an array need not know how long it is by now. Null: nothing of it is left. */
  partToFree(wanted: Requests['free']['in']): ArrayPages | null {
    const { range, name, whole = false } = wanted;
    if (this.movedRanges.has(range)) throw staleError(name);
    const record = this.records.get(range);
    if (whole) return record === undefined ? null : { ...wanted, count: record.pages };
    this.usable(range, name, 'free a part of');
    return wanted;
  }

  free({ range: id, firstPage, count }: Omit<ArrayPages, 'name'>): void {
    const record = this.records.get(id);
    if (record === undefined) return;
    if (record.resizing) throw resizingError('free', record.range.name);
    if (count < record.pages) this.refuseFreed(record.range, firstPage, count);
    this.requests.start(
      (request) => this.manager.free(request, firstPage, count),
      () => this.freedPages(record, firstPage, count),
    );
    // Who reads what is freed gets zeros, also where he was denied before. Most are freed by now, and he does not wait for the answer.
    this.restore(firstPage, count);
  }

  /** Refuses a handle that is not, or no longer, that of an array. */
  check({ range: id, firstPage, pages, bytes, elementBytes, name }: Requests['attachArray']['in']): void {
    const record = this.records.get(id);
    const range = record?.range;
    if (this.movedRanges.has(id)) throw staleError(name);
    if (record === undefined || range === undefined || range.freedPages === range.pages) throw freedError(name);
    const same = range.first === firstPage && record.elementBytes === elementBytes;
    if (same && record.pages === pages && record.bytes === bytes) return;
    if (same && record.wasResized && pages === Math.ceil(bytes / PAGE_BYTES)) throw staleError(name);
    const message = `the handle of array ${name} has been changed; pass what array.handle gives, as it is`;
    throw new RequestError('ARRAY_HANDLE', message, {}, 'TypeError');
  }

  /** A thread is about to make a view. It counts even when it is refused: the thread says that it is gone, as of any view. */
  viewed({ range: id, name }: Requests['viewed']['in']): void {
    this.countView(id, 1);
    const record = this.records.get(id);
    if (this.movedRanges.has(id)) throw staleError(name);
    // Another thread may have freed the array, and its addresses may be those of another one by now.
    if (record === undefined || record.range.freedPages === record.range.pages) throw freedError(name);
  }

  /** A thread has made a view of the array, or the last users of some are gone. */
  countView(id: number, by: number): void {
    const record = this.records.get(id);
    if (record === undefined) return;
    record.views += by;
    this.recycle(record);
  }

  /** An operation of a stream was given the array, or has ended. */
  countUse(id: number, by: number): void {
    const record = this.records.get(id);
    if (record === undefined) return;
    record.uses += by;
    if (record.uses === 0) this.recycle(record);
  }

  advise({ range: id, firstPage, count, change }: Requests['advise']['in']): void {
    const range = this.rangeOf(id);
    this.manager.advise(range, firstPage - range.first, firstPage + count - range.first, change);
  }

  attributes({ range: id, firstPage, count }: Requests['attributes']['in']): AdviceRun[] {
    const range = this.rangeOf(id);
    const runs: AdviceRun[] = [];
    const first = firstPage - range.first;
    range.advice.each(first, first + count, (from, to, advice) => {
      const remote: AdviceRun['remote'][number][] = [];
      for (let processor = 1; advice.accessedBy >>> processor !== 0; processor++) {
        if (((advice.accessedBy >>> processor) & 1) === 0) continue;
        remote[processor] = this.manager.pages.remoteness(processor, range.first + from, range.first + to);
      }
      runs.push({ first: from, end: to, advice, remote });
    });
    return runs;
  }

  /** What is known of them when the space has been closed. */
  closed(): ClosedArray[] {
    return [...this.records.values()].map(({ range, bytes, elementBytes }) => {
      const { name, first, reserved } = range;
      return { name, firstPage: first, pages: reserved, bytes, elementBytes };
    });
  }

  /** Gives back the addresses of freed arrays that a launch kept in use until now. */
  recycleAll(): void {
    for (const record of this.records.values()) this.recycle(record);
  }

  denialError(reason: DenyReason, page: number, who: string, write?: boolean): WireError {
    const what = write === undefined ? 'touched' : write ? 'wrote' : 'read';
    // Who asked for a range is told of the page that its provider failed on.
    const failure = write === undefined ? this.providerFailure(reason, page) : null;
    const { text, details } = this.placeOf(failure?.page ?? page);
    const message = `${who} ${what} ${text}, ${this.explain(reason, page)}`;
    const stack = this.providerFailure(reason, page)?.stack;
    return wireError(codeOfDenial(reason), message, { ...details, reason }, stack);
  }

  /** Why, with what the provider of the page said if it was its doing. */
  explain(reason: DenyReason, page: number): string {
    const failure = this.providerFailure(reason, page);
    return failure === null ? explainDenial(reason) : `${explainDenial(reason)}: ${failure.message}`;
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

  /** The first of these pages that a failure is about; simply the first where that cannot be told. */
  pageWith(failure: DenyReason, first: number, count: number): number {
    const found = this.findDenied(failure, first, count);
    return found === -1 ? first : found;
  }

  /** The first of these pages that a failure is about, as far as that can be told without asking for them; otherwise -1. */
  findDenied(failure: DenyReason, first: number, count: number): number {
    const { pages } = this.manager;
    for (let lost = first; lost !== -1; ) {
      lost = pages.firstLost(lost, first + count);
      if (lost !== -1 && pages.lossOf(lost) === failure) return lost;
      if (lost !== -1) lost++;
    }
    return pages.firstDenied(failure, first, first + count);
  }

  /** Whether an array ends at this byte of the space: what follows in its last page is nobody's. */
  endsAt(offset: number): boolean {
    const range = this.manager.state.va.rangeOfPage(Math.floor((offset - 1) / PAGE_BYTES));
    const record = range === undefined ? undefined : this.records.get(range.id);
    return range !== undefined && record !== undefined && range.first * PAGE_BYTES + record.bytes === offset;
  }

  /** Which array and elements a page is, in words and for programs. */
  placeOf(page: number): { text: string; details: Record<string, unknown> } {
    const range = this.manager.state.va.rangeOfPage(page);
    const address = `0x${(this.base() + page * PAGE_BYTES).toString(16)}`;
    const record = range === undefined ? undefined : this.records.get(range.id);
    if (range === undefined || record === undefined) return { text: `address ${address}`, details: { address } };
    const { elementBytes, bytes } = record;
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

  /** The element that a byte of the space is part of; null where there is none, or none any more. */
  elementAt(offset: number): { name: string; element: number; byteOffset: number } | null {
    const range = this.manager.state.va.rangeOfPage(Math.floor(offset / PAGE_BYTES));
    const record = range === undefined ? undefined : this.records.get(range.id);
    if (range === undefined || record === undefined || range.freedPages === range.pages) return null;
    const byteOffset = offset - range.first * PAGE_BYTES;
    if (byteOffset >= record.bytes) return null;
    return { name: range.name, element: Math.floor(byteOffset / record.elementBytes), byteOffset };
  }

  /** True once for each array: a program that reads freed memory in a loop is told once. */
  mayWarn(page: number): boolean {
    const range = this.manager.state.va.rangeOfPage(page);
    const record = range === undefined ? undefined : this.records.get(range.id);
    if (record === undefined || record.warned) return false;
    record.warned = true;
    return true;
  }

  private providerFailure(reason: DenyReason, page: number): ReturnType<Providers['failureOf']> {
    if (reason !== 'PROVIDER_FAILED' && reason !== 'ACCESS_REFUSED') return null;
    // What a clone could not have its source's provider did not give.
    const origin = this.manager.pages.originOf(page);
    const failure = this.providers.failureOf(origin);
    return failure === null ? null : { ...failure, page: failure.page - origin + page };
  }

  /** What has been freed cannot be freed again; a part of which something is left can. */
  private refuseFreed(range: Range, firstPage: number, count: number): void {
    if (this.manager.pages.firstKept(firstPage, firstPage + count) !== -1) return;
    const { text, details } = this.placeOf(firstPage);
    throw new RequestError(
      'USE_AFTER_FREE',
      `cannot free a part of array ${range.name}: all of it, from ${text} on, has been freed`,
      details,
    );
  }

  /** Sets a part of the host's budget aside. */
  reserve(what: string, bytes: number, pages: number): void {
    const budgetPages = this.manager.capacityPages();
    if (this.committedPages + pages <= budgetPages) {
      this.committedPages += pages;
      return;
    }
    const left = (budgetPages - this.committedPages) * PAGE_BYTES;
    throw new RequestError(
      'HOST_BUDGET',
      `${what}: it takes ${bytes} bytes, and of the host budget of ${budgetPages * PAGE_BYTES} bytes ` +
        `${left} are left; free arrays, or open the space with a larger hostMemory`,
      {
        requestedBytes: bytes,
        budgetBytes: budgetPages * PAGE_BYTES,
        committedBytes: this.committedPages * PAGE_BYTES,
        node: 'host',
      },
      'RangeError',
    );
  }

  unreserve(pages: number): void {
    this.committedPages -= pages;
  }

  /** Pages of an array have been freed, and nobody is denied them any more. */
  freedPages(record: ArrayRecord, firstPage: number, count: number): void {
    this.restore(firstPage, count);
    this.freed(record);
  }

  /** All of the range has been freed, since its array is elsewhere now. */
  moved(record: ArrayRecord): void {
    this.movedRanges.add(record.range.id);
    this.freedPages(record, record.range.first, record.range.pages);
  }

  private freed(record: ArrayRecord): void {
    const { range } = record;
    const left = Math.min(record.committedPages, range.pages - range.freedPages);
    this.committedPages -= record.committedPages - left;
    record.committedPages = left;
    if (range.freedPages < range.pages) return;
    this.files.remove(range.first);
    this.providers.remove(range.first);
    this.gone(range);
    this.recycle(record);
  }

  /** Addresses are used again only when nobody can look at them any more. */
  private recycle(record: ArrayRecord): void {
    const { range } = record;
    if (record.views > 0 || record.uses > 0 || range.freedPages < range.pages || this.isInLaunch(range)) return;
    if (!this.manager.recycle(range)) return;
    this.restore(range.first, range.reserved);
    this.records.delete(range.id);
  }
}

/** The bit of PageState that tells on which pages a denial was about; 0 where none does. */

function freedError(name: string): RequestError {
  return new RequestError('USE_AFTER_FREE', `array ${name} has been freed`);
}

function resizingError(verb: string, name: string): RequestError {
  const message = `cannot ${verb} array ${name}: it is being resized; await that first`;
  return new RequestError('ARRAY_IN_USE', message, { array: name });
}

function staleError(name: string): RequestError {
  const message = `array ${name} has been resized since this handle was made; ask for array.handle again where it was resized`;
  return new RequestError('STALE_HANDLE', message, { array: name });
}
