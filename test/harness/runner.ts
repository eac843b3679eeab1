/**
 * Runs test files of one folder: real processes, threads, page faults and signals.
 *
 * Each file runs in a process of its own. A test that takes longer than it said is ended with its
 * process and counts as failed; the tests after it run in a new process.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processorTime, timesOf } from './checks.js';
import { readOptions } from './options.js';
import type { Report } from './suite.js';

/**
 * A file's process must end by itself after its last test: what keeps it alive would keep a program
 * alive, too.
 */
const END_SECONDS = 30;

let passed = 0;
let failed = 0;

/** Runs the tests of a file from one on. Returns where to go on, or null when it is through. */
function runFrom(
  folder: URL,
  file: string,
  from: number,
  say: (text: string) => void,
): Promise<number | null> {
  return new Promise((resolve) => {
    const path = fileURLToPath(new URL(`./${file}.js`, folder));
    const child = spawn(process.execPath, [path, '--from', String(from)], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    let current: Extract<Report, { kind: 'begin' }> | null = null;
    let complete = false;
    let next: number | null = from;
    let watchdog: NodeJS.Timeout | undefined;
    let reason = '';
    let used = 0;
    let output = '';
    let buffered = '';
    const watch = (seconds: number, what: string): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => {
        reason = `${what} after ${seconds} s, and was ended`;
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      }, seconds * 1000);
    };
    const take = (report: Report): void => {
      if (report.kind === 'begin') {
        current = report;
        used = processorTime(child.pid);
        watch(report.seconds, 'it was still running');
      } else if (report.kind === 'note') say(`     ${report.text}`);
      else if (report.kind === 'end') {
        say(
          `${report.failure === null ? 'ok  ' : 'FAIL'} ${file}: ${current?.name} ${timesOf(report.ms, processorTime(child.pid) - used)}`,
        );
        if (report.failure === null) passed++;
        else {
          failed++;
          say(indent(report.failure));
        }
        next = report.index + 1;
        current = null;
        watch(END_SECONDS, 'nothing happened');
      } else {
        complete = true;
        watch(END_SECONDS, 'its process was still there');
      }
    };
    watch(END_SECONDS, 'no test had begun');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    (child.stdio[3] as NodeJS.ReadableStream).setEncoding('utf8').on('data', (text: string) => {
      buffered += text;
      const lines = buffered.split('\n');
      buffered = lines.pop() ?? '';
      for (const line of lines) take(JSON.parse(line) as Report);
    });
    child.on('close', (code, signal) => {
      clearTimeout(watchdog);
      if (output !== '') say(indent(output));
      const end =
        reason !== '' ? reason : signal === null ? `exit code ${code}` : `ended by ${signal}`;
      if (current !== null) {
        failed++;
        say(`FAIL ${file}: ${current.name} (${end})`);
        resolve(current.index + 1);
        return;
      }
      if (!complete || signal !== null) {
        failed++;
        say(`FAIL ${file}: the process between and after the tests (${end})`);
      }
      resolve(complete || next === from ? null : next);
    });
  });
}

function indent(text: string): string {
  return text.trimEnd().replace(/^/gm, '     ');
}

/**
 * @param main the URL of the folder's main module; every other module beside it is a file of tests
 */
export async function runFolder(main: string): Promise<void> {
  const folder = new URL('.', main);
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.js') && name !== 'main.js')
    .map((name) => name.slice(0, -'.js'.length))
    .sort();
  const folderName = basename(fileURLToPath(folder));
  const usage = `node .build/test/${folderName}/main.js [--except NAME] [--jobs J] [NAME ...]

NAME           of a file of tests; all unless some are named: ${files.join(', ')}
--except NAME  all but this one; may be given several times
--jobs J       so many files at once; what each says is shown when it has ended`;
  const { values, positionals: wanted } = readOptions(usage, {
    options: {
      jobs: { type: 'string', default: '1' },
      except: { type: 'string', multiple: true, default: [] },
    },
    allowPositionals: true,
  });
  const { except } = values;
  const jobs = Number(values.jobs);
  for (const name of [...wanted, ...except]) {
    if (files.includes(name)) continue;
    console.error(`no test file '${name}'; there are: ${files.join(', ')}`);
    process.exit(2);
  }
  // One seed for all processes of a run, so that it can be repeated.
  process.env.ONEMEM_SEED ??= String(Math.floor(Math.random() * 2 ** 31));
  const started = performance.now();
  const waiting = files.filter(
    (file) => (wanted.length === 0 || wanted.includes(file)) && !except.includes(file),
  );
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const lines: string[] = [];
      const say = jobs > 1 ? (text: string) => void lines.push(text) : console.log;
      for (let from: number | null = 0; from !== null; )
        from = await runFrom(folder, file, from, say);
      if (lines.length > 0) console.log(lines.join('\n'));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
