/**
 * What comes with a touch: one picture of how a processor goes through a range, and one decision.
 * docs/internals/patterns.md says where each part of it comes from, and which figure needs it.
 */
import {
  addRun,
  and,
  andNot,
  has,
  isEmpty,
  nextAbsent,
  sizeOfRun,
} from '../../core/basics/mask.js';
import {
  MOST_AHEAD,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type PrefetchPolicy,
  type ReadAheadPolicy,
  type Reason,
  type Touch,
} from '../../core/basics/types.js';
import { type OptionNames, refuseUnknown } from '../../messages/option-names.js';
import { checkOption } from '../option-range.js';
import { next } from './next.js';
import { Stride } from './stride.js';
import { Trial } from './trial.js';
import { blocksOf, type Walk, Walks } from './walks.js';
import { WindowCap } from './window-cap.js';

/** Options of `pattern`. */
export interface PatternOptions {
  /**
   * Density above which a part of a block is brought whole while the memory has room, in percent,
   * from 0 to 100; 51 unless said otherwise.
   */
  readonly thresholdPercent?: number;
}

const OPTIONS: OptionNames<PatternOptions> = { thresholdPercent: true };

/** Touches after which the window of a walk has grown to a block. */
const LONG = 1 + Math.log2(PAGES_PER_BLOCK / PAGES_PER_GROUP);
/**
 * From so many touches here and there on, neighbours would leave before they are used. No more are
 * counted, and one that follows another takes off several: a walk is soon known for one.
 */
const SCATTERED = 16;
const FOLLOWED = 4;

/** Why a processor is taken to go on into the next block. */
const MOVES_ON: readonly Reason[] = ['walk', 'repeat', 'advice', 'begin'];

/** Why pages come without their neighbours. */
const ALONE: readonly Reason[] = ['trial', 'scattered', 'stride'];

/** What is known of a processor's way through a range. */
class Picture {
  readonly walks = new Walks();
  readonly trial = new Trial();
  readonly stride = new Stride();
  /** Touches that lay scattered while the memory was full, less those that followed others. */
  scattered = 0;
  /** Of the touch at hand: its walk, and how often it went on. */
  walk!: Walk;
  reason: Reason = 'near';
  /** The touch is where a walk began that came into the next block. */
  private repeats = false;

  observe(touch: Touch, page: number): void {
    const { advice } = touch;
    const normal = advice === 'normal';
    const guess = normal && this.scattered === 0;
    // To read an element and then to write it is one touch.
    const again = touch.again || has(touch.mapped, touch.page);
    if (!again) this.stride.look(page);
    const together = !this.trial.sparse || this.scattered === 0;
    const begins = this.follow(touch, page, together, again);
    const walks = guess && this.streams(touch);
    const repeats = guess && this.repeats && touch.declared && isEmpty(touch.mapped);
    const trial = guess ? this.trial.look(touch, walks || repeats) : 'none';
    if (trial === 'sparse') this.scattered = SCATTERED;
    if (trial === 'alone') this.reason = 'trial';
    else if (advice === 'sequential') this.reason = 'advice';
    else if (trial === 'dense' || walks) this.reason = 'walk';
    else if (begins) this.reason = 'begin';
    else if (repeats) this.reason = 'repeat';
    if (!normal || this.reason === 'trial') return;
    const follows = this.reason !== 'near' || this.walk.length > 0;
    const scattered = this.scattered >= SCATTERED;
    if (trial !== 'dense' && (scattered ? this.stride.isKnown : !follows && this.stride.isWide)) {
      this.reason = 'stride';
      return;
    }
    if (!again) this.count(touch, follows);
    if ((again || !follows) && this.scattered >= SCATTERED)
      this.reason = this.trial.sparse ? 'stride' : 'scattered';
  }

  /** Finds the walk of the touch. Returns whether it begins where content does. */
  private follow(touch: Touch, page: number, together: boolean, again: boolean): boolean {
    const { walks } = this;
    this.reason = 'near';
    this.repeats = false;
    const known = walks.goingOn(page, together, again);
    if (known !== null) {
      this.walk = known;
      if (known.at === page) return false;
      // From here on it is brought whole blocks.
      known.length = Math.min(known.length + 1, LONG);
      known.at = page;
      return false;
    }
    const before = walks.beganAt(page);
    const begins = touch.source === 'far' && !touch.continues;
    this.repeats = before !== null && blocksOf(before) > 0;
    const walk = before ?? walks.begin(page);
    if (begins) walk.asked = before === null ? 1 : asLastTime(before);
    else walk.asked = -1;
    walk.begin = page;
    walk.at = page;
    walk.length = begins ? 1 : 0;
    this.walk = walk;
    return begins;
  }

  /** It comes in at the border to a block that it has wholly, or has walked through. */
  private streams(touch: Touch): boolean {
    if (touch.page < PAGES_PER_GROUP) return touch.hasWhole(-1);
    return touch.page >= PAGES_PER_BLOCK - PAGES_PER_GROUP && touch.hasWhole(1);
  }

  private count(touch: Touch, follows: boolean): void {
    if (follows) this.scattered = Math.max(0, this.scattered - FOLLOWED);
    else if (touch.pressed) this.scattered = Math.min(this.scattered + 1, SCATTERED);
  }
}

/** As many blocks as the last walk from here, or half, if it did not use all of them. */
function asLastTime(walk: Walk): number {
  if (walk.asked === -1) return 1;
  const came = blocksOf(walk);
  return Math.min(MOST_AHEAD, came > 0 ? came : walk.asked >> 1);
}

/**
 * What a fault brings, and how many blocks come ahead of a walk: by how the processor has touched
 * the range until now.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const policies = { prefetch: { name: 'pattern', thresholdPercent: 75 } };
 * const space = await openSpace({ policies });
 * console.log(space.isClosed); // false
 * await space.close();
 */
export function pattern(
  options: PatternOptions = {},
  readAhead: ReadAheadPolicy = next(),
): PrefetchPolicy {
  refuseUnknown('OPTIONS', 'pattern() has no option', Object.keys(options), Object.keys(OPTIONS));
  const { thresholdPercent = 51 } = options;
  checkOption('thresholdPercent of pattern()', thresholdPercent, 0, 100, false);
  const cap = new WindowCap();
  return (touch) => {
    // Another policy may have kept something until it failed.
    if (!(touch.memory instanceof Picture)) touch.memory = new Picture();
    const picture = touch.memory as Picture;
    const page = touch.block * PAGES_PER_BLOCK + touch.page;
    const most = cap.of(touch, page, picture.walks.last);
    picture.observe(touch, page);
    touch.reason = picture.reason;
    decide(touch, picture, most, thresholdPercent);
    const { walk, reason } = picture;
    walk.evictions = touch.evictions;
    const base = page - touch.page;
    const streams = MOVES_ON.includes(reason);
    // Only of a walk it is known that it goes on over what is there already.
    walk.next = base + (streams ? endOfWhatIsThere(touch) : nextAbsent(touch.result, touch.page));
    if (streams) goAhead(touch, picture, most, readAhead);
  };
}

/** The next page of the block that the processor lacks still. */
function endOfWhatIsThere({ page, result, occupied }: Touch): number {
  for (let at = page; ; ) {
    const end = nextAbsent(result, at);
    at = nextAbsent(occupied, end);
    if (at === end) return end;
  }
}

/** Puts the window of pages into the answer. */
function decide(touch: Touch, picture: Picture, most: number, thresholdPercent: number): void {
  const { page, result, occupied, allowed } = touch;
  const { length } = picture.walk;
  const group = page & ~(PAGES_PER_GROUP - 1);
  let first = group;
  let count: number = PAGES_PER_GROUP;
  if (ALONE.includes(touch.reason)) {
    first = page;
    count = 1;
    if (touch.reason === 'stride') picture.stride.expect(result, page);
  } else if (touch.reason !== 'near' && touch.reason !== 'begin') {
    first = 0;
    count = PAGES_PER_BLOCK;
  } else if (touch.full) {
    // A processor that has walked through two groups gets twice as much each time.
    if (length > 1) count = Math.min(PAGES_PER_GROUP << (length - 1), PAGES_PER_BLOCK - first);
    // From a slow memory neighbours come only as far as that is cheaper than to fault for them.
    else if (touch.sourcePages < count) {
      count = 1 << (31 - Math.clz32(touch.sourcePages));
      first = page & ~(count - 1);
    }
  } else if (touch.source === 'far' && length > (touch.write ? 1 : 0)) {
    // To wait for another fault's pages there costs more than to bring a block in vain. A write
    // takes the pages away from there, so that it must be a walk for longer.
    count = PAGES_PER_BLOCK - first;
  } else {
    // The group of the fault counts as there; pages of it that are there must not count twice.
    const comes = PAGES_PER_GROUP - sizeOfRun(occupied, group, PAGES_PER_GROUP);
    for (let width = PAGES_PER_GROUP * 2; width <= PAGES_PER_BLOCK; width *= 2) {
      const start = page & ~(width - 1);
      const there = sizeOfRun(occupied, start, width) + comes;
      if (there * 100 <= width * thresholdPercent) continue;
      touch.reason = 'dense';
      first = start;
      count = width;
    }
  }
  if (count > most) {
    first = page & ~(most - 1);
    count = most;
  }
  addRun(result, first, count);
  and(result, allowed);
  andNot(result, occupied);
}

/** Says how many blocks come ahead of a walk. */
function goAhead(
  touch: Touch,
  { walk, trial }: Picture,
  most: number,
  readAhead: ReadAheadPolicy,
): void {
  const begins = touch.reason === 'begin';
  const advised = touch.reason === 'advice';
  if (touch.reason === 'walk' && !touch.hasWhole(-1)) return;
  // The walks have no room for a block each, let alone for the next ones.
  if (most < PAGES_PER_BLOCK) return;
  const nodeBlocks = Math.floor(touch.budgetPages / PAGES_PER_BLOCK);
  let reached = 0;
  let stored = false;
  for (let step = 1; step <= MOST_AHEAD; step++) {
    const place = touch.placeOf(step);
    if (place === 'ahead') reached++;
    else if (place !== 'here') {
      stored = place === 'far';
      break;
    }
  }
  const { aheadBlocks } = touch;
  const blocks = Math.min(
    begins ? walk.asked : MOST_AHEAD,
    readAhead({ advised, nodeBlocks, aheadBlocks, reached, stored }),
  );
  // One that is to be tried comes with no other.
  while (
    touch.ahead < blocks &&
    !(touch.advice === 'normal' && isTried(touch, trial, touch.ahead + 1))
  )
    touch.ahead++;
  touch.certain = begins;
  // Nothing but the last of them faults.
  if (begins && touch.ahead > 0) walk.next = (touch.block + touch.ahead) * PAGES_PER_BLOCK;
}

function isTried(touch: Touch, trial: Trial, step: number): boolean {
  const place = touch.placeOf(step);
  return (place === 'near' || place === 'far') && trial.isDue(touch, step);
}

/** Brings the touched page alone: for measurements, and for devices whose users know better. */
export const none: PrefetchPolicy = ({ page, result }) => {
  result[page >>> 5] |= 1 << (page & 31);
};
