/** Copies between a device's frames and the manager's memory, one by one in its turn. */

import { Access, PAGE_BYTES, Status } from '../../core/basics/types.js';
import type { TransferOrder } from '../driver.js';
import { type DriverParts, pagesAtOnceOf } from './parts.js';

interface Copy {
  readonly token: number;
  /** Where it comes from or goes to in the manager's memory; 0: zeros come in. */
  readonly address: number;
  readonly out: boolean;
  readonly page: number;
  readonly count: number;
  readonly frame: number;
  readonly access: Access;
  /** Pages that have been copied. */
  done: number;
}

/**
 * The copies of a driver, the oldest first. Its commands return `Pending`; `progress()` carries
 * them out, maps the pages and reports `transferred`. The guide of drivers has a whole driver that
 * uses it.
 */
export class CopyEngine {
  private readonly queue: Copy[] = [];
  private readonly pageBytes: number;
  private readonly pagesAtOnce: number;
  private readonly page: Uint8Array;
  private gone = false;

  constructor(private readonly parts: DriverParts) {
    this.pageBytes = parts.pageBytes ?? PAGE_BYTES;
    this.pagesAtOnce = pagesAtOnceOf(parts);
    this.page = new Uint8Array(this.pageBytes);
  }

  /** Whether `lose` was called. */
  get lost(): boolean {
    return this.gone;
  }

  /** As `Driver.transferIn`: Pending, NoMemory (by `inject`), or Lost. */
  transferIn({ token, address, page, count, frame, access, backed }: TransferOrder): Status {
    const most = this.parts.inject?.refuseLargerThanPages ?? Number.POSITIVE_INFINITY;
    if (!this.gone && !backed && count > most) return Status.NoMemory;
    return this.enqueue({ token, address, out: false, page, count, frame, access, done: 0 });
  }

  /** As `Driver.transferOut`: Pending, or Lost. */
  transferOut({ token, address, page, count, frame }: TransferOrder): Status {
    const access = Access.None;
    return this.enqueue({ token, address, out: true, page, count, frame, access, done: 0 });
  }

  /** Copies up to `pagesAtOnce` pages of the oldest copy. False when there is none. */
  progress(): boolean {
    const copy = this.queue.at(0);
    if (copy === undefined) return false;
    const count = Math.min(copy.count - copy.done, this.pagesAtOnce);
    this.move(copy, count);
    copy.done += count;
    if (copy.done < copy.count) return true;
    this.queue.shift();
    if (copy.access !== Access.None)
      this.parts.table.map(copy.page, copy.count, copy.frame, copy.access);
    this.parts.events.transferred(copy.token, Status.Done);
    return true;
  }

  /**
   * Ends the oldest copy without mapping its pages, as where the hardware reports an error. False
   * when there is none.
   */
  fail(): boolean {
    const copy = this.queue.shift();
    if (copy !== undefined) this.parts.events.transferred(copy.token, Status.Failed);
    return copy !== undefined;
  }

  /**
   * The memory is gone: whatever is queued, and whatever will be asked for, is lost. For
   * `Driver.lose`, before `died` is reported.
   */
  lose(): void {
    this.gone = true;
    for (const { token } of this.queue.splice(0)) this.parts.events.transferred(token, Status.Lost);
  }

  private move({ address, out, frame, done }: Copy, count: number): void {
    const { bytes, frames } = this.parts;
    const first = frame + done;
    const from = address + done * this.pageBytes;
    const span = frames.span?.(first, count);
    if (span !== undefined) {
      if (out) bytes.write(from, span);
      else if (address === 0) span.fill(0);
      else bytes.read(from, span);
      return;
    }
    for (let at = 0; at < count; at++) {
      if (out) bytes.write(from + at * this.pageBytes, frames.read(first + at));
      else if (address === 0) frames.clear(first + at);
      else {
        bytes.read(from + at * this.pageBytes, this.page);
        frames.write(first + at, this.page);
      }
    }
  }

  private enqueue(copy: Copy): Status {
    if (this.gone) return Status.Lost;
    this.queue.push(copy);
    return Status.Pending;
  }
}
