/**
 * Blocks that workloads bring to a device with less memory than they use, over those that Belady's
 * MIN would bring, with plans and without. Nothing is timed: the figures are the same on every
 * machine.
 */
import { PAGES_PER_BLOCK } from '../src/core/basics/types.js';
import type { EvictionName } from '../src/policy/eviction/named.js';
import { type Bench, rounded, type Settings } from './harness.js';
import { WORKLOADS } from './workloads/all.js';
import { played } from './workloads/played.js';

const OVERSUBSCRIPTION = 1.25;
const POLICIES: readonly EvictionName[] = ['plan', 'tournament'];

function run(settings: Settings): void {
  const logs = new Map<string, number[]>();
  for (const workload of WORKLOADS) {
    const name = `policy-workloads/${workload.name}`;
    if (!settings.wants(name)) continue;
    const { blocks, least: leastIn, play } = played(workload);
    const room = Math.floor(blocks / OVERSUBSCRIPTION);
    const least = leastIn(room);
    const over: Record<string, number> = {};
    for (const policy of POLICIES) {
      const { blocks: came, pages } = play(room, { eviction: policy });
      over[policy] = rounded(came / least);
      over[`${policy}Pages`] = rounded(pages / PAGES_PER_BLOCK / least);
    }
    for (const [policy, ratio] of Object.entries(over)) {
      const known = logs.get(policy) ?? [];
      known.push(Math.log(ratio));
      logs.set(policy, known);
    }
    settings.report({
      name,
      ours: over['plan'],
      reference: 1,
      ratio: over['plan'],
      unit: 'of MIN',
      runs: 1,
      spread: 0,
      blocks,
      room,
      least,
      ...over,
    });
  }
}

export const policyWorkloads: Bench = {
  name: 'policy-workloads',
  what: 'blocks that workloads bring at 1.25 times the memory over those of the optimum, with plans and without',
  run: async (settings) => run(settings),
};
