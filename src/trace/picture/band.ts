/** The rows of one array in a picture: what happened there, by column of time. */
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import type { Arrival, RecordedArray } from '../recording/moves.js';

/** Of a picture. Two become one where there is no room for more. */
export const COLUMNS = 600;
/** No memory has most of the row. */
export const NOWHERE = 255;
const MOST_COUNT = 65_535;

export class Band {
  /**
   * By row, then column: the memory that has most pages of it at the column's end. Of equals, the
   * one where some came last: what the others have may be stale.
   */
  places: Uint8Array;
  /** Pages that arrived somewhere. */
  arrived: Uint16Array;
  /** Of these, the ones that had been evicted from there before. */
  returned: Uint16Array;
  /** By memory, then row: pages that it has now. */
  readonly held: Float64Array[] = [];
  /** By memory, then column: bytes that it had at its end. */
  readonly occupancy: Float64Array[] = [];
  readonly first: number;
  rows: number;
  /** By row: the memory where pages came last. */
  private latest: Uint8Array;
  /** As they were when its rows were counted. */
  private pages: number;

  constructor(
    public array: RecordedArray,
    private blocksPerRow: number,
  ) {
    this.first = array.first;
    this.pages = array.pages;
    this.rows = this.rowsOf(array.pages);
    this.latest = new Uint8Array(this.rows).fill(NOWHERE);
    this.places = new Uint8Array(this.rows * COLUMNS).fill(NOWHERE);
    this.arrived = new Uint16Array(this.rows * COLUMNS);
    this.returned = new Uint16Array(this.rows * COLUMNS);
  }

  get pagesPerRow(): number {
    return this.blocksPerRow * PAGES_PER_BLOCK;
  }

  get isEmpty(): boolean {
    return this.held.every((rows) => rows.every((pages) => pages === 0));
  }

  get hasGrown(): boolean {
    return this.array.pages > this.pages;
  }

  rowAt(page: number): number {
    return Math.min(this.rows - 1, Math.floor((page - this.first) / this.pagesPerRow));
  }

  /** A memory has more or fewer pages. Those of a move lie in one block; those of `held` may not. */
  change(memory: number, page: number, growth: number): void {
    while (this.held.length <= memory) {
      this.held.push(new Float64Array(this.rows));
      this.occupancy.push(new Float64Array(COLUMNS));
    }
    const held = this.held[memory];
    this.forRows(page, Math.abs(growth), (row, count) => {
      held[row] += Math.sign(growth) * count;
    });
  }

  arrive({ memory, page, pages, returned }: Arrival, column: number): void {
    let left = returned;
    this.forRows(page, pages, (row, count) => {
      this.latest[row] = memory;
      const at = row * COLUMNS + column;
      const again = Math.min(left, count);
      left -= again;
      this.arrived[at] = Math.min(MOST_COUNT, this.arrived[at] + count);
      this.returned[at] = Math.min(MOST_COUNT, this.returned[at] + again);
    });
  }

  /**
   * Notes where pages are.
   * @param weights of a page, by memory: the heaviest memory is shown
   */
  columnEnds(column: number, weights: readonly number[]): void {
    const { held, rows } = this;
    for (let row = 0; row < rows; row++) {
      let most = 0;
      let place = NOWHERE;
      for (let memory = 0; memory < held.length; memory++) {
        const weight = held[memory][row] * weights[memory];
        if (weight === 0 || weight < most) continue;
        if (weight === most && this.latest[row] !== memory) continue;
        most = weight;
        place = memory;
      }
      this.places[row * COLUMNS + column] = place;
    }
    for (const [memory, own] of held.entries()) {
      let pages = 0;
      for (const each of own) pages += each;
      this.occupancy[memory][column] = pages * PAGE_BYTES;
    }
  }

  /** The array has more pages than before. Returns whether it has more rows. */
  grow(): boolean {
    if (!this.hasGrown) return false;
    this.pages = this.array.pages;
    const rows = this.rowsOf(this.pages);
    if (rows <= this.rows) return false;
    this.places = longer(this.places, rows * COLUMNS, NOWHERE);
    this.latest = longer(this.latest, rows, NOWHERE);
    this.arrived = longer(this.arrived, rows * COLUMNS);
    this.returned = longer(this.returned, rows * COLUMNS);
    for (const [memory, own] of this.held.entries()) this.held[memory] = longer(own, rows);
    this.rows = rows;
    return true;
  }

  /** Pairs of columns become one. */
  mergeColumns(): void {
    for (let row = 0; row < this.rows; row++) {
      const from = row * COLUMNS;
      mergeCounts(this.arrived.subarray(from, from + COLUMNS));
      mergeCounts(this.returned.subarray(from, from + COLUMNS));
      lastOfPairs(this.places.subarray(from, from + COLUMNS), NOWHERE);
    }
    for (const each of this.occupancy) lastOfPairs(each, 0);
  }

  /** Pairs of rows become one. */
  mergeRows(): void {
    const { places, arrived, returned } = this;
    this.blocksPerRow *= 2;
    const rows = Math.ceil(this.rows / 2);
    for (let row = 0; row < rows; row++) {
      const other = Math.min(2 * row + 1, this.rows - 1);
      for (let column = 0; column < COLUMNS; column++) {
        const [one, two] = [2 * row * COLUMNS + column, other * COLUMNS + column];
        const at = row * COLUMNS + column;
        places[at] = places[one] === NOWHERE ? places[two] : places[one];
        const isPair = one !== two;
        arrived[at] = Math.min(MOST_COUNT, arrived[one] + (isPair ? arrived[two] : 0));
        returned[at] = Math.min(MOST_COUNT, returned[one] + (isPair ? returned[two] : 0));
      }
    }
    for (const [memory, own] of this.held.entries())
      this.held[memory] = Float64Array.from(
        { length: rows },
        (_, row) => own[2 * row] + (own[2 * row + 1] ?? 0),
      );
    this.latest = Uint8Array.from({ length: rows }, (_, row) => {
      const second = this.latest[2 * row + 1] ?? NOWHERE;
      return second === NOWHERE ? this.latest[2 * row] : second;
    });
    this.rows = rows;
    this.places = places.slice(0, rows * COLUMNS);
    this.arrived = arrived.slice(0, rows * COLUMNS);
    this.returned = returned.slice(0, rows * COLUMNS);
  }

  private rowsOf(pages: number): number {
    return rowsFor(pages, this.blocksPerRow);
  }

  private forRows(page: number, pages: number, visit: (row: number, pages: number) => void): void {
    const { pagesPerRow } = this;
    const from = page - this.first;
    for (let done = 0; done < pages; ) {
      const row = Math.floor((from + done) / pagesPerRow);
      const count = Math.min(pages - done, (row + 1) * pagesPerRow - from - done);
      if (row >= 0 && row < this.rows) visit(row, count);
      done += count;
    }
  }
}

/** How many rows an array of so many pages has. */
export function rowsFor(pages: number, blocksPerRow: number): number {
  return Math.max(1, Math.ceil(pages / (blocksPerRow * PAGES_PER_BLOCK)));
}

type Numbers = Uint8Array | Uint16Array | Float64Array;

/** Sums of pairs, and zeros behind them. */
export function mergeCounts(values: Uint16Array | Float64Array): void {
  const half = values.length / 2;
  const most = values instanceof Uint16Array ? MOST_COUNT : Number.POSITIVE_INFINITY;
  for (let at = 0; at < half; at++)
    values[at] = Math.min(most, values[2 * at] + values[2 * at + 1]);
  values.fill(0, half);
}

function lastOfPairs(values: Uint8Array | Float64Array, rest: number): void {
  const half = values.length / 2;
  for (let at = 0; at < half; at++) values[at] = values[2 * at + 1];
  values.fill(rest, half);
}

function longer<T extends Numbers>(values: T, length: number, rest = 0): T {
  const made = new (values.constructor as new (length: number) => T)(length);
  made.fill(rest);
  made.set(values);
  return made;
}
