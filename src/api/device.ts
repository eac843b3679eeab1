/** Devices of a space. */

import { PAGE_BYTES } from '../core/types.js';
import type { DeviceInfo, ProcessorStats } from '../pager/protocol/space.js';
import type { AddressSpace } from './address-space.js';
import { checkOptions } from './arguments.js';
import { checkSignal, checkTimeout } from './cancellation.js';
import { DISPOSE } from './disposal.js';
import { OnememError } from './errors.js';
import type { Kernel, KernelParameters } from './kernel.js';
import type { LaunchArguments } from './public-types.js';
import { type LaunchOptions, STREAM_OPTIONS, Stream, type StreamOptions } from './stream.js';

export interface DeviceCapabilities {
  /** Whether its page faults are served: a launch may then use more than its memory. */
  readonly pageFaults: boolean;
  /** Whether `Atomics` in a kernel count right beside those of the CPU and of other devices. */
  readonly atomics: boolean;
  /** Whether its kernels can use memory of the host in place, without moving the page. */
  readonly remoteAccess: boolean;
  /** Whether a launch that runs can be ended, by a signal or `timeoutMs`. */
  readonly cancellation: boolean;
  /** What it runs: functions, or modules in WGSL. */
  readonly kernels: 'functions' | 'wgsl';
  /** The unit in which content moves to and from its memory. */
  readonly pageBytes: number;
  /** Whether what is in its memory can still be had after it has died. */
  readonly memorySurvives: boolean;
  /** Threads that run kernels. */
  readonly units: number;
}

export interface DeviceMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export class Device {
  private detaching: Promise<void> | null = null;
  private restarting: Promise<void> | null = null;

  /** @internal */
  constructor(
    readonly space: AddressSpace,
    private info: DeviceInfo,
  ) {}

  get name(): string {
    return this.info.name;
  }

  /** 'process': a child process with memory of its own. 'simulated': in memory, without page faults. 'webgpu': a GPU. Others are what their drivers call themselves. */
  get kind(): string {
    return this.info.kind;
  }

  /** Its memory, in bytes. */
  get memory(): number {
    return this.info.memoryBytes;
  }

  get units(): number {
    return this.info.units;
  }

  /** Whether a launch may use more than the device's memory. */
  get pageFaults(): boolean {
    return this.info.pageFaults;
  }

  /** The device's process, for those who want to watch or end it; null when it has none. */
  get pid(): number | null {
    return this.info.pid;
  }

  /** What the device can do, by its driver's description. */
  get capabilities(): DeviceCapabilities {
    const { pageFaults, atomics, remoteAccess, cancellation, kernels, lossy, units } = this.info;
    const can = { pageFaults, atomics, remoteAccess, cancellation, kernels };
    return { ...can, pageBytes: PAGE_BYTES, memorySurvives: !lossy, units };
  }

  /** Its memory now. What is not free comes back by eviction when something else needs it. */
  memoryInfo(): DeviceMemory {
    this.assertUsable();
    const { budgetBytes, backedBytes, alive } = this.stats();
    if (!alive) throw new OnememError('DEVICE_LOST', `device ${this.info.name} is gone, and its memory with it`);
    return { totalBytes: budgetBytes, freeBytes: budgetBytes - backedBytes };
  }

  /** @internal */
  get sameAddresses(): boolean {
    return this.info.sameAddresses;
  }

  /** @internal Whether it has not been detached. */
  get isUsable(): boolean {
    return this.detaching === null;
  }

  /** @internal Another one each time that it is started. */
  get number(): number {
    return this.info.number;
  }

  /** @internal It has been started again: whatever is asked from now on is asked of the new one. */
  renew(info: DeviceInfo): void {
    this.info = info;
    this.detaching = null;
  }

  /** @internal The processor's number. */
  get id(): number {
    return this.info.id;
  }

  /** @internal The number of its own memory. */
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

  /** Runs a kernel and waits for it: the simple form. A signal or `timeoutMs` ends it. */
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

  /** Brings every page of the device home, then ends the device. Launches that wait are lost, the one that runs may end. */
  async detach(): Promise<void> {
    this.detaching ??= this.space.client.request('detach', { device: this.info.number }).then(() => undefined);
    await this.detaching;
  }

  /**
   * Starts the device again, after its death or after `detach()`, with the options that it had; the same object goes on as the new one, in
   * every thread. One that lives is ended first, as by `kill()`. What its memory held comes home if that survives; advice that named the
   * device is gone. Rejects with DEVICE_START when it does not come up.
   */
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

  /** Ends the device's process at once, as kill -9 does: for tests of what happens then. */
  kill(): void {
    this.space.client.call('kill', { device: this.info.number });
  }

  stats(): ProcessorStats {
    const found = this.space.stats().processors.find((each) => each.name === this.info.name);
    if (found === undefined) throw new OnememError('DEVICE_LOST', `device ${this.info.name} is gone`);
    return found;
  }

  /** @internal */
  assertUsable(): void {
    this.space.client.assertOpen(`device ${this.info.name}`);
    if (this.detaching !== null) throw new OnememError('DEVICE_DETACHED', `device ${this.info.name} has been detached`);
  }
}
