/**
 * What code of the user's prints in a thread of onemem's goes to standard error, which is where everything goes that is not the program's
 * own result, and at once: a thread's usual streams hand text on to the thread that started it, which may not come to write it any more when
 * the process ends. Only for threads that may wait: a pipe that is full keeps them.
 */
import { writeSync } from 'node:fs';

const STANDARD_ERROR = 2;
const PAUSE_MS = 2;

type Written = (error?: Error | null) => void;

export function printAtOnce(): void {
  for (const stream of [process.stdout, process.stderr]) stream.write = write as typeof stream.write;
}

function write(chunk: string | Uint8Array, encoding?: BufferEncoding | Written, written?: Written): boolean {
  const done = typeof encoding === 'function' ? encoding : written;
  const bytes =
    typeof chunk === 'string' ? Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8') : chunk;
  writeAll(bytes);
  if (done !== undefined) queueMicrotask(done);
  return true;
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STANDARD_ERROR, bytes, at);
    } catch (error) {
      // Nobody reads there any more: what is printed for nobody is no reason to fail.
      if ((error as { code?: string }).code !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
