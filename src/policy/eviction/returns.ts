/**
 * Notices a program that goes again and again over more than there is room for: blocks come back in
 * the order in which they left. Blocks that come in parts tell nothing of that: a processor is in
 * several of them, and they go and come back while it is.
 */

/** A block comes back in order if it went at most so many blocks from the last, or fewer. */
const NEAR = 8;
const NEAR_SHARE = 4;
/** Returns in order after which it is a loop, and the most that are counted. */
const LOOP = 16;
const MOST_ORDER = 24;
/** What a block that is out of order takes off that count. */
const DOUBT = 4;
const FIRST_BLOCKS = 64;

export class Returns {
  /** By block: how many had left when it left, or was seen last; 0: never. */
  private left = new Int32Array(FIRST_BLOCKS);
  private seen = new Int32Array(FIRST_BLOCKS);
  private count = 0;
  private last = 0;
  private order = 0;
  /** How many left since the block that has come did, while blocks come back in order; or 0. */
  pass = 0;

  arrive(block: number, isWhole: boolean, hereCount: number): void {
    const near = Math.min(NEAR, Math.ceil(hereCount / NEAR_SHARE));
    this.reserve(block);
    const at = this.left[block];
    const follows = at !== 0 && Math.abs(at - this.last) <= near;
    if (at !== 0) this.last = at;
    if (!isWhole && follows) this.order = Math.max(this.order - 1, 0);
    else
      this.order = follows ? Math.min(this.order + 1, MOST_ORDER) : Math.max(this.order - DOUBT, 0);
    this.pass = follows && isWhole && this.order >= LOOP ? this.count - at + 1 : 0;
  }

  see(block: number): void {
    this.reserve(block);
    this.seen[block] = this.count;
  }

  /** How many left since the block was seen. */
  since(block: number): number {
    return this.count - this.seen[block];
  }

  leave(block: number): void {
    this.reserve(block);
    this.left[block] = ++this.count;
  }

  private reserve(block: number): void {
    if (block < this.left.length) return;
    const length = Math.max(block + 1, this.left.length * 2);
    this.left = larger(this.left, length);
    this.seen = larger(this.seen, length);
  }
}

function larger(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const result = new Int32Array(length);
  result.set(array);
  return result;
}
