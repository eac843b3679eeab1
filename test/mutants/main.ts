/**
 * Proves that the simulation finds mistakes: each mutant is made in a copy of the compiled core, and some schedule must fail
 * there; without a mutant all must pass.
 *
 *   npm run -s mutants -- [--schedules N] [--only PART OF A NAME] [--jobs J] [--update]
 *
 * For each mutant, seeds.json has the schedule that found it last, with which the search begins; `--update` looks for the first ones
 * anew, which another change of the simulation may ask for.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutant, mutants } from './mutants.js';

const compiled = fileURLToPath(new URL('../..', import.meta.url));
const seedsFile = join(fileURLToPath(new URL('../../..', import.meta.url)), 'test/mutants/seeds.json');
const FIRST_SEED = 1;
/** What a schedule may take of a processor with a mutant: with a sound core none takes a second. */
const LIMIT_SECONDS = 5;
/** A schedule that goes round for ever ends by the simulation's own limit; all of them take less than this, on a busy machine too. */
const SECONDS = 1800;

interface Outcome {
  /** The schedule that failed first, or null. */
  readonly seed: number | null;
  readonly text: string;
}

/** A folder with the compiled code and one mistake in it; undefined: without. */
function prepare(mutant: Mutant | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-mutant-'));
  const parts = ['src/core', 'src/policy', 'src/drivers', 'src/pager', 'src/linux/thread-state.js', 'test/simulation'];
  for (const part of ['package.json', ...parts]) {
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

function simulate(folder: string, args: readonly string[]): Promise<Outcome> {
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
      else if (signal === 'SIGKILL') reject(new Error(`the schedules took more than ${SECONDS} s`));
      else if (code === 0) resolve({ seed: null, text: '' });
      else reject(new Error(`the simulation ended with ${code} and named no schedule:\n${output}`));
    });
  });
}

async function attempt(mutant: Mutant | undefined, args: readonly string[]): Promise<Outcome> {
  const folder = prepare(mutant);
  try {
    return await simulate(folder, args);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    update: { type: 'boolean', default: false },
  },
});
const schedules = Number(values.schedules);
const known = JSON.parse(readFileSync(seedsFile, 'utf8')) as Record<string, number>;
const found = new Map<string, number>();
let passed = 0;
let failed = 0;

/** Without a mutant the schedules that find them must pass. */
async function checkSound(): Promise<void> {
  const { seed, text } = await attempt(undefined, ['--seed', [FIRST_SEED, ...Object.values(known)].join(',')]);
  if (seed === null) passed++;
  else {
    failed++;
    console.log(`without a mutant: seed ${seed} failed ${text}`);
  }
}

async function check(mutant: Mutant): Promise<void> {
  const last = known[mutant.name] ?? FIRST_SEED;
  const from = (first: number): Promise<Outcome> =>
    attempt(mutant, [
      '--schedules',
      `${schedules}`,
      '--jobs',
      '1',
      '--stop-after',
      '1',
      '--limit',
      `${LIMIT_SECONDS}`,
      '--first-seed',
      `${first}`,
    ]);
  let first = values.update ? FIRST_SEED : last;
  let { seed, text } = await from(first);
  if (seed === null && first !== last) {
    first = last;
    ({ seed, text } = await from(first));
  }
  if (seed === null) {
    failed++;
    console.log(`NOT CAUGHT  ${mutant.name}: ${schedules} schedules passed. ${mutant.why}`);
  } else {
    passed++;
    found.set(mutant.name, seed);
    console.log(`caught  ${mutant.name}: after ${seed - first + 1} schedules, ${text}`);
  }
}

const waiting = mutants.filter(({ name }) => name.includes(values.only)).map((mutant) => () => check(mutant));
if (!values.update) waiting.unshift(checkSound);
const work = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
};
await Promise.all(Array.from({ length: Number(values.jobs) }, work));
if (values.update) {
  // In the order of the mutants, without those that have gone.
  const kept = mutants.flatMap(({ name }) => {
    const seed = found.get(name) ?? known[name];
    return seed === undefined ? [] : [[name, seed]];
  });
  writeFileSync(seedsFile, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
