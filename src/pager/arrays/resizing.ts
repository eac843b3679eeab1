/**
 * Arrays that get longer or shorter. Within the addresses that they were given at the beginning
 * they stay where they are. Otherwise they move: the new place becomes a clone of the old one, and
 * the old one is freed, which has the clone take over page by page what it does not have yet. What
 * is new reads as zero, and so does what was given back before.
 */

import { Access, type DenyReason, PAGE_BYTES } from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import { fillMemory } from '../../linux/memory/memory.js';
import type { Requests } from '../protocol/requests.js';
import type { WireError } from '../protocol/wire.js';
import { RequestError } from '../protocol/wire.js';
import type { ArrayRoom, Arrays } from './arrays.js';
import type { ClonedArrays } from './cloned-arrays.js';
import type { Guards } from './modules/guards.js';
import type { Notifiers } from './modules/notifiers.js';
import type { Pins } from './pins.js';
import { type ArrayRecord, pagesOf } from './table/array-table.js';
import type { SpaceContext } from './table/context.js';
import { withHostBytes } from './table/host-bytes.js';

type Done = (answer: Requests['resize']['out'] | null, failure: WireError | null) => void;
type Next = (failure: DenyReason | null) => void;
type Run = readonly [first: number, end: number, access: Access];

export class Resizing {
  constructor(
    private readonly context: SpaceContext,
    private readonly arrays: Arrays,
    private readonly room: Pick<ArrayRoom, 'commitment' | 'quotas'>,
    private readonly clonedArrays: ClonedArrays,
    private readonly pins: Pins,
    private readonly notifiers: Notifiers,
    private readonly guards: Guards,
  ) {}

  resize({ range: id, name, bytes }: Requests['resize']['in'], done: Done): void {
    const record = this.arrays.usable(id, name, 'resize');
    const { range } = record;
    const what = `cannot resize array ${name}`;
    const source = this.context.sources.of(range.first);
    if (source !== undefined && source.kind !== 'clone') {
      const message = `${what}: a file, a provider or the machines that share it say how long it is; make another array, and copy to it`;
      throw new RequestError('NOT_RESIZABLE', message, { array: name });
    }
    this.pins.check(range.first, range.pages, 'resize');
    if (record.uses > 0 || record.launches > 0) {
      const message = `${what}: a launch, a copy, a prefetch or another call that was made before uses it; await that first`;
      throw new RequestError('ARRAY_IN_USE', message, { array: name });
    }
    this.room.quotas.check(what, name, bytes - record.bytes);
    record.resizing = true;
    record.wasResized = true;
    // The page that is cleared behind the last element is the only one whose content matters.
    const tail = range.first + Math.floor(Math.min(bytes, record.bytes) / PAGE_BYTES);
    const end = (to: ArrayRecord, failure: DenyReason | null): void => {
      record.resizing = false;
      if (failure === null)
        done({ id: to.range.id, firstPage: to.range.first, pages: to.pages }, null);
      else
        done(
          null,
          this.context.places.denialError(failure, tail, `a change of length of array ${name}`),
        );
    };
    try {
      if (bytes < record.bytes) this.shrink(record, bytes, (failure) => end(record, failure));
      else if (pagesOf(bytes) <= range.reserved)
        this.grow(record, bytes, (failure) => end(record, failure));
      else this.move(record, bytes, end);
    } catch (error) {
      record.resizing = false;
      throw error;
    }
  }

  private shrink(record: ArrayRecord, bytes: number, done: Next): void {
    const { range, pages: before } = record;
    const pages = pagesOf(bytes);
    this.clearTail(range, bytes, (failure) => {
      const count = before - pages;
      if (failure !== null || count === 0) {
        if (failure === null) record.bytes = bytes;
        done(failure);
        return;
      }
      const first = range.first + pages;
      const resized = this.notifiers.resizing(first, count);
      this.arrays.freePages(record, first, count, () => {
        resized();
        record.bytes = bytes;
        record.pages = pages;
        done(null);
      });
    });
  }

  private grow(record: ArrayRecord, bytes: number, done: Next): void {
    const { range, pages: before } = record;
    const pages = pagesOf(bytes);
    const more = pages - before;
    const end = range.first + pages;
    // What it had there is kept for its clones.
    const kept = record.kept.find((part) => part.first < end && part.end > range.first + before);
    if (kept !== undefined) {
      done(kept.reason);
      return;
    }
    this.room.commitment.reserve(`cannot resize array ${range.name}`, more * PAGE_BYTES, more);
    // A view that is older than a shrink could have written behind the end.
    this.clearTail(range, record.bytes, (failure) => {
      if (failure !== null) this.room.commitment.unreserve(more);
      else {
        if (more > 0) this.context.manager.grow(range, before, pages);
        record.committedPages += more;
        record.bytes = bytes;
        record.pages = pages;
      }
      if (failure !== null || more === 0) done(failure);
      else this.unmapGranules(range.first + before, more, done);
    });
  }

  /** A device that maps larger pages has found something else behind the end until now. */
  private unmapGranules(first: number, count: number, done: Next): void {
    this.context.requests.start(
      (request) => this.context.manager.unmapGranules(request, first, count),
      (_pages, failure) => done(failure),
    );
  }

  private move(
    old: ArrayRecord,
    bytes: number,
    done: (to: ArrayRecord, failure: DenyReason | null) => void,
  ): void {
    const { range, pages: before, elementBytes } = old;
    const options = { name: range.name, writable: true, provided: true, derived: true };
    const made = this.arrays.make(
      bytes,
      elementBytes,
      options,
      `cannot resize array ${range.name}`,
    );
    made.type = old.type;
    made.process = old.process;
    this.arrays.place(made, old.numa);
    const { first } = made.range;
    const giveUp = (failure: DenyReason): void => {
      this.arrays.free({ range: made.range.id, firstPage: first, count: made.pages });
      done(old, failure);
    };
    this.context.manager.blank(first + before, made.pages - before);
    const rights: Run[] = [];
    range.protection.each(0, before, (from, to, access) => rights.push([from, to, access]));
    const holes = this.holesOf(old);
    // Pages that may not be read could not be taken over.
    const hidden = rights.filter(([, , access]) => access === Access.None);
    this.clearTail(range, old.bytes, (unclear) => {
      if (unclear !== null) giveUp(unclear);
      else
        this.protectAll(range.first, hidden, Access.Read, () => {
          this.clonedArrays.derive(range, made.range, (failure) => {
            if (failure === null) this.takeOver(old, made, holes, rights, () => done(made, null));
            else giveUp(failure);
          });
        });
    });
  }

  /** The new place has what the old one had, which goes. */
  private takeOver(
    old: ArrayRecord,
    made: ArrayRecord,
    holes: readonly Run[],
    rights: readonly Run[],
    done: () => void,
  ): void {
    const { range, pages: before } = old;
    range.advice.each(0, before, (from, to, advice) =>
      this.context.manager.advise(made.range, from, to, advice),
    );
    this.notifiers.release(range);
    this.guards.release(range, made.range);
    this.freeAll(made, holes, () => {
      this.arrays.move(old, () => {
        const kept = rights.filter(([, , access]) => access !== Access.Write);
        this.protectAll(made.range.first, kept, null, done);
      });
    });
  }

  /** Zeros behind the last element: they are the array's when it grows. */
  private clearTail(range: Range, bytes: number, next: Next): void {
    const within = bytes % PAGE_BYTES;
    const page = range.first + Math.floor(bytes / PAGE_BYTES);
    const { pages } = this.context.manager;
    // The page of an array without elements is all behind its end.
    const isWhole = within === 0 && bytes > 0;
    if (
      isWhole ||
      pages.isZero(page) ||
      pages.firstFreed(page, page + 1) !== -1 ||
      pages.lossOf(page) !== null
    ) {
      next(null);
      return;
    }
    const access = range.protection.at(page - range.first);
    const at = page - range.first;
    this.protectAll(
      range.first,
      access === Access.Write ? [] : [[at, at + 1, access]],
      Access.Write,
      () => {
        const tail = { at: page * PAGE_BYTES + within, bytes: PAGE_BYTES - within };
        withHostBytes(
          this.context,
          tail,
          Access.Write,
          () => fillMemory(this.context.memory + tail.at, 0, tail.bytes),
          (failure) => {
            this.protectAll(
              range.first,
              access === Access.Write ? [] : [[at, at + 1, access]],
              null,
              () => next(failure),
            );
          },
        );
      },
    );
  }

  /** Gives parts, counted from `first`, another right: all the same one, or each its own. */
  private protectAll(
    first: number,
    runs: readonly Run[],
    access: Access | null,
    next: () => void,
  ): void {
    const [run, ...rest] = runs;
    if (run === undefined) {
      next();
      return;
    }
    const [from, to, own] = run;
    this.context.requests.start(
      (request) => this.context.manager.protect(request, first + from, to - from, access ?? own),
      () => this.protectAll(first, rest, access, next),
    );
  }

  private freeAll(record: ArrayRecord, holes: readonly Run[], next: () => void): void {
    const [hole, ...rest] = holes;
    if (hole === undefined) {
      next();
      return;
    }
    const [from, to] = hole;
    this.arrays.freePages(record, record.range.first + from, to - from, () =>
      this.freeAll(record, rest, next),
    );
  }

  /** Parts that were freed. */
  private holesOf({ range, pages, kept }: ArrayRecord): Run[] {
    const { manager } = this.context;
    const { first } = range;
    const last = first + pages;
    const holes: Run[] = kept
      .filter((part) => part.first < last)
      .map((part) => [part.first - first, Math.min(part.end, last) - first, Access.None]);
    if (range.freedPages === 0) return holes;
    for (let hole = manager.pages.firstFreed(first, last); hole !== -1; ) {
      const after = manager.pages.firstKept(hole, last);
      const end = after === -1 ? last : after;
      holes.push([hole - first, end - first, Access.None]);
      hole = manager.pages.firstFreed(end, last);
    }
    return holes;
  }
}
