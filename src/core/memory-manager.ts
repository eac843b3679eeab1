/**
 * The memory manager: events in, commands out. It owns the logical page table of one space and
 * decides every movement in it. It knows no clock, no file and no thread; its driver hands in what
 * happened and carries out what it asks for, so that the pager and the simulator run the same code.
 */

import {
  add,
  addRun,
  and,
  andNot,
  clear,
  createMask,
  has,
  next,
  remove,
  removeRun,
  size,
} from './basics/mask.js';
import {
  Access,
  type Advice,
  type Commands,
  type DenyReason,
  type DeviceDescription,
  HOST,
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeDescription,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorDescription,
  type ProcessorId,
  type Status,
} from './basics/types.js';
import { checkInvariants } from './invariants.js';
import { revokeDone } from './movement/operation.js';
import { transferDone } from './movement/operation-transfers.js';
import { type AcquireOptions, Requests } from './movement/requests.js';
import { Room } from './movement/room.js';
import { beginLater } from './pattern/read-ahead.js';
import { PageQueries } from './queries/page-queries.js';
import { forgetUse } from './queries/usage.js';
import { aboutKnown, changeAdvice } from './service/advice.js';
import { addDevice, addNode, addProcessor, setHome } from './service/arrivals.js';
import { refuseWanted } from './service/denials.js';
import { Departures, type ProcessorFigures } from './service/departures.js';
import { type LaunchArgument, Launches } from './service/launches.js';
import { recycle } from './service/recycling.js';
import { service } from './service/service.js';
import { beginWish, haveWishes, mayWish } from './service/wishes.js';
import { lose } from './table/absence.js';
import { classify, releaseDone } from './table/backing.js';
import { onlyOn } from './table/contents.js';
import { capacityOf, type Node } from './table/nodes.js';
import type { Policies, Processor } from './table/processors.js';
import type { Range, RangeOptions } from './table/range.js';
import { shield } from './table/shields.js';
import {
  createState,
  makeReady,
  mappingOf,
  nodeOf,
  processorOf,
  type State,
} from './table/state.js';
import { endRoomWait, NO_PAGES, rareMask } from './table/va-block.js';

/** What is known of a processor: another object for each, though numbers are given again. */
export type KnownProcessor = Readonly<
  Pick<Processor, 'id' | 'description' | 'localNode' | 'state'>
>;
/** The same of a node. */
export type KnownNode = Readonly<
  Pick<Node, 'id' | 'description' | 'owner' | 'state' | 'budgetPages' | 'backedPages' | 'counters'>
>;

export class MemoryManager {
  protected readonly state: State;
  readonly pages: PageQueries;
  private readonly requests: Requests;
  private readonly launches: Launches;
  private readonly departures: Departures;
  private readonly room: Room;
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
        if (request.kind === 'home') this.departures.drained(request);
        else this.launches.answered(request);
      },
      run,
    );
    this.launches = new Launches(state, this.requests, this.pages, run);
    this.departures = new Departures(state, this.requests, this.launches, run);
    this.room = new Room(state, run);
  }

  /**
   * Adds a processor with a memory of its own, whose pages go to `home` when it makes room;
   * NO_NODE: only what can be had again may go. The first is the host. Both get the lowest number
   * that no other of their kind has.
   */
  addDevice(
    description: DeviceDescription,
    home: NodeId = HOST_NODE,
  ): { processor: ProcessorId; node: NodeId } {
    return addDevice(this.state, description, home);
  }

  /** Adds a memory that no processor runs on, such as a store. */
  addNode(description: NodeDescription, home: NodeId = NO_NODE): NodeId {
    return addNode(this.state, description, home);
  }

  /** Adds a processor without memory of its own: it reaches the host's in place. */
  addProcessor(description: ProcessorDescription): ProcessorId {
    return addProcessor(this.state, description);
  }

  /** From now on the node's pages go there when it makes room. */
  setHome(node: NodeId, home: NodeId): void {
    setHome(this.state, node, home);
  }

  /**
   * Reserves addresses for `pages` pages, or for `reserved` when the range is to grow. Null: the
   * space has none left. Nothing is touched.
   */
  allocate(pages: number, options: RangeOptions, reserved?: number): Range | null {
    return this.state.va.allocate(pages, options, reserved);
  }

  /** A thread waits for a page. A hint: for a page that is there it only wakes the thread. */
  fault(id: ProcessorId, page: number, write: boolean, thread: number): void {
    const { state } = this;
    const processor = state.processors[id];
    // The message may have been on its way when the processor died or was told to leave: none of
    // its threads waits any more.
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
    const mapping = mappingOf(state, block, id);
    block.young |= 1 << id;
    if (has(write ? mapping.writable : mapping.mapped, inBlock)) {
      processor.counters.repeatedFaults++;
      state.commands.wake(id, page, 1, has(mapping.writable, inBlock) ? Access.Write : Access.Read);
      return;
    }
    state.effort++;
    shield(state, processor, thread, block);
    const reached = nodeOf(state, mapping.node);
    reached.eviction.used(index);
    if (reached.lastUsed !== index) mayWish(state, reached);
    reached.lastUsed = index;
    addRun(write ? mapping.waitingWrite : mapping.waitingRead, inBlock, 1);
    mapping.waiting = true;
    mapping.waitsForRoom = false;
    mapping.urgentPage = inBlock;
    mapping.urgentThread = thread;
    makeReady(state, block);
    this.run();
  }

  /** Whether blocks wait to be brought ahead of processors. */
  get bringsAhead(): boolean {
    return this.state.later.length > 0;
  }

  /** Whether there are such blocks, or plans may name some when they are asked. */
  get waitsToGoAhead(): boolean {
    return this.bringsAhead || haveWishes(this.state);
  }

  /** No thread waits for anything just now: begins to bring the next block ahead of a processor. */
  goAhead(): void {
    if (this.state.later.length > 0) beginLater(this.state);
    else beginWish(this.state);
    this.run();
  }

  /** All have heard that this processor, which was drained, has gone. */
  endHeard(processor: ProcessorId): void {
    this.departures.heard(processor);
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

  /** A node's driver says that nothing uses frames any more which were released (`Pending`). */
  released(token: number): void {
    const entry = this.state.tokens[token];
    if (entry === undefined) throw new Error(`unknown token ${token}`);
    releaseDone(this.state, entry);
    this.departures.released();
    this.run();
  }

  /**
   * Makes pages present for a processor, in the memory that it reaches, and maps them;
   * `requestDone` tells how many are. With `hold` they stay in the processor's own memory until
   * `release`.
   */
  acquire(
    request: number,
    processor: ProcessorId,
    first: number,
    count: number,
    access: Access,
    options: AcquireOptions = {},
  ): void {
    this.requests.ask({
      id: request,
      kind: 'present',
      processor,
      first,
      count,
      access,
      map: true,
      ...options,
    });
  }

  /** Makes pages present on a node, mapped for no processor; otherwise as `acquire`. */
  bring(
    request: number,
    node: NodeId,
    first: number,
    count: number,
    access: Access,
    options: AcquireOptions = {},
  ): void {
    const processor = this.state.nodes[node]?.owner ?? NO_PROCESSOR;
    this.requests.ask({
      id: request,
      kind: 'present',
      node,
      processor,
      first,
      count,
      access,
      ...options,
    });
  }

  /** Ends a hold of these pages on a node. One that failed holds nothing and needs none. */
  release(node: NodeId, first: number, count: number, access: Access): void {
    this.requests.release(node, first, count, access);
  }

  /** Forgets the content of pages: they read as zero from now on. Their memory is kept. */
  zero(request: number, first: number, count: number): void {
    this.requests.ask({ id: request, kind: 'zero', first, count });
  }

  /**
   * Lets processors do no more than `access` to these pages from now on. More than the range was
   * made with is not to be had: the caller has looked.
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
   * Threads that want a right to these pages, which lie in one block, do not get it, and are denied
   * the access. Those that lack room of a disk that is full ask for the right again when there may
   * be some.
   */
  refuse(first: number, count: number, reason: DenyReason): void {
    const { state } = this;
    const index = Math.floor(first / PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    if (block === undefined) return;
    const from = first - index * PAGES_PER_BLOCK;
    for (const processor of state.processors) {
      if (processor !== undefined) refuseWanted(state, block, processor, from, count, reason);
    }
    const waits = block.mappings.some((mapping) => mapping?.waiting);
    if (waits && !state.waitsForRoom.has(index)) makeReady(state, block);
    this.run();
  }

  /**
   * These pages have been cloned: from when this is done no processor writes them before
   * `breakCopyOnWrite` has been answered for them. What is copy-on-write already stays so.
   */
  copyOnWrite(request: number, first: number, count: number): void {
    const range = this.state.va.rangeOfPage(first);
    range?.copyOnWrite.set(first - range.first, first - range.first + count, true);
    this.requests.ask({ id: request, kind: 'copyOnWrite', first, count, access: Access.Read });
  }

  /**
   * The clones of these pages have their content: processors that want to write them may go on.
   * With a failure some clone could not be given it: then processors that want to write are refused
   * for that reason, and the clone has it from here as before.
   */
  copyOnWriteBroken(first: number, count: number, failure: DenyReason | null): void {
    const { state } = this;
    const index = Math.floor(first / PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    if (block === undefined)
      throw new Error(`pages from ${first} on were not to be copied for clones`);
    const { range } = block;
    const inBlock = first - index * PAGES_PER_BLOCK;
    removeRun(block.breaking, inBlock, count);
    if (failure === null) {
      removeRun(block.copyOnWrite, inBlock, count);
      endRoomWait(block);
      range.copyOnWrite.set(first - range.first, first - range.first + count, false);
    } else {
      block.unbroken ??= new Map();
      for (let page = inBlock; page < inBlock + count; page++) block.unbroken.set(page, failure);
    }
    state.breaks -= count;
    makeReady(state, block);
    this.run();
  }

  /**
   * Fills pages of one block from their provider and makes the content theirs from then on, which
   * the provider need not give again. With `lastChance` it cannot: a single page that cannot be
   * filled for good is lost; of several each must be asked for again. What is dirty, blank or freed
   * already stays as it is.
   */
  materialize(request: number, first: number, count: number, lastChance: boolean): void {
    this.requests.ask({
      id: request,
      kind: 'materialize',
      first,
      count,
      access: Access.Read,
      overtakes: true,
      lastChance,
    });
  }

  /**
   * Makes the range have `pages` pages, of which those from page `from` of the range on are new and
   * zero, also where it had some before and gave them back. No request for these may be under way.
   */
  grow(range: Range, from: number, pages: number): void {
    const { state } = this;
    if (pages > range.reserved)
      throw new Error(`a range of ${range.reserved} reserved pages cannot have ${pages}`);
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
        if (range.writable)
          removeRun(block.unwritable, page - index * PAGES_PER_BLOCK, next - page);
        range.freedPages -= before - size(block.freed);
      }
      page = next;
    }
    range.protection.set(from, pages, range.writable ? Access.Write : Access.Read);
    range.pages = Math.max(range.pages, pages);
  }

  /**
   * Pages by which a range has grown are about to be used. A processor that maps granules of which
   * they are has found something there that was no content: when this is through it faults there.
   */
  unmapGranules(request: number, first: number, count: number): void {
    this.requests.ask({ id: request, kind: 'unmapGranules', first, count });
  }

  /** These pages are zero, whatever their provider would give; nodes keep what they hold. */
  blank(first: number, count: number): void {
    for (let page = first; page < first + count; page++) {
      const block = this.state.va.block(Math.floor(page / PAGES_PER_BLOCK));
      if (block !== undefined) add(block.blank, page % PAGES_PER_BLOCK);
    }
  }

  /** Notes advice for whole blocks. It moves nothing and takes nothing from anybody. */
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
    nodeOf(state, HOST_NODE).pump = true;
    this.run();
  }

  /**
   * Threads of host memory get rights to pages of the range only by faults of their own from now
   * on, or again as usual. What they have is taken.
   */
  guard(request: number, range: Range, on: boolean): void {
    range.guarded = on;
    const { first, pages: count } = range;
    this.requests.ask({ id: request, kind: 'unmap', first, count });
  }

  /** A subscriber wants to know of invalidations of the range (`by` 1), or no more (-1). */
  watch(range: Range, by: 1 | -1): void {
    range.watchers += by;
  }

  /** From now on these pages of a range are those of another one; null: of none. */
  derive(range: Range, begin: number, end: number, source: Range | null): void {
    range.sources.set(begin, end, source);
  }

  /** Begins anew to note which processors use these pages (`pages.young`). */
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
   * Begins to write back changed pages, which the caller holds on the host: when it is through,
   * they stand still, and `cleaned` tells what became of it. A processor that writes one meanwhile
   * leaves it changed.
   */
  clean(request: number, first: number, count: number): void {
    this.requests.ask({ id: request, kind: 'clean', first, count });
  }

  /** Pages were written back, or could not be. Those not changed since are their provider's. */
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
      and(run, block.cleaning);
      andNot(block.cleaning, run);
      if (!written) continue;
      andNot(block.dirty, run);
      andNot(block.blank, run);
    }
  }

  /** Has pages come from their provider again. Changes are kept, or with `all` forgotten. */
  drop(request: number, first: number, count: number, all: boolean): void {
    this.requests.ask({ id: request, kind: all ? 'revert' : 'drop', first, count });
  }

  /** Brings all pages home from a processor's node, then forgets it. Its launches are over. */
  detach(id: ProcessorId): void {
    this.departures.detach(id);
  }

  /** The processor is dead. Its pages come home if its memory survives; else they are lost. */
  processorLost(id: ProcessorId): void {
    this.departures.lost(id);
  }

  /** Sends the pages of a node without a processor home, or to the host, then forgets it. */
  removeNode(id: NodeId): void {
    this.departures.remove(id);
  }

  /** A node without a processor is dead: what only it held is lost, unless its memory survives. */
  nodeLost(id: NodeId): void {
    this.departures.nodeLost(id);
  }

  /**
   * The node is to have `pages` at most. Returns how many it has beyond that: until it is told so
   * again and there are none, what it needs it still gets, and what can leave does.
   */
  setBudget(id: NodeId, pages: number): number {
    return this.room.setBudget(id, pages);
  }

  /**
   * The driver of a node found no room for what the budget allows: it can take `pages` in all,
   * until it says otherwise. Null: it can take more again.
   */
  nodeFull(id: NodeId, pages: number | null): void {
    this.room.nodeFull(id, pages);
  }

  /** Whether a thread waits for room that a store, or a file, may have again soon. */
  get waitsForRoom(): boolean {
    return this.state.waitsForRoom.size > 0;
  }

  /**
   * There is still no room for processors that wait for some: one that was told so often enough,
   * and got no page meanwhile, is refused.
   */
  stillNoRoom(): void {
    this.room.stillNone();
  }

  /**
   * The provider of this page's range could not take changed pages, and is given none (`refuses`),
   * or may be given some again. What it does not take goes to the host's home, if there is one, or
   * stays.
   */
  providerRefuses(page: number, refuses: boolean): void {
    this.room.providerRefuses(page, refuses);
  }

  /**
   * Pages of one block came back from a node other than they were sent there, or not at all since
   * it has them no more ('GONE'), and the transfer that should bring them is about to fail: what
   * the node has of them is never read, and what only it had is lost.
   */
  spoiled(
    id: NodeId,
    first: number,
    count: number,
    reason: 'CORRUPTED' | 'ALTERED' | 'GONE' = 'CORRUPTED',
  ): void {
    const { state } = this;
    const index = Math.floor(first / PAGES_PER_BLOCK);
    const block = state.va.blocks.get(index);
    const residence = block?.residences[id];
    if (block === undefined || residence === undefined) return;
    const mask = createMask();
    addRun(mask, first - index * PAGES_PER_BLOCK, count);
    and(mask, residence.resident);
    andNot(residence.resident, mask);
    onlyOn(state, block, id, mask, mask);
    and(mask, block.dirty);
    andNot(mask, block.freed);
    lose(block, mask, reason);
    classify(state, block);
  }

  /**
   * A node that is alive has no more what it had: all of it, or what lies in parts of its memory.
   * Part n is every `of`th 2 MiB of its frames, from the nth on. What is on its way there is not
   * concerned: it must not have arrived before this is told.
   */
  forgot(id: NodeId, parts: readonly number[], of: number): void {
    const { state } = this;
    for (const block of state.va.blocks.values()) {
      const residence = block.residences[id];
      const frames = residence?.frames ?? null;
      if (residence === undefined || frames === null) continue;
      for (
        let page = next(residence.resident, 0);
        page < PAGES_PER_BLOCK;
        page = next(residence.resident, page + 1)
      ) {
        if (parts.includes(Math.floor(frames[page] / PAGES_PER_BLOCK) % of))
          add(rareMask(residence, 'forgotten'), page);
      }
      if (residence.forgotten !== NO_PAGES) makeReady(state, block);
    }
    this.run();
  }

  /** The processor that has this number now. */
  processor(id: ProcessorId): KnownProcessor | undefined {
    return this.state.processors[id];
  }

  /** The node that has this number now. */
  node(id: NodeId): KnownNode | undefined {
    return this.state.nodes[id];
  }

  /** Figures of a processor and its own memory; of one that has gone, the last ones. */
  figures(id: ProcessorId): ProcessorFigures {
    return this.departures.figures(id);
  }

  /** The most written pages that there can be: what the host holds, and what it can send on. */
  capacityPages(): number {
    return capacityOf(this.state.nodes);
  }

  /**
   * Has a processor, no thread of which runs, reach host memory in place where it was advised so
   * (accessedBy) in these parts, and its own memory where not.
   */
  arrange(
    id: number,
    processor: ProcessorId,
    parts: readonly { first: number; count: number }[],
  ): void {
    this.launches.arrange(id, processor, parts);
  }

  /**
   * Prepares a launch: `out` ranges are emptied; a device without faults gets all pages at once and
   * keeps them. When `requestDone` has come for `id`, the launch may run; `launchEnd` must follow,
   * whatever became of it. One launch of a device at a time may be between the two.
   * @param kernel its name: what it uses is remembered by it
   * @param whole no other launch does a part of its work items
   */
  launchBegin(
    id: number,
    processor: ProcessorId,
    args: readonly LaunchArgument[],
    kernel = '',
    whole = true,
  ): void {
    this.launches.begin(id, processor, args, kernel, whole);
  }

  /** A launch waits for earlier ones of its processor. It may be told of another one instead. */
  launchWaits(processor: ProcessorId, args: readonly LaunchArgument[], kernel: string): void {
    this.launches.wait(processor, args, kernel);
  }

  /** The launch has ended, or will not run. Its pages may move; scratch pages of denials go. */
  launchEnd(id: number): void {
    this.launches.end(id);
  }

  /** Pages that a launch on a device without faults needs at once. */
  launchPages(args: readonly LaunchArgument[], processor: ProcessorId): number {
    return this.launches.pagesOf(args, processor);
  }

  /** A processor was seen using the block of this page, without a fault. */
  used(id: ProcessorId, page: number): void {
    const { state } = this;
    const index = Math.floor(page / PAGES_PER_BLOCK);
    const reached =
      state.va.blocks.get(index)?.mappings[id]?.node ?? processorOf(state, id).localNode;
    state.nodes[reached]?.eviction.used(index);
  }

  /** Throws an Error that names what does not hold (invariants.ts). Walks over all blocks. */
  checkInvariants(): void {
    checkInvariants(this.state);
  }

  /** Makes a range's addresses usable again once all pages are freed and no view is left. */
  recycle(range: Range): boolean {
    if (!recycle(this.state, range)) return false;
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
      if (!this.room.pump()) break;
    }
    this.running = false;
  }
}
