/**
 * A device that exists in memory only: frames from a pool, no page faults, copies that take their time. It is what a driver
 * amounts to once mapping pages (mmu.ts) and moving bytes (copy-engine.ts) are set aside.
 */

import { kernelError, refuseAsynchronous } from '../../core/kernel-error.js';
import { type Access, type DeviceDescription, PAGE_BYTES, Status } from '../../core/types.js';
import type { ByteAccess, Driver, DriverEvents, DriverLaunch, KernelCode, LaunchFailure } from '../driver.js';
import { CopyEngine, type KernelFunction } from './copy-engine.js';
import { Mmu } from './mmu.js';

export class SimulatedDevice implements Driver {
  readonly kind = 'simulated';
  readonly memory = 0;
  readonly description: DeviceDescription;
  readonly mmu = new Mmu();
  readonly copies: CopyEngine;
  readonly transferIn: CopyEngine['transferIn'];
  readonly transferOut: CopyEngine['transferOut'];
  private readonly launches: DriverLaunch[] = [];

  constructor(
    name: string,
    budgetPages: number,
    bytes: ByteAccess,
    private readonly loadKernel: (code: KernelCode) => KernelFunction,
    private readonly events: DriverEvents,
    pageBytes: number = PAGE_BYTES,
  ) {
    const none = { faults: false, addressable: false, memorySurvives: false, units: 0 };
    this.description = { name, budgetPages, frames: 'pooled', ...none };
    this.copies = new CopyEngine(this.mmu, bytes, budgetPages, pageBytes, (token, status) =>
      events.transferred(token, status),
    );
    this.transferIn = this.copies.transferIn.bind(this.copies);
    this.transferOut = this.copies.transferOut.bind(this.copies);
  }

  map(page: number, count: number, access: Access, _previous: Access, frame: number): void {
    this.mmu.map(page, count, frame, access);
  }

  revoke(_token: number, page: number, count: number, to: Access): Status {
    this.mmu.restrict(page, count, to);
    return Status.Done;
  }

  release(_token: number, page: number, count: number, _frame?: number): Status {
    this.mmu.map(page, count, 0, 0);
    return Status.Done;
  }

  /** Nobody waits here: accesses do not fault. */
  wake(): void {}

  launch(launch: DriverLaunch): void {
    this.launches.push(launch);
  }

  /** Copies come first: a launch that was asked for has its pages already. */
  progress(): boolean {
    if (this.copies.progress()) return true;
    const launch = this.launches.shift();
    if (launch !== undefined) this.events.launched(launch.id, this.run(launch));
    return launch !== undefined;
  }

  /** The device falls off the bus, with its memory. */
  lose(reason: string): void {
    this.copies.lose();
    for (const { id } of this.launches.splice(0)) this.events.launched(id, { code: 'DEVICE_LOST', message: reason });
    this.events.died(reason);
  }

  close(): void {
    this.launches.length = 0;
  }

  private run({ code, parameters, begin, end, size }: DriverLaunch): LaunchFailure | null {
    try {
      return this.copies.around(parameters, (args) => {
        refuseAsynchronous(this.loadKernel(code)(args, { begin, end, size, unit: 0, units: 1 }));
      });
    } catch (thrown) {
      return { code: 'KERNEL_ERROR', ...kernelError(thrown) };
    }
  }
}
