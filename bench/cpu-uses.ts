/**
 * What each use of CPUs gains: a figure of another bench with it and without it, in turn, each run
 * in a process of its own.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CPU_USES_OFF, type CpuUse } from '../src/cpus/uses.js';
import { type Bench, compare, type Line, type Settings } from './harness.js';

const MAIN = fileURLToPath(new URL('main.js', import.meta.url));
/** Runs of the other bench, of which the median counts once. */
const INNER_RUNS = 5;

/** The figure that each use is for. */
const FIGURES: Readonly<Record<CpuUse, string>> = {
  'next-fault': 'cpu-fault/zero/across',
  'give-way': 'cpu-fault/zero/same',
  'launch-end': 'launch-empty',
  'storage-page': 'storage-random',
  'page-taker': 'storage-random',
  'next-request': 'launch-empty',
  'copy-end': 'fits-cold',
  'near-disk': 'storage-random',
  'kept-thread': 'storage-random',
  'same-cpu': 'oversubscribed/gather/2x',
  'separate-cpu': 'oversubscribed/triad/2x',
  'engine-apart': 'webgpu-home',
  'copies-apart': 'fits-cold',
  'spare-cpu': 'fits-cold',
};

/** Null: the figure cannot be measured here, as without a GPU. */
function measure(figure: string, without: string): Line | null {
  const options = ['--in-process', '--runs', String(INNER_RUNS), figure];
  const { stdout, status } = spawnSync(process.execPath, [MAIN, ...options], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, [CPU_USES_OFF]: without },
  });
  if (status !== 0) throw new Error(`${figure} without '${without}': exit code ${status}`);
  const [line] = stdout.split('\n').filter(Boolean);
  return line === undefined ? null : (JSON.parse(line) as Line);
}

async function run(settings: Settings): Promise<void> {
  for (const [use, figure] of Object.entries(FIGURES)) {
    const name = `cpu-uses/${use}`;
    if (!settings.wants(name)) continue;
    const first = measure(figure, '');
    if (first === null) continue;
    const ours = (without: string) => () => (measure(figure, without) as Line).ours;
    await compare(settings, {
      name,
      unit: first.unit,
      better: first.unit.endsWith('/s') ? 'higher' : 'lower',
      ours: ours(''),
      references: { without: ours(use) },
      warmUp: 0,
      rotates: true,
      extra: { figure },
    });
  }
}

export const cpuUses: Bench = {
  name: 'cpu-uses',
  what: 'each use of CPUs: a figure with it, beside the same figure without it',
  run,
};
