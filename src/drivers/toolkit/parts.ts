/** What the parts of a driver are made with. */
import type { DriverContext } from '../driver.js';
import type { FrameStore } from './frame-store.js';
import type { PageTable } from './page-table.js';

/** What `CopyEngine` and `LaunchQueue` are made with: the context, a page table and frames. */
export interface DriverParts
  extends Pick<DriverContext, 'bytes' | 'events' | 'inject' | 'loadKernel'> {
  readonly table: PageTable;
  readonly frames: FrameStore;
  /**
   * Pages that one call of `progress()` moves; without it whole copies and launches. No fault is
   * served meanwhile. Throws INVALID_ARGUMENT for anything but a whole number from 1 on.
   */
  readonly pagesAtOnce?: number;
  /** @internal Bytes of a page: models of devices in tests have smaller ones. */
  readonly pageBytes?: number;
}

/** How many pages a part moves in a row. */
export function pagesAtOnceOf({ pagesAtOnce = Number.POSITIVE_INFINITY }: DriverParts): number {
  if (
    pagesAtOnce >= 1 &&
    (Number.isInteger(pagesAtOnce) || pagesAtOnce === Number.POSITIVE_INFINITY)
  )
    return pagesAtOnce;
  const message = `pagesAtOnce is ${pagesAtOnce}; it must be a whole number from 1 on, or be left out`;
  throw Object.assign(new RangeError(message), { code: 'INVALID_ARGUMENT' });
}
