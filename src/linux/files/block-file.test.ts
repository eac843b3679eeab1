import { closeSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../base/constants.js';
import {
  allocatedBytes,
  mmap,
  munmap,
  occupantsOf,
  PAGE_SIZE,
  punchHole,
  view,
} from '../memory/memory.js';
import { createBlockFile, offersFolios, takeFolio } from './block-file.js';

const FOLIO = 2 ** 21;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

/** A file of two blocks, and where it is mapped. */
function createMapped(): { fd: number; address: number; bytes: Uint8Array } {
  const fd = createBlockFile('test', 2 * FOLIO);
  const address = mmap(2 * FOLIO, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd });
  cleanups.push(() => {
    munmap(address, 2 * FOLIO);
    closeSync(fd);
  });
  return { fd, address, bytes: new Uint8Array(view(address, 2 * FOLIO)) };
}

describe('a block file', () => {
  it('has no memory at first, and the name of a memory file', () => {
    const { fd, address, bytes } = createMapped();
    expect(allocatedBytes(fd)).toBe(0);
    bytes[PAGE_SIZE] = 1;
    expect(allocatedBytes(fd)).toBe(PAGE_SIZE);
    expect(occupantsOf(address, PAGE_SIZE)[0].path).toBe('/memfd:test (deleted)');
  });

  it('takes nothing where a page has memory, or the mapping does not fit', () => {
    const { fd, address, bytes } = createMapped();
    bytes[FOLIO + 5 * PAGE_SIZE] = 7;
    expect(takeFolio(fd, FOLIO, address + FOLIO)).toBe(false);
    expect(takeFolio(fd, 0, address + PAGE_SIZE)).toBe(false);
    expect(allocatedBytes(fd)).toBe(PAGE_SIZE);
    expect(bytes[FOLIO + 5 * PAGE_SIZE]).toBe(7);
  });

  it.runIf(offersFolios())(
    'gets a block in one piece, of zeros, and gives it back by pages or as a whole',
    () => {
      const { fd, address, bytes } = createMapped();
      expect(takeFolio(fd, FOLIO, address + FOLIO)).toBe(true);
      expect(allocatedBytes(fd)).toBe(FOLIO);
      expect(bytes.subarray(FOLIO).every((byte) => byte === 0)).toBe(true);
      bytes.fill(3, FOLIO);
      expect(punchHole(fd, FOLIO + 8 * PAGE_SIZE, PAGE_SIZE)).toBe(0);
      expect(allocatedBytes(fd)).toBe(FOLIO - PAGE_SIZE);
      expect(bytes[FOLIO + 7 * PAGE_SIZE]).toBe(3);
      expect(punchHole(fd, FOLIO, FOLIO)).toBe(0);
      expect(allocatedBytes(fd)).toBe(0);
    },
  );

  it.runIf(!offersFolios())('is left without memory where the kernel gives pages only', () => {
    const { fd, address } = createMapped();
    expect(takeFolio(fd, 0, address)).toBe(false);
    expect(allocatedBytes(fd)).toBe(0);
  });
});
