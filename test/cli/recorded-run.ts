/** Runs of the command that are recorded: what explains and replays them. */
import assert from 'node:assert/strict';
import { COMMANDS_SECONDS, Folder, ramp, SAXPY } from '../harness/command.js';
import { runTests, test } from '../harness/suite.js';

/** 4 MiB an array, twice what the device has. */
const LENGTH = 2 ** 20;

async function recorded(folder: Folder, ...options: string[]): Promise<void> {
  folder.write('saxpy.js', SAXPY);
  folder.npy('x.npy', 'f32', ramp(LENGTH), [LENGTH]);
  folder.npy('y.npy', 'f32', ramp(LENGTH, 7), [LENGTH]);
  const arrays = ['--in', 'x=x.npy', '--inout', 'y=y.npy', '--set', 'alpha=3'];
  const record = ['--device-memory', '4MiB', '--record', 'run.rec'];
  await folder.succeed('run', 'saxpy.js', ...arrays, ...record, ...options);
}

test('--record writes what explain and replay take', async () => {
  using folder = new Folder();
  await recorded(folder, '--paged');
  const { stdout: story } = await folder.succeed('explain', 'run.rec', '--json');
  const { launches } = JSON.parse(story) as { launches: number };
  assert.equal(launches, 64);
  const { stdout } = await folder.succeed('replay', 'run.rec', '--policy', 'lru', '--json');
  const [{ memory, blocks }] = JSON.parse(stdout) as { memory: string; blocks: number }[];
  assert.equal(memory, 'process0');
  assert.ok(blocks >= 4, stdout);
});

test('a run that took no page into a memory has nothing to compare, and says why', async () => {
  using folder = new Folder();
  await recorded(folder);
  const said = /^onemem: run\.rec: no memory of this run took in a page.*add --paged$/m;
  await folder.fail(1, said, 'replay', 'run.rec', '--policy', 'lru');
});

await runTests(COMMANDS_SECONDS);
