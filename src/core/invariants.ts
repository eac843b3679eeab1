/** What must hold between any two events. Costs a walk over all blocks: for tests, the simulator, and production on demand. */
import { has, isEmpty, type Mask, size, WORDS } from './mask.js';
import type { Processor, State } from './state.js';
import { PAGES_PER_BLOCK, Status } from './types.js';
import type { Block } from './va-block.js';

/** Throws an Error that names the first broken invariant, the block and the page. */
export function checkInvariants(state: State): void {
  const backed = new Array<number>(state.processors.length).fill(0);
  const frameOwners = state.processors.map((processor) =>
    processor?.allocator == null ? null : new Int32Array(processor.allocator.frames).fill(-1),
  );
  for (const block of state.va.blocks.values()) {
    checkBlock(state, block);
    for (let node = 0; node < block.residences.length; node++) {
      const residence = block.residences[node];
      if (residence === undefined) continue;
      backed[node] += residence.backedCount;
      if (residence.frames !== null) checkFrames(block, residence.frames, residence.backed, frameOwners[node]);
    }
  }
  for (const processor of state.processors) if (processor !== undefined) checkBudget(processor, backed[processor.id]);
  if (state.activeOperations === 0) checkNobodyForgotten(state);
}

function fail(block: Block, page: number, what: string): never {
  throw new Error(`invariant broken in block ${block.index}, page ${page} of it: ${what}`);
}

function each(block: Block, mask: (word: number) => number, what: string): void {
  for (let word = 0; word < WORDS; word++) {
    const bits = mask(word);
    if (bits !== 0) fail(block, word * 32 + 31 - Math.clz32(bits & -bits), what);
  }
}

function checkBlock(state: State, block: Block): void {
  each(block, (word) => residentAnywhere(block, word) & block.lost[word], 'a lost page is resident (invariant 1)');
  each(
    block,
    (word) => block.dirty[word] & ~residentAnywhere(block, word) & ~block.lost[word],
    'what was written is nowhere (invariant 7)',
  );
  each(block, (word) => block.dirty[word] & block.freed[word], 'a freed page counts as written');
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined || state.processors[id] === undefined) continue;
    const own = block.residences[id];
    const scratch = (word: number): number => own?.scratch[word] ?? 0;
    each(block, (word) => mapping.writable[word] & ~mapping.mapped[word], 'writable but not mapped');
    each(
      block,
      (word) => mapping.mapped[word] & ~((own?.resident[word] ?? 0) | scratch(word)),
      `processor ${id} maps a page that its node does not hold`,
    );
    each(
      block,
      (word) => mapping.writable[word] & ~scratch(word) & ~block.dirty[word],
      `processor ${id} may write a page that counts as clean (invariant 7)`,
    );
    for (let other = 0; other < block.mappings.length; other++) {
      if (other === id) continue;
      each(
        block,
        (word) =>
          mapping.writable[word] &
          ~scratch(word) &
          ((block.mappings[other]?.mapped[word] ?? 0) & ~(block.residences[other]?.scratch[word] ?? 0)),
        `processor ${id} may write a page that processor ${other} maps (invariants 2 and 3)`,
      );
      each(
        block,
        (word) => mapping.writable[word] & ~scratch(word) & (block.residences[other]?.resident[word] ?? 0),
        `processor ${id} may write a page that has a second copy on node ${other} (invariant 2)`,
      );
    }
  }
  for (let node = 0; node < block.residences.length; node++) {
    const residence = block.residences[node];
    if (residence === undefined) continue;
    each(
      block,
      (word) => residence.resident[word] & ~residence.backed[word],
      `resident on node ${node} without memory`,
    );
    each(block, (word) => residence.resident[word] & residence.scratch[word], 'a scratch page counts as content');
    if (size(residence.backed) !== residence.backedCount)
      fail(block, 0, `node ${node} miscounts its memory (invariant 4)`);
  }
  checkFlight(block);
}

function residentAnywhere(block: Block, word: number): number {
  let bits = 0;
  for (const residence of block.residences) if (residence !== undefined) bits |= residence.resident[word];
  return bits;
}

/** A page that is being copied can be written by nobody, and a page that is being filled can be seen by nobody. */
function checkFlight(block: Block): void {
  const operation = block.operation;
  if (operation === null || operation.phase !== 'transfer') return;
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined) continue;
    const scratch = block.residences[id]?.scratch;
    if (operation.kind !== 'migrate') continue;
    each(
      block,
      (word) =>
        mapping.writable[word] &
        ~(scratch?.[word] ?? 0) &
        operation.mask[word] &
        ~operation.settled[word] &
        movingIn(block, word),
      'a page in flight may be written (invariant 5)',
    );
  }
}

function movingIn(block: Block, word: number): number {
  const operation = block.operation;
  if (operation === null) return 0;
  return ~(block.residences[operation.processor]?.resident[word] ?? 0);
}

function checkFrames(block: Block, frames: Int32Array, backed: Mask, owners: Int32Array | null): void {
  for (let page = 0; page < PAGES_PER_BLOCK; page++) {
    if (has(backed, page) !== frames[page] >= 0) fail(block, page, 'memory without a frame, or a frame without memory');
    if (frames[page] < 0 || owners === null) continue;
    if (owners[frames[page]] !== -1) fail(block, page, `frame ${frames[page]} is used twice`);
    owners[frames[page]] = block.index;
  }
}

function checkBudget(processor: Processor, backed: number): void {
  const { description } = processor;
  if (backed !== processor.backedPages) {
    throw new Error(
      `${description.name} counts ${processor.backedPages} backed pages, its blocks ${backed} (invariant 4)`,
    );
  }
  if (backed > processor.budgetPages) {
    throw new Error(`${description.name} has ${backed} pages backed of ${processor.budgetPages} allowed (invariant 4)`);
  }
  if (processor.allocator !== null && processor.allocator.frames - processor.allocator.free !== backed) {
    throw new Error(`${description.name}: the frames in use are not those that blocks hold (invariant 4)`);
  }
}

/** With nothing under way, whoever waits must wait for a launch's hold; anybody else would wait for ever (invariant 6). */
function checkNobodyForgotten(state: State): void {
  if (state.holds > 0) return;
  for (const block of state.va.blocks.values()) {
    if (block.operation !== null) continue;
    // Such a block waits for the event that tells which device died.
    if (block.spareOperation.failure === Status.Lost) continue;
    for (let id = 0; id < block.mappings.length; id++) {
      const mapping = block.mappings[id];
      if (mapping === undefined || state.processors[id] === undefined) continue;
      if (!isEmpty(mapping.waitingRead) || !isEmpty(mapping.waitingWrite)) {
        fail(block, mapping.urgentPage, `processor ${id} waits and nothing is under way for it (invariant 6)`);
      }
    }
    const left = block.tasks.find((task) => task.kind !== 'home' || !state.parked.has(block.index));
    if (left !== undefined) fail(block, 0, `a task (${left.kind}) is left and nothing is under way`);
  }
}
