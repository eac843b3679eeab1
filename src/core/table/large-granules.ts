/**
 * Granules of several blocks: a node gets memory by these and gives it back by these. Rights go by
 * blocks, as content goes by pages, so that no operation is about more than its block. The first
 * block of a granule that gets memory takes a whole granule for all of them. Those that leave give
 * back their rights, and the last one all of the granule.
 */
import { PAGES_PER_BLOCK } from '../basics/types.js';

export interface LargeGranule {
  /** Its number: that of its first block, by blocks of a granule. */
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

export class LargeGranules {
  readonly pages: number;
  private readonly granules = new Map<number, LargeGranule>();

  constructor(readonly blocks: number) {
    this.pages = blocks * PAGES_PER_BLOCK;
  }

  /** The granule of a block, if it has memory. */
  of(block: number): LargeGranule | undefined {
    return this.granules.get(this.numberOf(block));
  }

  /** The same for a block that has memory, or had some that may be in use. */
  taken(block: number): LargeGranule {
    const granule = this.of(block);
    if (granule === undefined) throw new Error(`block ${block} has no memory of a granule`);
    return granule;
  }

  numberOf(block: number): number {
    return Math.floor(block / this.blocks);
  }

  /** The first block of the granule. */
  firstOf(block: number): number {
    return block - (block % this.blocks);
  }

  /** The first page of the granule. */
  pageOf(block: number): number {
    return this.firstOf(block) * PAGES_PER_BLOCK;
  }

  add(granule: LargeGranule): void {
    this.granules.set(granule.number, granule);
  }

  remove({ number }: LargeGranule): void {
    this.granules.delete(number);
  }

  all(): Iterable<LargeGranule> {
    return this.granules.values();
  }
}
