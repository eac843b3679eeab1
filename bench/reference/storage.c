/*
 * The reference of the storage benches: a file that is mapped and larger than the memory there is, used through the kernel's cache; and read
 * past it, which is what a disk gives at most.
 *
 *   storage MODE PATH BYTES COUNT
 *
 * MODE: write, scan (a word of each cache line, in order, MADV_SEQUENTIAL), iterate (scan COUNT times), random (COUNT pages of 4 KiB, a
 * word of each, uniform, MADV_RANDOM), skewed (the same by a list of pages on standard input, 32 bits each), skewed-default (the same without
 * MADV_RANDOM), direct (reads of 2 MiB past the cache). Word i of the file is i. The file's cached pages are dropped before a mode that reads. Prints the nanoseconds that it took.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE_WORDS 1024
#define LINE_WORDS 16
#define BUFFER (2u << 20)

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static uint64_t sum_lines(const uint32_t *words, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t at = 0; at < count; at += LINE_WORDS) sum += words[at];
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const char *mode = argv[1];
  uint64_t bytes = strtoull(argv[3], NULL, 10), count = strtoull(argv[4], NULL, 10);
  uint64_t words = bytes / 4, pages = words / PAGE_WORDS, lines = words / LINE_WORDS;
  uint64_t expected = LINE_WORDS * lines * (lines - 1) / 2;
  int writes = strcmp(mode, "write") == 0, direct = strcmp(mode, "direct") == 0;
  int fd = open(argv[2], O_RDWR | O_CREAT | (direct ? O_DIRECT : 0), 0600);
  if (fd < 0) fail(argv[2]);
  if (writes && ftruncate(fd, (off_t)bytes)) fail("ftruncate");
  if (!writes && (fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))) fail("dropping what is cached");
  uint32_t *list = NULL;
  int byDefault = strcmp(mode, "skewed-default") == 0;
  if (byDefault || strcmp(mode, "skewed") == 0) {
    list = malloc(count * sizeof *list);
    if (list == NULL || fread(list, sizeof *list, count, stdin) != count) fail("the list of pages");
  }
  uint64_t wrong = 0, start = now();
  if (direct) {
    uint32_t *buffer = aligned_alloc(4096, BUFFER);
    uint64_t sum = 0;
    for (ssize_t got; (got = read(fd, buffer, BUFFER)) != 0;) {
      if (got < 0) fail("read");
      sum += sum_lines(buffer, (uint64_t)got / 4);
    }
    wrong = sum != expected;
  } else {
    uint32_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) fail("mmap");
    int random = strcmp(mode, "random") == 0 || list != NULL;
    if (madvise(map, bytes, byDefault ? MADV_NORMAL : random ? MADV_RANDOM : MADV_SEQUENTIAL)) fail("madvise");
    if (writes)
      for (uint64_t at = 0; at < words; at++) map[at] = (uint32_t)at;
    else if (random) {
      uint32_t state = 1;
      for (uint64_t k = 0; k < count; k++) {
        state = state * 1664525u + 1013904223u;
        uint64_t page = list ? list[k] : ((uint64_t)state * pages) >> 32;
        wrong += map[page * PAGE_WORDS] != page * PAGE_WORDS;
      }
    } else {
      uint64_t rounds = strcmp(mode, "iterate") == 0 ? count : 1;
      for (uint64_t round = 0; round < rounds; round++) wrong += sum_lines(map, words) != expected;
    }
  }
  uint64_t end = now();
  if (wrong) return 1;
  printf("%llu\n", (unsigned long long)(end - start));
  return 0;
}
