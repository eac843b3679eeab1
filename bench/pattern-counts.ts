/**
 * What the core does for ways through memory that programs have: faults, copies, pages that come,
 * those of them that nothing used, and blocks that leave. Nothing is timed: the figures are the same
 * on every machine.
 */
import { PLAYS } from '../test/patterns/plays.js';
import { type Bench, rounded, type Settings } from './harness.js';

function run(settings: Settings): void {
  for (const [play, of] of Object.entries(PLAYS)) {
    const name = `pattern-counts/${play}`;
    if (!settings.wants(name)) continue;
    const machine = of();
    machine.manager.checkInvariants();
    const { faults, copies, pages } = machine;
    const counts = { faults, copies, pages, unused: machine.wasted() };
    settings.report({
      name,
      ours: rounded(machine.cost() / 1000),
      reference: null,
      ratio: null,
      unit: 'ms by count',
      runs: 1,
      spread: 0,
      ...counts,
      evictions: machine.evictions(),
    });
  }
}

export const patternCounts: Bench = {
  name: 'pattern-counts',
  what: 'faults, copies, pages and unused pages of ways through memory, played in the core; not timed',
  run: async (settings) => run(settings),
};
