/**
 * Goes through all states of the protocol by which machines share an array, in small settings, and
 * shows that mistakes in it are found.
 */
import { MutantCode } from '../harness/mutants.js';
import { readOptions } from '../harness/options.js';
import { explore } from './explore.js';
import { mutants } from './mutants.js';
import { LARGE, SMALL } from './settings.js';

const USAGE = `npm run -s coherence -- [--large] [--only PART OF A NAME] [--most STATES]

--large        larger settings, too, and the mistakes that only they find
--only TEXT    those settings and mutants whose name has it
--most STATES  of a setting; 3000000 unless said otherwise`;

const { values } = readOptions(USAGE, {
  options: {
    large: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    most: { type: 'string', default: '3000000' },
  },
});
const wanted = <T extends { readonly name: string }>(all: readonly T[]): T[] =>
  all.filter(({ name }) => name.includes(values.only));
let passed = 0;
let failed = 0;

function say(good: boolean, text: string): void {
  console.log(`${good ? 'ok  ' : 'FAIL'} ${text}`);
  if (good) passed++;
  else failed++;
}

for (const setting of wanted(values.large ? [...SMALL, ...LARGE] : SMALL)) {
  const { states, ends, violation, complete } = explore(setting, Number(values.most));
  say(complete, `${setting.name}: ${states} states, ${ends} ends`);
  if (violation !== null)
    console.log(
      `     ${violation.text}: ${violation.way.map((action) => action.join(' ')).join(', ')}`,
    );
  else if (!complete) console.log(`     there are more than ${values.most} states`);
}

const code = MutantCode.compile(mutants, ['test/coherence/explore.ts']);
try {
  const { chooseMutant } = (await import(
    code.url('test/harness/mutant-switch.ts').href
  )) as typeof import('../harness/mutant-switch.js');
  const changed = (await import(
    code.url('test/coherence/explore.ts').href
  )) as typeof import('./explore.js');
  const settings = values.large || values.only !== '' ? [...SMALL, ...LARGE] : SMALL;
  for (const { name, setting: told } of wanted(mutants)) {
    if (settings === SMALL && !SMALL.some((each) => each.name === told)) continue;
    chooseMutant(name);
    const setting = settings.find((each) => each.name === told);
    if (setting === undefined) throw new Error(`mistake '${name}': there is no setting '${told}'`);
    const { violation } = changed.explore(setting, 100_000);
    const how =
      violation === null
        ? `is not found by ${told}`
        : `is found by ${told}, ${violation.way.length} steps: ${violation.text}`;
    say(violation !== null, `mistake '${name}' ${how}`);
  }
} finally {
  code.remove();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
