/**
 * What one kind of launch uses, block by block: when in the launch a processor comes to a block, and
 * until when it needs it. Times go from 0 to 1. They are learned from faults; of blocks that were
 * there, and did not fault, they lie between those of their neighbours.
 */
import type { BlockSpan } from '../../core/basics/types.js';

/** The launch does not use the block. */
const NEVER = 2;
/** A launch begins the block from zeros. */
const EMPTIED = -1;
/** Profiles of more blocks keep no times: a launch goes evenly through what it declares. */
const MOST_BLOCKS = 1 << 16;
/** What processors are in stays, though others are a little further on. */
const SLACK = 0.02;
/** Moments are counted on from run to run, up to this. */
const MOST_MOMENTS = 2 ** 30;
/** Blocks that were come to last, for each argument, while times are not known. */
const RECENT = 3;
/** Blocks of which the order says whether it is one. */
const LEAST_LOOKED = 6;
/** How much longer than it was seen a block is needed that was let go too early. */
const LONGER = 2;
/** Blocks that left in a run, from which on it is judged by those that came back too early. */
const JUDGED = 8;
/** A block that is not needed for so long is used a second time then, and not all the time. */
const WHILE = 0.1;

export class Profile {
  /** It has run before. */
  private known = false;
  private readonly from: Float32Array;
  private readonly until: Float32Array;
  /**
   * By block, the moment at which a processor came to it; less than 0 where it was brought and not
   * come to. Up to `began` a moment is of an earlier run; `began` itself: it went unseen.
   */
  private readonly seen: Int32Array;
  /** By block, the moment at which it came, or a processor to it, last. */
  private readonly last: Int32Array;
  /** By block, when it is needed a second time, after it was not for a while. */
  private readonly again: Float32Array;
  /** By block: 1 where its time was seen, and is not only between others. */
  private readonly sure: Uint8Array;
  private began = 1;
  private moment = 1;
  private progress = 0;
  /** By argument: 1 where the times say nothing, and all of it is needed all the time. */
  private readonly random: Uint8Array;
  /** Arguments whose times say when they are needed. */
  private ordered: number;
  /** Blocks that left in the run at hand for uses of later ones. */
  private left = 0;
  /** By argument: blocks that such a run still needed. */
  private readonly early: Uint32Array;
  /** Some block left in the run at hand. */
  private anyLeft = false;
  /** Its blocks by when it comes to them; null: they are still to be sorted. */
  private inOrder: Int32Array | null = null;
  /** Times have changed in the run at hand. */
  private changed = false;

  /** @param sizes the kernel, and the sizes of its arguments */
  constructor(
    readonly sizes: string,
    private readonly spans: readonly BlockSpan[],
  ) {
    const blocks = spans.reduce((sum, { first, end }) => sum + end - first, 0);
    const kept = blocks > MOST_BLOCKS ? 0 : blocks;
    this.from = new Float32Array(kept);
    this.until = new Float32Array(kept);
    this.seen = new Int32Array(kept);
    this.last = new Int32Array(kept);
    this.again = new Float32Array(kept).fill(NEVER);
    this.sure = new Uint8Array(kept);
    this.random = new Uint8Array(spans.length);
    this.early = new Uint32Array(spans.length);
    this.ordered = spans.length;
    let at = 0;
    for (const { first, end } of spans)
      for (let block = first; block < end && kept > 0; block++, at++) {
        this.from[at] = (block - first) / (end - first);
        this.until[at] = (block + 1 - first) / (end - first);
      }
  }

  /** @param like the last one that ended of the same sizes: the kernel does the same with these */
  begin(like: Profile | undefined): void {
    if (!this.known && like?.known === true) {
      this.from.set(like.from);
      this.until.set(like.until);
      this.again.set(like.again);
      this.sure.set(like.sure);
      this.random.set(like.random);
      this.ordered = like.ordered;
      this.known = true;
      this.inOrder = null;
    }
    if (this.changed) this.inOrder = null;
    this.changed = false;
    if (this.moment > MOST_MOMENTS) {
      this.seen.fill(0);
      this.last.fill(0);
      this.moment = 0;
    }
    this.began = ++this.moment;
    this.progress = 0;
    this.anyLeft = false;
    this.left = 0;
    this.early.fill(0);
  }

  /** A processor came to a block. */
  see(block: number): void {
    const at = this.placeOf(block);
    if (at === -1) return;
    if (this.seen.length === 0) this.progress = Math.max(this.progress, this.evenly(block));
    else if (this.seen[at] <= this.began) {
      this.last[at] = this.seen[at] = ++this.moment;
      if (this.known && this.random[this.spanOf(block)] === 0) this.meet(at);
    } else this.last[at] = this.moment;
  }

  /**
   * A block came, perhaps before a processor did.
   * @param isEarly it had left since only a later launch was to use it
   */
  arrive(block: number, isEarly: boolean): void {
    if (isEarly) this.comeEarly(block);
    const at = this.placeOf(block);
    if (at === -1 || this.seen.length === 0) return;
    if (this.seen[at] > this.began) this.comeAgain(at);
    else this.seen[at] = -++this.moment;
    this.last[at] = this.moment;
  }

  /**
   * A block leaves that the launch may have used unseen, since it was there.
   * @param isPlanned since a later launch uses it
   */
  leave(block: number, isPlanned: boolean): void {
    this.anyLeft = true;
    if (isPlanned) this.left++;
    const at = this.placeOf(block);
    if (at !== -1 && this.seen.length > 0 && !this.isTime(at)) this.seen[at] = this.began;
  }

  /** @param isHere whether the memory has a block */
  end(isHere: (block: number) => boolean): void {
    const { from, until, seen, began } = this;
    // Without this what fits would cost a look at each block after each launch.
    if (seen.length === 0 || this.isScattered || (this.known && !this.anyLeft)) return;
    this.inOrder = null;
    const length = this.moment - began;
    let at = 0;
    for (const [span, { first, end }] of this.spans.entries()) {
      if (!this.known && this.looksRandom(at, at + end - first)) this.scatter(span);
      if (this.random[span] === 1) {
        at += end - first;
        continue;
      }
      for (let block = first; block < end; block++, at++) {
        if (!this.known && this.isTime(at)) {
          from[at] = (Math.abs(seen[at]) - began - 1) / length;
          this.sure[at] = 1;
        } else if (!this.isTime(at) && seen[at] !== began && !isHere(block))
          until[at] = from[at] = NEVER;
      }
      if (!this.known) this.fill(at - (end - first), at);
    }
    if (!this.known) this.timeSecondUses(length);
    this.known = true;
  }

  /** What the launch uses, and when, was seen: it goes through its blocks in an order. */
  get isKnown(): boolean {
    return this.known && this.ordered > 0;
  }

  /** It goes through them at random. */
  get isScattered(): boolean {
    return this.ordered === 0;
  }

  /** How many of its blocks are not here. */
  lacks(isHere: (block: number) => boolean): number {
    let count = 0;
    for (const { first, end } of this.spans)
      for (let block = first; block < end; block++) if (!isHere(block)) count++;
    return count;
  }

  /** Whether anything is here of what it does not begin from zeros. */
  finds(isHere: (block: number) => boolean): boolean {
    for (const { first, end, emptied } of this.spans)
      for (let block = first; block < end && !emptied; block++) if (isHere(block)) return true;
    return false;
  }

  /** The blocks that it uses, by when it comes to them. */
  order(): Int32Array {
    if (this.inOrder !== null) return this.inOrder;
    const { from } = this;
    const blocks: [block: number, from: number][] = [];
    let at = 0;
    for (const { first, end } of this.spans)
      for (let block = first; block < end && from.length > 0; block++, at++)
        if (from[at] < NEVER) blocks.push([block, from[at]]);
    blocks.sort(([a, early], [b, late]) => early - late || a - b);
    return (this.inOrder = Int32Array.from(blocks, ([block]) => block));
  }

  /** Whether the launch may write the block. */
  writes(block: number): boolean {
    return this.spans.some(({ first, end, written }) => written && block >= first && block < end);
  }

  /**
   * When the launch needs what the block has now, from its beginning: Infinity where it does not;
   * less than 0 where it begins the block from zeros.
   */
  firstUse(block: number): number {
    let at = 0;
    for (const { first, end, emptied } of this.spans) {
      if (block >= first && block < end) {
        if (emptied) return EMPTIED;
        const from = this.from.length === 0 ? this.evenly(block) : this.from[at + block - first];
        return from < NEVER ? from : Number.POSITIVE_INFINITY;
      }
      at += end - first;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** For how long the launch at hand does not need the block: 0 is now; or Infinity. */
  nextUse(block: number): number {
    const at = this.placeOf(block);
    if (at === -1) return Number.POSITIVE_INFINITY;
    const { seen, progress } = this;
    if (!this.known && seen.length > 0) {
      if (!this.isTime(at)) return this.from[at];
      const isRecent = this.moment - this.last[at] < RECENT * this.spans.length;
      const isNeeded = isRecent || this.until[at] === 1 || !this.isPassed(at);
      return isNeeded ? 0 : Number.POSITIVE_INFINITY;
    }
    const from = seen.length === 0 ? this.evenly(block) : this.from[at];
    if (from >= NEVER) return Number.POSITIVE_INFINITY;
    const until = seen.length === 0 ? from : this.until[at];
    if (progress > until + SLACK) return this.secondUse(at);
    return Math.max(0, from - progress);
  }

  /** Of blocks that came again in the first run the moments are kept until it has ended. */
  private timeSecondUses(length: number): void {
    const { until, again, began } = this;
    for (let at = 0; at < again.length; at++) {
      if (again[at] <= NEVER) continue;
      const time = (again[at] - began - 1) / length;
      again[at] = time > until[at] + WHILE ? time : NEVER;
      if (again[at] === NEVER) until[at] = Math.max(until[at], Math.min(1, time + SLACK));
    }
  }

  /** The same of a block that has been used once. */
  private secondUse(at: number): number {
    const { progress, from, until, again } = this;
    if (again.length === 0 || progress > again[at] + until[at] - from[at] + SLACK)
      return Number.POSITIVE_INFINITY;
    return again[at] < NEVER ? Math.max(0, again[at] - progress) : Number.POSITIVE_INFINITY;
  }

  /** A block came again that had left for a later run. */
  private comeEarly(block: number): void {
    const span = this.spanOf(block);
    if (span === -1) return;
    this.early[span]++;
    if (this.left >= JUDGED && this.early[span] * 2 > this.left) this.scatter(span);
  }

  /** From now on the times of an argument say nothing. */
  private scatter(span: number): void {
    if (this.random[span] === 1) return;
    const { first, end } = this.spans[span];
    const at = this.placeOf(first);
    this.ordered--;
    this.random[span] = 1;
    this.from.fill(0, at, at + end - first);
    this.until.fill(1, at, at + end - first);
    this.changed = true;
  }

  /**
   * Whether processors came to an argument at random: among three blocks at random, the one in the
   * middle comes first or last in two of three cases; along a walk it does where the walk turns.
   */
  private looksRandom(begin: number, end: number): boolean {
    const { seen } = this;
    let looked = 0;
    let turns = 0;
    let [before, here] = [0, 0];
    for (let at = begin; at < end; at++) {
      if (seen[at] <= this.began) continue;
      if (before > 0) {
        looked++;
        if (here > before === here > seen[at]) turns++;
      }
      [before, here] = [here, seen[at]];
    }
    return looked >= LEAST_LOOKED && turns * 2 > looked;
  }

  /** Whether the blocks behind it, or before it, have been come to after it, one after the other. */
  private isPassed(at: number): boolean {
    const { seen } = this;
    const time = seen[at];
    const isUp = seen[at + 1] > time && seen[at + 2] > seen[at + 1] && seen[at + 3] > seen[at + 2];
    return isUp || (seen[at - 1] > time && seen[at - 2] > seen[at - 1]);
  }

  /** A block was come to at a time that the profile knows, or now learns. */
  private meet(at: number): void {
    const { from, until, again, sure, progress } = this;
    if (sure[at] === 1 && from[at] < NEVER) {
      const expected = from[at] >= progress - SLACK ? from[at] : again[at];
      if (expected < NEVER && expected >= progress - SLACK) {
        this.progress = Math.max(progress, expected);
        return;
      }
    }
    const length = from[at] >= NEVER ? SLACK : Math.max(SLACK, until[at] - from[at]);
    // It came after what came before it, though by how much is not known.
    if (sure[at] === 0) this.progress = Math.min(1, progress + 1 / from.length);
    sure[at] = 1;
    this.changed = true;
    from[at] = this.progress;
    until[at] = Math.min(1, this.progress + length);
  }

  /** Times of blocks that did not fault, and for how long each is needed: until the next one is. */
  private fill(begin: number, end: number): void {
    const { from, until } = this;
    let before = -1;
    for (let at = begin; at < end; at++) {
      if (!this.isTime(at)) continue;
      if (before !== -1)
        for (let between = before + 1; between < at; between++)
          if (from[between] < NEVER)
            from[between] =
              from[before] + ((from[at] - from[before]) * (between - before)) / (at - before);
      before = at;
    }
    const length = 1 / (end - begin);
    for (let at = begin; at < end; at++) {
      if (until[at] === 1 && at < end - 1) continue;
      const next = at + 1 < end && from[at + 1] < NEVER ? from[at + 1] - from[at] : length;
      until[at] = Math.min(1, from[at] + (next > 0 ? Math.min(next, 4 * length) : length));
    }
  }

  private evenly(block: number): number {
    for (const { first, end } of this.spans)
      if (block >= first && block < end) return (block - first) / (end - first);
    return 0;
  }

  /** A block comes that the launch has used before: it is needed for longer, or a second time. */
  private comeAgain(at: number): void {
    const { progress, from, until, again } = this;
    if (!this.known) again[at] = this.moment;
    else if (progress > until[at] + WHILE) again[at] = progress;
    else {
      const longer = from[at] + (progress - from[at]) * LONGER + SLACK;
      until[at] = Math.min(1, Math.max(until[at], longer));
    }
  }

  /** Whether it is known when the block came, or a processor to it, in the run at hand. */
  private isTime(at: number): boolean {
    return Math.abs(this.seen[at]) > this.began;
  }

  private spanOf(block: number): number {
    const { spans } = this;
    for (let at = 0; at < spans.length; at++)
      if (block >= spans[at].first && block < spans[at].end) return at;
    return -1;
  }

  private placeOf(block: number): number {
    let before = 0;
    for (const { first, end } of this.spans) {
      if (block >= first && block < end) return before + block - first;
      before += end - first;
    }
    return -1;
  }
}
