/**
 * The only place from which signals are sent by the number of a process. To the system call kill(),
 * 0 and numbers below it are groups of processes, this one's own among them: none of these gets
 * there.
 */
import type { ChildProcess } from 'node:child_process';

/** Sends a signal to one process; 0 only looks whether it is there. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): void {
  if (!(Number.isSafeInteger(pid) && pid > 0)) {
    throw new RangeError(
      `signal ${signal} goes to one process by its number, which is above 0: received ${pid}`,
    );
  }
  process.kill(pid, signal);
}

/** Ends this process at once, whatever its threads do or wait for. */
export function endProcess(): void {
  sendSignal(process.pid, 'SIGKILL');
}

/**
 * Sends a signal to a child; false where none was sent. Of one that could not be started Node.js
 * takes the number to be 0 until it tells of its failure.
 */
export function signalChild(
  child: Pick<ChildProcess, 'pid' | 'kill'>,
  signal: NodeJS.Signals,
): boolean {
  return child.pid !== undefined && child.kill(signal);
}

export function endChild(child: Pick<ChildProcess, 'pid' | 'kill'>): void {
  signalChild(child, 'SIGKILL');
}
