/** What holds between any two events. Walks over all blocks: for tests and on demand. */
import { add, andNot, has, isEmpty, type Mask, next, size, WORDS } from './basics/mask.js';
import { HOST_NODE, NO_NODE, PAGES_PER_BLOCK, type ProcessorId, Status } from './basics/types.js';
import { readingRoomOf } from './movement/reading-room.js';
import { widen } from './table/granules.js';
import type { Node } from './table/nodes.js';
import type { State } from './table/state.js';
import { type Block, NO_PAGES, type Residence } from './table/va-block.js';

/** Throws an Error that names the first broken invariant, the block and the page. */
export function checkInvariants(state: State): void {
  const { nodes } = state;
  if (state.masks.mark !== 0) throw new Error(`${state.masks.mark} masks were not given back`);
  if (!isEmpty(NO_PAGES)) throw new Error('the empty mask that blocks share has pages in it');
  const backed = new Array<number>(nodes.length).fill(0);
  const ahead = new Array<number>(nodes.length).fill(0);
  const frameOwners: (Int32Array | undefined)[] = [];
  for (const block of state.va.blocks.values()) {
    checkContents(block);
    checkRights(state, block);
    checkFlight(block);
    checkAdvice(state, block);
    checkGranules(state, block);
    for (let node = 0; node < block.residences.length; node++) {
      const residence = block.residences[node];
      if (residence === undefined) continue;
      checkResidence(block, node, residence);
      if (nodes[node]?.large == null) backed[node] += residence.backedCount;
      if (residence.ahead) ahead[node]++;
      const allocator = nodes[node]?.allocator ?? null;
      if (residence.frames === null || allocator === null) continue;
      const owned = (frameOwners[node] ??= new Int32Array(Math.ceil(allocator.frames / 32)));
      checkFrames(block, residence.frames, residence.backed, owned);
    }
  }
  for (const node of nodes) {
    if (node === undefined) continue;
    checkBudget(node, (backed[node.id] ?? 0) + checkLargeGranules(state, node));
    if (node.aheadBlocks !== ahead[node.id])
      throw new Error(
        `node ${node.id} counts ${node.aheadBlocks} blocks that were brought ahead, and has ${ahead[node.id]}`,
      );
  }
  if (state.activeOperations === 0) checkNobodyForgotten(state);
}

function fail(block: Block, page: number, what: string): never {
  throw new Error(`invariant broken in block ${block.index}, page ${page} of it: ${what}`);
}

/** Advice is about processors that are there: a number comes again, and then means another one. */
function checkAdvice({ nodes, processors }: State, block: Block): void {
  const { preferred, accessedBy } = block.advice;
  if (preferred !== NO_NODE && nodes[preferred] === undefined)
    fail(block, 0, `advice prefers node ${preferred}, which has gone`);
  for (let id = 0; accessedBy >>> id !== 0; id++) {
    if (((accessedBy >>> id) & 1) !== 0 && processors[id] === undefined)
      fail(block, 0, `advice names processor ${id}, which has gone`);
  }
}

/** These bits must not be there: the page of the lowest one is named. */
function refuse(block: Block, word: number, bits: number, what: string): never {
  fail(block, word * 32 + 31 - Math.clz32(bits & -bits), what);
}

function checkContents(block: Block): void {
  const { residences, lost, dirty, freed } = block;
  for (let word = 0; word < WORDS; word++) {
    let anywhere = 0;
    for (let node = 0; node < residences.length; node++)
      anywhere |= residences[node]?.resident[word] ?? 0;
    const twice = anywhere & lost[word];
    if (twice !== 0) refuse(block, word, twice, 'a lost page is resident (invariant 1)');
    const nowhere = dirty[word] & ~anywhere & ~lost[word];
    if (nowhere !== 0) refuse(block, word, nowhere, 'what was written is nowhere (invariant 7)');
    const kept = dirty[word] & freed[word];
    if (kept !== 0) refuse(block, word, kept, 'a freed page counts as written');
    const half = block.unreadable[word] & ~block.unwritable[word];
    if (half !== 0)
      refuse(block, word, half, 'a page that may not be read may be written (invariant 8)');
    const moved =
      block.pinned[word] & block.dirty[word] & ~(residences[HOST_NODE]?.resident[word] ?? 0);
    if (moved !== 0)
      refuse(block, word, moved, 'a pinned page is not in host memory (invariant 10)');
  }
}

function checkRights(state: State, block: Block): void {
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined || state.processors[id] === undefined) continue;
    const own = block.residences[mapping.node];
    for (let word = 0; word < WORDS; word++) {
      const given =
        (mapping.wantedRead[word] & ~block.unreadable[word]) |
        (mapping.wantedWrite[word] & ~block.unwritable[word]);
      if (given !== 0)
        refuse(
          block,
          word,
          given,
          `processor ${id} waits for a right that it has been given (invariant 6)`,
        );
      const mapped = mapping.mapped[word];
      // What stands in for a denied page is no content of the range's, and does not count.
      const scratch = mapping.standIn[word];
      const writable = mapping.writable[word] & ~scratch;
      if ((mapped | writable) === 0) continue;
      const blind = writable & ~mapped;
      if (blind !== 0)
        refuse(block, word, blind, `processor ${id} may write a page that it may not read`);
      const absent = mapped & ~((own?.resident[word] ?? 0) | scratch);
      if (absent !== 0)
        refuse(block, word, absent, `processor ${id} maps a page that its node does not hold`);
      const forbidden =
        (mapped & block.unreadable[word] & ~scratch) | (writable & block.unwritable[word]);
      if (forbidden !== 0)
        refuse(
          block,
          word,
          forbidden,
          `processor ${id} has a right that is protected (invariant 8)`,
        );
      const needed = writable & block.copyOnWrite[word];
      if (needed !== 0)
        refuse(
          block,
          word,
          needed,
          `processor ${id} may write what a clone still needs (invariant 9)`,
        );
      if (writable !== 0) checkWriter(block, id, word, writable);
    }
  }
}

/**
 * A node with granules has all of one or nothing, and its processor one right to all that counts.
 */
function checkGranules(state: State, block: Block): void {
  for (let id = 0; id < block.residences.length; id++) {
    const granulePages = state.nodes[id]?.granulePages ?? 1;
    const residence = block.residences[id];
    if (granulePages === 1 || residence === undefined) continue;
    const lacking = granulesOf(residence.backed, granulePages);
    andNot(lacking, residence.backed);
    if (!isEmpty(lacking)) fail(block, next(lacking, 0), `node ${id} has a part of a granule`);
  }
  if (block.tasks.some(({ kind }) => kind === 'unmapGranules')) return;
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    const granulePages = mapping === undefined ? 1 : (state.nodes[mapping.node]?.granulePages ?? 1);
    if (mapping === undefined || granulePages === 1) continue;
    for (const rights of [mapping.mapped, mapping.writable]) {
      const lacking = granulesOf(rights, granulePages);
      for (let word = 0; word < WORDS; word++)
        lacking[word] &= block.inside[word] & ~block.freed[word] & ~rights[word];
      if (!isEmpty(lacking))
        fail(block, next(lacking, 0), `processor ${id} has a right to a part of a granule`);
    }
  }
}

function granulesOf(mask: Mask, granulePages: number): Mask {
  const granules = mask.slice();
  widen(granules, granulePages);
  return granules;
}

/** A processor that may write a page is alone with it. */
function checkWriter(block: Block, id: ProcessorId, word: number, writable: number): void {
  const clean = writable & ~block.dirty[word];
  if (clean !== 0)
    refuse(
      block,
      word,
      clean,
      `processor ${id} may write a page that counts as clean (invariant 7)`,
    );
  const written = writable & block.cleaning[word];
  if (written !== 0)
    refuse(block, word, written, `processor ${id} may write a page that is being written back`);
  const node = block.mappings[id]?.node;
  for (let other = 0; other < block.mappings.length; other++) {
    const theirs = block.mappings[other];
    // A processor that maps the same memory sees what is written there.
    if (other === id || theirs === undefined || theirs.node === node) continue;
    const shared = writable & theirs.mapped[word] & ~theirs.standIn[word];
    if (shared !== 0) {
      refuse(
        block,
        word,
        shared,
        `processor ${id} may write a page that processor ${other} maps (invariants 2 and 3)`,
      );
    }
  }
  for (let other = 0; other < block.residences.length; other++) {
    const second = other === node ? 0 : writable & (block.residences[other]?.resident[word] ?? 0);
    if (second !== 0) {
      refuse(
        block,
        word,
        second,
        `processor ${id} may write a page that node ${other} has a copy of (invariant 2)`,
      );
    }
  }
}

function checkResidence(
  block: Block,
  node: number,
  { resident, backed, scratch, passed, backedCount }: Residence,
): void {
  for (let word = 0; word < WORDS; word++) {
    const bare = resident[word] & ~backed[word];
    if (bare !== 0) refuse(block, word, bare, `resident on node ${node} without memory`);
    const gone = passed[word] & ~backed[word];
    if (gone !== 0) refuse(block, word, gone, `passed on node ${node}, which has no memory for it`);
    const both = resident[word] & scratch[word];
    if (both !== 0) refuse(block, word, both, 'a scratch page counts as content');
  }
  if (size(backed) !== backedCount)
    fail(block, 0, `node ${node} miscounts its memory (invariant 4)`);
  if (block.operation !== null) return;
  let before = 0;
  let behind = 0;
  for (let word = 0; word < WORDS; word++) {
    before |= backed[word] & block.inside[word];
    behind |= backed[word] & ~block.inside[word] & ~scratch[word];
  }
  if (before === 0 && behind !== 0)
    fail(block, 0, `node ${node} keeps memory behind the range's end (invariant 4)`);
}

/** A page that is being filled can be written by no processor. */
function checkFlight(block: Block): void {
  const operation = block.operation;
  if (operation === null || operation.phase !== 'transfer' || operation.kind !== 'migrate') return;
  const target = block.residences[operation.node];
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined) continue;
    for (let word = 0; word < WORDS; word++) {
      const moving = operation.moving[word] & ~(target?.resident[word] ?? 0);
      const written = moving & mapping.writable[word] & ~mapping.standIn[word];
      if (written !== 0)
        refuse(block, word, written, 'a page in flight may be written (invariant 5)');
    }
  }
}

function checkFrames(block: Block, frames: Int32Array, backed: Mask, owned: Int32Array): void {
  let count = 0;
  for (let page = next(backed, 0); page < PAGES_PER_BLOCK; page = next(backed, page + 1)) {
    const frame = frames[page];
    count++;
    if (frame < 0) fail(block, page, 'memory without a frame');
    if (has(owned, frame)) fail(block, page, `frame ${frame} is used twice`);
    add(owned, frame);
  }
  for (let page = 0; page < PAGES_PER_BLOCK; page++) if (frames[page] >= 0) count--;
  if (count !== 0) fail(block, 0, 'a frame without memory');
}

/** Granules of several blocks, by what their blocks have; returns how many pages they hold. */
function checkLargeGranules({ va }: State, { id, description, large }: Node): number {
  if (large === null) return 0;
  const members = new Map<number, number>();
  for (const { index, residences } of va.blocks.values()) {
    if ((residences[id]?.backedCount ?? 0) === 0) continue;
    const granule = large.numberOf(index);
    members.set(granule, (members.get(granule) ?? 0) + 1);
  }
  for (const granule of large.all()) {
    const { number, pending } = granule;
    const found = members.get(number) ?? 0;
    if (found !== granule.members || found + pending === 0)
      throw new Error(
        `${description.name} counts ${granule.members} blocks of granule ${number}, and has ${found} (invariant 4)`,
      );
  }
  return members.size * large.pages;
}

function checkBudget(node: Node, held: number): void {
  const { description, quarantinedPages } = node;
  const backed = held + quarantinedPages;
  if (backed !== node.backedPages) {
    throw new Error(
      `${description.name} counts ${node.backedPages} backed pages, its blocks ${backed} (invariant 4)`,
    );
  }
  if (backed > node.budgetPages + readingRoomOf(node)) {
    throw new Error(
      `${description.name} has ${backed} pages backed of ${node.budgetPages} allowed (invariant 4)`,
    );
  }
  if (node.allocator !== null && node.allocator.frames - node.allocator.free !== backed) {
    throw new Error(
      `${description.name}: the frames in use are not those that blocks hold (invariant 4)`,
    );
  }
}

/** With nothing under way a thread may wait only for a launch's hold (invariant 6). */
function checkNobodyForgotten(state: State): void {
  if (state.holds > 0 || state.breaks > 0 || state.quarantines > 0) return;
  for (const block of state.va.blocks.values()) {
    // A thread may wait for room, of which the pager tells.
    if (block.operation !== null || state.waitsForRoom.has(block.index)) continue;
    // Or for the event that tells which device died.
    if ([...block.tasks, ...block.mappings].some((asker) => asker?.failure === Status.Lost))
      continue;
    for (let id = 0; id < block.mappings.length; id++) {
      const mapping = block.mappings[id];
      if (mapping === undefined || state.processors[id] === undefined) continue;
      if (!isEmpty(mapping.waitingRead) || !isEmpty(mapping.waitingWrite)) {
        fail(
          block,
          mapping.urgentPage,
          `processor ${id} waits and nothing is under way for it (invariant 6)`,
        );
      }
    }
    const left = block.tasks.find((task) => task.kind !== 'home' || !state.parked.has(block.index));
    if (left !== undefined)
      fail(block, 0, `a task (${left.kind}) is left and nothing is under way`);
  }
}
