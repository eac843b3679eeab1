/** Memory for pages on their way between stores: made when the first of them goes. */
import { PAGE_BYTES, PAGES_PER_TRANSFER } from '../../core/basics/types.js';
import type { Staging } from '../../drivers/router.js';
import {
  MADV_DONTFORK,
  MAP_ANONYMOUS,
  MAP_PRIVATE,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/base/constants.js';
import { mmap, munmap, tryMadvise } from '../../linux/memory/memory.js';

/** Transfers that go over it at once: those that are read, and those that are written meanwhile. */
const PIECES = 16;
const PIECE_BYTES = PAGES_PER_TRANSFER * PAGE_BYTES;

export class StagingMemory implements Staging {
  private memory = 0;
  private readonly free: number[] = [];

  take(): number {
    if (this.memory === 0) {
      const flags = MAP_PRIVATE | MAP_ANONYMOUS;
      this.memory = mmap(PIECES * PIECE_BYTES, { protection: PROT_READ | PROT_WRITE, flags });
      // A disk must not write where a child process got the memory and this one a copy of it.
      tryMadvise(this.memory, PIECES * PIECE_BYTES, MADV_DONTFORK);
      for (let piece = 0; piece < PIECES; piece++)
        this.free.push(this.memory + piece * PIECE_BYTES);
    }
    return this.free.pop() ?? 0;
  }

  give(address: number): void {
    this.free.push(address);
  }

  /** Nothing goes over it any more. */
  close(): void {
    if (this.memory !== 0) munmap(this.memory, PIECES * PIECE_BYTES);
    this.memory = 0;
    this.free.length = 0;
  }
}
