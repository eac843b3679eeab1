/** Blocks that a full node sends home ahead: several writes for a disk, and a small part. */

const MOST_BLOCKS = 4;
const SHARE = 16;

export function keepFree(nodeBlocks: number): number {
  return Math.min(MOST_BLOCKS, Math.floor(nodeBlocks / SHARE));
}
