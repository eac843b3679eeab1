/** What is known of pages, for programs that ask. Nothing faults, and nothing changes. */

import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { PageQueries } from '../../../core/queries/page-queries.js';
import type { Sources } from '../../core/sources.js';
import type { ArrayPages, PageReport, PointerReport } from '../../protocol/pages.js';
import type { Places } from './places.js';

export class PageReports {
  constructor(
    private readonly pages: PageQueries,
    private readonly places: Places,
    private readonly sources: Sources,
  ) {}

  residency({ firstPage, count }: Pick<ArrayPages, 'firstPage' | 'count'>): PageReport {
    const report = {
      nodes: new Uint32Array(count),
      access: new Uint32Array(count),
      flags: new Uint8Array(count),
      providedBy: this.sources.of(firstPage)?.kind ?? ('file' as const),
      processors: this.pages.processorNames,
    };
    this.pages.snapshot(firstPage, report.nodes, report.access, report.flags);
    return report;
  }

  /** What lies at a byte of the space; null where no element of an array does. */
  pointer(offset: number): PointerReport | null {
    const found = this.places.elementAt(offset);
    if (found === null) return null;
    return {
      ...found,
      page: this.residency({ firstPage: Math.floor(offset / PAGE_BYTES), count: 1 }),
    };
  }
}
