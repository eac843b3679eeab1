/** The host as a processor: its driver, and what the core hears of application threads. */
import {
  HOST,
  HOST_NODE,
  isOwner,
  NO_NODE,
  PAGE_BYTES,
  type Status,
} from '../../core/basics/types.js';
import type { CopyThread } from '../../drivers/copies/copy-thread.js';
import type { DriverEvents } from '../../drivers/driver.js';
import { HostDriver } from '../../drivers/host-linux/host.js';
import type { ManagerContext } from '../core/context.js';
import { crash } from '../core/crash.js';
import type { Providers } from '../sources/providers.js';
import type { StoppedThreads } from './stopped-threads.js';

/** Why a thread may not have the page that it faulted on; null: it may. */
type Objection = (page: number, write: boolean) => string | null;

class HostEvents implements DriverEvents {
  constructor(
    private readonly context: ManagerContext,
    private readonly providers: Providers,
    private readonly objection: Objection,
    private readonly stopped: StoppedThreads,
    private readonly faulted: (thread: number) => void,
  ) {}

  fault(page: number, write: boolean, thread: number): void {
    // With a thread of the application in a fault: that is when the application itself would not
    // notice.
    const { options, manager, deferred } = this.context;
    if (options.crash !== undefined) crash(options.crash);
    this.faulted(thread);
    this.stopped.fault(page, write, thread);
    const objection = this.providers.objection(page, thread) ?? this.objection(page, write);
    if (objection === null) manager.fault(HOST, page, write, thread);
    else deferred.objection(page, write, thread, objection);
  }

  /** Of copies that another thread made. */
  transferred(token: number, status: Status): void {
    this.context.router.completed(token, status);
  }

  revoked(_token: number): void {}
  released(_token: number): void {}
  launched(): void {}
  died(): void {}
}

/**
 * Opens the host's node at the first of the addresses that is free, and adds it to the core.
 * @param faulted hears of each fault before the core does
 */
export function openHost(
  context: ManagerContext,
  providers: Providers,
  objection: Objection,
  stopped: StoppedThreads,
  faulted: (thread: number) => void,
  copies: CopyThread | null,
): HostDriver {
  const { options, manager, router } = context;
  const { bytes, bases, hostBudgetBytes, userModeOnly } = options;
  const events = new HostEvents(context, providers, objection, stopped, faulted);
  const budgetPages = Math.floor(hostBudgetBytes / PAGE_BYTES);
  const driver = openAtOne(
    bases,
    (base) => new HostDriver(base, bytes, budgetPages, userModeOnly, events, copies),
  );
  driver.node.inject(options.inject);
  if (!isOwner(manager.addDevice(driver.description, NO_NODE).processor))
    throw new Error('the host must come first');
  router.attach(HOST, HOST_NODE, driver);
  return driver;
}

function openAtOne<T>(bases: readonly number[], open: (base: number) => T): T {
  let problem: unknown = null;
  for (const base of bases) {
    try {
      return open(base);
    } catch (error) {
      problem = error;
      // Only an address that is taken is a reason to try the next one.
      if ((error as { code?: string }).code !== 'EEXIST') break;
    }
  }
  throw problem;
}
