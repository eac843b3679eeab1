/**
 * What Vulkan says of the memory of GPUs, which WebGPU does not: how large it is, and how much of
 * it this process may still take, which drivers with VK_EXT_memory_budget tell at any time. No
 * device is made for that. A driver may end the process that asks: ask in one of its own.
 */
import { NativeBuffer } from '../../../linux/base/native-buffer.js';
import { SharedLibrary } from '../../../linux/base/shared-library.js';

/** A GPU as its driver describes it. */
export interface PhysicalGpu {
  readonly name: string;
  /** Its memory is the host's. */
  readonly isHosts: boolean;
  /** Heaps of memory of its own, or of the host's where it has no other. */
  readonly heaps: readonly Heap[];
}

export interface Heap {
  readonly bytes: number;
  /** What this process may take of it now, in all; null: the driver does not tell. */
  readonly budgetBytes: number | null;
  readonly usedBytes: number;
}

const LIBRARY = 'libvulkan.so.1';
const VERSION_1_1 = (1 << 22) | (1 << 12);
const BUDGETS = 'VK_EXT_memory_budget';

/** Numbers of structures, by which Vulkan knows them. */
const Type = {
  InstanceInfo: 1,
  Properties: 1_000_059_001,
  MemoryProperties: 1_000_059_006,
  MemoryBudget: 1_000_237_000,
} as const;

/** Kinds of GPUs whose memory is the host's: those within a processor, and those in software. */
const HOSTS: readonly number[] = [1, 4];
const DEVICE_LOCAL = 1;

/**
 * Sizes of structures, and where members lie in them, on processors of 64 bits. Each begins with
 * its number and the address of the next one.
 */
const NEXT = 8;
const APPLICATION = { bytes: 48, version: 44 } as const;
const INSTANCE = { bytes: 64, application: 24 } as const;
const PROPERTIES = { bytes: 16 + 824, kind: 16 + 16, name: 16 + 20 } as const;
const MEMORY = {
  bytes: 16 + 520,
  count: 16 + 260,
  heaps: 16 + 264,
  heapBytes: 16,
  flags: 8,
} as const;
const BUDGET = { bytes: 16 + 256, budgets: 16, used: 16 + 128 } as const;
const EXTENSION_BYTES = 260;

type Call<A extends readonly number[], R = number> = (...args: A) => R;

interface Functions {
  createInstance: Call<[info: number, allocator: number, instance: number]>;
  destroyInstance: Call<[instance: number, allocator: number], void>;
  enumerate: Call<[instance: number, count: number, gpus: number]>;
  properties: Call<[gpu: number, properties: number], void>;
  memory: Call<[gpu: number, properties: number], void>;
  extensions: Call<[gpu: number, layer: number, count: number, extensions: number]>;
}

function functionsOf(library: SharedLibrary): Functions {
  const declare = <F extends (...args: never[]) => unknown>(
    result: string,
    name: string,
    count: number,
  ): F => library.declare<F>(`${result} ${name}(${new Array(count).fill('uint64_t').join(', ')})`);
  return {
    createInstance: declare('int', 'vkCreateInstance', 3),
    destroyInstance: declare('void', 'vkDestroyInstance', 2),
    enumerate: declare('int', 'vkEnumeratePhysicalDevices', 3),
    properties: declare('void', 'vkGetPhysicalDeviceProperties2', 2),
    memory: declare('void', 'vkGetPhysicalDeviceMemoryProperties2', 2),
    extensions: declare('int', 'vkEnumerateDeviceExtensionProperties', 4),
  };
}

/** The GPUs that drivers know. Throws where Vulkan cannot be asked, and says why. */
export function physicalGpus(): PhysicalGpu[] {
  const vulkan = functionsOf(new SharedLibrary(LIBRARY));
  const application = new NativeBuffer(APPLICATION.bytes);
  application.view.setUint32(APPLICATION.version, VERSION_1_1, true);
  const info = structure(INSTANCE.bytes, Type.InstanceInfo);
  info.setU64(INSTANCE.application, application.address);
  const made = new NativeBuffer(8);
  check('vkCreateInstance', vulkan.createInstance(info.address, 0, made.address));
  const instance = made.getU64(0);
  try {
    const gpus = listed(8, 'vkEnumeratePhysicalDevices', (count, list) =>
      vulkan.enumerate(instance, count, list),
    );
    return Array.from({ length: gpus.length / 8 }, (_, index) =>
      describe(vulkan, gpus.getU64(8 * index)),
    );
  } finally {
    vulkan.destroyInstance(instance, 0);
  }
}

function describe(vulkan: Functions, gpu: number): PhysicalGpu {
  const properties = structure(PROPERTIES.bytes, Type.Properties);
  vulkan.properties(gpu, properties.address);
  const extensions = listed(
    EXTENSION_BYTES,
    'vkEnumerateDeviceExtensionProperties',
    (count, list) => vulkan.extensions(gpu, 0, count, list),
  );
  const names = Array.from({ length: extensions.length / EXTENSION_BYTES }, (_, index) =>
    textAt(extensions, EXTENSION_BYTES * index),
  );
  return {
    name: textAt(properties, PROPERTIES.name),
    isHosts: HOSTS.includes(properties.view.getUint32(PROPERTIES.kind, true)),
    heaps: heapsOf(vulkan, gpu, names.includes(BUDGETS)),
  };
}

function heapsOf(vulkan: Functions, gpu: number, tells: boolean): Heap[] {
  const budget = structure(BUDGET.bytes, Type.MemoryBudget);
  const memory = structure(MEMORY.bytes, Type.MemoryProperties);
  // Drivers without it complain of what they do not know.
  if (tells) memory.setU64(NEXT, budget.address);
  vulkan.memory(gpu, memory.address);
  const heaps: Heap[] = [];
  for (let index = 0; index < memory.view.getUint32(MEMORY.count, true); index++) {
    const at = MEMORY.heaps + MEMORY.heapBytes * index;
    if ((memory.view.getUint32(at + MEMORY.flags, true) & DEVICE_LOCAL) === 0) continue;
    heaps.push({
      bytes: memory.getU64(at),
      budgetBytes: tells ? budget.getU64(BUDGET.budgets + 8 * index) : null,
      usedBytes: budget.getU64(BUDGET.used + 8 * index),
    });
  }
  return heaps;
}

function structure(bytes: number, type: number): NativeBuffer {
  const made = new NativeBuffer(bytes);
  made.view.setUint32(0, type, true);
  return made;
}

/** Asks how many there are, and then for all of them. */
function listed(
  bytes: number,
  name: string,
  ask: (count: number, list: number) => number,
): NativeBuffer {
  const count = new NativeBuffer(4);
  check(name, ask(count.address, 0));
  const list = new NativeBuffer(bytes * count.view.getUint32(0, true));
  if (list.length > 0) check(name, ask(count.address, list.address));
  return list;
}

function textAt({ bytes }: NativeBuffer, offset: number): string {
  return Buffer.from(bytes.subarray(offset, bytes.indexOf(0, offset))).toString();
}

/** Failures are negative; that there is more than was asked for is none. */
function check(name: string, result: number): void {
  if (result < 0) throw new Error(`${name} of ${LIBRARY}: error ${result}`);
}
