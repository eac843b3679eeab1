/** How fast bytes go between the host and a device: by kind of host memory, and by direction. */
import {
  type AddressSpace,
  type Device,
  f64,
  type Kernel,
  kernel,
  type ManagedArray,
  u32,
} from '../../index.js';
import { CommandError } from '../terminal/failure.js';

export type HostMemory =
  /** A typed array of the program's own. */
  | 'pageable'
  /** A managed array that stays in host memory. */
  | 'pinned'
  /** A managed array that the device reaches in place. */
  | 'mapped'
  /** Words of the CPU in many pages, which go to the device together. */
  | 'write-combined'
  /** Pages of a managed array that move. */
  | 'managed';

export type Direction = 'host to device' | 'device to host' | 'device to device';

export interface MeasuredCopy {
  readonly memory: HostMemory | 'device';
  readonly direction: Direction;
  readonly bytes: number;
  /** Bytes a second; null: this device has no such way. */
  readonly bytesPerSecond: number | null;
  /** Why it has none. */
  readonly missing: string | null;
}

const WORD_BYTES = 4;
const PAGE_WORDS = 4096 / WORD_BYTES;

const sum = kernel({ data: u32.in, sum: f64.inout }, ({ data, sum }, { begin, end }) => {
  let own = 0;
  for (let i = begin; i < end; i++) own += data[i];
  sum[0] += own;
});
const fill = kernel({ data: u32.inout, value: u32 }, ({ data, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] = value;
});
/** The same for devices that run no functions. */
const fillWgsl = (): Kernel =>
  kernel(
    { data: u32.inout, value: u32 },
    {
      wgsl: `
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @group(0) @binding(1) var<uniform> value: u32;
        @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
          if (id.x < arrayLength(&data)) { data[id.x] = value; }
        }`,
    },
    { name: 'fill' },
  );

type Measure = () => Promise<number>;

export class MeasuredCopies {
  private value = 0;
  private readonly fill: Kernel;

  constructor(
    private readonly space: AddressSpace,
    private readonly device: Device,
    /** Of the same kind; null: there is none. */
    private readonly other: Device | null,
    private readonly bytes: number,
    /** The median of so many is told. */
    private readonly passes: number,
  ) {
    this.fill = device.capabilities.kernels === 'wgsl' ? fillWgsl() : fill;
  }

  async all(): Promise<MeasuredCopy[]> {
    const measured: MeasuredCopy[] = [];
    const copies = [
      () => this.pageable(),
      () => this.pinned(),
      () => this.mapped(),
      () => this.writeCombined(),
      () => this.managed(),
      () => this.betweenDevices(),
    ];
    for (const copy of copies) measured.push(...(await copy()));
    return measured;
  }

  private async pageable(): Promise<MeasuredCopy[]> {
    const own = new Uint32Array(this.bytes / WORD_BYTES);
    using array = this.array();
    return await this.both('pageable', own, array);
  }

  private async pinned(): Promise<MeasuredCopy[]> {
    using home = this.array();
    using array = this.array();
    home.data.fill(0);
    using _pin = await home.pin();
    return await this.both('pinned', home, array);
  }

  /** Copies there and back between an array of the host and one in the device. */
  private async both(
    memory: HostMemory,
    home: Uint32Array | ManagedArray<Uint32Array>,
    array: ManagedArray<Uint32Array>,
  ): Promise<MeasuredCopy[]> {
    const { device } = this;
    using stream = device.stream();
    const data = home instanceof Uint32Array ? home : home.data;
    return [
      await this.measured(memory, 'host to device', async () => {
        data.fill(++this.value);
        return await this.timed(() => stream.copy(array, home, { at: device }).synchronize());
      }),
      await this.measured(memory, 'device to host', async () => {
        await this.write(array);
        const elapsedMs = await this.timed(() => stream.copy(home, array).synchronize());
        this.check(data);
        return elapsedMs;
      }),
    ];
  }

  private async mapped(): Promise<MeasuredCopy[]> {
    const { device } = this;
    if (!device.capabilities.remoteAccess)
      return this.missing('mapped', 'kernels of this device do not use host memory in place');
    using data = this.array();
    data.data.fill(1);
    data.advise({ preferredLocation: 'host', accessedBy: [device] });
    const size = data.length;
    return [
      await this.measured('mapped', 'host to device', async () => {
        const found = new Float64Array(1);
        data.data.fill(++this.value);
        const elapsedMs = await this.timed(() => device.run(sum, { data, sum: found }, { size }));
        this.inPlace(data);
        if (found[0] !== this.value * size) throw wrong();
        return elapsedMs;
      }),
      await this.measured('mapped', 'device to host', async () => {
        const elapsedMs = await this.timed(() => this.write(data));
        this.inPlace(data);
        this.check(data.data);
        return elapsedMs;
      }),
    ];
  }

  private async writeCombined(): Promise<MeasuredCopy[]> {
    const { device } = this;
    if (!device.capabilities.writeCombining) {
      const why = 'each piece goes to this device by a copy of its own';
      return this.missing('write-combined', why, ['host to device']);
    }
    using data = this.array();
    using stream = device.stream();
    const measured = await this.measured('write-combined', 'host to device', async () => {
      await this.write(data);
      const value = ++this.value;
      for (let at = 0; at < data.length; at += PAGE_WORDS) data.data[at] = value;
      return await this.timed(() => stream.prefetch(data).synchronize());
    });
    return [measured];
  }

  private async managed(): Promise<MeasuredCopy[]> {
    const { device } = this;
    using data = this.array();
    using stream = device.stream();
    const move = (to: Device | 'host'): Promise<number> =>
      this.timed(async () => {
        const event = stream.prefetch(data, to);
        await event.synchronize();
        if (event.bytes !== data.byteLength) throw wrong();
      });
    return [
      await this.measured('managed', 'host to device', async () => {
        data.data.fill(++this.value);
        return await move(device);
      }),
      await this.measured('managed', 'device to host', async () => {
        await this.write(data);
        const elapsedMs = await move('host');
        this.check(data.data);
        return elapsedMs;
      }),
    ];
  }

  private async betweenDevices(): Promise<MeasuredCopy[]> {
    const { other } = this;
    if (other === null)
      return this.missing('device', 'there is one such device', ['device to device']);
    using from = this.array();
    using to = this.array();
    using stream = other.stream();
    const measured = await this.measured('device', 'device to device', async () => {
      await this.write(from);
      const elapsedMs = await this.timed(() => stream.copy(to, from, { at: other }).synchronize());
      this.check(to.data);
      return elapsedMs;
    });
    return [measured];
  }

  private async measured(
    memory: MeasuredCopy['memory'],
    direction: Direction,
    measure: Measure,
  ): Promise<MeasuredCopy> {
    // Memory that is new, and code that is not compiled yet, are no part of it.
    await measure();
    const times: number[] = [];
    for (let pass = 0; pass < this.passes; pass++) times.push(await measure());
    const { bytes } = this;
    return { memory, direction, bytes, bytesPerSecond: rateOf(bytes, times), missing: null };
  }

  private missing(
    memory: MeasuredCopy['memory'],
    missing: string,
    directions: readonly Direction[] = ['host to device', 'device to host'],
  ): MeasuredCopy[] {
    const none = { memory, bytes: this.bytes, bytesPerSecond: null, missing };
    return directions.map((direction) => ({ ...none, direction }));
  }

  /** By the device, so that no other memory has it. */
  private async write(data: ManagedArray<Uint32Array>): Promise<void> {
    const value = ++this.value;
    await this.device.run(this.fill, { data, value }, { size: data.length });
  }

  private async timed(work: () => Promise<unknown>): Promise<number> {
    const began = performance.now();
    await work();
    return performance.now() - began;
  }

  /** A new array, which is freed at the end of the block. */
  private array(): ManagedArray<Uint32Array> {
    return this.space.array(Uint32Array, this.bytes / WORD_BYTES);
  }

  private inPlace(array: ManagedArray<Uint32Array>): void {
    const [{ accessedBy }] = array.attributes().runs;
    if (accessedBy[this.device.name] === 'in place') return;
    const why = `${this.device.name} did not use the array in place`;
    throw new CommandError('WRONG_RESULT', why);
  }

  private check(data: Uint32Array): void {
    for (let at = 0; at < data.length; at += PAGE_WORDS) if (data[at] !== this.value) throw wrong();
  }
}

/** Bytes a second, by the median of times in milliseconds. */
export function rateOf(bytes: number, times: readonly number[]): number {
  return (bytes * 1000) / [...times].sort((a, b) => a - b)[times.length >> 1];
}

function wrong(): CommandError {
  return new CommandError('WRONG_RESULT', 'what arrived is not what was sent');
}
