/**
 * A device that exists in memory only: frames from a pool, no page faults, copies that take their
 * time. It is what a driver amounts to once mapping pages, moving bytes and calling kernels are
 * left to the parts that come with the library (../toolkit/).
 */

import { Access, type DeviceDescription, PAGE_BYTES, Status } from '../../core/basics/types.js';
import type { Driver, DriverContext, DriverEvents, DriverLaunch } from '../driver.js';
import { BufferFrames } from '../toolkit/frame-store.js';
import { LaunchQueue } from '../toolkit/launch-queue.js';
import type { PageTable } from '../toolkit/page-table.js';
import { GranuleTable } from './granule-table.js';
import { UnreliableCopies } from './unreliable-copies.js';

/** What it needs of a driver's context. */
export type SimulatedContext = Omit<DriverContext, 'units' | 'options'> & {
  readonly granularityBytes?: number | undefined;
};

export class SimulatedDevice implements Driver {
  readonly kind = 'simulated';
  readonly memory: number = 0;
  readonly description: DeviceDescription;
  readonly table: PageTable;
  readonly frames: BufferFrames;
  readonly copies: UnreliableCopies;
  readonly transferIn: UnreliableCopies['transferIn'];
  readonly transferOut: UnreliableCopies['transferOut'];
  private readonly launches: LaunchQueue;
  private readonly events: DriverEvents;

  constructor(context: SimulatedContext, pageBytes: number = PAGE_BYTES) {
    const { name, budgetPages, granularityBytes = PAGE_BYTES } = context;
    const none = { faults: false, addressable: false, memorySurvives: false, units: 0 };
    this.description = { name, budgetPages, frames: 'pooled', granularityBytes, ...none };
    this.table = new GranuleTable(granularityBytes);
    this.events = context.events;
    this.frames = new BufferFrames(budgetPages, pageBytes);
    const parts = { ...context, table: this.table, frames: this.frames, pageBytes };
    this.launches = new LaunchQueue(parts);
    this.copies = new UnreliableCopies(parts);
    this.transferIn = this.copies.transferIn.bind(this.copies);
    this.transferOut = this.copies.transferOut.bind(this.copies);
  }

  map(page: number, count: number, access: Access, _previous: Access, frame: number): void {
    this.table.map(page, count, frame, access);
  }

  revoke(_token: number, page: number, count: number, to: Access): Status {
    this.table.restrict(page, count, to);
    return Status.Done;
  }

  release(_token: number, page: number, count: number, _frame?: number): Status {
    this.table.restrict(page, count, Access.None);
    return Status.Done;
  }

  /** No thread of the device waits: its accesses do not fault. */
  wake(): void {}

  launch(launch: DriverLaunch): void {
    this.launches.add(launch);
  }

  /** Copies come first: a launch that was asked for has its pages already. */
  progress(): boolean {
    return this.copies.progress() || this.launches.progress();
  }

  /** The device falls off the bus, with its memory. */
  lose(reason: string): void {
    this.frames.bytes.fill(0xdb);
    this.copies.lose();
    this.launches.lose(reason);
    this.events.died(reason);
  }

  close(): void {
    this.launches.close();
  }
}
