/**
 * The memory manager: events in, commands out. It owns the logical page table of one space and decides every movement in it.
 * It knows no clock, no file and no thread; its driver hands in what happened and carries out what it asks for, so
 * that the pager and the simulator run the same code.
 */
import { aboutKnown, changeAdvice } from './advice.js';
import { Departures, type ProcessorFigures } from './departures.js';
import { type LaunchArgument, Launches } from './launches.js';
import { add, addRun, clear, createMask, has, remove, removeRun, size } from './mask.js';
import { revokeDone, transferDone } from './operation.js';
import { PageQueries } from './page-queries.js';
import { type AcquireOptions, Requests } from './requests.js';
import { service } from './service.js';
import {
  createProcessor,
  createState,
  isHeld,
  makeReady,
  mappingOf,
  type Policies,
  processorOf,
  protect,
  releaseBacking,
  type State,
  somethingMoves,
} from './state.js';
import {
  Access,
  type Advice,
  type Commands,
  type DenyReason,
  HOST,
  MAX_PROCESSORS,
  PAGES_PER_BLOCK,
  type ProcessorDescription,
  type ProcessorId,
  type Status,
} from './types.js';
import { forgetUse } from './usage.js';
import { rareMask } from './va-block.js';
import type { Range, RangeOptions } from './va-space.js';

export class MemoryManager {
  readonly state: State;
  /** What is known of pages. */
  readonly pages: PageQueries;
  private readonly requests: Requests;
  private readonly launches: Launches;
  private readonly departures: Departures;
  private running = false;

  /** @param blockCount size of the space in blocks of 2 MiB */
  constructor(commands: Commands, policies: Policies, blockCount: number) {
    const state = createState(commands, policies, blockCount);
    const run = (): void => this.run();
    this.state = state;
    this.pages = new PageQueries(state);
    this.requests = new Requests(
      state,
      (request) => {
        if (request.kind === 'home') this.departures.drained(request.processor);
        else this.launches.answered(request);
      },
      run,
    );
    this.launches = new Launches(state, this.requests, this.pages, run);
    this.departures = new Departures(state, this.requests, this.launches, run);
  }

  /** Adds a processor with its node; the first is the host. It gets the lowest number that no other has. */
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
    if (id === MAX_PROCESSORS) {
      const message = `${description.name}: there are ${MAX_PROCESSORS} processors already, the host among them; detach one before another is added`;
      throw new RangeError(message);
    }
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
      state.commands.deny(id, page, write, thread, 'OUTSIDE', false);
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
    this.requests.ask({ id: request, kind: 'present', processor, first, count, access, map, hold, ...options });
  }

  /** Ends a hold that `acquire` with the same arguments took. One that failed holds nothing and needs none. */
  release(processor: ProcessorId, first: number, count: number, access: Access): void {
    this.requests.release(processor, first, count, access);
  }

  /** Forgets the content of pages: they read as zero from now on. Their memory is kept. */
  zero(request: number, first: number, count: number): void {
    this.requests.ask({ id: request, kind: 'zero', first, count });
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
      range.protection.set(begin, begin + count, access);
    }
    this.requests.ask({ id: request, kind: 'protect', first, count, access });
  }

  /**
   * From when this is done these pages, which have been cloned, are not written before `save` has been answered for them. What is
   * already guarded stays so.
   */
  guard(request: number, first: number, count: number): void {
    const range = this.state.va.rangeOfPage(first);
    range?.guards.set(first - range.first, first - range.first + count, true);
    this.requests.ask({ id: request, kind: 'guard', first, count, access: Access.Read });
  }

  /**
   * The clones of these pages have their content: processors that want to write them may go on. With a failure some clone could not be
   * given it: then processors that want to write are refused for that reason, and the clone has it from here as before.
   */
  saved(first: number, count: number, failure: DenyReason | null): void {
    const { state } = this;
    const index = Math.floor(first / PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    if (block === undefined) throw new Error(`pages from ${first} on were not asked to be saved`);
    const { range } = block;
    const inBlock = first - index * PAGES_PER_BLOCK;
    removeRun(block.saving, inBlock, count);
    if (failure === null) {
      removeRun(block.guarded, inBlock, count);
      range.guards.set(first - range.first, first - range.first + count, false);
    } else {
      block.unsaved ??= new Map();
      for (let page = inBlock; page < inBlock + count; page++) block.unsaved.set(page, failure);
    }
    state.saves -= count;
    makeReady(state, block);
    this.run();
  }

  /**
   * Fills pages of one block from their provider and makes the content theirs from then on, which the provider need not give again.
   * With `lastChance` it cannot: a single page that cannot be filled is lost; of several each must be asked for again. What is dirty,
   * blank or freed already stays as it is.
   */
  own(request: number, first: number, count: number, lastChance: boolean): void {
    this.requests.ask({ id: request, kind: 'own', first, count, access: Access.Read, ahead: true, lastChance });
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

  /** These pages are zero, whatever their provider would give; what a node holds of them already stays. */
  blank(first: number, count: number): void {
    for (let page = first; page < first + count; page++) {
      const block = this.state.va.block(Math.floor(page / PAGES_PER_BLOCK));
      if (block !== undefined) add(block.blank, page % PAGES_PER_BLOCK);
    }
  }

  /** Notes what the program says about its use of whole blocks. It moves nothing and takes nothing from anybody. */
  advise(range: Range, first: number, end: number, change: Partial<Advice>): void {
    const known = aboutKnown(this.state, change);
    changeAdvice(this.state, range, first, end, (advice) => ({ ...advice, ...known }));
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

  /** A subscriber wants to know of invalidations of the range from now on (`by` 1), or no more (-1). */
  watch(range: Range, by: 1 | -1): void {
    range.watchers += by;
  }

  /** From now on these pages of a range, by page of it, are what the same pages of another range are; null: of no other one. */
  derive(range: Range, begin: number, end: number, source: Range | null): void {
    range.sources.set(begin, end, source);
  }

  /** Begins anew to note who uses these pages (`pages.young`). */
  forgetUse(first: number, count: number): void {
    forgetUse(this.state, first, count);
  }

  /** The range of this number, as long as its addresses are its own. */
  range(id: number): Range | undefined {
    return this.state.va.range(id);
  }

  /** The host has lost its mapping of a page by other means than a command: it was poisoned. */
  unmapped(page: number): void {
    const block = this.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const mapping = block?.mappings[HOST];
    if (mapping === undefined) return;
    remove(mapping.mapped, page % PAGES_PER_BLOCK);
    remove(mapping.writable, page % PAGES_PER_BLOCK);
  }

  /** Gives pages back for good. Later accesses are denied. */
  free(request: number, first: number, count: number): void {
    this.requests.ask({ id: request, kind: 'free', first, count });
  }

  /**
   * Begins to write back changed pages, which the caller holds on the host: when it is through, they stand still, and `cleaned`
   * tells what became of it. A processor that writes one meanwhile leaves it changed.
   */
  clean(request: number, first: number, count: number): void {
    this.requests.ask({ id: request, kind: 'clean', first, count });
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
    this.requests.ask({ id: request, kind: all ? 'revert' : 'drop', first, count });
  }

  /** Brings every page home from the processor's node, then forgets the processor. Its launches must have ended. */
  detach(id: ProcessorId): void {
    this.departures.detach(id);
  }

  /** The processor is dead. Its pages come home if its memory survives; otherwise what only it held is lost. */
  processorLost(id: ProcessorId): void {
    this.departures.lost(id);
  }

  /** Figures of a processor; those of one that has gone are its last. */
  figures(id: ProcessorId): ProcessorFigures {
    return this.departures.figures(id);
  }

  /**
   * Has a processor, no thread of which runs, reach host memory in place where it was advised so (accessedBy) in these parts, and its
   * own memory where not.
   */
  arrange(id: number, processor: ProcessorId, parts: readonly { first: number; count: number }[]): void {
    this.launches.arrange(id, processor, parts);
  }

  /**
   * Prepares a launch: `out` ranges are emptied; a device without faults gets all pages at once and keeps them. When
   * `requestDone` has come for `id`, the launch may run; `launchEnd` must follow, whatever became of it. One launch of a
   * device at a time may be between the two.
   */
  launchBegin(id: number, processor: ProcessorId, args: readonly LaunchArgument[]): void {
    this.launches.begin(id, processor, args);
  }

  /** The launch has ended, or will not run. Its pages may move again; scratch pages of denied accesses go. */
  launchEnd(id: number): void {
    this.launches.end(id);
  }

  /** Pages that a launch on a device without faults needs at once. */
  launchPages(args: readonly LaunchArgument[]): number {
    return this.launches.pagesOf(args);
  }

  /** A processor was seen using the block of this page, without a fault. */
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
        if (block !== undefined) service(state, block, this.requests.taskDone);
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
