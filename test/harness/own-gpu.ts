/** GPUs that a program opens by itself, by the npm package `webgpu` as it is. */
import { create } from 'webgpu';

/** What `create` returns must be held as long as anything of it is in use. */
const kept: GPU[] = [];

async function adapterOf(): Promise<GPUAdapter> {
  const gpu = create([]);
  kept.push(gpu);
  const adapter = await gpu.requestAdapter();
  if (adapter === null)
    throw new Error('there is no GPU, nor one in software (scripts/software-gpu.mjs)');
  return adapter;
}

/** Whether the GPU that there is has a feature. */
export async function gpuHas(feature: GPUFeatureName): Promise<boolean> {
  return (await adapterOf()).features.has(feature);
}

/** @param limits what is asked for besides what WebGPU gives by itself */
export async function ownGpu(limits: Record<string, number> = {}): Promise<GPUDevice> {
  return await (await adapterOf()).requestDevice({ requiredLimits: limits });
}
