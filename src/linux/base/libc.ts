/**
 * The functions of the C library that the rest of this folder calls. Addresses and lengths are
 * plain numbers: they lie below 2^53, and the foreign function interface converts numbers several
 * times faster than big integers or buffers.
 */
import { createRequire } from 'node:module';
import type Koffi from 'koffi';
import { bundledMessage, managerFiles } from '../own-files.js';
import { systemCallNumbers } from './constants.js';
import { knownBinary, noteBinary } from './koffi-binary.js';
import { beginUncut, endUncut } from './rundown.js';

/** Checked first: a missing symbol of another system gives a message without a reason. */
export const SYSTEM_CALL = systemCallNumbers();

// All that is declared as this module loads is in one piece with the loading.
beginUncut();

export const koffi = loadKoffi();

// The program's own symbols: they include the C library's under every name that it has (glibc and
// musl differ).
const library = koffi.load(null);

/** Required, not imported: bundlers leave it alone, and its absence can be explained. */
function loadKoffi(): typeof Koffi {
  try {
    const require = createRequire(import.meta.url);
    const known = knownBinary();
    if (known !== undefined) return require(known) as typeof Koffi;
    const found = require('koffi') as typeof Koffi;
    noteBinary(Object.keys(require.cache).find((each) => each.endsWith('koffi.node')));
    return found;
  } catch (cause) {
    endUncut();
    if (managerFiles() === null)
      throw Object.assign(new Error(bundledMessage(), { cause }), { code: 'BUNDLED' });
    throw cause;
  }
}

/** For calls of the interface that make JavaScript values, other than numbers and texts. */
export function uncut<T>(call: () => T): T {
  beginUncut();
  try {
    return call();
  } finally {
    endUncut();
  }
}

function declare<F extends (...args: never[]) => unknown>(prototype: string): F {
  return library.func(prototype) as unknown as F;
}

/** Those that have not been declared yet. */
const undeclared = new Set<() => void>();

/** Declared at the first call: threads use few, and all together take half a millisecond. */
function onUse<F extends (...args: never[]) => unknown>(prototype: string): F {
  type Any = (...args: unknown[]) => unknown;
  let call: Any | null = null;
  const use = (): Any => {
    call = uncut(() => declare(prototype)) as Any;
    undeclared.delete(use);
    return call;
  };
  undeclared.add(use);
  // Arguments that the function does not have are left alone.
  const declared: Any = (a, b, c, d, e, f, g) => (call ?? use())(a, b, c, d, e, f, g);
  return declared as unknown as F;
}

/**
 * Declares the rest, for a thread that another one may stop at any moment later without asking:
 * Node.js does so with those of a worker thread that the program terminates, and tells no other
 * thread of it.
 */
export function declareAll(): void {
  for (const use of undeclared) use();
}

type Numbers<N extends number, A extends number[] = []> = A['length'] extends N
  ? A
  : Numbers<N, [...A, number]>;
type Call<N extends number> = (...args: Numbers<N>) => number;

export const libc = {
  mmap: onUse<Call<6>>(
    'int64_t mmap(uint64_t address, uint64_t length, int protection, int flags, int fd, int64_t offset)',
  ),
  munmap: onUse<Call<2>>('int munmap(uint64_t address, uint64_t length)'),
  mprotect: onUse<Call<3>>('int mprotect(uint64_t address, uint64_t length, int protection)'),
  madvise: declare<Call<3>>('int madvise(uint64_t address, uint64_t length, int advice)'),
  mlock: onUse<Call<2>>('int mlock(uint64_t address, uint64_t length)'),
  msync: onUse<Call<3>>('int msync(uint64_t address, uint64_t length, int flags)'),
  munlock: onUse<Call<2>>('int munlock(uint64_t address, uint64_t length)'),
  memcpy: declare<Call<3>>(
    'uint64_t memcpy(uint64_t destination, uint64_t source, uint64_t length)',
  ),
  memmove: onUse<Call<3>>(
    'uint64_t memmove(uint64_t destination, uint64_t source, uint64_t length)',
  ),
  memcpyToArray: onUse<(target: Uint8Array, source: number, length: number) => number>(
    'uint64_t memcpy(void *destination, uint64_t source, uint64_t length)',
  ),
  memcpyFromArray: onUse<(target: number, source: Uint8Array, length: number) => number>(
    'uint64_t memcpy(uint64_t destination, const void *source, uint64_t length)',
  ),
  memset: declare<Call<3>>('uint64_t memset(uint64_t address, int value, uint64_t length)'),
  memfdCreate: onUse<(name: string, flags: number) => number>(
    'int memfd_create(const char *name, uint32_t flags)',
  ),
  ftruncate: onUse<Call<2>>('int ftruncate(int fd, int64_t length)'),
  fallocate: declare<Call<4>>('int fallocate(int fd, int mode, int64_t offset, int64_t length)'),
  ioctl: declare<Call<3>>('int ioctl(int fd, uint64_t request, uint64_t argument)'),
  read: declare<Call<3>>('int64_t read(int fd, uint64_t address, uint64_t length)'),
  write: onUse<Call<3>>('int64_t write(int fd, uint64_t address, uint64_t length)'),
  pread: onUse<Call<4>>('int64_t pread(int fd, uint64_t address, uint64_t length, int64_t offset)'),
  pwrite: onUse<Call<4>>(
    'int64_t pwrite(int fd, uint64_t address, uint64_t length, int64_t offset)',
  ),
  preadv2: onUse<Call<5>>(
    'int64_t preadv2(int fd, uint64_t vectors, int count, int64_t offset, int flags)',
  ),
  pwritev2: onUse<Call<5>>(
    'int64_t pwritev2(int fd, uint64_t vectors, int count, int64_t offset, int flags)',
  ),
  // As syscall below: declared without the ellipsis.
  open: onUse<(path: string, flags: number, mode: number) => number>(
    'int open(const char *path, int flags, uint32_t mode)',
  ),
  openat: onUse<(directory: number, path: string, flags: number, mode: number) => number>(
    'int openat(int directory, const char *path, int flags, uint32_t mode)',
  ),
  unlinkat: onUse<(directory: number, path: string, flags: number) => number>(
    'int unlinkat(int directory, const char *path, int flags)',
  ),
  close: onUse<Call<1>>('int close(int fd)'),
  lseek: onUse<Call<3>>('int64_t lseek(int fd, int64_t offset, int whence)'),
  fdatasync: onUse<Call<1>>('int fdatasync(int fd)'),
  // As syscall below: declared without the ellipsis.
  fcntl: onUse<Call<3>>('int fcntl(int fd, int command, int64_t argument)'),
  dup2: onUse<Call<2>>('int dup2(int from, int to)'),
  flock: onUse<Call<2>>('int flock(int fd, int operation)'),
  poll: declare<Call<3>>('int poll(uint64_t fds, uint64_t count, int timeout)'),
  sched_yield: onUse<Call<0>>('int sched_yield()'),
  sched_getcpu: onUse<Call<0>>('int sched_getcpu()'),
  ppoll: declare<Call<4>>(
    'int ppoll(uint64_t fds, uint64_t count, uint64_t timeout, uint64_t signals)',
  ),
  eventfd: onUse<Call<2>>('int eventfd(uint32_t initial, int flags)'),
  socketpair: onUse<Call<4>>('int socketpair(int domain, int type, int protocol, uint64_t fds)'),
  socket: onUse<Call<3>>('int socket(int domain, int type, int protocol)'),
  bind: onUse<Call<3>>('int bind(int fd, uint64_t address, uint32_t length)'),
  listen: onUse<Call<2>>('int listen(int fd, int backlog)'),
  accept4: onUse<Call<4>>('int accept4(int fd, uint64_t address, uint64_t length, int flags)'),
  connect: onUse<Call<3>>('int connect(int fd, uint64_t address, uint32_t length)'),
  getsockopt: onUse<Call<5>>(
    'int getsockopt(int fd, int level, int option, uint64_t value, uint64_t length)',
  ),
  sendmsg: onUse<Call<3>>('int64_t sendmsg(int fd, uint64_t message, int flags)'),
  recvmsg: onUse<Call<3>>('int64_t recvmsg(int fd, uint64_t message, int flags)'),
  setsockopt: onUse<Call<5>>(
    'int setsockopt(int fd, int level, int option, uint64_t value, uint32_t length)',
  ),
  waitpid: onUse<Call<3>>('int waitpid(int pid, uint64_t status, int options)'),
  prctl: onUse<Call<5>>('int prctl(int option, uint64_t a, uint64_t b, uint64_t c, uint64_t d)'),
  sigaction: onUse<Call<3>>('int sigaction(int signal, uint64_t action, uint64_t previous)'),
  schedSetaffinity: onUse<Call<3>>(
    'int sched_setaffinity(int thread, uint64_t size, uint64_t mask)',
  ),
  schedGetaffinity: onUse<Call<3>>(
    'int sched_getaffinity(int thread, uint64_t size, uint64_t mask)',
  ),
  clockGettime: onUse<Call<2>>('int clock_gettime(int clock, uint64_t time)'),
  getrusage: onUse<Call<2>>('int getrusage(int who, uint64_t usage)'),
  getrlimit: onUse<Call<2>>('int getrlimit(int resource, uint64_t limits)'),
  getrandom: onUse<Call<3>>('int64_t getrandom(uint64_t buffer, uint64_t length, uint32_t flags)'),
  unshare: onUse<Call<1>>('int unshare(int flags)'),
  chdir: onUse<(path: string) => number>('int chdir(const char *path)'),
  sysconf: onUse<Call<1>>('int64_t sysconf(int name)'),
  exit: onUse<(code: number) => never>('void _exit(int code)'),
  // Declared without the ellipsis: on both processors variadic integer arguments travel in the same
  // registers as named ones.
  systemCall: onUse<Call<7>>(
    'int64_t syscall(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)',
  ),
} as const;

// errno is read from the thread's own variable, not by a call: it is cheaper, and leaves no call in
// which the engine could collect garbage and change it. The variable stays where it is for the life
// of the thread, as this module does.
const errnoLocation = declare<() => number>('uint64_t __errno_location()')();
const errnoVariable = new DataView(koffi.view(errnoLocation, 4));

endUncut();

/** The error number of this thread's last call. Valid only directly after a failure. */
export function errno(): number {
  return errnoVariable.getInt32(0, true);
}

/** Makes the last call seem to have failed. Only for calls that fail on purpose. */
export function setErrno(number: number): void {
  errnoVariable.setInt32(0, number, true);
}

/** An ArrayBuffer over native memory that others own; `view` in memory.ts is checked. */
export function rawView(address: number, bytes: number): ArrayBuffer {
  return uncut(() => koffi.view(address, bytes));
}

/** Where a typed array's elements lie, as long as its buffer is used and not transferred. */
export function addressOf(array: Uint8Array): number {
  return Number(koffi.address(array));
}

/**
 * Closes a descriptor that system calls of ours made. Node keeps a list of what its own functions
 * opened in a worker, and would warn about any other; and an error here could only mean a mistake
 * of ours, so that nothing is thrown.
 */
export function closeDescriptor(fd: number): void {
  libc.close(fd);
}
