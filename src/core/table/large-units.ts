/**
 * Units of several blocks: a node gets memory by these and gives it back by these. Rights go by
 * blocks, as content goes by pages, so that no operation is about more than its block. The first
 * block of a unit that gets memory takes a whole unit for all of them. Those that leave give back
 * their rights, and the last one all of the unit.
 */
import { PAGES_PER_BLOCK } from '../basics/types.js';

export interface LargeUnit {
  /** Its number: that of its first block, by blocks of a unit. */
  readonly number: number;
  /** Its first frame of a pooled node; of another one its first page. */
  readonly frame: number;
  /** How many of its blocks have memory. */
  members: number;
  /** Blocks that have left it, of which the driver has not said yet that nothing uses them. */
  pending: number;
  /** Counted in `Node.leavingPages`: all that it has is on its way out. */
  leaves: boolean;
  /** Counted in `Node.quarantinedPages`: only what is pending keeps it. */
  quarantined: boolean;
}

export class LargeUnits {
  readonly pages: number;
  private readonly units = new Map<number, LargeUnit>();

  constructor(readonly blocks: number) {
    this.pages = blocks * PAGES_PER_BLOCK;
  }

  /** The unit of a block, if it has memory. */
  of(block: number): LargeUnit | undefined {
    return this.units.get(this.numberOf(block));
  }

  /** The same for a block that has memory, or had some that may be in use. */
  taken(block: number): LargeUnit {
    const unit = this.of(block);
    if (unit === undefined) throw new Error(`block ${block} has no memory of a unit`);
    return unit;
  }

  numberOf(block: number): number {
    return Math.floor(block / this.blocks);
  }

  /** The first block of the unit. */
  firstOf(block: number): number {
    return block - (block % this.blocks);
  }

  /** The first page of the unit. */
  pageOf(block: number): number {
    return this.firstOf(block) * PAGES_PER_BLOCK;
  }

  add(unit: LargeUnit): void {
    this.units.set(unit.number, unit);
  }

  remove({ number }: LargeUnit): void {
    this.units.delete(number);
  }

  all(): Iterable<LargeUnit> {
    return this.units.values();
  }
}
