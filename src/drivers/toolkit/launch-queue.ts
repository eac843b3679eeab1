/** Launches without page faults: kernels get copies of what their pages hold. */
import { bytesOf, viewOf } from '../../core/basics/elements.js';
import { Access, PAGE_BYTES } from '../../core/basics/types.js';
import { kernelError, refuseAsynchronous } from '../../messages/kernel-error.js';
import type { DriverLaunch, KernelCallValues, LaunchFailure, LaunchParameter } from '../driver.js';
import { type DriverParts, pagesAtOnceOf } from './parts.js';

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;

/** The part of an array in one page: its bytes, their frame, and where in it they begin. */
interface Piece {
  readonly part: Uint8Array;
  readonly frame: number;
  readonly start: number;
}

/** A launch under way: stops after `pagesAtOnce` pages for a look at the faults. */
type Work = Generator<void, void>;

/** A launch fails, and the device goes on. */
class LaunchError extends Error {
  constructor(readonly failure: LaunchFailure) {
    super(failure.message);
  }
}

/**
 * The launches of a device without page faults, the oldest first. Each reads its arrays through the
 * page table, calls the kernel once in the manager's thread, writes `out` and `inout` arrays back,
 * and reports `launched`: with KERNEL_ERROR for a kernel that threw, with ACCESS_DENIED for a page
 * without the right. The guide of drivers has a whole driver that uses it.
 */
export class LaunchQueue {
  private readonly queue: { readonly id: number; readonly work: Work }[] = [];
  private readonly pageBytes: number;
  private readonly pagesAtOnce: number;
  private pages = 0;

  constructor(private readonly parts: DriverParts) {
    this.pageBytes = parts.pageBytes ?? PAGE_BYTES;
    this.pagesAtOnce = pagesAtOnceOf(parts);
  }

  /** As `Driver.launch`. Nothing happens before `progress()`. */
  add(launch: DriverLaunch): void {
    this.queue.push({ id: launch.id, work: this.run(launch) });
  }

  /**
   * Goes on with the oldest launch, by `pagesAtOnce` pages or the kernel. False when there is none.
   */
  progress(): boolean {
    const launch = this.queue.at(0);
    if (launch === undefined) return false;
    const end = this.goOn(launch.work);
    if (end === undefined) return true;
    this.queue.shift();
    this.parts.events.launched(launch.id, end);
    return true;
  }

  /** Ends every launch with DEVICE_LOST. For `Driver.lose`, before `died`. */
  lose(reason: string): void {
    for (const { id } of this.queue.splice(0)) {
      this.parts.events.launched(id, { code: 'DEVICE_LOST', message: reason });
    }
  }

  /** Forgets all launches, without a report. For `Driver.close`. */
  close(): void {
    this.queue.length = 0;
  }

  /** Undefined until the launch has ended, then null or why it has failed. */
  private goOn(work: Work): LaunchFailure | null | undefined {
    try {
      return work.next().done === true ? null : undefined;
    } catch (thrown) {
      if (thrown instanceof LaunchError) return thrown.failure;
      // The store's: a launch that ended in the middle must not count as done, should the driver be
      // called again.
      this.queue.shift();
      throw thrown;
    }
  }

  private *run(launch: DriverLaunch): Work {
    const { frames } = this.parts;
    const values: KernelCallValues = {};
    const written: [ArrayParameter, Uint8Array][] = [];
    for (const parameter of launch.parameters) {
      if (parameter.kind === 'scalar' || parameter.kind === 'value') {
        values[parameter.name] = parameter.value;
        continue;
      }
      if (parameter.kind === 'bytes')
        throw new Error(`parameter ${parameter.name} is for modules in WGSL`);
      const bytes = allocate(parameter);
      for (const { part, frame, start } of this.piecesOf(parameter, bytes)) {
        part.set(frames.read(frame).subarray(start, start + part.length));
        if (this.isTurnOver()) yield;
      }
      values[parameter.name] = viewOf(parameter.type, bytes.buffer);
      if (parameter.use !== 'in') written.push([parameter, bytes]);
    }
    this.call(launch, values);
    for (const [parameter, bytes] of written) {
      for (const { part, frame, start } of this.piecesOf(parameter, bytes)) {
        const page = part.length === this.pageBytes ? part : frames.read(frame);
        if (page !== part) page.set(part, start);
        frames.write(frame, page);
        if (this.isTurnOver()) yield;
      }
    }
  }

  private call({ code, begin, end, size }: DriverLaunch, values: KernelCallValues): void {
    try {
      // What an asynchronous kernel does later would not be waited for.
      refuseAsynchronous(
        this.parts.loadKernel(code)(values, { begin, end, size, unit: 0, units: 1 }),
      );
    } catch (thrown) {
      throw new LaunchError({ code: 'KERNEL_ERROR', ...kernelError(thrown) });
    }
  }

  private *piecesOf({ name, offset, use }: ArrayParameter, bytes: Uint8Array): Generator<Piece> {
    const { table } = this.parts;
    const right = use === 'in' ? Access.Read : Access.Write;
    for (let at = 0; at < bytes.length; ) {
      const page = Math.floor((offset + at) / this.pageBytes);
      if (table.access(page) < right) {
        const message = `${name}: the device has no right to use page ${page} as '${use}'`;
        throw new LaunchError({ code: 'ACCESS_DENIED', message });
      }
      const start = (offset + at) % this.pageBytes;
      const end = Math.min(at + this.pageBytes - start, bytes.length);
      yield { part: bytes.subarray(at, end), frame: table.frame(page), start };
      at = end;
    }
  }

  private isTurnOver(): boolean {
    this.pages = (this.pages + 1) % this.pagesAtOnce;
    return this.pages === 0;
  }
}

/** Memory for a whole array. Where there is none the launch fails, not the device. */
function allocate({ type, length }: ArrayParameter): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length * bytesOf(type));
  } catch (thrown) {
    throw new LaunchError({ code: 'KERNEL_ERROR', ...kernelError(thrown) });
  }
}
