/**
 * A recorded run as a picture: addresses by time, memory over time, faults, transfers and launches.
 * All is counted in columns of time and rows of addresses, so that its size does not grow with the
 * recording.
 */
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../core/types.js';
import type { History, Move, RecordedArray } from './history.js';
import { type Report, reportOf } from './report.js';
import { arrivalText, departureText } from './words.js';

const COLUMNS = 600;
const MOST_ROWS = 256;
const MOST_DETAILS = 20_000;
/** No memory has most of the row. */
const NOWHERE = 255;
const MOST_COUNT = 65_535;

export interface PictureArray {
  readonly name: string;
  readonly bytes: number;
  readonly firstRow: number;
  readonly rows: number;
}

/** A move, for what is asked of a place in the picture. */
export interface Detail {
  readonly atMs: number;
  readonly row: number;
  /** The first element that moved. */
  readonly element: number;
  readonly pages: number;
  readonly text: string;
}

export interface Picture {
  readonly version: 1;
  readonly durationMs: number;
  readonly columns: number;
  readonly rows: number;
  readonly bytesPerRow: number;
  readonly memories: readonly { readonly name: string; readonly budgetBytes: number }[];
  readonly processors: readonly string[];
  readonly arrays: readonly PictureArray[];
  /** By row, then column: the memory that has most pages of it at the column's end; 255: none. */
  readonly places: Uint8Array;
  /** By row, then column: pages that arrived somewhere. */
  readonly arrived: Uint16Array;
  /** Of these, the ones that had been evicted from there before. */
  readonly returned: Uint16Array;
  /** By memory, array, column: bytes that it has of the array at the column's end. */
  readonly occupancy: readonly (readonly number[])[][];
  /** By processor and column. */
  readonly faults: readonly (readonly number[])[];
  /** Bytes that arrived, by cause and column. */
  readonly transfers: Readonly<Record<string, readonly number[]>>;
  readonly launches: readonly {
    readonly kernel: string;
    readonly processor: number;
    readonly beganMs: number;
    readonly endedMs: number;
  }[];
  readonly details: readonly Detail[];
  /** Moves that `details` has no room for. */
  readonly detailsLeftOut: number;
  readonly report: Report;
}

/** Rows of an array: blocks next to each other share one where there are too many. */
interface Band extends PictureArray {
  readonly array: RecordedArray;
}

export function pictureOf(history: History): Picture {
  const arrays = history.arrays.filter(({ first, pages }) => first >= 0 && pages > 0);
  const blocksOf = ({ pages }: RecordedArray): number => Math.ceil(pages / PAGES_PER_BLOCK);
  const blocks = arrays.reduce((sum, array) => sum + blocksOf(array), 0);
  const blocksPerRow = Math.max(1, Math.ceil(blocks / MOST_ROWS));
  const bands: Band[] = [];
  let rows = 0;
  for (const array of arrays) {
    const own = Math.ceil(blocksOf(array) / blocksPerRow);
    bands.push({
      array,
      name: array.name,
      bytes: array.pages * PAGE_BYTES,
      firstRow: rows,
      rows: own,
    });
    rows += own;
  }
  const painter = new Painter(history, bands, rows, blocksPerRow * PAGES_PER_BLOCK);
  return painter.paint();
}

class Painter {
  private readonly columnMs: number;
  private readonly bandOf = new Map<RecordedArray, number>();

  constructor(
    private readonly history: History,
    private readonly bands: readonly Band[],
    private readonly rows: number,
    private readonly pagesPerRow: number,
  ) {
    this.columnMs = Math.max(history.endMs, 1e-3) / COLUMNS;
    for (const [index, { array }] of bands.entries()) this.bandOf.set(array, index);
  }

  paint(): Picture {
    const { history, bands, rows } = this;
    const { memories, processors } = history;
    const series = (): number[] => new Array<number>(COLUMNS).fill(0);
    const faults = processors.map(series);
    for (const { atMs, processor } of history.faults) {
      const own = faults[processor];
      if (own !== undefined) own[this.column(atMs)]++;
    }
    const transfers = { touch: series(), launch: series(), ahead: series(), request: series() };
    const arrived = new Uint16Array(rows * COLUMNS);
    const returned = new Uint16Array(rows * COLUMNS);
    const places = new Uint8Array(rows * COLUMNS).fill(NOWHERE);
    const occupancy = memories.map(() => bands.map(series));
    const held = memories.map(() => new Float64Array(rows));
    for (const run of history.held) {
      this.forRows(run, (row, pages) => {
        held[run.memory][row] += pages;
      });
    }
    let painted = 0;
    for (const move of history.moves) {
      const column = this.column(move.atMs);
      for (; painted < column; painted++) this.columnEnds(painted, held, places, occupancy);
      const sign = move.kind === 'arrival' ? 1 : -1;
      this.forRows(move, (row, pages) => {
        held[move.memory][row] = Math.max(0, held[move.memory][row] + sign * pages);
        if (move.kind === 'departure') return;
        add(arrived, row * COLUMNS + column, pages);
        add(returned, row * COLUMNS + column, Math.min(move.returned, pages));
      });
      if (move.kind === 'arrival' && move.source !== -1)
        transfers[move.cause.kind][column] += move.pages * PAGE_BYTES;
    }
    for (; painted < COLUMNS; painted++) this.columnEnds(painted, held, places, occupancy);
    const [details, detailsLeftOut] = this.details();
    return {
      version: 1,
      durationMs: history.endMs,
      columns: COLUMNS,
      rows,
      bytesPerRow: this.pagesPerRow * PAGE_BYTES,
      memories: memories.map(({ name, budgetPages }) => ({
        name,
        budgetBytes: budgetPages * PAGE_BYTES,
      })),
      processors: processors.map(({ name }) => name),
      arrays: bands.map(({ name, bytes, firstRow, rows: own }) => ({
        name,
        bytes,
        firstRow,
        rows: own,
      })),
      places,
      arrived,
      returned,
      occupancy,
      faults,
      transfers,
      launches: history.launches.map(({ kernel, processor, beganMs, endedMs }) => ({
        kernel,
        processor,
        beganMs,
        endedMs: Number.isNaN(endedMs) ? history.endMs : endedMs,
      })),
      details,
      detailsLeftOut,
      report: reportOf(history),
    };
  }

  private column(atMs: number): number {
    return Math.min(COLUMNS - 1, Math.floor(atMs / this.columnMs));
  }

  /** A row is where most of its pages are. */
  private columnEnds(
    column: number,
    held: readonly Float64Array[],
    places: Uint8Array,
    occupancy: readonly number[][][],
  ): void {
    for (let row = 0; row < this.rows; row++) {
      let most = 0;
      for (let memory = 0; memory < held.length; memory++) {
        if (held[memory][row] <= most) continue;
        most = held[memory][row];
        places[row * COLUMNS + column] = memory;
      }
    }
    for (const [memory, bands] of occupancy.entries()) {
      for (const [band, series] of bands.entries()) {
        const { firstRow, rows } = this.bands[band];
        let pages = 0;
        for (let row = firstRow; row < firstRow + rows; row++) pages += held[memory][row];
        series[column] = pages * PAGE_BYTES;
      }
    }
  }

  private forRows(
    move: Pick<Move, 'page' | 'pages'>,
    visit: (row: number, pages: number) => void,
  ): void {
    const band = this.bandAt(move.page);
    if (band === null) return;
    const from = move.page - band.array.first;
    for (let done = 0; done < move.pages; ) {
      const row = Math.floor((from + done) / this.pagesPerRow);
      const pages = Math.min(move.pages - done, (row + 1) * this.pagesPerRow - from - done);
      if (row < band.rows) visit(band.firstRow + row, pages);
      done += pages;
    }
  }

  private bandAt(page: number): Band | null {
    const array = this.history.arrayAt(page);
    const band = array === null ? undefined : this.bandOf.get(array);
    return band === undefined ? null : this.bands[band];
  }

  /** Evictions that were regretted come first where there is no room for all. */
  private details(): [Detail[], number] {
    const { history } = this;
    const { moves } = history;
    const step = Math.max(1, Math.ceil(moves.length / MOST_DETAILS));
    const chosen = moves.filter(
      (move, at) => at % step === 0 || (move.kind === 'departure' && move.regret !== null),
    );
    const details: Detail[] = [];
    for (const move of chosen.slice(0, 2 * MOST_DETAILS)) {
      const band = this.bandAt(move.page);
      if (band === null) continue;
      const from = move.page - band.array.first;
      details.push({
        atMs: move.atMs,
        row: band.firstRow + Math.floor(from / this.pagesPerRow),
        element: Math.ceil((from * PAGE_BYTES) / band.array.elementBytes),
        pages: move.pages,
        text: move.kind === 'arrival' ? arrivalText(history, move) : departureText(history, move),
      });
    }
    return [details, moves.length - details.length];
  }
}

function add(counts: Uint16Array, at: number, pages: number): void {
  counts[at] = Math.min(MOST_COUNT, counts[at] + pages);
}
