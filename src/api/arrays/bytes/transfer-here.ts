/**
 * Files read and written by this process itself, for arrays of a space that another process opened:
 * the bytes pass through its requests, so that no call of the system touches a page.
 */
import { read, write } from 'node:fs';
import { promisify } from 'node:util';
import { READ_BYTES } from '../../../pager/protocol/requests.js';
import type { ArrayInternals } from '../../line/internals.js';
import { putBytes, takeBytes } from './byte-moves.js';

/** Bytes of an array, and where they are in the file; undefined: where that stands. */
interface Part {
  readonly from: number;
  readonly count: number;
  readonly position: number | undefined;
}

const readFile = promisify(read);
const writeFile = promisify(write);

/** Reads from a file into an array, to its end at most. Returns the bytes. */
export async function readHere(
  array: ArrayInternals,
  fd: number,
  { from, count, position }: Part,
): Promise<number> {
  const piece = Buffer.alloc(READ_BYTES);
  let done = 0;
  while (done < count) {
    const most = Math.min(READ_BYTES, count - done);
    const { bytesRead } = await readFile(fd, piece, 0, most, placeOf(position, done));
    if (bytesRead === 0) break;
    putBytes(array, from + done, piece.subarray(0, bytesRead));
    done += bytesRead;
  }
  return done;
}

/** Writes an array to a file. Returns the bytes. */
export async function writeHere(
  array: ArrayInternals,
  fd: number,
  { from, count, position }: Part,
): Promise<number> {
  let done = 0;
  while (done < count) {
    const piece = new Uint8Array(Math.min(READ_BYTES, count - done));
    takeBytes(array, from + done, piece);
    for (let sent = 0; sent < piece.length; ) {
      const place = placeOf(position, done + sent);
      const { bytesWritten } = await writeFile(fd, piece, sent, piece.length - sent, place);
      sent += bytesWritten;
    }
    done += piece.length;
  }
  return done;
}

function placeOf(position: number | undefined, done: number): number | null {
  return position === undefined ? null : position + done;
}
