/** Which CPUs threads may run on. What a thread starts inherits its CPUs. */
import { check } from '../base/errors.js';
import { libc } from '../base/libc.js';
import { scratch } from '../base/native-buffer.js';

const MASK_BYTES = 1024;

/** The CPUs that a thread may run on; 0 is this thread. */
export function getAffinity(thread = 0): number[] {
  check(libc.schedGetaffinity(thread, MASK_BYTES, scratch.address), 'sched_getaffinity', {
    thread,
  });
  // The kernel writes as many bytes as it has CPUs; the C library clears the rest.
  const cpus: number[] = [];
  for (let byte = 0; byte < MASK_BYTES; byte++) {
    const bits = scratch.view.getUint8(byte);
    for (let bit = 0; bits >> bit !== 0; bit++)
      if (((bits >> bit) & 1) !== 0) cpus.push(8 * byte + bit);
  }
  return cpus;
}

export function setAffinity(cpus: readonly number[], thread = 0): void {
  scratch.bytes.fill(0, 0, MASK_BYTES);
  for (const cpu of cpus)
    scratch.view.setUint8(cpu >> 3, scratch.view.getUint8(cpu >> 3) | (1 << (cpu & 7)));
  check(libc.schedSetaffinity(thread, MASK_BYTES, scratch.address), 'sched_setaffinity', {
    thread,
    cpus: cpus.join(','),
  });
}

/**
 * Puts back what a thread could run on before it was given `now`. One that has other CPUs by now
 * keeps those; one that has ended needs none.
 */
export function restoreAffinity(
  thread: number,
  now: readonly number[],
  before: readonly number[],
): void {
  try {
    const found = getAffinity(thread);
    if (found.length === now.length && found.every((cpu, at) => cpu === now[at]))
      setAffinity(before, thread);
  } catch (error) {
    // EINVAL: the control group of the process has none of these CPUs any more, or the thread is
    // one of the kernel's own. EPERM: of a process that is another user's by now.
    const { code } = error as { code?: string };
    if (code !== 'ESRCH' && code !== 'EINVAL' && code !== 'EPERM') throw error;
  }
}

/** The CPU on which this thread runs at the moment. */
export function currentCpu(): number {
  return check(libc.sched_getcpu(), 'sched_getcpu', {});
}

/** What this thread may run on when it is not bound; null: it is not bound. */
let unbound: readonly number[] | null = null;

/** Says that this thread is bound, and its CPUs before; null: it is bound no more. */
export function noteBound(before: readonly number[] | null): void {
  unbound = before;
}

/** Starts a thread or a process that is not to be bound, whether this thread is or not. */
export function startUnbound<T>(start: () => T): T {
  if (unbound === null) return start();
  const bound = getAffinity();
  setAffinity(unbound);
  try {
    return start();
  } finally {
    setAffinity(bound);
  }
}
