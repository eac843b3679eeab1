/**
 * How many blocks a full node sends home before their memory is needed: enough for a disk to write
 * several at once, and a small part.
 */

const MOST_BLOCKS = 4;
const SHARE = 16;

export function keepFree(nodeBlocks: number): number {
  return Math.min(MOST_BLOCKS, Math.floor(nodeBlocks / SHARE));
}
