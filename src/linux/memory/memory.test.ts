import { closeSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import {
  EINVAL,
  ENOMEM,
  MADV_DONTNEED,
  MADV_POPULATE_WRITE,
  MAP_ANONYMOUS,
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_NONE,
  PROT_READ,
  PROT_WRITE,
} from '../base/constants.js';
import { SystemCallError } from '../base/errors.js';
import {
  allocate,
  allocatedBytes,
  copyMemory,
  createMemoryFile,
  fillMemory,
  MAX_VIEW_BYTES,
  madvise,
  mlock,
  mmap,
  mprotect,
  munlock,
  munmap,
  occupantsOf,
  PAGE_SIZE,
  parseMappings,
  punchHole,
  resizeFile,
  tryMadvise,
  view,
} from './memory.js';

const READ_WRITE = PROT_READ | PROT_WRITE;
const FAR = 0x6800_0000_0000;
const LENGTH = 8 * PAGE_SIZE;

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

function createFile(length = LENGTH): number {
  const fd = createMemoryFile('test', length);
  cleanups.push(() => closeSync(fd));
  return fd;
}

function map(length: number, options: Parameters<typeof mmap>[1]): number {
  const address = mmap(length, options);
  cleanups.push(() => munmap(address, length));
  return address;
}

describe('mappings', () => {
  it('shows one memory file at two addresses', () => {
    const fd = createFile();
    const first = new Uint8Array(
      view(map(LENGTH, { protection: READ_WRITE, flags: MAP_SHARED, fd }), LENGTH),
    );
    const second = new Uint8Array(
      view(map(LENGTH, { protection: READ_WRITE, flags: MAP_SHARED, fd }), LENGTH),
    );
    first.set([1, 2, 3], PAGE_SIZE);
    expect([...second.subarray(PAGE_SIZE, PAGE_SIZE + 3)]).toEqual([1, 2, 3]);
  });

  it('maps 16 TiB at a fixed address, and names what is in the way of a second mapping', () => {
    const length = 16 * 2 ** 40;
    const fd = createFile(length);
    const flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    expect(map(length, { address: FAR, protection: READ_WRITE, flags, fd })).toBe(FAR);
    expect(() =>
      mmap(LENGTH, { address: FAR + 2 ** 40, protection: READ_WRITE, flags, fd }),
    ).toThrowError(
      /^mmap\(address=0x69.*, length=.*\) failed: EEXIST \(.*\); in the way: \/memfd:test.* at 0x680000000000-0x780000000000 \(rw-s\)$/,
    );
    const bytes = new Uint8Array(view(FAR + 2 ** 43, LENGTH));
    bytes[0] = 1;
    expect(allocatedBytes(fd)).toBe(PAGE_SIZE);
  });

  it('gives the error number, its name and the arguments', () => {
    try {
      mmap(PAGE_SIZE, { protection: READ_WRITE, flags: MAP_SHARED, fd: -1 });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(SystemCallError);
      expect(error).toMatchObject({
        code: 'EBADF',
        call: 'mmap',
        args: { length: PAGE_SIZE, fd: -1 },
      });
    }
    expect(() => munmap(1, PAGE_SIZE)).toThrowError(
      /^munmap\(address=0x1, length=4096\) failed: EINVAL/,
    );
  });

  it('protects, and says so in the maps', () => {
    const address = map(LENGTH, { protection: READ_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS });
    mprotect(address, PAGE_SIZE, PROT_NONE);
    const [mapping] = occupantsOf(address, PAGE_SIZE);
    expect(mapping).toMatchObject({
      start: address,
      end: address + PAGE_SIZE,
      permissions: '---p',
    });
  });

  it('drops private pages by advice, and reports advice that does not apply', () => {
    const address = map(LENGTH, { protection: READ_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS });
    const bytes = new Uint8Array(view(address, LENGTH));
    bytes[0] = 1;
    madvise(address, PAGE_SIZE, MADV_DONTNEED);
    expect(bytes[0]).toBe(0);
    expect(tryMadvise(address, PAGE_SIZE, MADV_POPULATE_WRITE)).toBe(0);
    expect(tryMadvise(address, PAGE_SIZE, 9999)).toBe(EINVAL);
    expect(() => madvise(address, PAGE_SIZE, 9999)).toThrowError(
      expect.objectContaining({ code: 'EINVAL' }),
    );
  });

  it('locks and unlocks', () => {
    const address = map(LENGTH, { protection: READ_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS });
    expect(mlock(address, PAGE_SIZE)).toBe(0);
    munlock(address, PAGE_SIZE);
    expect(mlock(FAR, PAGE_SIZE)).toBe(ENOMEM);
  });
});

describe('memory files', () => {
  it('have the memory that was allocated, and lose what is punched out of every mapping', () => {
    const fd = createFile();
    const bytes = new Uint8Array(
      view(map(LENGTH, { protection: READ_WRITE, flags: MAP_SHARED, fd }), LENGTH),
    );
    expect(allocatedBytes(fd)).toBe(0);
    expect(allocate(fd, 0, 4 * PAGE_SIZE)).toBe(0);
    expect(allocatedBytes(fd)).toBe(4 * PAGE_SIZE);
    bytes.fill(1, 0, 2 * PAGE_SIZE);
    expect(punchHole(fd, 0, PAGE_SIZE)).toBe(0);
    expect(allocatedBytes(fd)).toBe(3 * PAGE_SIZE);
    expect([bytes[0], bytes[PAGE_SIZE]]).toEqual([0, 1]);
    // Reading the hole through an ordinary shared mapping has given it memory again.
    expect(allocatedBytes(fd)).toBe(4 * PAGE_SIZE);
    resizeFile(fd, 0);
    expect(allocatedBytes(fd)).toBe(0);
    expect(punchHole(fd, 0, 0)).toBe(EINVAL);
  });

  it('cannot have a size that no file has', () => {
    expect(() => createMemoryFile('test', -1)).toThrowError(
      /ftruncate\(fd=\d+, length=-1\) failed: EINVAL/,
    );
  });
});

describe('raw copies', () => {
  it('copy and fill between addresses', () => {
    const address = map(LENGTH, { protection: READ_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS });
    const bytes = new Uint8Array(view(address, LENGTH));
    fillMemory(address, 0xab, PAGE_SIZE);
    copyMemory(address + 4 * PAGE_SIZE + 1, address, 10);
    expect([...bytes.subarray(4 * PAGE_SIZE, 4 * PAGE_SIZE + 12)]).toEqual([
      0,
      ...Array(10).fill(0xab),
      0,
    ]);
  });
});

describe('views', () => {
  it('may lie over each other', () => {
    const address = map(LENGTH, { protection: READ_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS });
    const outer = new Uint8Array(view(address, LENGTH));
    const inner = new Uint8Array(view(address, PAGE_SIZE));
    inner[1] = 3;
    expect(outer[1]).toBe(3);
  });

  it('refuse a size that would end the process, with the remedy', () => {
    expect(() => view(FAR, MAX_VIEW_BYTES + 1)).toThrowError(
      expect.objectContaining({
        name: 'RangeError',
        code: 'VIEW_SIZE',
        message: expect.stringContaining('Node.js 22'),
      }),
    );
    expect(() => view(FAR, 0)).toThrowError(expect.objectContaining({ code: 'VIEW_SIZE' }));
    expect(() => view(FAR, Number.NaN)).toThrowError(
      expect.objectContaining({ code: 'VIEW_SIZE' }),
    );
  });

  it.runIf(MAX_VIEW_BYTES > 2 ** 33)('may be larger than 4 GiB where Node allows it', () => {
    const length = 2 ** 33;
    const address = map(length, {
      protection: READ_WRITE,
      flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
    });
    const bytes = new Uint8Array(view(address, length));
    bytes[length - 1] = 9;
    expect(new Uint8Array(view(address + length - 8, 8))[7]).toBe(9);
  });
});

describe('the list of mappings', () => {
  it('is read with paths that contain spaces, and without paths', () => {
    const text = [
      '600000000000-600000200000 rw-s 00000000 00:01 1025                       /memfd:a b (deleted)',
      '7ffe00000000-7ffe00001000 rw-p 00000000 00:00 0 ',
      'nonsense',
      '',
    ].join('\n');
    expect(parseMappings(text)).toEqual([
      {
        start: 0x6000_0000_0000,
        end: 0x6000_0020_0000,
        permissions: 'rw-s',
        path: '/memfd:a b (deleted)',
      },
      { start: 0x7ffe_0000_0000, end: 0x7ffe_0000_1000, permissions: 'rw-p', path: '' },
    ]);
  });
});
