/**
 * Rules of what comes and where it is used, each left out. None of them can make a page wrong: each is caught by a
 * way through memory that takes longer without it, by counts that are the same on every machine.
 */
import type { Mutant } from '../harness/mutants.js';

export interface PatternMutant extends Mutant {
  /** What is played: a name in test/patterns/plays.ts. */
  readonly play: string;
  /** What there is more of without the rule: all that is counted, weighed; or faults. */
  readonly more: 'cost' | 'faults';
}

type Rule = (
  name: string,
  file: string,
  original: string,
  instead: string,
  play: string,
  more?: PatternMutant['more'],
) => PatternMutant;

/** Makes mutants of the files of a folder of src/policy. */
export const rulesIn =
  (group: string, folder: string): Rule =>
  (name, file, original, instead, play, more = 'cost') => ({
    name: `${group}: ${name}`,
    file: `src/policy/${folder}/${file}.ts`,
    original,
    instead,
    play,
    more,
  });

const rule = rulesIn('patterns', 'pattern');

export const patternMutants: readonly PatternMutant[] = [
  {
    name: 'uvm: pin nothing that thrashes',
    file: 'src/policy/uvm.ts',
    original: 'turns >= THRASHING && sinceTurn <= PINNED',
    instead: 'false',
    play: 'uvm-thrashing',
    more: 'cost',
  },
  {
    name: 'count no turns of a block',
    file: 'src/core/pattern/turns.ts',
    original: 'if (block.turnOf !== NO_PROCESSOR) block.turns++;',
    instead: '',
    play: 'uvm-thrashing',
    more: 'cost',
  },
  {
    name: 'patterns: ask nothing for a processor without memory of its own',
    file: 'src/core/service/faults.ts',
    original: 'processor.prefetch(touch);',
    instead:
      'if (inPlace) addRun(touch.result, page & ~(PAGES_PER_GROUP - 1), PAGES_PER_GROUP); else processor.prefetch(touch);',
    play: 'storage-random-attached',
    more: 'cost',
  },
  {
    name: 'patterns: map a whole block that is there, whatever the touch',
    file: 'src/core/service/faults.ts',
    original: 'IN_PARTS.includes(reason)',
    instead: 'false',
    play: 'present-every-64th-attached',
    more: 'cost',
  },
  {
    name: 'patterns: map parts of a block that is there however many were touched',
    file: 'src/core/service/faults.ts',
    original: 'size(mapped) < MANY',
    instead: 'true',
    play: 'present-random-attached',
    more: 'cost',
  },
  {
    name: 'patterns: have whole blocks leave, whatever a stride has passed of them',
    file: 'src/core/movement/reclaim.ts',
    original: 'if (evictPassed(state, node, mostRank)) continue;',
    instead: '',
    play: 'columns',
    more: 'cost',
  },
  rule(
    'bring as many neighbours from slow memory as from any',
    'pattern',
    'touch.sourcePages < count',
    'false',
    'slow-memory-random',
  ),
  rule(
    'forget where a launch has walked from',
    'pattern',
    'guess && this.repeats && touch.declared && isEmpty(touch.mapped)',
    'false',
    'triad-again-fits',
    'faults',
  ),
  rule(
    'take a launch to walk on from wherever one began',
    'pattern',
    'before !== null && blocksOf(before) > 0',
    'before !== null',
    'walks-once-fits',
  ),
  rule('see no strides', 'stride', 'if (!this.isKnown) return;', 'return;', 'columns-2048'),
  rule(
    'see strides only where pages come alone',
    'pattern',
    'scattered ? this.stride.isKnown : !follows && this.stride.isWide',
    'scattered && this.stride.isKnown',
    'every-64th-page',
  ),
  rule(
    'forget a stride at the first touch elsewhere',
    'stride',
    'this.votes > 1',
    'false',
    'every-16th-page',
  ),
  rule(
    'take the middle of a page for the place of a stride',
    'stride',
    'Math.min(Math.max((low + high) / 2, at + 0.01), at + 0.99)',
    'at + 0.5',
    'columns-some',
  ),
  rule(
    'go on with the whole window of a stride at another place',
    'stride',
    'this.window = Math.min(this.window, FEW);',
    '',
    'columns-some',
  ),
  rule(
    'try no block page by page',
    'trial',
    'used * 4 <= budgetPages * QUARTERS',
    'false',
    'columns-2048',
  ),
  rule(
    'have pages come alone though they use too much',
    'trial',
    'used * 4 <= budgetPages * QUARTERS',
    'true',
    'every-2nd-page',
  ),
  rule(
    'try blocks as often as at first',
    'trial',
    'sparse ? FIRST : Math.min(this.every * 2, LAST)',
    'FIRST',
    'every-5th-page',
  ),
  rule(
    'bring a block ahead that is to be tried',
    'pattern',
    "touch.advice === 'normal' && isTried(touch, trial, touch.ahead + 1)",
    'false',
    'columns-wide',
  ),
  rule(
    'bring 64 KiB to touches here and there',
    'pattern',
    '(again || !follows) && this.scattered >= SCATTERED',
    'false',
    'file-random',
  ),
  rule(
    'keep what lies beside irregular touches of a sparse block',
    'pattern',
    "this.trial.sparse ? 'stride' : 'scattered'",
    "'scattered'",
    'columns-some',
  ),
  rule(
    'know no walk soon after touches here and there',
    'pattern',
    'this.scattered - FOLLOWED',
    'this.scattered - 1',
    'hot-and-scan',
  ),
  rule(
    'bring no part of a block because most of it is there',
    'pattern',
    'there * 100 <= width * thresholdPercent',
    'true',
    'fits-read',
  ),
  rule(
    'bring a walk no more than at first while the memory is full',
    'pattern',
    'length > 1',
    'false',
    'nine-arrays',
  ),
  rule(
    'bring a block to each of more walks than there is room for',
    'window-cap',
    'uses.length > 0',
    'false',
    'nine-arrays',
  ),
  rule(
    'go on to try a block of which all has come',
    'trial',
    'hasNeighbour(mapped, page)',
    '!has(mapped, page) && hasNeighbour(mapped, page)',
    'storage-behind-attached',
  ),
  rule(
    'bring a block though blocks come back too soon',
    'window-cap',
    'touch.pressed && !touch.again && isEmpty(touch.mapped)',
    'false',
    'forty-files-at-once',
  ),
  rule(
    'know no walk downwards',
    'pattern',
    'touch.page >= PAGES_PER_BLOCK - PAGES_PER_GROUP && touch.hasWhole(1)',
    'false',
    'reverse',
  ),
  rule(
    'bring one block where content of an engine begins, however it went last time',
    'pattern',
    'before === null ? 1 : asLastTime(before)',
    '1',
    'gpu-results',
    'faults',
  ),
  rule(
    'bring a walk no rest of a block from an engine',
    'pattern',
    "touch.source === 'far' && length > (touch.write ? 1 : 0)",
    'false',
    'gpu-results-part',
    'faults',
  ),
];
