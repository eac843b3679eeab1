/**
 * The manager: it waits for faults, requests and devices, tells the core what happened, and has the drivers do what the core
 * says. It never waits for a thread of the application, nor for a copy that is not from memory to memory.
 */
import { checkInvariants } from '../../core/invariants.js';
import { MemoryManager } from '../../core/memory-manager.js';
import { Recorder } from '../../core/recording.js';
import {
  Access,
  type DenyReason,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  type Status,
} from '../../core/types.js';
import type { DriverEvents } from '../../drivers/driver.js';
import { HostDriver } from '../../drivers/host-linux/host.js';
import { NodeError } from '../../drivers/paged-memory.js';
import { Router } from '../../drivers/router.js';
import { RecordingFile } from '../../files/recording-file.js';
import { drainEventfd } from '../../linux/eventfd.js';
import { copyMemory, fillMemory } from '../../linux/memory.js';
import { Poller } from '../../linux/poll.js';
import { kill, systemCallOf, threadExists } from '../../linux/process.js';
import { policiesOf } from '../../policy/named.js';
import { Arrays } from '../arrays/arrays.js';
import { Clones } from '../arrays/clones.js';
import { Notifiers, type Subscriber } from '../arrays/notifiers.js';
import { PageReports } from '../arrays/page-reports.js';
import { Pins } from '../arrays/pins.js';
import { Resizing } from '../arrays/resizing.js';
import { Rights } from '../arrays/rights.js';
import { Uses } from '../arrays/uses.js';
import { CoreRequests } from '../core/core-requests.js';
import { Devices, pollerSlots } from '../processors/devices.js';
import { LastWords } from '../processors/last-words.js';
import {
  type Cancellation,
  Control,
  type DeviceInfo,
  type FileTransfer,
  type ManagerOptions,
  type PageReport,
  type Requests,
  SpaceState,
  type StreamOperation,
  type ToManager,
  type WireError,
} from '../protocol/requests.js';
import { RequestError, toWire, wireError } from '../protocol/wire.js';
import { FileProvider } from '../sources/files.js';
import { IoEngine } from '../sources/io-ring.js';
import { Providers } from '../sources/providers.js';
import { EdgeClearing } from '../streams/launch-arguments.js';
import { Launches } from '../streams/launches.js';
import { type OperationDone, Streams } from '../streams/streams.js';
import { ByteReads } from '../transfers/byte-reads.js';
import { Copies } from '../transfers/copies.js';
import { FileTransfers } from '../transfers/file-transfers.js';
import { WriteBack } from '../transfers/write-back.js';
import { type Answer, Clients } from './clients.js';
import { crash } from './crash.js';
import type { ClosedSpace } from './late-uses.js';
import { awaitMessages } from './messages.js';
import { RunningClock } from './running-clock.js';
import { Share } from './share.js';
import { Spin } from './spin.js';

/** How long the manager sleeps at most, so that its heartbeat goes on. */
const SLEEP_MS = 200;
/** The same while a provider works, so that its end is seen soon. */
const SHORT_SLEEP_MS = 10;
/** Fault messages in a row after which requests get a look, too. */
const FAULTS_IN_A_ROW = 256;
/** How many faults a step of a device in this thread counts as: it may take as long as so many. */
const DEVICE_STEP = 16;
/** Turns of the event loop in which it reaps a process that has ended. */
const REAPING_TURNS = 20;
const SIGKILL = 9;
/** How long a process that ends anyway waits for its last line. */
const LAST_LINE_MS = 1000;

const WAKE_SLOT = 0;
const HOST_SLOT = 1;
const FIRST_DEVICE_SLOT = 2;

export class Pager {
  private readonly manager: MemoryManager;
  private readonly router: Router;
  private readonly hostDriver: HostDriver;
  private readonly engine: IoEngine;
  private readonly pipes: IoEngine;
  private readonly files: FileProvider;
  private readonly providers: Providers;
  private readonly byteReads: ByteReads;
  private readonly fileTransfers: FileTransfers;
  private readonly writeBack: WriteBack;
  private readonly copies: Copies;
  private readonly streams: Streams;
  private readonly uses: Uses;
  private readonly reports: PageReports;
  private readonly requests = new CoreRequests();
  private readonly arrays: Arrays;
  private readonly rights: Rights;
  private readonly pins: Pins;
  private readonly resizing: Resizing;
  private readonly launches: Launches;
  private readonly devices: Devices;
  private readonly clones: Clones;
  private readonly notifiers: Notifiers;
  private readonly clients: Clients;
  private readonly poller = new Poller(pollerSlots(FIRST_DEVICE_SLOT));
  private readonly control: Int32Array;
  /** What the core and the drivers said while they were at work; handled when they have returned, in order. */
  private readonly notices: (() => void)[] = [];
  private readonly later: (() => void)[] = [];
  /** Turns of the event loop that are needed, to see processes end. */
  private loopTurns = 0;
  private readonly spin = new Spin();
  /** For all limits of time. */
  private readonly clock = new RunningClock(() => performance.now());
  /** What a round does of requests, and of operations of streams. */
  private readonly requestShare = new Share(() => performance.now());
  private readonly streamShare = new Share(() => performance.now());
  /** There was more to do than is done in a row. */
  private more = false;
  private readonly lastWords: LastWords;
  private closing: (() => void) | null = null;
  private finished = false;
  /** Spaces of which views are left and whose late uses this thread answers when its own has been closed. */
  readonly closedSpaces: ClosedSpace[] = [];
  private closedBefore: readonly ClosedSpace[] = [];
  private readonly recording: RecordingFile | null;

  /** @param say has a message written on standard error; `isWritten` takes what it returns */
  constructor(
    private readonly options: ManagerOptions,
    private readonly say: (text: string) => number,
  ) {
    this.control = new Int32Array(options.control);
    this.router = new Router(
      {
        deny: (...denied) => this.notices.push(() => this.denied(...denied)),
        requestDone: (...done) => this.notices.push(() => this.requests.finished(...done)),
        drained: (processor) => this.notices.push(() => this.drained(processor)),
        emptied: () => undefined,
        save: (page, count, lastChance) => this.clones.save(page, count, lastChance),
        invalidate: (...change) => this.notifiers.begin(...change),
        invalidated: (...change) => this.notifiers.through(...change),
      },
      { provide: (...wanted) => this.provide(...wanted) },
      (token, status) => this.manager.transferred(token, status),
    );
    const blocks = Math.floor(options.bytes / (PAGE_BYTES * PAGES_PER_BLOCK));
    const { record, prefetch = 'tree' } = options;
    this.recording = record === undefined ? null : new RecordingFile(record, { blocks, prefetch });
    const recorder = this.recording === null ? null : new Recorder((entries) => this.recording?.write(entries));
    this.manager = new MemoryManager(
      recorder?.commands(this.router) ?? this.router,
      policiesOf(options.prefetch),
      blocks,
    );
    recorder?.events(this.manager);
    this.reports = new PageReports(
      this.manager,
      () => this.arrays,
      (page) => this.providedBy(page),
    );
    this.lastWords = new LastWords(this.control, (page, write, inCall) => {
      // Another array may lie there by now.
      if (this.reports.isAllowed(page, write)) this.hostDriver.wake(page, 1);
      else this.poison(page, inCall);
    });
    this.engine = new IoEngine(options.wakeFd, options.control, () => this.clock.now());
    this.pipes = new IoEngine(options.wakeFd, options.control, () => this.clock.now());
    this.files = new FileProvider(this.engine, (token, status) => this.router.completed(token, status));
    this.providers = new Providers(
      options.wakeFd,
      this.control,
      (token, status) => this.router.completed(token, status),
      (page) => this.reports.isAbsent(page),
      (page) => this.reports.isAwaited(page),
      () => this.clock.now(),
    );
    this.hostDriver = this.openHost();
    if (this.manager.addDevice(this.hostDriver.description, NO_NODE).processor !== HOST)
      throw new Error('the host must come first');
    this.router.attach(HOST, HOST_NODE, this.hostDriver);
    const later = (action: () => void): void => {
      this.later.push(action);
    };
    const restore = (firstPage: number, count: number): void => this.restore(firstPage, count);
    const arraysLater = (): Arrays => this.arrays;
    this.launches = new Launches(
      this.manager,
      this.requests,
      arraysLater,
      new EdgeClearing(this.manager, this.requests, arraysLater, this.hostDriver.memory),
      later,
      restore,
      (device, why) => this.devices.kill(device.info.id, why),
      () => this.clock.now(),
    );
    this.arrays = new Arrays(
      this.manager,
      this.requests,
      this.files,
      this.providers,
      () => this.base,
      options.bytes,
      (range) => this.launches.isUsing(range),
      restore,
      (range) => {
        this.clones.remove(range);
        this.clients.tellFreed(range.id);
      },
    );
    this.rights = new Rights(this.manager, this.requests, this.arrays, this.files, restore);
    const { memory } = this.hostDriver;
    this.clones = new Clones(
      () => this.manager,
      this.requests,
      {
        pageBytes: PAGE_BYTES,
        copy: (page, count, target) => copyMemory(target, memory + page * PAGE_BYTES, count * PAGE_BYTES),
        zero: (count, target) => fillMemory(target, 0, count * PAGE_BYTES),
      },
      (token, status) => this.router.completed(token, status),
      later,
      (page, reason, first) => {
        // Of thousands of pages one line says enough.
        if (!first) return;
        const place = this.arrays.placeOf(page).text;
        this.say(
          `onemem: warning: pages of a clone could not be copied (${reason}) and are lost, the first in ${place}\n`,
        );
      },
    );
    this.notifiers = new Notifiers({
      range: (id) => this.manager.state.va.range(id),
      rangeOfPage: (page) => this.manager.state.va.rangeOfPage(page),
      watch: (range, by) => this.manager.watch(range, by),
      nameOf: (id) => (id === HOST ? 'host' : (this.devices.get(id)?.info.name ?? `processor ${id}`)),
      load: (url) => import(url) as Promise<Record<string, unknown>>,
      warn: (message) => this.say(`onemem: ${message}\n`),
      now: () => performance.now(),
    });
    this.byteReads = new ByteReads(this.manager, this.requests, this.arrays, memory);
    this.fileTransfers = new FileTransfers(
      this.manager,
      this.requests,
      this.arrays,
      this.engine,
      this.pipes,
      memory,
      later,
      restore,
    );
    const { manager, requests, arrays, files, engine } = this;
    this.writeBack = new WriteBack(manager, requests, arrays, files, engine, memory, later);
    this.copies = new Copies(
      this.manager,
      this.requests,
      this.arrays,
      (node) => this.memoryOf(node),
      (processor, firstPage, count, done) => {
        const number = processor === HOST ? 0 : (this.devices.get(processor)?.info.number ?? -1);
        this.prefetch(number, firstPage, count, false, done);
      },
      later,
      restore,
    );
    this.pins = new Pins(manager, requests, arrays, memory);
    this.clients = new Clients(
      options.name,
      this.control,
      (range, count) => this.arrays.countView(range, -count),
      (pin) => this.pins.unpin(pin),
    );
    const uses = new Uses(this.arrays);
    this.uses = uses;
    this.streams = new Streams({
      given: (operation) => uses.begin(operation),
      over: (operation) => uses.end(operation),
      execute: (operation, done) => this.execute(operation, done),
      withdraw: (operation, reason) => operation.kind === 'launch' && this.launches.cancel(operation, reason),
      call: (stream, sequence) => this.clients.broadcast({ call: { stream, sequence } }),
      report: (event) => this.clients.broadcast({ event }),
      now: () => performance.now(),
      mayBegin: () => this.streamShare.take(),
    });
    this.resizing = new Resizing(
      manager,
      requests,
      arrays,
      this.clones,
      this.pins,
      this.notifiers,
      memory,
      (range) => this.launches.isUsing(range),
      (page) => this.files.rangeOf(page) !== null || this.providers.owns(page),
    );
    this.devices = new Devices({
      manager: this.manager,
      router: this.router,
      poller: this.poller,
      firstSlot: FIRST_DEVICE_SLOT,
      base: this.base,
      bytes: options.bytes,
      hostMemory: this.hostDriver.node.fd,
      eventsOf: (id) => this.eventsOf(id),
      kernelOf: (code) => this.launches.kernelOf(code),
      warn: (message) => this.say(`onemem: ${message}\n`),
    });
    this.poller.set(WAKE_SLOT, options.wakeFd);
    this.poller.set(HOST_SLOT, this.hostDriver.faults.fd);
  }

  get base(): number {
    return this.hostDriver.node.base;
  }

  /** Starts the devices; the loop must run for them to come up. */
  addDevices(ready: (failure: string | null) => void): void {
    this.devices.open(this.options.devices, ready);
  }

  get deviceInfos(): DeviceInfo[] {
    return this.devices.infos;
  }

  get faultsBy(): string {
    return this.hostDriver.faults.via;
  }

  /** Serves the space until it is closed, or the process ends. */
  async run(): Promise<void> {
    try {
      await this.goRound();
    } finally {
      this.recording?.close();
    }
  }

  private async goRound(): Promise<void> {
    while (!this.finished) {
      this.serveFaults();
      // The last launch may have ended just now, and with it a space that was only waiting for it.
      if (this.finished) break;
      const idle = !this.wait();
      const busy = this.providers.tick() || this.loopTurns > 0 || this.launches.loading + this.notifiers.loading > 0;
      const files = this.engine.needsTurn() || this.pipes.needsTurn();
      if (busy || files || this.devices.needsTurn(idle)) {
        if (this.loopTurns > 0) this.loopTurns--;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    if (Atomics.load(this.control, Control.Stop) === 1) return;
    // Children have been killed; waiting until the event loop has seen it leaves no zombie behind.
    await Promise.all(this.devices.ended.map((process) => process.exited));
    await this.providers.ended();
    this.closing?.();
    this.clients.close();
  }

  /** Serves faults and moves queued pieces until there is nothing to do for a moment. */
  private serveFaults(): void {
    let served = 0;
    const looks = this.spin.looks(1 + this.devices.processes);
    for (let look = 0; look < looks && served < FAULTS_IN_A_ROW && !this.finished; look++) {
      let found = this.hostDriver.readFaults() + this.devices.readFaults();
      if (this.router.step()) found++;
      if (this.copies.step()) found++;
      if (this.pins.step()) found++;
      if (this.providers.step()) found++;
      if (this.devices.progress()) found += DEVICE_STEP;
      this.settle();
      if (found > 0) {
        served += found;
        this.spin.found(look);
        look = -1;
      }
    }
    this.more = served >= FAULTS_IN_A_ROW;
  }

  /** Sleeps until something happens, and handles it. False when nothing has. */
  private wait(): boolean {
    Atomics.add(this.control, Control.Heartbeat, 1);
    this.requestShare.renew();
    this.streamShare.renew();
    if (Atomics.load(this.control, Control.Stop) === 1) this.stop();
    const now = this.clock.now();
    this.engine.poll();
    this.pipes.poll();
    this.settle();
    this.devices.look(now);
    this.devices.sendRest();
    this.lastWords.look(now);
    this.launches.look(now);
    this.streams.look(threadExists);
    this.notifiers.look(threadExists);
    this.notifiers.flush();
    const working =
      this.more ||
      this.clients.more ||
      this.streams.more ||
      this.router.busy ||
      this.copies.busy ||
      this.pins.busy ||
      this.providers.busy ||
      this.loopTurns > 0 ||
      this.launches.loading + this.notifiers.loading > 0;
    const longest = this.launches.sleepMs(now, this.providers.active ? SHORT_SLEEP_MS : SLEEP_MS);
    const sleep = this.engine.sleepMs(this.pipes.sleepMs(this.devices.sleepMs(this.lastWords.sleepMs(longest))));
    if (!working) this.recording?.flush();
    if (this.poller.wait(working ? 0 : sleep) === 0 && !this.clients.more && !this.streams.more) return false;
    if (!working && this.poller.readyAt(WAKE_SLOT) === 0) this.spin.slept(this.clock.now() - now);
    if (this.devices.poll()) this.loopTurns = REAPING_TURNS;
    if (this.poller.readyAt(WAKE_SLOT) !== 0) {
      drainEventfd(this.options.wakeFd);
      this.engine.poll();
      this.pipes.poll();
      this.providers.poll();
      this.settle();
    }
    if (this.clients.more || this.poller.readyAt(WAKE_SLOT) !== 0) {
      this.clients.read(this.requestShare, (message, answer, sender) => {
        this.handle(message, answer, sender);
        this.settle();
      });
    }
    this.streams.go();
    this.settle();
    return true;
  }

  /** Handles what the core and the drivers said, until they say no more. */
  private settle(): void {
    while (this.notices.length > 0 || this.later.length > 0) (this.notices.shift() ?? this.later.shift())?.();
    if (this.options.checkInvariants) checkInvariants(this.manager.state);
  }

  private openHost(): HostDriver {
    const { bytes, bases, hostBudgetBytes, userModeOnly } = this.options;
    const events = this.eventsOf(() => HOST);
    let problem: unknown = null;
    for (const base of bases) {
      try {
        const budgetPages = Math.floor(hostBudgetBytes / PAGE_BYTES);
        const driver = new HostDriver(base, bytes, budgetPages, userModeOnly, events);
        driver.node.inject(this.options.inject);
        return driver;
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
      fault: (page, write, thread) => {
        // With a thread of the application in a fault: that is when nobody else would notice.
        if (this.options.crash !== undefined && id() === HOST) crash(this.options.crash);
        const objection = id() === HOST ? this.providers.objection(page, thread) : null;
        if (objection === null) this.manager.fault(id(), page, write, thread);
        else this.endAccess(page, write, thread, objection);
      },
      transferred: (token, status) => this.router.completed(token, status),
      revoked: (token) => this.manager.revoked(token),
      released: (token) => this.manager.released(token),
      launched: (launch, failure) => {
        const device = this.devices.get(id());
        if (device !== undefined) this.later.push(() => this.launches.ended(device, launch, failure));
      },
      died: (reason) => this.died(id(), reason),
    };
  }

  private handle({ name, value }: ToManager, answer: Answer, sender: Subscriber): void {
    let reply = answer;
    try {
      reply = this.uses.request(name, value, answer);
      const result = this.carryOut(name, value, reply, sender);
      if (result !== undefined) reply(result, null);
    } catch (error) {
      if (error instanceof NodeError) throw error;
      reply(null, toWire(error));
    }
  }

  /** Returns the answer, or undefined when it comes later. */
  private carryOut(name: keyof Requests, value: unknown, answer: Answer, sender: Subscriber): unknown {
    switch (name) {
      case 'allocate':
        return this.allocate(value as Requests['allocate']['in'], answer);
      case 'resize':
        this.resizing.resize(value as Requests['resize']['in'], answer);
        return undefined;
      case 'usable': {
        const { range, name: array, verb } = value as Requests['usable']['in'];
        this.arrays.usable(range, array, verb);
        return null;
      }
      case 'clone':
        this.clone(value as Requests['clone']['in'], answer);
        return undefined;
      case 'free':
        this.free(value as Requests['free']['in']);
        // What is done at once is done when the program goes on: a file can be shared again.
        this.later.push(() => answer(null, null));
        return undefined;
      case 'flush':
        this.writeBack.flush(value as Requests['flush']['in'], (bytes, failure) =>
          failure === null ? answer({ bytes }, null) : answer(null, failure),
        );
        return undefined;
      case 'pin':
        this.pins.pin(value as Requests['pin']['in'], answer);
        return undefined;
      case 'unpin':
        this.pins.unpin((value as Requests['unpin']['in']).pin);
        return null;
      case 'protect':
        this.rights.protect(value as Requests['protect']['in'], (failure) => answer(null, failure));
        return undefined;
      case 'advise':
        this.arrays.advise(value as Requests['advise']['in']);
        return null;
      case 'attributes':
        return this.arrays.attributes(value as Requests['attributes']['in']);
      case 'discard':
        this.rights.discard(value as Requests['discard']['in'], (failure) => answer(null, failure));
        return undefined;
      case 'reload': {
        const { firstPage, count } = value as Requests['reload']['in'];
        this.pins.check(firstPage, count, 'reload');
        this.writeBack.reload(value as Requests['reload']['in'], (failure) => {
          if (failure === null) this.restore(firstPage, count);
          answer(null, failure);
        });
        return undefined;
      }
      case 'attachArray':
        this.arrays.check(value as Requests['attachArray']['in']);
        return null;
      case 'viewed':
        this.arrays.viewed(value as Requests['viewed']['in']);
        return null;
      case 'unviewed':
        this.arrays.countView((value as Requests['unviewed']['in']).range, -1);
        return null;
      case 'taken':
        return null;
      case 'leave':
        this.notifiers.forget(sender);
        return null;
      case 'dirty': {
        const { firstPage, count } = value as Requests['dirty']['in'];
        return { runs: this.manager.pages.dirty(firstPage, count).flatMap((run) => [run.first, run.count]) };
      }
      case 'young': {
        const { firstPage, count, clear } = value as Requests['young']['in'];
        const runs = this.manager.pages.young(firstPage, count);
        if (clear) this.manager.forgetUse(firstPage, count);
        return { runs: runs.flatMap((run) => [run.first, run.count, run.processors]) };
      }
      case 'watch':
        this.watch(value as Requests['watch']['in'], answer, sender);
        return undefined;
      case 'unwatch':
        this.notifiers.remove((value as Requests['unwatch']['in']).subscription);
        return null;
      case 'heard':
        this.notifiers.heard((value as Requests['heard']['in']).subscription);
        return null;
      case 'stats':
        this.notifiers.look(threadExists, true);
        return {
          processors: this.devices.stats(),
          ranges: this.arrays.count,
          allocatedBytes: this.arrays.allocatedBytes,
          notifiers: this.notifiers.count,
          pinnedBytes: this.pins.pinnedBytes,
          lockedBytes: this.pins.lockedBytes,
          faultsBy: this.faultsBy,
        } satisfies Requests['stats']['out'];
      case 'residency':
        return this.reports.residency(value as Requests['residency']['in']);
      case 'pointer':
        return { report: this.reports.pointer((value as Requests['pointer']['in']).offset) };
      case 'enqueue':
        this.streams.enqueue(value as StreamOperation);
        return null;
      case 'cancel':
        this.streams.cancel(value as Cancellation);
        return null;
      case 'called': {
        const { stream, sequence, error } = value as Requests['called']['in'];
        this.streams.called(stream, sequence, error);
        return null;
      }
      case 'forgive':
        this.streams.forgive((value as Requests['forgive']['in']).stream);
        return null;
      case 'endStream':
        this.streams.end((value as Requests['endStream']['in']).stream);
        return null;
      case 'readBytes':
        this.byteReads.start(value as Requests['readBytes']['in'], answer);
        return undefined;
      case 'transferFile':
        this.fileTransfers.start(value as FileTransfer, answer);
        return undefined;
      case 'addDevice':
        if (this.closing !== null) throw closingError();
        this.devices.addDevice((value as Requests['addDevice']['in']).options, (failure, info) => {
          if (info !== null) this.clients.broadcast({ device: info, instead: null });
          answer(info, failure);
        });
        return undefined;
      case 'restart': {
        if (this.closing !== null) throw closingError();
        const { device } = value as Requests['restart']['in'];
        this.devices.restart(device, (failure, info) => {
          if (info !== null) this.clients.broadcast({ device: info, instead: device });
          answer(info, failure);
        });
        return undefined;
      }
      case 'devices':
        return this.devices.infos;
      case 'detach':
        this.detach((value as Requests['detach']['in']).device, () => answer(null, null));
        return undefined;
      case 'kill':
        this.devices.kill(this.devices.processorOf((value as Requests['kill']['in']).device));
        return null;
      case 'check':
        checkInvariants(this.manager.state);
        return null;
      case 'close':
        {
          const { timeoutMs, closed } = value as Requests['close']['in'];
          if (this.closing === null) this.closedBefore = closed;
          this.close(timeoutMs, (failure) =>
            answer(failure === null ? (this.closedSpaces.at(0) ?? null) : null, failure),
          );
        }
        return undefined;
    }
  }

  private provide(token: number, page: number, count: number, target: number, urgent: boolean): Status {
    const range = this.clones.any ? this.manager.state.va.rangeOfPage(page) : undefined;
    if (range !== undefined && this.clones.has(range)) return this.clones.provide(range, token, page, count, target);
    if (this.providers.owns(page)) return this.providers.provide(token, page, count, target, urgent);
    return this.files.provide(token, page, count, target);
  }

  private providedBy(page: number): PageReport['providedBy'] {
    const range = this.manager.state.va.rangeOfPage(page);
    if (range !== undefined && this.clones.has(range)) return 'clone';
    return this.providers.owns(page) ? 'provider' : 'file';
  }

  private clone(wanted: Requests['clone']['in'], answer: Answer): void {
    const made = this.arrays.clone(wanted);
    this.clones.add(made.source, made.range, (failure) => {
      if (failure === null) {
        answer({ id: made.range.id, firstPage: made.range.first, pages: made.range.pages }, null);
        return;
      }
      this.arrays.free({ range: made.range.id, firstPage: made.range.first, count: made.range.pages });
      answer(null, this.arrays.denialError(failure, made.source.first, 'a clone'));
    });
  }

  /** An array with a provider is there when the provider's module has been loaded. */
  private allocate(wanted: Requests['allocate']['in'], answer: Answer): Requests['allocate']['out'] | undefined {
    const allocated = this.arrays.allocate(wanted);
    const { provider, bytes, name } = wanted;
    if (provider === null) return allocated;
    const { id, firstPage, pages } = allocated;
    this.providers.start(provider, { firstPage, pages, bytes, name }, (failure) => {
      if (failure === null) {
        answer(allocated, null);
        return;
      }
      const message = `cannot make array ${name}: its provider ${provider.exportName} of ${provider.url} ${failure.message}`;
      answer(null, wireError('PROVIDER_FAILED', message, { array: name }, failure.stack));
      this.later.push(() => this.arrays.free({ range: id, firstPage, count: pages }));
    });
    return undefined;
  }

  /** What was written to a shared file array reaches the file before its memory is given back. */
  private free(wanted: Requests['free']['in']): void {
    const freed = this.arrays.partToFree(wanted);
    if (freed === null) return;
    const { firstPage, count } = freed;
    this.pins.check(firstPage, count, 'free');
    const range = this.manager.state.va.range(freed.range);
    if (range !== undefined && firstPage === range.first && this.arrays.isWhole(range.id, count))
      this.notifiers.release(range);
    if (!this.writeBack.isShared(firstPage)) {
      this.arrays.free(freed);
      return;
    }
    this.writeBack.flush({ firstPage, count, durable: false }, (_bytes, failure) => {
      if (failure === null) this.arrays.free(freed);
      else this.say(`onemem: warning: a freed array is kept, and close() will try again: ${failure.message}\n`);
    });
  }

  private watch({ range, name, ...wishes }: Requests['watch']['in'], answer: Answer, sender: Subscriber): void {
    this.arrays.usable(range, name, 'watch');
    this.notifiers.add(range, wishes, sender, (sequence, failure) =>
      sequence === null ? answer(null, toWire(failure)) : answer({ sequence }, null),
    );
  }

  private execute(operation: StreamOperation, done: OperationDone): void {
    try {
      this.uses.check(operation);
      if (operation.kind === 'launch') {
        const { device } = operation;
        this.launches.add(this.devices.byNumber(device), operation, this.devices.explainLoss(device), done);
      } else if (operation.kind === 'prefetch') {
        const { device, firstPage, count, exclusive } = operation;
        this.prefetch(device, firstPage, count, exclusive, done);
      } else if (operation.kind === 'copy') {
        const at = operation.at === null ? null : this.devices.processorOf(operation.at);
        this.copies.start({ ...operation, at }, done);
      }
    } catch (error) {
      if (error instanceof NodeError) throw error;
      // Nobody waits for an answer to what a stream is given: the operation itself must say that it failed.
      done(toWire(error), 0);
    }
  }

  private prefetch(device: number, firstPage: number, wanted: number, exclusive: boolean, done: OperationDone): void {
    const id = this.devices.processorOf(device);
    const processor = this.manager.state.processors[id];
    if (processor === undefined || processor.state !== 'alive') {
      done(wireError('DEVICE_LOST', `cannot prefetch: ${this.devices.explainLoss(device)}`));
      return;
    }
    // More than the node holds would push out what the same prefetch brought.
    const room = this.manager.figures(id).budgetPages - (id === HOST ? 0 : PAGES_PER_BLOCK);
    const count = Math.min(wanted, room);
    const access = exclusive ? Access.Write : Access.Read;
    const who = exclusive ? 'exclusive access' : 'a prefetch';
    const denied = this.manager.pages.denial(firstPage, count, access, id);
    if (denied !== null) {
      done(this.arrays.denialError(denied, firstPage, who));
      return;
    }
    if (exclusive && count < wanted) {
      const needs = `exclusive access to ${wanted * PAGE_BYTES} bytes needs as much memory on ${processor.description.name}`;
      const message = `${needs}, which has room for ${room * PAGE_BYTES}; ask for smaller parts`;
      done(
        wireError('DEVICE_MEMORY', message, { requestedBytes: wanted * PAGE_BYTES, budgetBytes: room * PAGE_BYTES }),
      );
      return;
    }
    this.requests.start(
      (request) => this.manager.acquire(request, id, firstPage, count, access, { exclusive }),
      (pages, failure) => {
        if (failure === 'DEVICE_LOST') done(wireError(failure, `${who} was given up: ${this.devices.explainLoss(id)}`));
        else {
          const page = failure === null ? firstPage : this.arrays.pageWith(failure, firstPage, count);
          const error = failure === null ? null : this.arrays.denialError(failure, page, who);
          done(error, pages * PAGE_BYTES, count);
        }
      },
    );
  }

  /** Where the manager addresses page 0 of a node's memory; 0 when it cannot. */
  private memoryOf(node: NodeId): number {
    if (node === HOST_NODE) return this.hostDriver.memory;
    const driver = this.devices.ofNode(node)?.driver;
    return driver !== undefined && driver.description.frames === 'identity' ? driver.memory : 0;
  }

  private denied(
    processor: number,
    page: number,
    write: boolean,
    thread: number,
    reason: DenyReason,
    stranded: boolean,
  ): void {
    if (processor === HOST) {
      this.deniedHost(page, write, thread, reason);
      return;
    }
    const device = this.devices.get(processor);
    if (device === undefined) return;
    this.launches.denied(device, page, write, reason);
    // Its thread waits for ever: the device is as good as dead, and must say so.
    if (stranded) this.devices.kill(processor, `a page that a kernel waited for cannot be had (${reason})`);
  }

  private deniedHost(page: number, write: boolean, thread: number, reason: DenyReason): void {
    const why = this.arrays.explain(reason, page);
    if (reason === 'FREED' && !write) {
      const place = `${this.arrays.placeOf(page).text}, ${why}`;
      if (this.arrays.mayWarn(page)) this.say(`onemem: warning: the program read ${place}; it reads as zero\n`);
      return;
    }
    this.endAccess(page, write, thread, why);
  }

  private endAccess(page: number, write: boolean, thread: number, why: string): void {
    // The kernel may tell of one fault several times.
    if (this.lastWords.has(page)) return;
    const inCall = systemCallOf(thread) !== null;
    if (this.hostDriver.isPoisoned(page)) {
      this.poison(page, inCall);
      return;
    }
    const what = write ? 'wrote' : 'read';
    const { text } = this.arrays.placeOf(page);
    const end = inCall ? 'The system call fails with EFAULT' : 'The process ends';
    const ticket = this.say(`onemem: denied access: thread ${thread} ${what} ${text}, ${why}. ${end}.\n`);
    this.lastWords.add(page, write, inCall, ticket, this.clock.now());
  }

  private poison(page: number, inCall: boolean): void {
    this.notifiers.begin(page, 1, 'protect', HOST);
    if (this.hostDriver.poison(page)) {
      this.manager.unmapped(page);
      this.notifiers.through(page, 1, 'protect', HOST);
      return;
    }
    if (inCall) {
      this.say('onemem: this kernel (before 6.6) cannot make a system call fail: the process ends.\n');
      awaitMessages(this.control, LAST_LINE_MS);
    }
    kill(process.pid, SIGKILL);
  }

  /** Pages whose every access failed, or was about to, are used as others are. */
  private restore(firstPage: number, count: number): void {
    this.hostDriver.restore(firstPage, count);
    for (const page of this.lastWords.forget(firstPage, count)) this.hostDriver.wake(page, 1);
  }

  private died(id: number, reason: string): void {
    const device = this.devices.get(id);
    if (device === undefined) return;
    device.alive = false;
    this.devices.died(device, reason);
    this.manager.processorLost(id);
    this.launches.lost(device);
    // Its launches, and requests that still ask something of it, hear of its end first.
    this.later.push(() => this.devices.buried(device));
  }

  private detach(number: number, done: () => void): void {
    const device = this.devices.byNumber(number);
    if (device === undefined || !device.alive) {
      done();
      return;
    }
    device.alive = false;
    device.onDrained = done;
    // The launch that runs may end; those that wait are told that the device is gone. It may die before, which drains it, too.
    this.launches.whenIdle(device, () => {
      if (this.devices.get(device.info.id) === device) this.manager.detach(device.info.id);
    });
  }

  private drained(id: number): void {
    const device = this.devices.get(id);
    if (device === undefined) return;
    this.launches.endAll(device, device.reason);
    this.notifiers.forgetProcessor(id);
    this.devices.remove(device);
    this.loopTurns = REAPING_TURNS;
    device.onDrained?.();
  }

  /**
   * Ends the space: launches that run may end, in so many milliseconds if that is said, the others are cancelled. `done` is called when
   * nothing is left.
   */
  close(timeoutMs: number | null, done: (failure: WireError | null) => void): void {
    if (timeoutMs !== null) this.launches.stopAll(timeoutMs, 'the space is being closed');
    if (this.closing !== null) return;
    this.closing = () => done(null);
    this.streams.cancelAll(wireError('SPACE_CLOSED', 'cancelled: the space is being closed'));
    let running = 1;
    const flushed = (failure: WireError | null): void => {
      if (failure === null) this.providers.close(() => this.later.push(() => this.shutDown()));
      else {
        // The space stays, with all that was written: its owner can make room and close it again.
        this.closing = null;
        done(failure);
      }
    };
    const idle = (): void => {
      if (--running === 0) this.writeBack.flushAll(flushed);
    };
    for (const device of this.devices.all) {
      running++;
      this.launches.whenIdle(device, idle);
    }
    running++;
    this.copies.whenIdle(idle);
    idle();
  }

  /** Gives back what a space holds that does not come up. */
  abandon(): void {
    this.devices.close();
    this.hostDriver.close();
  }

  private shutDown(): void {
    this.clients.forgetEnded();
    this.notifiers.releaseAll();
    this.devices.close();
    for (const { source } of this.files.all) this.engine.closeFile(source.fd);
    this.engine.close();
    this.pipes.close();
    // Where no view is left there is nobody to answer.
    const faults = this.hostDriver.close(Atomics.load(this.control, Control.Views) > 0);
    if (faults !== null) {
      const { base, options } = this;
      this.closedSpaces.push({
        base,
        bytes: options.bytes,
        faults,
        control: options.control,
        arrays: this.arrays.closed(),
      });
      this.closedSpaces.push(...this.closedBefore);
    }
    Atomics.store(this.control, Control.State, SpaceState.Closed);
    this.clients.tellFreed(null);
    this.finished = true;
  }

  /** The process exits: children first, nothing else matters any more. */
  private stop(): void {
    for (const device of this.devices.all) device.process?.kill();
    this.finished = true;
    Atomics.store(this.control, Control.State, SpaceState.Closed);
  }
}

function closingError(): Error {
  return new RequestError('SPACE_CLOSED', 'the space is being closed; open a new one');
}
