/**
 * Keeps the manager on the CPU that the disk of storage interrupts, while threads wait for single pages of it, one after the other, and the manager looks for what
 * the disk has done. On another CPU it would see that only when this one, which sleeps, has been woken for the interrupt. The threads run where they like.
 */
import { interruptedCpu } from '../../linux/disk-interrupts.js';
import type { ManagerCpu } from '../devices/beside.js';

/** So many pages in a row are worth a move to another CPU, which takes as long as a few. */
const MANY = 64;
/** A thread that goes on reads its next page within this. */
const REST_MS = 10;

export class NearDisk {
  /** Pages in a row that threads have waited for. */
  private reads = 0;
  private lastRead = 0;
  private isHeld = false;
  /** Undefined: it has not been looked up yet; null: there is no such CPU, or the manager may not run there. */
  private cpu: number | null | undefined;

  /** @param folder of the spill file; null: there is no storage */
  constructor(
    private readonly manager: ManagerCpu,
    private readonly folder: string | null,
    private readonly find: (folder: string) => number | null = interruptedCpu,
  ) {}

  /** The disk has begun to read a page that a thread waits for. */
  begun(nowMs: number): void {
    this.reads = nowMs - this.lastRead < REST_MS ? this.reads + 1 : 1;
    this.lastRead = nowMs;
    if (this.reads >= MANY && !this.isHeld && this.manager.cpu === null) this.hold();
  }

  /** Lets the manager run where it likes when no thread has waited for a while. */
  look(nowMs: number): void {
    if (this.isHeld && nowMs - this.lastRead >= REST_MS) this.end();
  }

  /** The manager looks for the disk no more: its CPU was wanted by another thread, or the disk takes long. */
  end(): void {
    this.reads = 0;
    if (!this.isHeld) return;
    this.isHeld = false;
    this.manager.letGo();
  }

  private hold(): void {
    this.reads = 0;
    if (this.cpu === undefined) this.cpu = this.folder === null ? null : this.find(this.folder);
    if (this.cpu === null) return;
    try {
      this.manager.hold(this.cpu);
      this.isHeld = true;
    } catch {
      // It is none of the CPUs that the manager may have.
      this.cpu = null;
    }
  }
}
