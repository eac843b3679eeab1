/**
 * Proves that the conformance suite finds mistakes: the broken device fails, with a reason for each
 * scenario, and each of its mistakes is found when it is the only one. And a driver that is sound,
 * that of the example, passes where they are found.
 *
 *   npm run -s suite-test
 *   npm run -s suite-test -- --all     all mistakes; the sound driver has to pass everything, and the broken one goes through everything
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type DriverFault, driverFaults } from '../../src/testing/index.js';

/** Most of their time is waiting. */
const AT_ONCE = 2;
const LEAST_FAILURES = 10;
/**
 * Some scenarios in which several mistakes at once must be found, too, and no process hang on them.
 */
const BROKEN_SCENARIOS = ['anon_read', 'file_read', 'migrate_release', 'migrate_alloc_failure'];
const REASON_CHARACTERS = 20;
const all = process.argv.includes('--all');

/** Without --all, these stand for the others. */
const CHOSEN: readonly DriverFault[] = [
  'loses write-backs',
  'maps before the copy ends',
  'says Done on failure',
  'throws where memory is given back',
  'answers twice',
];

interface Line {
  readonly scenario: string;
  readonly device: string;
  readonly result: string;
  readonly why: string;
}

/** Runs the suite to its end, and returns its lines. */
async function suite(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Line[]> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [path, '--json', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...env },
  });
  const lines: Line[] = [];
  let last = '';
  const ended = new Promise((resolve) => child.once('close', resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{')) lines.push(JSON.parse(line) as Line);
    last = line;
  }
  const failed = lines.filter(({ result }) => result === 'fail').length;
  assert.match(last, new RegExp(`^\\d+ passed, ${failed} failed`));
  assert.equal(await ended, failed > 0 ? 1 : 0);
  return lines;
}

/** Where each mistake, alone, is found first, and what is said of it. */
const FOUND: Record<DriverFault, readonly [scenario: string, why: RegExp]> = {
  'loses write-backs': ['migrate_release', /what the CPU reads: \d+ of 1048576 elements are wrong/],
  'forgets the last bytes of a copy': [
    'anon_write',
    /256 of 1048576 elements are wrong, the first is 65520 \(page 63\)/,
  ],
  'keeps old translations': ['oversubscribe', /elements are wrong/],
  'maps before the copy ends': ['anon_read', /elements are wrong/],
  'maps the wrong frame': ['migrate_release', /elements are wrong/],
  'says Done on failure': ['migrate_alloc_failure', /the device was refused memory/],
  'leaves memory as it was': ['migrate_zero', /3688618971 instead of 0/],
  'ends launches before they run': ['anon_write', /elements are wrong/],
  'rounds launches up': ['anon_write', /the device wrote in part: 1022 of/],
  'throws where memory is given back': [
    'anon_read',
    /DEVICE_LOST.*threw in release: Error: no such frame/,
  ],
  'answers twice': ['migrate_empty', /DEVICE_LOST|DATA_LOST/],
  'never answers a copy': ['file_read', /DEVICE_LOST.*has not answered a copy for 10 s/],
  'never answers a revocation': ['anon_write_huge', /DATA_LOST: a prefetch touched array/],
  'keeps a process': ['open_close', /children: 1 instead of 0/],
};

async function soundPasses(): Promise<string> {
  const where = new Set(all ? [] : CHOSEN.map((fault) => FOUND[fault][0]));
  const scenarios = [...where].flatMap((scenario) => ['--scenario', scenario]);
  const lines = await suite('../../examples/driver/conformance.js', [
    '--seconds',
    '120',
    ...scenarios,
  ]);
  assert.equal(lines.length, where.size || lines.length);
  assert.deepEqual(
    lines.filter(({ result }) => result !== 'pass'),
    [],
  );
  return `${lines.length} scenarios`;
}

async function brokenFails(): Promise<string> {
  const scenarios = all ? [] : BROKEN_SCENARIOS.flatMap((scenario) => ['--scenario', scenario]);
  const lines = await suite('../conformance/main.js', [
    '--device',
    'broken',
    '--seconds',
    '15',
    ...scenarios,
  ]);
  const failed = lines.filter(({ result }) => result === 'fail');
  for (const { scenario, why } of failed) {
    assert.ok(why.length >= REASON_CHARACTERS, `${scenario} failed without saying why: '${why}'`);
  }
  assert.equal(new Set(lines.map(({ scenario }) => scenario)).size, lines.length);
  const least = all ? LEAST_FAILURES : BROKEN_SCENARIOS.length;
  assert.ok(failed.length >= least, `only ${failed.length} of ${lines.length} scenarios fail`);
  return `${failed.length} of ${lines.length} scenarios fail`;
}

async function found(fault: DriverFault): Promise<string> {
  const [scenario, why] = FOUND[fault];
  const [line] = await suite('./faulty-device.js', ['--scenario', scenario], { FAULT: fault });
  assert.equal(line.result, 'fail', `${scenario} passes`);
  assert.match(line.why, why);
  return `${scenario}: ${line.why}`;
}

/** The same end that a broken invariant has. */
async function crashed(how: string, why: RegExp): Promise<string> {
  const lines = await suite('./faulty-device.js', ['--scenario', 'anon_read', '--seconds', '20'], {
    CRASH: how,
  });
  assert.equal(lines.length, 1);
  assert.equal(lines[0].result, 'fail');
  assert.match(lines[0].why, why);
  return lines[0].why;
}

const checks: { readonly name: string; readonly run: () => Promise<string> }[] = [
  { name: "the example's driver passes", run: soundPasses },
  { name: 'the broken device fails', run: brokenFails },
  {
    name: 'a manager that crashes is named',
    run: () => crashed('throw', /ended by SIGKILL.*manager ended: Error: crashed/),
  },
  {
    name: 'a manager that does not go on is ended',
    run: () => crashed('sleep', /has not moved for 10 s|still running after 20 s/),
  },
  ...(all ? (Object.keys(driverFaults) as DriverFault[]) : CHOSEN).map((fault) => ({
    name: `a driver that ${fault} is found`,
    run: () => found(fault),
  })),
];
let passed = 0;
let failed = 0;

async function work(): Promise<void> {
  for (let check = checks.shift(); check !== undefined; check = checks.shift()) {
    try {
      console.log(`ok   ${check.name}: ${await check.run()}`);
      passed++;
    } catch (error) {
      failed++;
      console.log(`FAIL ${check.name}\n${(error as Error).message.replace(/^/gm, '     ')}`);
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
