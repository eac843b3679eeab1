/**
 * The blocks of a memory, and which of them goes: of some that are looked at in turn, the one that
 * is used last, as by Belady's MIN.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { Timeline } from './timeline.js';

/** Blocks that are looked at for a victim, of all, in turn. */
const LOOKS = 128;
const FIRST_BLOCKS = 64;

export class Victims {
  private readonly here = new IntrusiveList();
  /** Where the look for the next victim begins. */
  private hand = -1;
  /** The last victim, while nothing has come or gone. */
  private chosen = -1;
  /** By block that is to go or has gone: the launch that was to use it next; 0: none is known. */
  private promised = new Float64Array(FIRST_BLOCKS);
  /** Blocks that have left. */
  gone = 0;

  constructor(private readonly timeline: Timeline) {}

  readonly isHere = (block: number): boolean => this.here.has(block);

  arrive(block: number): void {
    if (this.here.has(block)) return;
    this.here.append(block);
    this.chosen = -1;
    if (block >= this.promised.length) this.promised = larger(this.promised, block);
    const { current, began } = this.timeline;
    current?.arrive(block, this.promised[block] > began);
    this.promised[block] = 0;
  }

  leave(block: number): void {
    const { here } = this;
    if (!here.has(block)) return;
    if (this.hand === block) this.hand = here.after(block);
    here.remove(block);
    this.chosen = -1;
    this.timeline.current?.leave(block, this.promised[block] > 0);
    this.gone++;
  }

  see(block: number): void {
    this.timeline.current?.see(block);
    if (block === this.chosen) this.chosen = -1;
  }

  /** Another launch is at hand. */
  again(): void {
    this.chosen = -1;
  }

  /** The block that goes, or -1. */
  find(may: (block: number) => boolean): number {
    // To look for room again and again is not to look through all of the memory each time.
    if (this.chosen !== -1 && may(this.chosen)) return this.chosen;
    let victim = -1;
    let latest = 0;
    let block = this.first();
    for (let looks = Math.min(this.here.size, LOOKS); looks > 0; looks--) {
      if (may(block)) {
        const use = this.timeline.nextUse(block);
        if (use > latest) {
          latest = use;
          victim = block;
        }
      }
      block = this.after(block);
    }
    this.hand = block;
    return this.choose(victim, latest);
  }

  /**
   * The block that goes for one that is used at that time, as MIN would have it go then: one that
   * is used before stays until it has been, and nothing goes now if it is that which MIN would let
   * go. -1: none goes now.
   */
  findFor(time: number, may: (block: number) => boolean): number {
    const { timeline } = this;
    let latest = -1;
    let free = -1;
    let freeUse = -1;
    let block = this.first();
    for (let looks = Math.min(this.here.size, LOOKS); looks > 0; looks--) {
      const use = timeline.useAfter(block, time);
      latest = Math.max(latest, use);
      if (use > freeUse && may(block) && timeline.nextUse(block) > time) {
        free = block;
        freeUse = use;
      }
      block = this.after(block);
    }
    if (freeUse < latest) return -1;
    return this.choose(free, freeUse);
  }

  private first(): number {
    return this.hand !== -1 && this.here.has(this.hand) ? this.hand : this.here.head;
  }

  private after(block: number): number {
    const next = this.here.after(block);
    return next === -1 ? this.here.head : next;
  }

  /** @param use when it is used again */
  private choose(block: number, use: number): number {
    this.chosen = block;
    if (block !== -1) this.promised[block] = this.timeline.launchAt(use);
    return block;
  }
}

function larger(array: Float64Array, block: number): Float64Array<ArrayBuffer> {
  const result = new Float64Array(Math.max(block + 1, array.length * 2));
  result.set(array);
  return result;
}
