/**
 * A command or program that is stopped and goes on, by a signal or by Ctrl-Z in a terminal, has
 * lost nothing, and nothing was too slow.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Folder, ramp, SLOW_SAXPY, saxpy } from '../harness/command.js';
import { Program } from '../harness/processes.js';
import { longTest, note, runTests, sleep, test } from '../harness/suite.js';

const LENGTH = 2 ** 21;
const RUN = [
  'run',
  'saxpy.js',
  '--in',
  'x=x.npy',
  '--inout',
  'y=y.npy',
  '--set',
  'alpha=3',
  '--device-memory',
  '8MiB',
];
const COMMAND = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
/** Longer than a manager may stand still. */
const STOPPED_MS = 12_000;

/** Returns what y.npy must be in the end. */
function prepare(folder: Folder): Buffer {
  const x = ramp(LENGTH);
  const y = ramp(LENGTH, 3);
  folder.write('package.json', '{ "type": "module" }');
  folder.write('saxpy.js', SLOW_SAXPY);
  folder.npy('x.npy', 'f32', x, [LENGTH]);
  const after = folder.npy('y.npy', 'f32', saxpy(x, y, 3), [LENGTH]);
  folder.npy('y.npy', 'f32', y, [LENGTH]);
  return after;
}

/** Waits until the kernel has written a part. */
async function midway(folder: Folder): Promise<void> {
  while (!existsSync(folder.file('midway'))) await sleep(10);
}

longTest(
  'a command that is stopped with its device, and goes on, ends well',
  async () => {
    using folder = new Folder();
    const after = prepare(folder);
    const running = folder.start(...RUN);
    await midway(folder);
    const processes = [running.pid, ...running.children];
    assert.equal(processes.length, 2);
    for (const pid of processes) process.kill(pid, 'SIGSTOP');
    await sleep(STOPPED_MS);
    for (const pid of processes) process.kill(pid, 'SIGCONT');
    const { code, stderr } = await running.ended;
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /manager/);
    assert.ok(folder.read('y.npy').equals(after), 'y.npy is wrong');
  },
  60,
);

longTest(
  'Ctrl-Z in a terminal, then fg',
  async () => {
    if (spawnSync('script', ['--version']).status !== 0) {
      note('not tried: there is no program script, of util-linux, to make a terminal');
      return;
    }
    using folder = new Folder();
    const after = prepare(folder);
    const command = `${process.execPath} ${COMMAND} ${RUN.join(' ')}`;
    // A shell with job control, which goes on with its next command when the one in front has been
    // stopped.
    const shell = `sh -mc '${command}; echo stopped by $?; sleep ${STOPPED_MS / 1000}; fg; echo ended with $?'`;
    const terminal = spawn('script', ['--quiet', '--command', shell, '/dev/null'], {
      cwd: folder.path,
    });
    let output = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const ended = new Promise((resolve) => {
      terminal.once('close', resolve);
    });
    await midway(folder);
    terminal.stdin.write('\x1a');
    await ended;
    assert.match(output, /stopped by 148\r\n/);
    assert.match(output, /ended with 0\r\n/);
    assert.doesNotMatch(output, /manager/);
    assert.ok(folder.read('y.npy').equals(after), 'y.npy is wrong');
  },
  60,
);

test('a provider whose process is stopped in the middle of a call is not taken for too slow', async () => {
  const program = new Program('slow-provider', []);
  await program.line('asked');
  program.signal('SIGSTOP');
  await sleep(5000);
  program.signal('SIGCONT');
  const { code, stdout, stderr } = await program.outcome;
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'asked\ngiven 7\n');
});

await runTests();
