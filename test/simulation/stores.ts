/**
 * The stores behind the host: how they fill, go away and are lost, and what becomes of what they
 * had.
 */

import { isEmpty, next } from '../../src/core/basics/mask.js';
import {
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  Status,
} from '../../src/core/basics/types.js';
import { ROOM_TRIES } from '../../src/core/service/denials.js';
import { REFUSED } from '../../src/core/table/processors.js';
import { NODE_BYTES } from './model-device.js';
import { hasLongCopies } from './processors.js';
import { WatchedDevice } from './watched-device.js';
import type { World } from './world.js';

const SPEED = { latencyUs: 1, bytesPerUs: 1000 };

export class Stores {
  /** The store behind the host; NO_NODE: there is none, or not any more. */
  store: NodeId = NO_NODE;
  /** The store is to go. */
  storeLeaves = false;
  /** The store behind that one; NO_NODE: there is none. */
  far: NodeId = NO_NODE;
  /** Whether it has ever been away. */
  everAway = false;
  /**
   * What stores had when they found no room for what their budgets allow; and whether any ever did.
   */
  readonly full = new Map<NodeId, number>();
  everFull = false;
  /** Whether one has ever been removed, or has lost something. */
  everLess = false;
  /** How often processors that wait for such room were told that there is none still. */
  timesWithoutRoom = 0;

  constructor(private readonly world: World) {}

  /** A memory that no processor runs on, where the pages of another one go when it makes room. */
  addStore(before: NodeId): NodeId {
    // One that has another behind it is to send on much of what it gets.
    const { chains, relays } = this.world.plots;
    const sends = (chains || relays) && before === HOST_NODE;
    const device: WatchedDevice = this.world.processors.simulatedDevice(
      'store',
      this.world.whims.between(sends ? 40 : 600, sends ? 800 : 4000),
      {
        fault: () => {},
        revoked: () => {},
        released: () => {},
        transferred: (token, status) => {
          device.reading.delete(token);
          this.world.router.completed(token, status);
        },
        launched: () => {},
        died: () => {},
      },
    );
    const memorySurvives = this.world.whims.chance(0.5);
    const isSlowMemory = before === HOST_NODE && this.world.plots.slowMemory;
    const node = this.world.manager.addNode({
      ...device.description,
      longCopies: hasLongCopies(device),
      memorySurvives: memorySurvives || isSlowMemory,
      ...(isSlowMemory ? { addressable: true, speed: SPEED } : {}),
    });
    if (isSlowMemory) device.memory = (node + 1) * NODE_BYTES;
    this.world.manager.setHome(before, node);
    this.world.stores[node] = device;
    this.world.router.attachNode(node, device);
    if (this.world.plots.storeFails) device.spoils = () => this.world.whims.chance(0.1);
    if (this.world.weather.noMemory > 0)
      device.copies.mishaps.refuseLargerThanPages = this.world.whims.pick([1, 5, 16, 64]);
    return node;
  }

  get storePages(): number {
    if (this.store === NO_NODE || this.storeLeaves) return 0;
    const { nodes } = this.world.manager.state;
    return (nodes[this.store]?.budgetPages ?? 0) + (nodes[this.far]?.budgetPages ?? 0);
  }

  hasStore(): boolean {
    return !this.world.closing && this.store !== NO_NODE && !this.storeLeaves;
  }

  haveNoRoom(): void {
    this.timesWithoutRoom++;
    this.world.manager.stillNoRoom();
    for (const processor of this.world.manager.state.processors)
      if (processor !== undefined && processor.waited > ROOM_TRIES && processor.waited !== REFUSED)
        throw new Error(`processor ${processor.id} waits for room for ever`);
  }

  /** A store finds no room for what its budget allows, or has room again. */
  fillStore(): void {
    const node = this.far !== NO_NODE && this.world.whims.chance(0.5) ? this.far : this.store;
    if (!this.isAway(node)) this.setFull(node, !this.full.has(node));
  }

  /** The far store does not answer, so that nothing can be read or written there, or does again. */
  goAway(): void {
    const device = this.world.stores[this.far] as WatchedDevice;
    device.away = !device.away;
    this.everAway = true;
    this.world.trace(() => `  node ${this.far} is ${device.away ? 'away' : 'back'}`);
    this.setFull(this.far, device.away);
  }

  private isAway(node: NodeId): boolean {
    const device = this.world.stores[node];
    return device instanceof WatchedDevice && device.away;
  }

  private setFull(node: NodeId, full: boolean): void {
    const backedPages = this.world.manager.node(node)?.backedPages ?? 0;
    if (full) this.full.set(node, backedPages);
    else this.full.delete(node);
    // What was allocated need not fit any more.
    this.world.tight = true;
    this.everFull = true;
    const pages = full ? this.world.whims.below(backedPages + 1) : null;
    this.world.trace(() => `  node ${node} can take ${pages ?? 'all'} pages`);
    this.world.manager.nodeFull(node, pages);
  }

  /** A store that is about to give pages that are not what was sent there. */
  spoiledStore(): WatchedDevice | null {
    for (const node of [this.store, this.far]) {
      const device = this.world.stores[node];
      if (device instanceof WatchedDevice && device.spoiled.length > 0) return device;
    }
    return null;
  }

  /** A page comes back from the store other than it was sent there, which the driver notices. */
  bringSpoiled(): void {
    this.everLess = true;
    const [{ token, count }] = this.spoiledStore()?.spoiled.splice(0, 1) ?? [];
    const { source, first } = this.world.router.orderOf(token);
    const page = first + this.world.whims.below(count);
    this.world.trace(() => `  page ${page} comes back from node ${source} as another one`);
    this.world.audit.noteSoleCopies(source, (at) => at === page);
    this.world.manager.spoiled(source, page, 1);
    this.world.router.completed(token, Status.Failed);
  }

  /** The store that nothing is behind. */
  private get last(): NodeId {
    return this.far === NO_NODE ? this.store : this.far;
  }

  /** Whether it may be started again without what it had: nothing of it is being read. */
  mayForget(): boolean {
    const device = this.world.stores[this.last];
    if (
      !(device instanceof WatchedDevice) ||
      this.world.manager.state.nodes[this.last]?.state !== 'alive'
    )
      return false;
    return device.reading.size + device.spoiled.length === 0;
  }

  /**
   * Whether a block is yet to be found to have lost what a store has forgotten, since an operation
   * of it is under way.
   */
  get isForgetting(): boolean {
    for (const { residences } of this.world.manager.state.va.blocks.values())
      for (const residence of residences)
        if (residence !== undefined && !isEmpty(residence.forgotten)) return true;
    return false;
  }

  /** It has no more what it had in a part of its memory, or in all of it, and says so. */
  forget(): void {
    const { whims, manager, mayBeLost } = this.world;
    this.everLess = true;
    const node = this.last;
    const device = this.world.stores[node] as WatchedDevice;
    const of = whims.between(1, 2);
    const part = whims.below(of);
    this.world.trace(() => `  node ${node} has forgotten part ${part} of ${of}`);
    const concerned = new Set<number>();
    for (const block of manager.state.va.blocks.values()) {
      const { resident, frames } = block.residences[node] ?? {};
      if (resident === undefined || !frames) continue;
      for (let page = next(resident, 0); page < PAGES_PER_BLOCK; page = next(resident, page + 1)) {
        if (Math.floor(frames[page] / PAGES_PER_BLOCK) % of !== part) continue;
        const at = block.index * PAGES_PER_BLOCK + page;
        concerned.add(at);
        device.forget(frames[page], block.operation !== null);
        // Other copies may be given up until the operation ends.
        if (block.operation !== null) mayBeLost.add(at);
      }
    }
    this.world.audit.noteSoleCopies(node, (at) => concerned.has(at));
    manager.forgot(node, [part], of);
  }

  /** The store behind the host is taken away, or dies. */
  loseStore(): void {
    const node = this.store;
    this.storeLeaves = true;
    this.everLess = true;
    // What was allocated while it was there need not fit any more.
    this.world.tight = true;
    if (this.world.whims.chance(0.5)) {
      this.world.trace(() => `  node ${node} is to leave`);
      this.world.manager.removeNode(node);
      return;
    }
    const survives = this.world.manager.state.nodes[node]?.description.memorySurvives === true;
    this.world.trace(() => `  node ${node} dies${survives ? ', and can be read' : ''}`);
    if (!survives) {
      const device = this.world.stores[node] as WatchedDevice;
      device.lose('killed');
      this.world.processors.endAllLate(device);
      for (const { token } of device.spoiled.splice(0))
        this.world.router.completed(token, Status.Lost);
      this.world.audit.noteSoleCopies(node);
    }
    this.everLess = true;
    this.world.manager.nodeLost(node);
  }

  storeEmptied(node: NodeId): void {
    this.world.trace(() => `  node ${node} is empty`);
    if (node !== this.store || !this.storeLeaves)
      throw new Error(`node ${node} is emptied, which nobody asked for`);
    this.store = NO_NODE;
    // The next node may have its number.
    this.full.delete(node);
    this.storeLeaves = false;
    // Its number may be that of another node next.
    this.full.delete(node);
    this.world.drainedAny = true;
    // What every copy of has failed cannot come home.
    if (this.world.mayGiveUp) this.world.gaveUp = true;
    this.world.processors.expectNoReaders(this.world.stores[node]);
    this.world.router.detachNode(node);
    this.world.stores[node] = undefined;
  }
}
