/**
 * Pages that cannot be had, and why: the one place that says it, for faults, launches, copies,
 * pins, prefetches and clones alike. What a source cannot give now may be asked for again at the
 * next access. What is lost stays so until it is overwritten.
 */

import { add, has, type Mask, next } from '../basics/mask.js';
import { type DenyReason, isLoss, NO_NODE, PAGES_PER_BLOCK, Status } from '../basics/types.js';
import { holderOf } from './contents.js';
import type { State } from './state.js';
import { type Block, isInherited, rareMask } from './va-block.js';

/** Why there is no content, when a transfer ended so. */
export function reasonOf(failure: number): DenyReason {
  switch (failure) {
    case Status.SourceChanged:
      return 'SOURCE_CHANGED';
    case Status.ProviderFailed:
      return 'PROVIDER_FAILED';
    case Status.Refused:
      return 'ACCESS_REFUSED';
    case Status.SourceLost:
      return 'LOST';
    case Status.NoMemory:
    case Status.SourceStarved:
      return 'OUT_OF_MEMORY';
    case Status.Unreachable:
      return 'NODE_LOST';
    default:
      return 'COPY_FAILED';
  }
}

/** The other way round: how filling a clone's page ends whose source cannot be had. */
export function statusOf(reason: DenyReason | null): Status {
  if (reason !== null && isLoss(reason)) return Status.SourceLost;
  switch (reason) {
    case null:
      return Status.Done;
    case 'SOURCE_CHANGED':
      return Status.SourceChanged;
    case 'PROVIDER_FAILED':
      return Status.ProviderFailed;
    case 'ACCESS_REFUSED':
      return Status.Refused;
    case 'OUT_OF_MEMORY':
    case 'OUT_OF_STORAGE':
      return Status.SourceStarved;
    case 'NODE_LOST':
      return Status.Unreachable;
    default:
      return Status.SourceFailed;
  }
}

/** Whether what cannot be had may be had later: no room, or its place does not answer. */
export function passes(reason: DenyReason): boolean {
  switch (reason) {
    case 'OUT_OF_MEMORY':
    case 'OUT_OF_STORAGE':
    case 'COPY_FAILED':
    case 'NODE_LOST':
      return true;
    default:
      return false;
  }
}

/** Whether a transfer that ended so need not be tried again. */
export function isFinal(failure: number): boolean {
  return failure >= Status.SourceChanged;
}

/** The content of these pages is lost: no node has it any more. */
export function lose(block: Block, pages: Mask, reason: DenyReason): void {
  for (let page = next(pages, 0); page < PAGES_PER_BLOCK; page = next(pages, page + 1)) {
    add(rareMask(block, 'lost'), page);
    if (reason !== 'LOST') (block.losses ??= new Map()).set(page, reason);
    else block.losses?.delete(page);
  }
}

/** Why a page of the block is lost that is. */
export function lossIn(block: Block, page: number): DenyReason {
  return block.losses?.get(page) ?? 'LOST';
}

/**
 * The page that a clone's page has its content from as long as neither was written; -1: it is no
 * page of a clone, or has a content of its own.
 */
export function sourceOf(state: State, page: number): number {
  const range = state.va.rangeOfPage(page);
  if (range?.derived !== true) return -1;
  const block = state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
  if (block !== undefined && !isInherited(block, page % PAGES_PER_BLOCK)) return -1;
  const source = range.sources.at(page - range.first);
  return source === null ? -1 : source.first + page - range.first;
}

/** Why the page's content cannot be had any more; null: as far as is known it can. */
export function lossOf(state: State, page: number): DenyReason | null {
  for (let at = page; at !== -1; at = sourceOf(state, at)) {
    const block = state.va.blocks.get(Math.floor(at / PAGES_PER_BLOCK));
    if (block === undefined) continue;
    if (has(block.lost, at % PAGES_PER_BLOCK)) return lossIn(block, at % PAGES_PER_BLOCK);
    const holder = holderOf(state, block, at % PAGES_PER_BLOCK, NO_NODE);
    if (holder !== NO_NODE && state.nodes[holder]?.gone !== true) return null;
  }
  return null;
}

/** The first page in [first, end) for which `lossOf` has a reason, or -1. */
export function firstLost(state: State, first: number, end: number): number {
  const range = first < end ? state.va.rangeOfPage(first) : undefined;
  for (let page = first; page < end; ) {
    const index = Math.floor(page / PAGES_PER_BLOCK);
    const limit = Math.min(end, (index + 1) * PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    const within = block === undefined ? PAGES_PER_BLOCK : next(block.lost, page % PAGES_PER_BLOCK);
    let found = Math.min(limit, index * PAGES_PER_BLOCK + within);
    if (range?.derived === true)
      found = Math.min(found, firstInherited(state, range.first, page, limit));
    if (found < limit) return found;
    page = limit;
  }
  return -1;
}

/** The first page of a clone in [page, limit) that is lost with its source; `limit`: none. */
function firstInherited(state: State, base: number, page: number, limit: number): number {
  let found = limit;
  state.va.rangeOfPage(base)?.sources.each(page - base, limit - base, (from, to, source) => {
    if (source === null) return;
    for (let at = from; at < to && found === limit; at++) {
      const lost = firstLost(state, source.first + at, source.first + to);
      if (lost === -1) return;
      at = lost - source.first;
      if (lossOf(state, base + at) !== null) found = base + at;
    }
  });
  return found;
}
