/** Dawn, Chromium's WebGPU, by the npm package `webgpu`: an optional peer of an engine. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WANTED_LIMITS } from '../link/protocol.js';
import type { FailingGpu } from './failing-gpu.js';
import { GpuTransport, type Transport } from './gpu-transport.js';
import { factsOf, StandardGpu } from './standard-gpu.js';
import { gpuName, NO_GPU, UNWANTED_TOGGLE, WANTED_FEATURES } from './wanted.js';

/** Keeps GPUs alive: what `create` returned must not be collected while any is used. */
const kept: unknown[] = [];

/** Loads the package. An error that says which line installs it, where it is not there. */
async function loadPackage(): Promise<typeof import('webgpu')> {
  try {
    return await import('webgpu');
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND')
      throw new Error("the package 'webgpu' is not installed; install it: npm install webgpu");
    throw new Error(
      `the package 'webgpu' cannot be loaded here: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** Opens the system's preferred GPU, or throws why not. @param failing for tests */
export async function openDawn(failing: FailingGpu | null): Promise<Transport> {
  const { create } = await loadPackage();
  const gpu = create([`disable-dawn-features=${UNWANTED_TOGGLE}`]);
  kept.push(gpu);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw new Error(NO_GPU);
  const { limits } = adapter;
  const requiredLimits = Object.fromEntries(WANTED_LIMITS.map((name) => [name, limits[name]]));
  const requiredFeatures = WANTED_FEATURES.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  const facts = {
    ...factsOf(device, gpuName(adapter.info)),
    transport: 'dawn-node',
    model: adapter.info.device,
    features: requiredFeatures,
  };
  return new GpuTransport(new StandardGpu(device, collector()), facts, failing);
}

/**
 * Collects garbage on demand: objects of `webgpu` keep memory of the GPU until then. For a process
 * of our own, since it takes some milliseconds and changes flags of V8.
 */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
