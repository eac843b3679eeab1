/**
 * What of the host's budget is set aside. Arrays that can be written count when they are made, since a device's pages must have a place to
 * go home to: a program finds out that there is no room at `array()`, and not in the middle of a launch.
 */
import type { MemoryManager } from '../../core/memory-manager.js';
import { PAGE_BYTES } from '../../core/types.js';
import { RequestError } from '../protocol/wire.js';

export class Commitment {
  private committedPages = 0;

  constructor(private readonly manager: MemoryManager) {}

  /** Throws where so much is not left. @param what what is not possible then */
  reserve(what: string, bytes: number, pages: number): void {
    const { committedPages } = this;
    const budgetPages = this.manager.capacityPages();
    if (committedPages + pages <= budgetPages) {
      this.committedPages += pages;
      return;
    }
    const left = (budgetPages - committedPages) * PAGE_BYTES;
    throw new RequestError(
      'HOST_BUDGET',
      `${what}: it takes ${bytes} bytes, and of the host budget of ${budgetPages * PAGE_BYTES} bytes ` +
        `${left} are left; free arrays, or open the space with a larger hostMemory`,
      {
        requestedBytes: bytes,
        budgetBytes: budgetPages * PAGE_BYTES,
        committedBytes: committedPages * PAGE_BYTES,
        node: 'host',
      },
      'RangeError',
    );
  }

  unreserve(pages: number): void {
    this.committedPages -= pages;
  }
}
