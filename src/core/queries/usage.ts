/**
 * What has been written and used. The hardware says neither: pages are dirty when a processor was
 * given the right to write them, and blocks are young when a processor faulted on them, or launched
 * a kernel over them, since that was last asked.
 */
import { createMask, next, nextAbsent, WORDS } from '../basics/mask.js';
import { NO_PROCESSOR, type NodeId, PAGES_PER_BLOCK, type ProcessorId } from '../basics/types.js';
import type { Range } from '../table/range.js';
import type { State } from '../table/state.js';

/** Neighbouring pages, and the processors that used them, a bit each. */
export interface UsedPages {
  readonly first: number;
  readonly count: number;
  readonly processors: number;
}

/** Runs of pages in [first, end) that may differ from what their provider, or zero, would give. */
export function dirtyRuns(
  state: State,
  first: number,
  end: number,
): { first: number; count: number }[] {
  const runs: { first: number; count: number }[] = [];
  const dirty = createMask();
  for (let page = first; page < end; ) {
    const index = Math.floor(page / PAGES_PER_BLOCK);
    const base = index * PAGES_PER_BLOCK;
    const limit = Math.min(end - base, PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    if (block !== undefined) {
      for (let word = 0; word < WORDS; word++) {
        const emptied = block.range.provided ? block.blank[word] : 0;
        const changed = block.dirty[word] | emptied;
        dirty[word] = changed & block.inside[word] & ~block.freed[word] & ~block.lost[word];
      }
      for (let from = next(dirty, page - base); from < limit; ) {
        const to = Math.min(nextAbsent(dirty, from), limit);
        const before = runs.at(-1);
        if (before !== undefined && before.first + before.count === base + from)
          before.count += to - from;
        else runs.push({ first: base + from, count: to - from });
        from = next(dirty, to);
      }
    }
    page = base + PAGES_PER_BLOCK;
  }
  return runs;
}

/** A launch uses these pages. Kept by range, so that large untouched arrays cost nothing. */
export function noteUse(
  state: State,
  processor: ProcessorId,
  args: readonly { readonly first: number; readonly count: number }[],
): void {
  for (const { first, count } of args) {
    const range = state.va.rangeOfPage(first);
    if (range === undefined || count === 0) continue;
    const from = first - range.first;
    const begin = from - (from % PAGES_PER_BLOCK);
    const end = Math.ceil((from + count) / PAGES_PER_BLOCK) * PAGES_PER_BLOCK;
    change(range, begin, end, (users) => users | (1 << processor));
  }
}

/**
 * An argument that is wholly on the node, and takes no more than half of it, is used as a whole by
 * the launch that begins, though no fault tells so: without this a table that every launch reads
 * would age as if it were not read. Of larger arguments, or those of which only a part is there,
 * faults tell which part is needed.
 * @param held the processor has no faults, and needs all of the arguments at once: what is there is
 * not to go for what is not
 */
export function noteArguments(
  state: State,
  id: NodeId,
  args: readonly { readonly first: number; readonly count: number }[],
  held: boolean,
): void {
  const node = state.nodes[id];
  for (const { first, count } of args) {
    if (node === undefined || count === 0 || (count > node.budgetPages / 2 && !held)) continue;
    const begin = Math.floor(first / PAGES_PER_BLOCK);
    const end = Math.ceil((first + count) / PAGES_PER_BLOCK);
    const there: number[] = [];
    for (let index = begin; index < end; index++)
      if ((state.va.blocks.get(index)?.residences[id]?.backedCount ?? 0) > 0) there.push(index);
    if (held || there.length === end - begin) for (const index of there) node.eviction.used(index);
  }
}

/** The number belongs to no processor any more, and may be given to another one. */
export function forgetUser(state: State, processor: ProcessorId): void {
  for (const block of state.va.blocks.values()) {
    block.young &= ~(1 << processor);
    if (block.turnOf === processor) block.turnOf = NO_PROCESSOR;
  }
  for (const range of state.va.allRanges()) {
    change(range, 0, range.reserved, (users) => users & ~(1 << processor));
    delete range.memories[processor];
  }
}

/** Runs of whole blocks, cut at the range's end, that were used and hold some of these pages. */
export function youngRuns(state: State, first: number, count: number): UsedPages[] {
  const runs: { first: number; count: number; processors: number }[] = [];
  const range = state.va.rangeOfPage(first);
  if (range === undefined || count === 0) return runs;
  const last = Math.floor((first + count - 1) / PAGES_PER_BLOCK);
  for (let index = Math.floor(first / PAGES_PER_BLOCK); index <= last; index++) {
    const base = index * PAGES_PER_BLOCK;
    const block = state.va.blocks.get(index);
    const processors = range.users.at(base - range.first) | (block?.young ?? 0);
    const pages = Math.min(PAGES_PER_BLOCK, range.first + range.pages - base);
    if (processors === 0 || pages <= 0) continue;
    const before = runs.at(-1);
    if (
      before !== undefined &&
      before.first + before.count === base &&
      before.processors === processors
    ) {
      before.count += pages;
    } else runs.push({ first: base, count: pages, processors });
  }
  return runs;
}

/** The blocks that hold some of these pages count as old from now on. */
export function forgetUse(state: State, first: number, count: number): void {
  const range = state.va.rangeOfPage(first);
  if (range === undefined || count === 0) return;
  const begin = Math.floor(first / PAGES_PER_BLOCK);
  const end = Math.ceil((first + count) / PAGES_PER_BLOCK);
  for (let index = begin; index < end; index++) {
    const block = state.va.blocks.get(index);
    if (block !== undefined) block.young = 0;
  }
  range.users.set(begin * PAGES_PER_BLOCK - range.first, end * PAGES_PER_BLOCK - range.first, 0);
}

function change(range: Range, begin: number, end: number, to: (users: number) => number): void {
  const changes: [number, number, number][] = [];
  range.users.each(begin, end, (from, until, users) => {
    if (to(users) !== users) changes.push([from, until, to(users)]);
  });
  for (const [from, until, users] of changes) range.users.set(from, until, users);
}
