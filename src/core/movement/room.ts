/** Room of nodes and providers: how much there may be, and the blocks that wait for some. */
import type { IntrusiveList } from '../basics/intrusive-list.js';
import { HOST_NODE, type NodeId } from '../basics/types.js';
import { nodeOf, type State, somethingMoves } from '../table/state.js';
import { endRoomWait } from '../table/va-block.js';
import { shrink } from './reclaim.js';

export class Room {
  constructor(
    private readonly state: State,
    /** Goes on with the blocks that are ready. */
    private readonly run: () => void,
  ) {}

  setBudget(id: NodeId, pages: number): number {
    const { state } = this;
    const node = nodeOf(state, id);
    if (node.goalPages !== pages) state.effort++;
    node.goalPages = pages;
    if (node.backedPages > pages) {
      shrink(state, node);
      this.run();
    }
    if (node.backedPages > pages) return node.backedPages - pages;
    node.budgetPages = pages;
    node.goalPages = Number.POSITIVE_INFINITY;
    node.pump = true;
    this.run();
    return 0;
  }

  nodeFull(id: NodeId, pages: number | null): void {
    const { state } = this;
    const node = nodeOf(state, id);
    node.limitPages = pages ?? Number.POSITIVE_INFINITY;
    if (pages !== null) return;
    // What could not go there may be tried again, and what came to be read beyond the host's budget
    // goes.
    state.effort++;
    const host = state.nodes[HOST_NODE];
    if (host !== undefined) shrink(state, host);
    for (const each of state.nodes) if (each !== undefined) each.pump = true;
    this.run();
  }

  stillNone(): void {
    const { processors } = this.state;
    for (const processor of processors) {
      if (processor?.lacksRoom !== true) continue;
      processor.lacksRoom = false;
      processor.waited++;
    }
    this.tryWaiting();
    this.run();
  }

  providerRefuses(page: number, refuses: boolean): void {
    const { state } = this;
    const range = state.va.rangeOfPage(page);
    if (range === undefined || range.refuses === refuses) return;
    range.refuses = refuses;
    state.refusals += refuses ? 1 : -1;
    if (refuses) return;
    state.effort++;
    for (const each of state.nodes) if (each !== undefined) each.pump = true;
    this.run();
  }

  /** Lets blocks that wait for memory try again where some was given back. */
  pump(): boolean {
    const { nodes, parked, waitsForRoom } = this.state;
    let waiting = waitsForRoom.size + parked.size;
    for (const node of nodes) if (node !== undefined) waiting += node.waiters.size;
    if (waiting === 0) {
      for (const node of nodes) if (node !== undefined) node.pump = node.spare = false;
      return false;
    }
    // What waits for a node may wait for its home to have room, too.
    for (let step = 1; step < nodes.length; step++) {
      for (const node of nodes) {
        const home = node === undefined || node.waiters.size === 0 ? undefined : nodes[node.home];
        if (node === undefined || home === undefined) continue;
        node.pump ||= home.pump;
        node.spare ||= home.spare;
      }
    }
    let any = false;
    for (const node of nodes) {
      if (node === undefined) continue;
      const idle = !somethingMoves(this.state, node.id);
      const { pump } = node;
      if (!pump && !node.spare && !(idle && node.waiters.size > 0)) continue;
      if (pump) any = this.tryWaiting() || any;
      if (node.id === HOST_NODE && (pump || node.spare)) any = this.tryAgain(parked) || any;
      node.pump = node.spare = false;
      any = this.tryAgain(node.waiters) || any;
    }
    return any;
  }

  private tryWaiting(): boolean {
    const { waitsForRoom, va } = this.state;
    for (let index = waitsForRoom.head; index !== -1; index = waitsForRoom.after(index)) {
      const block = va.blocks.get(index);
      if (block !== undefined) endRoomWait(block);
    }
    return this.tryAgain(waitsForRoom);
  }

  /** Has the blocks of a list looked at; false: there are none. */
  private tryAgain(waiting: IntrusiveList): boolean {
    const any = waiting.size > 0;
    for (let index = waiting.head; index !== -1; index = waiting.head) {
      waiting.remove(index);
      this.state.ready.append(index);
    }
    return any;
  }
}
