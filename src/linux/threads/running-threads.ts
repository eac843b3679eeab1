/**
 * How many threads of the machine run or wait for a CPU just now, as the kernel counts them; in a
 * container, too, it counts the whole machine.
 */
import { closeSync, openSync } from 'node:fs';
import { libc } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

const FILE = '/proc/loadavg';
/** More than the file has. */
const BYTES = 128;
const [SPACE, ZERO, NINE] = [' ', '0', '9'].map((each) => each.charCodeAt(0));
/** Three averages stand before the count. */
const FIELDS_BEFORE = 3;

/** The count in the first bytes of such a file; 0: there is none. */
export function runningIn(text: Uint8Array): number {
  let at = 0;
  for (let field = 0; field < FIELDS_BEFORE; field++) {
    while (at < text.length && text[at] !== SPACE) at++;
    at++;
  }
  let count = 0;
  for (; at < text.length && text[at] >= ZERO && text[at] <= NINE; at++)
    count = count * 10 + text[at] - ZERO;
  return count;
}

export class RunningThreads {
  private readonly buffer = new NativeBuffer(BYTES);
  private fd = -1;

  /** The count, with this thread; 0 where it cannot be told. Takes about a microsecond. */
  count(): number {
    if (this.fd < 0 && !this.open()) return 0;
    const { address, bytes } = this.buffer;
    const length = libc.pread(this.fd, address, BYTES - 1, 0);
    bytes[Math.max(length, 0)] = 0;
    return length > 0 ? runningIn(bytes) : 0;
  }

  close(): void {
    if (this.fd >= 0) closeSync(this.fd);
    this.fd = -1;
  }

  private open(): boolean {
    try {
      this.fd = openSync(FILE, 'r');
    } catch {
      return false;
    }
    return true;
  }
}
