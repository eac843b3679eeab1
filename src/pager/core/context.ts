/** What every part of the manager may use. */
import type { Policies } from '../../core/table/processors.js';
import { Poller } from '../../linux/sockets/poll.js';
import type { ManagerOptions } from '../protocol/space.js';
import { type Core, openCore } from './core.js';
import { CoreRequests } from './core-requests.js';
import { Deferred } from './deferred.js';
import { Loading } from './loading.js';
import { RunningClock } from './running-clock.js';
import { Sources } from './sources.js';

export interface ManagerContext extends Core {
  readonly options: ManagerOptions;
  /** Words that all threads of the space share. */
  readonly control: Int32Array;
  readonly poller: Poller;
  readonly requests: CoreRequests;
  readonly deferred: Deferred;
  readonly sources: Sources;
  readonly loading: Loading;
  /** Runs something when the current event has been handled. */
  readonly later: (action: () => void) => void;
  /** Time in which the manager, and with it its devices, could run: for all limits. */
  readonly now: () => number;
  readonly wall: () => number;
  /** Has a message written on standard error; returns its ticket. */
  readonly say: (text: string) => number;
  readonly warn: (message: string) => void;
}

/** @param slots how many descriptors the manager may wait for at once */
export function openContext(
  options: ManagerOptions,
  policies: Policies,
  slots: number,
  say: (text: string) => number,
): ManagerContext {
  const control = new Int32Array(options.control);
  const warn = (message: string): void => void say(`onemem: ${message}\n`);
  const wall = (): number => performance.now();
  const clock = new RunningClock(wall);
  const now = (): number => clock.now();
  const poller = new Poller(slots);
  const requests = new CoreRequests();
  const deferred = new Deferred(requests);
  const sources = new Sources();
  const core = openCore(options, policies, deferred, sources, warn);
  const { later } = deferred;
  return {
    ...core,
    options,
    control,
    poller,
    requests,
    deferred,
    sources,
    loading: new Loading(),
    later,
    now,
    wall,
    say,
    warn,
  };
}
