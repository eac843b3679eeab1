/**
 * Terminated threads leave no zombies for ever, preloaded modules print to standard error, other
 * hosts are refused.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { refuseOtherRuntimes } from '../../src/api/line/opening-errors.js';
import { openSpace } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { until } from '../harness/processes.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

function isZombie(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
}

longTest(
  'the device of a thread that was terminated is reaped when a space is opened',
  async () => {
    const thread = new Worker(new URL('./programs/thread-with-device.js', import.meta.url));
    const [pid] = (await once(thread, 'message')) as [number];
    await thread.terminate();
    await until('the device has ended', () => isZombie(pid));
    const open = async (): Promise<void> => {
      await using space = await openSpace({
        hostMemory: '32MiB',
        devices: [{ kind: 'process', memory: '8MiB' }],
      });
      assert.ok(!isZombie(space.devices[0].pid as number));
    };
    await open();
    // The kernel may not have been through with the thread by then.
    if (isZombie(pid)) await open();
    assert.ok(!isZombie(pid));
  },
);

longTest('a preloaded module prints to the standard output of the program once', () => {
  using folder = new Folder();
  folder.write('hook.cjs', "console.log('hello');");
  const program = fileURLToPath(new URL('./programs/one-launch.js', import.meta.url));
  const args = ['--require', folder.file('hook.cjs'), program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.deepEqual([stdout, status], ['hello\n2\n', 0], stderr);
  assert.match(stderr, /^hello$/m);
});

test('Bun and Deno are refused by name', async () => {
  for (const [key, name] of [
    ['bun', 'Bun'],
    ['deno', 'Deno'],
  ]) {
    const { message } = await failsWith('UNSUPPORTED', () =>
      refuseOtherRuntimes({ node: '22.0.0', [key]: '2.1.0' }),
    );
    assert.equal(
      message,
      `onemem runs on Node.js, and not on ${name} (2.1.0); start the program by: node program.js`,
    );
  }
});

await runTests();
