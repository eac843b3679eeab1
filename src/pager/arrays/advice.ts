/** What programs say about their use of arrays, and how far it is followed. */
import type { MemoryManager } from '../../core/memory-manager.js';
import type { AdviceRun } from '../protocol/pages.js';
import type { Requests } from '../protocol/requests.js';
import type { Arrays } from './arrays.js';

export class ArrayAdvice {
  constructor(
    private readonly manager: MemoryManager,
    private readonly arrays: Arrays,
  ) {}

  advise({ range: id, firstPage, count, change }: Requests['advise']['in']): void {
    const range = this.arrays.rangeOf(id);
    this.manager.advise(range, firstPage - range.first, firstPage + count - range.first, change);
  }

  attributes({ range: id, firstPage, count }: Requests['attributes']['in']): AdviceRun[] {
    const range = this.arrays.rangeOf(id);
    const runs: AdviceRun[] = [];
    const first = firstPage - range.first;
    range.advice.each(first, first + count, (from, to, advice) => {
      const remote: AdviceRun['remote'][number][] = [];
      for (let processor = 1; advice.accessedBy >>> processor !== 0; processor++) {
        if (((advice.accessedBy >>> processor) & 1) === 0) continue;
        remote[processor] = this.manager.pages.remoteness(
          processor,
          range.first + from,
          range.first + to,
        );
      }
      runs.push({ first: from, end: to, advice, remote });
    });
    return runs;
  }
}
