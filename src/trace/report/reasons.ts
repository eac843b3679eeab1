/** Why pages came, as the policy said of each touch: how much for each reason. */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { PAGE_BYTES, type Reason } from '../../core/basics/types.js';
import type { Arrival } from '../recording/moves.js';

/** What came for one reason. */
export interface ReasonCost {
  /**
   * As the policy said; 'asked': the program asked for the pages, or a launch needs them; 'evicted':
   * they gave others their room elsewhere.
   */
  readonly reason: Reason | 'asked' | 'evicted';
  readonly bytes: number;
  /** Of these, what had been evicted before from the memory that they came to. */
  readonly bytesReturned: number;
}

export class Reasons {
  private readonly sums = new Map<string, { -readonly [K in keyof ReasonCost]: ReasonCost[K] }>();

  arrived({ reason, need, pages, returned }: Arrival): void {
    const why = reason ?? (need === 'room' ? 'evicted' : 'asked');
    const sums = getOrMake(this.sums, why, () => ({ reason: why, bytes: 0, bytesReturned: 0 }));
    sums.bytes += pages * PAGE_BYTES;
    sums.bytesReturned += returned * PAGE_BYTES;
  }

  /** Most first. */
  costs(): ReasonCost[] {
    return [...this.sums.values()].sort((a, b) => b.bytes - a.bytes);
  }
}
