/** How large a file may be: beyond it EFBIG, since Node.js lets no SIGXFSZ come. */
import { readFileSync } from 'node:fs';

/** In bytes (RLIMIT_FSIZE); Infinity where there is no limit, or none can be seen. */
export function fileSizeLimit(): number {
  try {
    const said = /^Max file size\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    return said === null ? Number.POSITIVE_INFINITY : Number(said[1]);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** What EFBIG means here, and what to do about it. */
export function tooLarge(): string {
  const limit = fileSizeLimit();
  return Number.isFinite(limit)
    ? `this process may write no file of more than ${limit} bytes; raise that limit (ulimit -f, LimitFSIZE= of systemd)`
    : 'the file system takes no file of this size';
}
