/**
 * Devices of kind `webgpu` that the program has opened itself: the same two are lent to one space
 * after the other.
 */
import type { DeviceKind } from '../../src/testing/index.js';
import { ownGpu } from '../harness/own-gpu.js';

const NAME = 'webgpu-lent';
const GPUS = 2;

/**
 * Has run a kernel, so that its driver, which is in this process, has the threads and files that it
 * keeps.
 */
async function warmGpu(): Promise<GPUDevice> {
  const gpu = await ownGpu();
  const module = gpu.createShaderModule({ code: '@compute @workgroup_size(1) fn main() {}' });
  const pipeline = await gpu.createComputePipelineAsync({ layout: 'auto', compute: { module } });
  const encoder = gpu.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.dispatchWorkgroups(1);
  pass.end();
  gpu.queue.submit([encoder.finish()]);
  await gpu.queue.onSubmittedWorkDone();
  return gpu;
}

/** Opens the GPUs where scenarios are to be run on them. */
export async function lentKind(args: readonly string[]): Promise<DeviceKind> {
  const wanted = args.includes('--run') && args.includes(NAME);
  const gpus = wanted ? await Promise.all(Array.from({ length: GPUS }, warmGpu)) : [];
  return {
    name: NAME,
    memorySurvives: true,
    onlyByName: true,
    skips: {
      exclusive: 'the thread that lent the GPU cannot wait for a launch in the middle of an access',
    },
    open: ({ devices, memoryBytes, refuseLargerThanPages }) => {
      const inject =
        refuseLargerThanPages === undefined ? {} : { inject: { refuseLargerThanPages } };
      const specifications = gpus
        .slice(0, devices)
        .map((device) => ({ kind: 'webgpu', device, memory: memoryBytes, ...inject }) as const);
      return { devices: specifications, ...inject };
    },
  };
}
