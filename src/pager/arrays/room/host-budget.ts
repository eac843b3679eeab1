/** What the host's memory may be: it grows at once, and shrinks as pages find a place. */

import {
  HOST,
  HOST_NODE,
  MAX_NODES,
  NO_PROCESSOR,
  PAGE_BYTES,
} from '../../../core/basics/types.js';
import type { MemoryManager } from '../../../core/memory-manager.js';
import { type WireError, wireError } from '../../protocol/wire.js';
import type { Commitment } from './commitment.js';

/** So long nothing may leave before it is given up: launches hold, and disks may be full. */
const LIMIT_MS = 5000;
/** How often it is looked whether more can leave. */
const LOOK_MS = 5;

interface Shrinking {
  readonly pages: number;
  /** What the host gets where nothing more can leave; null: what it has come down to. */
  readonly before: number | null;
  readonly done: (failure: WireError | null) => void;
  /** Pages that were too many when some left last, and when that was. */
  left: number;
  since: number;
}

export class HostBudget {
  private shrinking: Shrinking | null = null;

  constructor(
    private readonly manager: MemoryManager,
    private readonly commitment: Commitment,
    private readonly pinnedBytes: () => number,
    private readonly now: () => number,
  ) {}

  /** Throws where arrays or pins need more; `done` when the host has no more, or cannot. */
  set(bytes: number, done: (failure: WireError | null) => void): void {
    const pages = Math.floor(bytes / PAGE_BYTES);
    this.commitment.checkHost(pages, this.pinnedBytes() / PAGE_BYTES);
    this.begin(pages, this.shrinking?.before ?? this.manager.figures(HOST).budgetPages, done);
  }

  /** As `set`, but what cannot leave stays, and no more than that comes. */
  approach(bytes: number): void {
    this.begin(Math.floor(bytes / PAGE_BYTES), null, () => undefined);
  }

  /** The least that arrays and pins must be able to have. */
  get leastBytes(): number {
    return this.commitment.leastHost(this.pinnedBytes() / PAGE_BYTES) * PAGE_BYTES;
  }

  /** What it was set to, be it reached or not. */
  get bytes(): number {
    return (this.shrinking?.pages ?? this.manager.figures(HOST).budgetPages) * PAGE_BYTES;
  }

  /** Memory of this machine for devices, as far as they have not taken it yet. */
  get promisedBytes(): number {
    let pages = 0;
    for (let id = HOST_NODE + 1; id < MAX_NODES; id++) {
      const node = this.manager.node(id);
      if (node === undefined || node.state !== 'alive' || node.owner === NO_PROCESSOR) continue;
      if (!node.description.addressable) continue;
      pages += Math.max(0, node.budgetPages - node.backedPages);
    }
    return pages * PAGE_BYTES;
  }

  get backedBytes(): number {
    return this.manager.figures(HOST).backedPages * PAGE_BYTES;
  }

  look(): void {
    const { shrinking } = this;
    if (shrinking === null) return;
    const left = this.manager.setBudget(HOST_NODE, shrinking.pages);
    if (left === 0) {
      this.end(null);
      return;
    }
    const now = this.now();
    if (left < shrinking.left) {
      shrinking.left = left;
      shrinking.since = now;
    } else if (now - shrinking.since >= LIMIT_MS) {
      this.manager.setBudget(HOST_NODE, shrinking.before ?? shrinking.pages + left);
      const [wanted, more] = [shrinking.pages * PAGE_BYTES, left * PAGE_BYTES];
      const message =
        `cannot set hostMemory to ${wanted} bytes: ${more} bytes more are in use and can go nowhere just now, since launches or transfers ` +
        'hold them, or there is no room in storage; try again when these have ended, or free arrays';
      this.end(
        wireError('HOST_BUDGET', message, {
          requestedBytes: wanted,
          budgetBytes: wanted + more,
          node: 'host',
        }),
      );
    }
  }

  sleepMs(most: number): number {
    return this.shrinking === null ? most : Math.min(most, LOOK_MS);
  }

  private begin(
    pages: number,
    before: number | null,
    done: (failure: WireError | null) => void,
  ): void {
    this.end(wireError('HOST_BUDGET', 'another size of host memory was set meanwhile', {}));
    this.shrinking = { pages, before, done, left: Number.POSITIVE_INFINITY, since: this.now() };
    this.look();
  }

  private end(failure: WireError | null): void {
    const { shrinking } = this;
    this.shrinking = null;
    shrinking?.done(failure);
  }
}
