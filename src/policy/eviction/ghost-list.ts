/** Blocks that have left, oldest first, as many as a bound allows. */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';

export class GhostList {
  private readonly list = new IntrusiveList();
  limit = 0;

  get size(): number {
    return this.list.size;
  }

  has(block: number): boolean {
    return this.list.has(block);
  }

  add(block: number): void {
    this.list.append(block);
    this.trim();
  }

  remove(block: number): void {
    this.list.remove(block);
  }

  /** The one that left first, or -1. */
  get oldest(): number {
    return this.list.head;
  }

  trim(): void {
    while (this.list.size > this.limit) this.list.remove(this.list.head);
  }
}
