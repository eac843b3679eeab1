/**
 * A run as a picture: addresses by time, memory over time, faults, transfers and launches. All is
 * counted in columns of time and rows of addresses while the run goes on, so that neither time nor
 * memory grow with its length.
 */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { HOST_NODE, PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import {
  type Departure,
  type Fault,
  growthOf,
  type Held,
  type Launch,
  type Move,
  type Need,
  type RecordedArray,
} from '../recording/moves.js';
import { Reader, type Watcher } from '../recording/reader.js';
import { arrivalText, departureText } from '../recording/words.js';
import { Costs, type Report } from '../report/report.js';
import { Band, COLUMNS, mergeCounts, NOWHERE, rowsFor } from './band.js';

const MOST_ROWS = 256;
/** Arrays with rows of their own; of more, those are left out that were freed long ago. */
const MOST_BANDS = 192;
/** Moves that are kept: the last ones, and as many of the whole run. */
const MOST_MOVES = 8192;
const MOST_LAUNCHES = 4096;
const MOST_LAUNCH_ARRAYS = 8;
/** A report sums up the whole run, which costs more than the columns that a frame adds. */
const REPORT_MS = 1000;
/** Of a column, when the run begins. */
const FIRST_COLUMN_MS = 0.25;
/**
 * What is in a device often is in the host, too, and in a store behind it: a device with a quarter
 * of the row is shown, and the host before what is behind it.
 */
const DEVICE_WEIGHT = 4;
const HOST_WEIGHT = 1.25;

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
  readonly array: string;
  /** The first element that moved. */
  readonly element: number;
  readonly pages: number;
  readonly text: string;
}

/** What moved while a launch ran, since it or one of its touches needed it. */
export interface LaunchCosts {
  readonly faults: number;
  /** Those that moved most. */
  readonly arrays: readonly {
    readonly name: string;
    readonly bytes: number;
    /** Of these, what had been evicted before. */
    readonly returned: number;
  }[];
}

export interface PictureLaunch {
  readonly id: number;
  readonly kernel: string;
  readonly processor: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly costs: LaunchCosts;
}

export interface Picture {
  /** What the next picture of the run can be asked to go on from. */
  readonly version: string;
  readonly durationMs: number;
  readonly columnMs: number;
  /** Columns that have begun. */
  readonly columns: number;
  /** Columns before it are as in the picture of the version that was asked for. */
  readonly fromColumn: number;
  readonly rows: number;
  readonly bytesPerRow: number;
  readonly memories: readonly { readonly name: string; readonly budgetBytes: number }[];
  readonly processors: readonly string[];
  /** By address. */
  readonly arrays: readonly PictureArray[];
  /** By row and column from `fromColumn`: the memory at the end, or a device's; 255: none. */
  readonly places: Uint8Array;
  /** The same: pages that arrived somewhere. */
  readonly arrived: Uint16Array;
  /** Of these, the ones that had been evicted from there before. */
  readonly returned: Uint16Array;
  /** By memory, array, column: bytes that it has of the array at the column's end. */
  readonly occupancy: readonly (readonly (readonly number[])[])[];
  /** By processor and column. */
  readonly faults: readonly (readonly number[])[];
  /** Bytes that arrived, by cause and column. */
  readonly transfers: Readonly<Record<Need, readonly number[]>>;
  readonly launches: readonly PictureLaunch[];
  /** Launches that there is no room for: the shortest ones. */
  readonly launchesLeftOut: number;
  /** Null: the one of the version that was asked for is less than a second old. */
  readonly report: Report | null;
}

interface KnownLaunch {
  readonly launch: Launch;
  faults: number;
  readonly arrays: Map<string, { bytes: number; returned: number }>;
}

type Series = Float64Array;
const series = (): Series => new Float64Array(COLUMNS);

export class PictureBuilder implements Watcher {
  readonly reader = new Reader(this);
  private readonly costs = new Costs(this.reader);
  private bands: Band[] = [];
  private readonly byArray = new Map<RecordedArray, Band>();
  private weights: number[] = [];
  private arraysSeen = 0;
  private blocksPerRow = 1;
  private columnMs = FIRST_COLUMN_MS;
  /** The one that time is in. */
  private column = 0;
  /** Counts what makes a new picture of the whole run necessary. */
  private generation = 0;
  private readonly faults: Series[] = [];
  private readonly transfers: Record<Need, Series> = {
    touch: series(),
    launch: series(),
    ahead: series(),
    request: series(),
    room: series(),
  };
  private launches: KnownLaunch[] = [];
  private launchesLeftOut = 0;
  private readonly running = new Map<number, KnownLaunch>();
  private readonly recent: Move[] = [];
  private recentAt = 0;
  private readonly sample: Move[] = [];
  private stride = 1;
  private moves = 0;
  /** The last one, how many there were before, and its time. */
  private report: Report | null = null;
  private reports = 0;
  private reportedMs = 0;

  held(run: Held): void {
    const { memory, page, pages } = run;
    this.bandAt(page)?.change(memory, page, pages);
    this.costs.held(run);
  }

  launched(launch: Launch): void {
    this.costs.launched(launch);
    const known = { launch, faults: 0, arrays: new Map() };
    this.launches.push(known);
    this.running.set(launch.id, known);
    if (this.launches.length > MOST_LAUNCHES) this.forgetLaunches();
  }

  faulted(fault: Fault): void {
    const { atMs, processor, launch } = fault;
    this.timeIs(atMs);
    while (this.faults.length <= processor) this.faults.push(series());
    this.faults[processor][this.column]++;
    const known = this.running.get(launch);
    if (known !== undefined) known.faults++;
    this.costs.faulted(fault);
  }

  moved(move: Move): void {
    const { atMs, page, pages, memory, cause } = move;
    this.timeIs(atMs);
    this.costs.moved(move);
    this.keep(move);
    const band = this.bandAt(page);
    band?.change(memory, page, growthOf(move));
    if (move.kind === 'departure') return;
    band?.arrive(move, this.column);
    if (move.source !== -1) this.transfers[move.need][this.column] += pages * PAGE_BYTES;
    const known = this.running.get(cause.launch);
    if (known === undefined || band === null || move.need === 'room') return;
    const { name } = band.array;
    const own = getOrMake(known.arrays, name, () => ({ bytes: 0, returned: 0 }));
    own.bytes += pages * PAGE_BYTES;
    own.returned += move.returned * PAGE_BYTES;
  }

  regretted(eviction: Departure, pages: number, isFirst: boolean): void {
    this.costs.regretted(eviction, pages, isFirst);
  }

  /** @param since the version of a picture that is there; @param nowMs to which the run has come */
  picture(since = '', nowMs = this.reader.now): Picture {
    const { reader, transfers } = this;
    this.timeIs(nowMs);
    this.seeArrays();
    this.columnEnds();
    const { columnMs, column, generation, bands } = this;
    const { memories, processors } = reader;
    const report = this.reportSince(since, nowMs);
    const shape = [generation, memories.length, processors.length].join('.');
    const fromColumn = columnAfter(since, shape, column);
    const columns = column + 1;
    const cut = (values: Series | undefined): number[] =>
      values === undefined
        ? new Array<number>(columns - fromColumn).fill(0)
        : Array.from(values.subarray(fromColumn, columns));
    const rows = bands.reduce((sum, band) => sum + band.rows, 0);
    return {
      version: `${shape} ${column} ${this.reports}`,
      durationMs: Math.max(nowMs, 1e-3),
      columnMs,
      columns,
      fromColumn,
      rows,
      bytesPerRow: this.blocksPerRow * PAGES_PER_BLOCK * PAGE_BYTES,
      memories: memories.map(({ name, budgetPages }) => ({
        name,
        budgetBytes: budgetPages * PAGE_BYTES,
      })),
      processors: processors.map(({ name }) => name),
      arrays: this.pictureArrays(),
      ...this.cells(rows, fromColumn, columns),
      occupancy: memories.map((_, memory) => bands.map((band) => cut(band.occupancy[memory]))),
      faults: processors.map((_, processor) => cut(this.faults[processor])),
      transfers: {
        touch: cut(transfers.touch),
        launch: cut(transfers.launch),
        ahead: cut(transfers.ahead),
        request: cut(transfers.request),
        room: cut(transfers.room),
      },
      launches: this.pictureLaunches(fromColumn * columnMs, nowMs),
      launchesLeftOut: this.launchesLeftOut,
      report,
    };
  }

  private reportSince(since: string, nowMs: number): Report | null {
    if (since === '' || this.report === null || nowMs - this.reportedMs >= REPORT_MS) {
      this.report = this.costs.report(nowMs);
      this.reports++;
      this.reportedMs = nowMs;
    }
    return since.split(' ')[2] === String(this.reports) ? null : this.report;
  }

  /** Moves that are known of a row, or of all (-1), in the order of their times. */
  details(row = -1): Detail[] {
    const { recent, recentAt, sample } = this;
    const last = [...recent.slice(recentAt), ...recent.slice(0, recentAt)];
    const begin = last[0]?.atMs ?? 0;
    const known = [...sample.filter(({ atMs }) => atMs < begin), ...last];
    const firstRows = this.firstRows();
    return known.flatMap((move) => {
      const band = this.bandAt(move.page);
      if (band === null) return [];
      const at = (firstRows.get(band) ?? 0) + band.rowAt(move.page);
      if (row !== -1 && at !== row) return [];
      const { atMs, page, pages } = move;
      const { name, first, elementBytes } = band.array;
      const text =
        move.kind === 'arrival' ? arrivalText(this.reader, move) : departureText(this.reader, move);
      const element = Math.ceil(((page - first) * PAGE_BYTES) / elementBytes);
      return [{ atMs, row: at, array: name, element, pages, text }];
    });
  }

  private timeIs(atMs: number): void {
    while (atMs >= COLUMNS * this.columnMs) this.mergeColumns();
    const column = Math.max(this.column, Math.floor(atMs / this.columnMs));
    for (; this.column < column; this.column++) this.columnEnds();
  }

  private columnEnds(): void {
    const { memories, processors } = this.reader;
    if (this.weights.length !== memories.length) {
      const own = new Set(processors.map(({ memory }) => memory));
      this.weights = memories.map(({ id }) =>
        own.has(id) ? (id === HOST_NODE ? HOST_WEIGHT : DEVICE_WEIGHT) : 1,
      );
    }
    for (const band of this.bands) band.columnEnds(this.column, this.weights);
  }

  /** All columns that there are become half as many. */
  private mergeColumns(): void {
    for (; this.column < COLUMNS - 1; this.column++) this.columnEnds();
    this.columnEnds();
    for (const band of this.bands) band.mergeColumns();
    for (const each of [...this.faults, ...Object.values(this.transfers)]) mergeCounts(each);
    this.columnMs *= 2;
    this.column = COLUMNS / 2;
    this.generation++;
  }

  private bandAt(page: number): Band | null {
    const array = this.reader.arrayAt(page);
    if (array === null) return null;
    const band = this.byArray.get(array);
    if (band?.hasGrown === false) return band;
    this.seeArrays();
    return this.byArray.get(array) ?? null;
  }

  /** Arrays that are new, or have grown. */
  private seeArrays(): void {
    const { arrays } = this.reader;
    const added = arrays
      .slice(this.arraysSeen)
      .filter(({ first, pages }) => first >= 0 && pages > 0);
    this.arraysSeen = arrays.length;
    // Before they have rows: those of large arrays would take hundreds of megabytes.
    this.makeRoom(added);
    for (const array of added) this.addBand(array);
    let changed = added.length > 0;
    for (const band of this.bands) if (band.grow()) changed = true;
    if (!changed) return;
    this.bands.sort((a, b) => a.first - b.first);
    this.makeRoom([]);
    this.generation++;
  }

  /** Rows have more blocks until there are few enough, with those of arrays that are to come. */
  private makeRoom(added: readonly RecordedArray[]): void {
    for (;;) {
      const rows = added.map(({ pages }) => rowsFor(pages, this.blocksPerRow));
      for (const band of this.bands) rows.push(band.rows);
      const all = rows.reduce((sum, each) => sum + each, 0);
      if (all <= MOST_ROWS || rows.every((each) => each <= 1)) return;
      for (const band of this.bands) band.mergeRows();
      this.blocksPerRow *= 2;
    }
  }

  /** An array that lies where one was before goes on in its rows. */
  private addBand(array: RecordedArray): void {
    const gone = this.bands.filter((band) => this.reader.arrayAt(band.first) !== band.array);
    const same = gone.find(
      (band) => band.first === array.first && band.array.pages === array.pages,
    );
    if (same !== undefined) {
      this.byArray.delete(same.array);
      same.array = array;
      this.byArray.set(array, same);
      return;
    }
    if (this.bands.length >= MOST_BANDS) {
      const dropped = gone.find((band) => band.isEmpty);
      // It moves without being drawn.
      if (dropped === undefined) return;
      this.bands = this.bands.filter((band) => band !== dropped);
      this.byArray.delete(dropped.array);
    }
    const band = new Band(array, this.blocksPerRow);
    this.bands.push(band);
    this.byArray.set(array, band);
  }

  private firstRows(): Map<Band, number> {
    const firstRows = new Map<Band, number>();
    let row = 0;
    for (const band of this.bands) {
      firstRows.set(band, row);
      row += band.rows;
    }
    return firstRows;
  }

  private pictureArrays(): PictureArray[] {
    const firstRows = this.firstRows();
    return this.bands.map((band) => ({
      name: band.array.name,
      bytes: band.array.pages * PAGE_BYTES,
      firstRow: firstRows.get(band) ?? 0,
      rows: band.rows,
    }));
  }

  private cells(
    rows: number,
    from: number,
    to: number,
  ): Pick<Picture, 'places' | 'arrived' | 'returned'> {
    const own = to - from;
    const places = new Uint8Array(rows * own).fill(NOWHERE);
    const arrived = new Uint16Array(rows * own);
    const returned = new Uint16Array(rows * own);
    let at = 0;
    for (const band of this.bands) {
      for (let row = 0; row < band.rows; row++, at += own) {
        const [begin, end] = [row * COLUMNS + from, row * COLUMNS + to];
        places.set(band.places.subarray(begin, end), at);
        arrived.set(band.arrived.subarray(begin, end), at);
        returned.set(band.returned.subarray(begin, end), at);
      }
    }
    return { places, arrived, returned };
  }

  /** Those that ran at a time or later. */
  private pictureLaunches(fromMs: number, nowMs: number): PictureLaunch[] {
    return this.launches
      .filter(({ launch }) => !(launch.endedMs < fromMs))
      .map(({ launch, faults, arrays }) => {
        const { id, kernel, processor, beganMs, endedMs } = launch;
        const most = [...arrays]
          .map(([name, own]) => ({ name, ...own }))
          .sort((a, b) => b.bytes - a.bytes)
          .slice(0, MOST_LAUNCH_ARRAYS);
        const costs = { faults, arrays: most };
        const end = Number.isNaN(endedMs) ? nowMs : endedMs;
        return { id, kernel, processor, beganMs, endedMs: end, costs };
      });
  }

  /** The shorter half of those that have ended is left out. */
  private forgetLaunches(): void {
    const took = ({ launch }: KnownLaunch): number => launch.endedMs - launch.beganMs;
    for (const [id, { launch }] of this.running)
      if (!Number.isNaN(launch.endedMs)) this.running.delete(id);
    const ended = this.launches.filter(({ launch }) => !Number.isNaN(launch.endedMs));
    ended.sort((a, b) => took(a) - took(b));
    const forgotten = new Set(ended.slice(0, MOST_LAUNCHES / 2));
    this.launches = this.launches.filter((each) => !forgotten.has(each));
    this.launchesLeftOut += forgotten.size;
    this.generation++;
  }

  private keep(move: Move): void {
    const { recent, sample } = this;
    if (recent.length < MOST_MOVES) recent.push(move);
    else {
      recent[this.recentAt] = move;
      this.recentAt = (this.recentAt + 1) % MOST_MOVES;
    }
    if (this.moves++ % this.stride !== 0) return;
    sample.push(move);
    if (sample.length < MOST_MOVES) return;
    this.stride *= 2;
    sample.splice(0, MOST_MOVES, ...sample.filter((_, at) => at % 2 === 0));
  }
}

/** From which column on a picture is told that goes on from a version. */
function columnAfter(version: string, shape: string, last: number): number {
  const [known, text] = version.split(' ');
  const column = Number(text);
  return known === shape && Number.isInteger(column) && column >= 0 && column <= last ? column : 0;
}
