/** Processes of devices whose thread was terminated: no event loop reaps them any more. */
import { readFileSync, writeFileSync } from 'node:fs';
import { libc } from '../base/libc.js';

/** The kernel keeps 15 bytes of a name, also of a process that has ended. */
const NAME = 'onemem-device';
const WNOHANG = 1;

/** By which this process is known when it has ended. */
export function nameDeviceProcess(): void {
  try {
    writeFileSync('/proc/self/comm', NAME);
  } catch {
    // It is for the case that a thread is terminated, and /proc may be read-only.
  }
}

/** Reaps children that have ended. Those of an ended thread are the first thread's. */
export function reapOrphans(): void {
  for (const pid of childrenOf(process.pid)) {
    if (isEndedDevice(pid)) libc.waitpid(pid, 0, WNOHANG);
  }
}

function childrenOf(thread: number): number[] {
  try {
    const text = readFileSync(`/proc/self/task/${thread}/children`, 'latin1');
    return text.split(' ').map(Number).filter(Boolean);
  } catch {
    return [];
  }
}

function isEndedDevice(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(`(${NAME}) Z `);
  } catch {
    return false;
  }
}
