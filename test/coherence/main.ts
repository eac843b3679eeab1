/**
 * Goes through all states of the protocol by which machines share an array, in small settings, and shows that mistakes in it are found.
 *
 *   node .build/test/coherence/main.js [--large] [--only PART OF A NAME] [--most STATES]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Cache } from '../../src/coherence/cache.js';
import { Directory } from '../../src/coherence/directory.js';
import { explore } from './explore.js';
import { type Mutant, mutants } from './mutants.js';
import { LARGE, SMALL } from './settings.js';
import type { Protocol } from './world.js';

const compiled = fileURLToPath(new URL('../../src/coherence/', import.meta.url));
const { values } = parseArgs({
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

/** The protocol with a mistake in it. */
async function withMistake({ name, file, find, replace }: Mutant, folder: string): Promise<Protocol> {
  for (const each of ['messages.js', 'cache.js', 'directory.js']) {
    const text = readFileSync(join(compiled, each), 'utf8');
    if (each === file && text.split(find).length !== 2)
      throw new Error(`'${name}': what it replaces must stand once in ${file}`);
    writeFileSync(join(folder, each), each === file ? text.replace(find, () => replace) : text);
  }
  const load = (each: string): Promise<unknown> => import(pathToFileURL(join(folder, each)).href);
  return { ...((await load('cache.js')) as object), ...((await load('directory.js')) as object) } as Protocol;
}

for (const setting of wanted(values.large ? [...SMALL, ...LARGE] : SMALL)) {
  const { states, ends, violation, complete } = explore({ Cache, Directory }, setting, Number(values.most));
  say(complete, `${setting.name}: ${states} states, ${ends} ends`);
  if (violation !== null)
    console.log(`     ${violation.text}: ${violation.way.map((action) => action.join(' ')).join(', ')}`);
  else if (!complete) console.log(`     there are more than ${values.most} states`);
}

for (const mutant of wanted(mutants)) {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-coherence-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const protocol = await withMistake(mutant, folder);
    let found = '';
    for (const setting of SMALL) {
      const { violation } = explore(protocol, setting, 100_000);
      if (violation === null) continue;
      found = `${setting.name}, ${violation.way.length} steps: ${violation.text}`;
      break;
    }
    say(found !== '', `mistake '${mutant.name}' ${found === '' ? 'is not found' : `is found by ${found}`}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
