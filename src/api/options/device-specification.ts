/** Devices as programs describe them: the words. */
import type { DeviceOptions, Injection } from '../../pager/protocol/space.js';

export interface AnyDeviceSpecification {
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
  /**
   * Of 'simulated': by how many bytes it gets memory and maps pages, as hardware with large pages
   * does. A power of two from '4KiB', the default, to '128MiB'.
   */
  readonly granularity?: number | string;
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
