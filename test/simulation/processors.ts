/**
 * Processors with their memories: how they come, leave and die, and what their drivers answer late.
 */
import {
  Access,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  PAGE_BYTES as REAL_PAGE_BYTES,
  Status,
} from '../../src/core/basics/types.js';
import type {
  ByteAccess,
  CallableKernel,
  DriverEvents,
  KernelCode,
} from '../../src/drivers/driver.js';
import { ModelDevice, PAGE_BYTES, PAGES } from './model-device.js';
import type { Argument } from './programs.js';
import { WatchedDevice } from './watched-device.js';
import type { World } from './world.js';

export class Processors {
  readonly condemned = new Set<ProcessorId>();
  readonly leaving = new Set<ProcessorId>();
  /** Processors that have gone, of which the others have not heard. */
  readonly unheard: ProcessorId[] = [];

  constructor(private readonly world: World) {}

  addModel(about: {
    name: string;
    budgetPages: number;
    units: number;
    memorySurvives: boolean;
  }): ModelDevice {
    const isHost = this.world.devices[HOST] === undefined;
    const description = {
      ...about,
      frames: 'identity',
      faults: true,
      addressable: true,
      remoteAccess: true,
      ...(isHost ? {} : { granularityBytes: this.world.granulePages() * REAL_PAGE_BYTES }),
    } as const;
    const home = this.world.devices[HOST] === undefined ? NO_NODE : HOST_NODE;
    const { processor: id, node } = this.world.manager.addDevice(description, home);
    this.expectFree(id);
    const device = new ModelDevice(id, node, description, PAGES, this.world);
    this.world.devices[id] = device;
    this.world.stores[node] = device;
    this.world.router.attach(id, node, device);
    return device;
  }

  /** A processor without memory of its own: it reaches the host's in place. */
  addNeighbour(): void {
    const units = this.world.whims.between(1, 2);
    const { description: host } = this.world.host;
    // Each of its threads needs a block of the host's memory, as the host's own do.
    if (host.budgetPages < (host.units + units + 1) * PAGES_PER_BLOCK) return;
    const about = { name: 'neighbour', budgetPages: 0, units, memorySurvives: true };
    const description = { ...about, frames: 'identity', faults: true, addressable: true } as const;
    const id = this.world.manager.addProcessor(description);
    const device = new ModelDevice(id, NO_NODE, description, PAGES, this.world);
    this.world.devices[id] = device;
    this.world.router.attachProcessor(id, device);
  }

  addDevice(process: boolean): void {
    const { random } = this.world;
    if (process) {
      const units = random.between(1, 2);
      const more = random.pick([0, 0, 3]);
      const blocks = units + 1 + (this.world.plots.streams ? 3 : more);
      const budgetPages =
        PAGES_PER_BLOCK * blocks * this.world.granuleBlocks + random.below(PAGES_PER_BLOCK);
      this.addModel({ name: 'process', budgetPages, units, memorySurvives: !this.world.lossy });
      return;
    }
    const device = this.simulatedDevice(
      'simulated',
      random.between(300, 1500) * this.world.granuleBlocks ** 2,
      {
        fault: () => {},
        revoked: () => {},
        released: () => {},
        transferred: (token, status) => this.world.router.completed(token, status),
        launched: (id, failure) => {
          const launch = this.world.programs.launches.find((each) => each.id === id);
          if (launch === undefined) return;
          launch.state = 'over';
          if (failure?.code === 'KERNEL_ERROR') throw new Error(failure.message);
          if (
            failure?.code === 'ACCESS_DENIED' &&
            !launch.args.some((argument) => this.mayBeDenied(argument))
          ) {
            throw new Error(`launch ${id} was denied what it should have: ${failure.message}`);
          }
        },
        died: () => {},
      },
      this.world.granulePages() * REAL_PAGE_BYTES,
    );
    const { processor: id, node } = this.world.manager.addDevice({
      ...device.description,
      longCopies: hasLongCopies(device),
    });
    this.expectFree(id);
    this.world.devices[id] = device;
    this.world.stores[node] = device;
    this.world.router.attach(id, node, device);
    if (this.world.weather.noMemory > 0)
      device.copies.mishaps.refuseLargerThanPages = random.pick([1, 5, 16, 64]);
  }

  /** What goes by the number would take the end of the one before for that of this one. */
  private expectFree(id: ProcessorId): void {
    if (this.unheard.includes(id))
      throw new Error(`number ${id} is given again before all have heard of the end`);
  }

  simulatedDevice(
    name: string,
    pages: number,
    events: DriverEvents,
    granularityBytes?: number,
  ): WatchedDevice {
    const bytes: ByteAccess = {
      read: (address, target) =>
        this.world.readWords(
          address,
          new Uint32Array(target.buffer, target.byteOffset, target.length / 4),
        ),
      write: (address, source) =>
        this.world.writeWords(
          address,
          new Uint32Array(source.buffer, source.byteOffset, source.length / 4),
        ),
    };
    const loadKernel =
      (code: KernelCode): CallableKernel =>
      (args) =>
        this.world.programs.kernel(Number(code.kind === 'inline' ? code.source : -1), args);
    const device = new WatchedDevice(
      { name, budgetPages: pages, bytes, loadKernel, events, granularityBytes },
      PAGE_BYTES,
    );
    device.isLate = () => this.world.whims.chance(this.world.weather.later / 2);
    return device;
  }

  /** Nothing of the device reads its memory any more, which is gone. */
  endAllLate(device: WatchedDevice): void {
    for (const { token } of device.late.splice(0)) this.world.manager.released(token);
  }

  /** Frames that something may still read do not go. */
  expectNoReaders(device: ModelDevice | WatchedDevice | undefined): void {
    if (device instanceof WatchedDevice && device.late.length > 0)
      throw new Error(
        `${device.description.name} goes while ${device.late.length} of its releases have late readers`,
      );
  }

  endLate(): void {
    const device = this.lateDevice() as WatchedDevice;
    const token = device.endLate(this.world.whims.below(device.late.length));
    this.world.trace(() => `  release ${token} is through`);
    this.world.manager.released(token);
  }

  lateDevice(): WatchedDevice | null {
    for (const device of this.world.stores)
      if (device instanceof WatchedDevice && device.late.length > 0) return device;
    return null;
  }

  private mayBeDenied(argument: Argument): boolean {
    if (argument.use !== 'in' && !argument.memory.range.writable) return true;
    for (let page = argument.first; page < argument.first + argument.count; page++) {
      if (
        this.world.rights[page] < Access.Write ||
        this.world.changing[page] > 0 ||
        argument.memory.pinned !== null
      )
        return true;
      if (
        this.world.freed[page] !== 0 ||
        this.world.fuzzy[page] !== 0 ||
        this.world.audit.isLost(page)
      )
        return true;
    }
    return false;
  }

  deviceCount(): number {
    let count = 0;
    for (const device of this.world.devices) if (device !== undefined) count++;
    return count - 1;
  }

  anyDevice(): ProcessorId {
    for (let at = 0; at < this.world.devices.length; at++) {
      const id = (this.world.step + at) % this.world.devices.length;
      if (id !== HOST && this.world.devices[id] !== undefined && !this.isDead(id)) return id;
    }
    return -1;
  }

  /** A device that no launch runs on. */
  idleDevice(): ProcessorId {
    for (let at = 0; at < this.world.devices.length; at++) {
      const id = (this.world.step + at) % this.world.devices.length;
      if (
        id === HOST ||
        this.world.devices[id] === undefined ||
        this.leaving.has(id) ||
        this.isDead(id)
      )
        continue;
      if (!this.world.programs.launches.some((launch) => launch.device === this.world.devices[id]))
        return id;
    }
    return -1;
  }

  isDead(id: ProcessorId): boolean {
    const { processors } = this.world.manager.state;
    return processors[id]?.state === 'dead' || this.condemned.has(id) || this.unheard.includes(id);
  }

  simulated(): WatchedDevice | null {
    for (const device of this.world.stores) if (device instanceof WatchedDevice) return device;
    return null;
  }

  detach(): void {
    const id = this.idleDevice();
    this.world.trace(() => `  detach ${id}`);
    this.leaving.add(id);
    this.world.strand();
    this.world.manager.detach(id);
  }

  kill(id: ProcessorId): void {
    const device = this.world.devices[id];
    if (device === undefined) return;
    this.world.trace(() => `  device ${id} dies`);
    this.condemned.delete(id);
    this.leaving.add(id);
    if (device instanceof WatchedDevice) {
      device.lose('killed');
      this.endAllLate(device);
    } else {
      device.die();
      for (const { token } of device.revokes.splice(0)) this.world.manager.revoked(token);
      for (const { token } of device.remaps.splice(0)) this.world.manager.revoked(token);
      for (const { token } of device.covers.splice(0)) this.world.manager.revoked(token);
      for (const copy of device.pendingCopies.splice(0)) {
        device.abandon(copy);
        this.world.router.completed(copy.token, Status.Lost);
      }
    }
    for (const launch of this.world.programs.launches)
      if (launch.device === device && launch.state === 'running') launch.state = 'over';
    // It was leaving, and the last frames that were still read were all that was left of it.
    if (this.world.devices[id] !== device) {
      this.world.manager.processorLost(id);
      return;
    }
    if (!device.description.memorySurvives) this.world.audit.noteSoleCopies(this.nodeOf(id));
    this.world.manager.processorLost(id);
    if (device instanceof ModelDevice && !device.description.memorySurvives) device.lose();
  }

  fulfil(): void {
    const [id] = this.condemned;
    this.kill(id);
  }

  /** Now and then others hear of it later. */
  drained(id: ProcessorId): Status {
    this.world.trace(() => `  drained ${id}`);
    if (this.world.step % 2 === 0) {
      this.unheard.push(id);
      return Status.Pending;
    }
    this.forget(id);
    return Status.Done;
  }

  hear(): void {
    const id = this.unheard.shift() as ProcessorId;
    this.world.trace(() => `  heard of the end of ${id}`);
    this.forget(id);
    this.world.manager.endHeard(id);
  }

  private forget(id: ProcessorId): void {
    if (!this.leaving.delete(id))
      throw new Error(`processor ${id} is drained, which nobody asked for`);
    this.condemned.delete(id);
    this.world.drainedAny = true;
    // What every copy of has failed cannot come home.
    if (this.world.mayGiveUp) this.world.gaveUp = true;
    const device = this.world.devices[id];
    if (device instanceof ModelDevice && !device.gone && device.backedPages > 0) {
      throw new Error(`processor ${id} is drained and has ${device.backedPages} pages left`);
    }
    this.expectNoReaders(device);
    const node = this.world.stores.indexOf(device);
    this.world.devices[id] = undefined;
    if (node === -1) this.world.router.detachProcessor(id);
    else {
      this.world.stores[node] = undefined;
      this.world.router.detach(id, node);
    }
  }

  /** The device's own memory. */
  private nodeOf(id: ProcessorId): NodeId {
    return this.world.stores.indexOf(this.world.devices[id]);
  }

  /** A bit for each device that is there. */
  living(): number {
    let bits = 0;
    for (let id = 1; id < this.world.devices.length; id++)
      if (this.world.manager.state.processors[id]?.state === 'alive') bits |= 1 << id;
    return bits;
  }

  endRemap(): void {
    const device = this.modelWith('remaps') as ModelDevice;
    const [{ token, block, on }] = device.remaps.splice(
      this.world.random.below(device.remaps.length),
      1,
    );
    device.switchBlock(block, on);
    this.world.trace(() => `  switch ${token} is through`);
    this.world.manager.revoked(token);
  }

  endCover(): void {
    const device = this.modelWith('covers') as ModelDevice;
    const [{ token, page }] = device.covers.splice(
      this.world.random.below(device.covers.length),
      1,
    );
    device.coverPage(page);
    this.world.trace(() => `  page ${page} of ${device.description.name} is covered`);
    this.world.manager.revoked(token);
  }

  modelWith(list: 'revokes' | 'pendingCopies' | 'remaps' | 'covers'): ModelDevice | null {
    for (const device of this.world.devices)
      if (device instanceof ModelDevice && device[list].length > 0) return device;
    return null;
  }

  acknowledge(): void {
    const device = this.modelWith('revokes') as ModelDevice;
    const [revoke] = device.revokes.splice(this.world.random.below(device.revokes.length), 1);
    device.restrict(revoke.page, revoke.count, revoke.to);
    this.world.trace(() => `  revocation ${revoke.token} is through`);
    this.world.manager.revoked(revoke.token);
  }

  endCopy(): void {
    const device = this.modelWith('pendingCopies') as ModelDevice;
    const [copy] = device.pendingCopies.splice(
      this.world.random.below(device.pendingCopies.length),
      1,
    );
    const status = device.copy(copy);
    this.world.trace(() => `  copy ${copy.token} ended with ${status}`);
    this.world.router.completed(copy.token, status);
  }
}

/** Half of all devices and stores, which draws no number of those that schedules are made of. */
export function hasLongCopies({ description }: WatchedDevice): boolean {
  return description.budgetPages % 2 === 0;
}
