/** The devices of a space: how they start, start again and go, and what they report. */

import {
  HOST,
  HOST_NODE,
  isOwner,
  MAX_PROCESSORS,
  type NodeId,
  PAGE_BYTES,
  type ProcessorId,
} from '../../core/basics/types.js';
import type { ManagerCpu } from '../../cpus/placed-threads.js';
import { SameCpu } from '../../cpus/same-cpu.js';
import { SeparateCpu, type SeparatedThreads } from '../../cpus/separate-cpu.js';
import { isUsed } from '../../cpus/uses.js';
import type { LaunchFailure } from '../../drivers/driver.js';
import type { HasEngine, ProcessDriver } from '../../drivers/process-driver.js';
import type { Notifiers } from '../arrays/modules/notifiers.js';
import type { StagingDevice } from '../arrays/staged-memory.js';
import type { ManagerContext } from '../core/context.js';
import type { DeniedAccess } from '../core/deferred.js';
import type { DeviceInfo, DeviceOptions, ProcessorStats } from '../protocol/space.js';
import { type WireError, wireError } from '../protocol/wire.js';
import { Device, DeviceEvents, type DeviceOwner, type MadeDriver } from './device.js';
import type { DevicePolls } from './device-polls.js';
import { type DriverMaker, reasonOf } from './drivers.js';
import { figuresOf, NO_LAUNCHES } from './figures.js';
import type { Launches } from './launches.js';

/** Turns of the event loop in which it reaps a process that has ended. */
const REAPING_TURNS = 20;

/** A device as the program knows it: started again, it is another device of the same name. */
interface Entry {
  readonly options: DeviceOptions;
  info: DeviceInfo;
  readonly before: Set<number>;
  /** Called when it has been started again, or could not be; null: it is not being restarted. */
  restart: DeviceDone[] | null;
  starting: boolean;
}

/** What becomes of a device that is to be started. */
type DeviceDone = (failure: WireError | null, info: DeviceInfo | null) => void;

/** A driver of the user's, loaded. */
interface Prepared {
  readonly made: MadeDriver;
  readonly events: DeviceEvents;
}

/** Why they are not all up, if so, and those that were begun with. */
type Started = (failure: string | null, started: readonly Device[]) => void;

export class Devices implements DeviceOwner {
  private readonly byId = new Map<number, Device>();
  /** Processes whose end the event loop has not seen yet. */
  private readonly left: ProcessDriver[] = [];
  private readonly gone: ProcessorStats[] = [];
  /** What became of devices that are not there any more, by number: a code, and why. */
  private readonly losses = new Map<number, { code: Device['loss']; message: string }>();
  /** In the order in which they came. */
  private readonly entries: Entry[] = [];
  /** Names of devices that are being added. */
  private readonly starting = new Set<string>();
  private lastNumber = 0;
  private closed = false;
  /** Modules of drivers that are being loaded; they need turns of the event loop. */
  private loading = 0;
  /** Whether a driver may do something in turns of the event loop. */
  private usesEventLoop = false;
  /** Turns of the event loop that are needed, to see processes end. */
  private reaping = 0;

  constructor(
    private readonly context: ManagerContext,
    private readonly launches: Launches,
    private readonly notifiers: Notifiers,
    private readonly maker: DriverMaker,
    private readonly polls: DevicePolls,
    private readonly separated: SeparatedThreads,
    private readonly managerCpu: ManagerCpu,
  ) {}

  get(id: ProcessorId): Device | undefined {
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

  /** The number of a processor's device, or of the host; -1 if it has gone. */
  numberOf(processor: ProcessorId): number {
    return isOwner(processor) ? 0 : (this.byId.get(processor)?.info.number ?? -1);
  }

  /** Devices as the program knows them, also those that have gone. */
  get infos(): DeviceInfo[] {
    return this.entries.map(({ info }) => {
      const loss = this.losses.get(info.number);
      return loss === undefined ? info : { ...info, loss: loss.code };
    });
  }

  get all(): Iterable<Device> {
    return this.byId.values();
  }

  /** Starts a new space's devices; `ready`: all are up, or why they are not. */
  open(all: readonly DeviceOptions[], ready: (failure: string | null) => void): void {
    this.start(all, (failure, started) => {
      for (const [index, { info }] of started.entries()) this.enter(all[index], info);
      ready(failure);
    });
  }

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
      if (info !== null) this.enter(options, info);
      done(failure, info);
    });
  }

  private enter(options: DeviceOptions, info: DeviceInfo): void {
    this.entries.push({ options, info, before: new Set(), restart: null, starting: false });
  }

  /** Where the manager addresses page 0 of a device's node, laid out as the space, or 0. */
  memoryOf(node: NodeId): number {
    for (const { info, driver } of this.byId.values())
      if (info.node === node) return driver.description.frames === 'identity' ? driver.memory : 0;
    return 0;
  }

  /** The device, if its memory can be mapped here. */
  stagingOf(number: number): StagingDevice | null {
    const device = this.byNumber(number);
    const file = device?.process?.memoryFile ?? -1;
    if (device === undefined || device.lost || file === -1) return null;
    return { info: device.info, file };
  }

  /** Starts a device again. A living one ends first: what survives of it comes home. */
  restart(number: number, done: DeviceDone): void {
    const entry = this.entries.find(
      ({ info, before }) => info.number === number || before.has(number),
    );
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
    else device.end('it is being started again');
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
      done(
        wireError(
          'SPACE_CLOSED',
          `device ${options.name} was not started: the space is being closed`,
        ),
        null,
      );
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
          device.end('it did not start');
        }
        done(wireError('DEVICE_START', failure, { device: options.name }), null);
      }
    });
  }

  /** Starts devices; `ready`: all are up, or why they are not. The loop must run meanwhile. */
  private start(all: readonly DeviceOptions[], ready: Started): void {
    const toLoad = all.filter((options) => this.maker.mustLoad(options));
    if (toLoad.length === 0) {
      this.addAll(all, new Map(), ready);
      return;
    }
    this.loading++;
    Promise.allSettled(toLoad.map((options) => this.load(options))).then((loaded) => {
      this.loading--;
      const prepared = new Map<DeviceOptions, Prepared>();
      const failures: string[] = [];
      for (const [index, result] of loaded.entries()) {
        if (result.status === 'fulfilled') prepared.set(toLoad[index], result.value);
        else
          failures.push(`device ${toLoad[index].name} did not start: ${reasonOf(result.reason)}`);
      }
      if (this.closed) failures.push('the space is being closed');
      if (failures.length === 0) this.addAll(all, prepared, ready);
      else {
        for (const { made } of prepared.values()) made.driver.close();
        ready(failures.join('; '), []);
      }
    });
  }

  private async load(options: DeviceOptions): Promise<Prepared> {
    const events = this.newEvents();
    return { made: await this.maker.load(options, events), events };
  }

  private newEvents(): DeviceEvents {
    return new DeviceEvents(this.context.manager, this.context.router, this);
  }

  private addAll(
    all: readonly DeviceOptions[],
    prepared: ReadonlyMap<DeviceOptions, Prepared>,
    ready: Started,
  ): void {
    let waiting = all.length + 1;
    const started: Device[] = [];
    let failed: string | null = null;
    const up = (failure: string | null): void => {
      failed ??= failure;
      if (--waiting > 0) return;
      // One that is up may have died while others were starting.
      const lost = started.find((device) => device.lost);
      ready(failed ?? (lost === undefined ? null : this.lossOf(lost.info.number).message), started);
    };
    for (const options of all) {
      const made = prepared.get(options) ?? null;
      try {
        started.push(this.add(options, made, up));
      } catch (error) {
        made?.made.driver.close();
        up(`device ${options.name} did not start: ${reasonOf(error)}`);
      }
    }
    up(null);
  }

  private add(
    options: DeviceOptions,
    prepared: Prepared | null,
    ready: (failure: string | null) => void,
  ): Device {
    const events = prepared?.events ?? this.newEvents();
    const made = prepared?.made ?? this.maker.make(options, events);
    const { description } = made.driver;
    this.usesEventLoop ||= made.usesEventLoop === true;
    const { processor: id, node } = this.context.manager.addDevice(description);
    this.context.router.attach(id, node, made.driver);
    const info: DeviceInfo = {
      id,
      node,
      number: ++this.lastNumber,
      kind: made.driver.kind,
      name: options.name,
      memoryBytes: description.budgetPages * PAGE_BYTES,
      units: options.units,
      lossy: !description.memorySurvives,
      pageFaults: description.faults,
      atomics: description.atomics ?? false,
      remoteAccess: description.remoteAccess ?? false,
      writeCombining: description.writeCombining ?? false,
      granularityBytes: description.granularityBytes ?? PAGE_BYTES,
      registeredInPlace: made.process?.files != null,
      directCopies: (made.process?.memoryFile ?? -1) !== -1,
      sameAddresses: description.frames === 'identity',
      cancellation: made.checked === null ? made.driver.abort !== undefined : made.checked.canAbort,
      kernels: made.process?.wgsl == null ? 'functions' : 'wgsl',
      pid: made.process?.pid ?? null,
    };
    const device = new Device(info, made);
    events.device = device;
    if (info.pid !== null && description.faults) {
      events.placements = [
        ...(isUsed('separate-cpu') ? [new SeparateCpu(this.separated, info.pid)] : []),
        ...(isUsed('same-cpu') ? [new SameCpu(this.managerCpu, info.pid)] : []),
      ];
    }
    this.byId.set(id, device);
    this.polls.add(device);
    if (made.process === null) ready(null);
    else {
      const { lent, wgsl } = made.process;
      if (lent !== null) this.launches.endings.watch(lent.lender);
      if (wgsl !== null) {
        wgsl.onWants = (launch, wanted, wantedFor, atOnce) => {
          this.context.later(() => this.launches.wanted(device, launch, wanted, wantedFor, atOnce));
        };
        wgsl.onWarning = this.context.warn;
      }
      let told = false;
      made.process.onReady = (failure) => {
        if (!told) ready(failure);
        told = true;
      };
    }
    return device;
  }

  /** Handles what the poller found. */
  hear(): void {
    if (this.polls.handleReady()) this.reaping = REAPING_TURNS;
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    return this.loading > 0 || this.reaping > 0 ? 0 : most;
  }

  /** Whether the event loop must turn: to load drivers, reap processes, or hear of answers. */
  needsTurn(idle: boolean): boolean {
    if (this.reaping > 0) {
      this.reaping--;
      return true;
    }
    return this.loading > 0 || (this.usesEventLoop && (idle || this.polls.sleepMs(2) < 2));
  }

  /** A driver says that a launch has ended. */
  launched(device: Device, launch: number, failure: LaunchFailure | null, gpuMs?: number): void {
    if (this.has(device))
      this.context.later(() => this.launches.driverEnded(device, launch, failure, gpuMs));
  }

  denied({ processor, page, write, reason, stranded }: DeniedAccess): void {
    const device = this.byId.get(processor);
    if (device === undefined) return;
    this.launches.denied(device, page, write, reason);
    // Its thread waits for ever: the device is as good as dead, and must say so.
    if (stranded) device.end(`a page that a kernel waited for cannot be had (${reason})`);
  }

  died(device: Device, reason: string): void {
    if (!this.has(device)) return;
    device.alive = false;
    device.reason = reason;
    device.lost = true;
    this.loses(device, 'DEVICE_LOST', `is gone: ${reason}`);
    this.context.manager.processorLost(device.info.id);
    this.launches.lost(device);
    // Its launches, and requests that still ask something of it, hear of its end first.
    this.context.later(() => this.goneFor(device.info.number));
  }

  /** Brings home what a device has, and ends it; `done` is called when it has gone. */
  detach(number: number, done: () => void): void {
    const device = this.byNumber(number);
    if (device === undefined || !device.alive) {
      done();
      return;
    }
    device.alive = false;
    device.reason = 'it has been detached';
    this.loses(device, 'DEVICE_DETACHED', 'has been detached');
    device.onDrained = done;
    // The launch that runs may end; those that wait are told that the device is gone. It may die
    // before, which drains it, too.
    this.launches.whenIdle(device, () => {
      if (this.has(device)) this.context.manager.detach(device.info.id);
    });
  }

  /** The last page has left a device. */
  drained(id: ProcessorId): void {
    const device = this.byId.get(id);
    if (device === undefined) return;
    this.launches.endAll(device, device.reason);
    this.notifiers.forgetProcessor(id);
    this.remove(device);
    // Started again it may need the number.
    this.context.later(() => this.goneFor(device.info.number));
    this.reaping = REAPING_TURNS;
    device.onDrained?.();
  }

  private loses(device: Device, code: Device['loss'], what: string): void {
    device.loss = code;
    this.losses.set(device.info.number, { code, message: `device ${device.info.name} ${what}` });
  }

  /** What a request fails by that still asks something of the device; `what` begins the sentence. */
  lossError(number: number, what: string): WireError {
    const { code, message } = this.lossOf(number);
    return wireError(code, `${what}: ${message}`, { ranges: [] });
  }

  private lossOf(number: number): { code: Device['loss']; message: string } {
    return this.losses.get(number) ?? { code: 'DEVICE_LOST', message: 'the device is gone' };
  }

  private remove(device: Device): void {
    if (!device.forgotten) this.gone.push(this.statsOf(device));
    this.byId.delete(device.info.id);
    this.context.router.detach(device.info.id, device.info.node);
    this.polls.remove(device);
    device.driver.close();
    if (device.process !== null) this.left.push(device.process);
  }

  private has(device: Device): boolean {
    return this.byId.get(device.info.id) === device;
  }

  close(): void {
    this.closed = true;
    for (const device of [...this.byId.values()]) {
      this.remove(device);
      this.goneFor(device.info.number);
    }
  }

  /** Children have been killed; waiting until the event loop has seen it leaves no zombie behind. */
  async ended(): Promise<void> {
    await Promise.all(this.left.map(({ exited }) => exited));
  }

  stats(): ProcessorStats[] {
    const { manager } = this.context;
    const what = { name: 'host', kind: 'host', alive: true };
    const host = figuresOf(manager, HOST, what, NO_LAUNCHES, this.copyingOf(HOST_NODE, null));
    return [
      host,
      ...[...this.byId.values()]
        .filter(({ forgotten }) => !forgotten)
        .map((device) => this.statsOf(device)),
      ...this.gone,
    ];
  }

  private statsOf(device: Device): ProcessorStats {
    const { info, figures, alive } = device;
    const { id, name, kind, node } = info;
    const copying = this.copyingOf(node, device.process?.engine ?? null);
    return figuresOf(this.context.manager, id, { name, kind, alive }, figures, copying);
  }

  /** Only an engine knows which copies have gone together. */
  private copyingOf(node: NodeId, engine: HasEngine | null) {
    const { router } = this.context;
    const transfersIn = engine?.transfersIn ?? router.copiesTo(node);
    return { copyMs: router.copyMs(node), transfersIn };
  }
}
