/** Where unwritten pages come from: a file, a user's module, or another range. */
import { type DenyReason, Status } from '../../core/basics/types.js';
import type { ProviderPort } from '../../drivers/router.js';

/** What fills the pages of one range. */
export interface Source {
  readonly kind: 'file' | 'provider' | 'clone' | 'shared';
  /** As ProviderPort.provide. */
  provide(token: number, page: number, count: number, target: number, urgent: boolean): Status;
  /** As ProviderPort.takeBack. */
  takeBack?(token: number, page: number, count: number, address: number): Status;
  /** As ProviderPort.contentOf. */
  contentOf?(page: number, count: number): number;
  /** Why its pages cannot be had just now. */
  readonly problem?: string;
  /** Why its pages will not be had again, as the rest of a sentence that begins with them. */
  loss?(reason: DenyReason, page: number): string | undefined;
  /** The remedy for pages whose only copy is lost, where the usual one does not help. */
  readonly remedy?: string;
  /** For programs that are told so. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** All of the range has been freed: nothing more is asked. */
  end(): void;
}

interface Entry {
  readonly first: number;
  readonly end: number;
  readonly source: Source;
}

export class Sources implements ProviderPort {
  /** In the order of their pages. */
  private readonly entries: Entry[] = [];

  add(first: number, pages: number, source: Source): void {
    this.entries.splice(this.place(first), 0, { first, end: first + pages, source });
  }

  /** What fills the page, if something does. */
  of(page: number): Source | undefined {
    const entry = this.entries[this.place(page + 1) - 1];
    return entry !== undefined && page < entry.end ? entry.source : undefined;
  }

  /** The range that begins at this page has been freed. */
  remove(first: number): void {
    const at = this.place(first);
    if (this.entries[at]?.first === first) this.entries.splice(at, 1)[0].source.end();
  }

  provide(token: number, page: number, count: number, target: number, urgent: boolean): Status {
    return this.of(page)?.provide(token, page, count, target, urgent) ?? Status.SourceChanged;
  }

  takeBack(token: number, page: number, count: number, address: number): Status {
    return this.of(page)?.takeBack?.(token, page, count, address) ?? Status.Failed;
  }

  contentOf(page: number, count: number): number {
    return this.of(page)?.contentOf?.(page, count) ?? 0;
  }

  /** The first entry that begins at the page or behind it. */
  private place(page: number): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle].first < page) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
