/** Processors and nodes that leave or die: what only they hold goes home or is lost. */

import { clear, createMask, endOf, next, setAndNot } from '../basics/mask.js';
import {
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../basics/types.js';
import type { Requests } from '../movement/requests.js';
import { forgetUser } from '../queries/usage.js';
import { createNodeCounters, type Node, type NodeCounters } from '../table/nodes.js';
import type { Processor, ProcessorCounters } from '../table/processors.js';
import { unshieldAll } from '../table/shields.js';
import { makeReady, nodeOf, processorOf, type State } from '../table/state.js';
import type { Block } from '../table/va-block.js';
import type { Request } from '../table/work.js';
import { forgetAdvised } from './advice.js';
import type { Launches } from './launches.js';
import { loseNode } from './service.js';

type NodeFigures = Pick<Node, 'budgetPages' | 'backedPages' | 'peakPages' | 'counters'>;

/** What a processor did, and what the memory of its own has; 0 pages: it has none. */
export interface ProcessorFigures {
  readonly budgetPages: number;
  readonly backedPages: number;
  readonly peakPages: number;
  readonly counters: ProcessorCounters & NodeCounters;
  /** The pieces that its free memory lies in, and pages of the largest. */
  readonly freePieces: number;
  readonly largestFreePages: number;
}

const NO_FIGURES: NodeFigures = {
  budgetPages: 0,
  backedPages: 0,
  peakPages: 0,
  counters: createNodeCounters(),
};

export class Departures {
  /** Those of processors that have gone. */
  private readonly lastFigures = new Map<ProcessorId, ProcessorFigures>();
  /** Departures of nodes of which nothing is left but frames in quarantine. */
  private readonly leaving: Request[] = [];

  constructor(
    private readonly state: State,
    private readonly requests: Requests,
    private readonly launches: Launches,
    private readonly run: () => void,
  ) {}

  /** The processor leaves, and with it the memory that is its alone. */
  detach(id: ProcessorId): void {
    const processor = processorOf(this.state, id);
    if (processor.state !== 'alive') return;
    processor.state = 'draining';
    const node = this.nodeLeftBy(processor);
    if (node !== null) node.state = 'draining';
    this.drain(node?.id ?? NO_NODE, id);
  }

  /** A node without a processor leaves: what only it has goes home, or to the host. */
  remove(id: NodeId): void {
    const node = this.passive(id);
    if (node.state !== 'alive') return;
    node.state = 'draining';
    this.drain(id, NO_PROCESSOR);
  }

  lost(id: ProcessorId): void {
    const { state } = this;
    const processor = state.processors[id];
    // One that was leaving may have gone with the last answer that its driver gave before its
    // death.
    if (processor === undefined || processor.state === 'dead') return;
    // The pages of one that was leaving are on their way home already, and go on as far as they
    // can.
    const leaving = processor.state === 'draining';
    const node = this.nodeLeftBy(processor);
    processor.state = 'dead';
    processor.intents.length = 0;
    if (node !== null) die(node);
    unshieldAll(state, processor);
    this.launches.lost(processor);
    for (const block of state.va.blocks.values()) {
      this.dropMappings(block, id);
      endLosses(block);
      makeReady(state, block);
    }
    if (leaving) this.run();
    else this.drain(node?.id ?? NO_NODE, id);
  }

  /** A node that no processor calls its own is dead. */
  nodeLost(id: NodeId): void {
    const { state } = this;
    if (state.nodes[id] === undefined) return;
    const node = this.passive(id);
    if (node.state === 'dead') return;
    const leaving = node.state === 'draining';
    die(node);
    for (const block of state.va.blocks.values()) {
      endLosses(block);
      makeReady(state, block);
    }
    if (leaving) this.run();
    else this.drain(id, NO_PROCESSOR);
  }

  figures(id: ProcessorId): ProcessorFigures {
    const processor = this.state.processors[id];
    if (processor === undefined) {
      const last = this.lastFigures.get(id);
      if (last === undefined) throw new Error(`there is no processor ${id}`);
      return last;
    }
    const { budgetPages, backedPages, peakPages, counters } =
      this.state.nodes[processor.localNode] ?? NO_FIGURES;
    return {
      budgetPages,
      backedPages,
      peakPages,
      counters: { ...processor.counters, ...counters },
      ...freeOf(this.state.nodes[processor.localNode]),
    };
  }

  private nodeLeftBy({ localNode }: Processor): Node | null {
    return localNode === HOST_NODE ? null : (this.state.nodes[localNode] ?? null);
  }

  private passive(id: NodeId): Node {
    const node = nodeOf(this.state, id);
    if (node.owner !== NO_PROCESSOR)
      throw new Error(`node ${id} is processor ${node.owner}'s own, and leaves with it`);
    return node;
  }

  private drain(node: NodeId, processor: ProcessorId): void {
    const concerned: Block[] = [];
    for (const block of this.state.va.blocks.values()) {
      // A task for one that leaves which still waits would otherwise outlive it, and be carried out
      // for its successor.
      const asked = block.tasks.some(
        (task) => task.processor === processor || (task.node !== NO_NODE && task.node === node),
      );
      if (block.residences[node] !== undefined || block.operation !== null || asked)
        concerned.push(block);
    }
    this.bringHome(node, processor, concerned);
  }

  private bringHome(node: NodeId, processor: ProcessorId, blocks: readonly Block[]): void {
    const request = this.requests.open(this.requests.newInner(), 'home', node, processor);
    const mask = createMask().fill(-1);
    for (const block of blocks) this.requests.addTask(block, request, mask);
    this.requests.close(request);
  }

  /** Forgets what a processor that has gone had mapped, once subscribers have been told. */
  private dropMappings(block: Block, id: ProcessorId): void {
    const mapping = block.mappings[id];
    if (mapping === undefined) return;
    const { commands, masks } = this.state;
    const { mark } = masks;
    const taken = masks.take();
    // What stands in for denied pages is no content of the range's.
    setAndNot(taken, mapping.mapped, mapping.standIn);
    const first = next(taken, 0);
    const end = block.range.watchers > 0 ? endOf(taken) : 0;
    masks.backTo(mark);
    const page = block.index * PAGES_PER_BLOCK + first;
    if (first < end) commands.invalidate(page, end - first, 'migrate', id);
    clear(mapping.mapped);
    clear(mapping.writable);
    clear(mapping.waitingRead);
    clear(mapping.waitingWrite);
    mapping.waiting = false;
    if (first < end) commands.invalidated(page, end - first, 'migrate', id);
  }

  /**
   * Nothing is left to bring home. The node may still have what could not be brought, because every
   * copy failed: that goes with it.
   */
  drained(request: Request): void {
    const { state } = this;
    const busy = this.inUse(request);
    if (busy.length > 0) {
      this.bringHome(request.node, request.processor, busy);
      return;
    }
    const node = state.nodes[request.node];
    if (node !== undefined) {
      for (const block of state.va.blocks.values()) {
        const residence = block.residences[node.id];
        if (residence !== undefined) state.holds -= residence.holds.splice(0).length;
        // What it could not bring home is taken from it, too.
        if (request.processor !== NO_PROCESSOR) this.dropMappings(block, request.processor);
        loseNode(state, block, node);
      }
    }
    this.leaving.push(request);
    this.released();
  }

  /**
   * Blocks that keep a processor and its node from leaving for now: when their operations have
   * ended they are brought home, or given up, once more. One block may be copied from the node, for
   * a thread that needs a page of what could not be brought home. If the node went under such a
   * copy, its memory would be given back while it is read, and the end of the copy would be taken
   * for that of a copy from the next node with this number. In another block, which may be in host
   * memory, the processor may be giving up its rights: once gone it does not say so any more.
   */
  private inUse({ node, processor }: Request): Block[] {
    const busy: Block[] = [];
    for (const block of this.state.va.blocks.values()) {
      if (block.operation === null) continue;
      const answers = block.operation.phase === 'revoke' && block.mappings[processor] !== undefined;
      if (answers || (block.residences[node]?.backedCount ?? 0) > 0) busy.push(block);
    }
    return busy;
  }

  /** Frames may have been released for good: what leaves without any quarantined is forgotten. */
  released(): void {
    for (let at = 0; at < this.leaving.length; ) {
      const { node, processor } = this.leaving[at];
      if ((this.state.nodes[node]?.quarantinedPages ?? 0) > 0) at++;
      else {
        this.leaving.splice(at, 1);
        this.forget(node, processor);
      }
    }
  }

  private forget(node: NodeId, processor: ProcessorId): void {
    const { state } = this;
    if (processor !== NO_PROCESSOR) this.forgetProcessor(processor);
    if (node !== NO_NODE) this.forgetNode(node);
    forgetAdvised(state, processor, node);
    if (processor === NO_PROCESSOR) {
      state.commands.emptied(node);
      return;
    }
    state.unheard.push({ processor, node });
    if (state.commands.drained(processor) !== Status.Pending) this.heard(processor);
  }

  /** All have heard that the processor has gone: its numbers are given again. */
  heard(processor: ProcessorId): void {
    const { unheard } = this.state;
    const at = unheard.findIndex((each) => each.processor === processor);
    if (at === -1) throw new Error(`processor ${processor} has not gone`);
    unheard.splice(at, 1);
  }

  private forgetProcessor(id: ProcessorId): void {
    const { state } = this;
    this.lastFigures.set(id, this.figures(id));
    for (const block of state.va.blocks.values()) {
      // It may have reached host memory in place until now, of which nothing had to come home.
      this.dropMappings(block, id);
      block.mappings[id] = undefined;
    }
    state.processors[id] = undefined;
    forgetUser(state, id);
  }

  private forgetNode(id: NodeId): void {
    const { state } = this;
    const { waiters } = nodeOf(state, id);
    for (const block of state.va.blocks.values()) {
      block.residences[id] = undefined;
      // A node that died as it left has no event of its death.
      if (endLosses(block)) makeReady(state, block);
    }
    for (let index = waiters.head; index !== -1; index = waiters.after(index))
      state.ready.append(index);
    state.nodes[id] = undefined;
    for (const node of state.nodes) if (node?.home === id) node.home = NO_NODE;
  }
}

/** What failed by a death is tried again: it may have been this one. False: nothing did. */
function endLosses({ tasks, mappings }: Block): boolean {
  let any = false;
  for (const asker of [...tasks, ...mappings]) {
    if (asker?.failure !== Status.Lost) continue;
    asker.failure = Status.Failed;
    any = true;
  }
  return any;
}

function die(node: Node): void {
  node.state = 'dead';
  node.gone = !node.description.memorySurvives;
}

/** Where frames are where their pages are, free memory serves any page: it is one piece. */
function freeOf(node: Node | undefined): Pick<ProcessorFigures, 'freePieces' | 'largestFreePages'> {
  const pieces = node?.allocator?.pieces();
  if (pieces !== undefined) return { freePieces: pieces.count, largestFreePages: pieces.largest };
  const free = node === undefined ? 0 : Math.max(0, node.budgetPages - node.backedPages);
  return { freePieces: free > 0 ? 1 : 0, largestFreePages: free };
}
