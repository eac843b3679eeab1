/**
 * A node behind the host that no processor runs on: pages go to frames of a spill file, or of a
 * server's memory, when the host has no room for them, and come back when they are touched. Pieces
 * that lie side by side in memory as in the file are moved by one call: so they are begun when all
 * that comes at once is there. What a thread waits for is read at once, before anything else;
 * writes have threads of their own.
 */
import { PAGE_BYTES, Status } from '../../core/basics/types.js';
import type { NodeDriver, TransferOrder } from '../driver.js';
import { gonePage, type SpillFile, spoiledPage } from './disk.js';
import type { RetriedReads } from './retried-reads.js';
import { WrittenFrames } from './written-frames.js';

const LONGEST_BYTES = 2 ** 21;

export interface StorageEvents {
  transferred(token: number, status: Status): void;
  released(token: number): void;
  /** A page, counted from its transfer's first, came back wrong, or is gone. */
  spoiled(token: number, page: number, reason: 'CORRUPTED' | 'GONE'): void;
  /** Writing, or reading, failed with an error number. */
  failed(errno: number, write: boolean): void;
  /** Released space could not be given back: the file keeps it until it is written again. */
  kept(errno: number): void;
}

/** What a store asks of its driver. */
export interface StoreDriver extends NodeDriver {
  /** Pages that have been written and not given back. */
  readonly heldPages: number;
  readonly pagesWritten: number;
  readonly pagesRead: number;
  /** Pieces have come since `go`. */
  readonly isFresh: boolean;
  /** Whether everything has ended that was asked for before a write failed. */
  readonly isStill: boolean;
  /** Whether memory of the host is being read or written, or is about to be. */
  readonly isBusy: boolean;
  /** Begins as much as it takes of what has come. */
  go(): void;
  /** There may be a reason for writes not to fail any more. */
  retry(): void;
}

interface Piece {
  readonly token: number;
  readonly address: number;
  readonly frame: number;
  readonly count: number;
}

/** Pieces that are moved by one call, and what was found of them. */
interface MoveJob {
  readonly pieces: readonly Piece[];
  readonly write: boolean;
  readonly pages: number;
  /** Pages that came back wrong, counted from the first one. */
  readonly bad: { readonly page: number; readonly reason: 'CORRUPTED' | 'GONE' }[];
  /** When it failed first; 0: it has not. */
  readonly failedAt: number;
}

export class StorageDriver implements StoreDriver {
  /** The manager cannot address it. */
  readonly memory = 0;
  private readonly writes: Piece[] = [];
  private readonly reads: Piece[] = [];
  private readonly urgentReads: Piece[] = [];
  pagesWritten = 0;
  pagesRead = 0;
  private readonly written = new WrittenFrames();
  private running = 0;
  isFresh = false;
  /** A write failed: others would, too, until something has changed. */
  private failing = false;

  /**
   * @param unreadable how a transfer ends that could not be read
   * @param retried has reads that failed tried again; null: the reader has done so
   */
  constructor(
    readonly kind: string,
    private readonly file: SpillFile,
    private readonly unreadable: Status,
    private readonly retried: RetriedReads | null,
    private readonly events: StorageEvents,
  ) {}

  transferIn({ token, address, frame, count }: TransferOrder): Status {
    if (this.failing) return Status.Failed;
    this.writes.push({ token, address, frame, count });
    this.isFresh = true;
    return Status.Pending;
  }

  transferOut({ token, address, frame, count, urgent }: TransferOrder): Status {
    const queue = urgent ? this.urgentReads : this.reads;
    queue.push({ token, address, frame, count });
    if (urgent) this.readUrgent();
    else this.isFresh = true;
    return Status.Pending;
  }

  /** Frames are reusable when the disk has their space back: no late answer frees new pages. */
  release(token: number, _page: number, count: number, frame: number): Status {
    if (!this.written.forget(frame, count)) return Status.Done;
    this.running++;
    this.file.punch(frame * PAGE_BYTES, count * PAGE_BYTES, (result) => {
      this.running--;
      if (result < 0) this.events.kept(-result);
      this.events.released(token);
      this.go();
    });
    return Status.Pending;
  }

  get heldPages(): number {
    return this.written.count;
  }

  get isStill(): boolean {
    return this.running === 0;
  }

  retry(): void {
    this.failing = false;
  }

  get isBusy(): boolean {
    return this.running + this.urgentReads.length + this.reads.length + this.writes.length > 0;
  }

  close(): void {}

  go(): void {
    const { file, reads, writes } = this;
    this.isFresh = false;
    this.readUrgent();
    while (reads.length > 0 && file.mayRead(false, bytesOf(reads[0]))) this.begin(reads, false);
    while (writes.length > 0 && file.mayWrite(bytesOf(writes[0]))) this.begin(writes, true);
  }

  private readUrgent(): void {
    const { file, urgentReads } = this;
    while (urgentReads.length > 0 && file.mayRead(true, bytesOf(urgentReads[0])))
      this.begin(urgentReads, false);
  }

  /** Moves the first piece of a queue, and those after it that lie behind it on both sides. */
  private begin(queue: Piece[], write: boolean): void {
    const [{ address, frame }] = queue;
    let pages = 0;
    let pieces = 0;
    for (const piece of queue) {
      const follows =
        piece.address === address + pages * PAGE_BYTES && piece.frame === frame + pages;
      if (!follows || (pages + piece.count) * PAGE_BYTES > LONGEST_BYTES) break;
      pages += piece.count;
      pieces++;
    }
    this.move({ pieces: queue.splice(0, pieces), write, pages, bad: [], failedAt: 0 }, 0);
  }

  private move(job: MoveJob, from: number): void {
    const { address, frame } = job.pieces[0];
    const [at, length, offset] = [
      address + from * PAGE_BYTES,
      (job.pages - from) * PAGE_BYTES,
      (frame + from) * PAGE_BYTES,
    ];
    this.running++;
    const done = (result: number): void => this.done(job, from, result);
    if (job.write) this.file.write(at, length, offset, done);
    else this.file.read(at, length, offset, done);
  }

  private done(job: MoveJob, from: number, result: number): void {
    this.running--;
    const { pieces, write, pages, bad } = job;
    const gone = gonePage(result);
    const wrong = gone === -1 ? spoiledPage(result) : gone;
    const well =
      result === (pages - from) * PAGE_BYTES || (wrong !== -1 && from + wrong + 1 === pages);
    if (wrong !== -1) {
      bad.push({ page: from + wrong, reason: gone === -1 ? 'CORRUPTED' : 'GONE' });
      // Pages behind it are looked at, too, so that the core, which asks again for what is left, is
      // told of all bad ones at once.
      if (!well) {
        this.move(job, from + wrong + 1);
        return;
      }
    }
    if (well && write) for (const { frame, count } of pieces) this.written.note(frame, count);
    if (well && write) this.pagesWritten += pages;
    else if (well) {
      this.pagesRead += pages - bad.length;
      this.retried?.succeeded();
    }
    // A file that is shorter than what was written to it is as broken as a disk that says so.
    else {
      this.failing ||= write;
      this.events.failed(result < 0 ? -result : 0, write);
      for (const { token } of write ? this.writes.splice(0) : [])
        this.events.transferred(token, Status.Failed);
      const again = (failedAt: number): void => this.move({ ...job, failedAt }, from);
      if (!write && this.retried?.failed(job.failedAt, again) === true) {
        this.go();
        return;
      }
    }
    this.answer(job, well ? Status.Done : write ? Status.Failed : this.unreadable);
    this.go();
  }

  private answer({ pieces, bad }: MoveJob, status: Status): void {
    let first = 0;
    for (const { token, count } of pieces) {
      const own = bad.filter(({ page }) => page >= first && page < first + count);
      for (const { page, reason } of own) this.events.spoiled(token, page - first, reason);
      this.events.transferred(
        token,
        status === Status.Done && own.length > 0 ? Status.Failed : status,
      );
      first += count;
    }
  }
}

function bytesOf({ count }: Piece): number {
  return count * PAGE_BYTES;
}
