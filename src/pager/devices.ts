/** The devices of a space: how they are started, watched, taken away, and what they report about themselves. */
import type { MemoryManager } from '../core/memory-manager.js';
import { HOST, PAGE_BYTES } from '../core/types.js';
import type { ByteAccess, Driver, DriverEvents, DriverLaunch } from '../drivers/driver.js';
import type { KernelFunction } from '../drivers/kernel-loader.js';
import { ProcessDevice } from '../drivers/process/device.js';
import type { Router } from '../drivers/router.js';
import { SimulatedDevice } from '../drivers/simulated/simulated-device.js';
import { readMemory, writeMemory } from '../linux/memory.js';
import type { Poller } from '../linux/poll.js';
import type { DeviceInfo, DeviceOptions, ProcessorStats } from './protocol.js';

const MAX_DEVICES = 16;
const SLOTS_PER_DEVICE = 3;
/** Places of a device's descriptors in its part of the poller. */
const FAULTS = 0;
const PACKETS = 1;
const LIFE = 2;

export interface Device {
  readonly info: DeviceInfo;
  readonly driver: Driver;
  /** The same driver, if it is of this kind. */
  readonly process: ProcessDevice | null;
  readonly simulated: SimulatedDevice | null;
  launched: number;
  alive: boolean;
  /** Called when the last page has left a device that is being detached. */
  onDrained: (() => void) | null;
}

export interface DeviceSurroundings {
  readonly manager: MemoryManager;
  readonly router: Router;
  readonly poller: Poller;
  /** First slot of the poller that is for devices. */
  readonly firstSlot: number;
  readonly base: number;
  readonly bytes: number;
  eventsOf(id: () => number): DriverEvents;
  kernelOf(code: DriverLaunch['code']): KernelFunction;
}

export function pollerSlots(firstSlot: number): number {
  return firstSlot + MAX_DEVICES * SLOTS_PER_DEVICE;
}

export class Devices {
  private readonly byId = new Map<number, Device>();
  /** Devices by their place in the poller. */
  private readonly places: (Device | undefined)[] = [];
  /** Processes whose end the event loop has not seen yet. */
  readonly ended: ProcessDevice[] = [];
  /** The last figures of processors that have gone. */
  private readonly gone: ProcessorStats[] = [];

  constructor(private readonly around: DeviceSurroundings) {}

  get(id: number): Device | undefined {
    return this.byId.get(id);
  }

  get all(): Iterable<Device> {
    return this.byId.values();
  }

  /** Starts a device; `ready` is called when it is up, or with why it is not. */
  add(options: DeviceOptions, ready: (failure: string | null) => void): void {
    const { manager, router, poller, base, bytes } = this.around;
    let id = -1;
    const events = this.around.eventsOf(() => id);
    const budgetPages = Math.floor(options.memoryBytes / PAGE_BYTES);
    const { kind, name, units, lossy } = options;
    const process = kind === 'process' ? new ProcessDevice(base, bytes, { ...options, budgetPages }, events) : null;
    const simulated = process === null ? this.simulated(options, budgetPages, events) : null;
    const driver = (process ?? simulated) as Driver;
    id = manager.addProcessor(driver.description);
    router.attach(id, driver);
    const info: DeviceInfo = {
      id,
      kind,
      name,
      memoryBytes: budgetPages * PAGE_BYTES,
      units,
      lossy,
      pageFaults: driver.description.faults,
      pid: process?.pid ?? null,
    };
    const device: Device = { info, driver, process, simulated, launched: 0, alive: true, onDrained: null };
    this.byId.set(id, device);
    let place = 0;
    while (this.places[place] !== undefined) place++;
    this.places[place] = device;
    if (process === null) {
      ready(null);
      return;
    }
    poller.set(this.slot(place, PACKETS), process.socket.fd);
    poller.set(this.slot(place, LIFE), process.pidfd);
    let told = false;
    process.onReady = (failure) => {
      if (!told) ready(failure);
      told = true;
    };
  }

  /** Takes the faults that wait; returns how many there were. */
  readFaults(): number {
    let found = 0;
    for (let place = 0; place < this.places.length; place++) found += this.places[place]?.process?.readFaults() ?? 0;
    return found;
  }

  /** Lets devices that work in this thread go on a step. */
  progress(): boolean {
    let any = false;
    for (let place = 0; place < this.places.length; place++) {
      if (this.places[place]?.simulated?.progress() === true) any = true;
    }
    return any;
  }

  /** Handles what the poller found. True when a process has ended. */
  poll(): boolean {
    const { poller } = this.around;
    let ended = false;
    for (let place = 0; place < this.places.length; place++) {
      const process = this.places[place]?.process ?? null;
      if (process === null) continue;
      if (poller.readyAt(this.slot(place, PACKETS)) !== 0 && process.readPackets()) {
        poller.set(this.slot(place, FAULTS), process.faultFd);
      }
      if (poller.readyAt(this.slot(place, LIFE)) !== 0) {
        this.stopPolling(place);
        process.processEnded();
        ended = true;
      }
    }
    return ended;
  }

  /** Ends a device as if it had fallen off its bus. */
  kill(id: number): void {
    const device = this.byId.get(id);
    if (device?.alive !== true) return;
    device.process?.kill();
    device.simulated?.lose(`device ${device.info.name} was ended on purpose`);
  }

  /** The device's last page has left. */
  remove(device: Device): void {
    this.gone.push(this.statsOf(device));
    this.byId.delete(device.info.id);
    this.around.router.detach(device.info.id);
    const place = this.places.indexOf(device);
    this.stopPolling(place);
    this.places[place] = undefined;
    device.driver.close();
    if (device.process !== null) this.ended.push(device.process);
  }

  close(): void {
    for (const device of [...this.byId.values()]) this.remove(device);
  }

  stats(): ProcessorStats[] {
    const host = this.figuresOf(HOST, 'host', 'host', 0, true);
    return [host, ...[...this.byId.values()].map((device) => this.statsOf(device)), ...this.gone];
  }

  private simulated(options: DeviceOptions, budgetPages: number, events: DriverEvents): SimulatedDevice {
    const memory: ByteAccess = {
      read: (address, target) => readMemory(target, address),
      write: (address, source) => writeMemory(address, source),
    };
    const device = new SimulatedDevice(options.name, budgetPages, memory, (code) => this.around.kernelOf(code), events);
    if (options.inject !== undefined) device.copies.mishaps.refuseLargerThan = options.inject.refuseLargerThanPages;
    return device;
  }

  private slot(place: number, which: number): number {
    return this.around.firstSlot + place * SLOTS_PER_DEVICE + which;
  }

  private stopPolling(place: number): void {
    for (let which = 0; which < SLOTS_PER_DEVICE; which++) this.around.poller.clear(this.slot(place, which));
  }

  private statsOf({ info, launched, alive }: Device): ProcessorStats {
    return this.figuresOf(info.id, info.name, info.kind, launched, alive);
  }

  private figuresOf(id: number, name: string, kind: string, launches: number, alive: boolean): ProcessorStats {
    const { budgetPages, backedPages, peakPages, counters } = this.around.manager.figures(id);
    return {
      name,
      kind,
      budgetBytes: budgetPages * PAGE_BYTES,
      backedBytes: backedPages * PAGE_BYTES,
      peakBytes: peakPages * PAGE_BYTES,
      readFaults: counters.readFaults,
      writeFaults: counters.writeFaults,
      repeatedFaults: counters.repeatedFaults,
      bytesIn: counters.pagesIn * PAGE_BYTES,
      bytesOut: counters.pagesOut * PAGE_BYTES,
      bytesZeroed: counters.pagesZeroed * PAGE_BYTES,
      bytesFromFiles: counters.pagesProvided * PAGE_BYTES,
      evictions: counters.evictions,
      refusals: counters.refusals,
      revocations: counters.revocations,
      denied: counters.denied,
      launches,
      alive,
    };
  }
}
