import { readSync } from 'node:fs';

/** Bytes of a file from a position on: fewer only where the file ends. */
export function readAt(fd: number, position: number, length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const more = readSync(fd, bytes, read, length - read, position + read);
    if (more === 0) break;
    read += more;
  }
  return bytes.subarray(0, read);
}
