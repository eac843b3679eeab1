/**
 * The manager's loop: it waits for faults, requests and devices, tells the core what happened, and
 * has the drivers do what the core says. It never waits for a thread of the application, nor for a
 * copy that is not from memory to memory.
 */
import type { Policies } from '../../core/state.js';
import { PAGES_PER_BLOCK, PAGES_PER_TRANSFER } from '../../core/types.js';
import { NodeError } from '../../drivers/page-table.js';
import type { DescriptorReserve } from '../../linux/descriptor-reserve.js';
import { drainEventfd } from '../../linux/eventfd.js';
import { yieldProcessor } from '../../linux/process.js';
import type { ClosedSpace } from '../protocol/closed-space.js';
import { Control } from '../protocol/control.js';
import type { Answer, ToManager } from '../protocol/messages.js';
import type { DeviceInfo, ManagerOptions } from '../protocol/space.js';
import { toWire, type WireError } from '../protocol/wire.js';
import type { Client, ClientEvents } from './clients.js';
import { Closing } from './closing.js';
import { FaultReads } from './fault-reads.js';
import { carryOut, type Handlers, handlersOf } from './handlers.js';
import { HOST_SLOT, makeParts, type Parts, WAKE_SLOT } from './parts.js';
import { Rest } from './rest.js';
import { Share } from './share.js';
import { Spin } from './spin.js';

/** How long the manager sleeps at most, so that its heartbeat goes on. */
const SLEEP_MS = 200;
/** The same while a provider works, so that its end is seen soon. */
const SHORT_SLEEP_MS = 10;
/** Fault messages in a row after which requests get a look, too. */
const FAULTS_IN_A_ROW = 256;
/** What a piece costs besides its pages: as much as so many more. */
const PIECE_PAGES = 7;
/** Pieces by which a block moves. */
const PIECES_PER_BLOCK = PAGES_PER_BLOCK / PAGES_PER_TRANSFER;
/** How many faults a step of a device in this thread counts as: it may take as long as so many. */
const DEVICE_STEP = 16;

export class Pager implements ClientEvents {
  private readonly parts: Parts;
  private readonly handlers: Handlers;
  private readonly closing: Closing;
  private readonly spin = new Spin();
  private readonly faultReads: FaultReads;
  private readonly rest: Rest;
  /** How many answers threads had been given when that was asked last. */
  private answers = 0;
  /** What a round does of requests. */
  private readonly requestShare = new Share(() => performance.now());
  /** There was more to do than is done in a row. */
  private more = false;

  /** @param say has a message written on standard error; returns its ticket */
  constructor(
    private readonly options: ManagerOptions,
    policies: Policies,
    say: (text: string) => number,
    reserve: DescriptorReserve,
  ) {
    this.parts = makeParts(options, policies, say, reserve);
    this.faultReads = new FaultReads(this.parts);
    this.rest = new Rest(this.parts, this.spin, this.faultReads);
    this.closing = new Closing(this.parts, this);
    this.handlers = handlersOf(this.parts, this.closing);
  }

  get base(): number {
    return this.parts.host.node.base;
  }

  get deviceInfos(): DeviceInfo[] {
    return this.parts.devices.infos;
  }

  get faultsBy(): string {
    return this.parts.host.faults.via;
  }

  /**
   * Spaces of which views are left and whose late uses this thread answers when its own has been
   * closed.
   */
  get closedSpaces(): readonly ClosedSpace[] {
    return this.closing.closedSpaces;
  }

  /** Starts the devices; the loop must run for them to come up. */
  addDevices(ready: (failure: string | null) => void): void {
    this.parts.devices.open(this.options.devices, ready);
  }

  /** Ends the space; `done` is called when nothing is left. */
  close(done: (failure: WireError | null) => void): void {
    this.closing.begin(null, [], done);
  }

  /** Gives back what a space holds that does not come up. */
  abandon(): void {
    this.parts.devices.close();
    this.parts.follower.close();
    this.parts.host.close();
    this.parts.reserve.close();
  }

  /** Serves the space until it is closed, or the process ends. */
  async run(): Promise<void> {
    try {
      while (!this.closing.step()) {
        this.serveFaults();
        // The last launch may have ended just now, and with it a space that was only waiting for
        // it.
        if (this.closing.step()) break;
        const idle = !this.goRound();
        if (this.needsTurn(idle)) await new Promise((resolve) => setImmediate(resolve));
      }
      await this.closing.complete();
    } finally {
      this.rest.end();
      this.parts.recording?.close();
      this.parts.recordings.close();
    }
  }

  /** Serves faults and moves queued pieces until there is nothing to do for a moment. */
  private serveFaults(): void {
    const {
      stores,
      files,
      polls,
      copies,
      copyThreads,
      gathers,
      pins,
      providers,
      poller,
      attachments,
    } = this.parts;
    let served = 0;
    let looks = this.looks();
    let reading =
      looks > 1 || poller.readyAt(HOST_SLOT) !== 0 || polls.haveFaults || attachments.haveFaults;
    for (let look = 0; look < looks && served < FAULTS_IN_A_ROW; look++) {
      if (look === 1 && this.spin.yields) this.yield();
      stores.look();
      files.look();
      let found = reading ? this.faultReads.read() + attachments.readFaults() : 0;
      if (copyThreads.poll()) found++;
      if (this.moveSome() || this.goAhead() || copyThreads.help()) found++;
      else polls.sendReads();
      if (copies.step()) found++;
      if (gathers.step()) found++;
      if (pins.step()) found++;
      if (providers.step()) found++;
      if (polls.progress()) found += DEVICE_STEP;
      this.parts.settle();
      if (found > 0) {
        served += found;
        this.spin.found(look);
        look = -1;
        looks = this.looks();
        reading = true;
      }
    }
    this.more = served >= FAULTS_IN_A_ROW;
  }

  /**
   * How often to look for faults: a thread whose fault or request has been answered since this was
   * asked last goes on, and may fault; otherwise what the poller finds is enough.
   */
  private looks(): number {
    const { router, clients, polls, attachments } = this.parts;
    const answers = router.answers + clients.answers;
    const expected = answers !== this.answers;
    this.answers = answers;
    return expected ? this.spin.looks(1 + polls.processes + attachments.count) : 1;
  }

  /** Has threads that share the CPU run, above all the one that was answered. */
  private yield(): void {
    const { now } = this.parts;
    const began = now();
    yieldProcessor();
    this.spin.yielded(now() - began);
  }

  /**
   * Moves queued pieces: a large one, or several small ones that together take no longer. False
   * when there is none. Behind them it reads what devices answer, which a thread may wait for: the
   * manager goes round only when no piece is left.
   */
  private moveSome(): boolean {
    const { router, polls } = this.parts;
    let cost = 0;
    while (cost < PAGES_PER_TRANSFER) {
      const pages = router.step();
      if (pages === 0) break;
      cost += pages + PIECE_PAGES;
    }
    if (cost === 0) return false;
    polls.readAnswers();
    return true;
  }

  /** Begins with the next block that is to come ahead of a processor. False when there is none. */
  private goAhead(): boolean {
    const { manager, copyThreads } = this.parts;
    // In the order in which they will be wanted; a thread of copies and the manager are to be at
    // two blocks, not at one.
    if (!manager.waitsToGoAhead || copyThreads.left >= PIECES_PER_BLOCK) return false;
    manager.goAhead();
    return true;
  }

  /**
   * Looks after everything that is no fault: sleeps until something happens, and handles it. False
   * when nothing has.
   */
  private goRound(): boolean {
    const {
      control,
      clients,
      streams,
      streamShare,
      engine,
      pipes,
      stores,
      providers,
      shared,
      devices,
      poller,
    } = this.parts;
    const { attachments } = this.parts;
    Atomics.add(control, Control.Heartbeat, 1);
    this.requestShare.renew();
    streamShare.renew();
    if (Atomics.load(control, Control.Stop) === 1) {
      // To sleep once more would keep the process from ending for as long.
      this.closing.stop();
      return true;
    }
    if (!this.sleep(this.parts.now())) return false;
    devices.poll();
    if (attachments.any && attachments.poll()) clients.lookForEnded();
    const woken = poller.readyAt(WAKE_SLOT) !== 0;
    const asked = this.rest.takeAsked();
    if (woken) {
      drainEventfd(this.options.wakeFd);
      engine.poll();
      pipes.poll();
      stores.poll();
      providers.poll();
      shared.poll();
      this.parts.settle();
    } else if (stores.hasAnswers) {
      stores.poll();
      this.parts.settle();
    }
    if (clients.more || woken || asked || (attachments.any && attachments.haveMessages))
      clients.read(this.requestShare, this);
    streams.go();
    this.parts.settle();
    return true;
  }

  /** Does what is due by the clock, then sleeps until something happens. False when nothing has. */
  private sleep(now: number): boolean {
    const {
      clients,
      streams,
      engine,
      pipes,
      stores,
      hostBudget,
      follower,
      patience,
      kept,
      polls,
      poison,
      launches,
      notifiers,
      poller,
      recording,
      recordings,
      shared,
      bindings,
      nearDisk,
      reserve,
      attachments,
    } = this.parts;
    reserve.look(now);
    engine.poll();
    pipes.poll();
    stores.poll();
    follower.look();
    bindings.look(now);
    nearDisk.look(now);
    hostBudget.look();
    patience.look();
    kept.look(now);
    shared.look();
    launches.endings.freeLenders(now);
    this.parts.settle();
    polls.look(now);
    polls.sendRest();
    poison.look(now);
    launches.endings.look(now);
    streams.look(clients.threadExists);
    notifiers.look(clients.threadExists);
    notifiers.flush();
    if (attachments.any) attachments.prepare();
    const working = this.isWorking();
    if (!working) {
      recording?.flush();
      recordings.flush();
    }
    const ready = working ? poller.wait(0) : this.rest.wait(this.longestSleep(now));
    return ready > 0 || clients.more || streams.more || this.rest.isOver;
  }

  /** Whether there is something to do at once. */
  private isWorking(): boolean {
    const {
      clients,
      streams,
      manager,
      router,
      stores,
      copies,
      gathers,
      pins,
      providers,
      launches,
      notifiers,
    } = this.parts;
    return (
      this.more ||
      stores.haveFresh ||
      clients.more ||
      streams.more ||
      router.busy ||
      manager.waitsToGoAhead ||
      copies.busy ||
      gathers.busy ||
      pins.busy ||
      providers.busy ||
      launches.loading + notifiers.loading > 0
    );
  }

  private longestSleep(now: number): number {
    const { launches, providers, poison, devices, pipes, engine, stores, files, hostBudget } =
      this.parts;
    const longest = hostBudget.sleepMs(
      launches.endings.sleepMs(now, providers.active ? SHORT_SLEEP_MS : SLEEP_MS),
    );
    return stores.sleepMs(
      files.sleepMs(engine.sleepMs(pipes.sleepMs(devices.sleepMs(poison.sleepMs(longest))))),
    );
  }

  /**
   * Whether the event loop must have a turn: to load modules, and to see threads and processes
   * start and end.
   */
  private needsTurn(idle: boolean): boolean {
    const { providers, shared, launches, notifiers, engine, pipes, stores, devices, copyThreads } =
      this.parts;
    const modules = providers.tick() || launches.loading + notifiers.loading > 0;
    const files =
      engine.needsTurn() || pipes.needsTurn() || stores.needsTurn() || shared.needsTurn();
    const copying = copyThreads.needsTurn();
    return devices.needsTurn(idle) || modules || files || copying;
  }

  request(message: ToManager, answer: Answer, client: Client): void {
    let reply = answer;
    this.parts.stores.look();
    this.parts.files.look();
    try {
      reply = this.parts.uses.request(message, answer);
      carryOut(this.handlers, message, reply, client);
    } catch (error) {
      if (error instanceof NodeError) throw error;
      reply(null, toWire(error));
    }
    this.parts.settle();
  }

  left(views: ReadonlyMap<number, number>, pins: ReadonlySet<number>): void {
    for (const [range, count] of views) this.parts.arrays.countView(range, -count);
    for (const pin of pins) this.parts.pins.unpin(pin);
  }
}
