/** Opens the GPU that the system prefers by Dawn's C functions. */

import type { Limits } from '../../link/protocol.js';
import type { FailingGpu } from '../failing-gpu.js';
import { TIMESTAMPS } from '../gpu-clock.js';
import { GpuTransport } from '../gpu-transport.js';
import { LIMITS } from '../standard-gpu.js';
import type { Transport } from '../transport.js';
import { NO_GPU, UNWANTED_TOGGLE, WANTED_FEATURES, WANTED_LIMITS } from '../wanted.js';
import { DawnGpu, type LimitName, MAPS_HOST, UNDEFINED } from './dawn-gpu.js';
import { hostBufferProblem } from './host-buffer.js';
import { Feature, Limits as LimitsLayout } from './layouts.js';
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
  const given = gpu.limits();
  const facts = {
    transport: 'dawn-ffi',
    name: gpu.name(),
    model: gpu.model(),
    limits: Object.fromEntries(LIMITS.map((name) => [name, given[name]])) as unknown as Limits,
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
  const names = Object.keys(LimitsLayout.offsets).filter(
    (name) => name !== 'nextInChain',
  ) as LimitName[];
  const isWanted = (name: LimitName): boolean =>
    (WANTED_LIMITS as readonly string[]).includes(name);
  const limits = Object.fromEntries(
    names.map((name) => [name, isWanted(name) ? most[name] : UNDEFINED]),
  );
  const features = WANTED_FEATURES.filter((name) => gpu.has(name));
  // Memory is made known to a GPU behind a bus page by page, which takes longer than the copy that
  // it saves.
  const mapsHost = host && gpu.has(MAPS_HOST) && !gpu.isDiscrete;
  const wanted = mapsHost ? [...features, MAPS_HOST] : features;
  gpu.open(
    limits,
    wanted.map((name) => Feature[name]),
    [UNWANTED_TOGGLE],
  );
  return { gpu, features, mapsHost };
}
