/** The memory of the GPU that WebGPU chose, found among those that Vulkan knows. */
import type { Heap, PhysicalGpu } from './vulkan.js';

/** The memory that buffers of a GPU lie in. */
export interface GpuMemory {
  /** The GPU's name, as its driver has it. */
  readonly name: string;
  readonly bytes: number;
  /** What this process can still take of it, as things are now; null: the driver does not tell. */
  readonly leftBytes: number | null;
  /** It is the host's. */
  readonly isHosts: boolean;
}

/**
 * Found by the GPU's name; null: none has it. Of several of one name the one counts that has the
 * least left, or does not tell.
 * @param model as WebGPU tells it: the name in small letters, with `-` instead of all but letters
 * and digits
 */
export function memoryOf(gpus: readonly PhysicalGpu[], model: string): GpuMemory | null {
  const found = gpus.flatMap(({ name, isHosts, heaps }): GpuMemory[] => {
    if (plain(name) !== plain(model) || heaps.length === 0) return [];
    // Of a GPU with several the others are windows into the largest, or small ones for special
    // uses.
    const largest = heaps.reduce((most, heap) => (heap.bytes > most.bytes ? heap : most));
    return [{ name, bytes: largest.bytes, leftBytes: leftOf(largest), isHosts }];
  });
  return found.sort((a, b) => (a.leftBytes ?? -1) - (b.leftBytes ?? -1))[0] ?? null;
}

function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

function leftOf({ bytes, budgetBytes, usedBytes }: Heap): number | null {
  return budgetBytes === null ? null : Math.max(0, Math.min(budgetBytes, bytes) - usedBytes);
}
