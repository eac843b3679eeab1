/** What this machine offers, found out by trying, with the remedy for what it does not. */

import {
  MADV_DONTNEED,
  MAP_ANONYMOUS,
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_NONE,
  PROT_READ,
  PROT_WRITE,
  UFFD_FEATURES,
  UFFDIO_REGISTER_MODE_MINOR,
  UFFDIO_REGISTER_MODE_MISSING,
  UFFDIO_REGISTER_MODE_WP,
} from './base/constants.js';
import { SystemCallError } from './base/errors.js';
import { closeDescriptor } from './base/libc.js';
import { readText } from './base/text-files.js';
import { offersFolios } from './files/block-file.js';
import { IoUring } from './files/io-uring.js';
import {
  createMemoryFile,
  describeMapping,
  MAX_VIEW_BYTES,
  madvise,
  mmap,
  munmap,
  occupantsOf,
  PAGE_SIZE,
} from './memory/memory.js';
import { cgroupMemory, systemMemory } from './memory/system-memory.js';
import { Userfaultfd, type Via } from './memory/userfaultfd.js';
import { endChild } from './processes/kill.js';
import { nodeBinary } from './processes/node-binary.js';
import {
  freeAddresses,
  hasCapability,
  lockedMemoryLimit,
  mayOpenPidfd,
  pidfdGetfd,
  pidfdOpen,
} from './processes/process.js';
import { closeEventfd, createEventfd } from './threads/eventfd.js';
import { LIMITS } from './threads/threads.js';

export interface Feature {
  readonly name: string;
  readonly available: boolean;
  /** Whether nothing works without it. */
  readonly required: boolean;
  readonly detail: string;
  /** The command or setting that makes it available; null when nothing is missing. */
  readonly remedy: string | null;
  /** Where several things would do: what each is called, and how to get it. */
  readonly alternatives?: readonly string[];
}

/** What makes userfaultfd available, one is enough: seccomp or privilege may forbid it. */
const BY_PROFILE: readonly string[] = [
  'Docker: docker run --security-opt seccomp=unconfined (or seccomp=FILE, a profile that allows userfaultfd); add --cap-add SYS_PTRACE to have ' +
    'system calls on pages that are not present served, too',
  'Docker, without the system call: docker run --device /dev/userfaultfd, where the host has Linux 6.1 or newer',
  'Podman: podman run --security-opt seccomp=unconfined (or seccomp=FILE), or podman run --device /dev/userfaultfd',
  'Kubernetes: securityContext: { seccompProfile: { type: Unconfined } } for the container (or type: Localhost with a profile that allows ' +
    'userfaultfd); securityContext: { capabilities: { add: [SYS_PTRACE] } } to have system calls served, too',
  'systemd: a SystemCallFilter= of the unit must allow userfaultfd',
];
const BY_PRIVILEGE: readonly string[] = [
  'the host, for everybody: sudo sysctl vm.unprivileged_userfaultfd=1',
  'the host, for one user: sudo setfacl -m u:$USER:rw /dev/userfaultfd, on Linux 6.1 or newer',
  'the host, for one program: the capability CAP_SYS_PTRACE (AmbientCapabilities=CAP_SYS_PTRACE in a systemd unit, or sudo setcap ' +
    'cap_sys_ptrace+ep on a copy of node)',
];

/** What needs a missing feature says this, and no more. */
const NEEDS_USERFAULTFD = 'needs userfaultfd';

/** Lines on what to do about a missing feature, for `onemem doctor` and openSpace() alike. */
export function remediesOf({ remedy, alternatives }: Feature): string[] {
  return remedy === null
    ? []
    : [`remedy: ${remedy}`, ...(alternatives ?? []).map((each) => `- ${each}`)];
}

/** Lines on why nothing works here, and the remedy; null where nothing is missing. */
export function explainMissing(features: readonly Feature[]): string[] | null {
  const missing = features.filter(({ required, available }) => required && !available);
  if (missing.length === 0) return null;
  return missing
    .filter(({ detail }) => detail !== NEEDS_USERFAULTFD)
    .flatMap((each) => [
      `${each.name}: ${each.detail}`,
      ...remediesOf(each).map((line) => `  ${line}`),
    ]);
}

const GIB = 2 ** 30;
/** Where spaces lie: V8 scatters its own memory below. */
const RANGE_START = 0x6000_0000_0000;
const RANGE_BYTES = 16 * 2 ** 40;
/** Below this, addresses are too few for Node.js itself and a space that is of any use. */
const LEAST_ADDRESSES = GIB;
const CAP_IPC_LOCK = 14;

const NEWER_KERNEL = (version: string): string => `run Linux ${version} or newer`;

function feature(name: string, detail: string, remedy: string | null, required = false): Feature {
  return { name, available: remedy === null, required, detail, remedy };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function readSetting(path: string): string | null {
  return readText(path)?.trim() ?? null;
}

function bytes(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return 'no limit';
  if (value >= GIB) return `${Math.round((value / GIB) * 10) / 10} GiB`;
  return value >= 2 ** 20
    ? `${Math.round(value / 2 ** 20)} MiB`
    : `${Math.round(value / 1024)} KiB`;
}

function tryOpen(way: Exclude<Via, 'received'>): Userfaultfd | SystemCallError {
  try {
    return Userfaultfd.open({ ways: [way] });
  } catch (error) {
    if (error instanceof SystemCallError) return error;
    throw error;
  }
}

/** The device may not be opened: a container gives it with the host's mode, 0600 of root. */
const DEVICE_MODE =
  'the mode of the device must let this user in: sudo setfacl -m u:$USER:rw /dev/userfaultfd; for containers whose image has a USER, ' +
  'on the host: sudo chmod 0666 /dev/userfaultfd, lasting by a udev rule, KERNEL=="userfaultfd", MODE="0666"; or run as root in the container ' +
  '(docker run --user 0 --device /dev/userfaultfd)';

/** Where seccomp forbids the call, no privilege and no setting of the kernel help. */
const UNCONFINED =
  'in a container: docker run --security-opt seccomp=unconfined (or a profile that allows userfaultfd); a sysctl does not help there';

const WAYS: readonly {
  way: Exclude<Via, 'received'>;
  name: string;
  /** @param isForbidden whether seccomp forbids the call */
  remedy: (code: string, isForbidden: boolean) => string;
}[] = [
  {
    way: 'system-call',
    name: 'userfaultfd, all faults (system call)',
    remedy: (code, isForbidden) => {
      if (code === 'ENOSYS')
        return 'leave a container that forbids it (see above), or run a kernel built with CONFIG_USERFAULTFD';
      if (isForbidden) return `${UNCONFINED}; add --cap-add SYS_PTRACE to serve all faults`;
      return 'sudo sysctl vm.unprivileged_userfaultfd=1; in a container: docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined';
    },
  },
  {
    way: 'device',
    name: 'userfaultfd, all faults (/dev/userfaultfd)',
    remedy: (code) => {
      if (code === 'ENOENT')
        return `in a container: docker run --device /dev/userfaultfd; otherwise ${NEWER_KERNEL('6.1')}`;
      if (code === 'EACCES') return DEVICE_MODE;
      return 'sudo setfacl -m u:$USER:rw /dev/userfaultfd; in a container: docker run --device /dev/userfaultfd';
    },
  },
  {
    way: 'user-mode',
    name: 'userfaultfd, faults of user code only',
    remedy: (code) =>
      code === 'EINVAL'
        ? NEWER_KERNEL('5.11')
        : 'in a container: docker run --security-opt seccomp=unconfined (or a profile that allows userfaultfd), or --device /dev/userfaultfd',
  },
];

/** Whether seccomp forbids the call: faults of user code alone need no privilege. */
function isFiltered(): boolean {
  const result = tryOpen('user-mode');
  if (result instanceof SystemCallError) return result.code === 'EPERM';
  result.close();
  return false;
}

/** Tries something with a page of memory; null: it works. @param fd of its file; -1: none */
function tryOnPage(
  features: number,
  fd: number,
  attempt: (userfaultfd: Userfaultfd, address: number) => string | null,
): string | null {
  const flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  let address = -1;
  let userfaultfd: Userfaultfd | null = null;
  try {
    userfaultfd = Userfaultfd.open({ features });
    address = mmap(PAGE_SIZE, { protection: PROT_READ | PROT_WRITE, flags, fd });
    return attempt(userfaultfd, address);
  } catch (error) {
    return reasonOf(error);
  } finally {
    userfaultfd?.close();
    if (address >= 0) munmap(address, PAGE_SIZE);
  }
}

/** Whether a memory file can be registered in these modes: the kernel's bits do not say. */
function tryRegister(modes: number): string | null {
  const fd = createMemoryFile('onemem-probe', PAGE_SIZE);
  try {
    return tryOnPage(0, fd, (userfaultfd, address) => {
      userfaultfd.register(address, PAGE_SIZE, modes);
      return null;
    });
  } finally {
    closeDescriptor(fd);
  }
}

function tryPoison(): string | null {
  return tryOnPage(UFFD_FEATURES.POISON, -1, (userfaultfd, address) => {
    userfaultfd.register(address, PAGE_SIZE, UFFDIO_REGISTER_MODE_MISSING);
    const number = userfaultfd.poison(address, PAGE_SIZE);
    if (number !== 0) return `UFFDIO_POISON answered error ${number}`;
    madvise(address, PAGE_SIZE, MADV_DONTNEED);
    return null;
  });
}

const NO_CHILD = 'no child process could be started';

/** Tries it on a real child, since the rules for one's own descriptors are laxer. */
function tryPidfdGetfd(): string | null {
  // It waits for us: a process that ends meanwhile would answer ESRCH, and look as if it were
  // forbidden.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(nodeBinary(), ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => {});
  let pidfd = -1;
  try {
    if (child.pid === undefined) return NO_CHILD;
    pidfd = pidfdOpen(child.pid);
    closeDescriptor(pidfdGetfd(pidfd, 0));
    return null;
  } catch (error) {
    return reasonOf(error);
  } finally {
    if (pidfd >= 0) closeDescriptor(pidfd);
    endChild(child);
    child.stdin.destroy();
    child.unref();
  }
}

function addressRange(): Feature {
  const name = 'address range of spaces';
  const free = freeAddresses();
  if (free !== Number.POSITIVE_INFINITY) {
    const detail = `a limit leaves ${bytes(free)} of addresses; spaces take a share of that`;
    return feature(name, detail, free >= LEAST_ADDRESSES ? null : 'ulimit -v unlimited', true);
  }
  const text = `16 TiB at 0x${RANGE_START.toString(16)}`;
  try {
    const address = mmap(RANGE_BYTES, {
      address: RANGE_START,
      protection: PROT_NONE,
      flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
    });
    munmap(address, RANGE_BYTES);
    return feature(name, `${text} is free`, null, true);
  } catch (error) {
    const occupants = occupantsOf(RANGE_START, RANGE_BYTES);
    if (occupants.length > 0) {
      const remedy =
        'do not preload libraries that reserve memory there, such as sanitizers (LD_PRELOAD)';
      return feature(
        name,
        `${text} is taken by ${occupants.map(describeMapping).join(', ')}`,
        remedy,
        true,
      );
    }
    const remedy = 'on arm64, run a kernel with 48-bit virtual addresses (CONFIG_ARM64_VA_BITS_48)';
    return feature(name, reasonOf(error), remedy, true);
  }
}

/** What comes as a whole block gets its memory three times cheaper in one piece. */
function hugePages(): Feature {
  const name = 'huge pages for memory files';
  const path = '/sys/kernel/mm/transparent_hugepage/shmem_enabled';
  const setting = readSetting(path);
  if (setting === null)
    return feature(
      name,
      `${path} cannot be read`,
      'run a kernel built with CONFIG_TRANSPARENT_HUGEPAGE',
    );
  const chosen = /\[(\w+)\]/.exec(setting)?.[1] ?? setting;
  if (offersFolios())
    return feature(name, `whole blocks get memory in one piece (shmem_enabled is ${chosen})`, null);
  const detail = `shmem_enabled is ${chosen}, and this process may not make a file system of its own`;
  return feature(name, detail, `echo advise | sudo tee ${path}`);
}

/** Storage goes without it by threads, which takes longer for single pages. */
function ioUring(): Feature {
  const eventfd = createEventfd();
  const ring = IoUring.open(1, eventfd);
  ring?.close();
  closeEventfd(eventfd);
  const disabled = readSetting('/proc/sys/kernel/io_uring_disabled');
  const remedy =
    disabled !== null && disabled !== '0'
      ? 'sudo sysctl kernel.io_uring_disabled=0'
      : `in a container: docker run --security-opt seccomp=FILE with a profile that allows io_uring; otherwise ${NEWER_KERNEL('5.6')}`;
  const detail =
    ring === null
      ? 'threads read and write single pages instead'
      : 'reads and writes single pages of storage';
  return feature('io_uring', detail, ring === null ? remedy : null);
}

function lockedMemory(): Feature {
  const { soft, hard } = lockedMemoryLimit();
  const free = hasCapability(CAP_IPC_LOCK);
  const enough = free || soft >= 64 * 2 ** 20;
  const detail = free
    ? 'no limit (CAP_IPC_LOCK)'
    : `limit ${bytes(soft)}, may be raised to ${bytes(hard)}`;
  const remedy =
    'ulimit -l unlimited (LimitMEMLOCK=infinity in a systemd unit, docker run --ulimit memlock=-1 for a container)';
  return feature('locked memory', detail, enough ? null : remedy);
}

function memory(): Feature {
  const { total, available } = systemMemory();
  const { limit, usage, file } = cgroupMemory();
  const group =
    file === null
      ? 'no control group limit'
      : `control group limit ${bytes(limit)}, ${bytes(usage)} used (${file})`;
  const enough = Math.min(total, limit) >= 256 * 2 ** 20;
  const remedy = 'give the machine or container more memory (docker run --memory 1g)';
  return feature(
    'memory',
    `${bytes(total)} in all, ${bytes(available)} available; ${group}`,
    enough ? null : remedy,
  );
}

function viewSize(): Feature {
  const detail = `Node.js ${process.versions.node} makes views of up to ${MAX_VIEW_BYTES > 2 ** 50 ? 'any size' : bytes(MAX_VIEW_BYTES)}`;
  return feature(
    'views over 4 GiB',
    detail,
    MAX_VIEW_BYTES > 4 * GIB ? null : 'use Node.js 22 or newer',
  );
}

/** The ways to open a userfaultfd, tried. Each alone can be done without; having none cannot. */
function waysToOpen(): { features: Feature[]; usable: boolean; bits: number } {
  const features: Feature[] = [];
  let bits = 0;
  const served: Via[] = [];
  const refused: string[] = [];
  const byMode: string[] = [];
  const isForbidden = isFiltered();
  for (const { way, name, remedy } of WAYS) {
    const result = tryOpen(way);
    if (result instanceof SystemCallError) {
      features.push(feature(name, result.message, remedy(result.code, isForbidden)));
      if (way === 'device' && result.code === 'EACCES') byMode.push(`the device: ${DEVICE_MODE}`);
      refused.push(`${way} ${result.code}`);
      continue;
    }
    bits |= result.available;
    served.push(way);
    result.close();
    features.push(feature(name, 'works', null));
  }
  const usable = served.length > 0;
  const detail = served.some((way) => way !== 'user-mode')
    ? 'serves all faults'
    : usable
      ? 'serves faults of user code; system calls into pages that are not there fail with EFAULT: use createReadStream(), writeTo(), ' +
        'toBuffer() or hold() of arrays'
      : `cannot be opened in any way (${refused.join(', ')}); without it onemem cannot work, and has no other way yet`;
  const alternatives = [...byMode, ...BY_PROFILE, ...(isForbidden ? [] : BY_PRIVILEGE)];
  const remedy = usable ? null : 'one of these, by where the program runs';
  const found = feature('userfaultfd', detail, remedy, true);
  features.unshift(usable ? found : { ...found, alternatives });
  return { features, usable, bits };
}

/** What a userfaultfd must do. @param bits of the kernel, for what it knows */
function faultFeatures(usable: boolean, bits: number): Feature[] {
  const tried = (
    name: string,
    needed: number,
    attempt: () => string | null,
    version: string,
    required: boolean,
  ): Feature => {
    if (!usable)
      return feature(name, NEEDS_USERFAULTFD, 'make userfaultfd available first', required);
    const isKnown = (bits & needed) === needed;
    const reason = isKnown ? attempt() : 'this kernel lacks it';
    return feature(
      name,
      reason ?? 'works',
      reason === null ? null : NEWER_KERNEL(version),
      required,
    );
  };
  const { MINOR_SHMEM, WP_HUGETLBFS_SHMEM, POISON, THREAD_ID } = UFFD_FEATURES;
  const shmem = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR;
  const minor = () => tryRegister(shmem);
  const protect = () => tryRegister(shmem | UFFDIO_REGISTER_MODE_WP);
  const protects = '5.19 on x64, 6.10 on arm64';
  return [
    tried('minor faults of memory files', MINOR_SHMEM, minor, '5.14', true),
    tried('write protection of memory files', WP_HUGETLBFS_SHMEM, protect, protects, true),
    tried('poisoned pages', POISON, tryPoison, '6.6', false),
    tried('thread ids in faults', THREAD_ID, () => null, '4.14', false),
  ];
}

function pidfdOpens(): Feature {
  const works = mayOpenPidfd();
  const detail = works ? 'works' : 'denied; the end of a device is seen by its socket instead';
  const remedy =
    'in a container: a runtime of 2020 or newer, or docker run --security-opt seccomp=unconfined';
  return feature('pidfd_open', detail, works ? null : remedy);
}

function pidfdGets(): Feature {
  const problem = tryPidfdGetfd();
  const scope = readSetting('/proc/sys/kernel/yama/ptrace_scope') ?? 'absent';
  const detail = problem ?? `works on child processes (Yama ptrace_scope ${scope})`;
  const remedy =
    problem === NO_CHILD
      ? LIMITS
      : 'sudo sysctl kernel.yama.ptrace_scope=1; in a container: docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined';
  return feature('pidfd_getfd', detail, problem === null ? null : remedy);
}

/** Tries everything once. Takes milliseconds and a short-lived child; leaves nothing. */
export function probeFeatures(): Feature[] {
  const { features, usable, bits } = waysToOpen();
  return [
    ...features,
    ...faultFeatures(usable, bits),
    pidfdOpens(),
    pidfdGets(),
    hugePages(),
    ioUring(),
    lockedMemory(),
    memory(),
    viewSize(),
    addressRange(),
  ];
}
