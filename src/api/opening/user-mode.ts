/** The warning of spaces that serve faults of instructions, but not of system calls. */

import { warn } from '../values/errors.js';

/** Whether to warn no more: once a process is enough, and our commands need none. */
let isKnown = false;

/** This program hands no memory of arrays to system calls. */
export function needNoSystemCalls(): void {
  isKnown = true;
}

/** @param faultsBy how userfaultfd was opened */
export function warnOfUserMode(faultsBy: string): void {
  if (isKnown || faultsBy !== 'user-mode') return;
  isKnown = true;
  warn(
    'ONEMEM_USER_MODE',
    'this process may serve page faults of its own code only: a system call that is given a page of an array which ' +
      'is not in memory fails with EFAULT or transfers less, and res.end(), socket.write(), fs.write() and ' +
      'child.stdin may end without a word; npx onemem doctor --explain EFAULT says what to do',
  );
}
