/** Opens the GPU that the system prefers by Dawn's C functions. */

import { limitsOf, WANTED_LIMITS } from '../../link/protocol.js';
import type { FailingGpu } from '../failing-gpu.js';
import { TIMESTAMPS } from '../gpu-clock.js';
import { GpuTransport, type Transport } from '../gpu-transport.js';
import { gpuName, NO_GPU, UNWANTED_TOGGLE, WANTED_FEATURES } from '../wanted.js';
import { DawnGpu, MAPS_HOST } from './dawn-gpu.js';
import { hostBufferProblem } from './host-buffer.js';
import type { Dawn } from './library.js';
import { NativeGpu } from './native-gpu.js';

/**
 * Throws why there is none.
 * @param failing has it find no memory, for tests
 */
export function openNative(dawn: Dawn, failing: FailingGpu | null): Transport {
  const asked = opened(dawn, true);
  const takesHost = asked.mapsHost && hostBufferProblem(asked.gpu) === null;
  if (asked.mapsHost && !takesHost) dawn.deviceDestroy(asked.gpu.device);
  const { gpu, features } = asked.mapsHost === takesHost ? asked : opened(dawn, false);
  const info = gpu.info();
  const facts = {
    transport: 'dawn-ffi',
    name: gpuName(info),
    model: info.device,
    limits: limitsOf(gpu.limits()),
    features,
  };
  const able = { measures: features.includes(TIMESTAMPS), mapsHost: takesHost };
  return new GpuTransport(new NativeGpu(gpu, able), facts, failing);
}

/** @param host whether it is asked for buffers whose memory is the program's, if it has them */
function opened(dawn: Dawn, host: boolean) {
  const gpu = new DawnGpu(dawn);
  if (gpu.adapter === 0) throw new Error(NO_GPU);
  const most = gpu.limits();
  const limits = Object.fromEntries(WANTED_LIMITS.map((name) => [name, most[name]]));
  const features = WANTED_FEATURES.filter((name) => gpu.has(name));
  // Memory is made known to a GPU behind a bus page by page, which takes longer than the copy that
  // it saves.
  const mapsHost = host && gpu.has(MAPS_HOST) && !gpu.info().isDiscrete;
  const wanted = mapsHost ? [...features, MAPS_HOST] : features;
  gpu.open(limits, wanted, [UNWANTED_TOGGLE]);
  return { gpu, features, mapsHost };
}
