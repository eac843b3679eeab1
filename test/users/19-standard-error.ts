/**
 * What the manager and the sentinel have to say keeps no thread waiting that serves faults,
 * whatever standard error is.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { longTest, runTests, sleep, test } from '../harness/suite.js';

const program = fileURLToPath(new URL('./programs/standard-error.js', import.meta.url));

/**
 * Runs a line of the shell in which $PROGRAM is the program, until it has said how the program
 * ended.
 */
function run(line: string): Promise<string> {
  return new Promise((resolve) => {
    const env = { ...process.env, PROGRAM: `${process.execPath} ${program}` };
    const child = spawn('sh', ['-c', line], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (!/^code \d+$/m.test(output)) return;
      process.kill(-(child.pid as number), 'SIGKILL');
      resolve(output);
    });
  });
}

/** Its standard error is a pipe that is never read, and that is full. */
const unread = (how: string): Promise<string> =>
  run(`{ { $PROGRAM ${how} 2>&1 1>&3; echo "code $?" >&3; } | sleep 300; } 3>&1`);

longTest(
  'a warning goes to a full pipe: faults are served, and it is written when somebody reads again',
  async () => {
    const folder = mkdtempSync(`${tmpdir()}/onemem-pipe-`);
    execFileSync('mkfifo', [`${folder}/pipe`]);
    const pipe = openSync(`${folder}/pipe`, constants.O_RDWR);
    const reader = openSync(`${folder}/pipe`, constants.O_RDONLY | constants.O_NONBLOCK);
    const child = spawn(process.execPath, [program, 'warning'], { stdio: ['pipe', 'pipe', pipe] });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    while (!output.includes('served\n')) await sleep(10);
    const buffer = Buffer.alloc(65536);
    let read = '';
    while (!read.includes('it reads as zero\n')) {
      try {
        const bytes = readSync(reader, buffer);
        read += buffer.toString('utf8', 0, bytes);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'EAGAIN');
      }
      await sleep(10);
    }
    assert.match(read, /^x+onemem: warning: the program read array x, .*it reads as zero\n$/);
    child.stdin?.end();
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
    assert.equal(output, 'freed: 0\nserved\nfine\n');
    closeSync(pipe);
    closeSync(reader);
    rmSync(folder, { recursive: true });
  },
);

test('the manager fails while standard error is a full pipe: the process ends all the same', async () => {
  assert.equal(await unread('crash'), 'code 137\n');
});

longTest(
  'one pipe is standard output and standard error, and a write() to it is denied its memory',
  async () => {
    const output = await run('{ $PROGRAM same; echo "code $?"; } 2>&1 | cat');
    assert.match(output, /^write: EFAULT$/m);
    assert.match(output, /^other: 0\nfine\n/m);
    assert.match(
      output,
      /^onemem: denied access: thread \d+ read .*x.*The system call fails with EFAULT\.$/m,
    );
    assert.match(output, /^code 0$/m);
  },
);

await runTests();
