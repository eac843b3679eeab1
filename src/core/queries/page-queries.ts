/** What is known of pages. Nothing here changes anything, and nothing faults. */

import { clear, createMask, has, next, nextAbsent, size } from '../basics/mask.js';
import {
  Access,
  type DenyReason,
  PAGES_PER_BLOCK,
  PageState,
  type ProcessorId,
} from '../basics/types.js';
import { firstLost, lossOf, sourceOf } from '../table/absence.js';
import type { Node } from '../table/nodes.js';
import type { Range } from '../table/range.js';
import { isRemote, type State, usesHostMemory } from '../table/state.js';
import {
  type Block,
  changedPages,
  isAwaited,
  isInherited,
  perhapsNotZero,
} from '../table/va-block.js';
import { dirtyRuns, type UsedPages, youngRuns } from './usage.js';
import { type Whereabouts, whereaboutsOf } from './whereabouts.js';

export interface HeldPages {
  readonly memories: readonly Pick<
    Node,
    'id' | 'owner' | 'description' | 'backedPages' | 'budgetPages'
  >[];
  /** By the range's id: pages by the memory's id. */
  readonly byRange: ReadonlyMap<number, readonly number[]>;
}

export class PageQueries {
  private readonly nodes = new Uint32Array(1);
  private readonly access = new Uint32Array(1);
  private readonly flags = new Uint8Array(1);

  constructor(private readonly state: State) {}

  rangeOf(page: number): Range | undefined {
    return this.state.va.rangeOfPage(page);
  }

  /** Whether the processor may use the page now without a fault. */
  isMapped(id: ProcessorId, page: number, write: boolean): boolean {
    const mapping = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK))?.mappings[id];
    return (
      mapping !== undefined &&
      has(write ? mapping.writable : mapping.mapped, page % PAGES_PER_BLOCK)
    );
  }

  isAwaited(id: ProcessorId, page: number): boolean {
    const mapping = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK))?.mappings[id];
    return mapping !== undefined && isAwaited(mapping, page % PAGES_PER_BLOCK);
  }

  /** Whether no node has the page, so that its provider must give its content. */
  isAbsent(page: number): boolean {
    this.snapshot(page, this.nodes, this.access, this.flags);
    // Who may use it, and that it is pinned, says nothing about its content.
    const about = PageState.Freed | PageState.Lost | PageState.Dirty | PageState.Provided;
    return this.nodes[0] === 0 && (this.flags[0] & about) === PageState.Provided;
  }

  /** Whether the content is what its provider gives: not written, emptied, freed or lost. */
  isInherited(page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const range = this.state.va.rangeOfPage(page);
    if (block === undefined || range === undefined) return range?.provided === true;
    return isInherited(block, page % PAGES_PER_BLOCK);
  }

  /** The page that gave this one its content: another one's where it was cloned. */
  originOf(page: number): number {
    let origin = page;
    for (let at = page; at !== -1; at = sourceOf(this.state, at)) origin = at;
    return origin;
  }

  /** Why the content cannot be had any more; null: as far as is known it can. */
  lossOf(page: number): DenyReason | null {
    return lossOf(this.state, page);
  }

  /** Whether something is under way in the page's block. */
  isMoving(page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    return block !== undefined && block.operation !== null;
  }

  isLost(page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    return block !== undefined && has(block.lost, page % PAGES_PER_BLOCK);
  }

  /** Whether the page is known to be zero without a look at it. */
  isZero(page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const range = this.state.va.rangeOfPage(page);
    if (block === undefined) return range !== undefined && !range.provided;
    const inBlock = page % PAGES_PER_BLOCK;
    return ((perhapsNotZero(block, inBlock >>> 5) >>> (inBlock & 31)) & 1) === 0;
  }

  /** Whether the processor reaches memory in place at this page that is not its own. */
  isRemote(id: ProcessorId, page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const processor = this.state.processors[id];
    return block !== undefined && processor !== undefined && isRemote(block, processor);
  }

  /** How far the processor reaches host memory in place in pages [first, end). */
  remoteness(id: ProcessorId, first: number, end: number): 'in place' | 'partly' | 'migrates' {
    let some = false;
    let all = true;
    for (let index = Math.floor(first / PAGES_PER_BLOCK); index * PAGES_PER_BLOCK < end; index++) {
      if (this.isRemote(id, index * PAGES_PER_BLOCK)) some = true;
      else all = false;
    }
    return some ? (all ? 'in place' : 'partly') : 'migrates';
  }

  /**
   * Whether these pages may be used so, by what is known now: why not, or null.
   * @param processor NO_PROCESSOR: pages that are pinned in host memory may not be written
   */
  denial(first: number, count: number, access: Access, processor: ProcessorId): DenyReason | null {
    const { state } = this;
    const range = state.va.rangeOfPage(first);
    if (range === undefined) return 'OUTSIDE';
    let reason: DenyReason | null = null;
    range.protection.each(
      first - range.first,
      first - range.first + count,
      (_from, _to, allowed) => {
        if (allowed < Access.Read) reason = 'NO_ACCESS';
        else if (allowed < access) reason ??= 'READ_ONLY';
      },
    );
    if (reason !== null || access !== Access.Write) return reason;
    const user = state.processors[processor];
    if (user !== undefined && usesHostMemory(user)) return null;
    return this.firstPinned(first, first + count) === -1 ? null : 'PINNED';
  }

  firstFreed(first: number, end: number): number {
    return this.firstIn(first, end, (block, from) => next(block.freed, from));
  }

  /** The first page in [first, end) that has not been freed, or -1. */
  firstKept(first: number, end: number): number {
    return this.firstIn(first, end, (block, from) => nextAbsent(block.freed, from), true);
  }

  firstPinned(first: number, end: number): number {
    return this.firstIn(first, end, (block, from) => next(block.pinned, from));
  }

  /**
   * The first page in [first, end), which are one range's, that is denied for this reason, if that
   * can be told by its state; or -1.
   */
  firstDenied(reason: DenyReason, first: number, end: number): number {
    switch (reason) {
      case 'FREED':
        return this.firstFreed(first, end);
      case 'PINNED':
        return this.firstPinned(first, end);
      case 'NO_ACCESS':
        return this.firstOfRight(Access.None, first, end);
      case 'READ_ONLY':
        return this.firstOfRight(Access.Read, first, end);
      default:
        return -1;
    }
  }

  /** The first page that may be used for no more than that. */
  private firstOfRight(most: Access, first: number, end: number): number {
    const range = this.state.va.rangeOfPage(first);
    let found = -1;
    range?.protection.each(first - range.first, end - range.first, (from, _to, allowed) => {
      if (found === -1 && allowed <= most) found = range.first + from;
    });
    return found;
  }

  /** The first page from a place on that `find` finds. `absent`: whether untouched pages are. */
  private firstIn(
    first: number,
    end: number,
    find: (block: Block, from: number) => number,
    absent = false,
  ): number {
    for (let page = first; page < end; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const base = index * PAGES_PER_BLOCK;
      const block = this.state.va.blocks.get(index);
      if (block === undefined && absent) return page;
      const found = block === undefined ? PAGES_PER_BLOCK : find(block, page - base);
      if (found < PAGES_PER_BLOCK) return base + found < end ? base + found : -1;
      page = base + PAGES_PER_BLOCK;
    }
    return -1;
  }

  /**
   * The first run of pages in [first, end) that differ from what their provider would give, of at
   * most `longest` pages. Lost pages do not count, since no node has them. Null: there is none.
   */
  changedRun(first: number, end: number, longest: number): { first: number; count: number } | null {
    const { blocks } = this.state.va;
    const changed = createMask();
    const all = createMask().fill(-1);
    let begin = -1;
    for (let page = first; page < end; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const base = index * PAGES_PER_BLOCK;
      const block = blocks.get(index);
      if (block === undefined) clear(changed);
      else changedPages(block, all, changed);
      if (begin === -1) {
        const found = base + next(changed, page - base);
        if (found < Math.min(base + PAGES_PER_BLOCK, end)) begin = found;
        page = found;
        if (begin === -1) continue;
      }
      const limit = Math.min(begin + longest, end);
      const after = Math.min(base + nextAbsent(changed, page - base), limit);
      if (after < base + PAGES_PER_BLOCK || after === limit)
        return { first: begin, count: after - begin };
      page = after;
    }
    return begin === -1 ? null : { first: begin, count: end - begin };
  }

  /** The first page in [first, end) whose content cannot be had any more, or -1. */
  firstLost(first: number, end: number): number {
    return firstLost(this.state, first, end);
  }

  /**
   * Reports page states without faulting: for each page `nodes` gets a bit for each node that has
   * its content, `access` two bits for each processor's right, `flags` bits of PageState. Lengths
   * are the number of pages.
   */
  snapshot(first: number, nodes: Uint32Array, access: Uint32Array, flags: Uint8Array): void {
    const { state } = this;
    for (let at = 0; at < nodes.length; at++) {
      const page = first + at;
      nodes[at] = access[at] = flags[at] = 0;
      const block = state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
      const range = state.va.rangeOfPage(page);
      if (range !== undefined) {
        const right = range.protection.at(page - range.first);
        if (right === Access.None) flags[at] = PageState.NoAccess | PageState.ReadOnly;
        else if (right === Access.Read) flags[at] = PageState.ReadOnly;
      }
      if (range?.derived === true && lossOf(state, page) !== null) flags[at] |= PageState.Lost;
      if (block === undefined) {
        if (range?.provided === true) flags[at] |= PageState.Provided;
        continue;
      }
      const inBlock = page % PAGES_PER_BLOCK;
      let resident = 0;
      for (let node = 0; node < block.residences.length; node++) {
        const residence = block.residences[node];
        if (residence !== undefined && has(residence.resident, inBlock)) resident |= 1 << node;
      }
      let rights = 0;
      for (let id = 0; id < block.mappings.length; id++) {
        const mapping = block.mappings[id];
        if (mapping === undefined) continue;
        if (has(mapping.writable, inBlock)) rights |= Access.Write << (id * 2);
        else if (has(mapping.mapped, inBlock)) rights |= Access.Read << (id * 2);
      }
      nodes[at] = resident;
      access[at] = rights;
      if (has(block.freed, inBlock)) flags[at] |= PageState.Freed;
      if (has(block.lost, inBlock)) flags[at] |= PageState.Lost;
      if (has(block.dirty, inBlock)) flags[at] |= PageState.Dirty;
      if (has(block.pinned, inBlock)) flags[at] |= PageState.Pinned;
      if (block.range.provided && !has(block.blank, inBlock)) flags[at] |= PageState.Provided;
    }
  }

  /** Runs of pages that may differ from what their provider, or zero, would give; no lost ones. */
  dirty(first: number, count: number): { first: number; count: number }[] {
    return dirtyRuns(this.state, first, first + count);
  }

  /** Blocks that hold these pages and were used since `forgetUse`, and by whom. */
  young(first: number, count: number): UsedPages[] {
    return youngRuns(this.state, first, count);
  }

  /** Names of processors, also of those that have ended, by their numbers. */
  get processorNames(): (string | undefined)[] {
    return this.state.processors.map((processor) => processor?.description.name);
  }

  /** Pages that each memory holds of each range. Walks over all blocks. */
  heldPages(): HeldPages {
    const { nodes, va } = this.state;
    const byRange = new Map<number, number[]>();
    for (const { gone, range, residences } of va.blocks.values()) {
      if (gone) continue;
      const held = byRange.get(range.id) ?? nodes.map(() => 0);
      byRange.set(range.id, held);
      for (const [node, residence] of residences.entries())
        if (residence !== undefined) held[node] += size(residence.resident);
    }
    const memories = nodes.flatMap((node) => (node === undefined ? [] : [node]));
    return { memories, byRange };
  }

  /** Which memories hold which pages now, and what they are of. Walks over all blocks. */
  whereabouts(): Whereabouts {
    return whereaboutsOf(this.state);
  }
}
