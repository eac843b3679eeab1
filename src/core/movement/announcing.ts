/**
 * What the subscribers of a watched range are told of an operation: before a right or content is
 * taken from a processor, and when that is through.
 */
import { clear, endOf, next, WORDS } from '../basics/mask.js';
import { Access, type InvalidationReason, PAGES_PER_BLOCK } from '../basics/types.js';
import { granulePagesOf, granulesAround } from '../table/granules.js';
import type { State } from '../table/state.js';
import type { Block } from '../table/va-block.js';
import type { Operation } from '../table/work.js';
import { ruleOf } from './operation-rules.js';

/**
 * Tells the subscribers of a watched range what is about to be taken: a right of a processor, or
 * the content. What takes nothing is no news: setting the rights that pages have, reading what
 * others read, too, or emptying what is zero.
 */
export function announce(state: State, block: Block, operation: Operation): void {
  const rule = ruleOf(operation.kind);
  const { mark } = state.masks;
  const taken = state.masks.take();
  const { forgets } = rule;
  if (forgets === undefined) clear(taken);
  else
    for (let word = 0; word < WORDS; word++)
      taken[word] = forgets(block, word) & operation.mask[word];
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined) continue;
    const left = rule.left(operation, id, mapping.node);
    if (left === Access.Write) continue;
    const rights = left === Access.None ? mapping.mapped : mapping.writable;
    const { mark: inner } = state.masks;
    const granulePages = granulePagesOf(state, mapping.node);
    const pages =
      granulePages === 1
        ? operation.mask
        : granulesAround(state, block, operation.mask, granulePages);
    for (let word = 0; word < WORDS; word++)
      taken[word] |= rights[word] & ~mapping.standIn[word] & pages[word];
    state.masks.backTo(inner);
  }
  const first = next(taken, 0);
  if (first < PAGES_PER_BLOCK) {
    const end = endOf(taken);
    const page = block.index * PAGES_PER_BLOCK + first;
    operation.announcedPage = page;
    operation.announcedCount = end - first;
    state.commands.invalidate(page, end - first, reasonOf(operation), operation.processor);
  }
  state.masks.backTo(mark);
}

/** What was announced is through. */
export function announceEnd(state: State, operation: Operation): void {
  const { announcedPage, announcedCount } = operation;
  if (announcedCount === 0) return;
  operation.announcedCount = 0;
  state.commands.invalidated(
    announcedPage,
    announcedCount,
    reasonOf(operation),
    operation.processor,
  );
}

function reasonOf({ kind, exclusive }: Operation): InvalidationReason {
  return exclusive ? 'exclusive' : ruleOf(kind).reason;
}
