/**
 * On which CPUs things run. A fault is two hand-overs between threads, so that this decides its
 * cost more than anything else: both sides of a comparison are placed alike.
 */
import { readdirSync } from 'node:fs';
import {
  MADV_NOHUGEPAGE,
  MADV_POPULATE_WRITE,
  MAP_ANONYMOUS,
  MAP_PRIVATE,
  PROT_READ,
  PROT_WRITE,
} from '../src/linux/base/constants.js';
import { madvise, mmap, munmap } from '../src/linux/memory/memory.js';
import { getAffinity, setAffinity } from '../src/linux/threads/affinity.js';

export interface Placement {
  readonly name: string;
  /**
   * CPU of the thread that faults, and of the threads that answer; FREE where the kernel chooses,
   * as for every user.
   */
  readonly faulting: number;
  readonly handler: number;
}

const cpus = getAffinity();

const FREE = -1;

/** Same CPU, across CPUs where there are two, and wherever the kernel likes. */
export const placements: readonly Placement[] = [
  { name: 'same', faulting: cpus[0], handler: cpus[0] },
  ...(cpus.length > 1 ? [{ name: 'across', faulting: cpus[0], handler: cpus[1] }] : []),
  { name: 'free', faulting: FREE, handler: FREE },
];

export function threadsOf(pid: number | 'self' = 'self'): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/** Does something, and returns with its result the threads of this process that it started. */
export async function startedThreads<T>(
  action: () => Promise<T>,
): Promise<{ result: T; threads: number[] }> {
  const before = new Set(threadsOf());
  const result = await action();
  return { result, threads: threadsOf().filter((thread) => !before.has(thread)) };
}

export function pin(threads: readonly number[], cpu: number): void {
  for (const thread of threads) {
    try {
      setAffinity(cpu === FREE ? cpus : [cpu], thread);
    } catch (error) {
      // A thread that has ended meanwhile needs no place.
      if ((error as { code?: string }).code !== 'ESRCH') throw error;
    }
  }
}

export function pinSelf(cpu: number): void {
  setAffinity(cpu === FREE ? cpus : [cpu]);
}

export function unpinSelf(): void {
  setAffinity(cpus);
}

/**
 * Touches memory and gives it back. On a virtual machine the first touch of memory that its host
 * has not given it yet costs more than any fault of ours: 11 us a page were seen, where it is under
 * 1 afterwards.
 */
export function warmMemory(bytes: number): void {
  const address = mmap(bytes, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_PRIVATE | MAP_ANONYMOUS,
  });
  madvise(address, bytes, MADV_NOHUGEPAGE);
  madvise(address, bytes, MADV_POPULATE_WRITE);
  munmap(address, bytes);
}
