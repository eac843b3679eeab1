/** What `onemem doctor` tells of the GPU: its name and the limits that launches meet, or what is missing. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Feature } from '../linux/features.js';
import { formatBytes } from './format.js';

const PROBE = new URL('../drivers/webgpu/probe.js', import.meta.url);
/** A driver that is stuck is as good as none. */
const LIMIT_MS = 20_000;
const OTHERWISE = 'npm install webgpu wesl, and a Vulkan driver with its loader';

interface Facts {
  readonly name: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly features: readonly string[];
}

type Found = { readonly facts: Facts } | { readonly problem: string };

/** Asked in a process of its own, since a driver may end it. */
export function gpuFeature(): Feature {
  const found = probe();
  const shown = { name: 'GPU by WebGPU', required: false };
  if ('facts' in found) return { ...shown, available: true, detail: describe(found.facts), remedy: null };
  // What is in the way says the way out.
  const [, detail = found.problem, remedy = OTHERWISE] = /^(.*?)(?:; |: )(.*)$/s.exec(found.problem) ?? [];
  return { ...shown, available: false, detail, remedy };
}

function probe(): Found {
  const { stdout, signal, error } = spawnSync(process.execPath, [fileURLToPath(PROBE)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  try {
    return JSON.parse(stdout) as Found;
  } catch {
    return { problem: `its driver ended the process that asked (${error?.message ?? signal ?? 'it said nothing'})` };
  }
}

function describe({ name, limits, features }: Facts): string {
  const most = (limit: string): string => formatBytes(limits[limit]);
  const list = [
    `buffers to ${most('maxBufferSize')}`,
    `bindings to ${most('maxStorageBufferBindingSize')}, ${limits.maxStorageBuffersPerShaderStage} at once`,
    `workgroups of ${limits.maxComputeInvocationsPerWorkgroup}`,
    ...features,
  ];
  return `${name}: ${list.join(', ')}`;
}
