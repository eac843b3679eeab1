/**
 * How the manager waits until something happens: first it looks around for what is about to come,
 * where that has paid: the end of a launch, a page of storage, the next fault of the thread that
 * got it, and what a thread asks next whose operation has ended. Then it sleeps. Before it sleeps
 * it says so to those that would otherwise not wake it: clients, and the units of devices.
 */
import { Lookout } from '../../cpus/lookout.js';
import type { Spin } from '../../cpus/spin.js';
import { yieldProcessor } from '../../linux/processes/process.js';
import { Attention } from './attention.js';
import { HOST_SLOT, type Parts, WAKE_SLOT } from './parts.js';

/** A disk that is worth looking for reads a page within this. */
const DISK_MS = 0.3;
/** Reads not looked for after a slow disk or a busy CPU: each time half as many more. */
const DISK_PAUSE = 32;
/** Looks after everything else after so many pages given to threads in turn. */
const MOST_TURNS = 32;
/** A thread that awaits a launch and launches again has done so by then. */
const ASKED_MS = 0.2;
/** A thread of copies that has a CPU makes one of them within this. */
const COPY_MS = 0.2;

/** Something that is looked for. */
interface Awaited {
  readonly lookout: Lookout;
  /** A number that changes when another one is about to come; 0: none is. */
  readonly next: () => number;
  readonly come: () => boolean;
  last: number;
}

export class IdleWait {
  private readonly attention: Attention;
  private readonly diskLookout = new Lookout('storage-page', DISK_MS, DISK_PAUSE);
  /** The page of storage that was awaited last. */
  private lastRead = 0;
  /** How many descriptors the last look has found ready. */
  private ready = 0;
  /** How often copies were awaited. */
  private copies = 0;
  private readonly awaited: readonly Awaited[];

  constructor(
    private readonly parts: Pick<
      Parts,
      | 'control'
      | 'copyThreads'
      | 'faultReads'
      | 'manager'
      | 'router'
      | 'handleDeferred'
      | 'nearDisk'
      | 'now'
      | 'poller'
      | 'polls'
      | 'stores'
      | 'streams'
    >,
    private readonly spin: Spin,
  ) {
    const { polls, stores, streams, copyThreads, poller, control } = parts;
    this.attention = new Attention(control);
    const awaiting = (lookout: Lookout, next: Awaited['next'], come: Awaited['come']): Awaited => ({
      lookout,
      next,
      come,
      last: 0,
    });
    this.awaited = [
      // The end of a launch.
      awaiting(
        new Lookout('launch-end'),
        () => polls.awaited,
        () => polls.haveEnds,
      ),
      // A page of storage.
      awaiting(
        this.diskLookout,
        () => this.nextRead(),
        () => stores.hasAnswers,
      ),
      // The fault of a thread that got a page of storage: to be woken takes it longer than what
      // `Spin` is for.
      awaiting(
        new Lookout('page-taker'),
        () => (stores.awaited === 0 ? this.lastRead : 0),
        () => this.ready > 0 && poller.readyAt(HOST_SLOT) !== 0,
      ),
      // What a thread asks that has been told of an end.
      awaiting(
        new Lookout('next-request', ASKED_MS),
        () => streams.ends,
        () => this.attention.isAsked,
      ),
      // A copy that a thread is at.
      awaiting(
        new Lookout('copy-end', COPY_MS),
        () => (copyThreads.isBusy ? ++this.copies : 0),
        () => copyThreads.haveEnds,
      ),
    ];
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
    const calm = this.attention.sleep() && !ended && !copyThreads.haveEnds && !stores.hasAnswers;
    const ready = poller.wait(calm ? longestMs : 0);
    this.attention.wake();
    if (calm && poller.readyAt(WAKE_SLOT) === 0) this.spin.slept(now() - began);
    return ready;
  }

  /** From now on clients must wake the manager, which ends. */
  end(): void {
    this.attention.sleep();
  }

  /** How many descriptors are ready where something has come; null: nothing has. */
  private lookAround(began: number): number | null {
    const { now, poller, stores } = this.parts;
    let turns = 0;
    for (let time = began; this.isExpecting(time); time = now()) {
      // A unit that waits for this CPU has it now.
      yieldProcessor();
      this.ready = stores.hasAnswers ? 0 : poller.wait(0);
      for (const { lookout, come } of this.awaited) if (come()) lookout.came(now());
      if (
        stores.hasAnswers &&
        this.ready === 0 &&
        !this.attention.isAsked &&
        turns++ < MOST_TURNS
      ) {
        if (this.takeTurn()) return 0;
        continue;
      }
      if (this.ready > 0 || this.isOver) return this.ready;
    }
    return null;
  }

  /**
   * Gives a thread its page, then the CPU where it is on the manager's, and takes its next fault:
   * to go round for each of them would take as long as the core does. The core hears of the page
   * when the disk is at the next one. Returns whether the core has more to do.
   */
  private takeTurn(): boolean {
    const { now, stores, router, manager, handleDeferred, faultReads } = this.parts;
    router.putOff();
    stores.poll();
    yieldProcessor();
    faultReads.read();
    router.tellRest();
    handleDeferred();
    this.expect(now());
    return router.busy || manager.waitsToGoAhead;
  }

  /** Notes what is about to come. */
  private expect(time: number): void {
    const { nearDisk } = this.parts;
    for (const each of this.awaited) {
      const next = each.next();
      if (next !== 0 && next !== each.last) {
        each.lookout.expect(time);
        if (each.lookout === this.diskLookout) {
          if (this.diskLookout.isPaused) nearDisk.end();
          else nearDisk.begun(time);
        }
      }
      each.last = next;
    }
  }

  private isExpecting(time: number): boolean {
    let is = false;
    // Each of them is asked: one whose time is over notes that.
    for (const { lookout } of this.awaited) is = lookout.lasts(time) || is;
    return is;
  }

  private nextRead(): number {
    const { awaited } = this.parts.stores;
    if (awaited !== 0) this.lastRead = awaited;
    return awaited;
  }
}
