/** A device of a space, from its start to its last page, and what its driver reports. */

import type { Status } from '../../core/basics/types.js';
import type { MemoryManager } from '../../core/memory-manager.js';
import type { ThreadPlacement } from '../../cpus/placed-threads.js';
import type { CheckedDriver } from '../../drivers/checked-driver.js';
import type { Driver, LaunchFailure } from '../../drivers/driver.js';
import type { ProcessDriver, ProcessEvents } from '../../drivers/process-driver.js';
import type { Router } from '../../drivers/router.js';
import type { DeviceInfo } from '../protocol/space.js';
import { type LaunchFigures, NO_LAUNCHES } from './figures.js';

export interface MadeDriver {
  readonly driver: Driver;
  /** The same driver, if it is that of a process. */
  readonly process: ProcessDriver | null;
  /** The same driver, if it is one that works in this thread. */
  readonly checked: CheckedDriver | null;
  /** It may do something in turns of the event loop. */
  readonly usesEventLoop?: true;
}

export class Device {
  readonly driver: Driver;
  readonly process: ProcessDriver | null;
  readonly checked: CheckedDriver | null;
  /** The poller tells when the device's socket takes packets again. */
  wantsRoom = false;
  readonly figures: LaunchFigures = { ...NO_LAUNCHES };
  alive = true;
  /** It has died; what it has is on its way home. */
  lost = false;
  /** It did not start, or another one has taken its place: its last figures are no news. */
  forgotten = false;
  /** It was killed, and is gone as soon as that is seen. */
  ending = false;
  reason = 'it is gone';
  /** What requests fail by that come when it is not alive any more. */
  loss: 'DEVICE_LOST' | 'DEVICE_DETACHED' = 'DEVICE_LOST';
  /** Called when the last page has left a device that is being detached. */
  onDrained: (() => void) | null = null;

  constructor(
    readonly info: DeviceInfo,
    { driver, process, checked }: MadeDriver,
  ) {
    this.driver = driver;
    this.process = process;
    this.checked = checked;
  }

  /** Ends it as if it had fallen off its bus. */
  end(why = 'it was ended on purpose'): void {
    if (this.lost || this.ending) return;
    // Nothing begins on it any more, though its end is heard of a little later.
    this.ending = true;
    this.reason = why;
    this.process?.kill(why);
    this.checked?.lose(why);
  }
}

/** The keeper of devices, which hears what becomes of each and of its launches. */
export interface DeviceOwner {
  launched(device: Device, launch: number, failure: LaunchFailure | null, gpuMs?: number): void;
  died(device: Device, reason: string): void;
}

/** What a driver reports. Before its device has a number the manager asks nothing of it. */
export class DeviceEvents implements ProcessEvents {
  device: Device | null = null;
  /** Where threads of its process run; none where the manager knows no threads. */
  placements: readonly ThreadPlacement[] = [];

  constructor(
    private readonly manager: MemoryManager,
    private readonly router: Router,
    private readonly owner: DeviceOwner,
  ) {}

  fault(page: number, write: boolean, thread: number): void {
    if (this.device === null) return;
    for (const placement of this.placements) placement.before(thread);
    this.manager.fault(this.device.info.id, page, write, thread);
    // What plans may want is no work until they are asked, as after a touch of any other block.
    const moving = this.router.busy || this.manager.bringsAhead;
    for (const placement of this.placements) placement.after(moving);
  }

  transferred(token: number, status: Status): void {
    this.router.completed(token, status);
  }

  revoked(token: number): void {
    this.manager.revoked(token);
  }

  released(token: number): void {
    this.manager.released(token);
  }

  launched(launch: number, failure: LaunchFailure | null, gpuMs?: number): void {
    for (const placement of this.placements) placement.end();
    if (this.device !== null) this.owner.launched(this.device, launch, failure, gpuMs);
  }

  died(reason: string): void {
    for (const placement of this.placements) placement.end();
    if (this.device !== null) this.owner.died(this.device, reason);
  }
}
