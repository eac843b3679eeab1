/**
 * Touches that lie the same number of pages apart: down the columns of a matrix, or of every k-th
 * row. Leap's majority trend, which a few other touches in between do not end. Rows are rarely whole
 * pages, so that the step is no whole number, and neither is the place in a page: the touches are
 * those pages through which a line goes, and each one bounds its slope.
 */
import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../../core/basics/types.js';

/** Touches a step apart from which on one is known, and the most that are counted. */
const KNOWN = 2;
const MOST = 8;
/** Touches that come at once at another place. */
const FEW = 2;
/** Of a smaller step, most pages are used. */
const LEAST = 1.5;

export class Stride {
  /** Touches that were a step apart, less those that were not. */
  private votes = 0;
  /** Pages from one touch to the next, at least and at most. */
  private least = 0;
  private most = 0;
  /** The last touch, and steps to it from where the trend began. */
  private at = 0;
  private steps = 0;
  /** Of the touches since, the one furthest ahead of the trend, and the one furthest behind it. */
  private first = 0;
  private firstSteps = 0;
  private last = 0;
  private lastSteps = 0;
  /** Touches that come at once, and those that came with the last one, itself among them. */
  private window = 1;
  private came = 1;

  /** Pages from one touch to the next. */
  private get step(): number {
    return (this.least + this.most) / 2;
  }

  /** Where the last touch was, within its page. */
  private get place(): number {
    const { at, step, steps } = this;
    const low = this.first + (steps - this.firstSteps) * step;
    const high = this.last + 1 + (steps - this.lastSteps) * step;
    return Math.min(Math.max((low + high) / 2, at + 0.01), at + 0.99);
  }

  /** Whether a block has several of them, and most of its pages are none. */
  get isKnown(): boolean {
    const step = Math.abs(this.step);
    return this.votes >= KNOWN && step >= LEAST && step < PAGES_PER_BLOCK;
  }

  /** Whether 64 KiB have no two of them. */
  get isWide(): boolean {
    return this.isKnown && Math.abs(this.step) >= PAGES_PER_GROUP;
  }

  /** A touch of the range. */
  look(page: number): void {
    const goesOn = this.votes > 0 && this.goesOn(page);
    this.came = 1;
    if (goesOn) return;
    const delta = page - this.at;
    this.beginAt(page);
    if (this.votes > 1) {
      this.votes--;
      // Where it goes on from another place, that place in the page is not known yet.
      this.window = Math.min(this.window, FEW);
      return;
    }
    this.least = delta - 1;
    this.most = delta + 1;
    this.votes = 1;
    this.window = 1;
  }

  private beginAt(page: number): void {
    this.at = this.first = this.last = page;
    this.steps = this.firstSteps = this.lastSteps = 0;
  }

  /** Whether the touch is one that was expected, or right beside it. */
  private goesOn(page: number): boolean {
    const { place, step } = this;
    const count = Math.round((page + 0.5 - place) / step);
    if (!(count >= 1 && count <= this.came)) return false;
    if (Math.abs(place + count * step - page - 0.5) > 1) return false;
    if (!this.bound(page, this.steps + count)) return false;
    this.votes = Math.min(this.votes + 1, MOST);
    if (count === this.window) this.window = Math.min(this.window * 2, PAGES_PER_BLOCK);
    return true;
  }

  /** Whether a line goes through this touch, too. */
  private bound(page: number, steps: number): boolean {
    const least = Math.max(this.least, (page - this.last - 1) / (steps - this.lastSteps));
    const most = Math.min(this.most, (page + 1 - this.first) / (steps - this.firstSteps));
    if (least >= most) return false;
    this.least = least;
    this.most = most;
    this.at = page;
    this.steps = steps;
    const { step } = this;
    const ahead = page - steps * step;
    if (ahead > this.first - this.firstSteps * step) {
      this.first = page;
      this.firstSteps = steps;
    }
    if (ahead < this.last - this.lastSteps * step) {
      this.last = page;
      this.lastSteps = steps;
    }
    return true;
  }

  /** Puts the pages that are expected into the mask of the block that has the touch. */
  expect(result: Int32Array, page: number): void {
    if (!this.isKnown) return;
    const { step } = this;
    const place = this.place - this.at + page;
    for (let each = 1; each < this.window; each++) {
      const at = Math.floor(place + each * step);
      this.came = each;
      if (at < 0 || at >= PAGES_PER_BLOCK) return;
      result[at >>> 5] |= 1 << (at & 31);
    }
    this.came = this.window;
  }
}
