/** The file of a descriptor, for messages: people know paths, not numbers. */
import { readlinkSync } from 'node:fs';

/** Null: it is not open, or no file that has a path, such as a pipe or a socket. */
export function pathOfDescriptor(fd: number): string | null {
  try {
    const path = readlinkSync(`/proc/self/fd/${fd}`);
    return path.startsWith('/') ? path : null;
  } catch {
    return null;
  }
}
