/**
 * Small reads and writes of a spill file, handed to the kernel from the manager's own thread where
 * the system has io_uring: no thread is woken for them, which for 4 KiB takes longer than the work.
 * Large ones have threads, which look at checksums side by side. What does not move whole is left
 * to the threads, too: they try again, and say what is wrong.
 */

import { spoiled } from '../../drivers/storage/disk.js';
import { IoUring } from '../../linux/files/io-uring.js';
import { firstSpoiled, noteSums } from '../../linux/files/spill-file.js';
import { type IoJob, Job } from './io-ring.js';

/** Looking at the checksums of more would keep the manager from other faults. */
const LONGEST_BYTES = 2 ** 16;
/** As many as a disk carries out at once. */
const PLACES = 32;

/** A job of the kind `ReadSummed` or `WriteSummed`. */
export type PageMove = IoJob & { readonly sums: number };

export class StorageRing {
  /** Undefined: not asked for yet; null: there is none. */
  private ring: IoUring | null | undefined;
  private readonly moves: (PageMove | null)[] = new Array(PLACES).fill(null);
  /** Reads that were begun, and those of them that have not ended. */
  private begun = 0;
  private reading = 0;
  private readonly free = Array.from({ length: PLACES }, (_, place) => place);

  /** @param byThread has a thread carry out what the ring could not */
  constructor(
    private readonly wakeFd: number,
    private readonly byThread: (move: PageMove) => void,
  ) {}

  /** Whether another move of so many bytes would begin at once. */
  mayTake(bytes: number): boolean {
    if (bytes > LONGEST_BYTES || this.free.length === 0) return false;
    if (this.ring === undefined) this.ring = IoUring.open(PLACES, this.wakeFd);
    return this.ring !== null;
  }

  /** The number of the last read where one is under way; 0: none is. */
  get awaited(): number {
    return this.reading > 0 ? this.begun : 0;
  }

  /** Whether the kernel has done something that has not been answered. */
  get hasAnswers(): boolean {
    return this.ring?.hasAnswers === true;
  }

  /** Whether the manager looks for answers by itself: it needs no wake-up meanwhile. */
  watched(on: boolean): void {
    this.ring?.raises(!on);
  }

  begin(move: PageMove): void {
    const ring = this.ring as IoUring;
    const place = this.free.pop() as number;
    const { kind, fd, address, length, offset, sums } = move;
    const write = kind === Job.WriteSummed;
    if (write) noteSums(address, length, offset, sums);
    const refused = write
      ? ring.write(fd, address, length, offset, place)
      : ring.read(fd, address, length, offset, place);
    if (refused === 0) {
      this.moves[place] = move;
      if (!write) {
        this.begun++;
        this.reading++;
      }
    } else {
      this.free.push(place);
      this.byThread(move);
    }
  }

  /** Answers what the kernel has done. */
  poll(): void {
    this.ring?.answers(this.ended);
  }

  close(): void {
    this.ring?.close();
    this.ring = null;
  }

  private readonly ended = (place: number, result: number): void => {
    const move = this.moves[place] as PageMove;
    this.moves[place] = null;
    this.free.push(place);
    const { kind, address, length, offset, sums, done } = move;
    const write = kind === Job.WriteSummed;
    if (!write) this.reading--;
    if (result !== length) {
      this.byThread(move);
      return;
    }
    const wrong = write ? -1 : firstSpoiled(address, length, offset, sums);
    done(wrong === -1 ? length : spoiled(wrong), length);
  };
}
