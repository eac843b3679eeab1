/** What a GPU of an engine's own is opened with, whatever opens it. */
import { TIMESTAMPS } from './gpu-clock.js';

/** Limits that are asked for at their greatest. An alignment is wanted as it is. */
export const WANTED_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxUniformBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxUniformBuffersPerShaderStage',
  'maxBindGroups',
  'maxBindingsPerBindGroup',
  'maxComputeWorkgroupsPerDimension',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
] as const;

/** Those that the GPU has. */
export const WANTED_FEATURES = ['shader-f16', 'subgroups', TIMESTAMPS] as const;

/** Browsers round the GPU's clock to 100 us, to keep secrets from each other's pages. */
export const UNWANTED_TOGGLE = 'timestamp_quantization';

export const NO_GPU =
  'no GPU was found: WebGPU on Linux needs a Vulkan driver and its loader (libvulkan.so.1), as by: apt-get install libvulkan1 mesa-vulkan-drivers';
