/** Kinds of devices: those of the package, and those that a user's driver makes. */
import type { CustomDeviceSpecification, DeviceSpecification, SpaceOptions } from '../index.js';
import type { DeviceKind, Wanted } from './device-kind.js';

type WithoutMemory = DeviceSpecification extends infer D
  ? D extends unknown
    ? Omit<D, 'memory'>
    : never
  : never;

function options(wanted: Wanted, device: WithoutMemory): SpaceOptions {
  const { devices, memoryBytes, refuseLargerThanPages } = wanted;
  const inject = refuseLargerThanPages === undefined ? {} : { inject: { refuseLargerThanPages } };
  const specification = { ...device, memory: memoryBytes, ...inject } as DeviceSpecification;
  return { devices: new Array(devices).fill(specification), ...inject };
}

function packaged(name: string, device: WithoutMemory, more: Partial<DeviceKind> = {}): DeviceKind {
  return { name, memorySurvives: false, ...more, open: (wanted) => options(wanted, device) };
}

/** What comes with the package. */
export const kinds: readonly DeviceKind[] = [
  packaged('process', { kind: 'process' }, { memorySurvives: true }),
  packaged('process-lossy', { kind: 'process', lossy: true }),
  packaged('simulated', { kind: 'simulated' }),
  packaged('simulated-64KiB', { kind: 'simulated', granularity: '64KiB' }),
  packaged('simulated-4MiB', { kind: 'simulated', granularity: '4MiB' }),
  packaged('webgpu', { kind: 'webgpu' }, { onlyByName: true }),
];

/**
 * The kind of device that a driver's module makes, for the suite.
 * @example
 * import { driverKind } from 'onemem/testing';
 *
 * const module = new URL('file:///drivers/mine.js');
 * console.log(driverKind('mine', { module, export: 'create' }).name); // mine
 */
export function driverKind(
  name: string,
  driver: CustomDeviceSpecification['driver'],
  about: {
    /** For the driver. */
    readonly options?: unknown;
    /** Whether what a device holds can be had after it has died; not so unless said otherwise. */
    readonly memorySurvives?: boolean;
    /**
     * Whether the driver does as `inject.refuseLargerThanPages` says; otherwise what needs this is
     * skipped.
     */
    readonly refusesMemory?: boolean;
  } = {},
): DeviceKind {
  return {
    name,
    memorySurvives: about.memorySurvives ?? false,
    open: (wanted) =>
      wanted.refuseLargerThanPages !== undefined && about.refusesMemory !== true
        ? { skip: 'the driver refuses no memory on demand' }
        : options(wanted, { kind: 'custom', driver, options: about.options }),
  };
}
