/** Processes of devices whose thread was terminated: no event loop reaps them any more. */
import { writeFileSync } from 'node:fs';
import { libc } from '../base/libc.js';
import { readText } from '../base/text-files.js';
import { childrenOf } from './process.js';

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
  for (const pid of childrenOf('self', process.pid)) {
    if (isEndedDevice(pid)) libc.waitpid(pid, 0, WNOHANG);
  }
}

function isEndedDevice(pid: number): boolean {
  return readText(`/proc/${pid}/stat`)?.includes(`(${NAME}) Z `) === true;
}
