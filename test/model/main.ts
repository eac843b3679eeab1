/**
 * Random programs over all that the library offers, compared with plain typed arrays, each in a
 * process of its own. A program that fails is made smaller, and printed.
 *
 * Some arrays are shared with another space, by a Valkey or Redis server that this starts; where
 * none is to be had it says so.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../harness/options.js';
import { ValkeyServer, valkeyPrograms } from '../harness/valkey-server.js';
import { Watchdog } from '../watchdog.js';

const USAGE = `npm run -s model -- --minutes 20                 programs of fresh seeds; a third of a minute unless said otherwise
npm run -s model -- --seed 17 --minutes 1        those of seeds 17, 18, ...
npm run -s model -- --seed 17 --programs 5       five of them, however long they take
npm run -s model -- --seed 17 --steps 3,9,12     these steps of one program, again

--jobs J       so many at the same time; as many as there are CPUs unless said otherwise
--no-shrink    makes no program smaller that fails
--logs FOLDER  keeps there all that programs did which failed`;

/** A step takes milliseconds; one that takes this long hangs. */
const SILENCE_SECONDS = 60;
/** The same while a program is made smaller, which may hang at every attempt. */
const SHORTER_SILENCE_SECONDS = 25;
const STEPS = 120;
/** What a program that failed may take to be made smaller. */
const SHRINK_MS = 120_000;
/** A failure may depend on time: a smaller program gets so many chances to fail, too. */
const ATTEMPTS = 2;
const LOG_LINES = 60;
/** What the library says of what it had to give up, which a program may see to. */
const WARNINGS =
  /^onemem: warning: (pages of a clone could not be copied|what was written to array \S+ and not flushed is lost: |what was written to a shared array of \S+ cannot go there |array \S+ is freed: elements of array \S+ from \d+ on were written here and are lost, whose only copy was on a device that died;|its spill file in|a freed array is kept|storage in \S+ could not be read).*\n/gm;
const FLAGS = ['--unhandled-rejections=strict'];

interface Outcome {
  /** Why the program failed, or null. */
  readonly failure: string | null;
  readonly log: string;
}

const { values } = readOptions(USAGE, {
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string' },
    programs: { type: 'string' },
    steps: { type: 'string' },
    jobs: { type: 'string' },
    logs: { type: 'string' },
    shrink: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const first = Number(values.seed ?? Math.floor(Math.random() * 2 ** 30));
const minutes = Number(values.minutes ?? (values.programs === undefined ? 1 / 3 : 60));
const programs = Number(values.programs ?? Number.MAX_SAFE_INTEGER);
const jobs = Number(values.jobs ?? availableParallelism());
const chosen = values.steps?.split(',').map(Number) ?? null;
if (
  !Number.isSafeInteger(first) ||
  !(minutes > 0) ||
  !(programs >= 1) ||
  !(jobs >= 1) ||
  chosen?.some((step) => !Number.isInteger(step))
) {
  console.error(USAGE);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'onemem-model-log-'));
const program = fileURLToPath(new URL('./run.js', import.meta.url));
let runs = 0;

function play(seed: number, steps: readonly number[], silenceSeconds: number): Promise<Outcome> {
  const log = join(folder, `${++runs}`);
  writeFileSync(log, '');
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [...FLAGS, program, String(seed), JSON.stringify(steps), log],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      },
    );
    const watchdog = new Watchdog(child, silenceSeconds);
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      watchdog.heard();
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.on('close', (code, signal) => {
      watchdog.stop();
      const good =
        code === 0 &&
        output.endsWith('\nthe program is done\n') &&
        errors.replace(WARNINGS, '') === '';
      const end = watchdog.reason || (signal === null ? `exit code ${code}` : `ended by ${signal}`);
      const text = readFileSync(log, 'utf8');
      rmSync(log);
      resolve({ failure: good ? null : `${end}\n${errors}`, log: text });
    });
  });
}

/**
 * Fails as the whole program does, with fewer steps: leaves out parts, as long as something goes
 * wrong without them.
 */
async function shrink(
  seed: number,
  all: readonly number[],
  failed: Outcome,
): Promise<{ steps: number[]; outcome: Outcome }> {
  const end = Date.now() + SHRINK_MS;
  // Steps that the program did not reach.
  const reached = Number([...failed.log.matchAll(/^step (\d+)$/gm)].at(-1)?.[1] ?? 0);
  let steps = all.filter((step) => step <= reached);
  let outcome = failed;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = steps.length - size; at > -size; at -= size) {
      if (Date.now() > end) return { steps, outcome };
      const fewer = [...steps.slice(0, Math.max(at, 0)), ...steps.slice(Math.max(at, 0) + size)];
      if (fewer.length === steps.length) continue;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const result = await play(seed, fewer, SHORTER_SILENCE_SECONDS);
        if (result.failure === null) continue;
        steps = fewer;
        outcome = result;
        break;
      }
    }
  }
  return { steps, outcome };
}

function show(seed: number, steps: readonly number[] | null, { failure, log }: Outcome): void {
  if (values.logs !== undefined)
    writeFileSync(
      join(values.logs, `seed-${seed}${steps === null ? '' : '-smaller'}.log`),
      `${failure}\n${log}`,
    );
  const lines = log.trimEnd().split('\n');
  const left = lines.length - LOG_LINES;
  console.log(`FAIL seed ${seed}: ${failure?.trimEnd()}`);
  if (left > 0) console.log(`     (${left} lines before that)`);
  console.log(lines.slice(-LOG_LINES).join('\n').replace(/^/gm, '     '));
  const which = steps === null ? '' : ` --steps ${steps.join(',')}`;
  console.log(`again: npm run -s model -- --seed ${seed}${which}`);
}

// By which programs have arrays that another machine has, too.
const found = valkeyPrograms();
if (typeof found === 'string') console.log(`SKIPPED: arrays that several machines share: ${found}`);
const server = typeof found === 'string' ? null : await ValkeyServer.start();
if (server !== null) process.env.ONEMEM_MODEL_SERVER = server.url;

let passed = 0;
let failed = 0;
const all = Array.from({ length: STEPS }, (_, step) => step);
if (chosen !== null) {
  const outcome = await play(first, chosen, SILENCE_SECONDS);
  console.log(outcome.log.trimEnd());
  if (outcome.failure === null) passed++;
  else {
    failed++;
    console.log(`FAIL ${outcome.failure}`);
  }
} else {
  const end = Date.now() + minutes * 60_000;
  console.log(
    `seeds from ${first} on, ${values.programs === undefined ? `${minutes.toFixed(2)} minutes` : `${programs} programs`}`,
  );
  let seed = first;
  const work = async (): Promise<void> => {
    while (Date.now() < end && seed - first < programs) {
      const own = seed++;
      const outcome = await play(own, all, SILENCE_SECONDS);
      if (outcome.failure === null) {
        passed++;
        continue;
      }
      failed++;
      show(own, null, outcome);
      if (!values.shrink) continue;
      const smaller = await shrink(own, all, outcome);
      console.log(`seed ${own} with ${smaller.steps.length} of its steps:`);
      show(own, smaller.steps, smaller.outcome);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  console.log(`seeds ${first} to ${seed - 1}`);
}
await server?.[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
