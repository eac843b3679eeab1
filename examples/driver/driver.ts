/**
 * A device that keeps its memory compressed: where pages are alike, or empty, it takes far less of the machine than it seems to have. It
 * has no page faults, so that the manager hands it all pages of a launch before it begins.
 *
 * It is a whole driver: a page table, a queue of copies, and kernels that are called with what their pages hold.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  Access,
  bytesOf,
  type CreateDriver,
  type DeviceDescription,
  type Driver,
  type DriverContext,
  type DriverLaunch,
  kernelError,
  type LaunchFailure,
  type LaunchParameter,
  type NumericArray,
  PAGE_BYTES,
  refuseAsynchronous,
  Status,
  viewOf,
} from 'onemem/driver';

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;

/** Quick rather than small: whoever waits for a page waits for this. */
const LEVEL = { level: 1 };
const ZEROS = Buffer.alloc(PAGE_BYTES);

/** Pages that are packed or unpacked in a row: about half a millisecond, in which nobody's fault is served. */
const PAGES_AT_ONCE = 8;

/** Work that stops after every few pages, so that the manager can look for faults in between. */
type Work = Generator<void, void>;

class CompressedDevice implements Driver {
  readonly kind = 'compressed';
  readonly description: DeviceDescription;
  /** The manager cannot address this memory: it asks for copies. */
  readonly memory = 0;
  /** Frames that hold anything but zeros. */
  private readonly frames = new Map<number, Buffer>();
  private readonly table = new Map<number, { readonly frame: number; readonly access: Access }>();
  /** What is asked for and not done, the oldest first. */
  private copies: { readonly token: number; readonly work: Work }[] = [];
  private launches: { readonly id: number; readonly work: Work }[] = [];
  private pages = 0;

  constructor(private readonly context: DriverContext) {
    const { name, budgetPages } = context;
    const none = { faults: false, addressable: false, memorySurvives: false, units: 0 };
    this.description = { name, budgetPages, frames: 'pooled', ...none };
  }

  map(page: number, count: number, access: Access, _previous: Access, frame: number): void {
    for (let at = 0; at < count; at++) this.table.set(page + at, { frame: frame + at, access });
  }

  revoke(_token: number, page: number, count: number, to: Access): Status {
    for (let at = page; at < page + count; at++) {
      const mapped = this.table.get(at);
      if (mapped === undefined || mapped.access <= to) continue;
      if (to === Access.None) this.table.delete(at);
      else this.table.set(at, { frame: mapped.frame, access: to });
    }
    return Status.Done;
  }

  release(_token: number, page: number, count: number, frame: number): Status {
    for (let at = 0; at < count; at++) {
      this.table.delete(page + at);
      this.frames.delete(frame + at);
    }
    return Status.Done;
  }

  /** Nobody waits here: accesses do not fault. */
  wake(): void {}

  transferIn(
    token: number,
    address: number,
    page: number,
    count: number,
    frame: number,
    access: Access,
    backed: boolean,
  ): Status {
    const most = this.context.inject?.refuseLargerThanPages ?? Number.POSITIVE_INFINITY;
    if (!backed && count > most) return Status.NoMemory;
    this.copies.push({ token, work: this.copyIn(address, page, count, frame, access) });
    return Status.Pending;
  }

  transferOut(token: number, frame: number, count: number, address: number): Status {
    this.copies.push({ token, work: this.copyOut(frame, count, address) });
    return Status.Pending;
  }

  launch(launch: DriverLaunch): void {
    this.launches.push({ id: launch.id, work: this.run(launch) });
  }

  /** Goes on with the oldest copy, or else with the launch. */
  progress(): boolean {
    const [copy] = this.copies;
    const [launch] = this.launches;
    if (copy !== undefined) {
      if (copy.work.next().done === true) {
        this.copies.shift();
        this.context.events.transferred(copy.token, Status.Done);
      }
    } else if (launch !== undefined) {
      const failure = this.goOn(launch.work);
      if (failure !== undefined) {
        this.launches.shift();
        this.context.events.launched(launch.id, failure);
      }
    }
    return copy !== undefined || launch !== undefined;
  }

  lose(reason: string): void {
    for (const { token } of this.copies) this.context.events.transferred(token, Status.Lost);
    for (const { id } of this.launches) this.context.events.launched(id, { code: 'DEVICE_LOST', message: reason });
    this.close();
    this.context.events.died(reason);
  }

  close(): void {
    this.copies = [];
    this.launches = [];
    this.frames.clear();
  }

  private *copyIn(address: number, page: number, count: number, frame: number, access: Access): Work {
    const bytes = new Uint8Array(PAGE_BYTES);
    for (let at = 0; at < count; at++) {
      if (address !== 0) this.context.bytes.read(address + at * PAGE_BYTES, bytes);
      this.pack(frame + at, bytes);
      if (this.isTurnOver()) yield;
    }
    if (access !== Access.None) this.map(page, count, access, Access.None, frame);
  }

  private *copyOut(frame: number, count: number, address: number): Work {
    for (let at = 0; at < count; at++) {
      this.context.bytes.write(address + at * PAGE_BYTES, this.unpack(frame + at));
      if (this.isTurnOver()) yield;
    }
  }

  /** Unpacks what the parameters name, calls the kernel with it, and packs what it may have written. */
  private *run({ code, parameters, begin, end, size }: DriverLaunch): Work {
    const values: Record<string, NumericArray | number | bigint> = {};
    const written: [ArrayParameter, Uint8Array][] = [];
    for (const parameter of parameters) {
      if (parameter.kind === 'scalar') values[parameter.name] = parameter.value;
      else {
        const bytes = new Uint8Array(parameter.length * bytesOf(parameter.type));
        for (const { part, frame, start } of this.piecesOf(parameter, bytes)) {
          part.set(this.unpack(frame).subarray(start, start + part.length));
          if (this.isTurnOver()) yield;
        }
        values[parameter.name] = viewOf(parameter.type, bytes.buffer);
        if (parameter.use !== 'in') written.push([parameter, bytes]);
      }
    }
    // Nobody would wait for what it does later.
    refuseAsynchronous(this.context.loadKernel(code)(values, { begin, end, size, unit: 0, units: 1 }));
    for (const [parameter, bytes] of written) {
      for (const { part, frame, start } of this.piecesOf(parameter, bytes)) {
        const page = part.length === PAGE_BYTES ? part : this.unpack(frame);
        if (page !== part) page.set(part, start);
        this.pack(frame, page);
        if (this.isTurnOver()) yield;
      }
    }
  }

  /** Undefined until the launch has ended, then null or why it has failed. */
  private goOn(work: Work): LaunchFailure | null | undefined {
    try {
      return work.next().done === true ? null : undefined;
    } catch (thrown) {
      const { message, stack } = kernelError(thrown);
      return { code: 'KERNEL_ERROR', message, stack };
    }
  }

  private isTurnOver(): boolean {
    this.pages = (this.pages + 1) % PAGES_AT_ONCE;
    return this.pages === 0;
  }

  private pack(frame: number, page: Uint8Array): void {
    if (ZEROS.equals(page)) this.frames.delete(frame);
    else this.frames.set(frame, deflateRawSync(page, LEVEL));
  }

  private unpack(frame: number): Uint8Array {
    const packed = this.frames.get(frame);
    return packed === undefined ? new Uint8Array(PAGE_BYTES) : inflateRawSync(packed);
  }

  /** The parts of an array's bytes that lie in one page each: in which frame, and where in it they begin. */
  private *piecesOf(
    { name, offset, use }: ArrayParameter,
    bytes: Uint8Array,
  ): Generator<{ readonly part: Uint8Array; readonly frame: number; readonly start: number }> {
    const right = use === 'in' ? Access.Read : Access.Write;
    for (let at = 0; at < bytes.length; ) {
      const page = Math.floor((offset + at) / PAGE_BYTES);
      const start = (offset + at) % PAGE_BYTES;
      const end = Math.min(at + PAGE_BYTES - start, bytes.length);
      const mapped = this.table.get(page);
      if (mapped === undefined || mapped.access < right) throw new Error(`no right to page ${page} of ${name}`);
      yield { part: bytes.subarray(at, end), frame: mapped.frame, start };
      at = end;
    }
  }
}

export const create: CreateDriver = (context) => new CompressedDevice(context);
