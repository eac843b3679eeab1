/**
 * What code of the user's prints in a thread of onemem's goes to standard error, which is where
 * everything goes that is not the program's own result, and at once: a thread's usual streams hand
 * text on to the thread that started it, which may not come to write it any more when the process
 * ends.
 */
import { constants, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

export const STANDARD_ERROR = 2;
/** What a pipe or a socket that has any room has room for. A terminal may have less. */
const PIECE_BYTES = 4096;

type Written = (error?: Error | null) => void;

/**
 * @param hasRoom whether a piece can be written without waiting for its reader; what has no room
 * goes the usual way, as does everything after it. Without this the thread may wait: for one whose
 * every call has a limit of time.
 */
export function printAtOnce(hasRoom?: () => boolean): void {
  const target = hasRoom === undefined ? STANDARD_ERROR : withoutWaiting();
  let direct = true;
  const usual = process.stderr.write.bind(process.stderr) as (
    bytes: Uint8Array,
    done?: Written,
  ) => boolean;
  const write = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | Written,
    written?: Written,
  ): boolean => {
    const done = typeof encoding === 'function' ? encoding : written;
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8')
        : chunk;
    const at = direct && target !== undefined ? writeNow(target, bytes, hasRoom) : 0;
    if (at < bytes.length) {
      direct = false;
      return usual(bytes.subarray(at), done);
    }
    if (done !== undefined) queueMicrotask(done);
    return true;
  };
  for (const stream of [process.stdout, process.stderr])
    stream.write = write as typeof stream.write;
}

/**
 * Standard error, for a thread that may not wait. A terminal that has room for a byte need not have
 * it for a piece, and the thread would wait for its reader: it is opened once more, so that a write
 * takes what there is room for. Undefined where that is not allowed.
 */
function withoutWaiting(): number | undefined {
  if (!isatty(STANDARD_ERROR)) return STANDARD_ERROR;
  try {
    return openSync(
      `/proc/self/fd/${STANDARD_ERROR}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return undefined;
  }
}

/** How many bytes there was room for. */
function writeNow(target: number, bytes: Uint8Array, hasRoom: () => boolean = () => true): number {
  let at = 0;
  try {
    while (at < bytes.length && hasRoom())
      at += writeSync(target, bytes, at, Math.min(PIECE_BYTES, bytes.length - at));
  } catch {
    // It is full and does not wait, or has no reader: the usual way knows what to do.
  }
  return at;
}
