/**
 * A node behind the host that nobody runs on: pages go to frames of a spill file when the host has no room for them, and come back when
 * they are touched. Pieces that lie side by side in memory as in the file are moved by one call. What a thread waits for is read before
 * anything else; writes have threads of their own.
 */
import { PAGE_BYTES, Status } from '../../core/types.js';
import type { NodeDriver } from '../driver.js';
import { type SpillFile, spoiledPage } from './disk.js';

/** The most bytes of one call. */
const LONGEST_BYTES = 2 ** 21;

export interface StorageEvents {
  transferred(token: number, status: Status): void;
  released(token: number): void;
  /** A page of a transfer from the node, counted from its first one, came back other than it was written. */
  spoiled(token: number, page: number): void;
  /** Writing, or reading, failed with an error number. */
  failed(errno: number, write: boolean): void;
}

interface Piece {
  readonly token: number;
  readonly address: number;
  readonly frame: number;
  readonly count: number;
}

export class StorageDriver implements NodeDriver {
  readonly kind = 'storage';
  /** The manager cannot address it. */
  readonly memory = 0;
  private readonly writes: Piece[] = [];
  private readonly reads: Piece[] = [];
  private readonly urgentReads: Piece[] = [];
  /** Pages that have been written and not given back. */
  heldPages = 0;
  pagesWritten = 0;
  pagesRead = 0;
  private readonly written: Uint8Array[] = [];
  private running = 0;
  /** A write failed: others would, too, until something has changed. */
  private failing = false;

  constructor(
    private readonly file: SpillFile,
    private readonly events: StorageEvents,
  ) {}

  transferIn(token: number, address: number, _page: number, count: number, frame: number): Status {
    if (this.failing) return Status.Failed;
    this.writes.push({ token, address, frame, count });
    this.go();
    return Status.Pending;
  }

  transferOut(token: number, frame: number, count: number, address: number, urgent: boolean): Status {
    const queue = urgent ? this.urgentReads : this.reads;
    queue.push({ token, address, frame, count });
    this.go();
    return Status.Pending;
  }

  /** The frames are another page's only when the disk has their space back, so that a late answer cannot free what is new. */
  release(token: number, _page: number, count: number, frame: number): Status {
    if (!this.forget(frame, count)) return Status.Done;
    this.running++;
    this.file.punch(frame * PAGE_BYTES, count * PAGE_BYTES, () => {
      this.running--;
      // A file system that cannot do it keeps the space until the frames are written again.
      this.events.released(token);
      this.go();
    });
    return Status.Pending;
  }

  /** Whether everything has ended that was asked for before a write failed. */
  get isStill(): boolean {
    return this.running === 0;
  }

  /** There may be a reason for writes not to fail any more. */
  retry(): void {
    this.failing = false;
  }

  /** Whether memory of the host is being read or written, or is about to be. */
  get isBusy(): boolean {
    return this.running + this.urgentReads.length + this.reads.length + this.writes.length > 0;
  }

  close(): void {}

  private go(): void {
    const { file, urgentReads, reads, writes } = this;
    while (urgentReads.length > 0 && file.mayRead(true)) this.begin(urgentReads, false);
    while (reads.length > 0 && file.mayRead(false)) this.begin(reads, false);
    while (writes.length > 0 && file.mayWrite()) this.begin(writes, true);
  }

  /** Moves the first piece of a queue, and those after it that lie behind it on both sides. */
  private begin(queue: Piece[], write: boolean): void {
    const [{ address, frame }] = queue;
    let pages = 0;
    let pieces = 0;
    for (const piece of queue) {
      const follows = piece.address === address + pages * PAGE_BYTES && piece.frame === frame + pages;
      if (!follows || (pages + piece.count) * PAGE_BYTES > LONGEST_BYTES) break;
      pages += piece.count;
      pieces++;
    }
    const moved = queue.splice(0, pieces);
    this.running++;
    const done = (result: number): void => this.done(moved, write, pages, result);
    if (write) this.file.write(address, pages * PAGE_BYTES, frame * PAGE_BYTES, done);
    else this.file.read(address, pages * PAGE_BYTES, frame * PAGE_BYTES, done);
  }

  private done(pieces: readonly Piece[], write: boolean, pages: number, result: number): void {
    this.running--;
    const bad = spoiledPage(result);
    const well = result === pages * PAGE_BYTES;
    if (well && write) for (const piece of pieces) this.note(piece);
    if (well && write) this.pagesWritten += pages;
    else if (well) this.pagesRead += pages;
    // A file that is shorter than what was written to it is as broken as a disk that says so.
    else if (bad === -1) {
      this.failing ||= write;
      this.events.failed(result < 0 ? -result : 0, write);
      for (const { token } of write ? this.writes.splice(0) : []) this.events.transferred(token, Status.Failed);
    }
    let first = 0;
    for (const { token, count } of pieces) {
      if (bad >= first && bad < first + count) this.events.spoiled(token, bad - first);
      first += count;
      this.events.transferred(token, well ? Status.Done : Status.Failed);
    }
    this.go();
  }

  private note({ frame, count }: Piece): void {
    for (let each = frame; each < frame + count; each++) {
      const part = (this.written[each >>> 16] ??= new Uint8Array(2 ** 16));
      this.heldPages += 1 - part[each & 0xffff];
      part[each & 0xffff] = 1;
    }
  }

  /** Whether any of these frames has ever been written; none has after this. */
  private forget(frame: number, count: number): boolean {
    const before = this.heldPages;
    for (let each = frame; each < frame + count; each++) {
      const part = this.written[each >>> 16];
      if (part === undefined) continue;
      this.heldPages -= part[each & 0xffff];
      part[each & 0xffff] = 0;
    }
    return this.heldPages < before;
  }
}
