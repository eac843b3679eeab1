import { expect, test } from 'vitest';
import {
  MAP_ANONYMOUS,
  MAP_FIXED_NOREPLACE,
  MAP_PRIVATE,
  PROT_NONE,
} from '../../linux/base/constants.js';
import { mmap, munmap } from '../../linux/memory/memory.js';
import { basesFor, basesInUse } from './space-addresses.js';

test('a place is in use where a process has something mapped between it and the next one', () => {
  const bases = basesFor(2 ** 40);
  const [place, bytes] = [11, 4096];
  const address = bases[place] + 2 ** 39;
  mmap(bytes, {
    address,
    protection: PROT_NONE,
    flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
  });
  try {
    expect(basesInUse(bases)).toContain(place);
  } finally {
    munmap(address, bytes);
  }
});
