/** Launches: what a device needs before its kernel runs, keeps meanwhile, and gives back. */
import { addRun, andNot, clear, createMask, isEmpty, size, sizeOfRun } from '../basics/mask.js';
import {
  Access,
  type BlockSpan,
  type DenyReason,
  NO_NODE,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../basics/types.js';
import { makeRoomTogether } from '../movement/reclaim.js';
import type { Requests } from '../movement/requests.js';
import { belongsInPlace } from '../pattern/turns.js';
import type { PageQueries } from '../queries/page-queries.js';
import { noteArguments, noteUse } from '../queries/usage.js';
import { releaseBacking } from '../table/backing.js';
import { widen } from '../table/granules.js';
import type { Processor } from '../table/processors.js';
import type { Range } from '../table/range.js';
import { unshieldAll } from '../table/shields.js';
import { isRemote, makeReady, mappingOf, processorOf, type State } from '../table/state.js';
import type { Block } from '../table/va-block.js';
import type { Request, TaskKind } from '../table/work.js';
import { mayWish } from './wishes.js';

/** How a launch uses one range of pages. */
export interface LaunchArgument {
  readonly first: number;
  readonly count: number;
  readonly use: 'in' | 'out' | 'inout';
}

/** Each block of another memory splits a mapping; the kernel allows 65,530. */
const REMOTE_BLOCKS = 8192;
/** Blocks beside the one whose turn it is: they keep an engine busy, and bury no fault. */
const BLOCKS_EARLY = 4;

interface Launch {
  readonly id: number;
  readonly processor: ProcessorId;
  /** The processor itself: its number may be another's when the launch ends. */
  readonly owner: Processor | undefined;
  readonly kernel: string;
  /** It does all that its kernel does with the arguments: only then it says what comes. */
  readonly whole: boolean;
  readonly arguments: readonly LaunchArgument[];
  stage: 'emptying' | 'gathering' | 'running';
  /** The eviction policy knows of it. */
  isTold: boolean;
  outstanding: number;
  failure: DenyReason | null;
  /** Blocks that are still to be gathered, the last one first. */
  blocks: number[];
  /** Those of them, of the next ones, that have been asked for before their turn. */
  early: number;
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

function spansOf(args: readonly LaunchArgument[]): BlockSpan[] {
  return args.flatMap(({ first, count, use }) => {
    const end = Math.ceil((first + count) / PAGES_PER_BLOCK);
    const begin = Math.floor(first / PAGES_PER_BLOCK);
    const span = { first: begin, end, emptied: use === 'out', written: use !== 'in' };
    return count === 0 ? [] : [span];
  });
}

function partIn(argument: LaunchArgument, block: number): { first: number; count: number } {
  const first = Math.max(argument.first, block * PAGES_PER_BLOCK);
  const end = Math.min(argument.first + argument.count, (block + 1) * PAGES_PER_BLOCK);
  return { first, count: end - first };
}

function isUnadvised(range: Range): boolean {
  return range.advice.isUniform && range.advice.at(0).accessedBy === 0;
}

/**
 * Whether some pages of the block are denied to kernels. Then it migrates: in host memory that is
 * reached in place nothing could stand in for a page, and the device would have to end. Pages of a
 * range that was made to be read only are reached in place all the same.
 */
function mayBeDenied(block: Block): boolean {
  if (block.range.writable && !isEmpty(block.unwritable)) return true;
  return !isEmpty(block.unreadable) || !isEmpty(block.freed) || !isEmpty(block.lost);
}

export class Launches {
  private readonly launches = new Map<number, Launch>();
  private readonly inner = new Map<number, Launch>();

  constructor(
    private readonly state: State,
    private readonly requests: Requests,
    private readonly pages: PageQueries,
    private readonly run: () => void,
  ) {}

  /**
   * Puts memory where it was advised to be (accessedBy), or where it goes to and fro no more. At
   * most REMOTE_BLOCKS blocks of a processor at a time: the others migrate.
   */
  arrange(
    id: number,
    processor: ProcessorId,
    parts: readonly { first: number; count: number }[],
  ): void {
    const { state } = this;
    const owner = processorOf(state, processor);
    if (!state.inPlace || owner.description.remoteAccess !== true) {
      state.commands.requestDone(id, 0, null);
      return;
    }
    const request = this.requests.open(id, 'mapRemote', NO_NODE, processor);
    for (const index of blocksOf(parts)) {
      const range = state.va.rangeOfPage(index * PAGES_PER_BLOCK);
      const block =
        range === undefined || isUnadvised(range)
          ? state.va.blocks.get(index)
          : state.va.block(index);
      if (block === undefined) continue;
      const inPlace = isRemote(block, owner);
      const wanted = belongsInPlace(state, block, owner) && !mayBeDenied(block);
      const covered = inPlace && !isEmpty(mappingOf(state, block, processor).standIn);
      if (wanted === inPlace && !covered) continue;
      const all = createMask().fill(-1);
      // What stood in for pages that an earlier launch was denied goes with the mapping.
      if (inPlace) this.requests.addTask(block, request, all, 'mapLocal');
      if (!wanted || (!inPlace && owner.remoteBlocks >= REMOTE_BLOCKS)) continue;
      owner.remoteBlocks++;
      this.requests.addTask(block, request, all, 'mapRemote');
    }
    this.requests.close(request);
  }

  /** A launch waits for those before it. */
  wait(processor: ProcessorId, args: readonly LaunchArgument[], kernel: string): void {
    const { state } = this;
    const localNode = state.processors[processor]?.localNode ?? NO_NODE;
    const node = state.nodes[localNode];
    node?.eviction.launchWaits?.(kernel, spansOf(args));
    if (node !== undefined) mayWish(state, node);
  }

  begin(
    id: number,
    processor: ProcessorId,
    args: readonly LaunchArgument[],
    kernel: string,
    whole: boolean,
  ): void {
    const owner = this.state.processors[processor];
    const launch: Launch = {
      id,
      processor,
      owner,
      kernel,
      whole,
      arguments: args,
      stage: 'emptying',
      isTold: false,
      outstanding: 1,
      failure: owner?.state === 'alive' ? null : 'DEVICE_LOST',
      blocks: [],
      early: 0,
      held: [],
    };
    this.launches.set(id, launch);
    // Nothing is emptied for a launch that could not write it then.
    for (const { use, first, count } of args) {
      if (use === 'out' && count > 0)
        launch.failure ??= this.pages.denial(first, count, Access.Write, processor);
    }
    if (launch.failure === null) {
      for (const { use, first, count } of args)
        if (use === 'out') this.ask(launch, 'zero', first, count, Access.None);
    }
    launch.outstanding--;
    this.advance(launch);
    this.run();
  }

  end(id: number): void {
    const launch = this.launches.get(id);
    if (launch === undefined) return;
    this.launches.delete(id);
    const processor = launch.owner;
    if (processor === undefined || processor !== this.state.processors[launch.processor]) return;
    this.state.effort++;
    if (launch.isTold) this.state.nodes[processor.localNode]?.eviction.launchEnds?.();
    this.endHolds(launch);
    if (processor.state === 'dead') return;
    // Until now it was used, whatever was asked meanwhile.
    if (launch.stage === 'running' && launch.failure === null)
      noteUse(this.state, launch.processor, launch.arguments);
    const { intents } = processor;
    for (let index = intents.length - 1; index >= 0; index--)
      if (intents[index].launch === id) intents.splice(index, 1);
    this.dropScratch(processor);
    unshieldAll(this.state, processor);
    this.run();
  }

  /**
   * Pages that a launch on a device without faults needs at once. Whole blocks count, since what
   * else the device has of a block that it holds cannot be taken from it meanwhile; and whole
   * granules of the device's memory.
   */
  pagesOf(args: readonly LaunchArgument[], processor: ProcessorId): number {
    const node = this.state.nodes[processorOf(this.state, processor).localNode];
    const { granulePages = 1, large = null } = node ?? {};
    let pages = 0;
    let granule = -1;
    for (const index of blocksOf(args)) {
      if (large !== null) {
        if (large.numberOf(index) !== granule) pages += large.pages;
        granule = large.numberOf(index);
        continue;
      }
      let counted = 0;
      const block = this.state.va.blocks.get(index);
      const first = index * PAGES_PER_BLOCK;
      const range = this.state.va.rangeOfPage(first);
      // A question makes no block: another time it may not be asked.
      if (block?.gone === false) counted = size(block.inside);
      else if (range !== undefined)
        counted = Math.max(0, Math.min(PAGES_PER_BLOCK, range.first + range.pages - first));
      pages += Math.ceil(counted / granulePages) * granulePages;
    }
    return pages;
  }

  lost(processor: Processor): void {
    for (const launch of this.launches.values()) {
      if (launch.owner !== processor) continue;
      if (launch.stage === 'running') this.endHolds(launch);
      launch.failure ??= 'DEVICE_LOST';
    }
  }

  /** Something that was asked for a launch is there, or will never be. */
  answered(request: Request): void {
    // What a launch had come before its turn it asks for again.
    if (request.early) return;
    const launch = this.inner.get(request.id);
    if (launch === undefined) throw new Error(`request ${request.id} is no launch's`);
    this.inner.delete(request.id);
    launch.failure ??= request.failure;
    if (request.held > 0) launch.held.push(request);
    launch.outstanding--;
    this.advance(launch);
  }

  private ask(launch: Launch, kind: TaskKind, first: number, count: number, access: Access): void {
    const id = this.requests.newInner();
    this.inner.set(id, launch);
    launch.outstanding++;
    const { processor } = launch;
    this.requests.ask({
      id,
      kind,
      processor,
      first,
      count,
      access,
      map: true,
      hold: kind === 'present',
    });
  }

  /** Takes a launch as far as it gets: empties `out`, then gathers blocks without faults. */
  private advance(launch: Launch): void {
    const { owner } = launch;
    if (launch.outstanding > 0 || launch.stage === 'running') return;
    if (owner === undefined || owner.state !== 'alive') launch.failure ??= 'DEVICE_LOST';
    if (launch.stage === 'emptying' && owner !== undefined && launch.failure === null) {
      launch.stage = 'gathering';
      for (const { first, count, use } of launch.arguments) {
        owner.intents.push({ launch: launch.id, first, end: first + count, write: use !== 'in' });
      }
      noteUse(this.state, launch.processor, launch.arguments);
      noteArguments(this.state, owner.localNode, launch.arguments, !owner.description.faults);
      const node = this.state.nodes[owner.localNode];
      if (launch.whole) {
        node?.eviction.launchBegins?.(launch.kernel, spansOf(launch.arguments));
        launch.isTold = true;
      }
      if (node !== undefined) mayWish(this.state, node);
      if (!owner.description.faults) launch.blocks = blocksOf(launch.arguments);
      this.expect(launch, new Set(launch.blocks));
    }
    while (launch.failure === null && launch.blocks.length > 0) {
      // The count is held up by one, so that what is answered at once does not go on from within.
      launch.outstanding++;
      const block = launch.blocks.pop() as number;
      this.gather(launch, block);
      launch.early = Math.max(0, launch.early - 1);
      if (launch.outstanding > 1) this.bringEarly(launch, block);
      launch.outstanding--;
      if (launch.outstanding > 0) return;
    }
    launch.stage = 'running';
    this.expect(launch, null);
    if (launch.failure !== null) this.endHolds(launch);
    for (const request of launch.held) this.state.holds += request.held;
    this.state.commands.requestDone(launch.id, 0, launch.failure);
  }

  /**
   * Asks for all that the launch uses of one block, what it writes first: a launch that holds a
   * block for reading and then wants to write it would wait for another one that does the same.
   */
  private gather(launch: Launch, block: number): void {
    for (const access of [Access.Write, Access.Read]) {
      for (const argument of launch.arguments) {
        if ((argument.use === 'in' ? Access.Read : Access.Write) !== access) continue;
        const { first, count } = partIn(argument, block);
        if (count > 0) this.ask(launch, 'present', first, count, access);
      }
    }
  }

  /**
   * Has the next blocks come beside the one whose turn it is. They are not held before theirs: a
   * launch takes what it holds upwards, as all others do, and nobody waits behind what is asked for
   * here, so that who waits for whom is as if it had not been.
   */
  private bringEarly(launch: Launch, current: number): void {
    const { blocks, processor } = launch;
    this.makeRoom(launch, current);
    while (launch.early < Math.min(BLOCKS_EARLY, blocks.length)) {
      launch.early++;
      const block = blocks[blocks.length - launch.early];
      for (const argument of launch.arguments) {
        const { first, count } = partIn(argument, block);
        const access = argument.use === 'in' ? Access.Read : Access.Write;
        if (count <= 0 || this.isThere(processor, first, count, access)) continue;
        const id = this.requests.newInner();
        this.requests.ask({
          id,
          kind: 'present',
          processor,
          first,
          count,
          access,
          map: true,
          early: true,
        });
      }
    }
  }

  /** Begins to make room for the block whose turn it is, and for those that come beside it. */
  private makeRoom({ owner, arguments: args, blocks }: Launch, current: number): void {
    const { state } = this;
    const node = state.nodes[owner?.localNode ?? NO_NODE];
    if (node === undefined) return;
    const { mark } = state.masks;
    const mask = state.masks.take();
    let pages = 0;
    let granule = -1;
    for (let at = 0; at <= Math.min(BLOCKS_EARLY, blocks.length); at++) {
      const block = at === 0 ? current : blocks[blocks.length - at];
      if (node.large !== null) {
        const isNew = node.large.numberOf(block) !== granule && node.large.of(block) === undefined;
        if (isNew) pages += node.large.pages;
        granule = node.large.numberOf(block);
        continue;
      }
      const backed = state.va.blocks.get(block)?.residences[node.id]?.backed;
      clear(mask);
      for (const argument of args) {
        const { first, count } = partIn(argument, block);
        if (count > 0) addRun(mask, first % PAGES_PER_BLOCK, count);
      }
      widen(mask, node.granulePages);
      if (backed !== undefined) andNot(mask, backed);
      pages += size(mask);
    }
    state.masks.backTo(mark);
    makeRoomTogether(state, node, pages);
  }

  /** Whether the processor may use all of these pages of one block just now. */
  private isThere(processor: ProcessorId, first: number, count: number, access: Access): boolean {
    const mapping = this.state.va.blocks.get(Math.floor(first / PAGES_PER_BLOCK))?.mappings[
      processor
    ];
    if (mapping === undefined) return false;
    const { mapped, writable } = mapping;
    return (
      sizeOfRun(access === Access.Write ? writable : mapped, first % PAGES_PER_BLOCK, count) ===
      count
    );
  }

  /** What is there of a launch's blocks, or comes before its turn, is not to go for what comes. */
  private expect({ processor, owner }: Launch, blocks: ReadonlySet<number> | null): void {
    if (
      owner === undefined ||
      owner.description.faults ||
      owner !== this.state.processors[processor]
    )
      return;
    const node = this.state.nodes[owner.localNode];
    if (node !== undefined) node.expected = blocks;
  }

  private endHolds(launch: Launch): void {
    for (const request of launch.held) {
      if (launch.stage === 'running' && launch.failure === null) this.state.holds -= request.held;
      this.requests.dropHolds(request);
    }
    launch.held.length = 0;
  }

  private dropScratch({ localNode }: Processor): void {
    const node = this.state.nodes[localNode];
    if (node === undefined) return;
    for (const block of node.scratchBlocks) {
      // What is being filled is for another launch. A part of it would take the rest of a granule
      // along.
      if (block.operation?.kind === 'scratch' && block.operation.node === localNode) continue;
      node.scratchBlocks.delete(block);
      const residence = block.residences[localNode];
      if (residence === undefined || isEmpty(residence.scratch)) continue;
      releaseBacking(this.state, block, node, residence.scratch);
      makeReady(this.state, block);
    }
  }
}
