/** Processes, threads and their limits. */
import { existsSync, readFileSync } from 'node:fs';
import {
  ENOSYS,
  EPERM,
  ESRCH,
  PR_SET_PDEATHSIG,
  RLIMIT_AS,
  RLIMIT_MEMLOCK,
  RLIMIT_NOFILE,
  SC_PAGESIZE,
} from './constants.js';
import { check, SystemCallError } from './errors.js';
import { closeDescriptor, errno, libc, SYSTEM_CALL } from './libc.js';
import { scratch } from './native-buffer.js';

/** A descriptor for a process, closed on exec. It becomes readable when the process ends, and never means another process. */
export function pidfdOpen(pid: number): number {
  return check(libc.systemCall(SYSTEM_CALL.pidfdOpen, pid, 0, 0, 0, 0, 0), 'pidfd_open', { pid });
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

/** Takes a copy of another process's descriptor, closed on exec. Needs the right to trace that process. */
export function pidfdGetfd(pidfd: number, targetFd: number): number {
  const fd = libc.systemCall(SYSTEM_CALL.pidfdGetfd, pidfd, targetFd, 0, 0, 0, 0);
  return check(fd, 'pidfd_getfd', { pidfd, targetFd });
}

/**
 * Has the kernel send this process a signal when the *thread* that started it ends. Returns false when the parent had ended
 * before, in which case no signal will come.
 */
export function setParentDeathSignal(signal: number, parent: number): boolean {
  check(libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0), 'prctl', { option: 'PR_SET_PDEATHSIG', signal });
  return process.ppid === parent;
}

/** Ends the process at once: no exit listeners, no joining of threads, which may sit in faults that nobody serves. */
export function exitImmediately(code: number): never {
  return libc.exit(code);
}

/** Sends a signal. Unlike process.kill it takes effect on this process before it returns, without the event loop. */
export function kill(pid: number, signal: number): void {
  check(libc.kill(pid, signal), 'kill', { pid, signal });
}

/** The kernel's id of this thread, as userfaultfd messages carry it. */
export function threadId(): number {
  return libc.systemCall(SYSTEM_CALL.gettid, 0, 0, 0, 0, 0, 0);
}

/** Whether a thread of this process, by the kernel's id, has not ended. */
export function threadExists(thread: number): boolean {
  return existsSync(`/proc/self/task/${thread}`);
}

/** The number of the system call that a thread of this process waits in; null: it waits in none, or that cannot be told. */
export function systemCallOf(thread: number): number | null {
  try {
    const number = Number.parseInt(readFileSync(`/proc/self/task/${thread}/syscall`, 'latin1'), 10);
    return number >= 0 ? number : null;
  } catch {
    return null;
  }
}

const MASK_BYTES = 1024;

/** The CPUs that a thread may run on; 0 is this thread. */
export function getAffinity(thread = 0): number[] {
  check(libc.schedGetaffinity(thread, MASK_BYTES, scratch.address), 'sched_getaffinity', { thread });
  // The kernel writes as many bytes as it has CPUs; the C library clears the rest.
  const cpus: number[] = [];
  for (let cpu = 0; cpu < MASK_BYTES * 8; cpu++) {
    if ((scratch.view.getUint8(cpu >> 3) & (1 << (cpu & 7))) !== 0) cpus.push(cpu);
  }
  return cpus;
}

export function setAffinity(cpus: readonly number[], thread = 0): void {
  scratch.bytes.fill(0, 0, MASK_BYTES);
  for (const cpu of cpus) scratch.view.setUint8(cpu >> 3, scratch.view.getUint8(cpu >> 3) | (1 << (cpu & 7)));
  check(libc.schedSetaffinity(thread, MASK_BYTES, scratch.address), 'sched_setaffinity', {
    thread,
    cpus: cpus.join(','),
  });
}

/** How many more bytes of addresses this process may map; Infinity when there is no limit (ulimit -v). */
export function freeAddresses(): number {
  check(libc.getrlimit(RLIMIT_AS, scratch.address), 'getrlimit', { resource: 'RLIMIT_AS' });
  const limit = scratch.getU64(0);
  if (limit >= 2 ** 63) return Number.POSITIVE_INFINITY;
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

/** Whether the effective capabilities of this process include one, by its number in linux/capability.h. */
export function hasCapability(number: number): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return match !== null && ((BigInt(`0x${match[1]}`) >> BigInt(number)) & 1n) === 1n;
}

/** From /proc/meminfo, in bytes. */
export function systemMemory(text: string = readFileSync('/proc/meminfo', 'latin1')): {
  total: number;
  available: number;
} {
  const field = (name: string): number => {
    const match = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text);
    return match === null ? 0 : Number(match[1]) * 1024;
  };
  return { total: field('MemTotal'), available: field('MemAvailable') };
}

export interface CgroupMemory {
  /** The smallest limit of this process's control group and those around it; Infinity when there is none. */
  readonly limit: number;
  /** What the group with that limit uses now; without a limit, the process's own group. */
  readonly usage: number;
  /** The file that holds the limit, or null. */
  readonly file: string | null;
}

export type ReadText = (path: string) => string | null;

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}

/** The memory limit of the container or service that this process runs in, by version 2 or 1 of control groups. */
export function cgroupMemory(read: ReadText = readText): CgroupMemory {
  const groups = (read('/proc/self/cgroup') ?? '').split('\n').map((line) => line.split(':'));
  let result: CgroupMemory | null = null;
  for (const line of (read('/proc/self/mountinfo') ?? '').split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', mountPoint = ''] = before.split(' ');
    const [type = '', , superOptions = ''] = after.split(' ');
    const two = type === 'cgroup2';
    if (!two && !(type === 'cgroup' && superOptions.split(',').includes('memory'))) continue;
    const group = groups.find(([, controllers = '']) =>
      two ? controllers === '' : controllers.split(',').includes('memory'),
    );
    if (group === undefined) continue;
    const path = group.slice(2).join(':');
    // The mount shows the hierarchy from its root on: in a container without a namespace of its own, that is the container's.
    const prefix = root === '/' ? '' : root;
    let relative = path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : '';
    if (relative === '/') relative = '';
    const [limitName, usageName] = two
      ? ['memory.max', 'memory.current']
      : ['memory.limit_in_bytes', 'memory.usage_in_bytes'];
    for (;;) {
      const file = `${mountPoint}${relative}/${limitName}`;
      const text = read(file)?.trim();
      if (text !== undefined) {
        // Version 1 writes "no limit" as the largest multiple of the page size.
        const limit = text === 'max' || Number(text) >= 2 ** 62 ? Number.POSITIVE_INFINITY : Number(text);
        if (result === null || limit < result.limit) {
          const usage = Number(read(`${mountPoint}${relative}/${usageName}`)?.trim() ?? 0);
          result = { limit, usage, file: limit === Number.POSITIVE_INFINITY ? null : file };
        }
      }
      if (relative === '') break;
      relative = relative.slice(0, relative.lastIndexOf('/'));
    }
  }
  return result ?? { limit: Number.POSITIVE_INFINITY, usage: 0, file: null };
}
