/** A doubly linked list of small numbers, with links in arrays: no allocation and no search. */
/** Entries that there is room for at first. */
const FIRST = 64;

export class IntrusiveList {
  private next = new Int32Array(FIRST / 2).fill(-2);
  private previous = new Int32Array(FIRST / 2).fill(-2);
  head = -1;
  tail = -1;
  size = 0;

  constructor() {
    // At once, so that no code is compiled for arrays that stay the same, to be thrown away, with
    // all of a fault, when they grow.
    this.reserve(FIRST - 1);
  }

  has(entry: number): boolean {
    return entry < this.next.length && this.next[entry] !== -2;
  }

  /** Appends the entry; one that is in the list already moves to the tail. */
  append(entry: number): void {
    this.reserve(entry);
    if (this.tail === entry) return;
    if (this.next[entry] !== -2) this.remove(entry);
    this.next[entry] = -1;
    this.previous[entry] = this.tail;
    if (this.tail === -1) this.head = entry;
    else this.next[this.tail] = entry;
    this.tail = entry;
    this.size++;
  }

  remove(entry: number): void {
    if (!this.has(entry)) return;
    const before = this.previous[entry];
    const after = this.next[entry];
    if (before === -1) this.head = after;
    else this.next[before] = after;
    if (after === -1) this.tail = before;
    else this.previous[after] = before;
    this.next[entry] = -2;
    this.previous[entry] = -2;
    this.size--;
  }

  after(entry: number): number {
    return this.next[entry];
  }

  /** The first entry for which `accepts` is true, or -1. */
  find(accepts: (entry: number) => boolean): number {
    let entry = this.head;
    while (entry !== -1 && !accepts(entry)) entry = this.next[entry];
    return entry;
  }

  private reserve(entry: number): void {
    if (entry < this.next.length) return;
    let length = this.next.length;
    while (length <= entry) length *= 2;
    this.next = grow(this.next, length);
    this.previous = grow(this.previous, length);
  }
}

function grow(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length).fill(-2);
  larger.set(array);
  return larger;
}
