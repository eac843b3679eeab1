/** How arrays come and go, which may be used, and when their addresses are used again. */

import { Access, HOST, PAGE_BYTES } from '../../core/basics/types.js';
import type { Range, RangeOptions } from '../../core/table/range.js';
import { errnoName } from '../../linux/base/errors.js';
import { type NumaPlace, placeMemory } from '../../linux/memory/numa.js';
import type { ArrayListing } from '../protocol/attaching.js';
import type { ClosedArray } from '../protocol/closed-space.js';
import type { Answer } from '../protocol/messages.js';
import type { ArrayPages } from '../protocol/pages.js';
import type { Requests } from '../protocol/requests.js';
import { codeOfDenial, explainDenial, RequestError, wireError } from '../protocol/wire.js';
import type { FileProvider } from '../sources/files.js';
import type { Providers } from '../sources/providers.js';
import type { KeptPages } from './clones/kept-pages.js';
import type { Commitment } from './room/commitment.js';
import type { Quotas } from './room/quotas.js';
import type { SharedArrays } from './shared/shared-arrays.js';
import type { Wanted } from './table/array-pages.js';
import { type ArrayRecord, pagesOf } from './table/array-table.js';
import type { SpaceContext } from './table/context.js';

type Allocated = Requests['allocate']['out'];

/** What arrays may take, and what of them is left behind. */
export interface ArrayRoom {
  readonly commitment: Commitment;
  readonly quotas: Quotas;
  readonly kept: KeptPages;
}

export class Arrays {
  private readonly movedRanges = new Set<number>();
  private readonly abandoned: Requests['free']['in'][] = [];

  constructor(
    private readonly context: SpaceContext,
    private readonly room: ArrayRoom,
    private readonly files: FileProvider,
    private readonly providers: Providers,
    private readonly sharedArrays: SharedArrays,
    /** Tells clients of an array all of which has been freed. */
    private readonly tellFreed: (range: number) => void,
  ) {}

  get count(): number {
    return this.context.table.count;
  }

  get allocatedBytes(): number {
    let bytes = 0;
    for (const { range } of this.context.table.all)
      bytes += (range.pages - range.freedPages) * PAGE_BYTES;
    return bytes;
  }

  /** The array, unless it was freed: a handle's addresses may be another one's by now. */
  usable(id: number, name: string, verb: string): ArrayRecord {
    const record = this.context.table.get(id);
    if (record?.resizing === true) throw resizingError(verb, name);
    if (this.movedRanges.has(id)) throw staleError(name);
    if (record !== undefined && !this.hasGone(record)) return record;
    throw new RequestError('USE_AFTER_FREE', `cannot ${verb} array ${name}: it has been freed`, {
      array: name,
    });
  }

  /** Refuses pages of an array that has gone, and freed pages unless those may be among them. */
  checkPages({
    pages: { range: id, name, firstPage, count },
    verb,
    freedToo = false,
    sharedToo = false,
  }: Wanted): void {
    const record = this.usable(id, name, verb);
    if (record.range.shared === true && !sharedToo) throw sharedError(verb, name);
    const freed = freedToo ? -1 : this.firstFreed(record, firstPage, firstPage + count);
    if (freed === -1) return;
    const { text, details } = this.context.places.placeOf(freed);
    throw new RequestError(
      'USE_AFTER_FREE',
      `cannot ${verb} array ${name}: ${text}, has been freed`,
      details,
    );
  }

  /** Whether all of the array was freed. */
  private hasGone(record: ArrayRecord): boolean {
    const { range, kept, pages } = record;
    if (range.freedPages === range.pages) return true;
    return (
      kept.length > 0 &&
      this.context.table.firstLeft(record, range.first, range.first + pages) === -1
    );
  }

  /** The first page in [first, end) that was freed, whether it has gone or is kept; or -1. */
  private firstFreed({ range, kept }: ArrayRecord, first: number, end: number): number {
    let found = range.freedPages === 0 ? -1 : this.context.manager.pages.firstFreed(first, end);
    for (const part of kept) {
      if (part.first >= end || part.end <= first) continue;
      const page = Math.max(first, part.first);
      if (found === -1 || page < found) found = page;
    }
    return found;
  }

  /** The array that a request has been checked for. */
  rangeOf(id: number): Range {
    return (this.context.table.get(id) as ArrayRecord).range;
  }

  /** Whether these pages are all that an array has. */
  isWhole(id: number, firstPage: number, count: number): boolean {
    const record = this.context.table.get(id);
    return record !== undefined && firstPage === record.range.first && count >= record.pages;
  }

  /**
   * Makes an array, and answers. One with a provider is there when the provider's module has been
   * loaded.
   * @param process with which it goes
   */
  allocate(
    wanted: Requests['allocate']['in'],
    answer: Answer<Allocated>,
    process: number | null = null,
  ): void {
    const {
      bytes,
      name,
      writable,
      file,
      provider,
      sharing = false,
      elementBytes,
      reserveBytes = bytes,
    } = wanted;
    const takesBack = file?.shared === true;
    const provided = file !== null || provider !== null || sharing;
    const options = { name, writable, provided, takesBack, shared: sharing };
    this.room.quotas.check(`cannot allocate array ${name}`, name, bytes);
    const record = this.make(
      bytes,
      elementBytes,
      options,
      `cannot allocate array ${name}`,
      reserveBytes,
    );
    record.type = wanted.type;
    record.process = process;
    this.place(record, wanted.numa ?? null);
    const { range } = record;
    const { id, first: firstPage, pages } = range;
    if (file !== null) this.files.add(firstPage, pages, file);
    if (provider === null) {
      answer({ id, firstPage, pages }, null);
      return;
    }
    this.providers.start(provider, { firstPage, pages, bytes, name }, (failure) => {
      if (failure === null) {
        answer({ id, firstPage, pages }, null);
        return;
      }
      const message = `cannot make array ${name}: its provider ${provider.exportName} of ${provider.url} ${failure.message}`;
      answer(null, wireError('PROVIDER_FAILED', message, { array: name }, failure.stack));
      this.context.later(() => this.free({ range: id, firstPage, count: pages }));
    });
  }

  /** An array that was allocated for it is another machine's from now on, too. */
  share({ range: id, name, source }: Requests['share']['in']): void {
    const { range, elementBytes } = this.usable(id, name, 'share');
    this.sharedArrays.start(range, elementBytes, source);
  }

  /** Makes an array that is to be a clone of another one. */
  clone(
    { range: id, name, cloneName }: Requests['clone']['in'],
    process: number | null,
  ): { source: Range; range: Range } {
    const record = this.usable(id, name, 'clone');
    const { range: source, pages, bytes, elementBytes } = record;
    if (source.shared === true) throw sharedError('clone', name);
    const { first } = source;
    const freed = this.firstFreed(record, first, first + pages);
    const known =
      freed === -1 ? this.context.manager.pages.denial(first, pages, Access.Read, HOST) : 'FREED';
    // A clone of pages whose content is lost could never be read.
    const lost = known === null ? this.context.manager.pages.firstLost(first, first + pages) : -1;
    const denial = lost === -1 ? known : this.context.manager.pages.lossOf(lost);
    if (denial !== null) {
      const page = lost === -1 ? this.context.places.pageWith(denial, first, pages) : lost;
      const { text, details } = this.context.places.placeOf(freed === -1 ? page : freed);
      const message = `cannot clone array ${name}: it contains ${text}, ${explainDenial(denial)}`;
      throw new RequestError(codeOfDenial(denial), message, details);
    }
    const options = { name: cloneName, writable: true, provided: true, derived: true };
    this.room.quotas.check(`cannot clone array ${name}`, cloneName, bytes);
    const clone = this.make(bytes, elementBytes, options, `cannot clone array ${name}`);
    clone.type = record.type;
    clone.process = process;
    return { source, range: clone.range };
  }

  /** @param what what is not possible when it cannot be made */
  make(
    bytes: number,
    elementBytes: number,
    options: RangeOptions,
    what: string,
    reserveBytes: number = bytes,
  ): ArrayRecord {
    const { writable, takesBack = false } = options;
    const pages = pagesOf(bytes);
    // What is written to a shared file needs no other place.
    const committed = writable && !takesBack ? pages : 0;
    this.room.commitment.reserve(what, bytes, committed);
    const reservedPages = Math.max(pages, Math.ceil(reserveBytes / PAGE_BYTES));
    const range = this.context.manager.allocate(pages, { ...options, elementBytes }, reservedPages);
    if (range === null) {
      this.room.commitment.unreserve(committed);
      throw new RequestError(
        'ADDRESS_SPACE',
        `${what}: no ${Math.max(bytes, reserveBytes)} bytes of addresses are left in the space of ${this.context.options.bytes} bytes; ` +
          'free arrays and drop their views, or open the space with a larger addressSpace',
        { requestedBytes: bytes, addressSpaceBytes: this.context.options.bytes },
        'RangeError',
      );
    }
    const record: ArrayRecord = {
      range,
      bytes,
      pages,
      resizing: false,
      wasResized: false,
      elementBytes,
      type: undefined,
      views: 0,
      uses: 0,
      launches: 0,
      warned: false,
      numa: null,
      process: null,
      left: false,
      moved: false,
      committedPages: committed,
      kept: [],
    };
    this.context.table.add(record);
    return record;
  }

  /** The pages to free: all of an array whatever its length is by now. Null: nothing is left. */
  partToFree(wanted: Requests['free']['in']): ArrayPages | null {
    const { range, name, whole = false } = wanted;
    if (this.movedRanges.has(range)) throw staleError(name);
    const record = this.context.table.get(range);
    if (whole) return record === undefined ? null : { ...wanted, count: record.pages };
    this.usable(range, name, 'free a part of');
    return wanted;
  }

  free(
    { range: id, firstPage, count }: Omit<ArrayPages, 'name'>,
    done: () => void = () => undefined,
  ): void {
    const record = this.context.table.get(id);
    if (record === undefined) {
      done();
      return;
    }
    if (record.resizing) throw resizingError('free', record.range.name);
    if (count < record.pages) this.refuseFreed(record, firstPage, count);
    this.freePages(record, firstPage, count, done);
    // A thread that reads freed pages gets zeros, also where it was denied before. Most pages are
    // freed by now, and no thread waits for the answer.
    this.context.restore(firstPage, count);
  }

  freeAll(id: number): void {
    const record = this.context.table.get(id);
    if (record === undefined || this.hasGone(record)) return;
    this.free({ range: id, firstPage: record.range.first, count: record.pages });
  }

  /** Frees pages. `tried` is called when no processor may use them; clones may keep some. */
  freePages(record: ArrayRecord, firstPage: number, count: number, tried: () => void): void {
    this.room.kept.free(record, firstPage, count, tried, () =>
      this.freedPages(record, firstPage, count),
    );
  }

  /** Refuses a handle that is not, or no longer, that of an array. */
  check({
    range: id,
    firstPage,
    pages,
    bytes,
    elementBytes,
    name,
  }: Requests['attachArray']['in']): void {
    const record = this.context.table.get(id);
    const range = record?.range;
    if (this.movedRanges.has(id)) throw staleError(name);
    if (record === undefined || range === undefined || this.hasGone(record)) throw freedError(name);
    const same = range.first === firstPage && record.elementBytes === elementBytes;
    if (same && record.pages === pages && record.bytes === bytes) return;
    if (same && record.wasResized && pages === pagesOf(bytes)) throw staleError(name);
    const message = `the handle of array ${name} has been changed; pass what array.handle gives, as it is`;
    throw new RequestError('ARRAY_HANDLE', message, {}, 'TypeError');
  }

  /** A thread is about to make a view. It counts even when refused: its end is told as any's. */
  viewed(
    { range: id, name }: Requests['viewed']['in'],
    elsewhere: boolean,
  ): Requests['viewed']['out'] {
    this.countView(id, 1);
    const record = this.context.table.get(id);
    if (this.movedRanges.has(id)) throw staleError(name);
    // Another thread may have freed the array, and its addresses may be those of another one by
    // now.
    if (record === undefined || this.hasGone(record)) throw freedError(name);
    if (!elsewhere || !this.files.isMapped(record.range.first))
      return this.files.map(record.range.first, name);
    const path = this.files.sourceOf(record.range.first)?.path;
    throw new RequestError(
      'OTHER_PROCESS',
      `array ${name} lies over a mapped file: open ${path} in this process, space.fileArray(type, path, { mapped: true })`,
      { array: name, path },
    );
  }

  /** A thread has made a view of the array, or the last users of some are gone. */
  countView(id: number, by: number): void {
    const record = this.context.table.get(id);
    if (record === undefined) return;
    record.views += by;
    this.recycle(record);
  }

  /** An operation of a stream was given the array, or has ended. */
  countUse(id: number, by: number): void {
    const record = this.context.table.get(id);
    if (record === undefined) return;
    record.uses += by;
    if (record.uses === 0) this.recycle(record);
  }

  /** A launch that waits or runs has these pages as an argument (`by` 1), or no more (-1). */
  countLaunch(page: number, by: 1 | -1): void {
    const record = this.context.table.of(page);
    if (record === undefined) return;
    record.launches += by;
  }

  /** What other processes need to find them by their names. */
  listings(): ArrayListing[] {
    const listings: ArrayListing[] = [];
    for (const { range, bytes, pages, elementBytes, type, resizing } of this.context.table.all) {
      if (type === undefined || resizing || range.freedPages === range.pages) continue;
      const { id, name, first } = range;
      const mapped = this.files.isMapped(first);
      listings.push({
        range: id,
        name,
        firstPage: first,
        pages,
        length: bytes / elementBytes,
        type,
        mapped,
      });
    }
    return listings;
  }

  /** What is known of them when the space has been closed. */
  closed(): ClosedArray[] {
    return [...this.context.table.all].map(({ range, bytes, elementBytes }) => {
      const { name, first, reserved } = range;
      return { name, firstPage: first, pages: reserved, bytes, elementBytes };
    });
  }

  /** Gives back the addresses of freed arrays that a launch kept in use until now. */
  recycleAll(): void {
    for (const record of this.context.table.all) this.recycle(record);
  }

  /** What has been freed cannot be freed again; a part of which something is left can. */
  private refuseFreed(record: ArrayRecord, firstPage: number, count: number): void {
    if (this.context.table.firstLeft(record, firstPage, firstPage + count) !== -1) return;
    const { range } = record;
    const { text, details } = this.context.places.placeOf(firstPage);
    throw new RequestError(
      'USE_AFTER_FREE',
      `cannot free a part of array ${range.name}: all of it, from ${text} on, has been freed`,
      details,
    );
  }

  /** Pages of an array have been freed, and no processor is denied them any more. */
  private freedPages(record: ArrayRecord, firstPage: number, count: number): void {
    this.context.restore(firstPage, count);
    this.freed(record);
  }

  /** The array is elsewhere now: frees all that it has at its old place. */
  move(record: ArrayRecord, tried: () => void): void {
    const { range } = record;
    record.moved = true;
    this.movedRanges.add(range.id);
    this.freePages(record, range.first, range.pages, tried);
  }

  private freed(record: ArrayRecord): void {
    const { range } = record;
    const left = Math.min(record.committedPages, range.pages - range.freedPages);
    this.room.commitment.unreserve(record.committedPages - left);
    record.committedPages = left;
    if (range.freedPages < range.pages) return;
    this.context.sources.remove(range.first);
    this.tellFreed(range.id);
    this.recycle(record);
  }

  /** Another process has ended: what it made goes as soon as no other one uses it. */
  processEnded(pid: number): void {
    for (const record of this.context.table.all) {
      if (record.process !== pid) continue;
      record.left = true;
      this.recycle(record);
    }
  }

  /** Addresses are used again only when no view, use or launch is left that may look at them. */
  private recycle(record: ArrayRecord): void {
    const { range, kept } = record;
    if (record.views > 0 || record.uses > 0 || record.launches > 0) return;
    if (range.freedPages < range.pages) {
      if (record.left && !record.resizing) this.freeLeft(record);
      return;
    }
    // What was kept has gone, but is yet to be known so.
    if (kept.length > 0) return;
    if (!this.context.manager.recycle(range)) return;
    this.context.restore(range.first, range.reserved);
    // The next array at these addresses has its own wish.
    this.place(record, null);
    this.context.table.remove(range.id);
  }

  /** Has its pages lie on a node of memory, or again wherever there is room. */
  place(record: ArrayRecord, numa: NumaPlace | null): void {
    if (numa === null && record.numa === null) return;
    record.numa = numa;
    const { first, reserved, name } = record.range;
    const address = this.context.memory + first * PAGE_BYTES;
    const failed = placeMemory(address, reserved * PAGE_BYTES, numa);
    if (failed === 0 || numa === null) return;
    const why = errnoName(failed);
    this.context.warn(
      `warning: array ${name} cannot be placed on node ${numa.node} (mbind failed with ${why}), and lies wherever there is room; a container needs CAP_SYS_NICE or a seccomp profile that allows mbind`,
    );
  }

  /** The process that made it has ended, and no other one uses it. */
  private freeLeft(record: ArrayRecord): void {
    record.left = false;
    record.process = null;
    const { id, name, first } = record.range;
    this.abandoned.push({ range: id, name, firstPage: first, count: record.pages });
  }

  /** Arrays of processes that have ended, and that nobody uses, to be freed. */
  takeAbandoned(): readonly Requests['free']['in'][] {
    return this.abandoned.splice(0);
  }
}

function freedError(name: string): RequestError {
  return new RequestError('USE_AFTER_FREE', `array ${name} has been freed`);
}

/** What needs pages to stay for long does not go with machines that take them. */
export function sharedError(verb: string, name: string): RequestError {
  const message =
    `cannot ${verb} array ${name}: other machines share it, and take its blocks when they need them; copy the elements to an array of this ` +
    'space (local.data.set(shared.data)) and use that';
  return new RequestError('SHARED_ARRAY', message, { array: name });
}

function resizingError(verb: string, name: string): RequestError {
  const message = `cannot ${verb} array ${name}: it is being resized; await that first`;
  return new RequestError('ARRAY_IN_USE', message, { array: name });
}

function staleError(name: string): RequestError {
  const message = `array ${name} has been resized since this handle was made; ask for array.handle again where it was resized`;
  return new RequestError('STALE_HANDLE', message, { array: name });
}
