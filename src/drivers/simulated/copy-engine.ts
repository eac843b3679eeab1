/**
 * The copy operations of the simulated device: an engine that carries out queued copies one by one, and the gathering of a
 * launch's arrays through the page table.
 */
import { Access, Status } from '../../core/types.js';
import type { ByteAccess, ElementType, LaunchFailure, LaunchParameter } from '../driver.js';
import type { Mmu } from './mmu.js';

/** What goes wrong on demand, so that tests can see what becomes of it. Counters count down. */
export interface Mishaps {
  /** Pieces with more pages than this find no memory, unless they have it already. */
  refuseLargerThan: number;
  /** So many of the next pieces that need memory find none. */
  refusals: number;
  /** So many of the next copies fail after they were begun. */
  failures: number;
}

interface Copy {
  token: number;
  /** Where it comes from or goes to in the manager's memory; 0: zeros come in. */
  address: number;
  out: boolean;
  page: number;
  count: number;
  frame: number;
  access: Access;
}

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;
export type ElementArray = InstanceType<(typeof constructors)[ElementType]>;

/** What a kernel is called with: whole arrays and scalars by their names. */
export type KernelArguments = Record<string, ElementArray | number | bigint>;

type KernelRange = { begin: number; end: number; size: number; unit: number; units: number };
export type KernelFunction = (args: KernelArguments, range: KernelRange) => void;

const constructors = {
  i8: Int8Array,
  u8: Uint8Array,
  u8c: Uint8ClampedArray,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
  bytes: Uint8Array,
} as const;

export class CopyEngine {
  readonly mishaps: Mishaps = { refuseLargerThan: Number.POSITIVE_INFINITY, refusals: 0, failures: 0 };
  /** Its memory, frame by frame. */
  readonly frames: Uint8Array;
  private readonly queue: Copy[] = [];
  private lost = false;

  constructor(
    private readonly mmu: Mmu,
    private readonly bytes: ByteAccess,
    frameCount: number,
    private readonly pageBytes: number,
    private readonly done: (token: number, status: Status) => void,
  ) {
    this.frames = new Uint8Array(frameCount * pageBytes);
  }

  transferIn(
    token: number,
    address: number,
    page: number,
    count: number,
    frame: number,
    access: Access,
    backed: boolean,
  ): Status {
    const { mishaps } = this;
    if (!this.lost && !backed && (count > mishaps.refuseLargerThan || mishaps.refusals > 0)) {
      if (count <= mishaps.refuseLargerThan) mishaps.refusals--;
      return Status.NoMemory;
    }
    return this.enqueue({ token, address, out: false, page, count, frame, access });
  }

  transferOut(token: number, frame: number, count: number, address: number): Status {
    return this.enqueue({ token, address, out: true, page: 0, count, frame, access: Access.None });
  }

  /** Carries out the oldest copy. False when there is none. */
  progress(): boolean {
    const copy = this.queue.shift();
    if (copy === undefined) return false;
    const start = copy.frame * this.pageBytes;
    const frames = this.frames.subarray(start, start + copy.count * this.pageBytes);
    if (this.mishaps.failures > 0) {
      this.mishaps.failures--;
      this.done(copy.token, Status.Failed);
      return true;
    }
    if (copy.out) this.bytes.write(copy.address, frames);
    else if (copy.address === 0) frames.fill(0);
    else this.bytes.read(copy.address, frames);
    if (copy.access !== Access.None) this.mmu.map(copy.page, copy.count, copy.frame, copy.access);
    this.done(copy.token, Status.Done);
    return true;
  }

  /** The memory is gone: whatever is queued, and whatever will be asked for, is lost. */
  lose(): void {
    this.lost = true;
    this.frames.fill(0xdb);
    for (const copy of this.queue.splice(0)) this.done(copy.token, Status.Lost);
  }

  /** Gathers what the parameters name, calls the kernel with it, and puts what it may have written back. */
  around(parameters: readonly LaunchParameter[], kernel: (args: KernelArguments) => void): LaunchFailure | null {
    const args: KernelArguments = {};
    const written: [ArrayParameter, ElementArray][] = [];
    for (const parameter of parameters) {
      const value = parameter.kind === 'scalar' ? parameter.value : this.gather(parameter);
      if (parameter.kind === 'array') {
        if (typeof value !== 'object') {
          const message = `${parameter.name}: the device has no right to use page ${value} as '${parameter.use}'`;
          return { code: 'ACCESS_DENIED', message };
        }
        if (parameter.use !== 'in') written.push([parameter, value]);
      }
      args[parameter.name] = value;
    }
    kernel(args);
    for (const [parameter, array] of written) this.scatter(parameter, array);
    return null;
  }

  /** The whole array of a parameter, or the page that the device has no right to. */
  private gather({ type, use, offset, length }: ArrayParameter): ElementArray | number {
    const array = new constructors[type](length);
    const denied = this.each(offset, array, use === 'in' ? Access.Read : Access.Write, (frames, bytes) =>
      bytes.set(frames),
    );
    return denied ?? array;
  }

  /** Puts the elements back where `gather` had them from. */
  private scatter({ offset }: ArrayParameter, array: ElementArray): void {
    this.each(offset, array, Access.Write, (frames, bytes) => frames.set(bytes));
  }

  /** Walks over the pages of an array in step with its frames; ends at a page without the right and returns it. */
  private each(
    offset: number,
    array: ElementArray,
    right: Access,
    piece: (frames: Uint8Array, bytes: Uint8Array) => void,
  ): number | undefined {
    const bytes = new Uint8Array(array.buffer);
    for (let at = 0; at < bytes.length; ) {
      const page = Math.floor((offset + at) / this.pageBytes);
      const inPage = (offset + at) % this.pageBytes;
      if (this.mmu.access(page) < right) return page;
      const count = Math.min(this.pageBytes - inPage, bytes.length - at);
      const start = this.mmu.frame(page) * this.pageBytes + inPage;
      piece(this.frames.subarray(start, start + count), bytes.subarray(at, at + count));
      at += count;
    }
    return undefined;
  }

  private enqueue(copy: Copy): Status {
    if (this.lost) return Status.Lost;
    this.queue.push(copy);
    return Status.Pending;
  }
}
