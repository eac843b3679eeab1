/**
 * A process that opens a space on which sequences of another process are played, and ends with it.
 * Its argument is how many bytes of addresses the space leaves free: each space that the other
 * process attaches lies behind the last one.
 */

import { openSpace } from '../../src/index.js';
import {
  MAP_ANONYMOUS,
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_PRIVATE,
  PROT_NONE,
} from '../../src/linux/base/constants.js';
import { mmap } from '../../src/linux/memory/memory.js';
import { FIRST_ADDRESS, GUEST_ADDRESSES } from './guests.js';

process.on('disconnect', () => process.exit());
mmap(Number(process.argv[2]), {
  protection: PROT_NONE,
  address: FIRST_ADDRESS,
  flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
});
const space = await openSpace({
  addressSpace: GUEST_ADDRESSES,
  hostMemory: '64MiB',
  devices: [
    { kind: 'process', memory: '8MiB', units: 2 },
    { kind: 'simulated', memory: '8MiB' },
  ],
});
process.send?.(space.share());
