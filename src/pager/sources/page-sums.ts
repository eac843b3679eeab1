/** Checksums of pages put aside, a word a frame; their memory is taken as frames are written. */
import {
  MAP_ANONYMOUS,
  MAP_NORESERVE,
  MAP_PRIVATE,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/base/constants.js';
import { SUM_BYTES } from '../../linux/memory/checksum.js';
import { mmap, munmap, PAGE_SIZE } from '../../linux/memory/memory.js';

export class PageSums {
  private memory = 0;
  private readonly bytes: number;

  /** @param placeBytes how much can be put aside */
  constructor(placeBytes: number) {
    this.bytes = Math.ceil(((placeBytes / PAGE_SIZE) * SUM_BYTES) / PAGE_SIZE) * PAGE_SIZE;
  }

  /** Where the checksums are of pages that lie from an offset on. */
  at(offset: number): number {
    if (this.memory === 0) {
      const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
      this.memory = mmap(this.bytes, { protection: PROT_READ | PROT_WRITE, flags });
    }
    return this.memory + (offset / PAGE_SIZE) * SUM_BYTES;
  }

  close(): void {
    if (this.memory !== 0) munmap(this.memory, this.bytes);
    this.memory = 0;
  }
}
