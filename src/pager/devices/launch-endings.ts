/** Launches that end early: too long, not wanted, or awaited by what they need. */
import { QueuedTime } from '../../linux/threads/queued-time.js';
import type { Places } from '../arrays/table/places.js';
import type { Stop, StoppedThreads } from '../host/stopped-threads.js';
import type { Device } from './device.js';
import type { Ending, Launch, LaunchQueue } from './launch.js';
import { arrayPages } from './launch-arguments.js';

/** How long an end may take: units end in milliseconds, but not in a blocking call. */
const ENDING_LIMIT_MS = 5000;
/** A device that had no processor for so long of that time gets as much again. */
const LEAST_QUEUED_MS = 500;
/** How long a lending thread may be stopped by something else than the device's launch. */
const STOPPED_LIMIT_MS = 5000;

export class LaunchEndings {
  /** When the next launch has run for too long, or has taken too long to end. */
  private nextLimit = Number.POSITIVE_INFINITY;
  /** What is to be done once with whatever runs then. */
  private stopping: { readonly at: number; readonly stop: () => void } | null = null;

  constructor(
    private readonly queues: ReadonlyMap<Device, LaunchQueue>,
    private readonly places: Places,
    private readonly stopped: StoppedThreads,
    /** Time in which the manager, and with it its devices, could run. */
    private readonly now: () => number,
    /** The first launch of a device, which has not reached it, is over. */
    private readonly finish: (launch: Launch) => void,
    private readonly queuedOf: (pid: number) => Launch['queued'] = (pid) => new QueuedTime(pid),
  ) {}

  limit(launch: Launch): void {
    const { timeoutMs } = launch.operation;
    if (timeoutMs === null) return;
    launch.timeoutAt = this.now() + timeoutMs;
    this.nextLimit = Math.min(this.nextLimit, launch.timeoutAt);
  }

  /** Has a launch whose turn has come end before its time. */
  stop(launch: Launch, ending: Ending): void {
    const { device } = launch;
    if (launch.ending !== null) return;
    if (launch.isHandedOver && !device.info.cancellation) {
      // The part that runs comes to its end, however long it takes, and is the last one.
      if (launch.work.kind === 'parts') launch.ending = ending;
      return;
    }
    launch.ending = ending;
    if (launch.sharedUse?.isWaiting === true) {
      this.finish(launch);
      return;
    }
    launch.endBy = this.now() + ENDING_LIMIT_MS;
    const pid = device.process?.pid ?? null;
    launch.queued = pid === null ? null : this.queuedOf(pid);
    this.nextLimit = Math.min(this.nextLimit, launch.endBy);
    // What is not with the driver ends when its turn comes to be handed over.
    if (launch.isHandedOver) device.driver.abort?.(launch.id);
  }

  /** Ends what still runs after so many milliseconds, if need be with its device. */
  stopAll(afterMs: number, reason: string): void {
    const at = this.now() + afterMs;
    const stop = (): void => {
      for (const { device, launches } of this.queues.values()) {
        const [launch] = launches;
        if (launch === undefined) continue;
        if (device.info.cancellation) this.stop(launch, { code: 'ABORTED', reason });
        else device.end(reason);
      }
    };
    this.stopping = { at, stop };
    this.nextLimit = Math.min(this.nextLimit, at);
  }

  /** Ends launches that run too long, and devices that do not end theirs. Call it often. */
  look(now: number): void {
    if (now < this.nextLimit) return;
    this.nextLimit = Number.POSITIVE_INFINITY;
    if (this.stopping !== null && now >= this.stopping.at) {
      this.stopping.stop();
      this.stopping = null;
    }
    for (const { device, launches } of this.queues.values()) {
      const [launch] = launches;
      if (launch === undefined) continue;
      if (launch.ending === null && now >= launch.timeoutAt) {
        launch.timeoutAt = Number.POSITIVE_INFINITY;
        const reason = `it ran for more than ${launch.operation.timeoutMs} ms`;
        this.stop(launch, { code: 'TIMEOUT', reason });
      }
      if (now >= launch.endBy) this.endUnlessQueued(device, launch, now);
      this.nextLimit = Math.min(
        this.nextLimit,
        launch.timeoutAt,
        launch.endBy,
        this.stopping?.at ?? this.nextLimit,
      );
    }
  }

  /** Units that had no processor could not end: they get that time more. */
  private endUnlessQueued(device: Device, launch: Launch, now: number): void {
    const queuedMs = launch.queued?.takeMs() ?? 0;
    const isQueued = queuedMs >= LEAST_QUEUED_MS;
    launch.endBy = now + (isQueued ? Math.min(queuedMs, ENDING_LIMIT_MS) : ENDING_LIMIT_MS);
    // What has not begun on the device waits for something else.
    if (!isQueued && (launch.isHandedOver || device.process?.owesAnswers === true))
      device.end(`it did not end a launch within ${ENDING_LIMIT_MS / 1000} s`);
  }

  /** A thread of the program drives a device. */
  watch(lender: number): void {
    this.stopped.watch(lender);
  }

  /** Ends launches whose lending thread is stopped: it may wait for the launch itself. */
  freeLenders(now: number): void {
    for (const { device, launches } of this.queues.values()) {
      const lender = device.process?.lent?.lender ?? null;
      const [launch] = launches;
      if (lender === null || launch === undefined || !launch.isHandedOver || device.lost) continue;
      const stop = this.stopped.stopOf(lender);
      if (stop === null || (now - stop.since < STOPPED_LIMIT_MS && !uses(launch, stop))) continue;
      const { name } = device.info;
      const why =
        `the thread that lent device ${name}, and runs its launches in turns of its event loop, is stopped: it has touched ` +
        `${this.places.placeOf(stop.page).text} while the launch ran; await the launch before`;
      device.process?.lent?.abandon(launch.id, why);
    }
  }

  /** How long the manager may sleep at most. */
  sleepMs(most: number, now: number): number {
    return Math.max(0, Math.min(most, Math.ceil(this.nextLimit - now)));
  }
}

/** Whether the thread waits for the launch to end: it has what no other may have meanwhile. */
function uses({ operation, cut }: Launch, { page, write }: Stop): boolean {
  const { parameters } = cut ?? operation;
  return parameters.some((each) => {
    if (each.kind !== 'array' || (each.use === 'in' && !write)) return false;
    const [{ first, end }] = arrayPages([each]);
    return page >= first && page < end;
  });
}
