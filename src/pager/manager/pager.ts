/**
 * The manager's loop: it waits for faults, requests and devices, tells the core what happened, and
 * has the drivers do what the core says. It never waits for a thread of the application, nor for a
 * copy that is not from memory to memory. What each part has to do it asks the parts (`Part`).
 */
import type { Policies } from '../../core/table/processors.js';
import { Spin } from '../../cpus/spin.js';
import { NodeError } from '../../drivers/page-table.js';
import type { DescriptorReserve } from '../../linux/files/descriptor-reserve.js';
import { yieldProcessor } from '../../linux/processes/process.js';
import { drainEventfd } from '../../linux/threads/eventfd.js';
import { partsThat } from '../core/part.js';
import type { ClosedSpace } from '../protocol/closed-space.js';
import { Control } from '../protocol/control.js';
import type { Answer, ToManager } from '../protocol/messages.js';
import type { DeviceInfo, ManagerOptions } from '../protocol/space.js';
import { toWire, type WireError } from '../protocol/wire.js';
import type { Client, ClientEvents } from './clients.js';
import { Closing } from './closing.js';
import { carryOut, handlersOf } from './handlers.js';
import { IdleWait } from './idle-wait.js';
import { HOST_SLOT, makeParts, type Parts, WAKE_SLOT } from './parts.js';
import type { Handlers } from './requests/handling.js';
import { TimeSlice } from './time-slice.js';

/** How long the manager sleeps at most, so that its heartbeat goes on. */
const SLEEP_MS = 200;
/** Fault messages in a row after which requests get a look, too. */
const FAULTS_IN_A_ROW = 256;

export class Pager implements ClientEvents {
  private readonly parts: Parts;
  private readonly asked: ReturnType<typeof askedOf>;
  private readonly handlers: Handlers;
  private readonly closing: Closing;
  private readonly spin = new Spin();
  private readonly idleWait: IdleWait;
  /** How many answers threads had been given when that was asked last. */
  private answers = 0;
  /** What a round does of requests. */
  private readonly requestSlice: TimeSlice;
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
    this.asked = askedOf(this.parts);
    this.requestSlice = new TimeSlice(this.parts.wall);
    this.idleWait = new IdleWait(this.parts, this.spin);
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

  /** Spaces with views left, whose late uses this thread answers after its own has closed. */
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
      this.idleWait.end();
      this.parts.recording?.close();
      this.parts.moveRecords.close();
    }
  }

  /** Serves faults and moves queued pieces until there is nothing to do for a moment. */
  private serveFaults(): void {
    const { faultReads, polls, poller, attachments } = this.parts;
    let served = 0;
    let looks = this.looks();
    faultReads.expected =
      looks > 1 || poller.readyAt(HOST_SLOT) !== 0 || polls.haveFaults || attachments.haveFaults;
    for (let look = 0; look < looks && served < FAULTS_IN_A_ROW; look++) {
      if (look === 1 && this.spin.yields) this.yield();
      let found = 0;
      for (const part of this.asked.step) found += part.step();
      this.parts.handleDeferred();
      if (found > 0) {
        served += found;
        this.spin.found(look);
        look = -1;
        looks = this.looks();
        faultReads.expected = true;
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

  /** Looks after all that is no fault: sleeps until something happens. False: nothing has. */
  private goRound(): boolean {
    const { control, clients, streams, streamSlice, stores, poller, attachments } = this.parts;
    Atomics.add(control, Control.Heartbeat, 1);
    this.requestSlice.renew();
    streamSlice.renew();
    if (Atomics.load(control, Control.Stop) === 1) {
      // To sleep once more would keep the process from ending for as long.
      this.closing.stop();
      return true;
    }
    if (!this.sleep(this.parts.now())) return false;
    for (const part of this.asked.hear) part.hear();
    // Who comes by a request may need the place of what has gone.
    this.parts.handleDeferred();
    const woken = poller.readyAt(WAKE_SLOT) !== 0;
    const asked = this.idleWait.takeAsked();
    if (woken) drainEventfd(this.options.wakeFd);
    if (woken || stores.hasAnswers) this.poll();
    if (clients.busy || woken || asked || (attachments.any && attachments.haveMessages))
      clients.read(this.requestSlice, this);
    streams.go();
    this.parts.handleDeferred();
    return true;
  }

  /** Takes what other threads have answered. */
  private poll(): void {
    for (const part of this.asked.poll) part.poll();
    this.parts.handleDeferred();
  }

  /** Does what is due by the clock, then sleeps until something happens. False when nothing has. */
  private sleep(nowMs: number): boolean {
    const { clients, streams, poller } = this.parts;
    for (const part of this.asked.look) part.look(nowMs);
    this.poll();
    for (const part of this.asked.flush) part.flush();
    const isWorking = this.more || clients.busy || this.asked.busy.some(({ busy }) => busy);
    if (!isWorking) for (const part of this.asked.idle) part.idle();
    const ready = isWorking ? poller.wait(0) : this.idleWait.wait(this.longestSleep(nowMs));
    return ready > 0 || clients.busy || streams.busy || this.idleWait.isOver;
  }

  private longestSleep(nowMs: number): number {
    let most = SLEEP_MS;
    for (const part of this.asked.sleepMs) most = part.sleepMs(most, nowMs);
    return most;
  }

  private needsTurn(isIdle: boolean): boolean {
    let needs = false;
    // Each of them is asked: some count how often they were.
    for (const part of this.asked.needsTurn) needs = part.needsTurn(isIdle) || needs;
    return needs;
  }

  request(message: ToManager, answer: Answer, client: Client): void {
    let reply = answer;
    this.parts.stores.step();
    this.parts.files.step();
    try {
      reply = this.parts.uses.request(message, answer);
      carryOut(this.handlers, message, reply, client);
    } catch (error) {
      if (error instanceof NodeError) throw error;
      reply(null, toWire(error));
    }
    this.parts.handleDeferred();
  }

  left(client: Client, views: ReadonlyMap<number, number>, pins: ReadonlySet<number>): void {
    this.parts.moveRecords.left(client);
    for (const [range, count] of views) this.parts.arrays.countView(range, -count);
    for (const pin of pins) this.parts.endPin(pin);
    for (const range of client.staging) this.parts.arrays.freeAll(range);
    client.staging.clear();
  }
}

/** The parts by what they are asked: most are asked little. */
function askedOf({ all }: Parts) {
  return {
    step: partsThat('step', all),
    hear: partsThat('hear', all),
    poll: partsThat('poll', all),
    look: partsThat('look', all),
    flush: partsThat('flush', all),
    busy: partsThat('busy', all),
    idle: partsThat('idle', all),
    sleepMs: partsThat('sleepMs', all),
    needsTurn: partsThat('needsTurn', all),
  };
}
