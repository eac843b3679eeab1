/**
 * Proves that the simulation finds mistakes: with each mutant some schedule must fail that passes
 * without it. seeds.json has the schedule that found each mutant last, with which the search
 * begins. Rules of what comes with a touch are left out, too: a way through memory must take longer.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type Mutant, MutantCode } from '../harness/mutants.js';
import { readOptions } from '../harness/options.js';
import { createPlaying, watch } from '../simulation/schedule.js';
import { mutants } from './mutants.js';
import { type PatternMutant, patternMutants } from './patterns.js';
import { planMutants } from './plans.js';
import type { Answer, Order } from './player.js';

const USAGE = `npm run -s mutants -- [--schedules N] [--only PART OF A NAME] [--every N] [--jobs J] [--update]

--schedules N  that a mutant is looked for in; 1000 unless said otherwise
--only TEXT    those mutants whose name has it
--every N      only each N-th of them; all are compiled
--compile      looks for none: that each fits its source and compiles is all
--jobs J       so many at the same time; as many as there are CPUs unless said otherwise
--update       writes the schedules that have found mutants to test/mutants/seeds.json`;

type Switch = typeof import('../harness/mutant-switch.js');
type Plays = typeof import('../patterns/plays.js');

const seedsFile = join(
  fileURLToPath(new URL('../../..', import.meta.url)),
  'test/mutants/seeds.json',
);
const FIRST_SEED = 1;
/**
 * What a schedule may take of a processor. Of those that are written down none takes a second with
 * the sound core; others take up to two.
 */
const LIMIT_SECONDS = 2;
const SEARCH_LIMIT_SECONDS = 6;

/** A thread that plays schedules, and the one after it when a schedule did not end. */
class Player {
  private worker: Worker | null = null;
  private playing = createPlaying();

  constructor(private readonly module: URL) {}

  play(order: Order, limitSeconds: number): Promise<Answer> {
    if (this.worker === null) {
      this.playing = createPlaying();
      this.worker = new Worker(this.module, { workerData: this.playing });
    }
    const { worker } = this;
    return new Promise<Answer>((resolve, reject) => {
      const unwatch = watch(this.playing, limitSeconds, (seed) => {
        this.end();
        resolve({
          failure: { seed, text: `by not ending within ${limitSeconds} s of a processor` },
          reached: true,
        });
      });
      worker.removeAllListeners();
      worker.on('error', reject);
      worker.on('message', (answer: Answer) => {
        unwatch();
        resolve(answer);
      });
      worker.postMessage(order);
    });
  }

  end(): void {
    void this.worker?.terminate();
    this.worker = null;
  }
}

const { values } = readOptions(USAGE, {
  options: {
    schedules: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    compile: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
  },
});
const schedules = Number(values.schedules);
const seeds = JSON.parse(readFileSync(seedsFile, 'utf8')) as Record<string, number>;
let passed = 0;
let failed = 0;

function say(good: boolean, text: string): void {
  console.log(text);
  if (good) passed++;
  else failed++;
}

async function check({ name, why }: Mutant, player: Player): Promise<void> {
  const firstSeed = seeds[name] ?? FIRST_SEED;
  let { failure, reached } = await player.play(
    { mutant: name, firstSeed, schedules: 1 },
    LIMIT_SECONDS,
  );
  if (failure === null) {
    const order = { mutant: name, firstSeed: firstSeed + 1, schedules: schedules - 1 };
    ({ failure, reached } = await player.play(order, SEARCH_LIMIT_SECONDS));
  }
  if (failure === null) {
    const seen = reached ? 'though its place was reached' : 'and its place was never reached';
    say(
      false,
      `NOT CAUGHT  ${name}: schedules ${firstSeed} to ${firstSeed + schedules - 1} passed, ${seen}. ${why}`,
    );
    return;
  }
  const { seed } = failure;
  const text = failure.text.split('\n')[0];
  // In the same thread: what the mutant has left behind would be found here, too.
  const sound = (
    await player.play({ mutant: '', firstSeed: seed, schedules: 1 }, SEARCH_LIMIT_SECONDS)
  ).failure;
  if (sound !== null) {
    say(false, `NOT SOUND  ${name}: seed ${seed} fails without it, too, ${sound.text}`);
    return;
  }
  seeds[name] = seed;
  say(
    true,
    `caught  ${name}: by seed ${seed}${seed === firstSeed ? '' : ` (write it down: --update)`}, ${text}`,
  );
}

/** What is more of something counts from so much more on. */
const WORSE = 1.05;

/** Plays patterns in this thread: none of them can go on without end. */
async function checkPatterns(chosen: readonly PatternMutant[], code: MutantCode): Promise<void> {
  const { chooseMutant } = (await import(code.url('test/harness/mutant-switch.ts').href)) as Switch;
  const { PLAYS } = (await import(code.url('test/patterns/plays.ts').href)) as Plays;
  for (const { name, play, more } of chosen) {
    const [without, sound] = [name, ''].map((mutant) => {
      chooseMutant(mutant);
      const machine = PLAYS[play]();
      return more === 'cost' ? machine.cost() : machine.faults;
    });
    const times = without / sound;
    const text = `${play} has ${times.toFixed(2)} times the ${more} without that rule`;
    if (times >= WORSE) say(true, `caught  ${name}: ${text}`);
    else say(false, `NOT CAUGHT  ${name}: ${text}. Remove the rule, or play what needs it`);
  }
}

const waiting = (values.compile ? [] : mutants)
  .filter(({ name }) => name.includes(values.only))
  .filter((_, at) => at % Number(values.every) === 0);
const counted = [...patternMutants, ...planMutants];
const patterns = values.compile ? [] : counted.filter(({ name }) => name.includes(values.only));
if (waiting.length + patterns.length === 0 && !values.compile)
  throw new Error(`no mutant's name has '${values.only}' in it; test/mutants has lists of them`);
const entries = ['test/mutants/player.ts', 'test/patterns/plays.ts'];
const all = [...mutants, ...counted];
const code = MutantCode.compile(all, entries);
if (values.compile) say(true, `${all.length} mutants fit their sources and compile`);
try {
  const work = async (): Promise<void> => {
    const player = new Player(code.url('test/mutants/player.ts'));
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await check(next, player);
    player.end();
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  await checkPatterns(patterns, code);
} finally {
  code.remove();
}
if (values.update) {
  // By name, so that mutants which two people add seldom stand side by side.
  const kept = mutants
    .flatMap(({ name }) => (name in seeds ? [[name, seeds[name]] as const] : []))
    .sort();
  writeFileSync(seedsFile, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
