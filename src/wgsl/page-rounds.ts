/**
 * Which pages a launch has, and what is brought for its next round. Of each page it hears which invocation touched it first: the pages of the
 * first invocations that are not done come and stay, so that each round has some of them end, or learn of more pages.
 */
import type { PageTable } from './page-tables.js';

/** Bytes of an array that go to frames, one after the other. */
export interface PageCopy {
  readonly table: PageTable;
  /** Where they begin in the array. */
  readonly from: number;
  readonly bytes: number;
  /** Where they go, from the beginning of all frames. */
  readonly to: number;
}

export type Advance =
  /** No invocation lacked anything. */
  | { readonly kind: 'done' }
  | { readonly kind: 'copies'; readonly copies: readonly PageCopy[] }
  | { readonly kind: 'refused'; readonly reason: string };

/** Neighbours come along within this many bytes, where a page in so many of them is wanted. */
const WIDE_BYTES = 65_536;
const WIDE_SHARE = 4;

export class PageRounds {
  /** For the GPU: by page, the first element of its frame; 0: it is absent. */
  readonly entries: Uint32Array<ArrayBuffer>;
  /** Whether invocations are to note no more than the first page that they lack. */
  strict = false;
  rounds = 0;
  readonly #frames: FrameList[];

  constructor(readonly tables: readonly PageTable[]) {
    const last = tables.at(-1) as PageTable;
    this.entries = new Uint32Array(last.firstEntry + last.pages);
    this.#frames = tables.map((each) => new FrameList(each));
  }

  /** @param notes by page: of the first invocation that touched it, the complement of its number; 0: none has */
  advance(notes: Uint32Array): Advance {
    this.rounds++;
    const isAbsent = (_: number, page: number): boolean => notes[page] !== 0 && this.entries[page] === 0;
    if (!this.entries.some(isAbsent)) {
      this.strict = false;
      return { kind: 'done' };
    }
    const wanted = this.tables.map(({ firstEntry, pages }) => {
      const touched: number[] = [];
      for (let page = 0; page < pages; page++) if (notes[firstEntry + page] !== 0) touched.push(page);
      const note = (page: number): number => notes[firstEntry + page] as number;
      return touched.sort((one, other) => note(other) - note(one) || one - other);
    });
    const excess = this.#excess(wanted, notes);
    // With zeros for what is absent an invocation may have strayed: it must not, before it is to blame.
    if (excess !== null && this.strict) return { kind: 'refused', reason: excess };
    if (excess !== null) {
      this.strict = true;
      return { kind: 'copies', copies: [] };
    }
    const copies = this.tables.flatMap((table, number) => {
      const frames = this.#frames[number] as FrameList;
      return frames.take((wanted[number] as number[]).slice(0, table.frames), this.entries);
    });
    return { kind: 'copies', copies };
  }

  /** An invocation that touches more than there is room for. */
  #excess(wanted: readonly (readonly number[])[], notes: Uint32Array): string | null {
    for (const [number, { name, frames, pageBytes, firstEntry }] of this.tables.entries()) {
      const pages = wanted[number] as readonly number[];
      const first = notes[firstEntry + (pages[0] ?? 0)];
      const own = pages.filter((page) => notes[firstEntry + page] === first).length;
      if (own <= frames) continue;
      return (
        `a single invocation touches ${own} pages of '${name}', of ${pageBytes} bytes each, and there is room for ${frames}; ` +
        'have each invocation touch fewer elements'
      );
    }
    return null;
  }
}

/** The frames of one array. */
class FrameList {
  readonly #table: PageTable;
  /** By frame, from 1 on: the page that it has, or -1. */
  readonly #pages: Int32Array;

  constructor(table: PageTable) {
    this.#table = table;
    this.#pages = new Int32Array(table.frames + 1).fill(-1);
  }

  /** Has pages be there, and says what is to be copied for it. Others go where they must. */
  take(wanted: readonly number[], entries: Uint32Array): PageCopy[] {
    const { firstEntry, shift } = this.#table;
    const kept = new Set(wanted);
    const coming = wanted.filter((page) => entries[firstEntry + page] === 0);
    if (coming.length === 0) return [];
    const free: number[] = [];
    for (let frame = 1; frame < this.#pages.length; frame++)
      if (!kept.has(this.#pages[frame] as number)) free.push(frame);
    const empty = free.filter((frame) => this.#pages[frame] === -1);
    // What nobody has asked for goes only for what somebody has.
    this.#widen(coming, kept, entries, empty.length);
    const frames = [...empty, ...free.filter((frame) => this.#pages[frame] !== -1)].slice(0, coming.length);
    frames.sort((one, other) => one - other);
    coming.sort((one, other) => one - other);
    for (const [at, page] of coming.entries()) {
      const frame = frames[at] as number;
      const before = this.#pages[frame] as number;
      if (before !== -1) entries[firstEntry + before] = 0;
      this.#pages[frame] = page;
      entries[firstEntry + page] = frame * 2 ** shift;
    }
    return this.#copies(coming, frames);
  }

  /** Adds neighbours of pages that many want, as long as frames are empty. */
  #widen(coming: number[], kept: ReadonlySet<number>, entries: Uint32Array, empty: number): void {
    const { pageBytes, pages, firstEntry } = this.#table;
    const wide = Math.floor(WIDE_BYTES / pageBytes);
    if (wide < 2) return;
    const counts = new Map<number, number>();
    for (const page of coming) counts.set(Math.floor(page / wide), (counts.get(Math.floor(page / wide)) ?? 0) + 1);
    for (const [group, count] of counts) {
      if (count * WIDE_SHARE < wide) continue;
      const end = Math.min(pages, (group + 1) * wide);
      for (let page = group * wide; page < end && coming.length < empty; page++)
        if (entries[firstEntry + page] === 0 && !kept.has(page)) coming.push(page);
    }
  }

  #copies(pages: readonly number[], frames: readonly number[]): PageCopy[] {
    const { pageBytes, bytes, offset } = this.#table;
    const copies: PageCopy[] = [];
    for (let at = 0; at < pages.length; ) {
      const begin = at++;
      const page = pages[begin] as number;
      const frame = frames[begin] as number;
      while (pages[at] === page + at - begin && frames[at] === frame + at - begin) at++;
      const from = page * pageBytes;
      const length = Math.min((at - begin) * pageBytes, bytes - from);
      copies.push({ table: this.#table, from, bytes: length, to: offset + frame * pageBytes });
    }
    return copies;
  }
}
