/** Opens the GPU that the system prefers by Dawn's C functions. */
import type { FailingGpu } from '../failing-gpu.js';
import { TIMESTAMPS } from '../gpu-clock.js';
import { LIMITS } from '../gpu-transport.js';
import type { Limits } from '../protocol.js';
import type { WaitedTransport } from '../transport.js';
import { NO_GPU, UNWANTED_TOGGLE, WANTED_FEATURES, WANTED_LIMITS } from '../wanted.js';
import { Gpu, type LimitName, UNDEFINED } from './gpu.js';
import { Feature, Limits as LimitsLayout } from './layouts.js';
import type { Dawn } from './library.js';
import { NativeTransport } from './native-transport.js';

/**
 * Throws why there is none.
 * @param failing has it find no memory, for tests
 */
export function openNative(dawn: Dawn, failing: FailingGpu | null): WaitedTransport {
  const gpu = new Gpu(dawn);
  if (gpu.adapter === 0) throw new Error(NO_GPU);
  const most = gpu.limits();
  const names = Object.keys(LimitsLayout.offsets).filter((name) => name !== 'nextInChain') as LimitName[];
  const isWanted = (name: LimitName): boolean => (WANTED_LIMITS as readonly string[]).includes(name);
  const limits = Object.fromEntries(names.map((name) => [name, isWanted(name) ? most[name] : UNDEFINED]));
  const features = WANTED_FEATURES.filter((name) => gpu.has(name));
  gpu.open(
    limits,
    features.map((name) => Feature[name]),
    [UNWANTED_TOGGLE],
  );
  const given = gpu.limits();
  const facts = {
    transport: 'dawn-ffi',
    name: gpu.name(),
    model: gpu.model(),
    limits: Object.fromEntries(LIMITS.map((name) => [name, given[name]])) as unknown as Limits,
    features,
  };
  return new NativeTransport(gpu, facts, features.includes(TIMESTAMPS), failing);
}
