/** A byte for each block number, which grows with them. Block numbers are small and dense. */
const FIRST = 64;

export class BlockTable {
  private bytes = new Uint8Array(FIRST);

  get(block: number): number {
    return block < this.bytes.length ? this.bytes[block] : 0;
  }

  set(block: number, value: number): void {
    if (block >= this.bytes.length) {
      const larger = new Uint8Array(Math.max(block + 1, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[block] = value;
  }

  /** Halves every value. */
  halve(): void {
    const { bytes } = this;
    for (let block = 0; block < bytes.length; block++) bytes[block] >>>= 1;
  }
}
