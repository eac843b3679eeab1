/** What a GPU of an engine's own is opened with, whatever opens it. */
import { TIMESTAMPS } from './gpu-clock.js';

/** What the GPU is called. */
export function gpuName(info: {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
}): string {
  const { vendor, architecture, device, description } = info;
  const parts = [vendor, architecture, device].filter(Boolean);
  return description || parts.join(' ') || 'a GPU without a name';
}

/** Those that the GPU has. */
export const WANTED_FEATURES = ['shader-f16', 'subgroups', TIMESTAMPS] as const;

/** Browsers round the GPU's clock to 100 us, to keep secrets from each other's pages. */
export const UNWANTED_TOGGLE = 'timestamp_quantization';

export const NO_GPU =
  'no GPU was found: WebGPU on Linux needs a Vulkan driver and its loader (libvulkan.so.1), as by: apt-get install libvulkan1 mesa-vulkan-drivers';
