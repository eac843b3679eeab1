/**
 * Which pages workgroups touch, told before they run: where indices are numbers of the launch and
 * ids, or come from one number of an array that is not written meanwhile (`table[ids[i / w] * w + i
 * % w]`). With all of these pages there, workgroups run once and lack no page.
 */
import type { Access, LaunchFacts, Named, WorkgroupBox } from '../analysis/access.js';
import { accessesOf } from '../analysis/accesses.js';
import type { Interval } from '../analysis/forms.js';
import type { Slices } from '../analysis/slices.js';
import { writtenBy } from '../analysis/writing.js';
import type { Description, Resource } from '../reading/describe.js';
import type { PageTable } from './page-tables.js';
import { halvesAlong, lengthOf } from './windows.js';

/** Elements `[begin, end)` of an array that name elements of others. */
export interface NamingElements {
  readonly resource: Resource;
  readonly begin: number;
  readonly end: number;
}

/** Workgroups that are one dispatch, and the pages that they touch, by table. */
export interface PlannedBox extends WorkgroupBox {
  readonly pages: readonly (readonly number[])[];
}

/** Elements of a paged array: `factor * number + rest`, for each of some numbers. */
interface Touch {
  readonly table: number;
  readonly factor: number;
  /** One interval or several. */
  readonly rests: readonly Interval[];
  /** Null: there are none, the rest is the index. */
  readonly by: NamingElements | null;
}

/** Each is looked at while the manager does nothing else. */
const MOST_NUMBERS = 2 ** 20;
/** A part whose pages have no room at once is cut into at most so many. */
const MOST_BOXES = 1024;
/** As large as the smallest pages. */
const GAP_BYTES = 256;
/** Boxes of which is known what they touch. */
const MOST_KNOWN = 4096;
const ALL = 2 ** 32;
/** What is touched whatever arrays hold is touched once. */
const NO_NUMBERS = Uint32Array.of(0);

/** What workgroups of a launch touch; it may be asked again when numbers change. */
export class PagePlanner {
  /** By the numbers of a box. */
  private readonly known = new Map<string, readonly Touch[] | null>();

  /**
   * @param paged arrays that the launch does not write
   * @param gapBytes elements that lie no farther apart are taken for neighbours: no more than a page
   */
  constructor(
    private readonly description: Description,
    private readonly launch: LaunchFacts,
    private readonly paged: readonly Resource[],
    private readonly gapBytes = GAP_BYTES,
  ) {}

  /** The numbers that name what is touched. @returns null: it cannot be told before */
  naming(box: WorkgroupBox): readonly NamingElements[] | null {
    const touches = this.touches(box);
    if (touches === null) return null;
    const found = new Map<Resource, NamingElements>();
    for (const { by } of touches) {
      if (by === null) continue;
      const { resource } = by;
      const { begin, end } = found.get(resource) ?? by;
      found.set(resource, {
        resource,
        begin: Math.min(begin, by.begin),
        end: Math.max(end, by.end),
      });
    }
    const all = [...found.values()];
    return all.reduce((sum, { begin, end }) => sum + end - begin, 0) > MOST_NUMBERS ? null : all;
  }

  /** Whether numbers tell which pages are touched, and not any of an array may be. */
  tells(box: WorkgroupBox): boolean {
    const isAny = ({ table, rests: [rest], by }: Touch): boolean =>
      by === null &&
      rest !== undefined &&
      rest.hi - rest.lo + 1 >= lengthOf(this.paged[table] as Resource, this.launch);
    return this.naming(box) !== null && !(this.touches(box) ?? []).some(isAny);
  }

  /** The most pages of so many elements, whatever the numbers are; Infinity: unknown. */
  mostPages(box: WorkgroupBox, resource: Resource, pageElements: number): number {
    const touches = this.touches(box);
    if (touches === null) return Infinity;
    const table = this.paged.indexOf(resource);
    let most = 1;
    for (const { by, rests, ...touch } of touches) {
      if (touch.table !== table) continue;
      const each = rests.reduce(
        (sum, { lo, hi }) => sum + 1 + Math.ceil((hi - lo + 1) / pageElements),
        0,
      );
      most += (by === null ? 1 : by.end - by.begin) * each;
    }
    return most;
  }

  /**
   * Cuts workgroups so that the pages of each box have frames; a look at a box is a slice.
   * @param tables of the paged arrays, in their order
   * @param numbersOf the content of such elements
   * @returns null: what is touched cannot be told before, or is too much
   */
  *boxes(
    whole: WorkgroupBox,
    tables: readonly PageTable[],
    numbersOf: (elements: NamingElements) => Uint32Array,
  ): Slices<readonly PlannedBox[] | null> {
    const marks = tables.map(({ pages }) => new Uint8Array(pages));
    const boxes: PlannedBox[] = [];
    const waiting: WorkgroupBox[] = [whole];
    for (let box = waiting.pop(); box !== undefined; box = waiting.pop()) {
      yield;
      const touches = this.touches(box);
      if (touches === null) return null;
      const pages = this.pages(touches, tables, marks, numbersOf);
      if (pages !== null) {
        boxes.push({ first: box.first, count: box.count, pages });
        continue;
      }
      const halves = this.halvesOf(box);
      if (halves === null || boxes.length + waiting.length + 2 > MOST_BOXES) return null;
      waiting.push(halves[1], halves[0]);
    }
    return boxes;
  }

  /**
   * An array of which the first workgroup of a box touches more pages than it has frames, whatever
   * arrays hold; null: there is none for sure.
   * @param alone its first invocation, rather than all of them
   */
  excess({ first }: WorkgroupBox, tables: readonly PageTable[], alone: boolean): PageTable | null {
    const box: WorkgroupBox = { first, count: [1, 1, 1] };
    const { accesses } = accessesOf(this.description, this.launch, box, alone);
    const touched = tables.map(() => new Set<number>());
    for (const { resource, isHead, certain } of accesses) {
      const number = this.paged.indexOf(resource);
      const table = tables[number];
      if (table === undefined || isHead) continue;
      const last = lengthOf(resource, this.launch) - 1;
      const pages = touched[number] as Set<number>;
      // No page lies in a gap.
      const gap = Math.min(gapOf(resource, this.gapBytes), 2 ** table.shift - 1);
      for (const { lo, hi } of certain(gap) ?? []) {
        const end = Math.min(hi, last) >>> table.shift;
        for (let page = Math.max(lo, 0) >>> table.shift; page <= end; page++) pages.add(page);
        if (pages.size > table.frames) return table;
      }
    }
    return null;
  }

  /** Whether a box's first workgroup has frames; null: numbers tell that, or nothing does. */
  hasRoom({ first }: WorkgroupBox, tables: readonly PageTable[]): boolean | null {
    const touches = this.touches({ first, count: [1, 1, 1] });
    if (touches === null || touches.some(({ by }) => by !== null)) return null;
    const marks = tables.map(({ pages }) => new Uint8Array(pages));
    return this.pages(touches, tables, marks, () => NO_NUMBERS) !== null;
  }

  /** Along the dimension that leaves the least to touch; null: it is one workgroup. */
  private halvesOf(box: WorkgroupBox): readonly [WorkgroupBox, WorkgroupBox] | null {
    let best: readonly [WorkgroupBox, WorkgroupBox] | null = null;
    let least = Infinity;
    for (const axis of [2, 1, 0]) {
      if ((box.count[axis] as number) === 1) continue;
      const halves = halvesAlong(box, axis);
      const touched = this.elements(halves[0]);
      if (touched >= least) continue;
      best = halves;
      least = touched;
    }
    return best;
  }

  /** How many elements are touched at most; what numbers name counts each time. */
  private elements(box: WorkgroupBox): number {
    let sum = 0;
    for (const { by, rests } of this.touches(box) ?? []) {
      const each = rests.reduce((all, { lo, hi }) => all + hi - lo + 1, 0);
      sum += each * (by === null ? 1 : by.end - by.begin);
    }
    return sum;
  }

  private touches(box: WorkgroupBox): readonly Touch[] | null {
    const key = `${box.first} ${box.count}`;
    let touches = this.known.get(key);
    if (touches === undefined) {
      if (this.known.size === MOST_KNOWN) this.known.clear();
      touches = this.found(box);
      this.known.set(key, touches);
    }
    return touches;
  }

  private found(box: WorkgroupBox): readonly Touch[] | null {
    const accesses = accessesOf(this.description, this.launch, box);
    const written = writtenBy(accesses);
    const touches: Touch[] = [];
    for (const access of accesses.accesses) {
      const table = this.paged.indexOf(access.resource);
      if (table === -1 || access.isHead) continue;
      const touch = touchOf(access, table, this.launch, written, this.gapBytes);
      if (touch === null) return null;
      touches.push(touch);
    }
    return touches;
  }

  /** @returns null: there are not frames enough */
  private pages(
    touches: readonly Touch[],
    tables: readonly PageTable[],
    marks: readonly Uint8Array[],
    numbersOf: (elements: NamingElements) => Uint32Array,
  ): readonly (readonly number[])[] | null {
    for (const each of marks) each.fill(0);
    const lists: number[][] = tables.map(() => []);
    for (const { table, factor, rests, by } of touches) {
      const { shift, frames } = tables[table] as PageTable;
      const mark = marks[table] as Uint8Array;
      const list = lists[table] as number[];
      const last = lengthOf(this.paged[table] as Resource, this.launch) - 1;
      /** Those of elements `[first, end]`, of which what lies beyond the array is its last one. */
      const note = (first: number, end: number): void => {
        const to = Math.min(end, last) >>> shift;
        for (let page = Math.min(first, last) >>> shift; page <= to; page++) {
          if (mark[page] !== 0) continue;
          mark[page] = 1;
          list.push(page);
        }
      };
      const numbers = by === null ? NO_NUMBERS : numbersOf(by);
      for (const rest of rests) {
        const more = rest.hi - rest.lo;
        const from = rest.lo | 0;
        if (!(more < ALL - 1)) note(0, last);
        else {
          for (const number of numbers) {
            const first = (Math.imul(number, factor) + from) >>> 0;
            const end = first + more;
            note(first, end);
            // Indices wrap around.
            if (end >= ALL) note(0, end - ALL);
            if (list.length > frames) return null;
          }
        }
      }
      if (list.length > frames) return null;
    }
    return lists.map((list) => [...Uint32Array.from(list).sort()]);
  }
}

function touchOf(
  { resource, named, pieces }: Access,
  table: number,
  launch: LaunchFacts,
  written: ReadonlySet<Resource>,
  gapBytes: number,
): Touch | null {
  const gap = gapOf(resource, gapBytes);
  if (named === null) {
    const rests = pieces(gap);
    return rests && { table, factor: 0, rests, by: null };
  }
  if (written.has(named.by.resource)) return null;
  const by = namingOf(named, launch);
  return by && { table, factor: named.factor, rests: named.pieces(gap), by };
}

/** Elements between others that are taken for neighbours. */
function gapOf({ runtimeArray }: Resource, gapBytes: number): number {
  return Math.floor(gapBytes / (runtimeArray?.stride ?? 1));
}

/** What is read beyond the end of an array may be any number. */
function namingOf({ by: { resource, range } }: Named, launch: LaunchFacts): NamingElements | null {
  if (range === null || range.lo < 0 || range.hi >= lengthOf(resource, launch)) return null;
  return { resource, begin: range.lo, end: range.hi + 1 };
}
