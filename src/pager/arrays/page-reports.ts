/** What is known of pages, for programs that ask and for parts of the manager. Nothing faults, and nothing changes. */
import { has } from '../../core/mask.js';
import type { MemoryManager } from '../../core/memory-manager.js';
import { HOST, PAGE_BYTES, PAGES_PER_BLOCK, PageState } from '../../core/types.js';
import type { ArrayPages, PageReport, PointerReport } from '../protocol/requests.js';
import type { Arrays } from './arrays.js';

export class PageReports {
  constructor(
    private readonly manager: MemoryManager,
    private readonly arrays: () => Arrays,
    /** What gives pages their content that nobody has written. */
    private readonly providedBy: (page: number) => PageReport['providedBy'],
  ) {}

  residency({ firstPage, count }: Pick<ArrayPages, 'firstPage' | 'count'>): PageReport {
    const report = {
      nodes: new Uint32Array(count),
      access: new Uint32Array(count),
      flags: new Uint8Array(count),
      providedBy: this.providedBy(firstPage),
    };
    this.manager.pages.snapshot(firstPage, report.nodes, report.access, report.flags);
    return report;
  }

  /** What lies at a byte of the space; null where no element of an array does. */
  pointer(offset: number): PointerReport | null {
    const found = this.arrays().elementAt(offset);
    if (found === null) return null;
    return { ...found, page: this.residency({ firstPage: Math.floor(offset / PAGE_BYTES), count: 1 }) };
  }

  /** Whether nobody has the page, whose content is its provider's to give. */
  isAbsent(page: number): boolean {
    const nodes = new Uint32Array(1);
    const flags = new Uint8Array(1);
    this.manager.pages.snapshot(page, nodes, new Uint32Array(1), flags);
    return nodes[0] === 0 && (flags[0] & ~PageState.ReadOnly) === PageState.Provided;
  }

  /** Whether the host may use the page now. */
  isAllowed(page: number, write: boolean): boolean {
    const mapping = this.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK))?.mappings[HOST];
    return mapping !== undefined && has(write ? mapping.writable : mapping.mapped, page % PAGES_PER_BLOCK);
  }

  /** Whether a thread of the host waits for the page. */
  isAwaited(page: number): boolean {
    const mapping = this.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK))?.mappings[HOST];
    const inBlock = page % PAGES_PER_BLOCK;
    return mapping !== undefined && (has(mapping.waitingRead, inBlock) || has(mapping.waitingWrite, inBlock));
  }
}
