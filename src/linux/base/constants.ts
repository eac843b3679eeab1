/**
 * Numbers of the Linux kernel's interface for x64 and arm64. Both are little-endian with 64-bit
 * pointers, so that structure layouts and request codes agree; only the older system call numbers
 * differ.
 */
import { constants as os } from 'node:os';

/** Those since Linux 5.1 have the same number everywhere. */
const NEWER = {
  pidfdOpen: 434,
  pidfdSendSignal: 424,
  pidfdGetfd: 438,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  ioUringSetup: 425,
  ioUringEnter: 426,
  ioUringRegister: 427,
} as const;
const SYSTEM_CALLS = {
  x64: {
    userfaultfd: 323,
    futex: 202,
    mbind: 237,
    gettid: 186,
    schedSetattr: 314,
    schedGetattr: 315,
    ...NEWER,
  },
  arm64: {
    userfaultfd: 282,
    futex: 98,
    mbind: 235,
    gettid: 178,
    schedSetattr: 274,
    schedGetattr: 275,
    ...NEWER,
  },
} as const;

export type SystemCallNumbers = { readonly [K in keyof (typeof SYSTEM_CALLS)['x64']]: number };

/** System calls without a function in the C library, or with one in recent versions only. */
export function systemCallNumbers(
  platform: string = process.platform,
  arch: string = process.arch,
): SystemCallNumbers {
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) {
    throw Object.assign(
      new Error(`onemem runs on Linux on x64 and arm64 processors; this is ${platform} on ${arch}`),
      {
        code: 'UNSUPPORTED_PLATFORM',
      },
    );
  }
  return SYSTEM_CALLS[arch];
}

export const EPERM = os.errno.EPERM;
export const ENOSYS = os.errno.ENOSYS;
export const EISDIR = os.errno.EISDIR;
export const ENOENT = os.errno.ENOENT;
export const EINTR = os.errno.EINTR;
export const EIO = os.errno.EIO;
export const EBADF = os.errno.EBADF;
export const EAGAIN = os.errno.EAGAIN;
export const ENOMEM = os.errno.ENOMEM;
export const EFAULT = os.errno.EFAULT;
export const EEXIST = os.errno.EEXIST;
export const EINVAL = os.errno.EINVAL;
export const EFBIG = os.errno.EFBIG;
export const ENOSPC = os.errno.ENOSPC;
export const EPIPE = os.errno.EPIPE;
export const ENOBUFS = os.errno.ENOBUFS;
export const ECONNRESET = os.errno.ECONNRESET;
export const ETIMEDOUT = os.errno.ETIMEDOUT;
export const EOPNOTSUPP = os.errno.EOPNOTSUPP;
export const ESRCH = os.errno.ESRCH;

// mmap, mprotect
export const PROT_NONE = 0;
export const PROT_READ = 1;
export const PROT_WRITE = 2;
export const MAP_SHARED = 0x01;
export const MAP_SHARED_VALIDATE = 0x03;
export const MAP_SYNC = 0x80000;
export const MAP_PRIVATE = 0x02;
export const MAP_FIXED = 0x10;
export const MS_ASYNC = 1;
export const MAP_ANONYMOUS = 0x20;
export const MAP_NORESERVE = 0x4000;
export const MAP_POPULATE = 0x8000;
export const MAP_FIXED_NOREPLACE = 0x100000;

// madvise
export const MADV_NORMAL = 0;
export const MADV_RANDOM = 1;
export const MADV_SEQUENTIAL = 2;
export const MADV_DONTNEED = 4;
export const MADV_DONTFORK = 10;
export const MADV_HUGEPAGE = 14;
export const MADV_NOHUGEPAGE = 15;
export const MADV_DONTDUMP = 16;
export const MADV_POPULATE_WRITE = 23;

// memfd_create, fallocate
export const MFD_CLOEXEC = 0x1;
export const MFD_ALLOW_SEALING = 0x2;
export const MFD_NOEXEC_SEAL = 0x8;
export const FALLOC_FL_KEEP_SIZE = 0x1;
export const FALLOC_FL_PUNCH_HOLE = 0x2;

// fsopen, fsconfig, fsmount
export const FSOPEN_CLOEXEC = 1;
export const FSCONFIG_SET_STRING = 1;
export const FSCONFIG_CMD_CREATE = 6;
export const FSMOUNT_CLOEXEC = 1;
export const MOUNT_ATTR_NOSUID = 2;
export const MOUNT_ATTR_NODEV = 4;
export const MOUNT_ATTR_NOEXEC = 8;

// lseek
export const SEEK_DATA = 3;
export const SEEK_HOLE = 4;

// open, eventfd, userfaultfd
export const O_NONBLOCK = 0o4000;
export const F_GETFL = 3;
export const F_SETFL = 4;
export const O_CLOEXEC = 0o2000000;
export const O_RDONLY = 0o0;
export const O_RDWR = 0o2;
export const O_ACCMODE = 0o3;
export const O_CREAT = 0o100;
export const O_EXCL = 0o200;
export const O_DIRECT = process.arch === 'arm64' ? 0o200000 : 0o40000;
export const O_TMPFILE = process.arch === 'arm64' ? 0o20040000 : 0o20200000;
export const EFD_CLOEXEC = O_CLOEXEC;
export const EFD_NONBLOCK = O_NONBLOCK;
export const UFFD_USER_MODE_ONLY = 1;

// userfaultfd: requests of ioctl(2)
export const USERFAULTFD_IOC_NEW = 0xaa00;
export const UFFD_API = 0xaa;
export const UFFDIO_API = 0xc018aa3f;
export const UFFDIO_REGISTER = 0xc020aa00;
export const UFFDIO_UNREGISTER = 0x8010aa01;
export const UFFDIO_WAKE = 0x8010aa02;
export const UFFDIO_COPY = 0xc028aa03;
export const UFFDIO_ZEROPAGE = 0xc020aa04;
export const UFFDIO_ZEROPAGE_MODE_DONTWAKE = 1;
export const UFFDIO_WRITEPROTECT = 0xc018aa06;
export const UFFDIO_CONTINUE = 0xc020aa07;
export const UFFDIO_POISON = 0xc020aa08;

export const UFFDIO_REGISTER_MODE_MISSING = 1;
export const UFFDIO_REGISTER_MODE_WP = 2;
export const UFFDIO_REGISTER_MODE_MINOR = 4;

export const UFFDIO_COPY_MODE_WP = 2;
export const UFFDIO_CONTINUE_MODE_WP = 2;
export const UFFDIO_WRITEPROTECT_MODE_WP = 1;
export const UFFDIO_WRITEPROTECT_MODE_DONTWAKE = 1 << 1;

export const UFFD_EVENT_PAGEFAULT = 0x12;
export const UFFD_EVENT_FORK = 0x13;
export const UFFD_EVENT_REMOVE = 0x15;

export const UFFD_PAGEFAULT_FLAG_WRITE = 1;
export const UFFD_PAGEFAULT_FLAG_WP = 2;
export const UFFD_PAGEFAULT_FLAG_MINOR = 4;

/** Feature bits of userfaultfd, by the names of the kernel's header. */
export const UFFD_FEATURES = {
  PAGEFAULT_FLAG_WP: 1 << 0,
  EVENT_FORK: 1 << 1,
  EVENT_REMAP: 1 << 2,
  EVENT_REMOVE: 1 << 3,
  MISSING_HUGETLBFS: 1 << 4,
  MISSING_SHMEM: 1 << 5,
  EVENT_UNMAP: 1 << 6,
  SIGBUS: 1 << 7,
  THREAD_ID: 1 << 8,
  MINOR_HUGETLBFS: 1 << 9,
  MINOR_SHMEM: 1 << 10,
  EXACT_ADDRESS: 1 << 11,
  WP_HUGETLBFS_SHMEM: 1 << 12,
  WP_UNPOPULATED: 1 << 13,
  POISON: 1 << 14,
  WP_ASYNC: 1 << 15,
  MOVE: 1 << 16,
} as const;

// poll
export const POLLIN = 0x1;
export const POLLPRI = 0x2;
export const POLLOUT = 0x4;
export const POLLNVAL = 0x20;

// sockets
export const AF_UNIX = 1;
export const SOCK_STREAM = 1;
export const SOCK_SEQPACKET = 5;
export const SOCK_CLOEXEC = O_CLOEXEC;
export const SOL_SOCKET = 1;
export const SCM_RIGHTS = 1;
export const MSG_CTRUNC = 0x8;
export const MSG_TRUNC = 0x20;
export const MSG_DONTWAIT = 0x40;
export const MSG_WAITALL = 0x100;
export const MSG_NOSIGNAL = 0x4000;
export const SO_PEERCRED = 17;
export const SO_RCVTIMEO = 20;
export const MSG_CMSG_CLOEXEC = 0x40000000;
/** The kernel passes no more descriptors than these in one message. */
export const SCM_MAX_FD = 253;

// futex
export const FUTEX_WAKE = 1;
export const FUTEX_WAIT_BITSET = 9;
export const FUTEX_PRIVATE_FLAG = 128;
export const FUTEX_BITSET_MATCH_ANY = 0xffffffff;

// prctl, getrlimit, sysconf, preadv2
export const PR_SET_PDEATHSIG = 1;
export const PR_SET_TIMERSLACK = 29;

/** Offsets in the kernel's `struct sched_attr`, of which its first version is enough. */
export const SCHED_ATTR = { size: 0, policy: 4, flags: 8, runtime: 24, bytes: 48 } as const;
export const SCHED_FLAG_RESET_ON_FORK = 1;
export const SCHED_OTHER = 0;
export const CLOCK_THREAD_CPUTIME_ID = 3;
export const RUSAGE_THREAD = 1;
export const RLIMIT_NOFILE = 7;
export const RLIMIT_MEMLOCK = 8;
export const RLIMIT_AS = 9;

export const LOCK_EX = 2;
export const F_DUPFD_CLOEXEC = 1030;
export const F_ADD_SEALS = 1033;
export const F_GET_SEALS = 1034;
export const F_SEAL_SHRINK = 0x2;
export const F_SEAL_GROW = 0x4;
export const CLONE_FS = 0x200;
export const LOCK_NB = 4;
export const SC_PAGESIZE = 30;
export const RWF_NOWAIT = 0x8;

// io_uring
export const IORING_OFF_SQES = 0x1000_0000;
export const IORING_CQ_EVENTFD_DISABLED = 1;
export const IORING_FEAT_SINGLE_MMAP = 1;
export const IORING_REGISTER_EVENTFD = 4;
export const IORING_OP_READ = 22;
export const IORING_OP_WRITE = 23;
