/**
 * Pages that were freed, and that stay where they are since clones still have their content from
 * there: a clone could not be given it, because there is no room for it, or because where it lies
 * does not answer. No processor may use them. They are freed later, block by block, as soon as that
 * succeeds.
 */

import { Access, type DenyReason, PAGES_PER_BLOCK } from '../../../core/basics/types.js';
import type { MemoryManager } from '../../../core/memory-manager.js';
import type { CoreRequests } from '../../core/core-requests.js';

/** How often it is tried whether some can go. */
const PAUSE_MS = 500;

/** Pages [first, end) of an array, some of which may have gone by now. */
export interface KeptPart {
  readonly first: number;
  readonly end: number;
  readonly reason: DenyReason;
}

/** An array, with the parts of it that were freed and are kept. */
export interface Keeper {
  readonly kept: KeptPart[];
}

interface Entry {
  readonly keeper: Keeper;
  readonly part: KeptPart;
  /** Where the next try begins: a block that cannot go must not hold up the others. */
  cursor: number;
  readonly freed: () => void;
}

export class KeptPages {
  private readonly entries: Entry[] = [];
  private trying = false;
  private triedAt = 0;

  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    /** Pages were freed, and some of them are kept. */
    private readonly onKept: (part: KeptPart) => void,
  ) {}

  /**
   * Frees pages of an array. `tried` is called when those have gone that no clone needs, and no
   * processor may use the others; `freed` when the last one has gone, which comes first where all
   * of them go at once.
   */
  free(keeper: Keeper, first: number, count: number, tried: () => void, freed: () => void): void {
    const { manager, requests } = this;
    requests.start(
      (request) => manager.free(request, first, count),
      (_pages, failure) => {
        if (failure === null) {
          freed();
          tried();
          return;
        }
        const part = { first, end: first + count, reason: failure };
        keeper.kept.push(part);
        this.entries.push({ keeper, part, cursor: first, freed });
        this.onKept(part);
        requests.start((request) => manager.protect(request, first, count, Access.None), tried);
      },
    );
  }

  /** Whether there are some, and nothing is being done about them. */
  get any(): boolean {
    return this.entries.length > 0 && !this.trying;
  }

  look(nowMs: number): void {
    if (!this.any || nowMs - this.triedAt < PAUSE_MS) return;
    this.triedAt = nowMs;
    this.tryAgain();
  }

  /** Frees as much as goes of the next part. */
  tryAgain(): void {
    const entry = this.entries.shift();
    if (entry === undefined) return;
    this.entries.push(entry);
    this.trying = true;
    this.freeNext(entry);
  }

  private freeNext(entry: Entry): void {
    const { manager, requests } = this;
    const first = manager.pages.firstKept(entry.cursor, entry.part.end);
    if (first === -1) {
      this.endTry(entry);
      return;
    }
    const end = Math.min(
      entry.part.end,
      (Math.floor(first / PAGES_PER_BLOCK) + 1) * PAGES_PER_BLOCK,
    );
    requests.start(
      (request) => manager.free(request, first, end - first),
      (_pages, failure) => {
        entry.cursor = end;
        if (failure === null) this.freeNext(entry);
        else this.endTry(entry);
      },
    );
  }

  private endTry(entry: Entry): void {
    const { keeper, part, freed } = entry;
    const { pages } = this.manager;
    this.trying = false;
    if (pages.firstKept(part.first, part.end) === -1) {
      this.entries.splice(this.entries.indexOf(entry), 1);
      keeper.kept.splice(keeper.kept.indexOf(part), 1);
      freed();
    } else if (pages.firstKept(entry.cursor, part.end) === -1) entry.cursor = part.first;
  }
}
