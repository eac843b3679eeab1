/**
 * The memory manager: events in, commands out. It owns the logical page table of one space and decides every movement in it.
 * It knows no clock, no file and no thread; whoever drives it hands in what happened and carries out what it asks for, so
 * that the pager and the simulator run the same code.
 */
import {
  add,
  addRun,
  clear,
  createMask,
  equals,
  has,
  isEmpty,
  type Mask,
  next,
  nextAbsent,
  remove,
  removeRun,
  size,
} from './mask.js';
import { isProvided, revokeDone, transferDone } from './operation.js';
import { loseNode, service } from './service.js';
import {
  createProcessor,
  createState,
  isHeld,
  isRemote,
  makeReady,
  mappingOf,
  type Policies,
  type Processor,
  type ProcessorCounters,
  processorOf,
  protect,
  type Request,
  releaseBacking,
  type State,
  somethingMoves,
  unprotectAll,
} from './state.js';
import {
  Access,
  type Advice,
  type Commands,
  type DenyReason,
  HOST,
  PAGES_PER_BLOCK,
  PageState,
  type ProcessorDescription,
  type ProcessorId,
  type Status,
} from './types.js';
import { dirtyRuns, forgetUser, noteUse, type UsedPages, youngRuns } from './usage.js';
import { type Block, changedPages, rareMask, type Task, type TaskKind } from './va-block.js';
import type { Range, RangeOptions } from './va-space.js';

/** Blocks of one request that are worked on at once: enough to keep an engine busy, few enough not to bury a fault. */
const BLOCKS_AT_ONCE = 4;

/** How a launch uses one range of pages. */
export interface LaunchArgument {
  readonly first: number;
  readonly count: number;
  readonly use: 'in' | 'out' | 'inout';
}

export interface AcquireOptions {
  /** The processor wants the pages for itself, for atomic operations; subscribers are told so. */
  readonly exclusive?: boolean;
  /** Other pages wait for these: what was asked for before does not hold this up. */
  readonly ahead?: boolean;
}

export interface ProcessorFigures {
  readonly budgetPages: number;
  readonly backedPages: number;
  readonly peakPages: number;
  readonly counters: ProcessorCounters;
}

/** Each block of another memory splits a mapping of the processor's, of which the kernel allows 65,530. */
const REMOTE_BLOCKS = 8192;

const BARE_TASK = {
  access: Access.None,
  map: false,
  hold: false,
  exclusive: false,
  ahead: false,
  written: false,
} as const;

const BARE_REQUEST = {
  ...BARE_TASK,
  first: 0,
  end: 0,
  cursor: 0,
  pages: 0,
  held: 0,
  failure: null,
} as const;

function isUnadvised(range: Range): boolean {
  return range.advice.isUniform && range.advice.at(0).accessedBy === 0;
}

interface Launch {
  readonly id: number;
  readonly processor: ProcessorId;
  /** The processor itself, since its number may have been given to another one when the launch ends. */
  readonly owner: Processor | undefined;
  readonly arguments: readonly LaunchArgument[];
  stage: 'emptying' | 'gathering' | 'running';
  outstanding: number;
  failure: DenyReason | null;
  /** Blocks that are still to be gathered, the last one first. */
  blocks: number[];
  /** Requests whose holds are the launch's. */
  readonly held: Request[];
}

/** The blocks that the arguments lie in, the highest first. */
function blocksOf(args: readonly { first: number; count: number }[]): number[] {
  const blocks = new Set<number>();
  for (const { first, count } of args) {
    if (count === 0) continue;
    const last = Math.floor((first + count - 1) / PAGES_PER_BLOCK);
    for (let block = Math.floor(first / PAGES_PER_BLOCK); block <= last; block++) blocks.add(block);
  }
  return [...blocks].sort((a, b) => b - a);
}

/** The pages of [first, end) that lie in a block. */
function blockMask(index: number, first: number, end: number): Mask {
  const mask = createMask();
  const from = Math.max(first - index * PAGES_PER_BLOCK, 0);
  const to = Math.min(end - index * PAGES_PER_BLOCK, PAGES_PER_BLOCK);
  addRun(mask, from, to - from);
  return mask;
}

export class MemoryManager {
  readonly state: State;
  private readonly launches = new Map<number, Launch>();
  /** Requests that the manager makes for a launch, with numbers below zero. */
  private readonly inner = new Map<number, Launch>();
  private nextInner = -1;
  private readonly lastFigures = new Map<number, ProcessorFigures>();
  private running = false;
  private readonly taskDone = (task: Task, pages: number, failure: DenyReason | null): void =>
    this.onTaskDone(task, pages, failure);

  /** @param blockCount size of the space in blocks of 2 MiB */
  constructor(commands: Commands, policies: Policies, blockCount: number) {
    this.state = createState(commands, policies, blockCount);
  }

  /** Adds a processor with its node; the first is the host. */
  addProcessor(description: ProcessorDescription): ProcessorId {
    const { processors } = this.state;
    const least = (description.units + 1) * PAGES_PER_BLOCK;
    if (description.faults && description.budgetPages < least) {
      throw new RangeError(
        `${description.name}: a budget of ${description.budgetPages} pages is too small for ${description.units} threads ` +
          `that fault at once; it must be at least ${least} pages (2 MiB a thread, and 2 MiB)`,
      );
    }
    let id = 0;
    while (processors[id] !== undefined) id++;
    processors[id] = createProcessor(this.state, id, description);
    return id;
  }

  /**
   * Reserves addresses for `pages` pages, or for `reserved` when the range is to grow. Null: the space has none left. Nothing is
   * touched.
   */
  allocate(pages: number, options: RangeOptions, reserved?: number): Range | null {
    return this.state.va.allocate(pages, options, reserved);
  }

  /** A thread of the processor waits for a page. A hint only: what is there already wakes the thread and changes nothing. */
  fault(id: ProcessorId, page: number, write: boolean, thread: number): void {
    const { state } = this;
    const processor = state.processors[id];
    // The message may have been on its way when the processor died or was told to leave: nobody waits there any more.
    if (processor === undefined || processor.state !== 'alive') return;
    if (write) processor.counters.writeFaults++;
    else processor.counters.readFaults++;
    const index = Math.floor(page / PAGES_PER_BLOCK);
    const block = state.va.block(index);
    if (block === undefined) {
      processor.counters.denied++;
      state.commands.deny(id, page, write, thread, 'OUTSIDE');
      return;
    }
    const inBlock = page % PAGES_PER_BLOCK;
    const mapping = mappingOf(block, id);
    block.young |= 1 << id;
    if (has(write ? mapping.writable : mapping.mapped, inBlock)) {
      processor.counters.repeatedFaults++;
      state.commands.wake(id, page, 1);
      return;
    }
    state.effort++;
    protect(state, processor, thread, block);
    processor.eviction.used(index);
    addRun(write ? mapping.waitingWrite : mapping.waitingRead, inBlock, 1);
    mapping.waiting = true;
    mapping.urgentPage = inBlock;
    mapping.urgentThread = thread;
    makeReady(state, block);
    this.run();
  }

  /** A pending revocation is through. */
  revoked(token: number): void {
    const entry = this.state.tokens[token];
    if (entry === undefined) throw new Error(`unknown token ${token}`);
    revokeDone(this.state, entry);
    this.run();
  }

  /** A pending transfer is through, or failed. */
  transferred(token: number, status: Status): void {
    const entry = this.state.tokens[token];
    if (entry === undefined) throw new Error(`unknown token ${token}`);
    transferDone(this.state, entry, status);
    this.run();
  }

  /** Makes pages present for a processor; `requestDone` tells how many are. With `hold` they stay until `release`. */
  acquire(
    request: number,
    processor: ProcessorId,
    first: number,
    count: number,
    access: Access,
    map: boolean,
    hold: boolean,
    options: AcquireOptions = {},
  ): void {
    this.request(request, 'present', processor, first, count, access, map, hold, options);
  }

  /** Ends a hold that `acquire` with the same arguments took. One that failed holds nothing and needs none. */
  release(processor: ProcessorId, first: number, count: number, access: Access): void {
    const last = Math.floor((first + count - 1) / PAGES_PER_BLOCK);
    if (count > 0) {
      for (let block = Math.floor(first / PAGES_PER_BLOCK); block <= last; block++) {
        if (this.dropHold(processor, block, first, first + count, access)) this.state.holds--;
      }
    }
    this.run();
  }

  /** Forgets the content of pages: they read as zero from now on. Their memory is kept. */
  zero(request: number, first: number, count: number): void {
    this.request(request, 'zero', HOST, first, count, Access.None, false, false);
  }

  /**
   * Lets everybody do no more than `access` to these pages from now on. More than the range was made with is not to be had: the
   * caller has looked.
   */
  protect(request: number, first: number, count: number, access: Access): void {
    const { va } = this.state;
    const range = va.rangeOfPage(first);
    if (range !== undefined) {
      const begin = first - range.first;
      if (access === Access.None) {
        // What clones need is read before nobody may read it any more: such blocks must not be made with the new right.
        range.guards.each(begin, begin + count, (from, to, guarded) => {
          for (let page = range.first + from; guarded && page < range.first + to; page += PAGES_PER_BLOCK)
            va.block(Math.floor(page / PAGES_PER_BLOCK));
          if (guarded) va.block(Math.floor((range.first + to - 1) / PAGES_PER_BLOCK));
        });
      }
      range.protection.set(begin, begin + count, access);
    }
    this.request(request, 'protect', HOST, first, count, access, false, false);
  }

  /**
   * From when this is done these pages, which have been cloned, are not written before `save` has been answered for them. What is
   * already guarded stays so.
   */
  guard(request: number, first: number, count: number): void {
    const range = this.state.va.rangeOfPage(first);
    range?.guards.set(first - range.first, first - range.first + count, true);
    this.request(request, 'guard', HOST, first, count, Access.Read, false, false);
  }

  /** Whoever cloned these pages has their content: those who want to write them may go on. */
  saved(first: number, count: number): void {
    const { state } = this;
    const index = Math.floor(first / PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    if (block === undefined) throw new Error(`pages from ${first} on were not asked to be saved`);
    const { range } = block;
    removeRun(block.guarded, first - index * PAGES_PER_BLOCK, count);
    removeRun(block.saving, first - index * PAGES_PER_BLOCK, count);
    range.guards.set(first - range.first, first - range.first + count, false);
    state.saves--;
    makeReady(state, block);
    this.run();
  }

  /**
   * Fills pages of one block from their provider and makes the content theirs from then on, which the provider need not give again.
   * A single page that cannot be filled is lost; of several each must be asked for again. What is dirty, blank or freed already
   * stays as it is.
   */
  own(request: number, first: number, count: number): void {
    this.request(request, 'own', HOST, first, count, Access.Read, false, false, { ahead: true });
  }

  /**
   * Makes the range have `pages` pages, of which those from page `from` of the range on are new and zero, also where it had some
   * before and gave them back. No request for these may be under way.
   */
  grow(range: Range, from: number, pages: number): void {
    const { state } = this;
    if (pages > range.reserved) throw new Error(`a range of ${range.reserved} reserved pages cannot have ${pages}`);
    const end = range.first + pages;
    for (let page = range.first + from; page < end; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const next = Math.min(end, (index + 1) * PAGES_PER_BLOCK);
      const block = state.va.blocks.get(index);
      if (block !== undefined) {
        const before = size(block.freed);
        addRun(block.inside, page - index * PAGES_PER_BLOCK, next - page);
        removeRun(block.freed, page - index * PAGES_PER_BLOCK, next - page);
        removeRun(block.unreadable, page - index * PAGES_PER_BLOCK, next - page);
        if (range.writable) removeRun(block.unwritable, page - index * PAGES_PER_BLOCK, next - page);
        range.freedPages -= before - size(block.freed);
      }
      page = next;
    }
    range.protection.set(from, pages, range.writable ? Access.Write : Access.Read);
    range.pages = Math.max(range.pages, pages);
  }

  /** Whether the page's content is what its provider gives: nobody has written, emptied, freed or lost it. */
  isInherited(page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const range = this.state.va.rangeOfPage(page);
    if (block === undefined || range === undefined) return range?.provided === true;
    const inBlock = page % PAGES_PER_BLOCK;
    return isProvided(block, inBlock) && !has(block.dirty, inBlock) && !has(block.lost, inBlock);
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
    return !isProvided(block, inBlock) && !has(block.dirty, inBlock) && !has(block.lost, inBlock);
  }

  /** These pages are zero, whatever their provider would give; what a node holds of them already stays. */
  blank(first: number, count: number): void {
    for (let page = first; page < first + count; page++) {
      const block = this.state.va.block(Math.floor(page / PAGES_PER_BLOCK));
      if (block !== undefined) add(block.blank, page % PAGES_PER_BLOCK);
    }
  }

  /** Notes what the program says about its use of whole blocks. It moves nothing and takes nothing from anybody. */
  advise(range: Range, first: number, end: number, change: Partial<Advice>): void {
    const runs: [number, number, Advice][] = [];
    range.advice.each(first, end, (from, to, advice) => runs.push([from, to, { ...advice, ...change }]));
    for (const [from, to, advice] of runs) {
      range.advice.set(from, to, advice);
      if (advice.preferred !== -1) this.state.preferences = true;
      if (advice.accessedBy !== 0) this.state.inPlace = true;
      for (let page = from; page < to; page += PAGES_PER_BLOCK) {
        const block = this.state.va.blocks.get(Math.floor((range.first + page) / PAGES_PER_BLOCK));
        if (block !== undefined) block.advice = advice;
      }
    }
  }

  /** How far the processor reaches host memory in place in pages [first, end). */
  remoteness(id: ProcessorId, first: number, end: number): 'in place' | 'partly' | 'migrates' {
    let some = false;
    let all = true;
    for (let index = Math.floor(first / PAGES_PER_BLOCK); index * PAGES_PER_BLOCK < end; index++) {
      const block = this.state.va.blocks.get(index);
      if (block !== undefined && isRemote(block, id)) some = true;
      else all = false;
    }
    return some ? (all ? 'in place' : 'partly') : 'migrates';
  }

  /** Whether the processor reaches host memory in place at this page. */
  isRemote(id: ProcessorId, page: number): boolean {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    return block !== undefined && isRemote(block, id);
  }

  /**
   * Has a processor, no thread of which runs, reach host memory in place where it was advised so (accessedBy) in these parts, and its
   * own memory where not. At most REMOTE_BLOCKS blocks at a time: the others migrate.
   */
  arrange(id: number, processor: ProcessorId, parts: readonly { first: number; count: number }[]): void {
    const { state } = this;
    if (!state.inPlace) {
      state.commands.requestDone(id, 0, null);
      return;
    }
    const owner = processorOf(state, processor);
    const request: Request = { ...BARE_REQUEST, id, kind: 'attach', processor, outstanding: 1 };
    state.requests.set(id, request);
    for (const index of owner.description.coherent === true ? blocksOf(parts) : []) {
      const range = state.va.rangeOfPage(index * PAGES_PER_BLOCK);
      const block = range === undefined || isUnadvised(range) ? state.va.blocks.get(index) : state.va.block(index);
      if (block === undefined) continue;
      const wanted = ((block.advice.accessedBy >>> processor) & 1) !== 0 && block.advice.preferred !== processor;
      if (wanted === isRemote(block, processor)) continue;
      if (wanted && owner.remoteBlocks >= REMOTE_BLOCKS) continue;
      if (wanted) owner.remoteBlocks++;
      request.outstanding++;
      const kind = wanted ? 'attach' : 'separate';
      const mask = createMask().fill(-1);
      block.tasks.push({ ...BARE_TASK, kind, mask, processor, request: id });
      makeReady(state, block);
    }
    request.outstanding--;
    this.settleRequest(request);
    this.run();
  }

  /** Pages that are present on the host stay there, and no device gets them for writing. */
  pin(first: number, count: number, on: boolean): void {
    const { state } = this;
    for (let page = first; page < first + count; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const inBlock = page - index * PAGES_PER_BLOCK;
      const pages = Math.min(first + count - page, PAGES_PER_BLOCK - inBlock);
      const block = state.va.block(index);
      if (block !== undefined) {
        if (on) addRun(rareMask(block, 'pinned'), inBlock, pages);
        else removeRun(block.pinned, inBlock, pages);
        makeReady(state, block);
      }
      page += pages;
    }
    processorOf(state, HOST).pump = true;
    this.run();
  }

  /** The host has lost its mapping of a page by other means than a command: it was poisoned. */
  unmapped(page: number): void {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const mapping = block?.mappings[HOST];
    if (mapping === undefined) return;
    remove(mapping.mapped, page % PAGES_PER_BLOCK);
    remove(mapping.writable, page % PAGES_PER_BLOCK);
  }

  /** Whether these pages may be used so, by what is known now: why not, or null. */
  denial(first: number, count: number, access: Access, processor: ProcessorId): DenyReason | null {
    const { state } = this;
    const range = state.va.rangeOfPage(first);
    if (range === undefined) return 'OUTSIDE';
    let reason: DenyReason | null = null;
    range.protection.each(first - range.first, first - range.first + count, (_from, _to, allowed) => {
      if (allowed < Access.Read) reason = 'NO_ACCESS';
      else if (allowed < access) reason ??= 'READ_ONLY';
    });
    if (reason !== null || access !== Access.Write || processor === HOST) return reason;
    for (let page = first; page < first + count; page++) {
      const block = state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
      if (block !== undefined && has(block.pinned, page % PAGES_PER_BLOCK)) return 'PINNED';
    }
    return null;
  }

  /** Gives pages back for good. Later accesses are denied. */
  free(request: number, first: number, count: number): void {
    this.request(request, 'free', HOST, first, count, Access.None, false, false);
  }

  /**
   * The first run of pages in [first, end) that differ from what their provider would give, of at most `longest` pages. Lost pages
   * do not count, since nobody has them. Null: there is none.
   */
  changedRun(first: number, end: number, longest: number): { first: number; count: number } | null {
    const { blocks } = this.state.va;
    const { maskA } = this.state;
    const all = createMask().fill(-1);
    let begin = -1;
    for (let page = first; page < end; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const base = index * PAGES_PER_BLOCK;
      const block = blocks.get(index);
      if (block === undefined) clear(maskA);
      else changedPages(block, all, maskA);
      if (begin === -1) {
        const found = base + next(maskA, page - base);
        if (found < Math.min(base + PAGES_PER_BLOCK, end)) begin = found;
        page = found;
        if (begin === -1) continue;
      }
      const limit = Math.min(begin + longest, end);
      const after = Math.min(base + nextAbsent(maskA, page - base), limit);
      if (after < base + PAGES_PER_BLOCK || after === limit) return { first: begin, count: after - begin };
      page = after;
    }
    return begin === -1 ? null : { first: begin, count: end - begin };
  }

  /** The first page in [first, end) whose only copy was on a device that died, or -1. */
  firstLost(first: number, end: number): number {
    for (let page = first; page < end; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const base = index * PAGES_PER_BLOCK;
      const block = this.state.va.blocks.get(index);
      const found = block === undefined ? PAGES_PER_BLOCK : next(block.lost, page - base);
      if (found < PAGES_PER_BLOCK) return base + found < end ? base + found : -1;
      page = base + PAGES_PER_BLOCK;
    }
    return -1;
  }

  /**
   * Begins to write back changed pages, which the caller holds on the host: when it is through, they stand still, and `cleaned`
   * tells what became of it. Whoever writes one meanwhile leaves it changed.
   */
  clean(request: number, first: number, count: number): void {
    this.request(request, 'clean', HOST, first, count, Access.None, false, false);
  }

  /** Pages have been written back, or could not be. Those that nobody has written since are what their provider would give. */
  cleaned(first: number, count: number, written: boolean): void {
    const run = createMask();
    for (let page = first; page < first + count; ) {
      const index = Math.floor(page / PAGES_PER_BLOCK);
      const base = index * PAGES_PER_BLOCK;
      const end = Math.min(first + count, base + PAGES_PER_BLOCK);
      const block = this.state.va.blocks.get(index);
      clear(run);
      addRun(run, page - base, end - page);
      page = end;
      if (block === undefined) continue;
      for (let word = 0; word < run.length; word++) {
        const bits = run[word] & block.cleaning[word];
        block.cleaning[word] &= ~bits;
        if (!written) continue;
        block.dirty[word] &= ~bits;
        block.blank[word] &= ~bits;
      }
    }
  }

  /** Has pages come from their provider again. What was changed is kept, or with `all` forgotten, too. */
  drop(request: number, first: number, count: number, all: boolean): void {
    this.request(request, all ? 'revert' : 'drop', HOST, first, count, Access.None, false, false);
  }

  /** Brings every page home from the processor's node, then forgets the processor. Its launches must have ended. */
  detach(id: ProcessorId): void {
    const processor = processorOf(this.state, id);
    if (processor.state !== 'alive') return;
    processor.state = 'draining';
    this.drain(processor);
  }

  /** The processor is dead. Its pages come home if its memory survives; otherwise what only it held is lost. */
  processorLost(id: ProcessorId): void {
    const { state } = this;
    const processor = processorOf(state, id);
    if (processor.state === 'dead') return;
    // The pages of one that was leaving are on their way home already, and go on as far as they can.
    const leaving = processor.state === 'draining';
    processor.state = 'dead';
    processor.gone = !processor.description.memorySurvives;
    processor.intents.length = 0;
    unprotectAll(state, processor);
    for (const launch of this.launches.values()) {
      if (launch.owner !== processor) continue;
      if (launch.stage === 'running') this.endHolds(launch);
      launch.failure ??= 'LOST';
    }
    for (const block of state.va.blocks.values()) {
      this.dropMappings(block, id);
      makeReady(state, block);
    }
    if (leaving) this.run();
    else this.drain(processor);
  }

  /**
   * Prepares a launch: `out` ranges are emptied; a device without faults gets all pages at once and keeps them. When
   * `requestDone` has come for `id`, the launch may run; `launchEnd` must follow, whatever became of it. One launch of a
   * device at a time may be between the two.
   */
  launchBegin(id: number, processor: ProcessorId, args: readonly LaunchArgument[]): void {
    const owner = this.state.processors[processor];
    const launch: Launch = {
      id,
      processor,
      owner,
      arguments: args,
      stage: 'emptying',
      outstanding: 1,
      failure: owner?.state === 'alive' ? null : 'LOST',
      blocks: [],
      held: [],
    };
    this.launches.set(id, launch);
    // Nothing is emptied for a launch that could not write it then.
    for (const { use, first, count } of args) {
      if (use === 'out' && count > 0) launch.failure ??= this.denial(first, count, Access.Write, processor);
    }
    if (launch.failure === null) {
      for (const { use, first, count } of args)
        if (use === 'out') this.requestFor(launch, 'zero', first, count, Access.None);
    }
    launch.outstanding--;
    this.advance(launch);
    this.run();
  }

  /** The launch has ended, or will not run. Its pages may move again; scratch pages of denied accesses go. */
  launchEnd(id: number): void {
    const launch = this.launches.get(id);
    if (launch === undefined) return;
    this.launches.delete(id);
    const processor = launch.owner;
    if (processor === undefined || processor !== this.state.processors[launch.processor]) return;
    this.state.effort++;
    this.endHolds(launch);
    if (processor.state === 'dead') return;
    // Until now it was used, whoever asked meanwhile.
    if (launch.stage === 'running' && launch.failure === null) noteUse(this.state, launch.processor, launch.arguments);
    const { intents } = processor;
    for (let index = intents.length - 1; index >= 0; index--)
      if (intents[index].launch === id) intents.splice(index, 1);
    this.dropScratch(processor);
    unprotectAll(this.state, processor);
    this.run();
  }

  /**
   * Pages that a launch on a device without faults needs at once. Whole blocks count, since what else the device has of a
   * block that it holds cannot be taken from it meanwhile.
   */
  launchPages(args: readonly LaunchArgument[]): number {
    let pages = 0;
    for (const index of blocksOf(args)) {
      const block = this.state.va.block(index);
      if (block !== undefined) pages += size(block.inside);
    }
    return pages;
  }

  /** Somebody was seen using the block of this page, without a fault. */
  used(id: ProcessorId, page: number): void {
    processorOf(this.state, id).eviction.used(Math.floor(page / PAGES_PER_BLOCK));
  }

  /** Makes the addresses of a range usable again, all of whose pages are freed and whose views are gone. */
  recycle(range: Range): boolean {
    const { state } = this;
    const first = range.first / PAGES_PER_BLOCK;
    const end = first + Math.ceil(range.reserved / PAGES_PER_BLOCK);
    for (let index = first; index < end; index++) {
      const block = state.va.blocks.get(index);
      if (block === undefined) continue;
      if (block.operation !== null || block.tasks.length > 0) return false;
      for (let id = 0; id < block.mappings.length; id++) if (isHeld(block, id)) return false;
    }
    for (let index = first; index < end; index++) {
      const block = state.va.blocks.get(index);
      if (block === undefined) continue;
      // Zero pages that late readers got are given back with the rest, and so is what stood in for pages past the end.
      const all = createMask().fill(-1);
      for (const processor of state.processors) {
        if (processor === undefined) continue;
        releaseBacking(state, block, processor, all);
        processor.scratchBlocks.delete(block);
        processor.unused.remove(index);
        processor.eviction.deactivate(index);
        processor.waiters.remove(index);
        for (let slot = 0; slot < processor.slotBlock.length; slot++) {
          if (processor.slotBlock[slot] === index) processor.slotBlock[slot] = -1;
        }
      }
    }
    state.va.recycle(range);
    this.run();
    return true;
  }

  /**
   * Reports page states without faulting: for each page `nodes` gets a bit for each node that has its content, `access` two
   * bits for each processor's right, `flags` bits of PageState. Lengths are the number of pages.
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

  /** Runs of these pages that may differ from what their provider, or zero, would give. Lost pages are not among them. */
  dirty(first: number, count: number): { first: number; count: number }[] {
    return dirtyRuns(this.state, first, first + count);
  }

  /** The blocks that hold some of these pages and were used since that was last asked, and by whom. */
  young(first: number, count: number, clear: boolean): UsedPages[] {
    return youngRuns(this.state, first, count, clear);
  }

  /** Figures of a processor; those of one that has gone are its last. */
  figures(id: ProcessorId): ProcessorFigures {
    const processor = this.state.processors[id];
    if (processor === undefined) {
      const last = this.lastFigures.get(id);
      if (last === undefined) throw new Error(`there is no processor ${id}`);
      return last;
    }
    const { budgetPages, backedPages, peakPages, counters } = processor;
    return { budgetPages, backedPages, peakPages, counters };
  }

  private request(
    id: number,
    kind: TaskKind,
    processor: ProcessorId,
    first: number,
    count: number,
    access: Access,
    map: boolean,
    hold: boolean,
    options: AcquireOptions = {},
  ): void {
    const { exclusive = false, ahead = false } = options;
    const request: Request = {
      id,
      kind,
      processor,
      access,
      map,
      hold,
      exclusive,
      ahead,
      first,
      end: first + count,
      cursor: first,
      outstanding: 1,
      pages: 0,
      held: 0,
      failure: null,
    };
    this.state.effort++;
    this.state.requests.set(id, request);
    // The request itself counts as one until all that can be handed out now is.
    this.issue(request, 1);
    request.outstanding--;
    this.settleRequest(request);
    this.run();
  }

  /**
   * Hands out the next blocks of a request. One that holds its blocks takes them one by one and upwards, as all others do:
   * two that want the same blocks then never have what the other waits for.
   */
  private issue(request: Request, guards = 0): void {
    const { state } = this;
    const atOnce = (request.hold ? 1 : BLOCKS_AT_ONCE) + guards;
    while (request.cursor < request.end && request.outstanding < atOnce) {
      if (request.kind === 'present' && state.processors[request.processor]?.state !== 'alive')
        request.failure ??= 'LOST';
      if (request.failure === 'LOST' || (request.hold && request.failure !== null)) {
        request.cursor = request.end;
        break;
      }
      const index = Math.floor(request.cursor / PAGES_PER_BLOCK);
      const start = request.cursor - index * PAGES_PER_BLOCK;
      const end = Math.min(request.end - index * PAGES_PER_BLOCK, PAGES_PER_BLOCK);
      request.cursor = index * PAGES_PER_BLOCK + end;
      const unseen = request.kind === 'protect' || request.kind === 'guard';
      // A block that nobody has touched learns of these when it is made.
      if (unseen && !state.va.blocks.has(index) && state.va.rangeOfPage(index * PAGES_PER_BLOCK + start) !== undefined)
        continue;
      const block = state.va.block(index);
      if (block === undefined) {
        request.failure ??= 'OUTSIDE';
        continue;
      }
      request.outstanding++;
      this.addTask(block, request, blockMask(index, request.first, request.end));
    }
  }

  private addTask(block: Block, request: Request, mask: Int32Array): void {
    const { kind, processor, access, map, hold, exclusive, id } = request;
    // Who writes back holds the pages already: what waits for the end of holds must not stand in his way.
    const ahead = request.ahead || kind === 'clean';
    block.tasks.push({ kind, mask, processor, access, map, hold, exclusive, ahead, request: id, written: false });
    makeReady(this.state, block);
  }

  private onTaskDone(task: Task, pages: number, failure: DenyReason | null): void {
    const request = this.state.requests.get(task.request);
    if (request === undefined) return;
    request.pages += pages;
    request.failure ??= failure;
    request.outstanding--;
    this.issue(request);
    this.settleRequest(request);
  }

  private settleRequest(request: Request): void {
    if (request.outstanding > 0 || request.cursor < request.end) return;
    const { state } = this;
    state.requests.delete(request.id);
    if (request.kind === 'home') {
      this.drained(request.processor);
      return;
    }
    const launch = this.inner.get(request.id);
    if (launch === undefined) {
      if (request.hold && request.failure === null) state.holds += request.held;
      else if (request.held > 0) this.dropHolds(request);
      state.commands.requestDone(request.id, request.pages, request.failure);
      return;
    }
    this.inner.delete(request.id);
    launch.failure ??= request.failure;
    if (request.held > 0) launch.held.push(request);
    launch.outstanding--;
    this.advance(launch);
  }

  private requestFor(launch: Launch, kind: TaskKind, first: number, count: number, access: Access): void {
    const id = this.nextInner--;
    this.inner.set(id, launch);
    launch.outstanding++;
    this.request(id, kind, launch.processor, first, count, access, true, kind === 'present');
  }

  /** Takes a launch as far as it gets: first `out` is emptied, then a device without faults gathers block by block. */
  private advance(launch: Launch): void {
    const { owner } = launch;
    if (launch.outstanding > 0 || launch.stage === 'running') return;
    if (owner === undefined || owner.state !== 'alive') launch.failure ??= 'LOST';
    if (launch.stage === 'emptying' && owner !== undefined && launch.failure === null) {
      launch.stage = 'gathering';
      for (const { first, count, use } of launch.arguments) {
        owner.intents.push({ launch: launch.id, first, end: first + count, write: use !== 'in' });
      }
      noteUse(this.state, launch.processor, launch.arguments);
      if (!owner.description.faults) launch.blocks = blocksOf(launch.arguments);
    }
    while (launch.failure === null && launch.blocks.length > 0) {
      this.gather(launch, launch.blocks.pop() as number);
      if (launch.outstanding > 0) return;
    }
    launch.stage = 'running';
    if (launch.failure !== null) this.endHolds(launch);
    for (const request of launch.held) this.state.holds += request.held;
    this.state.commands.requestDone(launch.id, 0, launch.failure);
  }

  /**
   * Asks for all that the launch uses of one block, what it writes first: whoever holds a block for reading and then wants
   * to write it would wait for another one that does the same.
   */
  private gather(launch: Launch, block: number): void {
    launch.outstanding++;
    for (const access of [Access.Write, Access.Read]) {
      for (const argument of launch.arguments) {
        if ((argument.use === 'in' ? Access.Read : Access.Write) !== access) continue;
        const first = Math.max(argument.first, block * PAGES_PER_BLOCK);
        const end = Math.min(argument.first + argument.count, (block + 1) * PAGES_PER_BLOCK);
        if (first < end) this.requestFor(launch, 'present', first, end - first, access);
      }
    }
    launch.outstanding--;
  }

  private endHolds(launch: Launch): void {
    for (const request of launch.held) {
      if (launch.stage === 'running' && launch.failure === null) this.state.holds -= request.held;
      this.dropHolds(request);
    }
    launch.held.length = 0;
  }

  /** Ends the holds that a request took, which are on its blocks from the first on. */
  private dropHolds(request: Request): void {
    const first = Math.floor(request.first / PAGES_PER_BLOCK);
    for (let block = first; block < first + request.held; block++)
      this.dropHold(request.processor, block, request.first, request.end, request.access);
    request.held = 0;
  }

  private dropHold(id: ProcessorId, index: number, first: number, end: number, access: Access): boolean {
    const { state } = this;
    const block = state.va.blocks.get(index);
    const mapping = block?.mappings[id];
    if (block === undefined || mapping === undefined) return false;
    const mask = blockMask(index, first, end);
    const at = mapping.holds.findIndex((hold) => hold.access === access && equals(hold.mask, mask));
    if (at === -1) return false;
    mapping.holds.splice(at, 1);
    makeReady(state, block);
    processorOf(state, id).pump = true;
    return true;
  }

  private dropScratch(processor: Processor): void {
    for (const block of processor.scratchBlocks) {
      const residence = block.residences[processor.id];
      if (residence === undefined || isEmpty(residence.scratch)) continue;
      releaseBacking(this.state, block, processor, residence.scratch.slice());
      makeReady(this.state, block);
    }
    processor.scratchBlocks.clear();
  }

  private drain(processor: Processor): void {
    const { state } = this;
    const id = this.nextInner--;
    const request: Request = {
      id,
      kind: 'home',
      processor: processor.id,
      access: Access.None,
      map: false,
      hold: false,
      exclusive: false,
      ahead: false,
      first: 0,
      end: 0,
      cursor: 0,
      outstanding: 1,
      pages: 0,
      held: 0,
      failure: null,
    };
    state.effort++;
    state.requests.set(id, request);
    const mask = createMask().fill(-1);
    for (const block of state.va.blocks.values()) {
      // A task for the processor that still waits would otherwise outlive it, and be carried out for its successor.
      const asked = block.tasks.some((task) => task.processor === processor.id);
      if (block.residences[processor.id] === undefined && block.operation === null && !asked) continue;
      request.outstanding++;
      this.addTask(block, request, mask);
    }
    request.outstanding--;
    this.settleRequest(request);
    this.run();
  }

  /** Forgets what a processor that is no more had mapped, after a word to those who watch it. */
  private dropMappings(block: Block, id: ProcessorId): void {
    const mapping = block.mappings[id];
    if (mapping === undefined) return;
    const { commands } = this.state;
    const first = block.range.watchers > 0 ? next(mapping.mapped, 0) : PAGES_PER_BLOCK;
    let end = PAGES_PER_BLOCK;
    while (first < end && !has(mapping.mapped, end - 1)) end--;
    const page = block.index * PAGES_PER_BLOCK + first;
    if (first < end) commands.invalidate(page, end - first, 'migrate', id);
    clear(mapping.mapped);
    clear(mapping.writable);
    clear(mapping.waitingRead);
    clear(mapping.waitingWrite);
    mapping.waiting = false;
    if (first < end) commands.invalidated(page, end - first, 'migrate', id);
  }

  private drained(id: ProcessorId): void {
    const { state } = this;
    const processor = processorOf(state, id);
    for (const block of state.va.blocks.values()) {
      const mapping = block.mappings[id];
      if (mapping !== undefined) state.holds -= mapping.holds.length;
      // What could not be brought home, because every copy failed, goes with the processor.
      loseNode(state, block, processor);
      // It may have reached host memory in place until now, of which nothing had to come home.
      this.dropMappings(block, id);
      block.residences[id] = undefined;
      block.mappings[id] = undefined;
      block.remote &= ~(1 << id);
    }
    this.lastFigures.set(id, this.figures(id));
    state.processors[id] = undefined;
    forgetUser(state, id);
    for (let index = processor.waiters.head; index !== -1; index = processor.waiters.after(index))
      state.ready.append(index);
    state.commands.drained(id);
  }

  /** Goes on until nothing can be done without another event. */
  private run(): void {
    const { state } = this;
    if (this.running) return;
    this.running = true;
    for (;;) {
      const index = state.ready.head;
      if (index !== -1) {
        state.ready.remove(index);
        const block = state.va.blocks.get(index);
        if (block !== undefined) service(state, block, this.taskDone);
        continue;
      }
      if (!this.pump()) break;
    }
    this.running = false;
  }

  /** Lets those who wait for memory try again where some was given back. */
  private pump(): boolean {
    const { state } = this;
    let any = false;
    for (const processor of state.processors) {
      if (processor === undefined) continue;
      const idle = !somethingMoves(state, processor.id);
      if (!processor.pump && !(idle && processor.waiters.size > 0)) continue;
      if (processor.id === HOST && processor.pump) {
        for (let index = state.parked.head; index !== -1; index = state.parked.head) {
          state.parked.remove(index);
          state.ready.append(index);
          any = true;
        }
      }
      processor.pump = false;
      while (processor.waiters.head !== -1) {
        const index = processor.waiters.head;
        processor.waiters.remove(index);
        state.ready.append(index);
        any = true;
      }
    }
    return any;
  }
}
