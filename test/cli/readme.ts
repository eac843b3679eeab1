/** The programs that README.md shows. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMANDS_SECONDS, Folder } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

/** The compiled tree, which bears the package's name. */
const TREE = fileURLToPath(new URL('../..', import.meta.url));
const ROOT = new URL('../../../', import.meta.url);
const README = readFileSync(new URL('README.md', ROOT), 'utf8').replaceAll(/ \\\n */g, ' ');

function programs(): string[] {
  return [...README.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program);
}

longTest('the example of the README prints what it says', async () => {
  using folder = new Folder();
  mkdirSync(folder.file('node_modules'));
  symlinkSync(TREE, folder.file('node_modules/onemem'));
  const [example] = programs();
  const file = folder.write('example.mjs', example);
  const { stdout, stderr, status } = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(status, 0, stderr);
  assert.equal(stdout, `${/console\.log.*\/\/ (.*)$/m.exec(example)?.[1]}\n`);
});

test('the run of the README, with the data that its script makes', async () => {
  using folder = new Folder();
  const example = (name: string) => fileURLToPath(new URL(`examples/saxpy/${name}`, ROOT));
  const [, kernel] = programs();
  assert.ok(readFileSync(example('kernel.js'), 'utf8').replaceAll('\n\n', '\n').includes(kernel));
  const made = spawnSync(process.execPath, [example('make-data.js'), '2500000'], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  assert.equal(made.status, 0, made.stderr);
  const line = /npx onemem (run examples\/saxpy\/kernel\.js .*)$/m.exec(README)?.[1] ?? '';
  const args = line
    .replace('examples/saxpy/kernel.js', example('kernel.js'))
    .replace('64MiB', '6MiB')
    .split(' ');
  await folder.succeed(...args);
  const y = folder.read('y.npy');
  for (const index of [0, 999, 1_000_001, 2_499_999]) {
    assert.equal(y.readFloatLE(y.length - 4 * 2_500_000 + 4 * index), 1 + 3 * (index % 1000));
  }
});

await runTests(COMMANDS_SECONDS);
