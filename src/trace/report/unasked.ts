/**
 * What came before it was asked for, and what of it nothing used. Touches of present pages are not
 * recorded, so that only what is certain counts as unused: blocks that came ahead of a walk, and
 * that no fault says to have been entered; what was prefetched to a device, or came for a launch that
 * was to come, and was no argument of a launch there.
 */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { HOST_NODE, MOST_AHEAD, PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import {
  type Arrival,
  type Cause,
  type Departure,
  type Fault,
  type Launch,
  memoryOf,
  type Names,
} from '../recording/moves.js';

/**
 * `companions`: pages that came with one that was touched. `plan`: for a launch that was known to
 * come.
 */
export type UnaskedReason = 'read-ahead' | 'prefetch' | 'companions' | 'plan';

export interface UnaskedCost {
  readonly array: string;
  readonly reason: UnaskedReason;
  readonly bytes: number;
  /** At least so much of it was not used; null: nothing tells. */
  readonly unusedBytes: number | null;
}

/** What a memory has of a block. */
interface Stay {
  readonly array: string;
  pages: number;
  /** Of these, what came ahead and has not been used. */
  ahead: number;
  /** What waits for a launch that has its array, and why it came. */
  awaiting: number;
  awaitingAs: 'prefetch' | 'plan';
  aheadFor: Cause | null;
  /** The last fault in it, or in a block that a walk comes to after it. */
  enteredMs: number;
}

interface Sums {
  readonly array: string;
  readonly reason: UnaskedReason;
  pages: number;
  unused: number | null;
}

export class Unasked {
  private readonly stays = new Map<number, Stay>();
  /** Those that wait for a launch, by memory. */
  private readonly waiting = new Map<number, Set<Stay>>();
  private readonly sums = new Map<string, Sums>();
  /** The last launch of each processor. */
  private readonly launches = new Map<number, Launch>();

  constructor(private readonly names: Names) {}

  costs(): UnaskedCost[] {
    const unused = new Map<string, number>();
    const add = (array: string, reason: UnaskedReason, pages: number): void => {
      const key = keyOf(array, reason);
      unused.set(key, (unused.get(key) ?? 0) + pages);
    };
    for (const { array, ahead, awaiting, awaitingAs } of this.stays.values()) {
      if (ahead > 0) add(array, 'read-ahead', ahead);
      if (awaiting > 0) add(array, awaitingAs, awaiting);
    }
    return [...this.sums]
      .map(([key, { array, reason, pages, unused: gone }]) => ({
        array,
        reason,
        bytes: pages * PAGE_BYTES,
        unusedBytes: gone === null ? null : (gone + (unused.get(key) ?? 0)) * PAGE_BYTES,
      }))
      .sort((a, b) => (b.unusedBytes ?? 0) - (a.unusedBytes ?? 0) || b.bytes - a.bytes);
  }

  held(memory: number, page: number, pages: number): void {
    for (let at = page; at < page + pages; ) {
      const end = Math.min(page + pages, (blockOf(at) + 1) * PAGES_PER_BLOCK);
      const stay = this.stay(memory, at);
      if (stay !== null) stay.pages += end - at;
      at = end;
    }
  }

  launched(launch: Launch): void {
    this.launches.set(launch.processor, launch);
    const waiting = this.waiting.get(memoryOf(this.names, launch.processor));
    if (waiting === undefined) return;
    for (const stay of waiting) {
      if (!launch.arrays.includes(stay.array)) continue;
      stay.awaiting = 0;
      waiting.delete(stay);
    }
  }

  faulted({ processor, page, atMs }: Fault): void {
    const memory = memoryOf(this.names, processor);
    const block = blockOf(page);
    // A walk enters the last of the blocks that came ahead by a fault, and maybe no other one.
    for (let at = Math.max(0, block - MOST_AHEAD); at <= block; at++) {
      const stay = this.stay(memory, at * PAGES_PER_BLOCK);
      if (stay === null) continue;
      stay.ahead = 0;
      stay.enteredMs = atMs;
      if (at === block) this.isUsed(memory, stay);
    }
  }

  arrived(move: Arrival): void {
    const { memory, source, page, pages, added, cause, need, reason, atMs, tookMs } = move;
    // What goes on to a processor was needed.
    if (source >= 0 && this.isProcessors(memory)) this.used(source, page);
    const stay = this.isProcessors(memory) ? this.stay(memory, page) : null;
    if (stay === null) return;
    stay.pages += added;
    // Zeros cost no copy.
    if (source === -1 || need === 'room') return;
    if (reason === 'plan') {
      this.count(stay.array, 'plan', pages, 0);
      this.awaits(memory, stay, pages, 'plan');
      return;
    }
    const isTouched = cause.kind === 'touch' && blockOf(cause.page) === blockOf(page);
    if (isTouched) {
      const own = cause.page >= page && cause.page < page + pages ? 1 : 0;
      if (pages > own) this.count(stay.array, 'companions', pages - own, null);
    } else if (cause.kind === 'ahead' || cause.kind === 'touch') {
      this.count(stay.array, 'read-ahead', pages, 0);
      // A walk may come into it before it is there.
      if (stay.enteredMs < atMs - tookMs) this.cameAhead(stay, memory, page, pages, cause);
    } else if (cause.kind === 'request' && cause.event === 'acquire') {
      // Threads of the host use what is present unseen.
      this.count(stay.array, 'prefetch', pages, memory === HOST_NODE ? null : 0);
      if (memory === HOST_NODE || this.isInUse(memory, stay.array)) return;
      this.awaits(memory, stay, pages, 'prefetch');
    }
  }

  private awaits(memory: number, stay: Stay, pages: number, reason: Stay['awaitingAs']): void {
    stay.awaiting += pages;
    stay.awaitingAs = reason;
    const waiting = this.waiting.get(memory) ?? new Set();
    this.waiting.set(memory, waiting.add(stay));
  }

  private isUsed(memory: number, stay: Stay): void {
    if (stay.awaiting === 0) return;
    stay.awaiting = 0;
    this.waiting.get(memory)?.delete(stay);
  }

  departed({ memory, page, pages }: Departure): void {
    const stay = this.stays.get(stayKey(memory, blockOf(page)));
    if (stay === undefined) return;
    // Which of the pages go is not known: at first those that were used.
    let unused = Math.max(0, pages - (stay.pages - stay.ahead - stay.awaiting));
    stay.pages -= pages;
    const ahead = Math.min(unused, stay.ahead);
    unused -= ahead;
    const awaiting = Math.min(unused, stay.awaiting);
    stay.ahead -= ahead;
    stay.awaiting -= awaiting;
    if (ahead > 0) this.count(stay.array, 'read-ahead', 0, ahead);
    if (awaiting > 0) this.count(stay.array, stay.awaitingAs, 0, awaiting);
    if (stay.awaiting === 0) this.waiting.get(memory)?.delete(stay);
  }

  /** Of blocks that came for one touch a fault may tell only of the last one. */
  private cameAhead(stay: Stay, memory: number, page: number, pages: number, cause: Cause): void {
    const block = blockOf(page);
    const before = this.stays.get(stayKey(memory, block - 1));
    if (before?.aheadFor === cause) before.ahead = 0;
    stay.aheadFor = cause;
    if (this.stays.get(stayKey(memory, block + 1))?.aheadFor !== cause) stay.ahead += pages;
  }

  private used(memory: number, page: number): void {
    const stay = this.stays.get(stayKey(memory, blockOf(page)));
    if (stay === undefined) return;
    stay.ahead = 0;
    this.isUsed(memory, stay);
  }

  private isInUse(memory: number, array: string): boolean {
    for (const { processor, endedMs, arrays } of this.launches.values())
      if (
        Number.isNaN(endedMs) &&
        memoryOf(this.names, processor) === memory &&
        arrays.includes(array)
      )
        return true;
    return false;
  }

  private isProcessors(memory: number): boolean {
    return memory === HOST_NODE || this.names.processors.some((each) => each?.memory === memory);
  }

  private stay(memory: number, page: number): Stay | null {
    const key = stayKey(memory, blockOf(page));
    let stay = this.stays.get(key);
    if (stay !== undefined) return stay;
    const array = this.names.arrayAt(page)?.name;
    if (array === undefined) return null;
    const nothing = { pages: 0, ahead: 0, awaiting: 0, aheadFor: null };
    const awaitingAs = 'prefetch';
    this.stays.set(
      key,
      (stay = { array, ...nothing, awaitingAs, enteredMs: Number.NEGATIVE_INFINITY }),
    );
    return stay;
  }

  private count(array: string, reason: UnaskedReason, pages: number, unused: number | null): void {
    const key = keyOf(array, reason);
    const sums = getOrMake(this.sums, key, () => ({ array, reason, pages: 0, unused }));
    sums.pages += pages;
    if (unused !== null) sums.unused = (sums.unused ?? 0) + unused;
  }
}

function blockOf(page: number): number {
  return Math.floor(page / PAGES_PER_BLOCK);
}

function stayKey(memory: number, block: number): number {
  return memory * 2 ** 32 + block;
}

function keyOf(array: string, reason: UnaskedReason): string {
  return `${reason} ${array}`;
}
