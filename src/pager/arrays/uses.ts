/**
 * Which arrays were given to requests and operations of streams that have not ended: an array that
 * has gone is refused, and as long as one that is there is in use, its addresses do not become
 * another array's.
 */

import type { Answer, RequestMessage } from '../protocol/messages.js';
import type { StreamOperation } from '../protocol/operations.js';
import type { Arrays } from './arrays.js';
import type { Guards } from './modules/guards.js';
import { type Wanted, wantedBy, wantedByOperation } from './table/array-pages.js';

export class Uses {
  private readonly ranges = new WeakMap<StreamOperation, readonly number[]>();

  constructor(
    private readonly arrays: Arrays,
    private readonly guards: Guards,
  ) {}

  /** A request begins: throws where it may not have its pages; its answer ends the use. */
  request(message: RequestMessage, answer: Answer): Answer {
    const wanted = wantedBy(message);
    if (wanted === null) return answer;
    this.allow(wanted);
    const { range } = wanted.pages;
    this.arrays.countUse(range, 1);
    return (result, failure) => {
      this.arrays.countUse(range, -1);
      answer(result, failure);
    };
  }

  /** A stream gets an operation. Whether it may have its pages is asked later (`check`). */
  begin(operation: StreamOperation): void {
    const ranges = wantedByOperation(operation).map(({ pages }) => pages.range);
    if (ranges.length === 0) return;
    this.ranges.set(operation, ranges);
    for (const range of ranges) this.arrays.countUse(range, 1);
  }

  check(operation: StreamOperation): void {
    // What is freed a second time is left as it is, and the rest is told by what frees.
    if (operation.kind === 'free') return;
    for (const wanted of wantedByOperation(operation)) this.allow(wanted);
  }

  private allow(wanted: Wanted): void {
    this.arrays.checkPages(wanted);
    const { pages, verb, asked } = wanted;
    this.guards.check(pages.name, pages.range, verb, asked);
  }

  /** The operation has ended, whether it ever began or not. */
  end(operation: StreamOperation): void {
    const ranges = this.ranges.get(operation);
    if (ranges === undefined) return;
    this.ranges.delete(operation);
    for (const range of ranges) this.arrays.countUse(range, -1);
  }
}
