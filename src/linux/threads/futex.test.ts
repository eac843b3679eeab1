import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../base/constants.js';
import { createMemoryFile, mmap, munmap, PAGE_SIZE, view } from '../memory/memory.js';
import { futexWait, futexWake } from './futex.js';

function withSharedPage<T>(body: (address: number, words: Int32Array, fd: number) => T): T {
  const fd = createMemoryFile('test', PAGE_SIZE);
  const address = mmap(PAGE_SIZE, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd });
  try {
    return body(address, new Int32Array(view(address, PAGE_SIZE)), fd);
  } finally {
    munmap(address, PAGE_SIZE);
    closeSync(fd);
  }
}

describe('futex', () => {
  it('does not wait when the value has changed, for negative values too', () => {
    withSharedPage((address, words) => {
      words[0] = 3;
      expect(futexWait(address, 2)).toBe('changed');
      words[0] = -1;
      expect(futexWait(address, -1, 1)).toBe('timeout');
      expect(futexWait(address, 0xffff_ffff, 1)).toBe('timeout');
    });
  });

  it('gives up after the timeout', () => {
    withSharedPage((address) => {
      const start = performance.now();
      expect(futexWait(address, 0, 30.5)).toBe('timeout');
      expect(performance.now() - start).toBeGreaterThanOrEqual(30);
      expect(futexWait(address, 0, -5)).toBe('timeout');
    });
  });

  it('says when the page is not there', () => {
    const fd = createMemoryFile('test', PAGE_SIZE);
    const address = mmap(PAGE_SIZE, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd });
    munmap(address, PAGE_SIZE);
    closeSync(fd);
    expect(futexWait(address, 0, 10, 'private')).toBe('absent');
    expect(futexWait(address, 0, 10)).toBe('absent');
    // By its address alone a word can be woken without being there.
    expect(futexWake(address, 1, 'private')).toBe(0);
  });

  it('wakes nobody when nobody waits, and refuses an address that is not aligned', () => {
    withSharedPage((address) => {
      expect(futexWake(address)).toBe(0);
      expect(() => futexWait(address + 1, 0, 1)).toThrowError(/^futex\(address=0x.*EINVAL/);
    });
  });

  it('is woken by another process that has the page at another address', () => {
    withSharedPage((address, words, fd) => {
      const code = `
        const koffi = require(process.argv[1]);
        const library = koffi.load(null);
        const mmap = library.func('int64_t mmap(uint64_t a, uint64_t l, int p, int f, int fd, int64_t off)');
        const futex = library.func('int64_t syscall(int64_t n, uint64_t a, int op, uint32_t value)');
        const address = mmap(0, ${PAGE_SIZE}, 3, 1, 3, 0);
        const words = new Int32Array(koffi.view(address, 8));
        // Wakes until the other side is really asleep: nothing tells when it is.
        words[1] = 1;
        while (futex(process.arch === 'x64' ? 202 : 98, address, 1, 1) !== 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        words[0] = 5;`;
      const koffi = createRequire(import.meta.url).resolve('koffi');
      const child = spawn(process.execPath, ['-e', code, koffi], {
        stdio: ['ignore', 'inherit', 'inherit', fd],
      });
      child.unref();
      expect(futexWait(address, 0, 10_000)).toBe('woken');
      expect(words[1]).toBe(1);
    });
  });
});
