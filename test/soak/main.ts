/**
 * Random work in one process for a long time: what arrays hold is compared with plain copies, and
 * what the process holds must not grow.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../harness/options.js';
import { Watchdog } from '../watchdog.js';

const USAGE = `npm run -s soak -- [--minutes M] [--seed S]     a third of a minute and a random seed unless said otherwise`;

/** A round takes seconds; one that takes this long hangs. */
const SILENCE_SECONDS = 90;
const LOG_LINES = 25;
const FLAGS = [
  '--unhandled-rejections=strict',
  // Each thread's heap is collected early: with the usual size it grows for minutes before it stays
  // as it is, and would look like a leak.
  '--max-semi-space-size=1',
  // Code that nothing has called for a while would be dropped and compiled again: the heap would be
  // 6 MiB less at times, by the clock.
  '--no-flush-bytecode',
];

/**
 * Only one heap of the C library. It gives each thread one of eight heaps a CPU, and keeps what was
 * free at the top of each, also when it is asked to give it back: after 490 threads 196 of 215 MiB
 * were free, and looked like a leak that levels off only after a quarter of an hour. What was in
 * use had grown by 20 KiB a thread, which is what koffi leaves.
 */
const ENVIRONMENT = { ...process.env, MALLOC_ARENA_MAX: '1' };

const { values } = readOptions(USAGE, {
  options: { minutes: { type: 'string' }, seed: { type: 'string' } },
});
const minutes = Number(values.minutes ?? 1 / 3);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error(USAGE);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'onemem-soak-log-'));
const log = join(folder, 'log');
console.log(`seed ${seed}, ${minutes.toFixed(2)} minutes`);
const work = fileURLToPath(new URL('./work.js', import.meta.url));
const child = spawn(
  process.execPath,
  [...FLAGS, work, String(seed), String(minutes * 60_000), log],
  {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: ENVIRONMENT,
  },
);
// Until there is a result: a program whose event loop has nothing left to wait for ends as if all
// were well.
process.exitCode = 1;
let output = '';
const watchdog = new Watchdog(child, SILENCE_SECONDS);
for (const stream of [child.stdout, child.stderr]) {
  stream.setEncoding('utf8').on('data', (text: string) => {
    watchdog.heard();
    // What the devices write that are made to fail.
    const told = text.replace(/^.*--no-such-option-for-the-soak is not allowed.*\n/gm, '');
    output += told;
    process.stdout.write(told);
  });
}
child.on('close', (code, signal) => {
  watchdog.stop();
  const good = code === 0 && output.includes('the work is done\n');
  if (!good) {
    console.log(
      `FAIL: ${watchdog.reason || (signal === null ? `exit code ${code}` : `ended by ${signal}`)}. The last that it did:`,
    );
    console.log(
      readFileSync(log, 'utf8')
        .trimEnd()
        .split('\n')
        .slice(-LOG_LINES)
        .join('\n')
        .replace(/^/gm, '     '),
    );
    console.log(`again: npm run -s soak -- --minutes ${minutes.toFixed(2)} --seed ${seed}`);
  }
  rmSync(folder, { recursive: true });
  console.log(`${good ? 1 : 0} passed, ${good ? 0 : 1} failed`);
  process.exitCode = good ? 0 : 1;
});
