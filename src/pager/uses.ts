/** Which arrays were given to operations that have not ended: their addresses must not be another array's when the turn comes. */
import { PAGE_BYTES } from '../core/types.js';
import type { StreamOperation } from './protocol.js';

export class Uses {
  private readonly ranges = new WeakMap<StreamOperation, readonly number[]>();

  constructor(
    private readonly rangeOf: (page: number) => number | null,
    /** Called with a range and whether it has one use more, or one less. */
    private readonly count: (range: number, by: number) => void,
  ) {}

  begin(operation: StreamOperation): void {
    const ranges = this.rangesOf(operation);
    if (ranges.length === 0) return;
    this.ranges.set(operation, ranges);
    for (const range of ranges) this.count(range, 1);
  }

  /** The operation has ended, whether it ever began or not. */
  end(operation: StreamOperation): void {
    const ranges = this.ranges.get(operation);
    if (ranges === undefined) return;
    this.ranges.delete(operation);
    for (const range of ranges) this.count(range, -1);
  }

  private rangesOf(operation: StreamOperation): number[] {
    if (operation.kind === 'copy') return [operation.to.range, operation.from.range];
    const pages: number[] = [];
    if (operation.kind === 'prefetch') pages.push(operation.firstPage);
    else if (operation.kind === 'launch') {
      for (const each of operation.parameters)
        if (each.kind === 'array') pages.push(Math.floor(each.offset / PAGE_BYTES));
    }
    return pages.flatMap((page) => this.rangeOf(page) ?? []);
  }
}
