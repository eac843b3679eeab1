/** Checks devices as programs describe them. */
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { Injection } from '../../pager/protocol/space.js';
import {
  checkName,
  checkObject,
  checkOptions,
  checkSize,
  enumerated,
  show,
} from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import { type AnyRules, customRules, processRules, simulatedRules } from './device-kinds.js';
import type { DescribedDevice, DeviceSpecification } from './device-specification.js';
import { webgpuRules } from './webgpu-device.js';

const MAX_DEVICES = 15;

export const MAX_UNITS = 64;

/** Places that reports name beside devices: host memory, and what is behind it. */
const PLACES: ReadonlySet<string> = new Set(['host', 'memory', 'storage', 'valkey']);

export type Kind = DeviceSpecification['kind'];

/** A kind has its rules here, and in the manager's table of drivers how its drivers are made. */
const KINDS: Readonly<Record<Kind, AnyRules>> = {
  process: processRules,
  simulated: simulatedRules,
  webgpu: webgpuRules,
  custom: customRules,
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
    const kind: Kind = device.kind;
    if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
      throw typeError(
        'DEVICE_KIND',
        `device ${index} has kind ${show(kind)}; there are ${enumerated(Object.keys(KINDS).map((each) => `'${each}'`))}`,
      );
    }
    const { name = `${kind}${before + index}` } = device;
    checkName(`device ${index}`, name);
    checkOptions<DeviceSpecification>(`${kind} device ${name}`, device, KINDS[kind].options);
    checkPlace(name, before + index, names);
    return described(name, device);
  });
}

/** A name is no other device's, nor that of a place. */
function checkPlace(name: string, index: number, names: Set<string>): void {
  if (PLACES.has(name)) {
    const others = [...PLACES].filter((place) => place !== name).join(' and ');
    throw argumentError(
      'DEVICE_NAME',
      `device ${index} is named ${name}, which is the name of a place that every space may have, as are ${others}; give it another name`,
    );
  }
  if (names.has(name))
    throw argumentError(
      'DEVICE_NAME',
      `two devices are named ${name}; give each a name of its own`,
    );
  names.add(name);
}

function described(name: string, device: DeviceSpecification): DescribedDevice {
  const { kind, inject } = device;
  const rules = KINDS[kind];
  const { units = 1 } = device as { readonly units?: number };
  const more = rules.more(name, device);
  checkSize(`units of device ${name}`, units, 1);
  if (units > MAX_UNITS)
    throw argumentError(
      'UNITS',
      `device ${name} has ${units} units; at most ${MAX_UNITS} are possible`,
    );
  const memoryBytes = rules.memoryBytes(name, device);
  const least = rules.leastMemory(units, more.granularityBytes);
  if (memoryBytes !== null && memoryBytes < least.bytes) {
    throw argumentError(
      'SIZE',
      `device ${name} has ${memoryBytes} bytes of memory; it must be ${least.bytes} or more, ${least.why}; give it for example memory: '${Math.max(64, least.bytes / 2 ** 20)}MiB'`,
    );
  }
  return {
    kind,
    name,
    memoryBytes: memoryBytes === null ? null : Math.floor(memoryBytes / PAGE_BYTES) * PAGE_BYTES,
    units,
    ...more,
    ...injectionOf(inject),
  };
}

export function rulesOf(kind: Kind): AnyRules {
  return KINDS[kind];
}

/** Kinds of devices that need to be told no more than how much memory they have. */
export function plainKinds(): Kind[] {
  return (Object.keys(KINDS) as Kind[]).filter((kind) => KINDS[kind].isPlain);
}

export function injectionOf(inject: Injection | undefined): { inject?: Injection } {
  if (inject === undefined) return {};
  checkOptions('inject', inject, INJECTION);
  const { refuseLargerThanPages } = inject;
  checkSize('refuseLargerThanPages', refuseLargerThanPages, 1);
  return { inject: { refuseLargerThanPages } };
}
