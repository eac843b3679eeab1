/**
 * Sequences of calls with wrong arguments on objects in every state: each must end with a result or
 * a named error, and change nothing that it was not given.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../harness/options.js';
import { Watchdog } from '../watchdog.js';

const USAGE = `npm run -s hostile -- --seed 1 --runs 10000     a random seed and 2000 sequences unless said otherwise
npm run -s hostile -- --minutes 10              as many as that allows
npm run -s hostile -- --seed 1 --path 17:3      the sequence that failed, again`;

/** A sequence takes milliseconds; one that takes this long hangs, and has not said so itself. */
const SILENCE_SECONDS = 45;
const LOG_LINES = 30;
/**
 * What a program is told that reads the end of an array for which it has called `resize` without
 * waiting for it.
 */
const LATE_READS =
  /^onemem: warning: the program read array (?:[a-z]+ prey|mortal bytes), behind its last element .*; it reads as zero\n/gm;
/**
 * What a program is told that wants more host memory than there is, which is no mistake: it may
 * never use it.
 */
const MUCH_MEMORY =
  /^\(node:\d+\) \[ONEMEM_MEMORY\] OnememWarning: hostMemory is \d+ bytes, more than .*\n(?:\(Use `node --trace-warnings .*\n)?/gm;
/**
 * What a program is told once whose space serves no system calls: one that asked for that, by
 * `userModeOnly`, or that is an ordinary user's.
 */
const USER_MODE =
  /^\(node:\d+\) \[ONEMEM_USER_MODE\] OnememWarning: .*\n(?:\(Use `node --trace-warnings .*\n)?/gm;

const { values } = readOptions(USAGE, {
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    minutes: { type: 'string' },
    path: { type: 'string' },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const limited = values.minutes !== undefined;
const minutes = Number(values.minutes ?? 20);
const runs = Number(values.runs ?? (limited ? 2 ** 30 : values.path === undefined ? 2000 : 1));
const path = values.path ?? '';
if (
  !(minutes > 0) ||
  !Number.isSafeInteger(seed) ||
  !(Number.isSafeInteger(runs) && runs > 0) ||
  !/^(\d+(:\d+)*)?$/.test(path)
) {
  console.error(USAGE);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'onemem-hostile-log-'));
const log = join(folder, 'log');
writeFileSync(log, '');
console.log(
  `seed ${seed}, ${limited ? `${minutes.toFixed(2)} minutes` : `${runs} sequences`}${path === '' ? '' : ` from ${path} on`}`,
);
const work = fileURLToPath(new URL('./work.js', import.meta.url));
const child = spawn(
  process.execPath,
  [work, String(seed), String(runs), String(minutes), path, log],
  {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  },
);
// Until there is a result: a program whose event loop has nothing left to wait for ends as if all
// were well.
process.exitCode = 1;
let output = '';
let errors = '';
const watchdog = new Watchdog(child, SILENCE_SECONDS);
const [, stdout, stderr, progress] = child.stdio as unknown as Readable[];
progress.on('data', () => watchdog.heard());
stdout.setEncoding('utf8').on('data', (text: string) => {
  output += text;
  process.stdout.write(text);
});
stderr.setEncoding('utf8').on('data', (text: string) => {
  errors += text.replace(LATE_READS, '').replace(MUCH_MEMORY, '').replace(USER_MODE, '');
  process.stdout.write(text);
});
child.on('close', (code, signal) => {
  watchdog.stop();
  const silent = errors === '';
  const good = code === 0 && silent && output.includes(' sequences are done, ');
  if (!good) {
    const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
    console.log(
      `FAIL: ${watchdog.reason || how}${silent ? '' : ', with lines on standard error'}. The last calls:`,
    );
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    console.log(lines.slice(-LOG_LINES).join('\n').replace(/^/gm, '     '));
    const last = lines.findLast((line) => line.startsWith('sequence '));
    if (last !== undefined)
      console.log(`again: npm run -s hostile -- --seed ${seed} --path ${/\d+/.exec(last)?.[0]}`);
  }
  rmSync(folder, { recursive: true });
  console.log(`${good ? 1 : 0} passed, ${good ? 0 : 1} failed`);
  process.exitCode = good ? 0 : 1;
});
