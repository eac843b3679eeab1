/** What each handle for other processes allows. */
import { randomName } from '../../linux/base/random.js';
import type { ShareRights } from '../protocol/attaching.js';

export interface Grant {
  readonly token: string;
  readonly rights: ShareRights;
  /** Ranges; null: all that the space has, now and later. */
  readonly ranges: ReadonlySet<number> | null;
}

export class Grants {
  private readonly byToken = new Map<string, Grant>();

  /** The same wish gets the same token, so that a program may ask as often as it likes. */
  add(rights: ShareRights, ranges: readonly number[] | null): Grant {
    for (const known of this.byToken.values())
      if (known.rights === rights && same(known.ranges, ranges)) return known;
    const grant = { token: randomName(), rights, ranges: ranges === null ? null : new Set(ranges) };
    this.byToken.set(grant.token, grant);
    return grant;
  }

  get isEmpty(): boolean {
    return this.byToken.size === 0;
  }

  get(token: unknown): Grant | undefined {
    return typeof token === 'string' ? this.byToken.get(token) : undefined;
  }

  clear(): void {
    this.byToken.clear();
  }
}

function same(known: ReadonlySet<number> | null, wanted: readonly number[] | null): boolean {
  if (known === null || wanted === null) return known === wanted;
  return known.size === new Set(wanted).size && wanted.every((range) => known.has(range));
}
