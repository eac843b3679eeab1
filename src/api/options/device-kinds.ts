/** What holds for devices of each kind, besides GPUs: options, least memory, what dies with them. */
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { wrongGranularity } from '../../messages/granularity.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { DeviceOptions } from '../../pager/protocol/space.js';
import { exportOf, moduleUrl } from '../kernels/kernel.js';
import { checkFlag, checkOptions, checkSendable } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import { toBytes } from '../values/sizes.js';
import type {
  BuiltInDeviceSpecification,
  CustomDeviceSpecification,
  DescribedDevice,
  DeviceSpecification,
} from './device-specification.js';

export interface KindRules<S extends DeviceSpecification> {
  readonly options: OptionNames<S>;
  readonly kernels: 'functions' | 'wgsl';
  /** Whether a kind and a size say all that such a device must be told. */
  readonly isPlain: boolean;
  readonly isProcess: boolean;
  /** How much memory a device must have, and why. */
  leastMemory(units: number, granularityBytes?: number): { bytes: number; why: string };
  /** Null: its driver is to tell. */
  memoryBytes(name: string, device: S): number | null;
  /** What else is to be known of it; throws where its options are wrong. */
  more(
    name: string,
    device: S,
  ): Pick<DeviceOptions, 'lossy' | 'driver' | 'parser' | 'transport' | 'granularityBytes'>;
  isOnHost(device: DescribedDevice): boolean;
}

/** Those of the kind that a specification names. */
// biome-ignore lint/suspicious/noExplicitAny: each takes specifications of its own kind alone.
export type AnyRules = KindRules<any>;

const ANY_DEVICE = { kind: true, memory: true, units: true, name: true, inject: true } as const;

type ProcessSpecification = Omit<BuiltInDeviceSpecification, 'granularity'>;

const PROCESS_DEVICE: OptionNames<ProcessSpecification> = {
  ...ANY_DEVICE,
  lossy: true,
};

const SIMULATED_DEVICE: OptionNames<BuiltInDeviceSpecification> = {
  ...PROCESS_DEVICE,
  granularity: true,
};

const CUSTOM_DEVICE: OptionNames<CustomDeviceSpecification> = {
  ...ANY_DEVICE,
  driver: true,
  options: true,
};

const DRIVER_MODULE: OptionNames<CustomDeviceSpecification['driver']> = {
  module: true,
  export: true,
};

/** Devices whose threads wait in faults, or could. */
const ofThreads = {
  leastMemory(units: number, granularityBytes = 0): { bytes: number; why: string } {
    const waiting = units === 1 ? 'the unit' : `each of the ${units} units`;
    const bytes = Math.max(BLOCK_BYTES, granularityBytes);
    const size = `${bytes / 2 ** 20} MiB`;
    const said = bytes > BLOCK_BYTES ? `${size}, its granularity,` : size;
    return {
      bytes: (units + 1) * bytes,
      why: `${said} for ${waiting} that waits in a fault, and ${size}`,
    };
  },
  memoryBytes: (name: string, { memory }: { readonly memory: number | string }): number =>
    toBytes(`memory of device ${name}`, memory),
  kernels: 'functions',
  isOnHost: (): boolean => true,
} as const;

export const processRules: KindRules<ProcessSpecification> = {
  ...ofThreads,
  options: PROCESS_DEVICE,
  isPlain: true,
  isProcess: true,
  more(name, { lossy }) {
    checkFlag(`lossy of device ${name}`, lossy);
    return { lossy: lossy === true };
  },
};

export const simulatedRules: KindRules<BuiltInDeviceSpecification> = {
  ...processRules,
  options: SIMULATED_DEVICE,
  isProcess: false,
  more(name, { lossy, granularity }) {
    checkFlag(`lossy of device ${name}`, lossy);
    if (granularity === undefined) return { lossy: true };
    return { lossy: true, granularityBytes: granularityOf(name, granularity) };
  },
};

function granularityOf(name: string, said: number | string): number {
  const what = `granularity of device ${name}`;
  const bytes = toBytes(what, said, '4KiB');
  const wrong = wrongGranularity(bytes);
  if (wrong === null) return bytes;
  throw argumentError('SIZE', `${what} is ${wrong}`);
}

export const customRules: KindRules<CustomDeviceSpecification> = {
  ...ofThreads,
  options: CUSTOM_DEVICE,
  isPlain: false,
  isProcess: false,
  more: (name, device) => ({ lossy: false, driver: driverModule(name, device) }),
};

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
  const what = `the options of device ${name} cannot be handed to its driver, which is in another thread`;
  checkSendable('DRIVER_OPTIONS', what, options);
  checkOptions(`the driver of device ${name}`, driver, DRIVER_MODULE);
  const url = moduleUrl('DRIVER_MODULE', driver.module);
  return { url, exportName: exportOf('DRIVER_MODULE', driver.export), options };
}
