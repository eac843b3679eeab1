/** The devices of a space: how they are started, watched, taken away, and what they report about themselves. */
import type { MemoryManager } from '../../core/memory-manager.js';
import { HOST, MAX_PROCESSORS, type NodeId, PAGE_BYTES } from '../../core/types.js';
import type { ByteAccess, Driver, DriverContext, DriverEvents, DriverLaunch } from '../../drivers/driver.js';
import { DriverGuard } from '../../drivers/guard.js';
import type { KernelFunction } from '../../drivers/kernel-loader.js';
import { ProcessDevice } from '../../drivers/process/device.js';
import type { Router } from '../../drivers/router.js';
import { SimulatedDevice } from '../../drivers/simulated/simulated-device.js';
import { POLLIN, POLLOUT } from '../../linux/constants.js';
import { readMemory, writeMemory } from '../../linux/memory.js';
import type { Poller } from '../../linux/poll.js';
import type { DeviceInfo, DeviceOptions, ProcessorStats, WireError } from '../protocol/requests.js';
import { wireError } from '../protocol/wire.js';

/** How long a driver's module may take to be loaded and to make its driver. */
const LOADING_LIMIT_MS = 30_000;
/** How long the manager sleeps at most while a packet waits: the kernel tells of room, not of memory that it has again. */
const SENDING_MS = 20;
/** Between two looks for answers that are overdue. */
const LOOK_MS = 1000;
/** The program of a device's process. Its address is relative to this module, which the build makes part of the manager's. */
const CHILD = new URL('../../drivers/process/child.js', import.meta.url);
const SLOTS_PER_DEVICE = 3;
/** Places of a device's descriptors in its part of the poller. */
const FAULTS = 0;
const PACKETS = 1;
const LIFE = 2;

export interface Device {
  readonly info: DeviceInfo;
  readonly driver: Driver;
  /** The same driver, if it is that of a process. */
  readonly process: ProcessDevice | null;
  /** The same driver, if it is one that works in this thread. */
  readonly guard: DriverGuard | null;
  /** The poller tells when the device's socket takes packets again. */
  wantsRoom: boolean;
  launched: number;
  alive: boolean;
  /** It has died; what it has is on its way home. */
  lost: boolean;
  /** It did not start, or another one has taken its place: its last figures are no news. */
  forgotten: boolean;
  /** It was killed, and is gone as soon as that is seen. */
  ending: boolean;
  /** Why it died. */
  reason: string;
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
  /** The memory file of the host. */
  readonly hostMemory: number;
  eventsOf(id: () => number): DriverEvents;
  kernelOf(code: DriverLaunch['code']): KernelFunction;
  /** A message for the program's standard error. */
  warn(message: string): void;
}

/** A device as the program knows it: started again, it is another device of the same name. */
interface Entry {
  readonly options: DeviceOptions;
  /** Of the one that came last. */
  info: DeviceInfo;
  /** Numbers of those before it. */
  readonly before: Set<number>;
  /** Those who wait for it to be started again; null: nobody does. */
  restart: DeviceDone[] | null;
  /** It is being started. */
  starting: boolean;
}

/** What becomes of a device that is to be started. */
type DeviceDone = (failure: WireError | null, info: DeviceInfo | null) => void;

/** A device whose driver is there, and whose number in the core is not. */
interface Prepared {
  readonly guard: DriverGuard;
  id: number;
}

/** Why they are not all up, if so, and those that were begun with. */
type Started = (failure: string | null, started: readonly Device[]) => void;

export function pollerSlots(firstSlot: number): number {
  return firstSlot + MAX_PROCESSORS * SLOTS_PER_DEVICE;
}

export class Devices {
  private readonly byId = new Map<number, Device>();
  /** Devices by their place in the poller. */
  private readonly places: (Device | undefined)[] = [];
  /** Processes whose end the event loop has not seen yet. */
  readonly ended: ProcessDevice[] = [];
  /** The last figures of processors that have gone. */
  private readonly gone: ProcessorStats[] = [];
  /** Why devices are not there any more, by number. */
  private readonly losses = new Map<number, string>();
  /** In the order in which they came. */
  private readonly entries: Entry[] = [];
  /** Names of devices that are being added. */
  private readonly starting = new Set<string>();
  private lastNumber = 0;
  private closed = false;
  /** Modules of drivers that are being loaded; they need turns of the event loop. */
  private loading = 0;
  private hasCustom = false;
  private lastLook = 0;

  constructor(private readonly around: DeviceSurroundings) {}

  get(id: number): Device | undefined {
    return this.byId.get(id);
  }

  byNumber(number: number): Device | undefined {
    for (const device of this.byId.values()) if (device.info.number === number) return device;
    return undefined;
  }

  /** The processor of a device, or of the host (0); -1 if it has gone. */
  processorOf(number: number): number {
    return number === 0 ? HOST : (this.byNumber(number)?.info.id ?? -1);
  }

  /** Devices as the program knows them, also those that have gone. */
  get infos(): DeviceInfo[] {
    return this.entries.map(({ info }) => info);
  }

  /** The device whose own memory it is. */
  ofNode(node: NodeId): Device | undefined {
    for (const device of this.byId.values()) if (device.info.node === node) return device;
    return undefined;
  }

  get all(): Iterable<Device> {
    return this.byId.values();
  }

  /** Starts the devices of a new space; `ready` is called when all are up, or with why they are not. */
  open(all: readonly DeviceOptions[], ready: (failure: string | null) => void): void {
    this.start(all, (failure, started) => {
      for (const [index, { info }] of started.entries())
        this.entries.push({ options: all[index], info, before: new Set(), restart: null, starting: false });
      ready(failure);
    });
  }

  /** Starts one more. */
  addDevice(options: DeviceOptions, done: DeviceDone): void {
    const { name } = options;
    if (this.starting.has(name) || this.entries.some((entry) => entry.options.name === name)) {
      const message = `there is a device ${name}; give the new one another name, or start that one again by restart()`;
      done({ ...wireError('DEVICE_NAME', message), name: 'RangeError' }, null);
      return;
    }
    this.starting.add(name);
    this.startOne(options, (failure, info) => {
      this.starting.delete(name);
      if (info !== null) this.entries.push({ options, info, before: new Set(), restart: null, starting: false });
      done(failure, info);
    });
  }

  /** Starts a device again. One that lives is ended first: what it has comes home, as far as it survives. */
  restart(number: number, done: DeviceDone): void {
    const entry = this.entries.find(({ info, before }) => info.number === number || before.has(number));
    if (entry === undefined) throw new Error(`there is no device ${number}`);
    if (entry.restart !== null) {
      entry.restart.push(done);
      return;
    }
    const device = this.byNumber(entry.info.number);
    if (entry.info.number !== number && device?.alive === true) {
      // Another thread was first.
      done(null, entry.info);
      return;
    }
    entry.restart = [done];
    if (device === undefined || device.lost) this.startAgain(entry);
    else this.kill(device.info.id, 'it is being started again');
  }

  /** The device has gone: if a restart waits for that, it is started again. */
  private goneFor(number: number): void {
    const entry = this.entries.find(({ info }) => info.number === number);
    if (entry !== undefined && entry.restart !== null && !entry.starting) this.startAgain(entry);
  }

  private startAgain(entry: Entry): void {
    const { options, info } = entry;
    const before = this.byNumber(info.number);
    entry.starting = true;
    this.startOne(options, (failure, started) => {
      const waiting = entry.restart ?? [];
      entry.restart = null;
      entry.starting = false;
      if (started !== null) {
        // Whatever is left of it goes home without a word.
        if (before !== undefined) before.forgotten = true;
        const last = this.gone.findIndex(({ name }) => name === options.name);
        if (last !== -1) this.gone.splice(last, 1);
        entry.before.add(info.number);
        entry.info = started;
      }
      for (const done of waiting) done(failure, started);
    });
  }

  private startOne(options: DeviceOptions, done: DeviceDone): void {
    if (this.closed) {
      done(wireError('SPACE_CLOSED', `device ${options.name} was not started: the space is being closed`), null);
      return;
    }
    if (this.byId.size + this.loading >= MAX_PROCESSORS - 1) {
      const message = `a space has at most ${MAX_PROCESSORS - 1} devices, those included whose pages are still on their way home; detach one`;
      done({ ...wireError('DEVICES', message, {}), name: 'RangeError' }, null);
      return;
    }
    this.start([options], (failure, started) => {
      if (failure === null) done(null, started[0].info);
      else {
        for (const device of started) {
          device.forgotten = true;
          this.kill(device.info.id, 'it did not start');
        }
        done(wireError('DEVICE_START', failure, { device: options.name }), null);
      }
    });
  }

  /** Starts devices; `ready` is called when all are up, or with why they are not. The loop must run for them to come up. */
  private start(all: readonly DeviceOptions[], ready: Started): void {
    const custom = all.filter(({ kind }) => kind === 'custom');
    if (custom.length === 0) {
      this.addAll(all, new Map(), ready);
      return;
    }
    this.hasCustom = true;
    this.loading++;
    Promise.allSettled(custom.map((options) => this.load(options))).then((loaded) => {
      this.loading--;
      const prepared = new Map<DeviceOptions, Prepared>();
      const failures: string[] = [];
      for (const [index, result] of loaded.entries()) {
        if (result.status === 'fulfilled') prepared.set(custom[index], result.value);
        else failures.push(`device ${custom[index].name} did not start: ${reasonOf(result.reason)}`);
      }
      if (this.closed) failures.push('the space is being closed');
      if (failures.length === 0) this.addAll(all, prepared, ready);
      else {
        for (const { guard } of prepared.values()) guard.close();
        ready(failures.join('; '), []);
      }
    });
  }

  private addAll(all: readonly DeviceOptions[], prepared: ReadonlyMap<DeviceOptions, Prepared>, ready: Started): void {
    let waiting = all.length + 1;
    const started: Device[] = [];
    let failed: string | null = null;
    const up = (failure: string | null): void => {
      failed ??= failure;
      if (--waiting > 0) return;
      // One that is up may have died while others were starting.
      const lost = started.find((device) => device.lost);
      ready(failed ?? (lost === undefined ? null : this.explainLoss(lost.info.number)), started);
    };
    for (const options of all) {
      const made = prepared.get(options) ?? null;
      try {
        started.push(this.add(options, made, up));
      } catch (error) {
        made?.guard.close();
        up(`device ${options.name} did not start: ${reasonOf(error)}`);
      }
    }
    up(null);
  }

  private add(options: DeviceOptions, prepared: Prepared | null, ready: (failure: string | null) => void): Device {
    const { manager, router, poller, base, bytes } = this.around;
    let id = -1;
    const budgetPages = Math.floor(options.memoryBytes / PAGE_BYTES);
    const { kind, name, units } = options;
    const process =
      kind === 'process'
        ? new ProcessDevice(
            base,
            bytes,
            { ...options, budgetPages, hostMemory: this.around.hostMemory, program: CHILD },
            this.around.eventsOf(() => id),
          )
        : null;
    const inThread = process === null ? (prepared ?? this.simulated(options)) : null;
    const driver = (process ?? inThread?.guard) as Driver;
    const { processor, node } = manager.addDevice(driver.description);
    id = processor;
    if (inThread !== null) inThread.id = id;
    router.attach(id, node, driver);
    const info: DeviceInfo = {
      id,
      node,
      number: ++this.lastNumber,
      kind: driver.kind,
      name,
      memoryBytes: driver.description.budgetPages * PAGE_BYTES,
      units,
      lossy: !driver.description.memorySurvives,
      pageFaults: driver.description.faults,
      atomics: driver.description.atomics ?? false,
      remoteAccess: driver.description.remoteAccess ?? driver.description.coherent ?? false,
      sameAddresses: driver.description.frames === 'identity',
      cancellation: process !== null || inThread?.guard.canAbort === true,
      pid: process?.pid ?? null,
    };
    const guard = inThread?.guard ?? null;
    const device: Device = {
      info,
      driver,
      process,
      guard,
      wantsRoom: false,
      launched: 0,
      alive: true,
      lost: false,
      forgotten: false,
      ending: false,
      reason: 'it is gone',
      onDrained: null,
    };
    this.byId.set(id, device);
    let place = 0;
    while (this.places[place] !== undefined) place++;
    this.places[place] = device;
    if (process === null) {
      ready(null);
      return device;
    }
    poller.set(this.slot(place, PACKETS), process.socket.fd);
    poller.set(this.slot(place, LIFE), process.pidfd);
    let told = false;
    process.onReady = (failure) => {
      if (!told) ready(failure);
      told = true;
    };
    return device;
  }

  /** Devices that have a process, and with it a descriptor to read faults from. */
  get processes(): number {
    let count = 0;
    for (let place = 0; place < this.places.length; place++) if (this.places[place]?.process != null) count++;
    return count;
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
      if (this.places[place]?.guard?.progress() === true) any = true;
    }
    return any;
  }

  /**
   * Milliseconds that the manager may sleep, for the sake of drivers that answer from a timer or a message: nothing wakes it for these.
   */
  sleepMs(most: number): number {
    if (this.loading > 0) return 0;
    let sleep = most;
    for (let place = 0; place < this.places.length; place++) {
      const device = this.places[place];
      if (device?.guard?.waiting === true) return Math.min(most, 1);
      if (device?.process?.sending === true) sleep = Math.min(sleep, SENDING_MS);
    }
    return sleep;
  }

  /** Sends packets that waited, and has the poller tell when there is room for those that still do. */
  sendRest(): void {
    for (let place = 0; place < this.places.length; place++) {
      const device = this.places[place];
      const process = device?.process ?? null;
      if (device === undefined || process === null || !(process.sending || device.wantsRoom)) continue;
      if (process.sending) process.sendRest();
      if (process.sending === device.wantsRoom || !device.alive) continue;
      device.wantsRoom = process.sending;
      const events = device.wantsRoom ? POLLIN | POLLOUT : POLLIN;
      this.around.poller.set(this.slot(place, PACKETS), process.socket.fd, events);
    }
  }

  /** Whether drivers need a turn of the event loop: while they have something to answer, and at times otherwise. */
  needsTurn(idle: boolean): boolean {
    return this.loading > 0 || (this.hasCustom && (idle || this.sleepMs(2) < 2));
  }

  /** Looks for answers that are overdue, and whether processes are in a state to give them. */
  look(nowMs: number): void {
    if (nowMs - this.lastLook < LOOK_MS) return;
    this.lastLook = nowMs;
    for (let place = 0; place < this.places.length; place++) {
      this.places[place]?.guard?.look();
      this.places[place]?.process?.look();
    }
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
  kill(id: number, why = 'it was ended on purpose'): void {
    const device = this.byId.get(id);
    if (device === undefined || device.lost || device.ending) return;
    // Nothing begins on it any more, though its end is heard of a little later.
    device.ending = true;
    device.reason = why;
    device.process?.kill(why);
    device.guard?.lose(why);
  }

  died(device: Device, reason: string): void {
    device.reason = reason;
    device.lost = true;
    this.losses.set(device.info.number, `device ${device.info.name} is gone: ${reason}`);
  }

  /** What there is to do when everybody knows of a device's death. */
  buried(device: Device): void {
    this.goneFor(device.info.number);
  }

  /** As the rest of a sentence, for a request that still asks something of the device. */
  explainLoss(number: number): string {
    return this.losses.get(number) ?? 'the device is gone';
  }

  /** The device's last page has left. */
  remove(device: Device): void {
    if (!device.forgotten) this.gone.push(this.statsOf(device));
    this.byId.delete(device.info.id);
    this.around.router.detach(device.info.id, device.info.node);
    const place = this.places.indexOf(device);
    this.stopPolling(place);
    this.places[place] = undefined;
    device.driver.close();
    if (device.process !== null) this.ended.push(device.process);
    this.goneFor(device.info.number);
  }

  close(): void {
    this.closed = true;
    for (const device of [...this.byId.values()]) this.remove(device);
  }

  stats(): ProcessorStats[] {
    const host = this.figuresOf(HOST, 'host', 'host', 0, true);
    return [
      host,
      ...[...this.byId.values()].filter(({ forgotten }) => !forgotten).map((device) => this.statsOf(device)),
      ...this.gone,
    ];
  }

  private simulated(options: DeviceOptions): Prepared {
    return this.guarded(options, ({ name, budgetPages, bytes, loadKernel, events, inject }) => {
      const device = new SimulatedDevice(name, budgetPages, bytes, loadKernel, events);
      if (inject !== undefined) device.copies.mishaps.refuseLargerThan = inject.refuseLargerThanPages;
      return device;
    });
  }

  private guarded(options: DeviceOptions, create: (context: DriverContext) => unknown): Prepared {
    const { prepared, context } = this.surround(options);
    prepared.guard.adopt(create(context));
    return prepared;
  }

  /** Loads a driver of the user's, and has it make the device. */
  private async load(options: DeviceOptions): Promise<Prepared> {
    const { prepared, context } = this.surround(options);
    const { url, exportName } = options.driver as NonNullable<DeviceOptions['driver']>;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const message = `module ${url} was not ready after ${LOADING_LIMIT_MS / 1000} s`;
      timer = setTimeout(() => reject(new Error(message)), LOADING_LIMIT_MS);
    });
    try {
      prepared.guard.adopt(await Promise.race([create(url, exportName, context), late]));
    } catch (error) {
      throw new Error(`${reasonOf(error)} (export '${exportName}' of ${url})`);
    } finally {
      clearTimeout(timer);
    }
    return prepared;
  }

  private surround(options: DeviceOptions): { prepared: Prepared; context: DriverContext } {
    const { name, units, inject } = options;
    const budgetPages = Math.floor(options.memoryBytes / PAGE_BYTES);
    const asked = { name, budgetPages };
    let prepared: Prepared | null = null;
    const events = this.around.eventsOf(() => prepared?.id ?? -1);
    const guard = new DriverGuard(asked, events, (message) => this.around.warn(message));
    prepared = { guard, id: -1 };
    const bytes: ByteAccess = {
      read: (address, target) => readMemory(target, address),
      write: (address, source) => writeMemory(address, source),
    };
    const loadKernel: DriverContext['loadKernel'] = (code) => this.around.kernelOf(code);
    const wanted = inject === undefined ? {} : { inject };
    const context = {
      ...asked,
      units,
      bytes,
      events: guard.events,
      options: options.driver?.options,
      loadKernel,
      ...wanted,
    };
    return { prepared, context };
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
      bytesCloned: counters.pagesCloned * PAGE_BYTES,
      evictions: counters.evictions,
      refusals: counters.refusals,
      revocations: counters.revocations,
      denied: counters.denied,
      launches,
      alive,
    };
  }
}

async function create(url: string, exportName: string, context: DriverContext): Promise<unknown> {
  const module = (await import(url)) as Record<string, unknown>;
  const made = module[exportName];
  if (typeof made !== 'function') {
    throw new TypeError(`it is no function; the module exports ${Object.keys(module).join(', ') || 'nothing'}`);
  }
  return await made(context);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
