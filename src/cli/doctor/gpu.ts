/** What `onemem doctor` tells of the GPU: name, memory, limits of launches, or what is missing. */
import { type GpuThere, probeGpu } from '../../api/options/gpu-probe.js';
import { memoryLimit, usualHostMemory } from '../../api/options/host-memory.js';
import type { Feature } from '../../linux/features.js';
import { gpuBudget } from '../../policy/gpu-budget.js';
import { formatBytes } from '../terminal/format.js';

const IN_SOFTWARE =
  'on a machine without a GPU, one in software: npx onemem gpu --software --fetch -- node program.js (on Debian and ' +
  'its like), or apt-get install libvulkan1 chromium-common, and ' +
  'VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json ' +
  'node program.js';

const OTHERWISE = 'npm install webgpu wesl, and a Vulkan driver with its loader';

export async function gpuFeature(): Promise<Feature> {
  const found = await probeGpu();
  const shown = { name: 'GPU by WebGPU', required: false };
  if ('facts' in found) return { ...shown, available: true, detail: describe(found), remedy: null };
  // What is in the way says the way out.
  const [, detail = found.problem, remedy = OTHERWISE] =
    /^(.*?)(?:; |: )(.*)$/s.exec(found.problem) ?? [];
  return { ...shown, available: false, detail, remedy, alternatives: [IN_SOFTWARE] };
}

function describe({ facts, memory }: GpuThere): string {
  const { name, limits, features, transport } = facts;
  const list = [
    ...(memory === null ? [] : [describeMemory(memory)]),
    `buffers to ${formatBytes(limits.maxBufferSize)}`,
    `bindings to ${formatBytes(limits.maxStorageBufferBindingSize)}, ${limits.maxStorageBuffersPerShaderStage} at once`,
    `workgroups of ${limits.maxComputeInvocationsPerWorkgroup}`,
    ...features,
    `driven by ${transport}`,
  ];
  // What WebGPU tells may be the driver's name alone.
  const whole = memory === null || name.includes(memory.name) ? name : `${memory.name} (${name})`;
  return `${whole}: ${list.join(', ')}`;
}

function describeMemory({ bytes, leftBytes, isHosts }: NonNullable<GpuThere['memory']>): string {
  const all = `${formatBytes(bytes)} of ${isHosts ? "the host's memory" : 'memory'}`;
  if (leftBytes === null)
    return `${all} (its driver does not tell how much is left: \`memory\` must be said)`;
  const usual = gpuBudget(
    { leftBytes, isHosts },
    { limit: memoryLimit(), budget: usualHostMemory() },
  );
  return `${all}, of which ${formatBytes(leftBytes)} are left (\`memory\` is ${formatBytes(usual)} unless said otherwise)`;
}
