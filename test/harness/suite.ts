/**
 * Tests of one file, run one after the other in a process of its own. The process says on
 * descriptor 3 which test it has begun and how it ended, so that main.ts, which started it, can end
 * a process that hangs and name the test that hung. Started by hand, `node
 * .build/test/integration/FILE.js`, it prints the same and has no watchdog.
 */
import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';

export type Report =
  | {
      readonly kind: 'begin';
      readonly index: number;
      readonly name: string;
      readonly seconds: number;
    }
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'end';
      readonly index: number;
      readonly ms: number;
      readonly failure: string | null;
    }
  | { readonly kind: 'all'; readonly count: number };

interface Test {
  readonly name: string;
  readonly seconds: number | undefined;
  readonly run: () => unknown;
}

const tests: Test[] = [];
const REPORTS = 3;
/**
 * How long one test may take, unless it or its file says otherwise, on a machine that does other
 * things meanwhile.
 */
const SECONDS = 60;

const first = optionOf('--from');
const reporting = first !== null;

function optionOf(name: string): number | null {
  const at = process.argv.indexOf(name);
  return at === -1 ? null : Number(process.argv[at + 1]);
}

function tell(report: Report): void {
  if (reporting) writeSync(REPORTS, `${JSON.stringify(report)}\n`);
  else if (report.kind === 'note') console.log(`     ${report.text}`);
  else if (report.kind === 'end') {
    console.log(`${report.failure === null ? 'ok  ' : 'FAIL'} ${tests[report.index].name}`);
    if (report.failure !== null) console.log(report.failure);
  }
}

export function test(name: string, run: () => unknown, seconds?: number): void {
  tests.push({ name, run, seconds });
}

/** Set by `npm run test:long`. */
export const LONG = process.env.ONEMEM_LONG === '1';
let left = 0;

/**
 * A test that takes seconds of a processor and has a shorter one beside it: `npm run test:long`
 * runs it.
 */
export function longTest(name: string, run: () => unknown, seconds?: number): void {
  if (LONG) test(name, run, seconds);
  else left++;
}

const seen = new Set<string>();

/**
 * A test that a loop makes for each of several values: the first is always run, the others by
 * `npm run test:long`. Tests of one loop have the same function.
 */
export function variantTest(name: string, run: () => unknown, seconds?: number): void {
  const source = run.toString();
  if (seen.has(source)) longTest(name, run, seconds);
  else test(name, run, seconds);
  seen.add(source);
}

/** Something that a person who reads the output should know: a seed, or what was measured. */
export function note(text: string): void {
  tell({ kind: 'note', text });
}

const afterwards: (() => Promise<void>)[] = [];

/** Has something done after a test that failed, and after the last one. */
export function whenFailedOrDone(action: () => Promise<void>): void {
  afterwards.push(action);
}

async function runAfterwards(): Promise<void> {
  for (const action of afterwards) await action();
}

/** @param usual how long a test may take that does not say it */
export async function runTests(usual = SECONDS): Promise<void> {
  const only = process.argv.indexOf('--only');
  if (left > 0) note(`left to npm run test:long (ONEMEM_LONG=1): ${left}`);
  for (const [index, { name, seconds = usual, run }] of tests.entries()) {
    if (index < (first ?? 0)) continue;
    if (only !== -1 && !name.includes(process.argv[only + 1])) continue;
    tell({ kind: 'begin', index, name, seconds });
    const started = performance.now();
    let failure: string | null = null;
    try {
      await run();
    } catch (error) {
      failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
    if (failure !== null) {
      process.exitCode = 1;
      await runAfterwards().catch(() => undefined);
    }
    tell({ kind: 'end', index, ms: performance.now() - started, failure });
  }
  await runAfterwards();
  tell({ kind: 'all', count: tests.length });
}

/** Runs `action`, which must fail with `code`, and returns the error for more questions. */
export async function failsWith(
  code: string,
  action: () => unknown,
): Promise<Error & { code: string }> {
  let result: unknown;
  try {
    result = await action();
  } catch (error) {
    assert.ok(error instanceof Error, `threw ${String(error)}, which is no Error`);
    assert.equal((error as { code?: string }).code, code, `wrong code, of: ${error.stack}`);
    return error as Error & { code: string };
  }
  assert.fail(`it should have failed with ${code}, but gave ${String(result)}`);
}

/**
 * Compares element by element and names the first difference; assert's own comparison of large
 * arrays takes minutes.
 */
export function sameData(
  actual: ArrayLike<number | bigint>,
  expected: (index: number) => number | bigint,
): void {
  let wrong = 0;
  let firstWrong = -1;
  for (let index = 0; index < actual.length; index++) {
    if (Object.is(actual[index], expected(index))) continue;
    if (wrong++ === 0) firstWrong = index;
  }
  if (wrong > 0) {
    assert.fail(
      `${wrong} of ${actual.length} elements are wrong, the first at ${firstWrong}: ${actual[firstWrong]} instead of ${expected(firstWrong)}`,
    );
  }
}

/**
 * Fills a typed array element by element, eight times as fast as its `from` with a function does.
 */
export function filled<T extends { [index: number]: number; readonly length: number }>(
  array: T,
  elementAt: (index: number) => number,
): T {
  for (let index = 0; index < array.length; index++) array[index] = elementAt(index);
  return array;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
