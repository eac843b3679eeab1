/**
 * Keeps the manager on the CPU that the disk of storage interrupts, while threads wait for single
 * pages of it, one after the other, and the manager looks for what the disk has done. On another
 * CPU it would see that only when this one, which sleeps, has been woken for the interrupt. Where
 * it is one thread that waits, it is kept there, too: the two never run at the same time then, and
 * the CPU on which the thread fell asleep would have halted when its page comes.
 */
import { interruptedCpu } from '../linux/files/disk-interrupts.js';
import type { KeptThread } from './kept-thread.js';
import type { ManagerCpu } from './placed-threads.js';

/** So many pages in a row are worth a move to another CPU, which takes as long as a few. */
const MANY = 64;
/** The same for a thread that was kept there before it rested. */
const FEW = 8;
/** A thread that goes on reads its next page within this. */
const REST_MS = 10;

export class NearDisk {
  /** Pages in a row that threads have waited for, and that the last of them has. */
  private reads = 0;
  private own = 0;
  private lastRead = 0;
  /** The thread of the last fault; 0: a page has been read since. */
  private faulting = 0;
  /** The thread that waited for a page last. */
  private thread = 0;
  /** How many of its pages in a row have it kept. */
  private enough = MANY;
  private isHeld = false;
  /** Undefined: it has not been looked up yet; null: the disk interrupts no CPU in particular. */
  private cpu: number | null | undefined;
  /** There is no storage, or the manager may not run on the disk's CPU. */
  private isOff: boolean;

  /** @param folder of the spill file; null: there is no storage */
  constructor(
    private readonly manager: ManagerCpu,
    private readonly threads: Pick<KeptThread, 'keep' | 'letGo'>,
    private readonly folder: string | null,
    private readonly find: (folder: string) => number | null = interruptedCpu,
  ) {
    this.isOff = folder === null;
  }

  faulted(thread: number): void {
    this.faulting = thread;
  }

  /** The disk reads a page: that of the last fault, if there was one since the page before. */
  begun(nowMs: number): void {
    const thread = this.faulting;
    if (thread === 0 || this.isOff) return;
    this.faulting = 0;
    if (nowMs - this.lastRead >= REST_MS) this.reads = this.own = 0;
    if (thread !== this.thread) {
      this.threadRests();
      this.enough = MANY;
    }
    this.thread = thread;
    this.lastRead = nowMs;
    this.reads++;
    this.own++;
    if (this.reads >= MANY && !this.isHeld && this.manager.cpu === null) this.hold();
    if (
      this.own === this.enough &&
      this.isHeld &&
      this.threads.keep(thread, this.manager.cpu as number)
    )
      this.enough = FEW;
  }

  /** No page is awaited, and the thread is not waiting again: it may run anywhere. */
  threadRests(): void {
    this.own = 0;
    this.threads.letGo();
  }

  /** Lets the manager run where it likes when no thread has waited for a while. */
  look(nowMs: number): void {
    if (this.isHeld && nowMs - this.lastRead >= REST_MS) this.end();
  }

  /** The manager looks no more: another thread wants its CPU, or the disk is slow. */
  end(): void {
    this.reads = 0;
    this.enough = MANY;
    this.threadRests();
    if (!this.isHeld) return;
    this.isHeld = false;
    this.manager.letGo();
  }

  close(): void {
    this.end();
  }

  private hold(): void {
    this.reads = 0;
    if (this.cpu === undefined) this.cpu = this.find(this.folder as string);
    try {
      this.manager.hold(this.cpu ?? undefined);
      this.isHeld = true;
    } catch {
      // It is none of the CPUs that the manager may have.
      this.isOff = true;
    }
  }
}
