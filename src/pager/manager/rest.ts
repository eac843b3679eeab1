/**
 * How the manager waits until something happens: first it looks around for what is about to come,
 * where that has paid: the end of a launch, a page of storage, the next fault of the thread that
 * got it, and what a thread asks next whose operation has ended. Then it sleeps. Before it sleeps
 * it says so to those that would otherwise not wake it: clients, and the units of devices.
 */
import { yieldProcessor } from '../../linux/process.js';
import { Attention } from './attention.js';
import { Lookout } from './lookout.js';
import { HOST_SLOT, type Parts, WAKE_SLOT } from './parts.js';
import type { Spin } from './spin.js';

/** A disk that is worth looking for reads a page within this. */
const DISK_MS = 0.3;
/**
 * Reads that are not looked for after the disk was slow, or another thread had the CPU: each of
 * them takes half as long again.
 */
const DISK_PAUSE = 32;
/**
 * The manager looks after everything else after so many pages that it has given to threads in turn.
 */
const MOST_TURNS = 32;
/**
 * A thread that awaits the end of a launch and then launches the next one has done so within this.
 */
const ASKED_MS = 0.2;
/** A thread of copies that has a CPU makes one of them within this. */
const COPY_MS = 0.2;

export class Rest {
  private readonly attention: Attention;
  /** For the end of a launch. */
  private readonly lookout = new Lookout();
  /** The launch that was looked for last. */
  private awaited = 0;
  /** For a page of storage. */
  private readonly diskLookout = new Lookout(DISK_MS, DISK_PAUSE);
  /** The page that was looked for last; 0: it has come. */
  private awaitedRead = 0;
  /**
   * For the fault of a thread that got a page of storage: to be woken takes it longer than what
   * `Spin` is for.
   */
  private readonly faultLookout = new Lookout();
  /** For what a thread asks that has been told of an end. */
  private readonly askedLookout = new Lookout(ASKED_MS);
  /** For a copy that a thread is at. */
  private readonly copyLookout = new Lookout(COPY_MS);
  /** How many operations had ended when that was looked at last. */
  private ends = 0;

  constructor(
    private readonly parts: Pick<
      Parts,
      | 'control'
      | 'copyThreads'
      | 'faultReads'
      | 'manager'
      | 'router'
      | 'settle'
      | 'nearDisk'
      | 'now'
      | 'poller'
      | 'polls'
      | 'stores'
      | 'streams'
    >,
    private readonly spin: Spin,
  ) {
    this.attention = new Attention(parts.control);
  }

  /** Whether something has come of which no descriptor tells. */
  get isOver(): boolean {
    const { polls, copyThreads, stores } = this.parts;
    return this.attention.isAsked || polls.haveEnds || copyThreads.haveEnds || stores.hasAnswers;
  }

  /** What clients have asked is about to be read. Returns whether there is something. */
  takeAsked(): boolean {
    return this.attention.take();
  }

  /** Waits until something happens, at most so long. Returns how many descriptors are ready. */
  wait(longestMs: number): number {
    const { now, poller, polls, copyThreads, stores, nearDisk } = this.parts;
    const began = now();
    this.expect(began);
    const watched = stores.awaited !== 0;
    if (watched) stores.watched(true);
    const found = this.lookAround(began);
    if (watched) stores.watched(false);
    if (found !== null) return found;
    if (stores.awaited === 0) nearDisk.threadRests();
    const ended = polls.unwatch();
    // No unit, no client, no thread of copies and no disk tells of what came before it knew of the
    // sleep.
    const calm = this.attention.rest() && !ended && !copyThreads.haveEnds && !stores.hasAnswers;
    const ready = poller.wait(calm ? longestMs : 0);
    this.attention.wake();
    if (calm && poller.readyAt(WAKE_SLOT) === 0) this.spin.slept(now() - began);
    return ready;
  }

  /** From now on clients must wake the manager, which ends. */
  end(): void {
    this.attention.rest();
  }

  /** How many descriptors are ready where something has come; null: nothing has. */
  private lookAround(began: number): number | null {
    const { now, poller, polls, copyThreads, stores } = this.parts;
    let turns = 0;
    for (let time = began; this.isExpecting(time); time = now()) {
      // A unit that waits for this CPU has it now.
      yieldProcessor();
      const ended = polls.haveEnds;
      if (ended) this.lookout.came(now());
      const ready = stores.hasAnswers ? 0 : poller.wait(0);
      if (ready > 0) this.came(now());
      const read = stores.hasAnswers;
      if (read) this.diskLookout.came(now());
      if (read && ready === 0 && !this.attention.isAsked && turns++ < MOST_TURNS) {
        if (this.takeTurn()) return 0;
        continue;
      }
      if (this.attention.isAsked) this.askedLookout.came(now());
      const copied = copyThreads.haveEnds;
      if (copied) this.copyLookout.came(now());
      if (ready > 0 || read || copied || ended || this.attention.isAsked) return ready;
    }
    return null;
  }

  /**
   * Gives a thread its page, then the CPU where it is on the manager's, and takes its next fault:
   * to go round for each of them would take as long as the core does. The core hears of the page
   * when the disk is at the next one. Returns whether the core has more to do.
   */
  private takeTurn(): boolean {
    const { now, stores, router, manager, settle } = this.parts;
    router.putOff();
    stores.poll();
    yieldProcessor();
    this.parts.faultReads.read();
    router.tellRest();
    settle();
    this.expect(now());
    return router.busy || manager.waitsToGoAhead;
  }

  /** Notes what is about to come. */
  private expect(time: number): void {
    const { polls, stores, streams, copyThreads, nearDisk } = this.parts;
    const { awaited } = polls;
    if (awaited !== 0 && awaited !== this.awaited) this.lookout.expect(time);
    this.awaited = awaited;
    const read = stores.awaited;
    if (read !== 0 && read !== this.awaitedRead) {
      this.diskLookout.expect(time);
      if (this.diskLookout.isPaused) nearDisk.end();
      else nearDisk.begun(time);
    } else if (read === 0 && this.awaitedRead !== 0) this.faultLookout.expect(time);
    this.awaitedRead = read;
    if (copyThreads.isBusy) this.copyLookout.expect(time);
    if (streams.ends !== this.ends) this.askedLookout.expect(time);
    this.ends = streams.ends;
  }

  private isExpecting(time: number): boolean {
    const launch = this.lookout.lasts(time);
    const read = this.diskLookout.lasts(time);
    const asked = this.askedLookout.lasts(time);
    const copied = this.copyLookout.lasts(time);
    return this.faultLookout.lasts(time) || launch || read || asked || copied;
  }

  /** Some descriptors are ready. */
  private came(time: number): void {
    const { poller } = this.parts;
    if (poller.readyAt(HOST_SLOT) !== 0) this.faultLookout.came(time);
  }
}
