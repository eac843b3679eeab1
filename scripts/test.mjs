// Runs every check in order, and ends with one plain line: `N passed, N failed`.
//
//   node scripts/test.mjs              everything; stops at the first stage that fails
//   node scripts/test.mjs unit lint    only these stages, in the table's order
//
// Cheap stages that say most stand first. A stage whose program is missing fails: a check that quietly does not run is
// worse than none.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

// `run` is the command line; `seconds` ends a stage that hangs. A stage that prints `N passed, N failed` (or is vitest)
// counts with these numbers; any other counts as one check.
const stages = [
  { name: 'lint', run: ['npm', 'run', '-s', 'lint'], seconds: 60 },
  { name: 'types and build', run: ['npm', 'run', '-s', 'build'], seconds: 120 },
  { name: 'api', run: ['npm', 'run', '-s', 'api:check'], seconds: 60 },
  { name: 'types of the tests', run: ['npm', 'run', '-s', 'build:test'], seconds: 120 },
  { name: 'knip', run: ['npm', 'run', '-s', 'knip'], seconds: 60 },
  { name: 'package', run: ['npm', 'run', '-s', 'package'], seconds: 180 },
  { name: 'boundaries', run: ['npm', 'run', '-s', 'boundaries'], seconds: 120 },
  { name: 'unit', run: ['npm', 'run', '-s', 'unit'], seconds: 300 },
  { name: 'integration', run: ['npm', 'run', '-s', 'integration'], seconds: 900 },
  { name: 'users', run: ['npm', 'run', '-s', 'users'], seconds: 900 },
  {
    name: 'hostile calls',
    run: ['npm', 'run', '-s', 'hostile', '--', '--seed', '1', '--runs', '10000'],
    seconds: 900,
  },
  { name: 'conformance', run: ['npm', 'run', '-s', 'conformance'], seconds: 600 },
  { name: 'suite', run: ['npm', 'run', '-s', 'suite-test'], seconds: 700 },
  { name: 'node versions', run: ['npm', 'run', '-s', 'node-versions'], seconds: 600 },
  {
    name: 'simulation',
    run: ['npm', 'run', '-s', 'simulation', '--', '--schedules', '50000', '--first-seed', '1'],
    seconds: 2400,
  },
  // 20 s, or 20 minutes with CI_LONG=1. A seed of its own for each day would find more, but also fail where nothing has changed.
  {
    name: 'soak',
    run: ['npm', 'run', '-s', 'soak', '--', '--seed', '1'],
    seconds: process.env.CI_LONG === '1' ? 1500 : 180,
  },
  { name: 'command line', run: ['npm', 'run', '-s', 'cli-test'], seconds: 300 },
  { name: 'examples', run: ['npm', 'run', '-s', 'examples'], seconds: 300 },
  { name: 'mutants', run: ['npm', 'run', '-s', 'mutants'], seconds: 900 },
];

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (!stages.some((stage) => stage.name === name)) {
    console.error(`no stage '${name}'; there are: ${stages.map((stage) => `'${stage.name}'`).join(', ')}`);
    process.exit(2);
  }
}

/** Colours would stand between the words that are counted. */
function plain(text) {
  return text.replace(/\u001b\[[0-9;]*m/g, '');
}

/** What a stage counted for itself, or null. The last such line wins: a stage may print one for each of its parts. */
function countsOf(output) {
  let counts = null;
  for (const line of plain(output).split('\n')) {
    const own = /^(?:\S+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim());
    if (own) counts = { passed: Number(own[1]), failed: Number(own[2]) };
    if (/^Tests {2,}/.test(line.trim())) {
      counts = {
        passed: Number(/(\d+) passed/.exec(line)?.[1] ?? 0),
        failed: Number(/(\d+) failed/.exec(line)?.[1] ?? 0),
      };
    }
  }
  return counts;
}

function runStage(stage) {
  return new Promise((done) => {
    const started = performance.now();
    let output = '';
    let timedOut = false;
    // A process group of its own, so that a stage that hangs ends together with its children.
    const child = spawn(stage.run[0], stage.run.slice(1), {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, npm_config_update_notifier: 'false' },
    });
    const endGroup = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      endGroup();
    }, stage.seconds * 1000);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        output += text;
        process.stdout.write(text);
      });
    }
    const interrupted = () => {
      endGroup();
      process.exit(130);
    };
    process.once('SIGINT', interrupted);
    process.once('SIGTERM', interrupted);
    const finish = (ok, why) => {
      clearTimeout(timer);
      process.off('SIGINT', interrupted);
      process.off('SIGTERM', interrupted);
      done({ ok, why, output, seconds: (performance.now() - started) / 1000 });
    };
    child.on('error', (error) => finish(false, error.message));
    child.on('close', (code, signal) => {
      if (timedOut) finish(false, `still running after ${stage.seconds} s`);
      else finish(code === 0, code === 0 ? '' : signal ? `ended by ${signal}` : `exit code ${code}`);
    });
  });
}

let passed = 0;
let failed = 0;
const table = [];
for (const stage of stages) {
  if (wanted.length > 0 && !wanted.includes(stage.name)) continue;
  console.log(`\n=== ${stage.name}`);
  const result = await runStage(stage);
  const counts = countsOf(result.output) ?? { passed: result.ok ? 1 : 0, failed: 0 };
  // A stage that failed without a failed test of its own (a crash, a time limit) is still one failure.
  if (!result.ok && counts.failed === 0) counts.failed = 1;
  if (result.ok && counts.failed > 0) {
    result.ok = false;
    result.why = 'it counted failures and yet exited with 0';
  }
  passed += counts.passed;
  failed += counts.failed;
  table.push(
    `${result.ok ? 'ok  ' : 'FAIL'} ${stage.name.padEnd(20)} ${result.seconds.toFixed(1).padStart(7)} s  ` +
      `${counts.passed} passed, ${counts.failed} failed${result.why ? ` (${result.why})` : ''}`,
  );
  if (!result.ok) break;
}
console.log(`\n${table.join('\n')}\n`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
