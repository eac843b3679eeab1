/**
 * Copy-on-write clones. A clone is a range whose provider is another range: a page of it that was
 * never touched is filled from its source. A page of the source that a processor wants to write is
 * first given to every clone that does not have it yet; the core commands that (`breakCopyOnWrite`)
 * and lets the writer go on when it is told (`copyOnWriteBroken`), or refuses it where a clone
 * could not be given the page. A page that the source has from elsewhere itself, and that was never
 * written, is not copied: the clone has it from there as well from then on.
 */

import { Access, type DenyReason, HOST_NODE, Status } from '../../../core/basics/types.js';
import type { MemoryManager } from '../../../core/memory-manager.js';
import { statusOf } from '../../../core/table/absence.js';
import type { Range } from '../../../core/table/range.js';
import type { CoreRequests } from '../../core/core-requests.js';

interface Clone {
  readonly range: Range;
  /** Whether the program was told that it lost pages. */
  told: boolean;
}

/** Pages of a source that are being given to its clones. */
interface Breaking {
  readonly first: number;
  readonly count: number;
  /** Their content is to be forgotten. */
  readonly lastChance: boolean;
  /** A single page found no room: none of the others would. */
  starved: boolean;
  /** Pages that some clone could not be given, and still has from the source. */
  readonly failures: Map<number, DenyReason>;
  /** Pages of clones that were waited for once. */
  readonly settled: Set<number>;
}

/** What carries the bytes: the manager's view of host memory. */
export interface CloneMemory {
  readonly pageBytes: number;
  /** Copies pages of the host's node to where the manager can write. */
  copy(page: number, count: number, target: number): void;
  zero(count: number, target: number): void;
}

export class Clones {
  private readonly clones = new Map<number, Clone>();

  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    private readonly memory: CloneMemory,
    private readonly completed: (token: number, status: Status) => void,
    /** Runs something after the current event: within a command the core cannot be called. */
    private readonly later: (action: () => void) => void,
    /** A page of a clone is lost: its source forgot it before; whether it is the clone's first. */
    private readonly onLoss: (page: number, reason: DenyReason, first: boolean) => void,
  ) {}

  /** Makes the untouched `range` a clone of `source`. `done`: the source is copy-on-write. */
  add(source: Range, range: Range, done: (failure: DenyReason | null) => void): void {
    const pages = Math.min(source.pages, range.pages);
    this.manager.derive(range, 0, pages, source);
    this.clones.set(range.id, { range, told: false });
    this.requests.start(
      (request) => this.manager.copyOnWrite(request, source.first, pages),
      (_pages, failure) => done(failure),
    );
  }

  /** The range has been freed: its source needs to keep nothing for it any more. */
  remove(range: Range): void {
    this.clones.delete(range.id);
  }

  /** Whether there are clones at all, which is asked for each page of a file. */
  get any(): boolean {
    return this.clones.size > 0;
  }

  has(range: Range): boolean {
    return this.clones.has(range.id);
  }

  /** Fills pages of a clone from where it has them. */
  provide(range: Range, token: number, page: number, count: number, target: number): Status {
    let zero = true;
    for (let at = page - range.first; at < page - range.first + count && zero; at++) {
      const source = range.sources.at(at);
      if (source === null) return Status.SourceFailed;
      zero = this.manager.pages.isZero(source.first + at);
    }
    if (zero) {
      this.memory.zero(count, target);
      return Status.Done;
    }
    this.later(() => this.fill(range, token, page, count, target));
    return Status.Pending;
  }

  /** Gives a source's pages to clones that need them. With `lastChance` clones may lose them. */
  breakCopyOnWrite(page: number, count: number, lastChance: boolean): void {
    const [failures, settled] = [new Map(), new Set<number>()];
    this.later(() =>
      this.breakNow({ first: page, count, lastChance, starved: false, failures, settled }),
    );
  }

  /** Fills one run after the other that come from one source each. */
  private fill(range: Range, token: number, page: number, count: number, target: number): void {
    const { manager } = this;
    const source = range.sources.at(page - range.first) as Range;
    const from = source.first + page - range.first;
    const run = runFrom(range, page, count, source);
    this.requests.start(
      (request) =>
        manager.bring(request, HOST_NODE, from, run, Access.Read, { hold: true, overtakes: true }),
      (_pages, failure) => {
        // What the source was given while its pages were on their way is not the clone's, which has
        // them from elsewhere by now.
        const same = runFrom(range, page, run, source) === run;
        if (failure === null) {
          if (same) this.memory.copy(from, run, target);
          manager.release(HOST_NODE, from, run, Access.Read);
        }
        if (!same) this.later(() => this.fill(range, token, page, count, target));
        else if (failure !== null || run === count) this.completed(token, statusOf(failure));
        else {
          const rest = target + run * this.memory.pageBytes;
          this.later(() => this.fill(range, token, page + run, count - run, rest));
        }
      },
    );
  }

  private breakNow(breaking: Breaking): void {
    const { first, count, failures, settled } = breaking;
    const { manager } = this;
    const source = manager.pages.rangeOf(first);
    if (source !== undefined) {
      for (const { range } of this.clones.values()) {
        for (let page = first; page < first + count; page++) {
          const at = page - source.first;
          if (failures.has(page) || !this.inherits(range, at, source)) continue;
          const own = range.first + at;
          // A page of zeros needs no copy: the clone only has to know. Nor does one that the source
          // has from elsewhere itself.
          if (this.isQuietZero(own, page)) manager.blank(own, 1);
          else if (!settled.has(own) && this.isBeingFilled(source, range, at)) {
            // Filling it reads the source, where it would wait for the writer, which may itself
            // wait for the clone.
            settled.add(own);
            this.settle(own, () => this.breakNow(breaking));
            return;
          } else if (!this.passOn(source, range, at)) {
            let run = 1;
            while (
              page + run < first + count &&
              !failures.has(page + run) &&
              this.mustCopy(source, range, at + run)
            )
              run++;
            this.giveRun(breaking, range, own, run, () => this.breakNow(breaking));
            return;
          }
        }
      }
    }
    // Looked at from the beginning after each copy: another clone may have been made meanwhile.
    for (let page = first; page < first + count; ) {
      const failure = failures.get(page) ?? null;
      let end = page + 1;
      while (end < first + count && (failures.get(end) ?? null) === failure) end++;
      manager.copyOnWriteBroken(page, end - page, failure);
      page = end;
    }
  }

  /** Whether the clone still has its page at this place from the source. */
  private inherits(range: Range, at: number, source: Range): boolean {
    return (
      at < range.pages &&
      range.sources.at(at) === source &&
      this.manager.pages.isInherited(range.first + at)
    );
  }

  /** Where a page of the source comes from that is no copy of its own; null: nowhere. */
  private parentOf(source: Range, at: number): Range | null {
    const { pages } = this.manager;
    const parent =
      source.derived === true && pages.isInherited(source.first + at)
        ? source.sources.at(at)
        : null;
    return parent === null || pages.lossOf(parent.first + at) !== null ? null : parent;
  }

  /** A clone's clone has a page from where the clone has it: nothing is copied. */
  private passOn(source: Range, range: Range, at: number): boolean {
    const parent = this.parentOf(source, at);
    if (parent !== null) this.manager.derive(range, at, at + 1, parent);
    return parent !== null;
  }

  /** Whether a page that is to be passed on may be on its way from the source just now. */
  private isBeingFilled(source: Range, range: Range, at: number): boolean {
    return this.manager.pages.isMoving(range.first + at) && this.parentOf(source, at) !== null;
  }

  private mustCopy(source: Range, range: Range, at: number): boolean {
    if (!this.inherits(range, at, source) || this.isQuietZero(range.first + at, source.first + at))
      return false;
    return this.parentOf(source, at) === null;
  }

  /** A page that is being filled just now could still be filled from what is written next. */
  private isQuietZero(page: number, source: number): boolean {
    return this.manager.pages.isZero(source) && !this.manager.pages.isMoving(page);
  }

  /** Waits until nothing is under way for a clone's page, which is then its own or unavailable. */
  private settle(page: number, done: () => void): void {
    this.requests.start(
      (request) => this.manager.materialize(request, page, 1, false),
      () => this.later(done),
    );
  }

  /** The core does not say which of several pages cannot be had: they are tried by halves. */
  private giveRun(
    breaking: Breaking,
    range: Range,
    first: number,
    count: number,
    done: () => void,
  ): void {
    const { manager } = this;
    const half = Math.ceil(count / 2);
    this.requests.start(
      (request) => manager.materialize(request, first, count, breaking.lastChance),
      (_pages, failure) => {
        const starves = failure === 'OUT_OF_MEMORY' || failure === 'OUT_OF_STORAGE';
        if (failure !== null && count > 1 && !(starves && breaking.starved)) {
          const rest = (): void => this.giveRun(breaking, range, first + half, count - half, done);
          this.later(() => this.giveRun(breaking, range, first, half, rest));
          return;
        }
        breaking.starved ||= starves;
        const end = first + count;
        const { pages } = manager;
        if (breaking.lastChance) {
          for (
            let lost = pages.firstLost(first, end);
            lost !== -1;
            lost = pages.firstLost(lost + 1, end)
          )
            this.tellLoss(lost, pages.lossOf(lost) ?? 'LOST');
        }
        for (let page = first; failure !== null && page < end; page++) {
          const source = range.sources.at(page - range.first);
          if (source !== null && pages.isInherited(page))
            breaking.failures.set(source.first + page - range.first, failure);
        }
        this.later(done);
      },
    );
  }

  private tellLoss(page: number, reason: DenyReason): void {
    const clone = this.clones.get(this.manager.pages.rangeOf(page)?.id ?? -1);
    this.onLoss(page, reason, clone?.told !== true);
    if (clone !== undefined) clone.told = true;
  }
}

/** How many of these pages of a clone come from the source, up to the first that does not. */
function runFrom(range: Range, page: number, count: number, source: Range): number {
  let run = 0;
  while (run < count && range.sources.at(page + run - range.first) === source) run++;
  return run;
}
