/**
 * Misses of the eviction policies on published traces, over those of Belady's MIN. Nothing is
 * timed: the figures are the same on every machine. ONEMEM_TRACES names the folder of the traces
 * (`.txt`, `.jsonl`, `.csv`, each also as `.xz`).
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVICTION_POLICIES, type EvictionName } from '../src/policy/eviction/named.js';
import { comparePolicies } from '../src/sim/policy-comparison.js';
import { formatOf, parseTrace } from '../src/sim/trace-formats.js';
import { type Bench, rounded, type Settings } from './harness.js';

const OVERSUBSCRIPTION = [1.25, 2, 4];
const OURS: EvictionName = 'plan';
const UNIT = 'of MIN';
const MOST_BYTES = 1 << 30;

interface Ratios {
  /** Misses over those of MIN, one for each trace and size of memory. */
  readonly overMin: number[];
  readonly overLru: number[];
}

function textOf(path: string): string {
  if (!path.endsWith('.xz')) return readFileSync(path, 'utf8');
  return execFileSync('xz', ['-dc', path], { maxBuffer: MOST_BYTES }).toString();
}

function line(
  name: string,
  ours: number,
  reference: number | null,
  extra: Record<string, unknown>,
) {
  const ratio = reference === null ? null : rounded(ours / reference);
  const known = reference === null ? null : rounded(reference);
  return {
    name,
    ours: rounded(ours),
    reference: known,
    ratio,
    unit: UNIT,
    runs: 1,
    spread: 0,
    ...extra,
  };
}

function run(settings: Settings): void {
  const folder = process.env['ONEMEM_TRACES'];
  if (folder === undefined) {
    const skipped = 'ONEMEM_TRACES names no folder with traces';
    settings.report(line('policy-traces', Number.NaN, null, { skipped }));
    return;
  }
  const all = new Map<string, Ratios>();
  for (const file of readdirSync(folder).sort()) {
    if (!/\.(txt|jsonl|csv)(\.xz)?$/.test(file)) continue;
    const text = textOf(join(folder, file));
    const format = formatOf(text.slice(0, text.indexOf('\n')));
    if (format === null) throw new Error(`${file} is no trace that is known`);
    const trace = parseTrace(text, format);
    const rooms = OVERSUBSCRIPTION.map((times) => Math.max(1, Math.floor(trace.distinct / times)));
    for (const [at, { policies }] of comparePolicies(trace, EVICTION_POLICIES, rooms).entries()) {
      const misses = new Map(policies.map((each) => [each.policy, each]));
      const lru = misses.get('lru');
      if (lru === undefined) throw new Error('lru is no policy');
      for (const { policy, misses: count, overOptimum } of policies) {
        let ratios = all.get(policy);
        if (ratios === undefined) all.set(policy, (ratios = { overMin: [], overLru: [] }));
        ratios.overMin.push(overOptimum);
        ratios.overLru.push(count / lru.misses);
      }
      const name = `policy-traces/${file.replace(/\..*/, '')}/${OVERSUBSCRIPTION[at]}x`;
      const ours = misses.get(OURS)?.overOptimum ?? Number.NaN;
      if (settings.wants(name))
        settings.report(line(name, ours, lru.overOptimum, { comparedWith: 'lru' }));
    }
  }
  for (const [policy, { overMin, overLru }] of all) {
    const logs = overMin.reduce((sum, each) => sum + Math.log(each), 0);
    const worst = rounded(Math.max(...overLru));
    const mean = Math.exp(logs / overMin.length);
    settings.report(line(`policy-traces/mean/${policy}`, mean, null, { worstOverLru: worst }));
  }
}

export const policyTraces: Bench = {
  name: 'policy-traces',
  what: 'misses of eviction policies on the traces in ONEMEM_TRACES, over those of the optimum',
  run: async (settings) => run(settings),
};
