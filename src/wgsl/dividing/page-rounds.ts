/**
 * Which pages a launch has, and what is brought for its next round. Of each page it hears which
 * invocation touched it first: the pages of the first invocations that are not done come and stay,
 * so that each round has some of them end, or learn of more pages. Pages that were written go home
 * before their frames get others, and when no invocation lacks a page any more.
 */
import { MOST_PAGES, type PageGroup, type PageMemory, type PlayedRound } from './page-memory.js';
import type { PageTable } from './page-tables.js';
import { type Lacking, RoundLimit } from './round-limit.js';

/** Bytes of an array and the frames that have them, one after the other. */
export interface PageCopy {
  readonly table: PageTable;
  /** Where they begin in the array. */
  readonly place: number;
  readonly bytes: number;
  /** Where they begin in the frames, from the beginning of all of them. */
  readonly frame: number;
}

export interface Advance {
  /** What goes from frames to arrays, before anything comes. */
  readonly homes: readonly PageCopy[];
  readonly copies: readonly PageCopy[];
  /** Whether another round follows; `done`: no invocation lacked anything. */
  readonly end: null | 'done' | { readonly refused: string };
}

/** Marks a written page. The bits below are the complement of an invocation's number. */
export const WRITTEN = 0x8000_0000;
export const FIRST_INVOCATION = 0x7fff_ffff;

/**
 * Neighbours come along within this many bytes, where a page in so many of them is wanted; and twice
 * as many with each round in which some of them are lacking again.
 */
const WIDE_BYTES = 65_536;
const WIDE_SHARE = 4;

/** What is run again where it lacked a page; what is said of invocations holds for it. */
export type Unit = 'invocation' | 'workgroup';

export class PageRounds {
  /** For the GPU: by page, the first element of its frame; 0: it is absent. */
  readonly entries: Uint32Array<ArrayBuffer>;
  /** Whether invocations are to note no more than the first page that they lack. */
  strict = false;
  rounds = 0;
  private readonly roundLimit = new RoundLimit();
  /** Whose pages were too many in the last round: what it found may make them fewer. */
  private blamed: string | null = null;
  private readonly frames: FrameList[];
  private part = 0;
  /** Of the parts before it. */
  private roundsBefore = 0;
  /** What comes for the rounds of the part, as it is remembered: the next one last. */
  private known: PageGroup[] = [];
  /** Its rounds. */
  private played: PlayedRound[] = [];
  private playedPages = 0;
  private firstNote = FIRST_INVOCATION;

  constructor(
    readonly tables: readonly PageTable[],
    readonly unit: Unit = 'invocation',
    /** What launches like this one have touched. */
    private readonly memory: PageMemory | null = null,
  ) {
    const last = tables.at(-1) as PageTable;
    this.entries = new Uint32Array(last.firstEntry + last.pages);
    this.frames = tables.map((each) => new FrameList(each));
  }

  /**
   * A part begins to run in rounds.
   * @returns what comes before the first of them
   */
  begin(part: number): readonly PageCopy[] {
    this.part = part;
    this.roundsBefore = this.rounds;
    this.known = (this.memory?.of(part) ?? []).toReversed();
    this.played = [];
    this.playedPages = 0;
    this.firstNote = FIRST_INVOCATION;
    for (const each of this.frames) each.forget();
    const group = this.known.pop();
    return group === undefined ? [] : this.admit(group);
  }

  /** What is run by itself and has this number, or a greater one, does not run next. */
  get limit(): number {
    return this.roundLimit.end;
  }

  /**
   * @param units how many there are of what is run by itself
   * @param noted by page: of the first invocation that touched it, the complement of its number, 0
   * if none has, and `WRITTEN`; behind that, where invocations have logs, the words of one that was
   * too small
   */
  advance(noted: Uint32Array, units: number): Advance {
    this.rounds++;
    for (const [number, { firstEntry, pages }] of this.tables.entries())
      (this.frames[number] as FrameList).written(
        noted.subarray(firstEntry, firstEntry + pages),
        this.entries,
      );
    const notes = noted.map((each) => each & FIRST_INVOCATION);
    const full = noted[this.entries.length] ?? 0;
    if (full !== 0) return { homes: this.allHome(), copies: [], end: { refused: fullLog(full) } };
    const first = this.firstLacking(notes);
    const goesOn = first < this.firstNote;
    this.note(notes, goesOn);
    // Behind a limit there are others.
    if (goesOn && first !== 0) this.firstNote = first;
    if (first === 0) {
      this.strict = false;
      this.blamed = null;
      if (this.roundLimit.end < units) {
        this.roundLimit.goOn();
        return { homes: [], copies: [], end: null };
      }
      this.roundLimit.lift();
      const rounds = this.rounds - this.roundsBefore;
      this.memory?.keep(this.part, rounds, this.tables, this.played);
      return { homes: this.allHome(), copies: [], end: 'done' };
    }
    const known = this.known.pop();
    if (known !== undefined) return this.take(known, false);
    return this.next(notes, units);
  }

  /** By what is noted now. */
  private next(notes: Uint32Array, units: number): Advance {
    const wanted = this.tables.map(({ firstEntry, pages }) => {
      const touched: number[] = [];
      for (let page = 0; page < pages; page++)
        if (notes[firstEntry + page] !== 0) touched.push(page);
      const note = (page: number): number => notes[firstEntry + page] as number;
      return touched.sort((one, other) => note(other) - note(one) || one - other);
    });
    const excess = this.excess(wanted, notes);
    const before = this.blamed;
    this.blamed = this.strict ? (excess?.whose ?? null) : null;
    if (excess !== null && before === excess.whose)
      return { homes: this.allHome(), copies: [], end: { refused: excess.reason } };
    // With zeros for what is absent an invocation may have strayed: it must not, before it is to
    // blame.
    if (excess !== null) {
      this.strict = true;
      return { homes: [], copies: [], end: null };
    }
    this.roundLimit.set(this.lacking(wanted, notes), units);
    const taken = this.tables.map(({ frames }, at) => (wanted[at] as number[]).slice(0, frames));
    return this.take(taken, true);
  }

  /** Has pages be there, no more of each table than it has frames. */
  private take(pages: PageGroup, wide: boolean): Advance {
    const taken = this.frames.map((each, number) =>
      each.take(pages[number] as readonly number[], this.entries, wide),
    );
    return {
      homes: taken.flatMap(({ homes }) => homes),
      copies: taken.flatMap(({ copies }) => copies),
      end: null,
    };
  }

  /** What is noted of the first that lacks a page; 0: none does. */
  private firstLacking(notes: Uint32Array): number {
    let first = 0;
    for (const [page, entry] of this.entries.entries())
      if (entry === 0) first = Math.max(first, notes[page] as number);
    return first;
  }

  /** Remembers what was there. */
  private note(notes: Uint32Array, isDone: boolean): void {
    if (this.memory === null || this.playedPages > MOST_PAGES) return;
    const group = this.tables.map(({ firstEntry, pages, notes: areNoted }) => {
      const there: number[] = [];
      for (let page = 0; page < pages; page++) {
        const isThere = this.entries[firstEntry + page] !== 0;
        // Touches of what is there are noted only where not all of it can be.
        if (isThere && (!areNoted || notes[firstEntry + page] !== 0)) there.push(page);
      }
      return there;
    });
    this.playedPages += group.reduce((sum, { length }) => sum + length, 0);
    this.played.push({ pages: group, isDone });
  }

  /** Has pages be there that the launch only reads. @param wanted by table, within its frames */
  admit(wanted: readonly (readonly number[])[]): readonly PageCopy[] {
    return this.frames.flatMap(
      (each, number) => each.take(wanted[number] as number[], this.entries, false).copies,
    );
  }

  private allHome(): PageCopy[] {
    return this.frames.flatMap((each) => each.allHome());
  }

  /** What is wanted of each table, first touched first, and how much of it comes. */
  private lacking(wanted: readonly (readonly number[])[], notes: Uint32Array): Lacking {
    let [first, unmet, coming, pages] = [Infinity, Infinity, 0, 0];
    for (const [number, { frames, firstEntry }] of this.tables.entries()) {
      const own = wanted[number] as readonly number[];
      const unitOf = (at: number): number =>
        FIRST_INVOCATION - (notes[firstEntry + (own[at] as number)] as number);
      pages += own.length;
      coming += Math.min(frames, own.length);
      if (own.length === 0) continue;
      first = Math.min(first, unitOf(0));
      if (own.length > frames) unmet = Math.min(unmet, unitOf(frames));
    }
    return { first, unmet, coming, pages };
  }

  /** An invocation that touches more than there is room for. */
  private excess(
    wanted: readonly (readonly number[])[],
    notes: Uint32Array,
  ): { whose: string; reason: string } | null {
    for (const [number, { name, frames, pageBytes, firstEntry }] of this.tables.entries()) {
      const pages = wanted[number] as readonly number[];
      const first = notes[firstEntry + (pages[0] ?? 0)];
      const own = pages.filter((page) => notes[firstEntry + page] === first).length;
      if (own <= frames) continue;
      // Those that it would touch next have not been noted.
      const reason = tooManyPages({ name, frames, pageBytes }, this.unit);
      return { whose: `${first} ${name}`, reason };
    }
    return null;
  }
}

/** Why it cannot run. */
export function tooManyPages(
  { name, frames, pageBytes }: Pick<PageTable, 'name' | 'frames' | 'pageBytes'>,
  unit: Unit,
): string {
  return (
    `a single ${unit} touches more than the ${frames} pages of '${name}', of ${pageBytes} bytes each, that there is room for; ` +
    `have each ${unit} touch fewer elements`
  );
}

function fullLog(words: number): string {
  return (
    `a single invocation uses more than ${words} results of atomics and of reads of what the kernel writes; ` +
    'have it use fewer, and never wait in a loop for what another one writes'
  );
}

/** The frames of one array. */
class FrameList {
  /** By frame, from 1 on: the page that it has, or -1. */
  private readonly pages: Int32Array;
  /** By page: 1 where it is wanted just now. */
  private readonly kept: Uint8Array;
  /** Frames whose pages were written since they came. */
  private readonly writtenPages = new Set<number>();
  /** In how many rounds of a part pages were lacking, by neighbourhood. */
  private readonly lacks = new Map<number, number>();

  constructor(private readonly table: PageTable) {
    this.pages = new Int32Array(table.frames + 1).fill(-1);
    this.kept = new Uint8Array(table.pages);
  }

  /** @param noted by page of this array */
  written(noted: Uint32Array, entries: Uint32Array): void {
    const { firstEntry, shift } = this.table;
    for (const [page, note] of noted.entries())
      if ((note & WRITTEN) !== 0)
        this.writtenPages.add((entries[firstEntry + page] as number) / 2 ** shift);
  }

  allHome(): PageCopy[] {
    return this.home([...this.writtenPages]);
  }

  /** Another part begins, which may touch pages in another way. */
  forget(): void {
    this.lacks.clear();
  }

  /** Has pages be there, and others go; returns the copies. @param wide with neighbours */
  take(
    wanted: readonly number[],
    entries: Uint32Array,
    wide = true,
  ): Pick<Advance, 'homes' | 'copies'> {
    const { firstEntry, shift } = this.table;
    const coming = wanted.filter((page) => entries[firstEntry + page] === 0);
    if (coming.length === 0) return { homes: [], copies: [] };
    const kept = this.kept;
    for (const page of wanted) kept[page] = 1;
    const empty: number[] = [];
    const others: number[] = [];
    const written: number[] = [];
    for (let frame = 1; frame < this.pages.length; frame++) {
      const page = this.pages[frame] as number;
      if (page === -1) empty.push(frame);
      else if (kept[page] === 0) (this.writtenPages.has(frame) ? written : others).push(frame);
    }
    // Neighbours, which were not asked for, come only into empty frames: no page goes for them.
    if (wide) this.widen(coming, entries, empty.length);
    for (const page of wanted) kept[page] = 0;
    for (const page of coming) kept[page] = 0;
    const taken = [...empty, ...others, ...written].slice(0, coming.length);
    const homes = this.home(taken.filter((frame) => this.writtenPages.has(frame)));
    const frames = Uint32Array.from(taken).sort();
    coming.sort((one, other) => one - other);
    for (const [at, page] of coming.entries()) {
      const frame = frames[at] as number;
      const before = this.pages[frame] as number;
      if (before !== -1) entries[firstEntry + before] = 0;
      this.pages[frame] = page;
      entries[firstEntry + page] = frame * 2 ** shift;
    }
    return { homes, copies: this.copies(coming, frames) };
  }

  /** What is copied for the pages of frames to be home. */
  private home(frames: number[]): PageCopy[] {
    frames.sort((one, other) => one - other);
    for (const each of frames) this.writtenPages.delete(each);
    return this.copies(
      frames.map((each) => this.pages[each] as number),
      frames,
    );
  }

  /** Adds neighbours of pages that many want, as long as frames are empty. */
  private widen(coming: number[], entries: Uint32Array, empty: number): void {
    const { pageBytes, pages, firstEntry } = this.table;
    const wide = Math.floor(WIDE_BYTES / pageBytes);
    if (wide < 2) return;
    const counts = new Map<number, number>();
    for (const page of coming)
      counts.set(Math.floor(page / wide), (counts.get(Math.floor(page / wide)) ?? 0) + 1);
    const add = (from: number, count: number): void => {
      const end = Math.min(pages, from + count);
      for (let page = from; page < end && coming.length < empty; page++) {
        if (entries[firstEntry + page] !== 0 || this.kept[page] !== 0) continue;
        this.kept[page] = 1;
        coming.push(page);
      }
    };
    const asked = [...coming];
    for (const page of asked) {
      const group = Math.floor(page / wide);
      const count = counts.get(group) as number;
      const around =
        count * WIDE_SHARE < wide ? Math.min(wide, 2 ** (this.lacks.get(group) ?? 0)) : wide;
      add(Math.floor(page / around) * around, around);
    }
    for (const group of counts.keys()) this.lacks.set(group, (this.lacks.get(group) ?? 0) + 1);
  }

  private copies(pages: readonly number[], frames: ArrayLike<number>): PageCopy[] {
    const { pageBytes, bytes, offset, headBytes } = this.table;
    const copies: PageCopy[] = [];
    for (let at = 0; at < pages.length; ) {
      const begin = at++;
      const page = pages[begin] as number;
      const frame = frames[begin] as number;
      while (pages[at] === page + at - begin && frames[at] === frame + at - begin) at++;
      const place = page * pageBytes;
      const length = Math.min((at - begin) * pageBytes, bytes - place);
      const from = offset + headBytes + frame * pageBytes;
      copies.push({ table: this.table, place: headBytes + place, bytes: length, frame: from });
    }
    return copies;
  }
}
