/** A word of memory that two processes have mapped, in a memory file of its own. */
import { fstatSync } from 'node:fs';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../base/constants.js';
import { futexWait, futexWake } from '../threads/futex.js';
import {
  createMemoryFile,
  isSizeSealed,
  mmap,
  munmap,
  PAGE_SIZE,
  sealSize,
  view,
} from './memory.js';

/** A file for one; the one who gets it can rely on its size. */
export function createWordFile(): number {
  const fd = createMemoryFile('onemem-word', PAGE_SIZE);
  sealSize(fd);
  return fd;
}

/** Whether another process gave a descriptor that can be mapped as a word, and stays so. */
export function isWordFile(fd: number): boolean {
  return isSizeSealed(fd) && fstatSync(fd).size >= PAGE_SIZE;
}

export class SharedWord {
  /** Not to be touched once the word is closed. */
  readonly words: Int32Array;
  private readonly address: number;

  /** @param fd of its file, which stays the caller's */
  constructor(fd: number) {
    const protection = PROT_READ | PROT_WRITE;
    this.address = mmap(PAGE_SIZE, { protection, flags: MAP_SHARED, fd });
    this.words = new Int32Array(view(this.address, Int32Array.BYTES_PER_ELEMENT));
  }

  wait(value: number, timeoutMs: number): void {
    futexWait(this.address, value, timeoutMs, 'shared');
  }

  wake(): void {
    futexWake(this.address);
  }

  close(): void {
    munmap(this.address, PAGE_SIZE);
  }
}
