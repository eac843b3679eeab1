// Runs tables of stages: groups one after the other, the stages of a group side by side. Prints
// what each stage says, a table of them at the end, and one plain line: `N passed, N failed`.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * More certificates, in a file that Node.js 20 reads at each start, which then takes three times as
 * long: tests start thousands of processes, of which only those that fetch packages need them.
 */
export const WITHOUT_CERTIFICATES = { NODE_EXTRA_CA_CERTS: undefined };

/** A misspelt name must not pass for a stage that was good. */
function refuseUnknown(groups, wanted) {
  const names = groups.flat().map(({ name }) => name);
  for (const name of wanted) {
    if (names.includes(name)) continue;
    console.error(`no stage '${name}'; there are: ${names.map((each) => `'${each}'`).join(', ')}`);
    process.exit(2);
  }
}

/** The command line of a test program that `npm run build:test` has built. */
export function built(folder, ...args) {
  return ['node', `.build/test/${folder}/main.js`, ...args];
}

/** The same, where the program finds a browser. */
export function inBrowser(folder, ...args) {
  return ['node', 'scripts/browser.mjs', ...built(folder, ...args)];
}

/** The same, where the program finds a GPU in software. */
export function onSoftwareGpu(folder, ...args) {
  return ['node', 'scripts/software-gpu.mjs', ...built(folder, ...args)];
}

/** The same with another such GPU, whose limits are others. */
export function onLavapipe(folder, ...args) {
  return ['node', 'scripts/software-gpu.mjs', '--gpu', 'lavapipe', ...built(folder, ...args)];
}

/** A command whose GPUs are driven by Dawn's C functions, and not by the package `webgpu`. */
export function byDawnFfi(command) {
  return ['node', 'scripts/dawn-ffi.mjs', ...command];
}

/** Colours would stand between the words that are counted. */
function plain(text) {
  return text.replace(/\u001b\[[0-9;]*m/g, '');
}

/**
 * What a stage counted for itself, or null. The last such line wins: a stage may print one for each
 * of its parts.
 */
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

/** What tests of a stage took that say so, as test/harness/checks.ts writes it. */
function testsOf(stage, output) {
  const line = /^(?:ok|FAIL) +(.*) \((\d+) ms, (\d+) of a processor\)$/gm;
  return [...plain(output).matchAll(line)].map(([, name, ms, processor]) => ({
    name: `${stage.name}: ${name}`,
    seconds: Number(ms) / 1000,
    processor: Number(processor) / 1000,
  }));
}

/** Processor seconds of the processes that have ended so far, with theirs. */
function processorSeconds() {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}
let counted = processorSeconds();

/** Runs one stage; `say` takes what it prints. */
function runStage(stage, say) {
  return new Promise((done) => {
    const started = performance.now();
    let output = '';
    let timedOut = false;
    // A process group of its own, so that a stage that hangs ends together with its children.
    const child = spawn(stage.run[0], stage.run.slice(1), {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        npm_config_update_notifier: 'false',
        ...(stage.fetches ? {} : WITHOUT_CERTIFICATES),
        ...stage.env,
      },
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
        say(text);
      });
    }
    const interrupted = () => {
      endGroup();
      process.exit(130);
    };
    process.once('SIGINT', interrupted);
    process.once('SIGTERM', interrupted);
    let processor = 0;
    child.on('exit', () => {
      // What has come since the last stage ended is this one's: a process counts for its parent
      // when it has ended.
      const now = processorSeconds();
      processor = now - counted;
      counted = now;
    });
    const finish = (ok, why) => {
      clearTimeout(timer);
      process.off('SIGINT', interrupted);
      process.off('SIGTERM', interrupted);
      const counts = countsOf(output) ?? { passed: ok ? 1 : 0, failed: 0 };
      let wrong = why;
      if (ok && counts.failed > 0) wrong = 'it counted failures and yet exited with 0';
      // A stage that failed without a failed test of its own (a crash, a time limit) is still one
      // failure.
      else if (!ok && counts.failed === 0) counts.failed = 1;
      done({
        stage,
        counts,
        why: wrong,
        seconds: (performance.now() - started) / 1000,
        processor,
        tests: testsOf(stage, output),
      });
    };
    child.on('error', (error) => finish(false, error.message));
    child.on('close', (code, signal) => {
      const last = plain(output).trimEnd().split('\n').at(-1);
      if (timedOut)
        finish(
          false,
          `over its limit: still running after ${stage.seconds} s; it said last: ${last}`,
        );
      else
        finish(code === 0, code === 0 ? '' : signal ? `ended by ${signal}` : `exit code ${code}`);
    });
  });
}

function timesOf({ seconds, processor }) {
  return `${seconds.toFixed(1).padStart(7)} s ${processor.toFixed(1).padStart(7)} s CPU`;
}

/** So many tests are named that took most. */
const DEAREST = 20;

/**
 * Runs the stages of a group side by side: one more than there are CPUs, since some of their tests
 * wait rather than compute.
 */
async function runGroup(group) {
  const waiting = [...group];
  const results = [];
  // What stages print side by side is shown when each has ended; one that runs alone is heard at
  // once.
  const alone = group.length === 1;
  const work = async () => {
    for (let stage = waiting.shift(); stage !== undefined; stage = waiting.shift()) {
      let output = '';
      if (alone) console.log(`\n=== ${stage.name}`);
      const result = await runStage(stage, (text) => {
        if (alone) process.stdout.write(text);
        else output += text;
      });
      if (!alone) process.stdout.write(`\n=== ${stage.name}\n${output}`);
      results.push(result);
    }
  };
  // Stages wait for timers, disks and each other's processes now and then, and the CPUs would, too.
  await Promise.all(
    Array.from({ length: Math.min(availableParallelism() + 2, group.length) }, work),
  );
  return results.sort((a, b) => group.indexOf(a.stage) - group.indexOf(b.stage));
}

/**
 * @param groups lists of stages: `name`; `run`, the command line; `env`, of it; `fetches`, whether
 * it fetches packages; `seconds`, after which a stage that hangs is ended. A stage that prints `N
 * passed, N failed` (or is vitest) counts with these numbers; any other counts as one check.
 * @param options.wanted only the stages of these names, and before them those of the first group
 * that build (`builds`)
 * @param options.keepOn goes on after a group in which something failed, unless that is what builds
 * the rest
 */
export async function runStages(groups, { wanted = [], keepOn = false } = {}) {
  refuseUnknown(groups, wanted);
  const later = wanted.some((name) => !groups[0].some((stage) => stage.name === name));
  let passed = 0;
  let failed = 0;
  let unbuilt = false;
  const table = [];
  const tests = [];
  const wrong = [];
  let processorTotal = 0;
  const started = performance.now();
  for (const group of groups) {
    const chosen = group.filter(
      ({ name, builds = false }) =>
        wanted.length === 0 || wanted.includes(name) || (builds && later),
    );
    if (chosen.length === 0) continue;
    for (const result of await runGroup(chosen)) {
      const { stage, counts, why, seconds, processor } = result;
      passed += counts.passed;
      failed += counts.failed;
      tests.push(...result.tests);
      processorTotal += processor;
      const figures = `${counts.passed} passed, ${counts.failed} failed`;
      if (why) wrong.push(`FAILED ${stage.name}: ${why}`);
      if (why && stage.builds) unbuilt = true;
      table.push(
        `${why ? 'FAIL' : 'ok  '} ${stage.name.padEnd(22)} ${timesOf({ seconds, processor })}  ${figures}`,
      );
    }
    if (unbuilt || (failed > 0 && !keepOn)) break;
  }
  console.log(`\n${table.join('\n')}`);
  const dearest = tests.sort((a, b) => b.processor - a.processor).slice(0, DEAREST);
  if (dearest.length > 0) console.log('\nthe tests that took most of a processor:');
  for (const test of dearest) console.log(`     ${timesOf(test)}  ${test.name}`);
  if (wrong.length > 0) console.log(`\n${wrong.join('\n')}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`\n${seconds} s, ${processorTotal.toFixed(1)} s CPU`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
