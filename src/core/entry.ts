/**
 * A processor comes into a block that is being brought ahead of it. The pages at which it was to fault are there before the rest: they are mapped at
 * once, so that it goes on while the rest comes, and the block after this one is brought next.
 */
import { addRun, has, next, removeRun } from './mask.js';
import { readAhead } from './read-ahead.js';
import { endAhead, mappingOf, nodeOf, residenceOf, type State } from './state.js';
import { Access, HOST, PAGES_PER_BLOCK, PAGES_PER_GROUP } from './types.js';
import { type Block, noteWaiting } from './va-block.js';

/** Maps the first group of a block that is on its way if its processor waits for it and all of it has come. */
export function enterAhead(state: State, block: Block): void {
  const { operation } = block;
  if (operation === null || !operation.entry || !operation.map || operation.phase !== 'transfer') return;
  // A thread of the host that only reads what comes would fault again for each piece of it: it is better off with all.
  if (operation.processor === HOST) return;
  const processor = state.processors[operation.processor];
  if (processor?.state !== 'alive') return;
  const { access, mask, moving } = operation;
  const mapping = mappingOf(state, block, processor.id);
  let page = next(mapping.waitingRead, 0, 1);
  if (access === Access.Write) page = Math.min(page, next(mapping.waitingWrite, 0, 1));
  if (page >= PAGES_PER_GROUP || !has(mask, page) || next(moving, 0, 1) < PAGES_PER_GROUP) return;
  operation.entry = false;
  const node = nodeOf(state, mapping.node);
  const { frames } = residenceOf(state, block, node.id);
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(mask, 0, 1); first < PAGES_PER_GROUP; first = next(mask, first, 1)) {
    const frame = frames === null ? base + first : frames[first];
    let end = first + 1;
    while (end < PAGES_PER_GROUP && has(mask, end) && (frames === null || frames[end] === frame + end - first)) end++;
    state.commands.map(processor.id, base + first, end - first, access, Access.None, frame);
    addRun(mapping.mapped, first, end - first);
    if (access === Access.Write) {
      addRun(mapping.writable, first, end - first);
      removeRun(mapping.waitingWrite, first, end - first);
    }
    removeRun(mapping.waitingRead, first, end - first);
    first = end;
  }
  noteWaiting(mapping);
  endAhead(block, node);
  readAhead(state, block, processor, node, access, 'border');
}
