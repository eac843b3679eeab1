/*
 * The reference of the fault benches: the same handler as the library's, in C and nothing else. A thread (or, for a device, a
 * process) touches pages one by one; a handler thread answers with the same system calls: read, the answer, then a look around
 * by non-blocking reads for a moment, then poll.
 *
 *   faults MODE COUNT SPIN_NS FAULTING_CPU HANDLER_CPU [FILE]
 *
 * A CPU of -1 leaves the choice to the kernel. MODE: zero, zero-read, minor, file (COUNT pages of 4 KiB); group, block (COUNT blocks of 2 MiB that are brought home from a
 * second memory file by 64 KiB, or whole in pieces of 256 KiB); device-zero, device-copy (two processes). Prints the nanoseconds
 * from the first touch to the last, and exits with 1 if a byte was wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UFFD_FEATURE_MINOR_SHMEM
#define UFFD_FEATURE_MINOR_SHMEM (1 << 10)
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFDIO_REGISTER_MODE_MINOR
#define UFFDIO_REGISTER_MODE_MINOR ((__u64)1 << 2)
#endif
/* Headers older than the kernel have the request without its write-protect mode, or not at all. */
struct continue_request {
  struct uffdio_range range;
  __u64 mode;
  __s64 mapped;
};
#define CONTINUE_REQUEST 0xc020aa07
#define CONTINUE_WP 2
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096ul
#define GROUP (64ul << 10)
#define PIECE (256ul << 10)
#define BLOCK (2ul << 20)

enum mode { ZERO, ZERO_READ, MINOR, FILE_READ, GROUPS, BLOCKS, DEVICE_ZERO, DEVICE_COPY };
static const char *names[] = {"zero", "zero-read", "minor", "file", "group", "block", "device-zero", "device-copy"};

static enum mode mode;
static size_t count, bytes;
static long spin_ns;
static int faulting_cpu, handler_cpu, source_fd = -1;
static char *base, *alias, *far, *far_alias, *zeros;
static int faults, far_faults, stop_fd;

static void fail(const char *what) {
  perror(what);
  exit(2);
}

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void pin(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

static int memory_file(void) {
  int fd = syscall(SYS_memfd_create, "reference", 1);
  if (fd < 0 || ftruncate(fd, bytes)) fail("memfd_create");
  return fd;
}

static char *map(int fd) {
  char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (p == MAP_FAILED) fail("mmap");
  madvise(p, bytes, MADV_NOHUGEPAGE);
  return p;
}

static int open_faults(char *at) {
  int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail("userfaultfd");
  struct uffdio_api api = {.api = UFFD_API,
                           .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MISSING_SHMEM |
                                       UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
                                       UFFD_FEATURE_THREAD_ID};
  if (ioctl(fd, UFFDIO_API, &api)) fail("UFFDIO_API");
  struct uffdio_register reg = {.range = {(uintptr_t)at, bytes},
                                .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP |
                                        UFFDIO_REGISTER_MODE_MINOR};
  if (ioctl(fd, UFFDIO_REGISTER, &reg)) fail("UFFDIO_REGISTER");
  return fd;
}

static void publish(char *at, size_t length, int read_only) {
  struct continue_request request = {{(uintptr_t)at, length}, read_only ? CONTINUE_WP : 0, 0};
  if (ioctl(faults, CONTINUE_REQUEST, &request) && errno != EEXIST) fail("UFFDIO_CONTINUE");
}

static void copy_in(char *at, char *source, int read_only) {
  struct uffdio_copy request = {
      .dst = (uintptr_t)at, .src = (uintptr_t)source, .len = PAGE, .mode = read_only ? UFFDIO_COPY_MODE_WP : 0};
  if (ioctl(faults, UFFDIO_COPY, &request) && errno != EEXIST) fail("UFFDIO_COPY");
}

static void protect(int fd, char *at, size_t length) {
  struct uffdio_writeprotect request = {.range = {(uintptr_t)at, length}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
  if (ioctl(fd, UFFDIO_WRITEPROTECT, &request)) fail("UFFDIO_WRITEPROTECT");
}

static unsigned char *done; /* One flag a group of 64 KiB. */
static size_t pending, pending_end; /* Pieces of a block that nobody waits for yet. */

static void bring(size_t offset, size_t length) {
  memcpy(alias + offset, far_alias + offset, length);
  publish(base + offset, length, 1);
}

static void serve(size_t offset) {
  switch (mode) {
    case ZERO:
    case DEVICE_ZERO: {
      struct uffdio_zeropage request = {.range = {(uintptr_t)base + offset, PAGE}};
      if (ioctl(faults, UFFDIO_ZEROPAGE, &request) && errno != EEXIST) fail("UFFDIO_ZEROPAGE");
      break;
    }
    case ZERO_READ:
      copy_in(base + offset, zeros, 1);
      break;
    case MINOR:
      publish(base + offset, PAGE, 0);
      break;
    case FILE_READ: {
      struct iovec vector = {alias + offset, PAGE};
      if (preadv2(source_fd, &vector, 1, offset, RWF_NOWAIT) != (ssize_t)PAGE) fail("preadv2");
      publish(base + offset, PAGE, 1);
      break;
    }
    case DEVICE_COPY:
      /* The owner loses the right to write first, or the copy could miss a write. */
      protect(far_faults, far + offset, PAGE);
      copy_in(base + offset, far_alias + offset, 1);
      break;
    case GROUPS: {
      size_t group = offset / GROUP;
      if (done[group]) break;
      done[group] = 1;
      protect(far_faults, far + group * GROUP, GROUP);
      bring(group * GROUP, GROUP);
      break;
    }
    case BLOCKS: {
      size_t group = offset / BLOCK * (BLOCK / GROUP);
      if (done[group]) break;
      memset(done + group, 1, BLOCK / GROUP);
      protect(far_faults, far + offset / BLOCK * BLOCK, BLOCK);
      /* The touch is at the start of a block; what follows comes by pieces, with a look at the faults in between. */
      bring(offset / BLOCK * BLOCK, PIECE);
      pending = offset / BLOCK * BLOCK + PIECE;
      pending_end = offset / BLOCK * BLOCK + BLOCK;
      break;
    }
  }
}

static int look(void) {
  struct uffd_msg messages[64];
  ssize_t got = read(faults, messages, sizeof messages);
  if (got < 0) return 0;
  for (size_t i = 0; i < got / sizeof messages[0]; i++) {
    if (messages[i].event != UFFD_EVENT_PAGEFAULT) continue;
    serve((messages[i].arg.pagefault.address - (uintptr_t)base) & ~(PAGE - 1));
  }
  return got > 0;
}

static int step(void) {
  if (pending == pending_end) return 0;
  bring(pending, PIECE);
  pending += PIECE;
  return 1;
}

static void *handle(void *unused) {
  pin(handler_cpu);
  struct pollfd fds[2] = {{.fd = stop_fd, .events = POLLIN}, {.fd = faults, .events = POLLIN}};
  for (;;) {
    while (look() | step()) continue;
    if (spin_ns > 0) {
      long end = now() + spin_ns;
      int found = 0;
      do found = look();
      while (!found && now() < end);
      if (found) continue;
    }
    poll(fds, 2, -1);
    if (fds[0].revents) return unused;
  }
}

static uint32_t expected(size_t page) { return mode == ZERO || mode == ZERO_READ || mode == DEVICE_ZERO ? 0 : page + 1; }

/* Touches everything once; returns the nanoseconds, and exits when a page has not what it should. */
static long touch(void) {
  size_t pages = bytes / PAGE, wrong = 0;
  volatile uint32_t *words = (volatile uint32_t *)base;
  long start = now();
  if (mode == ZERO || mode == DEVICE_ZERO) {
    for (size_t page = 0; page < pages; page++) words[page * (PAGE / 4) + 1] = page + 1;
  } else if (mode == GROUPS) {
    size_t blocks = bytes / BLOCK;
    for (size_t group = 0; group < BLOCK / GROUP; group++)
      for (size_t block = 0; block < blocks; block++) {
        size_t page = (block * BLOCK + group * GROUP) / PAGE;
        wrong += words[page * (PAGE / 4)] != expected(page);
      }
  } else {
    for (size_t page = 0; page < pages; page++) wrong += words[page * (PAGE / 4)] != expected(page);
  }
  long elapsed = now() - start;
  for (size_t page = 0; page < pages; page++) {
    wrong += words[page * (PAGE / 4)] != expected(page);
    if (mode == ZERO || mode == DEVICE_ZERO) wrong += words[page * (PAGE / 4) + 1] != page + 1;
  }
  if (wrong > 0) {
    fprintf(stderr, "%zu pages are wrong\n", wrong);
    exit(1);
  }
  return elapsed;
}

static void number_pages(char *at) {
  for (size_t page = 0; page < bytes / PAGE; page++) *(uint32_t *)(at + page * PAGE) = page + 1;
}

static void send_fd(int socket, int fd) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec vector = {&byte, 1};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(socket, &message, 0) < 0) fail("sendmsg");
}

static int receive_fd(int socket) {
  char byte, control[CMSG_SPACE(sizeof(int))];
  struct iovec vector = {&byte, 1};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(socket, &message, 0) <= 0 || CMSG_FIRSTHDR(&message) == NULL) fail("recvmsg");
  int fd;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: faults MODE COUNT SPIN_NS FAULTING_CPU HANDLER_CPU [FILE]\n");
    return 2;
  }
  int found = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(argv[1], names[i]) == 0) mode = i, found = 1;
  if (!found) return 2;
  count = atol(argv[2]);
  spin_ns = atol(argv[3]);
  faulting_cpu = atoi(argv[4]);
  handler_cpu = atoi(argv[5]);
  bytes = count * (mode == GROUPS || mode == BLOCKS ? BLOCK : PAGE);
  if (mode == FILE_READ && (argc < 7 || (source_fd = open(argv[6], O_RDONLY)) < 0)) fail("open");

  /* On a virtual machine the first touch of memory that the host has not given yet costs more than any fault. */
  char *warm = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(warm, 2 * bytes, MADV_NOHUGEPAGE);
  madvise(warm, 2 * bytes, MADV_POPULATE_WRITE);
  munmap(warm, 2 * bytes);

  zeros = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  done = calloc(bytes / GROUP + BLOCK / GROUP, 1);
  stop_fd = eventfd(0, EFD_NONBLOCK);
  int memory = memory_file();
  base = map(memory);
  alias = map(memory);
  int device = mode == DEVICE_ZERO || mode == DEVICE_COPY;
  if (mode == GROUPS || mode == BLOCKS || mode == DEVICE_COPY) {
    int other = memory_file();
    far = map(other);
    far_alias = map(other);
    number_pages(far);
    far_faults = open_faults(far);
  }
  if (mode == MINOR) number_pages(alias);
  /* What comes home comes into memory that is kept there. */
  if (mode == GROUPS || mode == BLOCKS) madvise(alias, bytes, MADV_POPULATE_WRITE);

  if (!device) {
    faults = open_faults(base);
    pthread_t handler;
    if (pthread_create(&handler, NULL, handle, NULL)) fail("pthread_create");
    pin(faulting_cpu);
    usleep(1000);
    printf("%ld\n", touch());
    eventfd_write(stop_fd, 1);
    pthread_join(handler, NULL);
    return 0;
  }
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets)) fail("socketpair");
  pid_t child = fork();
  if (child == 0) {
    pin(faulting_cpu);
    int own = open_faults(base);
    send_fd(sockets[1], own);
    char go;
    if (read(sockets[1], &go, 1) != 1) return 2;
    usleep(1000);
    long elapsed = touch();
    if (write(sockets[1], &elapsed, sizeof elapsed) != sizeof elapsed) return 2;
    return 0;
  }
  faults = receive_fd(sockets[0]);
  pthread_t handler;
  if (pthread_create(&handler, NULL, handle, NULL)) fail("pthread_create");
  if (write(sockets[0], "", 1) != 1) fail("write");
  long elapsed = -1;
  if (read(sockets[0], &elapsed, sizeof elapsed) != sizeof elapsed) elapsed = -1;
  eventfd_write(stop_fd, 1);
  pthread_join(handler, NULL);
  int status = 0;
  waitpid(child, &status, 0);
  if (elapsed < 0 || status != 0) return 1;
  printf("%ld\n", elapsed);
  return 0;
}
