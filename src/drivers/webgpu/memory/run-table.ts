/**
 * Where pages lie in buffers of a GPU. A shader sees an array in one piece, so that pages which are
 * used as one lie in one *run*: a buffer for neighbouring pages, some of which may have no content
 * there. Runs of what a launch uses are made before its pages come; where the use changes, runs are
 * put together by copies on the GPU.
 */
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { Part } from '../link/protocol.js';

/** The part of the budget that buffers may have as room for pages that have gone. */
const SPARED = 1 / 8;

export interface Run {
  readonly first: number;
  readonly count: number;
  /** 0: nothing has come yet, and there is no buffer. */
  buffer: number;
  /** By page: 1 where it has content. */
  readonly backed: Uint8Array;
  pages: number;
}

/** What becomes of buffers. */
export interface BufferCommands {
  create(buffer: number, bytes: number): void;
  destroy(buffer: number, bytes: number): void;
  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): void;
}

interface Span {
  readonly first: number;
  readonly end: number;
}

export class RunTable {
  /** By their first pages; none overlaps another. */
  private readonly runs: Run[] = [];
  private lastBuffer = 0;
  /** Pages that all buffers have room for. */
  private allocated = 0;
  private compacting = false;
  /** Runs that must stay as they are: a kernel that is under way has them. */
  private readonly busy = new Set<Run>();
  /** Runs whose pages are on their way: what of them has not come has room there. */
  private expected: Run[] = [];

  constructor(
    private readonly commands: BufferCommands,
    private readonly budgetPages: number,
    /** The most pages of one buffer. */
    public largestPages: number = Number.MAX_SAFE_INTEGER,
  ) {}

  /** Has each of these lie in one run, which keeps room until others are expected. */
  expect(spans: readonly Span[]): void {
    for (const { first, end } of spans) this.join(first, end - first);
    this.expected = spans.flatMap(({ first }) => this.find(first) ?? []);
  }

  /** Has pages lie in one run, whatever comes; no more of them than a buffer has. */
  join(first: number, count: number): void {
    if (count > this.largestPages) return;
    const end = first + count;
    const old = this.runs.filter((run) => run.first < end && run.first + run.count > first);
    if (old.length === 1 && old[0].first <= first && endOf(old[0]) >= end) return;
    // A kernel's buffers stay where they are; a launch that needs the pages in one piece asks
    // again.
    if (old.some((run) => this.busy.has(run))) return;
    // What lies beside stays in the same piece: parts of one array that overlap are often used in
    // turn.
    const from = Math.min(first, ...old.map((run) => run.first));
    const to = Math.max(end, ...old.map(endOf));
    // But pages that a large array's parts need in turn are never all there.
    const whole = to - from <= Math.min(this.largestPages, this.budgetPages);
    const spans = whole
      ? [{ first: from, end: to }]
      : [
          { first: from, end: first },
          { first, end },
          { first: end, end: to },
        ];
    this.replace(old, spans, first);
  }

  /** The parts of buffers in which pages lie that get content now. */
  fill(page: number, count: number): Part[] {
    const wanted: Run[] = [];
    for (let at = page; at < page + count; ) {
      const run = this.find(at) ?? this.addBetween(at, page + count);
      const until = Math.min(page + count, endOf(run));
      this.mark(run, at, until, 1);
      wanted.push(run);
      at = until;
    }
    // A buffer that is made may have others be made smaller, those of the same pages, too.
    for (const run of wanted) if (this.runs.includes(run)) this.ensureBuffer(run);
    return this.parts(page, count);
  }

  /** The parts of buffers that have the content of pages. */
  parts(page: number, count: number): Part[] {
    const parts: Part[] = [];
    for (let at = page; at < page + count; ) {
      const run = this.find(at);
      if (run === undefined || run.buffer === 0) throw new Error(`page ${at} lies in no buffer`);
      const until = Math.min(page + count, endOf(run));
      parts.push(partOf(run, at, until));
      at = until;
    }
    return parts;
  }

  /** Which byte of the space lies at a byte of a buffer. */
  placeOf(buffer: number, offset: number): number {
    const run = this.runs.find((each) => each.buffer === buffer);
    if (run === undefined) throw new Error(`there is no buffer ${buffer}`);
    return run.first * PAGE_BYTES + offset;
  }

  /** Which of these pages have content. */
  backed(first: number, count: number): { readonly first: number; readonly count: number }[] {
    const end = first + count;
    const found = this.runs.filter((run) => run.first < end && endOf(run) > first);
    return found.flatMap((run) =>
      backedIntervals(run, Math.max(first, run.first), Math.min(end, endOf(run))).map((each) => ({
        first: each.first,
        count: each.end - each.first,
      })),
    );
  }

  /** The content of pages is needed no more. */
  release(page: number, count: number): void {
    for (let at = page; at < page + count; ) {
      const run = this.find(at);
      if (run === undefined) {
        at++;
        continue;
      }
      const until = Math.min(page + count, endOf(run));
      this.mark(run, at, until, 0);
      if (run.pages === 0) this.drop(run);
      at = until;
    }
  }

  /** The run with all these pages, about to be used. Undefined: none has them all. */
  use(first: number, count: number): Run | undefined {
    const run = this.find(first);
    if (run === undefined || run.buffer === 0 || endOf(run) < first + count) return undefined;
    this.busy.add(run);
    return run;
  }

  /** No kernel is under way any more. */
  unuse(): void {
    this.busy.clear();
  }

  /** Bytes of all buffers. */
  get bytes(): number {
    return this.allocated * PAGE_BYTES;
  }

  private find(page: number): Run | undefined {
    let low = 0;
    let high = this.runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (endOf(this.runs[middle]) <= page) low = middle + 1;
      else high = middle;
    }
    const run = this.runs.at(low);
    return run !== undefined && run.first <= page ? run : undefined;
  }

  private addBetween(page: number, end: number): Run {
    const next = this.runs.find((run) => run.first > page);
    return this.insert({ first: page, end: Math.min(end, next?.first ?? end) });
  }

  private insert({ first, end }: Span): Run {
    const run: Run = {
      first,
      count: end - first,
      buffer: 0,
      backed: new Uint8Array(end - first),
      pages: 0,
    };
    const at = this.runs.findIndex((each) => each.first > first);
    this.runs.splice(at === -1 ? this.runs.length : at, 0, run);
    return run;
  }

  /** Replaces runs. Empty ones are left out, but for the one around `wanted`. */
  private replace(old: readonly Run[], spans: readonly Span[], wanted: number): void {
    const made: Run[] = [];
    for (const run of old) {
      this.runs.splice(this.runs.indexOf(run), 1);
      this.busy.add(run);
    }
    for (const { first, end } of spans) {
      const intervals = old.flatMap((run) =>
        backedIntervals(run, Math.max(first, run.first), Math.min(end, endOf(run))).map((each) => ({
          run,
          ...each,
        })),
      );
      if (intervals.length === 0 && !(first <= wanted && wanted < end)) continue;
      const run = this.insert({ first, end });
      this.busy.add(run);
      made.push(run);
      for (const { run: source, first: from, end: to } of intervals) {
        this.ensureBuffer(run);
        const [, offset, bytes] = partOf(source, from, to);
        this.commands.copy(source.buffer, offset, run.buffer, (from - first) * PAGE_BYTES, bytes);
        this.mark(run, from, to, 1);
      }
    }
    for (const run of made) this.busy.delete(run);
    for (const run of old) {
      this.busy.delete(run);
      this.free(run);
    }
  }

  private ensureBuffer(run: Run): void {
    if (run.buffer !== 0) return;
    if (this.allocated + run.count > this.budgetPages) this.compact();
    run.buffer = ++this.lastBuffer;
    this.allocated += run.count;
    this.commands.create(run.buffer, run.count * PAGE_BYTES);
  }

  /**
   * Leaves no room in buffers for pages that have gone, but for a little: the first block that
   * leaves a window is not to have all the others copied.
   */
  private compact(): void {
    if (this.compacting) return;
    this.compacting = true;
    let spared = this.budgetPages * SPARED;
    for (const run of [...this.runs]) {
      if (run.buffer === 0 || this.busy.has(run) || this.expected.includes(run)) continue;
      const gone = run.count - run.pages;
      if (gone <= spared) {
        spared -= gone;
        continue;
      }
      this.replace([run], backedIntervals(run, run.first, endOf(run)), -1);
    }
    this.compacting = false;
  }

  private drop(run: Run): void {
    this.runs.splice(this.runs.indexOf(run), 1);
    this.free(run);
  }

  private free(run: Run): void {
    if (run.buffer === 0) return;
    this.commands.destroy(run.buffer, run.count * PAGE_BYTES);
    this.allocated -= run.count;
  }

  private mark(run: Run, from: number, to: number, content: 0 | 1): void {
    for (let at = from - run.first; at < to - run.first; at++) {
      if (run.backed[at] === content) continue;
      run.backed[at] = content;
      run.pages += content === 1 ? 1 : -1;
    }
  }
}

function endOf(run: Run): number {
  return run.first + run.count;
}

function partOf(run: Run, from: number, to: number): Part {
  return [run.buffer, (from - run.first) * PAGE_BYTES, (to - from) * PAGE_BYTES];
}

function backedIntervals(run: Run, from: number, to: number): Span[] {
  const intervals: Span[] = [];
  for (let page = from; page < to; ) {
    if (run.backed[page - run.first] === 0) {
      page++;
      continue;
    }
    let end = page;
    while (end < to && run.backed[end - run.first] === 1) end++;
    intervals.push({ first: page, end });
    page = end;
  }
  return intervals;
}
