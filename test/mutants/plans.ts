/** Rules of src/policy/plan, each left out: launches that are known take longer without it. */
import { type PatternMutant, rulesIn } from './patterns.js';

const rule = rulesIn('plans', 'plan');

export const planMutants: readonly PatternMutant[] = [
  rule(
    'bring nothing for a launch that waits',
    'plan',
    'if (current === null || !isPlanned()) return -1;',
    'return -1;',
    'plan-chunks',
    'faults',
  ),
  rule(
    'let go what is used last only by chance',
    'plan',
    'if (!isPlanned()) return otherwise.evict(evictable);',
    'return otherwise.evict(evictable);',
    'plan-swapped',
  ),
  rule(
    'let go for what comes a block that is used before',
    'plan',
    'may(block) && nextUse(block) > time',
    'may(block)',
    'plan-swapped',
  ),
  rule(
    'let go for what comes another block than MIN would',
    'plan',
    'if (freeUse < latest) return -1;',
    'if (free === -1) return -1;',
    'plan-swapped',
  ),
  rule(
    'bring what a launch begins from zeros',
    'coming',
    'if (use < this.step || use > this.step + 1) continue;',
    '',
    'plan-fresh',
  ),
  rule(
    'bring for a launch that was never seen, where others need the room',
    'coming',
    'if (!profile.isKnown && freeBlocks < this.lacking + profile.lacks(uses.isHere)) return -1;',
    '',
    'plan-first-time',
  ),
];
