/**
 * Situations that steps drawn one by one seldom lead to. Some schedules are given one of these
 * plots, whose steps come often there. A plot is drawn apart from everything else, so that all
 * other schedules stay as they were.
 */

import type { Memory } from './memories.js';
import { Random } from './random.js';
import type { World } from './world.js';

/** A clone, and a clone of it that has pages from where the first has them. */
interface Line {
  readonly clone: Memory;
  readonly grandchild: Memory;
}

export class Plots {
  /** A clone is written while its own clone is being filled with what both have from elsewhere. */
  readonly weaves: boolean;
  /** Devices die that have the only copy of what has been cloned. */
  readonly orphans: boolean;
  /** Arrays come and go at the same addresses, where devices reach host memory in place. */
  readonly returns: boolean;
  /** Clones often cannot be given a page just now. */
  readonly withholds: boolean;
  /** Devices leave from which hardly a copy succeeds, while others need what they have. */
  readonly strands: boolean;
  /**
   * There is a store behind the host, which is full now and then, and gives pages back that are not
   * as they were.
   */
  readonly storeFails: boolean;
  /** Behind the store there is another one, which does not answer now and then. */
  readonly chains: boolean;
  /** The store is mostly full, and what has been cloned is given back, emptied or read again. */
  readonly starves: boolean;
  /** Other machines have some of the arrays, too. */
  readonly shares: boolean;
  /**
   * Devices with room for it walk through long arrays, and what comes next is brought ahead of
   * them.
   */
  readonly streams: boolean;
  /** Programs have someone asked before threads get rights to some of the arrays. */
  readonly guards: boolean;
  /** The store behind the host is memory that the manager reads in place. */
  readonly slowMemory: boolean;
  /** Behind slow memory there is a store that is none. */
  readonly relays: boolean;
  private readonly random: Random;

  constructor(
    private readonly world: World,
    seed: number,
  ) {
    this.random = new Random(seed ^ 0x2545f491);
    const plot = this.random.below(20);
    this.weaves = plot < 2;
    this.orphans = plot === 2 || plot === 3;
    this.returns = plot === 4 || plot === 5;
    this.withholds = plot === 6;
    this.strands = plot === 7;
    this.chains = plot === 9;
    this.starves = plot === 13 || plot === 14;
    this.storeFails = plot === 8 || this.chains;
    this.streams = plot === 12;
    this.guards = plot === 10;
    this.relays = plot === 17;
    this.slowMemory = plot === 16 || this.relays;
    this.shares = plot === 11 || plot === 15;
  }

  /** Whether lines of clones are wanted, by whichever plot. */
  get clones(): boolean {
    return this.weaves || this.orphans || this.withholds || this.starves;
  }

  line(): Line | null {
    for (const grandchild of this.world.memories) {
      const clone = grandchild.source;
      if (clone?.source == null || !this.world.memories.includes(clone)) continue;
      if (!clone.exclusive && !grandchild.exclusive && clone.frees + grandchild.frees === 0)
        return { clone, grandchild };
    }
    return null;
  }

  /** An array that is not in use and that nothing was cloned from: all of it can be given back. */
  idle(): Memory | null {
    const { memories } = this.world;
    const idle = memories.find(
      (memory) =>
        !memory.exclusive &&
        memory.users + memory.frees === 0 &&
        memory.pinned === null &&
        !memories.some(({ source }) => source === memory),
    );
    return idle ?? null;
  }

  /** Threads use what other machines have more often than other arrays. */
  chooseShared(memories: readonly Memory[]): Memory | null {
    return memories.length > 0 && this.random.chance(0.7) ? this.random.pick(memories) : null;
  }

  /** Arrays that may be written, and that something was cloned from. */
  cloned(): readonly Memory[] {
    const { memories } = this.world;
    return memories.filter(
      (memory) =>
        memory.range.writable &&
        !memory.exclusive &&
        memory.frees === 0 &&
        memories.some(({ source }) => source === memory),
    );
  }

  /** A few pages of what was cloned. */
  writeCloned(write: (memory: Memory, first: number, count: number) => void): void {
    const memory = this.random.pick(this.cloned());
    const { first, pages } = memory.range;
    const at = this.random.below(pages);
    write(memory, first + at, this.random.between(1, Math.min(4, pages - at)));
  }

  /**
   * Both at once, in either order: one asks for pages of the clone's clone, and another one writes
   * the clone there.
   */
  weave(read: (memory: Memory, first: number, count: number) => void, write: typeof read): void {
    const { clone, grandchild } = this.line() as Line;
    const most = Math.min(clone.range.pages, grandchild.range.pages);
    const at = this.random.below(most);
    const count = this.random.between(1, Math.min(8, most - at));
    const reads = (): void => read(grandchild, grandchild.range.first + at, count);
    const writes = (): void => write(clone, clone.range.first + at, count);
    const order = this.random.chance(0.5) ? [reads, writes] : [writes, reads];
    for (const act of order) act();
  }
}
