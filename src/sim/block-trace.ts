/** Accesses to blocks of one size, in order, as published traces have them. */

export interface BlockTrace {
  /** The block of each access: numbers from 0, in the order in which blocks first appear. */
  readonly blocks: Int32Array;
  /** How many different blocks there are. */
  readonly distinct: number;
}

/** Gives dense numbers to any keys. */
export function blockTrace(keys: Iterable<string | number>): BlockTrace {
  const numbers = new Map<string | number, number>();
  let blocks = new Int32Array(1024);
  let length = 0;
  for (const key of keys) {
    let block = numbers.get(key);
    if (block === undefined) {
      block = numbers.size;
      numbers.set(key, block);
    }
    if (length === blocks.length) {
      const larger = new Int32Array(length * 2);
      larger.set(blocks);
      blocks = larger;
    }
    blocks[length++] = block;
  }
  return { blocks: blocks.subarray(0, length), distinct: numbers.size };
}
