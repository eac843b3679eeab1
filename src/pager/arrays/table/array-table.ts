/** The arrays of a space: ranges of the core with what only arrays have. */
import type { ElementType } from '../../../core/basics/elements.js';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { PageQueries } from '../../../core/queries/page-queries.js';
import type { Range } from '../../../core/table/range.js';
import type { NumaPlace } from '../../../linux/memory/numa.js';
import type { Keeper } from '../clones/kept-pages.js';

export interface ArrayRecord extends Keeper {
  readonly range: Range;
  bytes: number;
  /** Pages that it has now, freed ones among them; its range may have had more. */
  pages: number;
  resizing: boolean;
  /** Handles may be of it as it was before. */
  wasResized: boolean;
  readonly elementBytes: number;
  /** Undefined: the maker of the array has not said it. */
  type: ElementType | undefined;
  views: number;
  /** Operations of streams that were given it and have not ended. */
  uses: number;
  /** Arguments of launches that wait for their device or run there. */
  launches: number;
  warned: boolean;
  /** Where its pages are to lie; null: wherever there is room. */
  numa: NumaPlace | null;
  /** The other process that made it, and with which it goes; null: it stays. */
  process: number | null;
  /** That process has ended: it goes with its last use. */
  left: boolean;
  /** By `resize`: another range has its content. */
  moved: boolean;
  /** What of the host's budget is kept for it, since a device's pages go there. */
  committedPages: number;
}

/** Pages of so many bytes. An array without elements has one, to be found by its address. */
export function pagesOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / PAGE_BYTES));
}

function partAt(kept: Keeper['kept'], page: number): Keeper['kept'][number] | undefined {
  return kept.find(({ first, end }) => page >= first && page < end);
}

export class ArrayTable {
  private readonly records = new Map<number, ArrayRecord>();

  constructor(private readonly pages: PageQueries) {}

  get count(): number {
    return this.records.size;
  }

  get all(): Iterable<ArrayRecord> {
    return this.records.values();
  }

  add(record: ArrayRecord): void {
    this.records.set(record.range.id, record);
  }

  remove(id: number): void {
    this.records.delete(id);
  }

  get(id: number): ArrayRecord | undefined {
    return this.records.get(id);
  }

  /** The array that a page of the space is part of. */
  of(page: number): ArrayRecord | undefined {
    const range = this.pages.rangeOf(page);
    return range === undefined ? undefined : this.records.get(range.id);
  }

  /** Whether the page was freed, and is kept for clones of its array. */
  isKept(page: number): boolean {
    return partAt(this.of(page)?.kept ?? [], page) !== undefined;
  }

  /** The first page in [first, end) of an array that was not freed, or -1. */
  firstLeft({ kept }: ArrayRecord, first: number, end: number): number {
    let page = this.pages.firstKept(first, end);
    for (let part = partAt(kept, page); part !== undefined; part = partAt(kept, page))
      page = part.end < end ? this.pages.firstKept(part.end, end) : -1;
    return page;
  }

  /** Whether an array ends at this byte: what follows in its last page is nobody's. */
  endsAt(offset: number): boolean {
    const record = this.of(Math.floor((offset - 1) / PAGE_BYTES));
    return record !== undefined && record.range.first * PAGE_BYTES + record.bytes === offset;
  }
}
