/**
 * Wakes the manager from a thread that calls nothing of the C library: the foreign function
 * interface leaves memory in each thread.
 */
import { writeSync } from 'node:fs';

const ONE = new BigUint64Array([1n]);

export function wakeManager(wakeFd: number): void {
  try {
    writeSync(wakeFd, ONE);
  } catch (error) {
    // A counter that is full has woken the manager already.
    if ((error as { code?: string }).code !== 'EAGAIN') throw error;
  }
}
