// The data of `onemem demo`: three million flights within the United States, January to June 2001
// (Bureau of Transportation Statistics), and the places of the airports, as the npm package
// vega-datasets carries them. They are turned once into columns, one .npy file each, which `onemem
// run` could read as well.

import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ArrayLayout, type Dtype, dtypes, npyHeader, readNpyLayout } from '../../files/npy.js';
import { packageFile } from '../../linux/own-files.js';
import { CommandError } from '../terminal/failure.js';

/** Columns in the order of the report. The device reads all but `delay`, which the CPU reads. */
export const demoColumns = {
  originLatitude: 'f64',
  originLongitude: 'f64',
  destinationLatitude: 'f64',
  destinationLongitude: 'f64',
  /** Of the departure, counted from the beginning of 2001, local time. */
  minute: 'i32',
  /** As reported, in miles. */
  distance: 'i32',
  /** As reported, in minutes; early is negative. */
  delay: 'i32',
} as const satisfies Record<string, Dtype>;

export type DemoColumn = keyof typeof demoColumns;

export interface DemoData {
  folder: string;
  rows: number;
  files: Record<DemoColumn, { path: string; layout: ArrayLayout }>;
  byteLength: number;
  /** False where an earlier run had prepared them already. */
  prepared: boolean;
  /** Whether the folder could not be kept, and goes by cleanUp() or with the process. */
  temporary: boolean;
  /** Removes a temporary folder. Does nothing else. */
  cleanUp(): void;
}

// Changes with what prepareDemoData writes, so that an older cache is not taken for it.
const FORMAT = 1;
const EPOCH_MICROSECONDS = BigInt(Date.UTC(2001, 0, 1)) * 1000n;

/** The data of the demonstration and what reads them: large, and of no use for anything else. */
export const DEMO_PACKAGES = 'npm install vega-datasets hyparquet fzstd';

/** A file of the demonstration in examples/: its kernels are written as a user's own would be. */
export function demoFile(name: 'kernel.js' | 'kernel.wgsl'): URL {
  const file = packageFile(`examples/flights/${name}`);
  if (file !== null) return file;
  throw new Error(`examples/flights/${name} is missing from this installation of onemem`);
}

/**
 * @param options.onProgress told the rows that are done, while the columns are written
 * @param options.cache where prepared columns are kept; null for a folder that cleanUp() removes
 */
export async function prepareDemoData(
  options: { onProgress?: (rows: number, of: number) => void; cache?: string | null } = {},
): Promise<DemoData> {
  const source = findSource();
  const name = `flights-${source.version}-${FORMAT}`;
  const cache = options.cache === undefined ? defaultCache(source.packages) : options.cache;
  const folder = cache === null ? null : join(cache, name);
  if (folder !== null) {
    const kept = openColumns(folder);
    if (kept) return { ...kept, prepared: false, temporary: false, cleanUp() {} };
  }
  // Written beside its place and moved there at the end: another run never sees half of it.
  const temporary = mkdtempSync(
    cache === null ? join(tmpdir(), 'onemem-flights-') : join(cache, `${name}.tmp-`),
  );
  const remove = () => rmSync(temporary, { recursive: true, force: true });
  // A process that is interrupted leaves nothing half made behind.
  process.on('exit', remove);
  try {
    await writeColumns(source, temporary, options.onProgress ?? (() => {}));
    if (folder !== null) moveInto(temporary, folder);
  } catch (error) {
    process.off('exit', remove);
    remove();
    throw error;
  }
  if (folder !== null) process.off('exit', remove);
  const data = openColumns(folder ?? temporary);
  if (!data) throw new Error(`the columns in ${folder ?? temporary} cannot be read back`);
  const cleanUp = () => {
    if (folder !== null) return;
    process.off('exit', remove);
    remove();
  };
  return { ...data, prepared: true, temporary: folder === null, cleanUp };
}

interface DataSource {
  parquet: string;
  airports: string;
  version: string;
  /** The node_modules folder that holds the data. */
  packages: string;
}

function findSource(): DataSource {
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve('vega-datasets');
  } catch {
    throw missingPackages();
  }
  // The package exports its code only; its data lie beside.
  const folder = dirname(dirname(entry));
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return {
    parquet: join(folder, 'data', 'flights-3m.parquet'),
    airports: join(folder, 'data', 'airports.csv'),
    version: manifest.version,
    packages: dirname(folder),
  };
}

function missingPackages(): Error {
  return new CommandError(
    'DEMO_PACKAGES',
    `the demonstration needs its data and the programs that read them, which a plain installation leaves out: ${DEMO_PACKAGES}, where onemem is installed`,
  );
}

/** Beside the data, where tools keep what can be made again; null where that cannot be written. */
function defaultCache(packages: string): string | null {
  const cache = join(packages, '.cache', 'onemem');
  try {
    mkdirSync(cache, { recursive: true });
    rmSync(mkdtempSync(join(cache, 'try-')), { recursive: true });
    return cache;
  } catch {
    return null;
  }
}

function moveInto(temporary: string, folder: string): void {
  for (let attempt = 0; ; attempt++) {
    try {
      renameSync(temporary, folder);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if ((code !== 'ENOTEMPTY' && code !== 'EEXIST') || attempt === 3) throw error;
      // Another run was faster, or what is there is damaged.
      if (openColumns(folder)) {
        rmSync(temporary, { recursive: true, force: true });
        return;
      }
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** The columns in a folder, or null if one is missing, short or of another type. */
export function openColumns(
  folder: string,
): Pick<DemoData, 'folder' | 'rows' | 'files' | 'byteLength'> | null {
  const files = {} as DemoData['files'];
  let rows = -1;
  let byteLength = 0;
  for (const [column, dtype] of Object.entries(demoColumns) as [DemoColumn, Dtype][]) {
    const path = join(folder, `${column}.npy`);
    let fd = -1;
    try {
      fd = openSync(path, 'r');
      const layout = readNpyLayout(fd, path);
      if (layout.dtype !== dtype || (rows !== -1 && layout.length !== rows)) return null;
      rows = layout.length;
      byteLength += layout.byteLength;
      files[column] = { path, layout };
    } catch {
      return null;
    } finally {
      if (fd !== -1) closeSync(fd);
    }
  }
  return { folder, rows, files, byteLength };
}

type Airports = ReadonlyMap<string, { readonly latitude: number; readonly longitude: number }>;

/** @throws where they are not installed */
async function readers(): Promise<{
  hyparquet: typeof import('hyparquet');
  fzstd: typeof import('fzstd');
}> {
  try {
    return { hyparquet: await import('hyparquet'), fzstd: await import('fzstd') };
  } catch {
    throw missingPackages();
  }
}

async function writeColumns(
  source: DataSource,
  folder: string,
  onProgress: (rows: number, of: number) => void,
): Promise<void> {
  const { hyparquet, fzstd } = await readers();
  const airports = readAirports(source.airports);
  const bytes = readFileSync(source.parquet);
  const file = bytes.buffer.slice(
    bytes.byteOffset,
    bytes.byteOffset + bytes.byteLength,
  ) as ArrayBuffer;
  const metadata = hyparquet.parquetMetadata(file);
  const rows = Number(metadata.num_rows);
  const compressors = {
    ZSTD: (input: Uint8Array, length: number) => fzstd.decompress(input, new Uint8Array(length)),
  };
  const parsers = { timestampFromMicroseconds: (time: bigint) => time };
  const columns = new ColumnFiles();
  try {
    columns.open(folder, rows);
    // One row group after the other: as JavaScript values the whole file would take a gigabyte.
    let rowStart = 0;
    for (const { num_rows } of metadata.row_groups) {
      const rowEnd = rowStart + Number(num_rows);
      const group = new RowGroup(source, rowStart, rowEnd);
      await hyparquet.parquetRead({
        file,
        metadata,
        rowStart,
        rowEnd,
        compressors,
        parsers,
        onChunk: group.take,
      });
      columns.writeGroup(group, airports);
      rowStart = rowEnd;
      onProgress(rowStart, rows);
      // Nothing above waits for the outside: signals and the progress bar get their turn here.
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (rowStart !== rows)
      throw new Error(`${source.parquet} has ${rowStart} rows and promises ${rows}`);
  } finally {
    columns.close();
  }
}

interface Piece {
  readonly columnName: string;
  readonly columnData: ArrayLike<unknown>;
  readonly rowStart: number;
}

/** The values of some rows, by column. */
class RowGroup {
  private readonly read = new Map<string, ArrayLike<unknown>>();

  constructor(
    private readonly source: DataSource,
    private readonly rowStart: number,
    private readonly rowEnd: number,
  ) {}

  readonly take = ({ columnName, columnData, rowStart }: Piece): void => {
    if (rowStart !== this.rowStart || this.read.has(columnName))
      throw new Error(`${columnName} came in more than one piece`);
    this.read.set(columnName, columnData);
  };

  whole(name: string, map: (value: bigint) => bigint = (value) => value): Int32Array {
    const values = this.column(name) as ArrayLike<bigint>;
    const result = new Int32Array(values.length);
    for (let i = 0; i < result.length; i++) result[i] = Number(map(values[i]));
    return result;
  }

  places(name: string, airports: Airports): { latitude: Float64Array; longitude: Float64Array } {
    const codes = this.column(name) as ArrayLike<string>;
    const latitude = new Float64Array(codes.length);
    const longitude = new Float64Array(codes.length);
    for (let i = 0; i < codes.length; i++) {
      const place = airports.get(codes[i]);
      if (!place)
        throw new Error(`${this.source.airports} does not know the airport '${codes[i]}'`);
      latitude[i] = place.latitude;
      longitude[i] = place.longitude;
    }
    return { latitude, longitude };
  }

  private column(name: string): ArrayLike<unknown> {
    const values = this.read.get(name);
    if (values?.length !== this.rowEnd - this.rowStart)
      throw new Error(`${this.source.parquet} lacks values of '${name}'`);
    return values;
  }
}

/** A new file for each column, which is written group by group. */
class ColumnFiles {
  private readonly descriptors = {} as Record<DemoColumn, number>;

  open(folder: string, rows: number): void {
    for (const [column, dtype] of Object.entries(demoColumns) as [DemoColumn, Dtype][]) {
      this.descriptors[column] = openSync(join(folder, `${column}.npy`), 'wx');
      writeFully(this.descriptors[column], npyHeader(dtype, [rows]));
    }
  }

  writeGroup(group: RowGroup, airports: Airports): void {
    const origin = group.places('origin', airports);
    const destination = group.places('destination', airports);
    this.write('originLatitude', origin.latitude);
    this.write('originLongitude', origin.longitude);
    this.write('destinationLatitude', destination.latitude);
    this.write('destinationLongitude', destination.longitude);
    const minutes = (time: bigint): bigint => (time - EPOCH_MICROSECONDS) / 60_000_000n;
    this.write('minute', group.whole('date', minutes));
    this.write('distance', group.whole('distance'));
    this.write('delay', group.whole('delay'));
  }

  close(): void {
    for (const fd of Object.values(this.descriptors)) closeSync(fd);
  }

  private write(column: DemoColumn, values: Float64Array | Int32Array): void {
    if (values.BYTES_PER_ELEMENT !== dtypes[demoColumns[column]].bytes)
      throw new TypeError(`${column}: wrong type`);
    writeFully(
      this.descriptors[column],
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
    );
  }
}

function writeFully(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Code -> place. Only names hold commas and quotes; code comes first, coordinates last. */
function readAirports(path: string): Airports {
  const places = new Map<string, { latitude: number; longitude: number }>();
  const [head, ...lines] = readFileSync(path, 'utf8').trimEnd().split(/\r?\n/);
  if (!/^iata,.*,latitude,longitude$/.test(head))
    throw new Error(`${path} has other columns than expected`);
  for (const line of lines) {
    const fields = line.split(',');
    const latitude = Number(fields.at(-2));
    const longitude = Number(fields.at(-1));
    if (!Number.isFinite(latitude) || !Number.isFinite(longitude))
      throw new Error(`${path}: cannot read '${line}'`);
    places.set(fields[0], { latitude, longitude });
  }
  return places;
}

/** A whole column in ordinary memory, for the check, which uses nothing of onemem. */
export function readColumnPlainly(data: DemoData, column: DemoColumn): Float64Array | Int32Array {
  const { path, layout } = data.files[column];
  const bytes = readFileSync(path);
  const { buffer, byteOffset } = bytes.subarray(
    layout.dataOffset,
    layout.dataOffset + layout.byteLength,
  );
  const Type = layout.dtype === 'f64' ? Float64Array : Int32Array;
  // A copy where the bytes do not lie as the elements need it.
  return byteOffset % 8 === 0
    ? new Type(buffer as ArrayBuffer, byteOffset, layout.length)
    : new Type(buffer.slice(byteOffset, byteOffset + layout.byteLength) as ArrayBuffer);
}

/** Where two arrays first differ by their bits, and in how many elements; null if nowhere. */
export function firstDifference(
  a: Float32Array | Uint16Array,
  b: Float32Array | Uint16Array,
): { index: number; count: number; a: number; b: number } | null {
  if (a.length !== b.length || a.constructor.name !== b.constructor.name)
    throw new TypeError('arrays of one type and length');
  const bits = (array: Float32Array | Uint16Array) =>
    array.BYTES_PER_ELEMENT === 2
      ? new Uint16Array(array.buffer, array.byteOffset, array.length)
      : new Uint32Array(array.buffer, array.byteOffset, array.length);
  const x = bits(a);
  const y = bits(b);
  let index = -1;
  let count = 0;
  for (let i = 0; i < x.length; i++) {
    if (x[i] === y[i]) continue;
    if (index === -1) index = i;
    count++;
  }
  return index === -1 ? null : { index, count, a: a[index], b: b[index] };
}

interface DirectionSummary {
  direction: string;
  flights: number;
  meanDelayMinutes: number;
}

export interface FlightSummary {
  directions: DirectionSummary[];
  /** Mean of |reported - computed distance|, in miles. */
  meanDifferenceMiles: number;
  /** The hour with the longest mean delay, among those with at least 1% of the flights. */
  worstHour: { hour: number; flights: number; meanDelayMinutes: number };
}

/** A few figures of the columns. Reads the results and `delay` once, from front to back. */
export function summarizeFlights(
  cell: Uint16Array,
  difference: Float32Array,
  delay: Int32Array,
): FlightSummary {
  const names = [
    'north',
    'north-east',
    'east',
    'south-east',
    'south',
    'south-west',
    'west',
    'north-west',
  ];
  const flights = new Float64Array(8 * 24);
  const minutes = new Float64Array(8 * 24);
  let total = 0;
  for (let i = 0; i < cell.length; i++) {
    flights[cell[i]]++;
    minutes[cell[i]] += delay[i];
    total += Math.abs(difference[i]);
  }
  const sum = (values: Float64Array, of: (cell: number) => boolean) =>
    values.reduce((whole, value, at) => (of(at) ? whole + value : whole), 0);
  const directions = names.map((direction, at) => {
    const count = sum(flights, (c) => Math.floor(c / 24) === at);
    const delayed = sum(minutes, (c) => Math.floor(c / 24) === at);
    return { direction, flights: count, meanDelayMinutes: count === 0 ? 0 : delayed / count };
  });
  let worstHour = { hour: 0, flights: 0, meanDelayMinutes: Number.NEGATIVE_INFINITY };
  for (let hour = 0; hour < 24; hour++) {
    const count = sum(flights, (c) => c % 24 === hour);
    const mean = sum(minutes, (c) => c % 24 === hour) / count;
    if (count * 100 >= cell.length && mean > worstHour.meanDelayMinutes) {
      worstHour = { hour, flights: count, meanDelayMinutes: mean };
    }
  }
  return {
    directions,
    meanDifferenceMiles: cell.length === 0 ? 0 : total / cell.length,
    worstHour,
  };
}
