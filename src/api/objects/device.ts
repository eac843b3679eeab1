/** Devices of a space. */

import { PAGE_BYTES } from '../../core/basics/types.js';
import { nodeOfDevice } from '../../linux/memory/numa.js';
import type { DeviceInfo, ProcessorStats } from '../../pager/protocol/space.js';
import { type DeviceDescription, printAs } from '../arrays/parts/description.js';
import type { Kernel, KernelParameters } from '../kernels/kernel.js';
import { LaunchCall } from '../launches/launch-call.js';
import { estimateOf } from '../launches/launch-estimate.js';
import {
  type LaunchOptions,
  STREAM_OPTIONS,
  type StreamOptions,
} from '../launches/launch-options.js';
import { Staging } from '../launches/staging.js';
import { StreamOrder } from '../launches/stream-order.js';
import { checkSignal, checkTimeout } from '../line/cancellation.js';
import { noteDevice, type SpaceInternals } from '../line/internals.js';
import type * as api from '../public.js';
import type {
  DeviceCapabilities,
  DeviceMemory,
  LaunchArguments,
  LaunchEstimate,
} from '../public.js';
import { checkOptions } from '../values/arguments.js';
import { DISPOSE } from '../values/disposal.js';
import { OnememError } from '../values/errors.js';
import { Stream } from './stream.js';

interface Home extends SpaceInternals {
  /** The device has been started again. */
  takeDevice(info: DeviceInfo, instead: number): unknown;
}

export class Device implements api.Device {
  private detaching: Promise<void> | null = null;
  private restarting: Promise<void> | null = null;

  constructor(
    readonly space: api.AddressSpace & Home,
    private info: DeviceInfo,
  ) {
    noteDevice(this);
  }

  get name(): string {
    return this.info.name;
  }

  get kind(): string {
    return this.info.kind;
  }

  get memory(): number {
    return this.info.memoryBytes;
  }

  get units(): number {
    return this.info.units;
  }

  get pageFaults(): boolean {
    return this.info.pageFaults;
  }

  get pid(): number | null {
    return this.info.pid;
  }

  get numaNode(): number | null {
    return nodeOfDevice(this.pid);
  }

  get capabilities(): DeviceCapabilities {
    const { pageFaults, atomics, remoteAccess, writeCombining, ...info } = this.info;
    const { cancellation, kernels, lossy, units, directCopies, registeredInPlace } = info;
    const { granularityBytes } = info;
    const moves = { remoteAccess, writeCombining, directCopies, registeredInPlace };
    const can = { pageFaults, atomics, ...moves, cancellation, kernels };
    const pageBytes = PAGE_BYTES;
    return { ...can, pageBytes, granularityBytes, memorySurvives: !lossy, units };
  }

  memoryInfo(): DeviceMemory {
    this.assertUsable();
    const { budgetBytes, backedBytes, alive } = this.stats();
    if (!alive) throw this.lossError();
    return { totalBytes: budgetBytes, freeBytes: budgetBytes - backedBytes };
  }

  /** What became of it; another thread or process may have detached it. */
  private lossError(): OnememError {
    const infos = this.space.client.call('devices', null);
    const loss = infos.find(({ number }) => number === this.number)?.loss ?? 'DEVICE_LOST';
    const what = loss === 'DEVICE_DETACHED' ? 'has been detached' : 'is gone';
    return new OnememError(loss, `device ${this.info.name} ${what}, and its memory with it`);
  }

  get sameAddresses(): boolean {
    return this.info.sameAddresses;
  }

  /** Whether it has not been detached. */
  get isUsable(): boolean {
    return this.detaching === null;
  }

  get isAlive(): boolean {
    return this.stats().alive;
  }

  /** Another one each time that it is started. */
  get number(): number {
    return this.info.number;
  }

  /** It has been started again: whatever is asked from now on is asked of the new one. */
  renew(info: DeviceInfo): void {
    this.info = info;
    this.detaching = null;
  }

  get id(): number {
    return this.info.id;
  }

  get node(): number {
    return this.info.node;
  }

  stream(options: StreamOptions = {}): Stream {
    this.assertUsable();
    checkOptions('stream()', options, STREAM_OPTIONS);
    checkSignal(options.signal);
    checkTimeout(options.timeoutMs, this);
    return new Stream(this.space, this, options.signal ?? null, options.timeoutMs ?? null);
  }

  async run<P extends KernelParameters>(
    kernel: Kernel<P>,
    args: LaunchArguments<P>,
    options: LaunchOptions,
  ): Promise<void> {
    this.assertUsable();
    const stream = new Stream(this.space, this, null, null, true);
    try {
      await stream.launch(kernel, args, options).synchronize();
    } finally {
      stream[DISPOSE]();
    }
  }

  async estimate<P extends KernelParameters>(
    kernel: Kernel<P>,
    args: LaunchArguments<P>,
    options: LaunchOptions,
  ): Promise<LaunchEstimate> {
    this.assertUsable();
    const call = LaunchCall.read(this.space, this, kernel as Kernel, args, options);
    if (!call.runs) return estimateOf(null);
    const what = `the estimate of kernel ${kernel.name}`;
    const staging = new Staging(this.space, what, new StreamOrder(), null, false);
    const request = call.request(staging, options.timeoutMs ?? null);
    try {
      return estimateOf(await this.space.client.request('estimate', request));
    } finally {
      staging.free();
    }
  }

  async detach(): Promise<void> {
    this.detaching ??= this.space.client
      .request('detach', { device: this.info.number })
      .then(() => undefined);
    await this.detaching;
  }

  async restart(): Promise<void> {
    this.space.client.assertOpen(`device ${this.info.name}`);
    const { number } = this.info;
    this.restarting ??= this.space.client
      .request('restart', { device: number })
      .then((info) => void this.space.takeDevice(info, number))
      .finally(() => {
        this.restarting = null;
      });
    await this.restarting;
  }

  kill(): void {
    this.space.client.call('kill', { device: this.info.number });
  }

  stats(): ProcessorStats {
    const found = this.space.stats().processors.find((each) => each.name === this.info.name);
    if (found === undefined)
      throw new OnememError('DEVICE_LOST', `device ${this.info.name} is gone`);
    return found;
  }

  toJSON(): DeviceDescription {
    const { name, kind, memory, units } = this;
    return { name, kind, memory, units };
  }

  static {
    printAs(
      Device,
      ({ name, kind, memory }, inspect) =>
        `Device ${inspect(name)} (${kind}, ${memory} bytes; more: device.stats() and device.capabilities)`,
    );
  }

  assertUsable(): void {
    this.space.client.assertOpen(`device ${this.info.name}`);
    if (this.detaching === null) return;
    const message = `device ${this.info.name} has been detached; restart() starts it again`;
    throw new OnememError('DEVICE_DETACHED', message);
  }
}
