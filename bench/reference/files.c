/*
 * The reference of the file benches: a file that the kernel has in memory, read by a mapping, or by read() of 1 MiB.
 *
 *   files MODE PATH COUNT CPU
 *
 * MODE: scan-map, scan-read (a word of each cache line, in order), random (COUNT pages of 4 KiB, a word of each). Word i of the file is i.
 * Prints the nanoseconds that it took, and exits with 1 if a word was wrong. A CPU of -1 leaves the choice to the kernel.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_WORDS 16ul
#define PAGE_WORDS 1024ul
#define BUFFER (1ul << 20)

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t sum_lines(const uint32_t *words, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t at = 0; at < count; at += LINE_WORDS) sum += words[at];
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const char *mode = argv[1];
  uint64_t count = strtoull(argv[3], NULL, 10);
  int cpu = atoi(argv[4]);
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
  }
  int fd = open(argv[2], O_RDONLY);
  struct stat status;
  if (fd < 0 || fstat(fd, &status)) fail(argv[2]);
  uint64_t words = (uint64_t)status.st_size / 4;
  uint64_t sum = 0, expected = 0, start, end;
  if (strcmp(mode, "scan-read") == 0) {
    uint32_t *buffer = aligned_alloc(4096, BUFFER);
    memset(buffer, 0, BUFFER);
    start = now();
    for (ssize_t got; (got = read(fd, buffer, BUFFER)) != 0;) {
      if (got < 0) fail("read");
      sum += sum_lines(buffer, (uint64_t)got / 4);
    }
    end = now();
  } else {
    int random = strcmp(mode, "random") == 0;
    start = now();
    uint32_t *map = mmap(NULL, words * 4, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) fail("mmap");
    if (madvise(map, words * 4, random ? MADV_RANDOM : MADV_SEQUENTIAL)) fail("madvise");
    uint32_t state = 1;
    uint64_t pages = words / PAGE_WORDS;
    if (!random) sum = sum_lines(map, words);
    else
      for (uint64_t k = 0; k < count; k++) {
        state = state * 1664525u + 1013904223u;
        uint64_t page = ((uint64_t)state * pages) >> 32;
        sum += map[page * PAGE_WORDS] != page * PAGE_WORDS;
      }
    end = now();
    if (random) expected = 0;
  }
  if (strcmp(mode, "random") != 0)
    for (uint64_t at = 0; at < words; at += LINE_WORDS) expected += at;
  if (sum != expected) return 1;
  printf("%llu\n", (unsigned long long)(end - start));
  return 0;
}
