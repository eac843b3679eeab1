/** What the parts of a driver are made with. */
import type { DriverContext } from '../driver.js';
import type { FrameStore } from './frame-store.js';
import type { PageTable } from './page-table.js';

/**
 * What a `CopyEngine` and a `LaunchQueue` are made with: the driver's context, its page table and its frames.
 *
 * ```ts
 * const parts = { ...context, table: new PageTable(), frames: new BufferFrames(context.budgetPages) };
 * const copies = new CopyEngine(parts);
 * const launches = new LaunchQueue(parts);
 * ```
 */
export interface DriverParts extends Pick<DriverContext, 'bytes' | 'events' | 'inject' | 'loadKernel'> {
  readonly table: PageTable;
  readonly frames: FrameStore;
  /**
   * Pages that one call of `progress()` moves; whole copies and launches if it is not given. Meanwhile no fault is served, so that
   * a store that is slow says how many take less than a few hundred microseconds. Anything but a whole number from 1 on is a RangeError
   * with the code `INVALID_ARGUMENT`.
   */
  readonly pagesAtOnce?: number;
  /** @internal Bytes of a page: models of devices in tests have smaller ones. */
  readonly pageBytes?: number;
}

/** How many pages a part moves in a row. */
export function pagesAtOnceOf({ pagesAtOnce = Number.POSITIVE_INFINITY }: DriverParts): number {
  if (pagesAtOnce >= 1 && (Number.isInteger(pagesAtOnce) || pagesAtOnce === Number.POSITIVE_INFINITY))
    return pagesAtOnce;
  const message = `pagesAtOnce is ${pagesAtOnce}; it must be a whole number from 1 on, or be left out`;
  throw Object.assign(new RangeError(message), { code: 'INVALID_ARGUMENT' });
}
