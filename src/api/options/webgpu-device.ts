/** GPUs as programs describe them. */
import { isAbsolute } from 'node:path';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { DeviceOptions } from '../../pager/protocol/space.js';
import { parserModule } from '../kernels/wgsl-parser.js';
import { checkOptions, show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import { toBytes } from '../values/sizes.js';
import type { KindRules } from './device-kinds.js';
import type { WebgpuDeviceSpecification } from './device-specification.js';

const OPTIONS: OptionNames<WebgpuDeviceSpecification> = {
  kind: true,
  memory: true,
  name: true,
  inject: true,
  device: true,
  transport: true,
};

const TRANSPORT_LIBRARY: OptionNames<{ readonly library: string }> = { library: true };

export const webgpuRules: KindRules<WebgpuDeviceSpecification> = {
  options: OPTIONS,
  kernels: 'wgsl',
  isPlain: true,
  isProcess: false,
  leastMemory: () => ({ bytes: 2 * BLOCK_BYTES, why: 'two blocks of 2 MiB for a GPU' }),
  memoryBytes(name, { memory, device }) {
    if (memory !== undefined) return toBytes(`memory of device ${name}`, memory);
    if (device === undefined) return null;
    throw argumentError(
      'DEVICE_MEMORY',
      `device ${name} was given no memory, and how much a GPU that is lent has left is not known; give it memory: { kind: 'webgpu', device, memory: '256MiB' }`,
    );
  },
  more(name, specification) {
    const { device, transport } = specification;
    checkOwnDevice(name, device);
    checkTransport(name, specification);
    return {
      lossy: device === undefined,
      ...parserOption(),
      ...(transport === undefined ? {} : { transport }),
    };
  },
  // It has its own, unless it is lent: then the host has its content, too.
  isOnHost: ({ lossy }) => !lossy,
};

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

/** Where the manager finds the module that reads WGSL: its thread is no ES module. */
function parserOption(): Pick<DeviceOptions, 'parser'> {
  try {
    return { parser: parserModule() };
  } catch {
    // An optional peer that is not there: kernels in WGSL are refused where they are made.
    return {};
  }
}
