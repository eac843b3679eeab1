/** Processes, threads and their limits. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  ENOSYS,
  EPERM,
  ESRCH,
  PR_SET_PDEATHSIG,
  PR_SET_TIMERSLACK,
  RLIMIT_AS,
  RLIMIT_MEMLOCK,
  RLIMIT_NOFILE,
  SC_PAGESIZE,
  SCHED_ATTR,
  SCHED_FLAG_RESET_ON_FORK,
  SCHED_OTHER,
} from '../base/constants.js';
import { check, SystemCallError } from '../base/errors.js';
import { closeDescriptor, errno, libc, SYSTEM_CALL } from '../base/libc.js';
import { scratch } from '../base/native-buffer.js';
import { readText } from '../base/text-files.js';

/** A descriptor for a process, closed on exec. Readable at its end; never another process's. */
export function pidfdOpen(pid: number): number {
  return check(libc.systemCall(SYSTEM_CALL.pidfdOpen, pid, 0, 0, 0, 0, 0), 'pidfd_open', { pid });
}

/** Lets another thread that waits for this CPU have it first, if there is one. */
export function yieldProcessor(): void {
  libc.sched_yield();
}

let pidfdsAllowed: boolean | null = null;

/** Whether this process may have pidfds: old seccomp profiles of containers deny the call. */
export function mayOpenPidfd(): boolean {
  if (pidfdsAllowed === null) {
    const fd = libc.systemCall(SYSTEM_CALL.pidfdOpen, process.pid, 0, 0, 0, 0, 0);
    if (fd >= 0) closeDescriptor(fd);
    pidfdsAllowed = fd >= 0 || (errno() !== EPERM && errno() !== ENOSYS);
  }
  return pidfdsAllowed;
}

/** Sends a signal. Returns false when the process has ended and been reaped. */
export function pidfdSendSignal(pidfd: number, signal: number): boolean {
  if (libc.systemCall(SYSTEM_CALL.pidfdSendSignal, pidfd, signal, 0, 0, 0, 0) >= 0) return true;
  const number = errno();
  if (number === ESRCH) return false;
  throw new SystemCallError('pidfd_send_signal', { pidfd, signal }, number);
}

/** A copy of another process's descriptor, closed on exec. Needs the right to trace it. */
export function pidfdGetfd(pidfd: number, targetFd: number): number {
  const fd = libc.systemCall(SYSTEM_CALL.pidfdGetfd, pidfd, targetFd, 0, 0, 0, 0);
  return check(fd, 'pidfd_getfd', { pidfd, targetFd });
}

/**
 * Has the kernel send this process a signal when the *thread* that started it ends. Returns false
 * when the parent had ended before, in which case no signal will come.
 */
export function setParentDeathSignal(signal: number, parent: number): boolean {
  check(libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0), 'prctl', {
    option: 'PR_SET_PDEATHSIG',
    signal,
  });
  return process.ppid === parent;
}

/** By how many nanoseconds the kernel may prolong this thread's sleeps; 50,000 unless set. */
export function setTimerSlack(nanoseconds: number): void {
  check(libc.prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0), 'prctl', {
    option: 'PR_SET_TIMERSLACK',
    nanoseconds,
  });
}

/**
 * The slices of threads that others wait for: the manager, those that copy for it, and the control
 * thread of a device. The shortest that the kernel gives. Units have slices as usual: with short
 * ones a gather over more than the device took up to a tenth longer.
 */
export const SERVING_SLICE_NS = 100_000;

/**
 * Asks for this thread's share of a CPU in slices of so many nanoseconds: when it wakes while
 * another thread computes, such as one that compiles, it need not wait for the end of that one's
 * slice, which is some milliseconds. It gets no more of the CPU, and what it starts has slices as
 * usual. Kernels before 6.12 take no notice.
 */
export function setTimeSlice(nanoseconds: number): void {
  const { address, view } = scratch;
  // What may be refused, as by a container's filter, is not needed.
  if (libc.systemCall(SYSTEM_CALL.schedGetattr, 0, address, SCHED_ATTR.bytes, 0, 0, 0) < 0) return;
  if (view.getUint32(SCHED_ATTR.policy, true) !== SCHED_OTHER) return;
  view.setUint32(SCHED_ATTR.size, SCHED_ATTR.bytes, true);
  scratch.setU64(SCHED_ATTR.flags, SCHED_FLAG_RESET_ON_FORK);
  scratch.setU64(SCHED_ATTR.runtime, nanoseconds);
  libc.systemCall(SYSTEM_CALL.schedSetattr, 0, address, 0, 0, 0, 0);
}

/** Ends the process at once: no listeners, no joining of threads, which may sit in faults. */
export function exitImmediately(code: number): never {
  return libc.exit(code);
}

/** The kernel's id of this thread, as userfaultfd messages carry it. */
export function threadId(): number {
  return libc.systemCall(SYSTEM_CALL.gettid, 0, 0, 0, 0, 0, 0);
}

/** The kernel's ids of a process's threads. Throws where it has ended, or descriptors lack. */
export function threadsOf(pid: number | 'self'): Set<number> {
  return new Set(readdirSync(`/proc/${pid}/task`).map(Number));
}

/** The processes that a thread has started and that run; none where the kernel does not say. */
export function childrenOf(pid: number | 'self', thread: number): number[] {
  const text = readText(`/proc/${pid}/task/${thread}/children`) ?? '';
  return text.split(' ').filter(Boolean).map(Number);
}

/** Whether a thread of this process, by the kernel's id, has not ended. */
export function threadExists(thread: number): boolean {
  return existsSync(`/proc/self/task/${thread}`);
}

/** The system call that a thread of this process waits in; null: none, or it cannot be told. */
export function systemCallOf(thread: number): number | null {
  const number = Number.parseInt(readText(`/proc/self/task/${thread}/syscall`) ?? '', 10);
  return number >= 0 ? number : null;
}

/** How many more bytes of addresses can be mapped; Infinity without a limit (ulimit -v). */
export function freeAddresses(): number {
  const limit = limitOf(RLIMIT_AS, 'RLIMIT_AS').soft;
  if (limit === Number.POSITIVE_INFINITY) return limit;
  const [pages] = readFileSync('/proc/self/statm', 'latin1').split(' ');
  return Math.max(limit - Number(pages) * libc.sysconf(SC_PAGESIZE), 0);
}

/** How much memory this process may lock; Infinity when there is no limit. */
export function lockedMemoryLimit(): { soft: number; hard: number } {
  return limitOf(RLIMIT_MEMLOCK, 'RLIMIT_MEMLOCK');
}

/** How many descriptors this process may have. */
export function descriptorLimit(): number {
  return limitOf(RLIMIT_NOFILE, 'RLIMIT_NOFILE').soft;
}

function limitOf(number: number, resource: string): { soft: number; hard: number } {
  check(libc.getrlimit(number, scratch.address), 'getrlimit', { resource });
  const limit = (offset: number): number => {
    const value = scratch.getU64(offset);
    return value >= 2 ** 63 ? Number.POSITIVE_INFINITY : value;
  };
  return { soft: limit(0), hard: limit(8) };
}

/** Whether this process has a capability, by its number in linux/capability.h. */
export function hasCapability(number: number): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return match !== null && ((BigInt(`0x${match[1]}`) >> BigInt(number)) & 1n) === 1n;
}

/** Processes that there are, of all users; none where /proc does not tell. */
export function processes(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}
