/**
 * Pinned pages stay in host memory until the last pin of them has ended. Locking keeps the kernel
 * from swapping them, too: the manager locks its own mapping of them, since a lock of the
 * registered one would fault, and the manager would have to serve itself.
 */

import { Access, HOST, HOST_NODE, PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import { mlock, munlock } from '../../linux/memory/memory.js';
import { lockedMemoryLimit } from '../../linux/processes/process.js';
import type { PinReport } from '../protocol/pages.js';
import type { Requests } from '../protocol/requests.js';
import type { WireError } from '../protocol/wire.js';
import { RequestError, wireError } from '../protocol/wire.js';
import type { Arrays } from './arrays.js';
import type { Commitment } from './room/commitment.js';
import type { SpaceContext } from './table/context.js';

interface Run {
  readonly first: number;
  readonly end: number;
}

interface Pin extends Run {
  readonly id: number;
  readonly range: Range;
  readonly lock: Requests['pin']['in']['lock'];
  readonly done: (report: PinReport | null, failure: WireError | null) => void;
  /** What of the host's budget was set aside for it. */
  readonly reserved: number;
  /** The pages are there, and stay. */
  held: boolean;
  /** Locked from the first page up to this one. */
  lockedEnd: number;
  /** The program does not want it any more. */
  dropped: boolean;
}

export class Pins {
  private readonly pins = new Map<number, Pin>();
  /** Pins that are being locked, piece by piece: a large one takes longer than a fault may wait. */
  private readonly locking: Pin[] = [];
  private pinnedPages = 0;
  private lockedPages = 0;

  constructor(
    private readonly context: SpaceContext,
    private readonly arrays: Arrays,
    private readonly commitment: Commitment,
  ) {}

  get pinnedBytes(): number {
    return this.pinnedPages * PAGE_BYTES;
  }

  get lockedBytes(): number {
    return this.lockedPages * PAGE_BYTES;
  }

  /** Whether pages wait to be locked. */
  get busy(): boolean {
    return this.locking.length > 0;
  }

  pin(wanted: Requests['pin']['in'], done: Pin['done']): void {
    const { pin: id, range: rangeId, name, firstPage: first, count, lock, writable, hold } = wanted;
    const range = this.arrays.rangeOf(rangeId);
    // What may only be read is not in the budget: it could be dropped, and pinned it cannot.
    const reserved = range.writable ? 0 : count;
    const end = first + count;
    const pin: Pin = {
      id,
      range,
      first,
      end,
      lock,
      done,
      reserved,
      held: false,
      lockedEnd: first,
      dropped: false,
    };
    const what = `cannot ${hold ? 'hold' : 'pin'} ${count * PAGE_BYTES} bytes of array ${name}`;
    this.commitment.checkPinned(
      what,
      this.pinnedPages,
      sizeOf(this.alone(pin, first, end, heldPart)),
    );
    this.commitment.reserve(what, count * PAGE_BYTES, reserved);
    this.pins.set(id, pin);
    // A program that pins wants no faults, and one that holds says whether it writes; what files
    // and sources gave stays theirs as long as it is not written.
    const allowed = this.context.manager.pages.denial(first, count, Access.Write, HOST) === null;
    const mayWrite = writable || (!hold && !range.provided && allowed);
    const access = mayWrite ? Access.Write : Access.Read;
    this.context.requests.start(
      (request) =>
        this.context.manager.acquire(request, HOST, first, count, access, { hold: true }),
      (_pages, failure) => {
        if (failure !== null) {
          this.pins.delete(id);
          this.commitment.unreserve(reserved);
          const page = this.context.places.pageWith(failure, first, count);
          done(null, this.context.places.denialError(failure, page, 'a pin'));
          return;
        }
        this.pinnedPages += sizeOf(this.alone(pin, first, end, heldPart));
        pin.held = true;
        this.context.manager.pin(first, count, true);
        this.context.manager.release(HOST_NODE, first, count, access);
        if (pin.dropped) {
          this.end(pin);
          done(null, givenUp(pin));
        } else if (lock === false) done({ locked: false }, null);
        else this.locking.push(pin);
      },
    );
  }

  /** Ends a pin, if it has not: pages that no other pin holds may move again. */
  unpin(id: number): void {
    const pin = this.pins.get(id);
    if (pin === undefined) return;
    pin.dropped = true;
    // Its pages are on their way: when they have come, they are let go.
    if (pin.held) this.end(pin);
  }

  /** Locks the next piece. */
  step(): number {
    if (this.locking.length === 0) return 0;
    const [pin] = this.locking;
    const { lockedEnd: first } = pin;
    const end = Math.min(first + PAGES_PER_BLOCK, pin.end);
    const result = mlock(this.context.memory + first * PAGE_BYTES, (end - first) * PAGE_BYTES);
    if (result !== 0) {
      this.locking.shift();
      this.refuse(pin);
      return 1;
    }
    this.lockedPages += sizeOf(this.alone(pin, first, end, lockedPart));
    pin.lockedEnd = end;
    if (end < pin.end) return 1;
    this.locking.shift();
    pin.done({ locked: true }, null);
    return 1;
  }

  /** Refuses to do something to pages of which some are pinned. */
  check(first: number, count: number, verb: string): void {
    for (const pin of this.pins.values()) {
      if (pin.end <= first || pin.first >= first + count) continue;
      const { text, details } = this.context.places.placeOf(Math.max(first, pin.first));
      throw new RequestError(
        'PINNED',
        `cannot ${verb} ${text}, which is pinned; unpin it first`,
        details,
      );
    }
  }

  private refuse(pin: Pin): void {
    const { first, end, range, lock, done } = pin;
    this.unlock(pin);
    if (lock !== 'require') {
      done({ locked: false }, null);
      return;
    }
    this.end(pin);
    const neededBytes = (end - first) * PAGE_BYTES;
    const { soft: allowedBytes } = lockedMemoryLimit();
    const { lockedBytes } = this;
    const message =
      `cannot lock ${neededBytes} bytes of array ${range.name} in memory: RLIMIT_MEMLOCK allows ${allowedBytes} bytes, of which this space ` +
      `has ${lockedBytes}; raise the limit (ulimit -l, LimitMEMLOCK), pin less, or do without lock: 'require'`;
    done(
      null,
      wireError('MEMORY_LOCK', message, {
        array: range.name,
        neededBytes,
        allowedBytes,
        lockedBytes,
      }),
    );
  }

  private end(pin: Pin): void {
    const at = this.locking.indexOf(pin);
    if (at !== -1) this.locking.splice(at, 1);
    this.unlock(pin);
    this.pins.delete(pin.id);
    for (const { first, end } of this.alone(pin, pin.first, pin.end, heldPart)) {
      this.pinnedPages -= end - first;
      this.context.manager.pin(first, end - first, false);
    }
    this.commitment.unreserve(pin.reserved);
    if (at !== -1) pin.done(null, givenUp(pin));
  }

  private unlock(pin: Pin): void {
    for (const { first, end } of this.alone(pin, pin.first, pin.lockedEnd, lockedPart)) {
      this.lockedPages -= end - first;
      munlock(this.context.memory + first * PAGE_BYTES, (end - first) * PAGE_BYTES);
    }
    pin.lockedEnd = pin.first;
  }

  /** Pages of [first, end) that no other pin covers in the same way. */
  private alone(pin: Pin, first: number, end: number, cover: (other: Pin) => Run): Run[] {
    const runs: Run[] = [];
    const others = [...this.pins.values()].filter((other) => other !== pin).map(cover);
    let at = first;
    for (const other of others.sort((a, b) => a.first - b.first)) {
      if (other.end <= at || other.first === other.end) continue;
      if (other.first >= end) break;
      if (other.first > at) runs.push({ first: at, end: other.first });
      at = other.end;
    }
    if (at < end) runs.push({ first: at, end });
    return runs;
  }
}

function givenUp({ range: { name } }: Pin): WireError {
  return wireError('UNPINNED', `a pin of array ${name} was given up before it was there`, {
    array: name,
  });
}

function heldPart({ first, end, held }: Pin): Run {
  return { first, end: held ? end : first };
}

function lockedPart({ first, lockedEnd }: Pin): Run {
  return { first, end: lockedEnd };
}

function sizeOf(runs: readonly Run[]): number {
  return runs.reduce((pages, { first, end }) => pages + end - first, 0);
}
