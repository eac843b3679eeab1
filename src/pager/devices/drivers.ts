/** How drivers are made: those of the package, and those of a user's modules. */

import { PAGE_BYTES } from '../../core/basics/types.js';
import { CheckedDriver } from '../../drivers/checked-driver.js';
import type { CopyThread } from '../../drivers/copies/copy-thread.js';
import type { ByteAccess, DriverContext, DriverEvents, KernelCode } from '../../drivers/driver.js';
import type { KernelFunction } from '../../drivers/kernel-loader.js';
import { ProcessDevice } from '../../drivers/process/device.js';
import type { ProcessEvents } from '../../drivers/process-driver.js';
import type { SharedHost } from '../../drivers/shared-host.js';
import { SimulatedDevice } from '../../drivers/simulated/simulated-device.js';
import { readMemory, writeMemory } from '../../linux/memory/memory.js';
import { kernelError } from '../../messages/kernel-error.js';
import { missingModule } from '../../messages/missing-module.js';
import { inTime } from '../core/in-time.js';
import type { DeviceOptions } from '../protocol/space.js';
import type { MadeDriver } from './device.js';

/** How long a driver's module may take to be loaded and to make its driver. */
const LOADING_LIMIT_MS = 30_000;
/** A device process's program, relative to this module, which is bundled with the manager's. */
const CHILD = new URL('../../drivers/process/child.cjs', import.meta.url);
/** The same for the engine of a GPU. */
const ENGINE = new URL('../../drivers/webgpu/engine.js', import.meta.url);

export interface SharedSpace {
  readonly base: number;
  readonly bytes: number;
  readonly hostMemory: number;
  /** Where the manager has that file mapped. */
  readonly hostAddress: number;
  readonly host: SharedHost;
}

/** How the drivers of a kind are made: at once, or when their module has been loaded. */
type Kind =
  | { readonly make: (options: DeviceOptions, events: DriverEvents) => MadeDriver }
  | { readonly load: (options: DeviceOptions, events: ProcessEvents) => Promise<MadeDriver> };

export class DriverMaker {
  private readonly kinds: Readonly<Record<DeviceOptions['kind'], Kind>> = {
    process: { make: (options, events) => this.process(options, events) },
    simulated: { make: (options, events) => this.simulated(options, events) },
    webgpu: { load: (options, events) => this.gpu(options, events) },
    custom: { load: (options, events) => this.custom(options, events) },
  };

  constructor(
    private readonly space: SharedSpace,
    /** The function of a kernel that runs in this thread. */
    private readonly kernelOf: (code: KernelCode) => KernelFunction,
    /** A message for the program's standard error. */
    private readonly warn: (message: string) => void,
    /** Copies to devices whose memory is the host's; null: this thread does. */
    private readonly copies: CopyThread | null,
  ) {}

  /** Whether its module must be loaded first. */
  mustLoad({ kind }: DeviceOptions): boolean {
    return 'load' in this.kinds[kind];
  }

  make(options: DeviceOptions, events: DriverEvents): MadeDriver {
    const kind = this.kinds[options.kind];
    if ('load' in kind) throw new Error(`the driver of ${options.name} has not been loaded`);
    return kind.make(options, events);
  }

  /** Loads a driver that not every manager needs, and has it make the device. */
  async load(options: DeviceOptions, events: ProcessEvents): Promise<MadeDriver> {
    const kind = this.kinds[options.kind];
    return 'load' in kind ? await kind.load(options, events) : kind.make(options, events);
  }

  private process(options: DeviceOptions, events: DriverEvents): MadeDriver {
    const { base, bytes, hostMemory, host } = this.space;
    const budgetPages = Math.floor(options.memoryBytes / PAGE_BYTES);
    const { copies } = this;
    const made = { ...options, budgetPages, hostMemory, host, program: CHILD, copies };
    const process = new ProcessDevice(base, bytes, made, events);
    return { driver: process, process, checked: null };
  }

  /** With what cuts its launches this is a fifth of all that the manager's thread reads. */
  private async gpu(options: DeviceOptions, events: ProcessEvents): Promise<MadeDriver> {
    const { bytes, hostMemory, hostAddress } = this.space;
    const budgetPages = Math.floor(options.memoryBytes / PAGE_BYTES);
    const host = { fd: hostMemory, bytes, address: hostAddress };
    const { openWebgpu } = await import('../../drivers/webgpu/open.js');
    const gpu = openWebgpu({ ...options, budgetPages, host }, ENGINE, events);
    return { driver: gpu, process: gpu, checked: null };
  }

  private async custom(options: DeviceOptions, events: DriverEvents): Promise<MadeDriver> {
    const { checked, context } = this.surround(options, events);
    const { url, exportName } = options.driver as NonNullable<DeviceOptions['driver']>;
    const late = new Error(`module ${url} was not ready after ${LOADING_LIMIT_MS / 1000} s`);
    try {
      checked.adopt(await inTime(create(url, exportName, context), LOADING_LIMIT_MS, late));
    } catch (error) {
      throw new Error(
        `${missingModule(url, error) ?? reasonOf(error)} (export '${exportName}' of ${url})`,
      );
    }
    return { driver: checked, process: null, checked, usesEventLoop: true };
  }

  private simulated(options: DeviceOptions, events: DriverEvents): MadeDriver {
    const { checked, context } = this.surround(options, events);
    const { granularityBytes } = options;
    checked.adopt(new SimulatedDevice({ ...context, granularityBytes }));
    return { driver: checked, process: null, checked };
  }

  private surround(
    options: DeviceOptions,
    events: DriverEvents,
  ): { checked: CheckedDriver; context: DriverContext } {
    const { name, units, inject } = options;
    const asked = { name, budgetPages: Math.floor(options.memoryBytes / PAGE_BYTES) };
    const checked = new CheckedDriver(asked, events, this.warn);
    const bytes: ByteAccess = {
      read: (address, target) => readMemory(target, address),
      write: (address, source) => writeMemory(address, source),
    };
    const context = {
      ...asked,
      units,
      bytes,
      events: checked.events,
      options: options.driver?.options,
      loadKernel: this.kernelOf,
      ...(inject === undefined ? {} : { inject }),
    };
    return { checked, context };
  }
}

async function create(url: string, exportName: string, context: DriverContext): Promise<unknown> {
  const module = (await import(url)) as Record<string, unknown>;
  const made = module[exportName];
  if (typeof made !== 'function') {
    throw new TypeError(
      `it is no function; the module exports ${Object.keys(module).join(', ') || 'nothing'}`,
    );
  }
  return await made(context);
}

export function reasonOf(error: unknown): string {
  return kernelError(error).message;
}
