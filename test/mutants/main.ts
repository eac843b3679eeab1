/**
 * Proves that the simulation finds mistakes: each mutant is made in a copy of the compiled core, and some schedule must fail
 * there; without a mutant all must pass.
 *
 *   npm run -s mutants -- [--schedules N] [--only PART OF A NAME]
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutant, mutants } from './mutants.js';

const compiled = fileURLToPath(new URL('../..', import.meta.url));
const FIRST_SEED = 1;
/** A mistake may make the core go round for ever. */
const SECONDS = 120;

interface Outcome {
  /** The schedule that failed first, or null. */
  readonly seed: number | null;
  readonly text: string;
}

/** A folder with the compiled code and one mistake in it; undefined: without. */
function prepare(mutant: Mutant | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-mutant-'));
  for (const part of ['package.json', 'src/core', 'src/policy', 'src/drivers', 'src/pager', 'test/simulation']) {
    cpSync(join(compiled, part), join(folder, part), { recursive: true });
  }
  if (mutant === undefined) return folder;
  const path = join(folder, mutant.file);
  const text = readFileSync(path, 'utf8');
  const matches = text.split(mutant.find).length - 1;
  if (matches !== 1) {
    rmSync(folder, { recursive: true });
    throw new Error(
      `'${mutant.name}': what it replaces stands ${matches} times in ${mutant.file}, and must stand once`,
    );
  }
  writeFileSync(
    path,
    text.replace(mutant.find, () => mutant.replace),
  );
  return folder;
}

function simulate(folder: string, first: number, schedules: number): Promise<Outcome> {
  const args = ['--schedules', `${schedules}`, '--first-seed', `${first}`, '--jobs', '1', '--stop-after', '1'];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(folder, 'test/simulation/main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: SECONDS * 1000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    child.stderr.on('data', (data) => {
      output += data;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const failure = /^seed (\d+) failed (.*)$/m.exec(output);
      if (failure !== null) resolve({ seed: Number(failure[1]), text: failure[2] });
      else if (signal === 'SIGKILL')
        resolve({ seed: first + schedules - 1, text: `by not ending within ${SECONDS} s` });
      else if (code === 0) resolve({ seed: null, text: '' });
      else reject(new Error(`the simulation ended with ${code} and named no schedule:\n${output}`));
    });
  });
}

async function attempt(mutant: Mutant | undefined, schedules: number): Promise<Outcome> {
  const folder = prepare(mutant);
  try {
    return await simulate(folder, mutant?.firstSeed ?? FIRST_SEED, schedules);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { values } = parseArgs({
  options: { schedules: { type: 'string', default: '1000' }, only: { type: 'string', default: '' } },
});
const schedules = Number(values.schedules);
let passed = 0;
let failed = 0;
const sound = await attempt(undefined, schedules);
if (sound.seed === null) passed++;
else {
  failed++;
  console.log(`without a mutant: seed ${sound.seed} failed ${sound.text}`);
}
for (const mutant of mutants) {
  if (!mutant.name.includes(values.only)) continue;
  const { seed, text } = await attempt(mutant, schedules);
  if (seed === null) {
    failed++;
    console.log(`NOT CAUGHT  ${mutant.name}: ${schedules} schedules passed. ${mutant.why}`);
  } else {
    passed++;
    console.log(`caught  ${mutant.name}: after ${seed - (mutant.firstSeed ?? FIRST_SEED) + 1} schedules, ${text}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
