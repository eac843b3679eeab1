/** What is asked for over a range of pages: one task a block, a few blocks at a time. */
import { addRun, createMask, equals, type Mask } from '../basics/mask.js';
import {
  Access,
  type DenyReason,
  HOST,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../basics/types.js';
import { makeReady, nodeOf, processorOf, type State } from '../table/state.js';
import type { Block } from '../table/va-block.js';
import type { Request, Task, TaskKind } from '../table/work.js';

/** Blocks of a request worked on at once: they keep an engine busy, and bury no fault. */
const BLOCKS_AT_ONCE = 4;

export interface AcquireOptions {
  /** The pages stay until `release`. */
  readonly hold?: boolean;
  /** The processor wants the pages for itself, for atomic operations; subscribers are told so. */
  readonly exclusive?: boolean;
  /**
   * Pages of a clone wait for these: what was asked for before does not hold this up, and what the
   * pages are protected against does not matter, since no processor gets a right to them.
   */
  readonly overtakes?: boolean;
  /** The pages are needed later, and are asked for again then: nothing else waits behind this. */
  readonly early?: boolean;
}

/** What is asked for; what is left out is not wanted. */
interface Wanted extends AcquireOptions {
  readonly id: number;
  readonly kind: TaskKind;
  /** Where the pages are to go; left out: to the node that the processor reaches. */
  readonly node?: NodeId;
  readonly processor?: ProcessorId;
  readonly first: number;
  readonly count: number;
  readonly access?: Access;
  readonly map?: boolean;
  readonly lastChance?: boolean;
}

function blockMask(index: number, first: number, end: number): Mask {
  const mask = createMask();
  const from = Math.max(first - index * PAGES_PER_BLOCK, 0);
  const to = Math.min(end - index * PAGES_PER_BLOCK, PAGES_PER_BLOCK);
  addRun(mask, from, to - from);
  return mask;
}

/** Whether the processor, or the node, that pages are asked for is there and stays. */
export function isAlive(
  state: State,
  { node, processor }: Pick<Task, 'node' | 'processor'>,
): boolean {
  return (node === NO_NODE ? state.processors[processor] : state.nodes[node])?.state === 'alive';
}

/** The node that holds what a request holds: a processor in place holds nothing. */
function nodeOfHold(state: State, { node, processor }: Request): NodeId {
  return node === NO_NODE ? processorOf(state, processor).localNode : node;
}

export class Requests {
  private nextInner = -1;
  /** For a block that says what became of a task. */
  readonly taskDone = (task: Task, pages: number, failure: DenyReason | null): void =>
    this.onTaskDone(task, pages, failure);

  constructor(
    private readonly state: State,
    /** A request of the core's own has ended; owners of all others get a command. */
    private readonly innerDone: (request: Request) => void,
    /** Goes on with the blocks that are ready. */
    private readonly run: () => void,
  ) {}

  /** A number for a request of the core's own: these are below zero. */
  newInner(): number {
    return this.nextInner--;
  }

  ask(wanted: Wanted): void {
    const request = this.record(wanted);
    this.issue(request, 1);
    this.close(request);
  }

  /** Begins a request whose tasks its owner adds one by one; `close` must follow. */
  open(id: number, kind: TaskKind, node: NodeId, processor: ProcessorId): Request {
    return this.record({ id, kind, node, processor });
  }

  /** All that can be handed out now has been. */
  close(request: Request): void {
    request.outstanding--;
    this.settle(request);
    this.run();
  }

  /** It counts as one task itself, so that it does not end before it has been handed out. */
  private record(wanted: Pick<Wanted, 'id' | 'kind'> & Partial<Wanted>): Request {
    const { first = 0, count = 0 } = wanted;
    // Field by field, as few shapes of records as may be: there may be a request for each page.
    const request: Request = {
      id: wanted.id,
      kind: wanted.kind,
      node: wanted.node ?? NO_NODE,
      processor: wanted.processor ?? HOST,
      access: wanted.access ?? Access.None,
      map: wanted.map ?? false,
      hold: wanted.hold ?? false,
      exclusive: wanted.exclusive ?? false,
      overtakes: wanted.overtakes ?? false,
      early: wanted.early ?? false,
      lastChance: wanted.lastChance ?? false,
      first,
      end: first + count,
      cursor: first,
      outstanding: 1,
      pages: 0,
      held: 0,
      failure: null,
    };
    this.state.effort++;
    this.state.requests.set(request.id, request);
    return request;
  }

  /** Ends a hold that was taken of these pages. One that failed holds nothing and needs none. */
  release(node: NodeId, first: number, count: number, access: Access): void {
    const last = Math.floor((first + count - 1) / PAGES_PER_BLOCK);
    if (count > 0) {
      for (let block = Math.floor(first / PAGES_PER_BLOCK); block <= last; block++) {
        if (this.dropHold(node, block, first, first + count, access)) this.state.holds--;
      }
    }
    this.run();
  }

  /**
   * Hands out the next blocks of a request. One that holds its blocks takes them one by one and
   * upwards, as all others do: two that want the same blocks then never have what the other waits
   * for.
   *
   * @param open 1 while the request is still open, which counts as a block that is outstanding
   */
  private issue(request: Request, open: 0 | 1 = 0): void {
    const { state } = this;
    const atOnce = (request.hold ? 1 : BLOCKS_AT_ONCE) + open;
    while (request.cursor < request.end && request.outstanding < atOnce) {
      if (request.kind === 'present' && !isAlive(state, request)) request.failure ??= 'DEVICE_LOST';
      if (request.failure === 'DEVICE_LOST' || (request.hold && request.failure !== null)) {
        request.cursor = request.end;
        break;
      }
      const index = Math.floor(request.cursor / PAGES_PER_BLOCK);
      const start = request.cursor - index * PAGES_PER_BLOCK;
      const end = Math.min(request.end - index * PAGES_PER_BLOCK, PAGES_PER_BLOCK);
      request.cursor = index * PAGES_PER_BLOCK + end;
      // A block that was never touched learns of these when it is made, and has nothing to take.
      const unseen =
        request.kind === 'protect' ||
        request.kind === 'copyOnWrite' ||
        request.kind === 'unmap' ||
        request.kind === 'unmapGranules';
      if (
        unseen &&
        !state.va.blocks.has(index) &&
        state.va.rangeOfPage(index * PAGES_PER_BLOCK + start) !== undefined
      )
        continue;
      const block = state.va.block(index);
      if (block === undefined) {
        request.failure ??= 'OUTSIDE';
        continue;
      }
      this.addTask(block, request, blockMask(index, request.first, request.end));
    }
  }

  addTask(block: Block, request: Request, mask: Mask, kind = request.kind): void {
    const { node, processor, access, map, hold, exclusive, early, lastChance, id } = request;
    request.outstanding++;
    // The part that writes back holds the pages already: what waits for the end of holds must not
    // stand in its way.
    const overtakes = request.overtakes || kind === 'clean';
    block.tasks.push({
      kind,
      mask,
      node,
      processor,
      access,
      map,
      entry: false,
      hold,
      exclusive,
      overtakes,
      early,
      lastChance,
      request: id,
      kept: null,
      reason: null,
      keptFor: null,
      forgot: 0,
      attempts: 0,
      failure: Status.Done,
      triedNode: NO_NODE,
      written: false,
    });
    makeReady(this.state, block);
  }

  private onTaskDone(task: Task, pages: number, failure: DenyReason | null): void {
    const request = this.state.requests.get(task.request);
    if (request === undefined) return;
    request.pages += pages;
    request.failure ??= failure;
    request.outstanding--;
    this.issue(request);
    this.settle(request);
  }

  private settle(request: Request): void {
    if (request.outstanding > 0 || request.cursor < request.end) return;
    const { state } = this;
    state.requests.delete(request.id);
    if (request.id < 0) {
      this.innerDone(request);
      return;
    }
    if (request.hold && request.failure === null) state.holds += request.held;
    else if (request.held > 0) this.dropHolds(request);
    state.commands.requestDone(request.id, request.pages, request.failure);
  }

  /** Ends the holds that a request took, which are on its blocks from the first on. */
  dropHolds(request: Request): void {
    const first = Math.floor(request.first / PAGES_PER_BLOCK);
    for (let block = first; block < first + request.held; block++)
      this.dropHold(
        nodeOfHold(this.state, request),
        block,
        request.first,
        request.end,
        request.access,
      );
    request.held = 0;
  }

  private dropHold(id: NodeId, index: number, first: number, end: number, access: Access): boolean {
    const { state } = this;
    const block = state.va.blocks.get(index);
    const residence = block?.residences[id];
    if (block === undefined || residence === undefined) return false;
    const mask = blockMask(index, first, end);
    const at = residence.holds.findIndex(
      (hold) => hold.access === access && equals(hold.mask, mask),
    );
    if (at === -1) return false;
    residence.holds.splice(at, 1);
    makeReady(state, block);
    nodeOf(state, id).pump = true;
    return true;
  }
}
