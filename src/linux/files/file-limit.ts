/** How large a file may be: beyond it EFBIG, since Node.js lets no SIGXFSZ come. */
import { readText } from '../base/text-files.js';

/** In bytes (RLIMIT_FSIZE); Infinity where there is no limit, or none can be seen. */
export function fileSizeLimit(): number {
  const said = /^Max file size\s+(\d+)/m.exec(readText('/proc/self/limits') ?? '');
  return said === null ? Number.POSITIVE_INFINITY : Number(said[1]);
}

/** What EFBIG means here, and what to do about it. */
export function tooLarge(): string {
  const limit = fileSizeLimit();
  return Number.isFinite(limit)
    ? `this process may write no file of more than ${limit} bytes; raise that limit (ulimit -f, LimitFSIZE= of systemd)`
    : 'the file system takes no file of this size';
}
