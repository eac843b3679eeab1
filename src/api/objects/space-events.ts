/** What happens in a space, as events of Node.js: for a program, its tools, and its traces. */
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { signalsFile } from '../../linux/own-files.js';
import type { FromSignalsThread, SignalsThreadData } from '../../live/protocol.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type {
  EvictSignal,
  FaultSignal,
  HeadroomSignal,
  LaunchSignal,
  Signal,
  ThrashSignal,
} from '../../trace/activity/signals.js';
import { INSPECT, inspectHolding } from '../arrays/parts/description.js';
import type { Client } from '../line/client.js';
import { checkFlag, checkOptions } from '../values/arguments.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { endLiveThread, startLiveThread } from './live-thread.js';

/** Options of `space.events`. */
export interface EventsOptions {
  /** Makes an entry of `performance` for each launch, for `PerformanceObserver`: a `measure`. */
  readonly performance?: boolean;
}

/** Events of `space.events()`, and what listeners get. */
export interface SpaceEventMap {
  launch: [LaunchSignal];
  evict: [EvictSignal];
  thrash: [ThrashSignal];
  headroom: [HeadroomSignal];
  faults: [FaultSignal];
}

const EVENTS_OPTIONS: OptionNames<EventsOptions> = { performance: true };
/** Each event is published there, too, with the name of the space. */
const CHANNELS = {
  launch: channel('onemem:launch'),
  evict: channel('onemem:evict'),
  thrash: channel('onemem:thrash'),
  headroom: channel('onemem:headroom'),
  faults: channel('onemem:faults'),
};

/**
 * What happens in a space, by `space.events()`: `launch` when one has ended; `evict`, `thrash` and
 * `faults` (more than 2000) once a second; `headroom` when a memory has less than a tenth of its
 * bytes left, or a fifth again. `node:diagnostics_channel` has the same as `onemem:launch` and so on.
 * It does not keep the process alive. The close of the space ends it, too.
 * @example
 * const events = await space.events();
 * events.on('thrash', ({ memory, array }) => console.warn(`${memory} thrashes: ${array}`));
 * console.log(events.listenerCount('thrash')); // 1
 * await events.close();
 */
export class SpaceEvents extends EventEmitter<SpaceEventMap> {
  private ended: Promise<void> | null = null;

  /** @internal */
  constructor(
    private readonly thread: Worker,
    private readonly space: string,
    private readonly marks: boolean,
  ) {
    super();
    thread.on('message', (message: FromSignalsThread) => {
      if (!('signals' in message)) return;
      for (const signal of message.signals) this.tell(signal, message.atMs);
    });
    // To listen to a thread keeps the process alive.
    thread.unref();
  }

  /**
   * Tells what has happened until now, and ends them. A second call gives the same.
   * @example
   * const events = await space.events();
   * console.log(await events.close()); // undefined
   */
  close(): Promise<void> {
    this.ended ??= endLiveThread(this.thread);
    return this.ended;
  }

  /** @internal */
  [INSPECT](): string {
    return inspectHolding('SpaceEvents', this.space, this.ended ? null : 'events.close()');
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }

  private tell({ kind, ...event }: Signal, atMs: number): void {
    if (kind === 'launch' && this.marks) this.mark(event as LaunchSignal, atMs);
    const to = CHANNELS[kind];
    if (to.hasSubscribers) to.publish({ space: this.space, ...event });
    (this.emit as (name: string, event: object) => boolean)(kind, event);
  }

  private mark(event: LaunchSignal, atMs: number): void {
    const { agoMs, durationMs: duration, kernel } = event;
    const start = Math.max(0, atMs - agoMs - performance.timeOrigin);
    performance.measure(`onemem ${kernel}`, { start, duration, detail: event });
  }
}

/** @param handle for the thread */
export async function spaceEvents(
  client: Client,
  handle: SpaceHandle | string,
  options: EventsOptions,
): Promise<SpaceEvents> {
  checkOptions('events()', options, EVENTS_OPTIONS);
  checkFlag('performance', options.performance);
  const data: SignalsThreadData = { handle };
  const { thread } = await startLiveThread<FromSignalsThread>(client, signalsFile(), data, {
    name: 'onemem events',
    what: 'cannot tell events',
  });
  return new SpaceEvents(thread, client.handle.name, options.performance ?? false);
}
