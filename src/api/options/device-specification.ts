/** Devices as programs describe them. */
import { isAbsolute } from 'node:path';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { DeviceOptions, Injection } from '../../pager/protocol/space.js';
import { exportOf, moduleUrl } from '../kernels/kernel.js';
import { parserModule } from '../kernels/wgsl-parser.js';
import {
  checkFlag,
  checkName,
  checkObject,
  checkOptions,
  checkSize,
  show,
  textOf,
} from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import { toBytes } from '../values/sizes.js';

const MAX_DEVICES = 15;

export const MAX_UNITS = 64;

/** Places that reports name beside devices: host memory, and what is behind it. */
const PLACES: ReadonlySet<string> = new Set(['host', 'storage', 'valkey']);

/** Options of all devices. */
interface AnyDeviceSpecification {
  /** Bytes, or a size such as '64MiB'; at least 2 MiB, plus 2 MiB per unit. */
  readonly memory: number | string;
  /** Threads that run kernels; 1 by default. */
  readonly units?: number;
  readonly name?: string;
  /** Makes the memory refuse large pieces, for tests. */
  readonly inject?: Injection;
}

/** A device that comes with the package. */
export interface BuiltInDeviceSpecification extends AnyDeviceSpecification {
  /**
   * 'process': a child process with memory and page faults. 'simulated': in memory, no faults; for
   * tests.
   */
  readonly kind: 'process' | 'simulated';
  /** Its memory dies with it, as a GPU's does. */
  readonly lossy?: boolean;
}

/** A GPU by WebGPU, which runs WGSL. Install `webgpu` and `wesl`. */
export interface WebgpuDeviceSpecification
  extends Omit<AnyDeviceSpecification, 'units' | 'memory'> {
  readonly kind: 'webgpu';
  /**
   * Bytes, or a size such as '64MiB', at least 4 MiB. By default three quarters of what its driver
   * says is left (DEVICE_MEMORY if it does not say).
   */
  readonly memory?: number | string;
  /** A GPUDevice of the program's own, which the space uses beside it and never destroys. */
  readonly device?: OwnGpuDevice;
  /**
   * The package that drives the GPU: 'dawn-node' is `webgpu`, 'dawn-ffi' is `bun-webgpu-linux-x64`
   * 0.1.7. `library` is a shared library of your own. By default ONEMEM_WEBGPU_TRANSPORT, or what
   * is installed.
   */
  readonly transport?: 'dawn-node' | 'dawn-ffi' | { readonly library: string };
}

/** A `GPUDevice` of the WebGPU standard. */
export interface OwnGpuDevice {
  readonly queue: object;
  readonly limits: object;
  readonly features: object;
  readonly lost: Promise<unknown>;
  readonly createBuffer: unknown;
}

/** A device whose driver is a module of yours; see `onemem/driver`. */
export interface CustomDeviceSpecification extends AnyDeviceSpecification {
  readonly kind: 'custom';
  /** The module, and its export ('default' by default), a `CreateDriver`. */
  readonly driver: { readonly module: URL | string; readonly export?: string };
  /** For the driver, by structured clone. */
  readonly options?: unknown;
}

/** What is known of a device before the GPU was asked: null is memory that its driver tells. */
export type DescribedDevice = Omit<DeviceOptions, 'memoryBytes'> & {
  readonly memoryBytes: number | null;
};

export type DeviceSpecification =
  | BuiltInDeviceSpecification
  | WebgpuDeviceSpecification
  | CustomDeviceSpecification;

const ANY_DEVICE = { kind: true, memory: true, units: true, name: true, inject: true } as const;

const BUILT_IN_DEVICE: OptionNames<BuiltInDeviceSpecification> = { ...ANY_DEVICE, lossy: true };

const WEBGPU_DEVICE: OptionNames<WebgpuDeviceSpecification> = {
  kind: true,
  memory: true,
  name: true,
  inject: true,
  device: true,
  transport: true,
};

const TRANSPORT_LIBRARY: OptionNames<{ readonly library: string }> = { library: true };

const CUSTOM_DEVICE: OptionNames<CustomDeviceSpecification> = {
  ...ANY_DEVICE,
  driver: true,
  options: true,
};

const DRIVER_MODULE: OptionNames<CustomDeviceSpecification['driver']> = {
  module: true,
  export: true,
};

const INJECTION: OptionNames<Injection> = { refuseLargerThanPages: true };

export function deviceOptions(
  devices: readonly DeviceSpecification[],
  before = 0,
): DescribedDevice[] {
  if (!Array.isArray(devices)) {
    throw typeError(
      'DEVICES',
      `devices is an array such as [{ kind: 'process', memory: '64MiB' }], not ${show(devices)}`,
    );
  }
  if (devices.length > MAX_DEVICES)
    throw argumentError(
      'DEVICES',
      `a space has at most ${MAX_DEVICES} devices, not ${devices.length}`,
    );
  const names = new Set<string>();
  return devices.map((device, index) => {
    checkObject(`device ${index}`, device);
    const { kind, inject } = device;
    if (kind !== 'process' && kind !== 'simulated' && kind !== 'webgpu' && kind !== 'custom') {
      throw typeError(
        'DEVICE_KIND',
        `device ${index} has kind ${show(kind)}; there are 'process', 'simulated', 'webgpu' and 'custom'`,
      );
    }
    // Only now, since what is no kind may be an object that has no text.
    const { name = `${kind}${before + index}` } = device;
    const { units = 1 } = kind === 'webgpu' ? {} : device;
    checkName(`device ${index}`, name);
    checkOptions<DeviceSpecification>(
      `${kind} device ${name}`,
      device,
      kind === 'custom' ? CUSTOM_DEVICE : kind === 'webgpu' ? WEBGPU_DEVICE : BUILT_IN_DEVICE,
    );
    if (kind === 'webgpu') checkOwnDevice(name, device.device);
    if (kind === 'webgpu') checkTransport(name, device);
    if (kind === 'process' || kind === 'simulated')
      checkFlag(`lossy of device ${name}`, device.lossy);
    const injection = injectionOf(inject);
    if (PLACES.has(name)) {
      const others = [...PLACES].filter((place) => place !== name).join(' and ');
      throw argumentError(
        'DEVICE_NAME',
        `device ${before + index} is named ${name}, which is the name of a place that every space may have, as are ${others}; give it another name`,
      );
    }
    if (names.has(name))
      throw argumentError(
        'DEVICE_NAME',
        `two devices are named ${name}; give each a name of its own`,
      );
    names.add(name);
    checkSize(`units of device ${name}`, units, 1);
    if (units > MAX_UNITS)
      throw argumentError(
        'UNITS',
        `device ${name} has ${units} units; at most ${MAX_UNITS} are possible`,
      );
    const memoryBytes = memoryOf(name, device);
    const least = leastMemory(kind, units);
    if (memoryBytes !== null && memoryBytes < least.bytes) {
      throw argumentError(
        'SIZE',
        `device ${name} has ${memoryBytes} bytes of memory; it must be ${least.bytes} or more, ${least.why}; give it for example memory: '64MiB'`,
      );
    }
    return {
      kind,
      name,
      memoryBytes: memoryBytes === null ? null : Math.floor(memoryBytes / PAGE_BYTES) * PAGE_BYTES,
      units,
      lossy:
        kind === 'simulated' ||
        (kind === 'webgpu' && device.device === undefined) ||
        (kind === 'process' && device.lossy === true),
      ...(kind === 'custom' ? { driver: driverModule(name, device) } : {}),
      ...(kind === 'webgpu' ? parserOption() : {}),
      ...(kind === 'webgpu' && device.transport !== undefined
        ? { transport: device.transport }
        : {}),
      ...injection,
    };
  });
}

/** How much memory a device must have, and why. */
export function leastMemory(
  kind: DeviceSpecification['kind'],
  units: number,
): { bytes: number; why: string } {
  if (kind === 'webgpu') return { bytes: 2 * BLOCK_BYTES, why: 'two blocks of 2 MiB for a GPU' };
  const waiting = units === 1 ? 'the unit' : `each of the ${units} units`;
  return {
    bytes: (units + 1) * BLOCK_BYTES,
    why: `2 MiB for ${waiting} that waits in a fault, and 2 MiB`,
  };
}

/** Null: the driver of its GPU is to tell. */
function memoryOf(name: string, { memory, ...device }: DeviceSpecification): number | null {
  if (device.kind === 'webgpu' && memory === undefined) {
    if (device.device === undefined) return null;
    throw argumentError(
      'DEVICE_MEMORY',
      `device ${name} was given no memory, and how much a GPU that is lent has left is not known; give it memory: { kind: 'webgpu', device, memory: '256MiB' }`,
    );
  }
  return toBytes(`memory of device ${name}`, memory as number | string);
}

function checkOwnDevice(name: string, device: unknown): void {
  if (device === undefined) return;
  const members = ['queue', 'limits', 'features', 'lost', 'createBuffer'] as const;
  const isDevice =
    typeof device === 'object' && device !== null && members.every((member) => member in device);
  if (isDevice) return;
  throw typeError(
    'GPU_DEVICE',
    `device ${name} is lent ${show(device)}; a GPUDevice is wanted, as adapter.requestDevice() gives it`,
  );
}

function checkTransport(name: string, { device, transport }: WebgpuDeviceSpecification): void {
  if (transport === undefined) return;
  if (device !== undefined) {
    throw argumentError(
      'TRANSPORT',
      `device ${name} is lent a GPUDevice, which says itself what drives it; leave out transport`,
    );
  }
  if (transport === 'dawn-node' || transport === 'dawn-ffi') return;
  const isObject = typeof transport === 'object' && transport !== null;
  if (isObject) checkOptions(`transport of device ${name}`, transport, TRANSPORT_LIBRARY);
  const library: unknown = isObject ? transport.library : undefined;
  if (typeof library === 'string' && isAbsolute(library)) return;
  throw argumentError(
    'TRANSPORT',
    `device ${name} has transport ${show(isObject ? library : transport)}; write 'dawn-node', 'dawn-ffi', or { library: '/path/from/the/root/libwebgpu_dawn.so' }`,
  );
}

/**
 * Where the manager finds the module that reads WGSL: its thread is no ES module, and cannot ask.
 */
function parserOption(): Pick<DeviceOptions, 'parser'> {
  try {
    return { parser: parserModule() };
  } catch {
    // An optional peer that is not there: kernels in WGSL are refused where they are made.
    return {};
  }
}

function driverModule(
  name: string,
  { driver, options }: CustomDeviceSpecification,
): DeviceOptions['driver'] {
  if (typeof driver !== 'object' || driver === null || !('module' in driver)) {
    throw typeError(
      'DRIVER_MODULE',
      `device ${name} is a custom one and names no driver; write driver: { module: new URL('./driver.js', import.meta.url), export: 'create' }`,
    );
  }
  try {
    structuredClone(options);
  } catch (error) {
    throw typeError(
      'DRIVER_OPTIONS',
      `the options of device ${name} cannot be handed to its driver, which is in another thread: ${textOf(error)}`,
    );
  }
  checkOptions(`the driver of device ${name}`, driver, DRIVER_MODULE);
  const url = moduleUrl('DRIVER_MODULE', driver.module);
  return { url, exportName: exportOf('DRIVER_MODULE', driver.export), options };
}

export function injectionOf(inject: Injection | undefined): { inject?: Injection } {
  if (inject === undefined) return {};
  checkOptions('inject', inject, INJECTION);
  const { refuseLargerThanPages } = inject;
  checkSize('refuseLargerThanPages', refuseLargerThanPages, 1);
  return { inject: { refuseLargerThanPages } };
}
