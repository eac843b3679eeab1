/** Dawn, Chromium's WebGPU, by the npm package `webgpu`: an optional peer of an engine. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FailingGpu } from './failing-gpu.js';
import { GpuTransport } from './gpu-transport.js';
import { factsOf, StandardGpu } from './standard-gpu.js';
import type { Transport } from './transport.js';
import { NO_GPU, UNWANTED_TOGGLE, WANTED_FEATURES, WANTED_LIMITS } from './wanted.js';

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
  const requiredLimits: Record<string, number> = {};
  for (const name of WANTED_LIMITS) requiredLimits[name] = limits[name];
  const requiredFeatures = WANTED_FEATURES.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  const { vendor, architecture, device: model, description } = adapter.info;
  const name =
    description ||
    [vendor, architecture, model].filter(Boolean).join(' ') ||
    'a GPU without a name';
  return new GpuTransport(
    new StandardGpu(device, collector()),
    { ...factsOf(device, name), transport: 'dawn-node', model, features: [...requiredFeatures] },
    failing,
  );
}

/**
 * Collects garbage on demand: objects of `webgpu` keep memory of the GPU until then. For a process
 * of our own, since it takes some milliseconds and changes flags of V8.
 */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
