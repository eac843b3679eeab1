/**
 * Which pages were there together when parts of a launch went on, for the next launch like it: it
 * has them in the same order, without asking for them before.
 */
import type { PageTable } from './page-tables.js';

/** Pages that are there together, by table. */
export type PageGroup = readonly (readonly number[])[];

/** What was there and touched in a round. */
export interface PlayedRound {
  readonly pages: PageGroup;
  /** Whether the first one that had lacked a page was done by it. */
  readonly isDone: boolean;
}

/** Pages of all parts of a launch that are remembered at most. */
export const MOST_PAGES = 2 ** 18;

export class PageMemory {
  private readonly parts = new Map<
    number,
    { readonly count: number; readonly groups: readonly PageGroup[] }
  >();
  private size = 0;

  /** Groups of pages, each for a round. */
  of(part: number): readonly PageGroup[] {
    return this.parts.get(part)?.groups ?? [];
  }

  /**
   * @param count rounds that the part has taken
   * @param rounds as far as they were noted
   */
  keep(
    part: number,
    count: number,
    tables: readonly PageTable[],
    rounds: readonly PlayedRound[],
  ): void {
    const before = this.parts.get(part);
    if (before?.count === count) return;
    const merged = mergedGroups(tables, rounds);
    const size = this.size - sizeOf(this.of(part)) + sizeOf(merged);
    if (size > MOST_PAGES) return;
    this.size = size;
    this.parts.set(part, { count, groups: merged });
  }
}

function sizeOf(groups: readonly PageGroup[]): number {
  return groups.flat().reduce((sum, { length }) => sum + length, 0);
}

/** What has room together comes together; what nobody was done by comes only where it has room. */
function mergedGroups(tables: readonly PageTable[], rounds: readonly PlayedRound[]): PageGroup[] {
  const merged: GrowingGroup[] = [];
  let waiting = new GrowingGroup(tables);
  for (const { pages, isDone } of rounds) {
    if (merged.at(-1)?.add(pages) === true) continue;
    if (!waiting.add(pages)) {
      waiting = new GrowingGroup(tables);
      waiting.add(pages);
    }
    if (!isDone) continue;
    merged.push(waiting);
    waiting = new GrowingGroup(tables);
  }
  return merged.map(({ pages }) => pages);
}

class GrowingGroup {
  private readonly sets: readonly Set<number>[];

  constructor(private readonly tables: readonly PageTable[]) {
    this.sets = tables.map(() => new Set());
  }

  get pages(): PageGroup {
    return this.sets.map((each) => [...each]);
  }

  /** False: there is no room for all of it, and it is as it was. */
  add(pages: PageGroup): boolean {
    const isRoom = this.tables.every(({ frames }, table) => {
      const set = this.sets[table] as Set<number>;
      const more = (pages[table] as readonly number[]).filter((page) => !set.has(page));
      return set.size + more.length <= frames;
    });
    if (!isRoom) return false;
    for (const [table, set] of this.sets.entries())
      for (const page of pages[table] as readonly number[]) set.add(page);
    return true;
  }
}
