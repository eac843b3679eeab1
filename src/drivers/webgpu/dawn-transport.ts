/** Dawn, Chromium's WebGPU, by the npm package `webgpu`: an optional peer, which the process of an engine alone loads. */
import type { FailingGpu } from './failing-gpu.js';
import { TIMESTAMPS } from './gpu-clock.js';
import { factsOf, GpuTransport, LIMITS } from './gpu-transport.js';
import type { Transport } from './transport.js';

/** What is asked for at its greatest. An alignment is wanted as it is. */
const ASKED = [...LIMITS, 'maxComputeWorkgroupSizeX', 'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ'] as const;
const FEATURES = ['shader-f16', 'subgroups', TIMESTAMPS] as const;
/** Browsers round the GPU's clock to 100 us, to keep secrets from each other's pages. */
const EXACT_CLOCK = 'disable-dawn-features=timestamp_quantization';

/** Keeps GPUs alive: what `create` returned must not be collected as long as the process does anything with one. */
const kept: unknown[] = [];

/** Loads the package. An error that says which line installs it, where it is not there. */
async function loadPackage(): Promise<typeof import('webgpu')> {
  try {
    return await import('webgpu');
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND')
      throw new Error("the package 'webgpu' is not installed; install it: npm install webgpu");
    throw new Error(`the package 'webgpu' cannot be loaded here: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * Opens the GPU that the system prefers. Throws why there is none.
 * @param failing has it find no memory, for tests
 */
export async function openDawn(failing: FailingGpu | null): Promise<Transport> {
  const { create } = await loadPackage();
  const gpu = create([EXACT_CLOCK]);
  kept.push(gpu);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) {
    throw new Error(
      'no GPU was found: WebGPU on Linux needs a Vulkan driver and its loader (libvulkan.so.1), as by: apt-get install libvulkan1 mesa-vulkan-drivers',
    );
  }
  const { limits } = adapter;
  const requiredLimits: Record<string, number> = {};
  for (const name of ASKED) if (!name.startsWith('min')) requiredLimits[name] = limits[name];
  const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  const { vendor, architecture, device: model, description } = adapter.info;
  const name = description || [vendor, architecture, model].filter(Boolean).join(' ') || 'a GPU without a name';
  return new GpuTransport(device, { ...factsOf(device, name), model, features: [...requiredFeatures] }, failing);
}
