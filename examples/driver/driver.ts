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
  type Driver,
  type DriverContext,
  type DriverLaunch,
  type LaunchFailure,
  type LaunchParameter,
  type NumericArray,
  PAGE_BYTES,
  type ProcessorDescription,
  Status,
  viewOf,
} from 'onemem/driver';

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;

/** Quick rather than small: whoever waits for a page waits for this. */
const LEVEL = { level: 1 };

class CompressedDevice implements Driver {
  readonly kind = 'compressed';
  readonly description: ProcessorDescription;
  /** The manager cannot address this memory: it asks for copies. */
  readonly memory = 0;
  /** Frames that hold anything but zeros. */
  private readonly frames = new Map<number, Buffer>();
  private readonly table = new Map<number, { readonly frame: number; readonly access: Access }>();
  /** What is asked for and not done, the oldest first. */
  private work: { readonly token: number; readonly copy: () => void }[] = [];
  private launches: DriverLaunch[] = [];

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

  release(page: number, count: number, frame: number): void {
    for (let at = 0; at < count; at++) {
      this.table.delete(page + at);
      this.frames.delete(frame + at);
    }
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
    return this.later(token, () => {
      const bytes = new Uint8Array(count * PAGE_BYTES);
      if (address !== 0) this.context.bytes.read(address, bytes);
      for (let at = 0; at < count; at++) this.pack(frame + at, bytes.subarray(at * PAGE_BYTES, (at + 1) * PAGE_BYTES));
      if (access !== Access.None) this.map(page, count, access, Access.None, frame);
    });
  }

  transferOut(token: number, frame: number, count: number, address: number): Status {
    return this.later(token, () => {
      for (let at = 0; at < count; at++) this.context.bytes.write(address + at * PAGE_BYTES, this.unpack(frame + at));
    });
  }

  launch(launch: DriverLaunch): void {
    this.launches.push(launch);
  }

  /** One copy, or one launch, so that the manager can look for faults in between. */
  progress(): boolean {
    const next = this.work.shift();
    if (next !== undefined) {
      next.copy();
      this.context.events.transferred(next.token, Status.Done);
      return true;
    }
    const launch = this.launches.shift();
    if (launch !== undefined) this.context.events.launched(launch.id, this.run(launch));
    return launch !== undefined;
  }

  lose(reason: string): void {
    for (const { token } of this.work) this.context.events.transferred(token, Status.Lost);
    for (const { id } of this.launches) this.context.events.launched(id, { code: 'DEVICE_LOST', message: reason });
    this.close();
    this.context.events.died(reason);
  }

  close(): void {
    this.work = [];
    this.launches = [];
    this.frames.clear();
  }

  private later(token: number, copy: () => void): Status {
    this.work.push({ token, copy });
    return Status.Pending;
  }

  private pack(frame: number, page: Uint8Array): void {
    if (page.every((byte) => byte === 0)) this.frames.delete(frame);
    else this.frames.set(frame, deflateRawSync(page, LEVEL));
  }

  private unpack(frame: number): Uint8Array {
    const packed = this.frames.get(frame);
    return packed === undefined ? new Uint8Array(PAGE_BYTES) : inflateRawSync(packed);
  }

  private run({ code, parameters, begin, end, size }: DriverLaunch): LaunchFailure | null {
    const values: Record<string, NumericArray | number | bigint> = {};
    const written: [ArrayParameter, Uint8Array<ArrayBuffer>][] = [];
    try {
      for (const parameter of parameters) {
        if (parameter.kind === 'scalar') values[parameter.name] = parameter.value;
        else {
          const bytes = this.gather(parameter);
          values[parameter.name] = viewOf(parameter.type, bytes.buffer);
          if (parameter.use !== 'in') written.push([parameter, bytes]);
        }
      }
      this.context.loadKernel(code)(values, { begin, end, size, unit: 0, units: 1 });
      for (const [parameter, bytes] of written) this.scatter(parameter, bytes);
      return null;
    } catch (thrown) {
      const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown));
      return { code: 'KERNEL_ERROR', message, stack };
    }
  }

  private gather(parameter: ArrayParameter): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(parameter.length * bytesOf(parameter.type));
    const right = parameter.use === 'in' ? Access.Read : Access.Write;
    this.eachPage(parameter, bytes, right, (page, part, start) => {
      part.set(page.subarray(start, start + part.length));
    });
    return bytes;
  }

  private scatter(parameter: ArrayParameter, bytes: Uint8Array): void {
    this.eachPage(parameter, bytes, Access.Write, (page, part, start, frame) => {
      page.set(part, start);
      this.pack(frame, page);
    });
  }

  /** Calls `piece` with each page of an array, the part of the array's bytes that lies there, and where in the page it begins. */
  private eachPage(
    { name, offset }: ArrayParameter,
    bytes: Uint8Array,
    right: Access,
    piece: (page: Uint8Array, part: Uint8Array, start: number, frame: number) => void,
  ): void {
    for (let at = 0; at < bytes.length; ) {
      const page = Math.floor((offset + at) / PAGE_BYTES);
      const start = (offset + at) % PAGE_BYTES;
      const end = Math.min(at + PAGE_BYTES - start, bytes.length);
      const mapped = this.table.get(page);
      if (mapped === undefined || mapped.access < right) throw new Error(`no right to page ${page} of ${name}`);
      piece(this.unpack(mapped.frame), bytes.subarray(at, end), start, mapped.frame);
      at = end;
    }
  }
}

export const create: CreateDriver = (context) => new CompressedDevice(context);
