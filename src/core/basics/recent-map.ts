/** A map with a bound: beyond it the entry that was used longest ago goes. */
export class RecentMap<K, V> {
  private readonly entries = new Map<K, V>();

  /**
   * @param most entries
   * @param dropped hears of each that goes
   */
  constructor(
    private readonly most: number,
    private readonly dropped: (value: V, key: K) => void = () => undefined,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  /** Counts as use. */
  get(key: K): V | undefined {
    const found = this.entries.get(key);
    if (found !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  set(key: K, value: V): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.most) return;
    const [oldest, gone] = this.entries.entries().next().value as [K, V];
    this.entries.delete(oldest);
    this.dropped(gone, oldest);
  }

  clear(): void {
    const all = [...this.entries];
    this.entries.clear();
    for (const [key, value] of all) this.dropped(value, key);
  }
}
