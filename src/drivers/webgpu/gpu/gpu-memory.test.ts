import { expect, test } from 'vitest';
import { memoryOf } from './gpu-memory.js';
import type { PhysicalGpu } from './vulkan.js';

const GIB = 2 ** 30;

function heap(bytes: number, budgetBytes: number | null = null, usedBytes = 0) {
  return { bytes, budgetBytes, usedBytes };
}

function gpu(name: string, ...heaps: PhysicalGpu['heaps']): PhysicalGpu {
  return { name, isHosts: false, heaps };
}

test('a GPU is found by the name that WebGPU has for it, and its largest heap counts', () => {
  const gpus = [
    { ...gpu('llvmpipe (LLVM 15.0.6, 256 bits)', heap(GIB)), isHosts: true },
    gpu('NVIDIA H100 80GB HBM3', heap(GIB / 4), heap(80 * GIB, 79 * GIB, GIB), heap(GIB)),
  ];
  const large = {
    name: 'NVIDIA H100 80GB HBM3',
    bytes: 80 * GIB,
    leftBytes: 78 * GIB,
    isHosts: false,
  };
  expect(memoryOf(gpus, 'nvidia-h100-80gb-hbm3')).toEqual(large);
  expect(memoryOf(gpus, 'NVIDIA H100 80GB HBM3')).toEqual(large);
  const hosts = {
    name: 'llvmpipe (LLVM 15.0.6, 256 bits)',
    bytes: GIB,
    leftBytes: null,
    isHosts: true,
  };
  expect(memoryOf(gpus, 'llvmpipe-llvm-15-0-6-256-bits-')).toEqual(hosts);
});

test('a GPU that Vulkan does not know by its name has no memory that is known, nor has one without heaps', () => {
  expect(memoryOf([gpu('NVIDIA L4', heap(24 * GIB))], 'nvidia-l40')).toBeNull();
  expect(memoryOf([gpu('NVIDIA L4')], 'nvidia-l4')).toBeNull();
  expect(memoryOf([], '')).toBeNull();
});

test('of several GPUs of one name the one counts that has the least left, or does not tell', () => {
  const gpus = [gpu('A', heap(8, 8, 1)), gpu('A', heap(8, 8, 5)), gpu('A', heap(8, 8, 3))];
  expect(memoryOf(gpus, 'a')?.leftBytes).toBe(3);
  expect(memoryOf([...gpus, gpu('A', heap(8))], 'a')?.leftBytes).toBeNull();
});

test('what is left is the budget without what this process has, and no more than there is', () => {
  const left = (...of: Parameters<typeof heap>) =>
    memoryOf([gpu('A', heap(...of))], 'a')?.leftBytes;
  expect(left(8 * GIB, 7 * GIB, GIB)).toBe(6 * GIB);
  expect(left(8 * GIB, 9 * GIB, GIB)).toBe(7 * GIB);
  expect(left(8 * GIB, GIB, 2 * GIB)).toBe(0);
});
