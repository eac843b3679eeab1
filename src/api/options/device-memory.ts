/** The memory of devices whose programs do not say it: GPUs with drivers that tell. */
import { BLOCK_BYTES } from '../../core/basics/types.js';
import type { DeviceOptions } from '../../pager/protocol/space.js';
import { gpuBudget } from '../../policy/gpu-budget.js';
import { argumentError, OnememError } from '../values/errors.js';
import type { DescribedDevice } from './device-specification.js';
import { type FoundGpu, probeGpu } from './gpu-probe.js';
import { memoryLimit } from './host-memory.js';

/** What kernels need at once. */
const LEAST_BYTES = 2 * BLOCK_BYTES;

/** @param hostBytes the budget of the host */
export async function withMemory(
  devices: readonly DescribedDevice[],
  hostBytes: () => number,
): Promise<DeviceOptions[]> {
  const asking = devices.filter(({ memoryBytes }) => memoryBytes === null);
  const found = asking.length === 0 ? null : await probeGpu(asking[0].transport);
  return devices.map((device) => {
    const { memoryBytes } = device;
    // Each of them is on the GPU that WebGPU prefers.
    const bytes = memoryBytes ?? gpuMemory(device, found as FoundGpu, hostBytes(), asking.length);
    return { ...device, memoryBytes: bytes };
  });
}

function gpuMemory(
  { name: device, kind }: DescribedDevice,
  found: FoundGpu,
  budget: number,
  devices: number,
): number {
  if ('problem' in found)
    throw new OnememError('DEVICE_START', `device ${device} did not start: ${found.problem}`, {
      device,
    });
  const { facts, memory } = found;
  const host = { limit: memoryLimit(), budget };
  const remedy = `give it memory: { kind: '${kind}', memory: '256MiB' }`;
  const leftBytes = memory?.leftBytes ?? null;
  if (memory === null || leftBytes === null) {
    const reason =
      memory === null ? 'Vulkan knows no GPU of its name' : 'its driver lacks VK_EXT_memory_budget';
    throw argumentError(
      'DEVICE_MEMORY',
      `device ${device} was given no memory, and how much its GPU has left is not known (${facts.name}: ${reason}); ${remedy}`,
    );
  }
  const { isHosts } = memory;
  const bytes = gpuBudget({ leftBytes, isHosts }, host, devices);
  if (bytes < LEAST_BYTES) {
    const whose = isHosts
      ? `, which are the host's, of whose ${host.limit} bytes hostMemory is ${budget}`
      : '';
    throw argumentError(
      'DEVICE_MEMORY',
      `device ${device} was given no memory, and its GPU has too little left to choose some: ${leftBytes} of ${memory.bytes} bytes${whose}; ` +
        `end what else uses the GPU${isHosts ? ', lower hostMemory' : ''}, or ${remedy}`,
    );
  }
  return bytes;
}
