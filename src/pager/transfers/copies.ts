/**
 * Copies between arrays, made where the content is: pages in memory that the manager addresses are
 * read and written there, all others over the host. A copy goes part by part, with a look at the
 * faults in between. The pages of a part are held while it is copied; holds are taken in ascending
 * order of blocks, each page once, so that no two copies wait for each other.
 */

import {
  Access,
  BLOCK_BYTES,
  type DenyReason,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGE_BYTES,
  PageState,
  type ProcessorId,
} from '../../core/basics/types.js';
import type { KnownNode, MemoryManager } from '../../core/memory-manager.js';
import { fillMemory, moveMemory } from '../../linux/memory/memory.js';
import type { Arrays } from '../arrays/arrays.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { CopyOrder, OperationDone } from '../protocol/operations.js';
import type { WireError } from '../protocol/wire.js';
import { wireError } from '../protocol/wire.js';
import {
  leadingPage,
  nextPart,
  PART_BYTES,
  type Part,
  runsBackwards,
  uniformPart,
} from './copy-parts.js';
import type { Prefetches } from './prefetches.js';

/** Kinds of pages besides the node that a page is read or written on. */
const ZERO = -1;
const ABSENT = -2;
const OPERATION = 'a copy';

interface Run {
  first: number;
  count: number;
}

/** Pages that a part needs to stay as they are on a node. */
interface Want {
  readonly node: NodeId;
  readonly first: number;
  readonly count: number;
  readonly access: Access;
}

interface Hold extends Want {
  /** The node itself, since its number may be another one's when the hold ends. */
  readonly owner: KnownNode | undefined;
}

interface Copy {
  readonly order: CopyOrder;
  readonly whole: Part;
  readonly backwards: boolean;
  readonly done: OperationDone;
  moved: number;
  /** The part whose pages are held by now; null: the next one is still to be chosen. */
  part: Part | null;
  toNode: number;
  /** The node to read on, or ZERO. */
  fromNode: number;
  readonly holds: Hold[];
  /** A device had no room for the part: it goes over the host. */
  viaHost: boolean;
}

/** States of the pages of one end of a part. */
class Pages {
  private readonly nodes = new Uint32Array(PART_BYTES / PAGE_BYTES + 1);
  private readonly access = new Uint32Array(this.nodes.length);
  private readonly flags = new Uint8Array(this.nodes.length);
  private first = 0;

  look(manager: MemoryManager, offset: number, bytes: number): void {
    this.first = Math.floor(offset / PAGE_BYTES);
    const count = Math.ceil((offset + bytes) / PAGE_BYTES) - this.first;
    manager.pages.snapshot(
      this.first,
      this.nodes.subarray(0, count),
      this.access.subarray(0, count),
      this.flags.subarray(0, count),
    );
  }

  nodesOf(page: number): number {
    return this.nodes[page - this.first];
  }

  has(page: number, flag: number): boolean {
    return (this.flags[page - this.first] & flag) !== 0;
  }
}

export class Copies {
  /** Copies that can go on: each gets one part at a time. */
  private readonly ready: Copy[] = [];
  private readonly onIdle: (() => void)[] = [];
  private readonly source = new Pages();
  private readonly target = new Pages();
  private active = 0;

  constructor(
    private readonly context: SpaceContext,
    private readonly arrays: Arrays,
    /** Where the manager addresses page 0 of a node, laid out as the space; 0: it cannot. */
    private readonly memoryOf: (node: NodeId) => number,
    private readonly prefetches: Prefetches,
  ) {}

  start(order: CopyOrder, done: OperationDone): void {
    const whole = { to: order.to.offset, from: order.from.offset, bytes: order.bytes };
    const backwards = runsBackwards(whole);
    this.active++;
    this.ready.push({
      order,
      whole,
      backwards,
      done,
      moved: 0,
      part: null,
      toNode: HOST_NODE,
      fromNode: HOST_NODE,
      holds: [],
      viaHost: false,
    });
  }

  /** Goes on with the copy that has waited longest. */
  step(): number {
    const copy = this.ready.shift();
    if (copy === undefined) return 0;
    if (copy.part !== null) this.move(copy, copy.part);
    else this.plan(copy);
    return 1;
  }

  /** Whether a copy can go on. */
  get busy(): boolean {
    return this.ready.length > 0;
  }

  /** Calls `action` when no copy is left: at once if there is none. */
  whenIdle(action: () => void): void {
    if (this.active === 0) action();
    else this.onIdle.push(action);
  }

  private plan(copy: Copy): void {
    const { order, whole, backwards } = copy;
    const problem = this.problemOf(order) ?? (copy.moved === 0 ? this.denialOf(copy) : null);
    if (problem !== null) {
      this.end(copy, problem);
      return;
    }
    // Bytes that are copied onto themselves are there already.
    if (whole.to === whole.from) copy.moved = whole.bytes;
    if (copy.moved === whole.bytes) {
      this.place(copy);
      return;
    }
    const most = nextPart(whole, copy.moved, backwards);
    this.source.look(this.context.manager, most.from, most.bytes);
    this.target.look(this.context.manager, most.to, most.bytes);
    const targetKind = (page: number): number => this.kindOfTarget(copy, page);
    const sourceKind = (page: number): number => this.kindOfSource(copy, page);
    const part = uniformPart(most, backwards, targetKind, sourceKind);
    const toPage = leadingPage(part.to, part.bytes, backwards);
    const fromPage = leadingPage(part.from, part.bytes, backwards);
    copy.toNode = targetKind(toPage);
    copy.fromNode = sourceKind(fromPage);
    const unreadable = this.refusalOfSource(fromPage);
    const unwritable = this.refusalOfTarget(copy, toPage);
    if (unreadable !== null)
      this.end(copy, this.context.places.denialError(unreadable, fromPage, OPERATION, false));
    else if (unwritable !== null)
      this.end(copy, this.context.places.denialError(unwritable, toPage, OPERATION, true));
    else if (copy.fromNode === ZERO) this.planZeros(copy, part);
    else this.planPages(copy, part);
  }

  /** Why a page cannot be read, by what is known before it is asked for. */
  private refusalOfSource(page: number): DenyReason | null {
    const { source } = this;
    if (source.has(page, PageState.Freed)) return 'FREED';
    if (source.has(page, PageState.NoAccess)) return 'NO_ACCESS';
    return source.has(page, PageState.Lost) ? this.context.manager.pages.lossOf(page) : null;
  }

  /** The same for writing. What is lost can be written, as long as all of it is. */
  private refusalOfTarget({ order: { at } }: Copy, page: number): DenyReason | null {
    const { target } = this;
    if (target.has(page, PageState.Freed)) return 'FREED';
    if (target.has(page, PageState.NoAccess)) return 'NO_ACCESS';
    if (target.has(page, PageState.ReadOnly)) return 'READ_ONLY';
    const leaves = at !== null && this.nodeAt(at) !== HOST_NODE;
    return leaves && target.has(page, PageState.Pinned) ? 'PINNED' : null;
  }

  private kindOfTarget(copy: Copy, page: number): number {
    const { at } = copy.order;
    if (this.refusalOfTarget(copy, page) !== null) return ABSENT;
    if (copy.viaHost) return HOST_NODE;
    // Where the device reaches host memory in place, that is where it works.
    const own = this.nodeAt(at);
    if (at !== null)
      return this.canAddress(own) && !this.context.manager.pages.isRemote(at, page)
        ? own
        : HOST_NODE;
    return this.nodeAmong(this.target.nodesOf(page));
  }

  private kindOfSource(copy: Copy, page: number): number {
    const { source } = this;
    if (this.refusalOfSource(page) !== null) return ABSENT;
    const nodes = source.nodesOf(page);
    if (nodes === 0 && !source.has(page, PageState.Provided) && !copy.backwards) return ZERO;
    return copy.viaHost ? HOST_NODE : this.nodeAmong(nodes);
  }

  /** The node to work on: the host first; the host, too, when none can be addressed. */
  private nodeAmong(nodes: number): NodeId {
    for (let node = 0; nodes >>> node !== 0; node++) {
      if (((nodes >>> node) & 1) !== 0 && this.canAddress(node)) return node;
    }
    return HOST_NODE;
  }

  private canAddress(node: NodeId): boolean {
    return this.context.manager.node(node)?.state === 'alive' && this.memoryOf(node) !== 0;
  }

  /** The memory of its own of the device that a copy is to end on; the host's if none was named. */
  private nodeAt(at: ProcessorId | null): NodeId {
    return at === null ? HOST_NODE : (this.context.manager.processor(at)?.localNode ?? NO_NODE);
  }

  /** Zeros are not copied: whole pages are emptied, ends and pinned pages are written. */
  private planZeros(copy: Copy, part: Part): void {
    const within = part.to % PAGE_BYTES;
    const { first, count } = this.wholePages(part);
    const pinned = this.anyPinned(first, count);
    if (within === 0 && count > 0 && !pinned) {
      const bytes = Math.min(part.bytes, count * PAGE_BYTES);
      this.clear(copy, [{ first, count }], () => this.advance(copy, bytes));
      return;
    }
    const bytes = within === 0 || pinned ? part.bytes : Math.min(part.bytes, PAGE_BYTES - within);
    copy.part = { ...part, bytes };
    this.acquire(copy, [[this.wantOf(copy.toNode, part.to, bytes, Access.Write)]]);
  }

  private planPages(copy: Copy, part: Part): void {
    const target = this.wantOf(copy.toNode, part.to, part.bytes, Access.Write);
    const source = this.wantOf(copy.fromNode, part.from, part.bytes, Access.Read);
    const wants = [target];
    const after = target.first + target.count;
    if (source.first >= after || source.first + source.count <= target.first) wants.push(source);
    else {
      // Pages that are read and written are held once, for writing, and the others must be where
      // they are.
      copy.fromNode = copy.toNode;
      const node = copy.toNode;
      const before = target.first - source.first;
      if (before > 0) wants.push({ ...source, node, count: before });
      const behind = source.first + source.count - after;
      if (behind > 0) wants.push({ ...source, node, first: after, count: behind });
    }
    wants.sort((a, b) => a.first - b.first);
    const together = blockOf(part.to) === blockOf(part.from);
    const groups = together ? [wants] : wants.map((want) => [want]);
    copy.part = part;
    const unwanted = this.unwantedRuns(part, copy.toNode);
    if (unwanted.length === 0) this.acquire(copy, groups);
    else
      this.fetch(copy, source, () => this.clear(copy, unwanted, () => this.acquire(copy, groups)));
  }

  /** Looks whether the source can be read before the target loses anything. Nothing is held. */
  private fetch(copy: Copy, { first, count }: Want, next: () => void): void {
    const node = copy.fromNode;
    const owner = this.context.manager.node(node);
    this.context.requests.start(
      (request) => this.context.manager.bring(request, node, first, count, Access.Read),
      (_pages, failure) => {
        if (failure === null) next();
        else this.refused(copy, { node, first, count, access: Access.Read }, owner, failure);
      },
    );
  }

  private wantOf(node: NodeId, offset: number, bytes: number, access: Access): Want {
    const first = Math.floor(offset / PAGE_BYTES);
    return { node, first, count: Math.ceil((offset + bytes) / PAGE_BYTES) - first, access };
  }

  /** Pages that the part replaces wholly: the rest of an array's last page is nobody's. */
  private wholePages({ to, bytes }: Part): Run {
    const first = Math.ceil(to / PAGE_BYTES);
    const end = to + bytes;
    const last = this.context.table.endsAt(end)
      ? Math.ceil(end / PAGE_BYTES)
      : Math.floor(end / PAGE_BYTES);
    return { first, count: Math.max(last - first, 0) };
  }

  /**
   * Pages whose content would be fetched only to be overwritten, or cannot be fetched since it is
   * lost. They are emptied before, except where the part reads them itself.
   */
  private unwantedRuns(part: Part, toNode: number): Run[] {
    const runs: Run[] = [];
    const whole = this.wholePages(part);
    const readFirst = Math.floor(part.from / PAGE_BYTES);
    const readEnd = Math.ceil((part.from + part.bytes) / PAGE_BYTES);
    for (let page = whole.first; page < whole.first + whole.count; page++) {
      if ((page >= readFirst && page < readEnd) || !this.isUnwanted(page, toNode)) continue;
      const last = runs[runs.length - 1];
      if (last !== undefined && last.first + last.count === page) last.count++;
      else runs.push({ first: page, count: 1 });
    }
    return runs;
  }

  private anyPinned(first: number, count: number): boolean {
    for (let page = first; page < first + count; page++)
      if (this.target.has(page, PageState.Pinned)) return true;
    return false;
  }

  private isUnwanted(page: number, toNode: number): boolean {
    const { target } = this;
    if (target.has(page, PageState.Lost)) return true;
    const nodes = target.nodesOf(page);
    if (nodes === 0) return target.has(page, PageState.Provided);
    return ((nodes >>> toNode) & 1) === 0;
  }

  /** Empties pages, run by run, and goes on. */
  private clear(copy: Copy, runs: readonly Run[], next: () => void): void {
    const [run, ...rest] = runs;
    if (run === undefined) {
      next();
      return;
    }
    const { first, count } = run;
    this.context.requests.start(
      (request) => this.context.manager.zero(request, first, count),
      (_pages, failure) => {
        if (failure === null) {
          this.context.restore(first, count);
          this.clear(copy, rest, next);
        } else this.end(copy, this.context.places.denialError(failure, first, OPERATION, true));
      },
    );
  }

  /**
   * Takes the holds, block after block; the part is copied when it has them all. Those of one block
   * are asked for at once: requests for a block keep their order, so that one that waits for the
   * first hold could never let the second one pass.
   */
  private acquire(copy: Copy, groups: readonly (readonly Want[])[]): void {
    const [group, ...rest] = groups;
    if (group === undefined) {
      this.ready.push(copy);
      return;
    }
    let outstanding = group.length;
    let refusal: (() => void) | null = null;
    for (const want of group) {
      const { node, first, count, access } = want;
      const owner = this.context.manager.node(node);
      this.context.requests.start(
        (request) =>
          this.context.manager.bring(request, node, first, count, access, { hold: true }),
        (_pages, failure) => {
          if (failure === null) copy.holds.push({ ...want, owner });
          else refusal ??= () => this.refused(copy, want, owner, failure);
          if (--outstanding > 0) return;
          if (refusal === null) this.acquire(copy, rest);
          else refusal();
        },
      );
    }
  }

  private refused(
    copy: Copy,
    { node, first, count, access }: Want,
    owner: KnownNode | undefined,
    why: DenyReason,
  ): void {
    this.release(copy);
    const gone = this.context.manager.node(node) !== owner || owner?.state !== 'alive';
    const crowded = node !== HOST_NODE && copy.order.at === null && !copy.viaHost;
    const elsewhere = why === 'IN_PLACE' || (why === 'DEVICE_LOST' && gone);
    if (
      !elsewhere &&
      !(crowded && (why === 'OUT_OF_MEMORY' || why === 'OUT_OF_STORAGE' || why === 'COPY_FAILED'))
    ) {
      const page = this.context.places.pageWith(why, first, count);
      this.end(
        copy,
        this.context.places.denialError(why, page, OPERATION, access === Access.Write),
      );
      return;
    }
    copy.viaHost = true;
    copy.part = null;
    this.ready.push(copy);
  }

  private move(copy: Copy, part: Part): void {
    // A hold does not keep the pages of a device that has died meanwhile.
    if (
      copy.holds.some(
        ({ node, owner }) => this.context.manager.node(node) !== owner || owner?.state === 'dead',
      )
    ) {
      this.release(copy);
      copy.part = null;
      this.ready.push(copy);
      return;
    }
    const target = this.memoryOf(copy.toNode) + part.to;
    if (copy.fromNode === ZERO) fillMemory(target, 0, part.bytes);
    else moveMemory(target, this.memoryOf(copy.fromNode) + part.from, part.bytes);
    this.release(copy);
    this.advance(copy, part.bytes);
  }

  private advance(copy: Copy, bytes: number): void {
    copy.moved += bytes;
    copy.part = null;
    copy.viaHost = false;
    this.ready.push(copy);
  }

  private release(copy: Copy): void {
    for (const { node, first, count, access, owner } of copy.holds.splice(0)) {
      if (this.context.manager.node(node) === owner)
        this.context.manager.release(node, first, count, access);
    }
  }

  /** A device whose memory the manager cannot write gets the pages at the end, from the host. */
  private place(copy: Copy): void {
    const { order, whole } = copy;
    if (order.at === null || this.memoryOf(this.nodeAt(order.at)) !== 0) {
      this.end(copy, null);
      return;
    }
    const { first, count } = this.wantOf(this.nodeAt(order.at), whole.to, whole.bytes, Access.Read);
    this.prefetches.bring(order.at, first, count, (error) => this.end(copy, error));
  }

  private end(copy: Copy, error: WireError | null): void {
    this.active--;
    copy.done(error, { bytes: copy.moved });
    // Arrays that were freed meanwhile could not go while their pages were held.
    this.arrays.recycleAll();
    if (this.active === 0) for (const action of this.onIdle.splice(0)) this.context.later(action);
  }

  private problemOf({ to }: CopyOrder): WireError | null {
    const range = this.context.manager.range(to.range);
    if (range?.writable !== false) return null;
    const message = `${OPERATION} to array ${range.name}, which may only be read; open its file with writable: true, and without mapped`;
    return wireError('ACCESS_DENIED', message, { array: range.name });
  }

  /** What the rights of the arrays forbid is refused before anything has been copied. */
  private denialOf({ whole, order: { at } }: Copy): WireError | null {
    const ends = [
      { offset: whole.from, access: Access.Read, processor: HOST },
      { offset: whole.to, access: Access.Write, processor: at ?? HOST },
    ];
    for (const { offset, access, processor } of ends) {
      const { first, count } = this.wantOf(HOST_NODE, offset, whole.bytes, access);
      const reason = this.context.manager.pages.denial(first, count, access, processor);
      if (reason === null) continue;
      return this.context.places.denialError(
        reason,
        this.context.places.pageWith(reason, first, count),
        OPERATION,
        access === Access.Write,
      );
    }
    return null;
  }
}

function blockOf(offset: number): number {
  return Math.floor(offset / BLOCK_BYTES);
}
