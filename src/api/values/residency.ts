/** Where the pages of an array are, as a user reads it. */
import { PAGE_BYTES, PageState } from '../../core/basics/types.js';
import type { PageReport } from '../../pager/protocol/pages.js';

/** Neighbouring elements whose pages are in the same state. */
export interface ResidencyRun {
  readonly begin: number;
  readonly end: number;
  /**
   * `resident`: `nodes` have the content. `zero`: it reads 0, without memory. `file`, `provider`,
   * `clone`: it will come from there. `shared`: other machines or the server have it. `lost`:
   * nobody has it. `freed`: it was given back.
   */
  readonly state: 'resident' | 'zero' | 'file' | 'provider' | 'clone' | 'shared' | 'lost' | 'freed';
  readonly nodes: readonly string[];
  /** What any processor may do at most. */
  readonly rights: 'none' | 'read' | 'readwrite';
  /** Whether it stays in host memory until it is unpinned. */
  readonly pinned: boolean;
  /** What each processor may do without a fault; others are left out. */
  readonly access: Readonly<Record<string, 'read' | 'write'>>;
}

/** Where the pages of an array are. */
export interface Residency {
  readonly runs: readonly ResidencyRun[];
  /** Bytes on each node; a page with two copies counts for both. */
  readonly bytes: Readonly<Record<string, number>>;
  /** Whether a launch that wrote the array ended early. */
  readonly indeterminate: boolean;
}

/** Names of processors and of nodes, by their numbers. */
export interface PlaceNames {
  readonly processors: readonly (string | undefined)[];
  readonly nodes: readonly (string | undefined)[];
}

export function reportResidency(
  report: PageReport,
  nodeNames: PlaceNames['nodes'],
  begin: number,
  end: number,
  elementBytes: number,
  indeterminate: boolean,
): Residency {
  const runs: ResidencyRun[] = [];
  const bytes: Record<string, number> = {};
  const firstPage = Math.floor((begin * elementBytes) / PAGE_BYTES);
  const elementsPerPage = PAGE_BYTES / elementBytes;
  for (let page = 0; page < report.nodes.length; ) {
    let next = page + 1;
    while (next < report.nodes.length && same(report, page, next)) next++;
    const nodes = namesOf(report.nodes[page], nodeNames);
    for (const node of nodes) bytes[node] = (bytes[node] ?? 0) + (next - page) * PAGE_BYTES;
    runs.push({
      begin: Math.max(begin, (firstPage + page) * elementsPerPage),
      end: Math.min(end, (firstPage + next) * elementsPerPage),
      state: stateOf(report, page),
      nodes,
      rights: rightsOf(report.flags[page]),
      pinned: (report.flags[page] & PageState.Pinned) !== 0,
      access: accessOf(report.access[page], report.processors),
    });
    page = next;
  }
  return { runs, bytes, indeterminate };
}

export function reportPage(
  report: PageReport,
  nodeNames: PlaceNames['nodes'],
): Pick<ResidencyRun, 'state' | 'nodes' | 'access'> & { pinned: boolean } {
  return {
    state: stateOf(report, 0),
    nodes: namesOf(report.nodes[0], nodeNames),
    access: accessOf(report.access[0], report.processors),
    pinned: (report.flags[0] & PageState.Pinned) !== 0,
  };
}

function same(report: PageReport, a: number, b: number): boolean {
  return (
    report.nodes[a] === report.nodes[b] &&
    report.access[a] === report.access[b] &&
    report.flags[a] === report.flags[b]
  );
}

function stateOf(
  { nodes, flags: all, providedBy }: PageReport,
  page: number,
): ResidencyRun['state'] {
  const flags = all[page];
  if ((flags & PageState.Freed) !== 0) return 'freed';
  if ((flags & PageState.Lost) !== 0) return 'lost';
  if (nodes[page] !== 0) return 'resident';
  return (flags & PageState.Provided) === 0 ? 'zero' : providedBy;
}

function rightsOf(flags: number): ResidencyRun['rights'] {
  if ((flags & PageState.NoAccess) !== 0) return 'none';
  return (flags & PageState.ReadOnly) !== 0 ? 'read' : 'readwrite';
}

/** Nodes, or processors, whose bits are set. */
export function namesOf(bits: number, names: readonly (string | undefined)[]): string[] {
  const result: string[] = [];
  for (let node = 0; node < 32; node++) {
    if (((bits >>> node) & 1) !== 0) result.push(names[node] ?? `node ${node}`);
  }
  return result;
}

function accessOf(
  bits: number,
  names: readonly (string | undefined)[],
): Record<string, 'read' | 'write'> {
  const result: Record<string, 'read' | 'write'> = {};
  for (let processor = 0; processor < 16; processor++) {
    const right = (bits >>> (processor * 2)) & 3;
    if (right !== 0)
      result[names[processor] ?? `processor ${processor}`] = right === 2 ? 'write' : 'read';
  }
  return result;
}
