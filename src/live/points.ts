/** Elements of arrays as points, for the page of a space. */
import type { NumericArray } from '../core/basics/elements.js';

/** Of more elements, pieces are shown that lie evenly in the array. */
const MOST_POINTS = 8192;
const PIECES = 64;

/** What the page may draw, without its elements. */
export interface PointsSummary {
  readonly name: string;
  /** Names of arrays; null: the index of the element. */
  readonly x: string | null;
  readonly y: string;
  readonly length: number;
}

export interface PointsFrame extends PointsSummary {
  /** Where each piece begins, and how many elements each has. */
  readonly begins: readonly number[];
  readonly pieceLength: number;
  /** In base64: 32-bit floats. Null: the index of the element. */
  readonly xs: string | null;
  readonly ys: string;
}

/** An array as the page needs it. */
interface PointsArray {
  readonly name: string;
  readonly length: number;
  readonly data: NumericArray;
  asyncBuffer(): { slice(begin: number, end: number): Promise<ArrayBuffer> };
}

interface PointArrays {
  readonly name: string;
  /** Null: the index of the element. */
  readonly x: PointsArray | null;
  readonly y: PointsArray;
}

export class Points {
  constructor(private readonly sets: readonly PointArrays[]) {}

  get summaries(): PointsSummary[] {
    return this.sets.map(summaryOf);
  }

  /**
   * Reads the elements as they are now; pages that only a device has come to the host. Null: there
   * is no such set. Rejects as `array.asyncBuffer` does.
   */
  async frame(set: number): Promise<PointsFrame | null> {
    const found = this.sets[set];
    if (found === undefined) return null;
    const summary = summaryOf(found);
    const { begins, pieceLength } = piecesOf(summary.length);
    const xs = found.x === null ? null : await elements(found.x, begins, pieceLength);
    const ys = await elements(found.y, begins, pieceLength);
    return { ...summary, begins, pieceLength, xs, ys };
  }
}

function summaryOf({ name, x, y }: PointArrays): PointsSummary {
  const length = Math.min(x?.length ?? y.length, y.length);
  return { name, x: x?.name ?? null, y: y.name, length };
}

export function piecesOf(length: number): { begins: number[]; pieceLength: number } {
  if (length <= MOST_POINTS) return { begins: [0], pieceLength: length };
  const pieceLength = MOST_POINTS / PIECES;
  const last = length - pieceLength;
  const begins = Array.from({ length: PIECES }, (_, at) => Math.round((at * last) / (PIECES - 1)));
  return { begins, pieceLength };
}

/**
 * The manager reads them. Where the host has no right to read, a touch of this thread would end the
 * process; and what is held here could not be written by a device meanwhile.
 */
async function elements(
  array: PointsArray,
  begins: readonly number[],
  pieceLength: number,
): Promise<string> {
  const { data } = array;
  const size = data.BYTES_PER_ELEMENT;
  const Elements = data.constructor as new (bytes: ArrayBuffer) => ArrayLike<number | bigint>;
  const buffer = array.asyncBuffer();
  const read = begins.map((begin) => buffer.slice(begin * size, (begin + pieceLength) * size));
  const pieces = await Promise.all(read);
  return Buffer.concat(pieces.map((piece) => floatsOf(new Elements(piece)))).toString('base64');
}

function floatsOf(values: ArrayLike<number | bigint>): Uint8Array {
  return new Uint8Array(Float32Array.from(values, Number).buffer);
}
