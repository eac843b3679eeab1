/**
 * Memory that the driver and its engine both have mapped, through which bytes go that the engine
 * cannot reach: those of other devices. Host memory it reaches itself.
 */
import { MAP_NORESERVE, MAP_SHARED, PROT_READ, PROT_WRITE } from '../../../linux/base/constants.js';
import { closeDescriptor } from '../../../linux/base/libc.js';
import { createMemoryFile, mmap, munmap } from '../../../linux/memory/memory.js';

/** Bytes of a piece: no copy is larger. */
export const STAGING_SLOT_BYTES = 2 ** 21;
export const SLOTS = 8;
const LEFT = 2;
export const STAGING_BYTES = STAGING_SLOT_BYTES * SLOTS;

/** Maps a memory file that its owner shares with another process or thread. */
export function mapShared(fd: number, bytes: number): number {
  return mmap(bytes, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED | MAP_NORESERVE, fd });
}

export class Staging {
  private readonly free: number[] = [];
  /** Called as slots become free. */
  private readonly waiting: ((slot: number) => void)[] = [];

  /** @param fd of the memory file that is this one's own; -1: the memory is the caller's */
  constructor(
    private readonly address: number,
    readonly fd = -1,
  ) {
    for (let slot = 0; slot < SLOTS; slot++) this.free.push(slot);
  }

  static open(name: string): Staging {
    const fd = createMemoryFile(name, STAGING_BYTES);
    return new Staging(mapShared(fd, STAGING_BYTES), fd);
  }

  /** Calls `use` with a slot: at once, or when another copy has ended. */
  take(use: (slot: number) => void): void {
    const slot = this.free.pop();
    if (slot === undefined) this.waiting.push(use);
    else use(slot);
  }

  /** A slot, or -1: there is none just now. */
  takeNow(): number {
    return this.free.pop() ?? -1;
  }

  /** The same for what may keep it for long: some are left for copies, which it may wait for. */
  takeSpare(): number {
    return this.free.length > LEFT ? this.takeNow() : -1;
  }

  give(slot: number): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free.push(slot);
    else next(slot);
  }

  /** Where a slot begins in the file. */
  offsetOf(slot: number): number {
    return slot * STAGING_SLOT_BYTES;
  }

  addressOf(slot: number): number {
    return this.address + slot * STAGING_SLOT_BYTES;
  }

  close(): void {
    this.waiting.length = 0;
    if (this.fd === -1) return;
    munmap(this.address, STAGING_BYTES);
    closeDescriptor(this.fd);
  }
}
