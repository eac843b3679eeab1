/**
 * Keeps the manager on the CPU that the disk of storage interrupts, while threads wait for single
 * pages of it, one after the other, and the manager looks for what the disk has done. On another
 * CPU it would see that only when this one, which sleeps, has been woken for the interrupt. Where
 * it is one thread that waits, it is kept there, too: the two never run at the same time then, and
 * the CPU on which the thread fell asleep would have halted when its page comes.
 */
import { interruptedCpu } from '../linux/files/disk-interrupts.js';
import { InARow } from './in-a-row.js';
import type { KeptThread } from './kept-thread.js';
import type { ManagerCpu } from './placed-threads.js';
import { isUsed } from './uses.js';

/** So many pages in a row are worth a move to another CPU, which takes as long as a few. */
const MANY = 64;
/** The same for a thread that was kept there before it rested. */
const FEW = 8;
/** A thread that goes on reads its next page within this. */
const REST_MS = 10;

export class NearDisk {
  /** Pages in a row that threads have waited for, and that the last of them has. */
  private readonly reads = new InARow(MANY);
  private readonly own = new InARow(MANY);
  private lastRead = 0;
  /** The thread of the last fault; 0: a page has been read since. */
  private faulting = 0;
  /** The thread that waited for a page last. */
  private thread = 0;
  /** It was asked to be kept since it rested last. */
  private isAsked = false;
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
    this.isOff = folder === null || !isUsed('near-disk');
  }

  faulted(thread: number): void {
    this.faulting = thread;
  }

  /** The disk reads a page: that of the last fault, if there was one since the page before. */
  begun(nowMs: number): void {
    const thread = this.faulting;
    if (thread === 0 || this.isOff) return;
    this.faulting = 0;
    if (nowMs - this.lastRead >= REST_MS) {
      this.reads.begin();
      this.own.begin();
    }
    if (thread !== this.thread) {
      this.threadRests();
      this.own.begin(MANY);
    }
    this.thread = thread;
    this.lastRead = nowMs;
    if (this.reads.note() && !this.isHeld && this.manager.cpu === null) this.hold();
    if (this.own.note() && this.isHeld && !this.isAsked) this.keep();
  }

  /** No page is awaited, and the thread is not waiting again: it may run anywhere. */
  threadRests(): void {
    this.own.begin();
    this.isAsked = false;
    this.threads.letGo();
  }

  /** Lets the manager run where it likes when no thread has waited for a while. */
  look(nowMs: number): void {
    if (this.isHeld && nowMs - this.lastRead >= REST_MS) this.end();
  }

  /** The manager looks no more: another thread wants its CPU, or the disk is slow. */
  end(): void {
    this.reads.begin();
    this.threadRests();
    this.own.begin(MANY);
    if (!this.isHeld) return;
    this.isHeld = false;
    this.manager.letGo();
  }

  close(): void {
    this.end();
  }

  private keep(): void {
    this.isAsked = true;
    if (this.threads.keep(this.thread, this.manager.cpu as number)) this.own.begin(FEW);
  }

  private hold(): void {
    this.reads.begin();
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
