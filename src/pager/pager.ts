/**
 * The manager: it waits for faults, requests and devices, tells the core what happened, and has the drivers do what the core
 * says. It never waits for a thread of the application, nor for a copy that is not from memory to memory.
 */

import { writeSync } from 'node:fs';
import { BroadcastChannel, receiveMessageOnPort } from 'node:worker_threads';
import { bytesOf } from '../core/elements.js';
import { checkInvariants } from '../core/invariants.js';
import { MemoryManager } from '../core/memory-manager.js';
import { Access, type DenyReason, HOST, PAGE_BYTES, PAGES_PER_BLOCK, type Status } from '../core/types.js';
import type { Range } from '../core/va-space.js';
import type { ByteAccess, Driver, DriverEvents, DriverLaunch, LaunchFailure } from '../drivers/driver.js';
import { HostDriver } from '../drivers/host-linux/host.js';
import { compileKernel, type KernelFunction, loadKernel } from '../drivers/kernel-loader.js';
import { ProcessDevice } from '../drivers/process/device.js';
import { Router } from '../drivers/router.js';
import { SimulatedDevice } from '../drivers/simulated/simulated-device.js';
import { drainEventfd } from '../linux/eventfd.js';
import { closeDescriptor } from '../linux/libc.js';
import { readMemory, writeMemory } from '../linux/memory.js';
import { Poller } from '../linux/poll.js';
import { kill } from '../linux/process.js';
import { lru } from '../policy/eviction/lru.js';
import { tree } from '../policy/prefetch/tree.js';
import { FileProvider } from './file-provider.js';
import { IoEngine } from './io-ring.js';
import {
  type ClientHello,
  Control,
  clientChannel,
  type DeviceInfo,
  type DeviceOptions,
  type FileTransfer,
  type FromManager,
  helloChannel,
  type ManagerOptions,
  type ProcessorStats,
  type Requests,
  SpaceState,
  type SpaceStats,
  type StreamOperation,
  type ToManager,
  type WireError,
} from './protocol.js';
import { Streams } from './streams.js';
import { codeOfDenial, explainDenial, RequestError, toWire, wireError } from './wire.js';

/** How long the manager sleeps at most, so that its heartbeat goes on. */
const SLEEP_MS = 200;
/** Looks at the faults before it sleeps: a thread that was just answered often faults again within microseconds. */
const SPINS = 40;
/** Fault messages in a row after which requests get a look, too. */
const FAULTS_IN_A_ROW = 256;
/** A file is read or written in windows of 8 MiB, so that its pages are not all held at once. */
const WINDOW_PAGES = 2048;
const FIRST_DEVICE_SLOT = 2;
const SLOTS_PER_DEVICE = 3;
const MAX_DEVICES = 16;

interface Device {
  readonly info: DeviceInfo;
  readonly driver: Driver;
  readonly process: ProcessDevice | null;
  readonly simulated: SimulatedDevice | null;
  /** Launches in the order in which they run; the first is under way. */
  readonly launches: LaunchRecord[];
  launched: number;
  alive: boolean;
  /** Called when the last page has left a device that is being detached. */
  onDrained: (() => void) | null;
  /** Called when no launch is left. */
  readonly onIdle: (() => void)[];
}

interface LaunchRecord {
  readonly id: number;
  readonly operation: Extract<StreamOperation, { kind: 'launch' }>;
  readonly done: (error: WireError | null, pages: number) => void;
  failure: WireError | null;
  inDriver: boolean;
}

interface Client {
  readonly channel: BroadcastChannel;
  readonly answers: Int32Array;
}

interface RangeRecord {
  readonly range: Range;
  readonly bytes: number;
  readonly elementBytes: number;
  /** Views of it in all threads. */
  views: number;
  warned: boolean;
  committedPages: number;
}

type RequestDone = (pages: number, failure: DenyReason | null) => void;

export class Pager {
  private readonly manager: MemoryManager;
  private readonly router: Router;
  private readonly hostDriver: HostDriver;
  private readonly engine: IoEngine;
  private readonly files: FileProvider;
  private readonly streams: Streams;
  private readonly poller = new Poller(FIRST_DEVICE_SLOT + MAX_DEVICES * SLOTS_PER_DEVICE);
  private readonly control: Int32Array;
  private readonly hello: BroadcastChannel;
  private readonly clients: Client[] = [];
  private readonly devices = new Map<number, Device>();
  private readonly slots: (Device | undefined)[] = [];
  /** Devices that have gone, for statistics. */
  private readonly gone: ProcessorStats[] = [];
  private readonly ranges = new Map<number, RangeRecord>();
  private readonly requests = new Map<number, RequestDone>();
  /** What the core said while it was at work; handled when it has returned. */
  private readonly notices: (() => void)[] = [];
  private readonly deferred: (() => void)[] = [];
  private nextRequest = 1;
  private committedPages = 0;
  /** Turns of the event loop that something needs: modules being loaded, processes to be reaped. */
  private loopTurns = 0;
  /** Modules of kernels that are being loaded. */
  private loading = 0;
  private readonly ended: ProcessDevice[] = [];
  private closing: (() => void) | null = null;
  private finished = false;

  constructor(private readonly options: ManagerOptions) {
    this.control = new Int32Array(options.control);
    this.router = new Router(
      {
        deny: (processor, page, write, thread, reason) =>
          this.notices.push(() => this.denied(processor, page, write, thread, reason)),
        requestDone: (request, pages, failure) => this.notices.push(() => this.requestDone(request, pages, failure)),
        drained: (processor) => this.notices.push(() => this.drained(processor)),
      },
      { provide: (token, page, count, target) => this.files.provide(token, page, count, target) },
      (token, status) => this.manager.transferred(token, status),
    );
    this.manager = new MemoryManager(
      this.router,
      { eviction: lru, prefetch: () => tree() },
      Math.floor(options.bytes / (PAGE_BYTES * PAGES_PER_BLOCK)),
    );
    this.engine = new IoEngine(options.wakeFd);
    this.files = new FileProvider(this.engine, (token, status) => this.router.completed(token, status));
    this.streams = new Streams(
      (operation, done) => this.execute(operation, done),
      (event) => this.broadcast({ event }),
      () => performance.now(),
    );
    this.hostDriver = this.openHost();
    const hostId = this.manager.addProcessor(this.hostDriver.description);
    if (hostId !== HOST) throw new Error('the host must be the first processor');
    this.router.attach(HOST, this.hostDriver);
    this.poller.set(0, options.wakeFd);
    this.poller.set(1, this.hostDriver.faults.fd);
    this.hello = new BroadcastChannel(helloChannel(options.name));
    this.hello.unref();
  }

  get base(): number {
    return this.hostDriver.node.base;
  }

  /** Starts the devices; the loop must run for them to come up. */
  addDevices(ready: (failure: string | null) => void): void {
    let waiting = this.options.devices.length;
    let failed: string | null = null;
    const up = (failure: string | null): void => {
      failed ??= failure;
      if (--waiting === 0) ready(failed);
    };
    if (waiting === 0) ready(null);
    for (const options of this.options.devices) this.addDevice(options, up);
  }

  get deviceInfos(): DeviceInfo[] {
    return [...this.devices.values()].map((device) => device.info);
  }

  get faultsBy(): string {
    return this.hostDriver.faults.via;
  }

  /** Goes round until the space is closed. */
  async run(): Promise<void> {
    await this.goRound();
    const exits = this.ended.map((process) => process.exited);
    // Children have been killed; waiting for the kernel to say so leaves no zombie behind.
    if (Atomics.load(this.control, Control.Stop) === 0) await Promise.all(exits);
    this.closing?.();
    this.hello.close();
    for (const client of this.clients) client.channel.close();
  }

  private async goRound(): Promise<void> {
    while (!this.finished) {
      this.serveFaults();
      this.wait();
      if (this.loopTurns > 0 || this.loading > 0) {
        if (this.loopTurns > 0) this.loopTurns--;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  /** Serves faults and moves queued pieces until there is nothing to do for a moment. */
  private serveFaults(): void {
    let served = 0;
    for (let spin = 0; spin < SPINS && served < FAULTS_IN_A_ROW; spin++) {
      let found = this.hostDriver.readFaults();
      for (const device of this.slots) if (device?.process != null) found += device.process.readFaults();
      if (this.router.step()) found++;
      for (const device of this.slots) if (device?.process === null && device.driver.progress?.() === true) found++;
      this.settle();
      if (found > 0) {
        served += found;
        spin = -1;
      }
    }
  }

  private wait(): void {
    Atomics.add(this.control, Control.Heartbeat, 1);
    if (Atomics.load(this.control, Control.Stop) === 1) this.stop();
    const idle = !this.router.busy && this.loopTurns === 0 && this.loading === 0;
    if (this.poller.wait(idle ? SLEEP_MS : 0) === 0) return;
    for (const [index, device] of this.slots.entries()) {
      if (device?.process != null) this.pollDevice(device.process, FIRST_DEVICE_SLOT + index * SLOTS_PER_DEVICE);
    }
    if (this.poller.readyAt(0) !== 0) {
      drainEventfd(this.options.wakeFd);
      this.engine.poll();
      this.settle();
      this.readRequests();
    }
    this.settle();
  }

  private pollDevice(process: ProcessDevice, slot: number): void {
    if (this.poller.readyAt(slot + 1) !== 0 && process.readPackets()) this.poller.set(slot, process.faultFd);
    if (this.poller.readyAt(slot + 2) !== 0) {
      for (let each = slot; each < slot + SLOTS_PER_DEVICE; each++) this.poller.clear(each);
      process.processEnded();
      // The process is reaped by the event loop.
      this.loopTurns = Math.max(this.loopTurns, 20);
    }
  }

  /** Handles what the core said, until it says no more. */
  private settle(): void {
    while (this.notices.length > 0 || this.deferred.length > 0) {
      const next = this.notices.shift() ?? this.deferred.shift();
      next?.();
    }
    if (this.options.checkInvariants) checkInvariants(this.manager.state);
  }

  private openHost(): HostDriver {
    const { bytes, bases, hostBudgetBytes, userModeOnly } = this.options;
    const events = this.eventsOf(() => HOST);
    let problem: unknown = null;
    for (const base of bases) {
      try {
        return new HostDriver(base, bytes, Math.floor(hostBudgetBytes / PAGE_BYTES), userModeOnly, events);
      } catch (error) {
        problem = error;
        // Only an address that is taken is a reason to try the next one.
        if ((error as { code?: string }).code !== 'EEXIST') break;
      }
    }
    throw problem;
  }

  private eventsOf(id: () => number): DriverEvents {
    return {
      fault: (page, write, thread) => this.manager.fault(id(), page, write, thread),
      transferred: (token, status: Status) => this.router.completed(token, status),
      revoked: (token) => this.manager.revoked(token),
      launched: (launch, failure) => this.deferred.push(() => this.launched(id(), launch, failure)),
      died: (reason) => this.died(id(), reason),
    };
  }

  private addDevice(options: DeviceOptions, ready: (failure: string | null) => void): void {
    let id = -1;
    const events = this.eventsOf(() => id);
    const budgetPages = Math.floor(options.memoryBytes / PAGE_BYTES);
    let driver: Driver;
    let process: ProcessDevice | null = null;
    let simulated: SimulatedDevice | null = null;
    if (options.kind === 'process') {
      const { name, units, lossy } = options;
      process = new ProcessDevice(this.base, this.options.bytes, { name, budgetPages, units, lossy }, events);
      driver = process;
    } else {
      const memory: ByteAccess = {
        read: (address, target) => readMemory(target, address),
        write: (address, source) => writeMemory(address, source),
      };
      simulated = new SimulatedDevice(options.name, budgetPages, memory, (code) => this.kernelOf(code), events);
      if (options.inject !== undefined) {
        simulated.copies.mishaps.refuseLargerThan = options.inject.refuseLargerThanPages;
      }
      driver = simulated;
    }
    id = this.manager.addProcessor(driver.description);
    this.router.attach(id, driver);
    const info: DeviceInfo = {
      id,
      kind: options.kind,
      name: options.name,
      memoryBytes: budgetPages * PAGE_BYTES,
      units: options.units,
      lossy: options.lossy,
      pageFaults: driver.description.faults,
      pid: process?.pid ?? null,
    };
    const device: Device = {
      info,
      driver,
      process,
      simulated,
      launches: [],
      launched: 0,
      alive: true,
      onDrained: null,
      onIdle: [],
    };
    this.devices.set(id, device);
    let index = 0;
    while (this.slots[index] !== undefined) index++;
    this.slots[index] = device;
    if (process === null) {
      ready(null);
      return;
    }
    const slot = FIRST_DEVICE_SLOT + index * SLOTS_PER_DEVICE;
    this.poller.set(slot + 1, process.socket.fd);
    this.poller.set(slot + 2, process.pidfd);
    let told = false;
    process.onReady = (failure) => {
      if (!told) ready(failure);
      told = true;
    };
  }

  private readonly modules = new Map<string, KernelFunction>();

  private kernelOf(code: DriverLaunch['code']): KernelFunction {
    if (code.kind === 'inline') return compileKernel(code.source);
    const loaded = this.modules.get(`${code.exportName} ${code.url}`);
    if (loaded === undefined) throw new Error(`module ${code.url} is not loaded`);
    return loaded;
  }

  // Requests

  private readRequests(): void {
    for (
      let message = receiveMessageOnPort(this.hello as never);
      message !== undefined;
      message = receiveMessageOnPort(this.hello as never)
    ) {
      const { client: id, answers } = message.message as ClientHello;
      const channel = new BroadcastChannel(clientChannel(this.options.name, id));
      channel.unref();
      const client = { channel, answers: new Int32Array(answers) };
      this.clients.push(client);
      Atomics.add(client.answers, 0, 1);
      Atomics.notify(client.answers, 0);
    }
    for (const client of this.clients) {
      for (
        let message = receiveMessageOnPort(client.channel as never);
        message !== undefined;
        message = receiveMessageOnPort(client.channel as never)
      ) {
        this.handle(client, message.message as ToManager);
        this.settle();
      }
    }
  }

  private handle(client: Client, { id, name, value }: ToManager): void {
    const answer = (result: unknown, error: WireError | null): void => this.answer(client, id, result, error);
    try {
      const result = this.carryOut(name, value, answer);
      if (result !== undefined) answer(result, null);
    } catch (error) {
      answer(null, toWire(error));
    }
  }

  private answer(client: Client, id: number, value: unknown, error: WireError | null): void {
    if (id === 0) return;
    client.channel.postMessage({ id, value, error } satisfies FromManager);
    Atomics.add(client.answers, 0, 1);
    Atomics.notify(client.answers, 0);
  }

  private broadcast(message: FromManager): void {
    for (const client of this.clients) client.channel.postMessage(message);
  }

  /** Returns the answer, or undefined when it comes later. */
  private carryOut(
    name: keyof Requests,
    value: unknown,
    answer: (result: unknown, error: WireError | null) => void,
  ): unknown {
    switch (name) {
      case 'allocate':
        return this.allocate(value as Requests['allocate']['in']);
      case 'free':
        return this.free(value as Requests['free']['in']);
      case 'viewed':
        return this.countView((value as Requests['viewed']['in']).range, 1);
      case 'unviewed':
        return this.countView((value as Requests['unviewed']['in']).range, -1);
      case 'stats':
        return this.stats();
      case 'residency': {
        const { firstPage, count } = value as Requests['residency']['in'];
        const report = { nodes: new Uint32Array(count), access: new Uint32Array(count), flags: new Uint8Array(count) };
        this.manager.snapshot(firstPage, report.nodes, report.access, report.flags);
        return report;
      }
      case 'enqueue':
        this.streams.enqueue(value as StreamOperation);
        return null;
      case 'forgive':
        this.streams.forgive((value as Requests['forgive']['in']).stream);
        return null;
      case 'endStream':
        this.streams.end((value as Requests['endStream']['in']).stream);
        return null;
      case 'transferFile':
        this.transferFile(value as FileTransfer, answer);
        return undefined;
      case 'detach':
        this.detach((value as Requests['detach']['in']).device, () => answer(null, null));
        return undefined;
      case 'kill':
        this.kill((value as Requests['kill']['in']).device);
        return null;
      case 'check':
        checkInvariants(this.manager.state);
        return null;
      case 'close':
        this.close(() => answer(null, null));
        return undefined;
    }
  }

  private allocate(wanted: Requests['allocate']['in']): Requests['allocate']['out'] {
    const { bytes, name, writable, file, elementBytes } = wanted;
    const pages = Math.ceil(bytes / PAGE_BYTES);
    const hostPages = this.manager.state.processors[HOST]?.budgetPages ?? 0;
    // Whatever was written must fit the host, since that is where a device's pages go when it needs room.
    const committed = writable ? pages : 0;
    if (this.committedPages + committed > hostPages) {
      throw new RequestError(
        'HOST_BUDGET',
        `cannot allocate ${name}: it takes ${bytes} bytes, and of the host budget of ${hostPages * PAGE_BYTES} bytes ` +
          `${(hostPages - this.committedPages) * PAGE_BYTES} are left; free arrays, or open the space with a larger hostMemory`,
        {
          requestedBytes: bytes,
          budgetBytes: hostPages * PAGE_BYTES,
          committedBytes: this.committedPages * PAGE_BYTES,
          node: 'host',
        },
        'RangeError',
      );
    }
    const range = this.manager.allocate(pages, { name, writable, provided: file !== null });
    if (range === null) {
      throw new RequestError(
        'ADDRESS_SPACE',
        `cannot allocate ${name}: no ${bytes} bytes of addresses are left in the space of ${this.options.bytes} bytes; ` +
          'free arrays and drop their views, or open the space with a larger addressSpace',
        { requestedBytes: bytes, addressSpaceBytes: this.options.bytes },
        'RangeError',
      );
    }
    this.committedPages += committed;
    if (file !== null) this.files.add(range.first, pages, file);
    this.ranges.set(range.id, { range, bytes, elementBytes, views: 0, warned: false, committedPages: committed });
    return { id: range.id, firstPage: range.first, pages };
  }

  private free({ range: id, firstPage, count }: Requests['free']['in']): null {
    const record = this.ranges.get(id);
    if (record === undefined) return null;
    this.request(
      (request) => this.manager.free(request, firstPage, count),
      () => {
        const { range } = record;
        if (record.committedPages > 0) {
          const left = range.pages - range.freedPages;
          this.committedPages -= record.committedPages - Math.min(record.committedPages, left);
          record.committedPages = Math.min(record.committedPages, left);
        }
        if (range.freedPages === range.pages) {
          const file = this.files.remove(range.first);
          if (file !== null) closeDescriptor(file.fd);
          this.recycle(record);
        }
      },
    );
    return null;
  }

  private countView(id: number, by: number): null {
    const record = this.ranges.get(id);
    if (record !== undefined) {
      record.views += by;
      this.recycle(record);
    }
    return null;
  }

  /** Addresses are used again only when nobody can look at them any more. */
  private recycle(record: RangeRecord): void {
    const { range } = record;
    if (record.views > 0 || range.freedPages < range.pages || this.isInLaunch(range)) return;
    if (this.manager.recycle(range)) this.ranges.delete(range.id);
  }

  private isInLaunch(range: Range): boolean {
    const first = range.first * PAGE_BYTES;
    const end = (range.first + range.pages) * PAGE_BYTES;
    for (const device of this.devices.values()) {
      for (const { operation } of device.launches) {
        if (operation.parameters.some((each) => each.kind === 'array' && each.offset >= first && each.offset < end))
          return true;
      }
    }
    return false;
  }

  private request(start: (request: number) => void, done: RequestDone): void {
    const request = this.nextRequest++;
    this.requests.set(request, done);
    start(request);
  }

  private requestDone(request: number, pages: number, failure: DenyReason | null): void {
    const done = this.requests.get(request);
    this.requests.delete(request);
    done?.(pages, failure);
  }

  // Streams

  private execute(operation: StreamOperation, done: (error: WireError | null, pages: number) => void): void {
    if (operation.kind === 'launch') this.launch(operation, done);
    else if (operation.kind === 'prefetch') this.prefetch(operation, done);
  }

  private prefetch(
    operation: Extract<StreamOperation, { kind: 'prefetch' }>,
    done: (error: WireError | null, pages: number) => void,
  ): void {
    const processor = this.manager.state.processors[operation.processor];
    if (processor === undefined || processor.state !== 'alive') {
      const name = this.devices.get(operation.processor)?.info.name ?? `processor ${operation.processor}`;
      done(wireError('DEVICE_LOST', `cannot prefetch to ${name}: it is gone`), 0);
      return;
    }
    // More than the node holds would push out what the same prefetch brought.
    const room = processor.budgetPages - (processor.id === HOST ? 0 : PAGES_PER_BLOCK);
    const count = Math.min(operation.count, room);
    this.request(
      (request) =>
        this.manager.acquire(request, operation.processor, operation.firstPage, count, Access.Read, true, false),
      (pages, failure) => {
        if (failure === null) done(null, pages);
        else done(this.denialError(failure, operation.firstPage, 'a prefetch'), pages);
      },
    );
  }

  private launch(
    operation: Extract<StreamOperation, { kind: 'launch' }>,
    done: (error: WireError | null, pages: number) => void,
  ): void {
    const device = this.devices.get(operation.device);
    if (device === undefined || !device.alive) {
      done(wireError('DEVICE_LOST', `cannot launch ${operation.kernelName}: the device is gone`, { ranges: [] }), 0);
      return;
    }
    const record: LaunchRecord = { id: this.nextRequest++, operation, done, failure: null, inDriver: false };
    device.launches.push(record);
    if (device.launches.length === 1) this.begin(device, record);
  }

  private begin(device: Device, record: LaunchRecord): void {
    const { operation } = record;
    const args = launchArguments(operation);
    const problem = this.launchProblem(device, operation, args);
    if (problem !== null) {
      record.failure = problem;
      this.finish(device, record);
      return;
    }
    this.requests.set(record.id, (_pages, failure) => {
      if (failure !== null)
        record.failure ??= this.denialError(failure, args[0]?.first ?? 0, `kernel ${operation.kernelName}`);
      if (record.failure !== null || !device.alive) {
        if (!device.alive) record.failure ??= this.lostError(device, record, 'the device is gone');
        this.finish(device, record);
        return;
      }
      this.start(device, record);
    });
    this.manager.launchBegin(record.id, device.info.id, args);
  }

  private launchProblem(
    device: Device,
    operation: Extract<StreamOperation, { kind: 'launch' }>,
    args: ReturnType<typeof launchArguments>,
  ): WireError | null {
    for (const { first, use, name } of args) {
      const range = this.manager.state.va.rangeOfPage(first);
      if (range === undefined || range.freedPages === range.pages) {
        return wireError('USE_AFTER_FREE', `kernel ${operation.kernelName}: array ${name} has been freed`, {
          parameter: name,
        });
      }
      if (use !== 'in' && !range.writable) {
        return wireError(
          'ACCESS_DENIED',
          `kernel ${operation.kernelName}: parameter ${name} is declared ${use}, but array ${range.name} may only be read; ` +
            'map its file with writable: true',
          { parameter: name },
        );
      }
    }
    if (device.driver.description.faults) return null;
    const pages = this.manager.launchPages(args);
    const budget = device.driver.description.budgetPages;
    if (pages <= budget) return null;
    return wireError(
      'DEVICE_MEMORY',
      `kernel ${operation.kernelName} needs ${pages * PAGE_BYTES} bytes at once on ${device.info.name}, which has no page ` +
        `faults and ${budget * PAGE_BYTES} bytes; launch it over smaller arrays, or use a device with page faults`,
      { requestedBytes: pages * PAGE_BYTES, budgetBytes: budget * PAGE_BYTES, node: device.info.name },
    );
  }

  private start(device: Device, record: LaunchRecord): void {
    const { operation } = record;
    const launch: DriverLaunch = {
      id: record.id,
      kernelName: operation.kernelName,
      code: operation.code,
      parameters: operation.parameters,
      begin: operation.begin,
      end: operation.end,
      size: operation.size,
    };
    const go = (): void => {
      if (!device.alive) {
        record.failure ??= this.lostError(device, record, 'the device is gone');
        this.finish(device, record);
        return;
      }
      record.inDriver = true;
      device.launched++;
      device.driver.launch?.(launch);
    };
    const { code } = operation;
    const key = code.kind === 'module' ? `${code.exportName} ${code.url}` : '';
    if (device.process !== null || code.kind === 'inline' || this.modules.has(key)) {
      go();
      return;
    }
    // A device without a process of its own runs its kernels here, and their modules must be loaded first.
    this.loading++;
    loadKernel(code).then(
      (kernel) => {
        this.loading--;
        this.modules.set(key, kernel);
        go();
      },
      (error: unknown) => {
        this.loading--;
        const message = error instanceof Error ? error.message : String(error);
        this.launched(device.info.id, record.id, { code: 'KERNEL_ERROR', message });
      },
    );
  }

  private launched(id: number, launch: number, failure: LaunchFailure | null): void {
    const device = this.devices.get(id);
    const record = device?.launches[0];
    if (device === undefined || record === undefined || record.id !== launch) return;
    if (failure !== null) {
      record.failure ??=
        failure.code === 'DEVICE_LOST'
          ? this.lostError(device, record, failure.message)
          : wireError(failure.code, failure.message, { kernel: record.operation.kernelName }, failure.stack);
    }
    this.finish(device, record);
  }

  private finish(device: Device, record: LaunchRecord): void {
    device.launches.shift();
    this.requests.delete(record.id);
    this.manager.launchEnd(record.id);
    record.done(record.failure, 0);
    for (const each of this.ranges.values()) if (each.range.freedPages === each.range.pages) this.recycle(each);
    const next = device.launches[0];
    if (next !== undefined) this.begin(device, next);
    else for (const idle of device.onIdle.splice(0)) this.deferred.push(idle);
  }

  private lostError(device: Device, record: LaunchRecord, reason: string): WireError {
    const ranges = record.operation.parameters.flatMap((each) =>
      each.kind === 'array' && each.use !== 'in'
        ? [{ parameter: each.name, offset: each.offset, length: each.length }]
        : [],
    );
    return wireError(
      'DEVICE_LOST',
      `kernel ${record.operation.kernelName} was lost with device ${device.info.name}: ${reason}; arrays that it was writing ` +
        'are indeterminate until they are overwritten',
      { device: device.info.name, ranges, memorySurvives: device.driver.description.memorySurvives },
    );
  }

  // Denied accesses

  private denied(processor: number, page: number, write: boolean, thread: number, reason: DenyReason): void {
    if (processor === HOST) {
      this.deniedHost(page, write, thread, reason);
      return;
    }
    const device = this.devices.get(processor);
    const record = device?.launches[0];
    if (device === undefined) return;
    if (record !== undefined) {
      record.failure ??= this.denialError(reason, page, `kernel ${record.operation.kernelName}`, write);
    }
    // Its pages cannot be moved any more, and its thread waits: the device is as good as dead, and must say so.
    if (reason === 'OUT_OF_MEMORY' || reason === 'COPY_FAILED') device.process?.kill();
  }

  private denialError(reason: DenyReason, page: number, who: string, write?: boolean): WireError {
    const what = write === undefined ? 'touched' : write ? 'wrote' : 'read';
    const { text, details } = this.placeOf(page);
    return wireError(codeOfDenial(reason), `${who} ${what} ${text}, ${explainDenial(reason)}`, { ...details, reason });
  }

  private placeOf(page: number): { text: string; details: Record<string, unknown> } {
    const range = this.manager.state.va.rangeOfPage(page);
    const address = `0x${(this.base + page * PAGE_BYTES).toString(16)}`;
    if (range === undefined) return { text: `address ${address}`, details: { address } };
    const record = this.ranges.get(range.id);
    const first = Math.floor(((page - range.first) * PAGE_BYTES) / (record?.elementBytes ?? 1));
    const last = Math.min(
      first + PAGE_BYTES / (record?.elementBytes ?? 1),
      (record?.bytes ?? 0) / (record?.elementBytes ?? 1),
    );
    const file = this.files.sourceOf(page);
    const where = `array ${range.name}, elements ${first} to ${last - 1}${file === null ? '' : ` of ${file.path}`}`;
    return { text: `${where} (address ${address})`, details: { array: range.name, element: first, address } };
  }

  private deniedHost(page: number, write: boolean, thread: number, reason: DenyReason): void {
    const range = this.manager.state.va.rangeOfPage(page);
    const record = range === undefined ? undefined : this.ranges.get(range.id);
    const { text } = this.placeOf(page);
    if (reason === 'FREED' && !write) {
      if (record !== undefined && !record.warned) {
        record.warned = true;
        const message = `the program read ${text}, ${explainDenial(reason)}; it reads as zero`;
        writeError(`onemem: warning: ${message}\n`);
      }
      return;
    }
    const message = `onemem: denied access: thread ${thread} ${write ? 'wrote' : 'read'} ${text}, ${explainDenial(reason)}. The process ends.\n`;
    writeError(message);
    if (!this.hostDriver.poison(page)) kill(process.pid, 9);
  }

  // Devices that end

  private kill(id: number): void {
    const device = this.devices.get(id);
    if (device?.alive !== true) return;
    device.process?.kill();
    device.simulated?.lose(`device ${device.info.name} was ended on purpose`);
  }

  private died(id: number, _reason: string): void {
    const device = this.devices.get(id);
    if (device === undefined || !device.alive) return;
    device.alive = false;
    const record = device.launches[0];
    this.manager.processorLost(id);
    // A launch that had not reached the driver hears of it here; the driver tells of the others.
    if (record !== undefined && !record.inDriver) {
      record.failure ??= this.lostError(device, record, 'its process has ended');
    }
  }

  private detach(id: number, done: () => void): void {
    const device = this.devices.get(id);
    if (device === undefined || !device.alive) {
      done();
      return;
    }
    device.alive = false;
    device.onDrained = done;
    // The launch that runs may end; those that wait are told that the device is gone.
    if (device.launches.length === 0) this.manager.detach(id);
    else device.onIdle.push(() => this.manager.detach(id));
  }

  private drained(id: number): void {
    const device = this.devices.get(id);
    if (device === undefined) return;
    while (device.launches.length > 0) {
      const [record] = device.launches;
      record.failure ??= this.lostError(device, record, 'it is gone');
      this.finish(device, record);
    }
    this.gone.push(this.statsOf(id, device));
    this.devices.delete(id);
    this.router.detach(id);
    const index = this.slots.indexOf(device);
    for (let each = 0; each < SLOTS_PER_DEVICE; each++) {
      this.poller.clear(FIRST_DEVICE_SLOT + index * SLOTS_PER_DEVICE + each);
    }
    this.slots[index] = undefined;
    device.driver.close();
    this.loopTurns = Math.max(this.loopTurns, 20);
    device.onDrained?.();
  }

  // Files

  private transferFile(transfer: FileTransfer, answer: (result: unknown, error: WireError | null) => void): void {
    const access = transfer.direction === 'read' ? Access.Write : Access.Read;
    const end = transfer.offset + transfer.bytes;
    let at = transfer.offset;
    let moved = 0;
    const next = (): void => {
      if (at >= end) {
        answer({ bytes: moved }, null);
        return;
      }
      const firstPage = Math.floor(at / PAGE_BYTES);
      const windowEnd = Math.min(end, (firstPage + WINDOW_PAGES) * PAGE_BYTES);
      const count = Math.ceil(windowEnd / PAGE_BYTES) - firstPage;
      this.request(
        (request) => this.manager.acquire(request, HOST, firstPage, count, access, false, true),
        (_pages, failure) => {
          const release = (): void => this.manager.release(HOST, firstPage, count, access);
          if (failure !== null) {
            release();
            answer(null, this.denialError(failure, firstPage, 'a file transfer'));
            return;
          }
          const address = this.hostDriver.memory + at;
          const bytes = windowEnd - at;
          const position = transfer.position === null ? -1 : transfer.position + moved;
          const done = (result: number): void => {
            release();
            if (result < 0) {
              const verb = transfer.direction === 'read' ? 'reading' : 'writing';
              answer(
                null,
                wireError('FILE_IO', `${verb} file descriptor ${transfer.fd} failed with error number ${-result}`, {
                  errno: -result,
                  bytes: moved,
                }),
              );
              return;
            }
            moved += result;
            at += result;
            if (result < bytes) answer({ bytes: moved }, null);
            else this.deferred.push(next);
          };
          if (transfer.direction === 'read') this.engine.read(transfer.fd, address, bytes, position, done);
          else this.engine.write(transfer.fd, address, bytes, position, done);
        },
      );
    };
    next();
  }

  // Reports

  private stats(): SpaceStats {
    const host = this.statsFor(HOST, 'host', 'host', 0, true);
    const processors = [host, ...[...this.devices].map(([id, device]) => this.statsOf(id, device)), ...this.gone];
    let allocatedBytes = 0;
    for (const record of this.ranges.values()) {
      allocatedBytes += (record.range.pages - record.range.freedPages) * PAGE_BYTES;
    }
    return { processors, ranges: this.ranges.size, allocatedBytes, faultsBy: this.faultsBy };
  }

  private statsOf(id: number, device: Device): ProcessorStats {
    return this.statsFor(id, device.info.name, device.info.kind, device.launched, device.alive);
  }

  private readonly lastCounters = new Map<number, ProcessorStats>();

  private statsFor(id: number, name: string, kind: string, launches: number, alive: boolean): ProcessorStats {
    const processor = this.manager.state.processors[id];
    if (processor === undefined) {
      const last = this.lastCounters.get(id);
      if (last !== undefined) return { ...last, backedBytes: 0, alive: false, launches };
    }
    const counters = processor?.counters;
    const stats: ProcessorStats = {
      name,
      kind,
      budgetBytes: (processor?.budgetPages ?? 0) * PAGE_BYTES,
      backedBytes: (processor?.backedPages ?? 0) * PAGE_BYTES,
      peakBytes: (processor?.peakPages ?? 0) * PAGE_BYTES,
      readFaults: counters?.readFaults ?? 0,
      writeFaults: counters?.writeFaults ?? 0,
      repeatedFaults: counters?.repeatedFaults ?? 0,
      bytesIn: (counters?.pagesIn ?? 0) * PAGE_BYTES,
      bytesOut: (counters?.pagesOut ?? 0) * PAGE_BYTES,
      bytesZeroed: (counters?.pagesZeroed ?? 0) * PAGE_BYTES,
      bytesFromFiles: (counters?.pagesProvided ?? 0) * PAGE_BYTES,
      evictions: counters?.evictions ?? 0,
      revocations: counters?.revocations ?? 0,
      denied: counters?.denied ?? 0,
      launches,
      alive,
    };
    this.lastCounters.set(id, stats);
    return stats;
  }

  // The end

  private close(done: () => void): void {
    if (this.closing !== null) return;
    this.closing = done;
    this.streams.cancelAll(wireError('SPACE_CLOSED', 'cancelled: the space is being closed'));
    // Launches that run are let finish; a device that hangs can be killed by its owner.
    let running = 1;
    const idle = (): void => {
      if (--running === 0) this.shutDown();
    };
    for (const device of this.devices.values()) {
      if (device.launches.length === 0) continue;
      running++;
      device.onIdle.push(idle);
    }
    idle();
  }

  private shutDown(): void {
    for (const device of this.devices.values()) {
      device.driver.close();
      if (device.process !== null) this.ended.push(device.process);
    }
    this.devices.clear();
    this.slots.length = 0;
    for (const file of this.files.files) closeDescriptor(file.fd);
    this.engine.close();
    this.hostDriver.close();
    Atomics.store(this.control, Control.State, SpaceState.Closed);
    this.finished = true;
  }

  /** The process exits: children first, nothing else matters any more. */
  private stop(): void {
    for (const device of this.devices.values()) device.process?.kill();
    this.finished = true;
    Atomics.store(this.control, Control.State, SpaceState.Closed);
  }
}

function launchArguments(operation: Extract<StreamOperation, { kind: 'launch' }>): {
  name: string;
  first: number;
  count: number;
  use: 'in' | 'out' | 'inout';
}[] {
  return operation.parameters.flatMap((each) => {
    if (each.kind !== 'array') return [];
    const bytes = each.length * bytesOf(each.type);
    const first = Math.floor(each.offset / PAGE_BYTES);
    const count = Math.ceil((each.offset + bytes) / PAGE_BYTES) - first;
    return [{ name: each.name, first, count, use: each.use }];
  });
}

/** Written at once: a worker's own stream goes through the main thread, which may sit in the very fault that this is about. */
function writeError(message: string): void {
  try {
    writeSync(2, message);
  } catch {
    // A closed stderr is no reason to fail.
  }
}
