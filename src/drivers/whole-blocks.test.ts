import { closeSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../core/basics/types.js';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../linux/base/constants.js';
import { createBlockFile, offersFolios } from '../linux/files/block-file.js';
import {
  allocatedBytes,
  createMemoryFile,
  mmap,
  munmap,
  punchHole,
} from '../linux/memory/memory.js';
import { WholeBlocks } from './whole-blocks.js';

const BYTES = 64 * PAGES_PER_BLOCK * PAGE_BYTES;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function createBlocks(fd: number, shift = 0): WholeBlocks {
  const address = mmap(BYTES, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd });
  cleanups.push(() => {
    munmap(address, BYTES);
    closeSync(fd);
  });
  return new WholeBlocks(fd, address + shift);
}

describe.runIf(offersFolios())('whole blocks', () => {
  it('know which pages have memory with their block, until one is given back', () => {
    const fd = createBlockFile('test', BYTES);
    const blocks = createBlocks(fd);
    blocks.take(PAGES_PER_BLOCK);
    expect([blocks.has(PAGES_PER_BLOCK - 1), blocks.has(PAGES_PER_BLOCK + 7)]).toEqual([
      false,
      true,
    ]);
    expect(allocatedBytes(fd)).toBe(PAGES_PER_BLOCK * PAGE_BYTES);
    punchHole(fd, (PAGES_PER_BLOCK + 7) * PAGE_BYTES, PAGE_BYTES);
    blocks.released(PAGES_PER_BLOCK + 7, 1);
    expect(blocks.has(PAGES_PER_BLOCK + 8)).toBe(false);
    expect(allocatedBytes(fd)).toBe((PAGES_PER_BLOCK - 1) * PAGE_BYTES);
    punchHole(fd, PAGES_PER_BLOCK * PAGE_BYTES, PAGES_PER_BLOCK * PAGE_BYTES);
    blocks.released(PAGES_PER_BLOCK, PAGES_PER_BLOCK);
    blocks.take(PAGES_PER_BLOCK);
    expect(blocks.has(PAGES_PER_BLOCK)).toBe(true);
  });
});

describe('where the kernel gives pages only', () => {
  it('a block takes nothing, and is tried again after a while', () => {
    const fd = createMemoryFile('test', BYTES);
    // No piece fits a mapping that begins within a block.
    const blocks = createBlocks(fd, PAGE_BYTES);
    for (let block = 0; block < 40; block++) blocks.take(block * PAGES_PER_BLOCK);
    expect(blocks.has(0)).toBe(false);
    expect(allocatedBytes(fd)).toBe(0);
  });
});
