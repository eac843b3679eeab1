/** How much arrays of some names may take together. */
import type { Quota } from '../../protocol/attaching.js';
import { RequestError } from '../../protocol/wire.js';
import type { ArrayTable } from '../table/array-table.js';

export class Quotas {
  private quotas: readonly Quota[] = [];

  constructor(private readonly table: ArrayTable) {}

  set(quotas: readonly Quota[]): void {
    this.quotas = quotas;
  }

  /** Throws where an array of this name may not have so many bytes more. */
  check(what: string, name: string, moreBytes: number): void {
    for (const quota of this.quotas) {
      if (moreBytes <= 0 || !isUnder(quota, name)) continue;
      const used = this.usedBytes(quota);
      if (used + moreBytes <= quota.bytes) continue;
      throw new RequestError(
        'QUOTA',
        `${what}: it takes ${moreBytes} bytes, and of the quota of ${quota.bytes} bytes for arrays ${quota.name} ` +
          `${Math.max(0, quota.bytes - used)} are left; free some, or raise --quota of onemem serve`,
        { requestedBytes: moreBytes, quotaBytes: quota.bytes, usedBytes: used },
        'RangeError',
      );
    }
  }

  private usedBytes(quota: Quota): number {
    let used = 0;
    for (const { range, bytes } of this.table.all)
      if (range.freedPages < range.pages && isUnder(quota, range.name)) used += bytes;
    return used;
  }
}

function isUnder(quota: Quota, name: string): boolean {
  return name === quota.name || name.startsWith(`${quota.name}/`);
}
