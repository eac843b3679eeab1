/**
 * A driver with mistakes as authors of drivers make them, so that a suite which finds nothing can
 * be told from one that looks at nothing. It wraps the simulated device, which is sound.
 */
import { spawn } from 'node:child_process';
import {
  type Access,
  type ByteAccess,
  type CreateDriver,
  type DeviceDescription,
  type Driver,
  type DriverContext,
  type DriverEvents,
  type DriverLaunch,
  Status,
  type TransferOrder,
} from '../drivers/index.js';
import { SimulatedDevice } from '../drivers/simulated/simulated-device.js';
import type { DriverFault } from './faults.js';

/** A page that was never written should not look like this. */
const RUBBISH = 0xdb;
/** The pieces in which most memory moves; a mistake with shorter ones is easily overlooked. */
const WHOLE_PIECE_PAGES = 64;
/** Work items that a device runs together. */
const WORK_GROUP = 1024;
const CACHE_LINE = 64;

class BrokenDevice implements Driver {
  readonly kind = 'broken';
  readonly memory = 0;
  readonly description: DeviceDescription;
  private readonly inner: SimulatedDevice;
  /** What has been answered and not been done. */
  private readonly late: (() => void)[] = [];
  private readonly endedLaunches = new Set<number>();
  private calls = 0;

  constructor(
    private readonly context: DriverContext,
    private readonly faults: ReadonlySet<DriverFault>,
  ) {
    const mistaken = { bytes: this.bytes(), loadKernel: this.kernels(), events: this.events() };
    this.inner = new SimulatedDevice({ ...context, ...mistaken });
    this.description = this.inner.description;
    if (faults.has('leaves memory as it was')) this.inner.frames.bytes.fill(RUBBISH);
    // The driver does not wait for it. It ends by itself, so that a test run leaves nothing behind
    // for long.
    if (faults.has('keeps a process')) spawn('sleep', ['10'], { stdio: 'ignore' });
    this.breakTable();
  }

  map(page: number, count: number, access: Access, previous: Access, frame: number): void {
    this.inner.map(page, count, access, previous, frame);
  }

  revoke(token: number, page: number, count: number, to: Access): Status {
    if (this.faults.has('never answers a revocation')) return Status.Pending;
    return this.inner.revoke(token, page, count, to);
  }

  release(token: number, page: number, count: number): Status {
    if (this.faults.has('throws where memory is given back'))
      throw new Error(`no such frame of page ${page}`);
    return this.inner.release(token, page, count);
  }

  wake(): void {}

  transferIn(order: TransferOrder): Status {
    const { address, page, count, frame, access } = order;
    if (address === 0 && this.faults.has('leaves memory as it was')) {
      this.inner.map(page, count, access, 0, frame);
      return Status.Done;
    }
    if (this.faults.has('maps before the copy ends')) {
      this.inner.map(page, count, access, 0, frame);
      this.late.push(() => this.copyIn(address, count, frame));
      return Status.Done;
    }
    const status = this.inner.transferIn(order);
    return status === Status.NoMemory && this.faults.has('says Done on failure')
      ? Status.Done
      : status;
  }

  transferOut(order: TransferOrder): Status {
    return this.inner.transferOut(order);
  }

  launch(launch: DriverLaunch): void {
    if (!this.faults.has('ends launches before they run')) {
      this.inner.launch(launch);
      return;
    }
    this.endedLaunches.add(launch.id);
    this.context.events.launched(launch.id, null);
    this.late.push(() => this.inner.launch(launch));
  }

  progress(): boolean {
    return this.inner.progress();
  }

  lose(reason: string): void {
    this.inner.lose(reason);
  }

  close(): void {
    this.late.length = 0;
    this.inner.close();
  }

  /** Does what it has been too late with, once the suite has seen that. */
  private catchUp(): void {
    for (const action of this.late.splice(0)) action();
  }

  private copyIn(address: number, count: number, frame: number): void {
    const frames = this.inner.frames.span(frame, count);
    if (address === 0) frames.fill(0);
    else this.context.bytes.read(address, frames);
  }

  private every(count: number): boolean {
    return ++this.calls % count === 0;
  }

  private bytes(): ByteAccess {
    const { bytes } = this.context;
    return {
      read: (address, target) => bytes.read(address, target),
      write: (address, source) => {
        if (this.faults.has('loses write-backs') && this.every(3)) return;
        const short = this.faults.has('forgets the last bytes of a copy') ? CACHE_LINE : 0;
        bytes.write(address, source.subarray(0, source.length - short));
      },
    };
  }

  private kernels(): DriverContext['loadKernel'] {
    return (code) => {
      const kernel = this.context.loadKernel(code);
      if (!this.faults.has('rounds launches up')) return kernel;
      return (values, { begin, end, size, ...units }) => {
        const first = Math.floor(begin / WORK_GROUP) * WORK_GROUP;
        const last = Math.min(Math.ceil(end / WORK_GROUP) * WORK_GROUP, size);
        return kernel(values, { begin: first, end: last, size, ...units });
      };
    };
  }

  private events(): DriverEvents {
    const { events } = this.context;
    return {
      fault: (...fault) => events.fault(...fault),
      transferred: (token, status) => {
        if (this.faults.has('never answers a copy') && this.every(5)) return;
        events.transferred(token, status);
        // The host has what was there before the launch.
        if (this.faults.has('ends launches before they run')) this.catchUp();
        if (this.faults.has('answers twice')) events.transferred(token, status);
      },
      revoked: (token) => events.revoked(token),
      released: (token) => events.released(token),
      launched: (id, failure) => {
        if (!this.endedLaunches.delete(id)) events.launched(id, failure);
        // The kernel has run over what was there before the copies.
        if (this.faults.has('maps before the copy ends')) this.catchUp();
      },
      died: (reason) => events.died(reason),
    };
  }

  private breakTable(): void {
    const { table } = this.inner;
    const map = table.map.bind(table);
    const firstFrames = new Map<number, number>();
    table.map = (page, count, frame, access) => {
      if (access === 0) map(page, count, frame, access);
      else if (this.faults.has('keeps old translations')) {
        for (let at = 0; at < count; at++) {
          const first = firstFrames.get(page + at) ?? frame + at;
          firstFrames.set(page + at, first);
          map(page + at, 1, first, access);
        }
      } else {
        const wrong = this.faults.has('maps the wrong frame') && count < WHOLE_PIECE_PAGES;
        map(page, count, wrong ? frame + 1 : frame, access);
      }
    };
  }
}

export const create: CreateDriver = (context) => {
  const { faults } = context.options as { readonly faults: readonly DriverFault[] };
  return new BrokenDevice(context, new Set(faults));
};
