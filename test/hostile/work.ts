/** The process that makes the calls; started by main.ts, which watches it. */
import assert from 'node:assert/strict';
import { ftruncateSync, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { setParentDeathSignal } from '../../src/linux/processes/process.js';
import { sleep } from '../harness/suite.js';
import { CALLS, type Call, type Step, steps, textOf } from './calls.js';
import { missing } from './coverage.js';
import { Guest } from './guests.js';
import { type Company, Field, settled, World } from './world.js';

/** One in so many sequences has a space of its own, which it may close, or another process. */
const COMPANY_SHARE = 40;
/** Another process ends within so many milliseconds. */
const END_MS = 15;
/** Sequences whose calls stand in the log. */
const LOGGED = 16;
/** Sequences in which every call gives a result at some time. */
const ENOUGH = 10_000;
/** Codes that say nothing to a user, or that something is wrong within. */
const FORBIDDEN = new Set(['INTERNAL', 'ERR_INTERNAL_ASSERTION', 'ERR_ASSERTION']);
/** What the engine says when code goes wrong that did not look at its arguments. */
const UNTHOUGHT =
  /Cannot read properties|Cannot destructure|is not a function|is not iterable|Cannot convert|Cannot mix/;

/** These repeat what code of the program said. */
const QUOTING = new Set([
  'KERNEL_ERROR',
  'CALLBACK_ERROR',
  'CANCELLED',
  'PROVIDER_FAILED',
  'DEVICE_START',
]);

const [seedText, runsText, minutesText, path, logPath] = process.argv.slice(2);
const seed = Number(seedText);
const runs = Number(runsText);
const log = openSync(logPath, 'w');
const PROGRESS = 3;
const SIGKILL = 9;

// The end of main.ts, for instance because it takes too long, ends this, too.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);

/** Errors that were not caught. */
const strays: unknown[] = [];
process.on('unhandledRejection', (reason) => strays.push(reason));
process.on('uncaughtException', (error) => strays.push(error));
// One that ends the work must be seen.
process.on('exit', () => {
  for (const stray of strays) console.log(stray);
});

const field = new Field();
const first = Number(path === '' ? 0 : path.split(':')[0]);
let sequence = first - 1;
let failing = false;
const outcomes = { results: 0, errors: 0, codes: new Map<string, number>() };
/** How often each call gave a result. */
const results = new Map<string, number>(CALLS.map(({ name }) => [name, 0]));
let written = 0;

function note(text: string): void {
  // At once, so that the last lines are there however the process ends.
  written += writeSync(log, `${text}\n`, written);
}

function judge(error: unknown, what: string): string {
  assert.ok(error instanceof Error, `${what}: failed with ${typeof error}, which is no Error`);
  if (error instanceof assert.AssertionError) throw error;
  const { code } = error as { code?: unknown };
  const shown = error.stack ?? error.message;
  assert.equal(typeof code, 'string', `${what}: an error without a code: ${shown}`);
  assert.ok(!FORBIDDEN.has(code as string), `${what}: ${code}: ${shown}`);
  if (!QUOTING.has(code as string)) assert.doesNotMatch(error.message, UNTHOUGHT, what);
  outcomes.errors++;
  outcomes.codes.set(code as string, (outcomes.codes.get(code as string) ?? 0) + 1);
  return `${error.name} ${code}: ${error.message}`;
}

function succeeded({ name }: Call): void {
  outcomes.results++;
  results.set(name, (results.get(name) ?? 0) + 1);
}

async function settle(
  call: Call,
  promise: Promise<unknown>,
  what: string,
  world: World,
): Promise<void> {
  try {
    world.add(await settled(promise, what));
    succeeded(call);
  } catch (error) {
    note(`    ${what.slice(0, 60)} -> ${judge(error, what).slice(0, 300)}`);
  }
}

/** Makes one call. Returns what is still under way, in an object: a promise would be waited for. */
async function take(step: Step, world: World): Promise<{ end: Promise<void> } | null> {
  const what = textOf(step);
  note(`  ${what}`);
  let result: unknown;
  try {
    const receiver = step.receiver?.make(world);
    const args = step.args.map((arg) => arg.make(world));
    result = step.call.run(receiver, args);
  } catch (error) {
    note(`    -> ${judge(error, what).slice(0, 300)}`);
    return null;
  }
  if (result instanceof Promise) {
    const end = settle(step.call, result, what, world);
    if (!step.waits) return { end };
    await end;
    return null;
  }
  succeeded(step.call);
  world.add(result);
  return null;
}

async function play(made: readonly Step[], company: Company): Promise<void> {
  const world = await World.make(field, company);
  const end = company.endsWith('ends')
    ? sleep(sequence % END_MS).then(() => world.endCompany())
    : null;
  const pending: Promise<void>[] = [];
  let failure: unknown = null;
  for (const step of made) {
    try {
      const left = await take(step, world);
      if (left === null) continue;
      pending.push(left.end);
      // Its failure is told below; it must not count as an unhandled rejection until then.
      left.end.catch(() => undefined);
    } catch (error) {
      failure ??= error;
    }
  }
  for (const each of await Promise.allSettled(pending))
    if (each.status === 'rejected') failure ??= each.reason;
  await end;
  if (failure !== null) throw failure;
  note('  the end');
  for (const event of world.events) {
    try {
      await settled(event.synchronize(), `an operation of the sequence`);
    } catch (error) {
      judge(error, 'an operation of the sequence');
    }
  }
  await world.end();
  // Unhandled rejections are told in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  if (strays.length > 0) {
    const [stray] = strays.splice(0);
    assert.fail(`nobody caught ${stray instanceof Error ? stray.stack : String(stray)}`);
  }
}

const companies = fc.oneof(
  { weight: COMPANY_SHARE - 1, arbitrary: fc.constant<Company>('none') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Company>(
      'simulated',
      'process',
      'another owner',
      'an owner that ends',
      'a user that ends',
    ),
  },
);

const property = fc.asyncProperty(companies, steps, async (company, made) => {
  if (!failing) sequence++;
  if (sequence % LOGGED === 0 && !failing) {
    ftruncateSync(log, 0);
    written = 0;
  }
  note(`sequence ${sequence}, company: ${company}`);
  writeSync(PROGRESS, failing ? 's' : '.');
  try {
    await play(made, company);
  } catch (error) {
    failing = true;
    strays.length = 0;
    note(`  FAILED: ${error instanceof Error ? error.stack : String(error)}`);
    await Promise.race([field.renew(), new Promise((resolve) => setTimeout(resolve, 5000))]);
    throw error;
  }
});

const uncovered = missing();
if (uncovered.length > 0) {
  console.log(`no sequence calls ${uncovered.join(', ')}: add them to test/hostile/calls.ts`);
  process.exit(1);
}

/** What each open descriptor is of. */
function descriptors(): string[] {
  return readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+\]$/, ']');
    } catch {
      return 'the folder that was just read';
    }
  });
}

/** Files of arrays that were freed in the last turns may still be closed just now. */
const SPARE = 8;
/** A process that attached a space keeps its memory, and the thread that watches for its owner. */
const OF_A_GUEST = 8;
// Spaces start threads with what first needs them, and sequences may start a device again: so all
// is counted while none is open.
await field.open();
await field.closeSpaces();
const before = descriptors();
await field.open();
const started = performance.now();
const details = await fc.check(property, {
  seed,
  numRuns: runs,
  ...(path === '' ? {} : { path }),
  interruptAfterTimeLimit: Number(minutesText) * 60_000,
});
if (details.failed) {
  const [company, made] = details.counterexample ?? ['none', []];
  console.log(
    `FAIL after ${details.numShrinks} steps of making it smaller: seed ${seed}, path ${details.counterexamplePath}`,
  );
  console.log(`     company: ${company}`);
  for (const step of made) console.log(`     ${textOf(step)}`);
  const error = details.errorInstance;
  console.log(`     ${error instanceof Error ? error.stack : String(error)}`);
  console.log(`again: npm run -s hostile -- --seed ${seed} --path ${details.counterexamplePath}`);
  process.exit(1);
}
// Calls that are refused every time show nothing of what comes after the refusal.
const needsServer = (name: string): boolean => /sharedArray|^SharedArray\./.test(name);
const refused = [...results]
  .filter(([name, count]) => count === 0 && (field.hasServer || !needsServer(name)))
  .map(([name]) => name);
if (details.numRuns >= ENOUGH && path === '' && refused.length > 0) {
  console.log(`FAIL: no call of ${refused.join(', ')} has given a result`);
  process.exit(1);
}
// A closed space keeps a descriptor, and one of them its threads, as long as views of it are left;
// the engine has to find out.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
await field.closeSpaces();
let after = descriptors();
const most = before.length + SPARE + OF_A_GUEST * Guest.attached;
for (let look = 0; look < 200 && after.length > most; look++) {
  collect();
  await new Promise((resolve) => setTimeout(resolve, 50));
  after = descriptors();
}
await field.close();
const codes = [...outcomes.codes]
  .sort(([, a], [, b]) => b - a)
  .map(([code, count]) => `${code} ${count}`);
console.log(`${outcomes.results} results, ${outcomes.errors} named errors: ${codes.join(', ')}`);
if (after.length > most) {
  const count = (all: string[], name: string): number => all.filter((each) => each === name).length;
  const counts = [...new Set(after)].map(
    (name) => `${name} ${count(after, name) - count(before, name)}`,
  );
  console.log(
    `FAIL: ${after.length - before.length} descriptors are left open, of ${counts.join(', ')}`,
  );
  process.exit(1);
}
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`${details.numRuns} sequences are done, in ${seconds} s`);
