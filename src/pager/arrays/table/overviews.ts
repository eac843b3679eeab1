/** What a space consists of, for those who look at it from outside. */

import { isOwner, NO_PROCESSOR, PAGE_BYTES } from '../../../core/basics/types.js';
import type { PageQueries } from '../../../core/queries/page-queries.js';
import type { ProcessOverview, SpaceOverview } from '../../protocol/attaching.js';
import type { ArrayTable } from './array-table.js';

/** Who uses the space from other processes. */
interface Users {
  readonly processes: readonly ProcessOverview[];
}

export class Overviews {
  constructor(
    private readonly pages: PageQueries,
    private readonly table: ArrayTable,
    private readonly users: Users,
  ) {}

  /** @param mayKnow whether the client that asks may know of a range */
  overview(mayKnow: (range: number) => boolean): SpaceOverview {
    const { memories, byRange } = this.pages.heldPages();
    const arrays = [...this.table.all].filter(
      ({ range }) => mayKnow(range.id) && range.freedPages < range.pages,
    );
    return {
      memories: memories.map(({ owner, description, backedPages, budgetPages }) => ({
        name: description.name,
        kind: isOwner(owner) ? 'host' : owner === NO_PROCESSOR ? 'store' : 'device',
        usedBytes: backedPages * PAGE_BYTES,
        budgetBytes: budgetPages * PAGE_BYTES,
      })),
      processes: this.users.processes,
      arrays: arrays.map(({ range, bytes, elementBytes, type, process }) => {
        const held = byRange.get(range.id) ?? [];
        return {
          name: range.name,
          process,
          type: type ?? null,
          length: bytes / elementBytes,
          bytes,
          heldBytes: Object.fromEntries(
            memories.map(({ id, description }) => [description.name, (held[id] ?? 0) * PAGE_BYTES]),
          ),
        };
      }),
    };
  }
}
