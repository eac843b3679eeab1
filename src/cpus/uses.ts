/**
 * What is done so that threads meet sooner, each use by its name: docs/internals/threads.md says
 * when, and what each gains. The environment variable leaves some out: `bench -- cpu-uses`
 * measures with and without them.
 */
export const CPU_USES = [
  'next-fault',
  'give-way',
  'launch-end',
  'storage-page',
  'page-taker',
  'next-request',
  'copy-end',
  'near-disk',
  'kept-thread',
  'same-cpu',
  'separate-cpu',
  'engine-apart',
  'copies-apart',
  'spare-cpu',
] as const;

export type CpuUse = (typeof CPU_USES)[number];

/** Names of uses that are left out, with commas between. */
export const CPU_USES_OFF = 'ONEMEM_CPU_USES_OFF';

/** Whether something is done; `CPU_USES_OFF` is read when the part is made that does it. */
export function isUsed(use: CpuUse): boolean {
  const off = (process.env[CPU_USES_OFF] ?? '').split(',').filter(Boolean);
  for (const name of off) {
    if (!CPU_USES.some((each) => each === name))
      throw new RangeError(`${CPU_USES_OFF} names ${name}; there are ${CPU_USES.join(', ')}`);
  }
  return !off.includes(use);
}
