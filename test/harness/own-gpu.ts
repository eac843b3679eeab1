/** GPUs that a program opens by itself, by the npm package `webgpu` as it is. */
import { create } from 'webgpu';

/** What `create` returns must be held as long as anything of it is in use. */
const kept: GPU[] = [];

/** @param limits what is asked for besides what WebGPU gives by itself */
export async function ownGpu(limits: Record<string, number> = {}): Promise<GPUDevice> {
  const gpu = create([]);
  kept.push(gpu);
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new Error('there is no GPU, nor one in software (scripts/software-gpu.mjs)');
  return await adapter.requestDevice({ requiredLimits: limits });
}
