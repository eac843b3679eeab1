/** Rules of src/policy/plan, each left out: launches that are known take longer without it. */
import { type PatternMutant, rulesIn } from './patterns.js';

const rule = rulesIn('plans', 'plan');

export const planMutants: readonly PatternMutant[] = [
  rule(
    'bring nothing for a launch that waits',
    'plan',
    'if (!timeline.isPlanned) return -1;',
    'return -1;',
    'plan-chunks',
    'faults',
  ),
  rule(
    'let go what is used last only by chance',
    'plan',
    'if (!timeline.isPlanned) return otherwise.evict(evictable);',
    'return otherwise.evict(evictable);',
    'plan-swapped',
  ),
  rule(
    'let go for what comes a block that is used before',
    'victims',
    'may(block) && timeline.nextUse(block) > time',
    'may(block)',
    'plan-swapped',
  ),
  rule(
    'let go for what comes another block than MIN would',
    'victims',
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
    'if (!profile.isKnown && freeBlocks < this.lacking + profile.lacks(memory.isHere)) return -1;',
    '',
    'plan-first-time',
  ),
  rule(
    'guess ahead of walks in a full memory as without a plan',
    'plan',
    'return Math.max(1, Math.floor(nodeBlocks / AHEAD_SHARE));',
    'return NEVER;',
    'plan-halves',
  ),
  rule(
    'let go a block between two uses for good',
    'profile',
    'if (progress > until + SLACK) return this.secondUse(at);',
    'if (progress > until + SLACK) return Number.POSITIVE_INFINITY;',
    'plan-halves',
  ),
  rule(
    'count a block as passed from its first use on',
    'profile',
    'this.moment - this.last[at] < RECENT * this.spans.length',
    'this.moment - this.seen[at] < RECENT * this.spans.length',
    'plan-halves',
  ),
];
