/**
 * What of the host's budget is set aside. Arrays that can be written count when they are made,
 * since a device's pages must have a place to go home to: a program finds out that there is no room
 * at `array()`, and not in the middle of a launch.
 */

import { HOST, PAGE_BYTES } from '../../../core/basics/types.js';
import type { MemoryManager } from '../../../core/memory-manager.js';
import { RequestError } from '../../protocol/wire.js';

/** Of host memory in front of storage, what pins may take. */
const PINNED_SHARE = 0.75;

export class Commitment {
  private committedPages = 0;

  constructor(
    private readonly manager: MemoryManager,
    private readonly hasStorage: boolean,
  ) {}

  /** Throws where so much is not left. @param what what is not possible then */
  reserve(what: string, bytes: number, pages: number): void {
    const { committedPages } = this;
    const budgetPages = this.manager.capacityPages();
    if (committedPages + pages <= budgetPages) {
      this.committedPages += pages;
      return;
    }
    const left = (budgetPages - committedPages) * PAGE_BYTES;
    const budget = this.hasStorage ? 'budget of host memory and what is behind it' : 'host budget';
    const remedy = this.hasStorage
      ? 'storage: { path, bytes } or behind: { bytes }'
      : 'hostMemory, or with storage: { path }';
    throw new RequestError(
      'HOST_BUDGET',
      `${what}: it takes ${bytes} bytes, and of the ${budget} of ${budgetPages * PAGE_BYTES} bytes ` +
        `${left} are left; free arrays, or open the space with a larger ${remedy}`,
      {
        requestedBytes: bytes,
        budgetBytes: budgetPages * PAGE_BYTES,
        committedBytes: committedPages * PAGE_BYTES,
        node: 'host',
      },
      'RangeError',
    );
  }

  /** Throws where arrays and pins were promised more pages than these. */
  checkHost(pages: number, pinned: number): void {
    const { manager, committedPages } = this;
    const capacity = manager.capacityPages() - manager.figures(HOST).budgetPages + pages;
    const most = this.hasStorage ? Math.floor(pages * PINNED_SHARE) : pages;
    if (committedPages <= capacity && pinned <= most) return;
    const why =
      pinned > most
        ? `${pinned * PAGE_BYTES} bytes are pinned, and ${most * PAGE_BYTES} could be; unpin some`
        : `arrays that can be written take ${committedPages * PAGE_BYTES} bytes, and host memory with storage would be ` +
          `${capacity * PAGE_BYTES}; free some, or open the space with a larger storage: { path, bytes }`;
    throw new RequestError(
      'HOST_BUDGET',
      `cannot set hostMemory to ${pages * PAGE_BYTES} bytes: ${why}`,
      {
        requestedBytes: pages * PAGE_BYTES,
        committedBytes: committedPages * PAGE_BYTES,
        node: 'host',
      },
      'RangeError',
    );
  }

  /** The fewest pages that the host can have, by what has been promised to arrays and pins. */
  leastHost(pinned: number): number {
    const { manager } = this;
    const behind = manager.capacityPages() - manager.figures(HOST).budgetPages;
    return Math.max(
      this.committedPages - behind,
      Math.ceil(this.hasStorage ? pinned / PINNED_SHARE : pinned),
    );
  }

  /** Throws where pins leave too little of host memory for what moves. */
  checkPinned(what: string, pinned: number, more: number): void {
    const budgetPages = this.manager.figures(HOST).budgetPages;
    const most = Math.floor(budgetPages * PINNED_SHARE);
    if (!this.hasStorage || pinned + more <= most) return;
    throw new RequestError(
      'HOST_BUDGET',
      `${what}: of the host budget of ${budgetPages * PAGE_BYTES} bytes ${most * PAGE_BYTES} may be pinned, and ` +
        `${pinned * PAGE_BYTES} are; unpin others, or open the space with a larger hostMemory`,
      {
        requestedBytes: more * PAGE_BYTES,
        budgetBytes: most * PAGE_BYTES,
        pinnedBytes: pinned * PAGE_BYTES,
        node: 'host',
      },
      'RangeError',
    );
  }

  unreserve(pages: number): void {
    this.committedPages -= pages;
  }
}
