/**
 * Standard output belongs to the program, and under `onemem run` to the command: what kernels print
 * goes to standard error.
 */
import assert from 'node:assert/strict';
import { Folder } from '../harness/command.js';
import { runProgram } from '../harness/processes.js';
import { longTest, runTests, variantTest } from '../harness/suite.js';

const KERNEL = `console.log('the module is loaded');
export default { params: { x: 'f32.in', y: 'f32.out' }, kernel({ x, y }, { begin, end }) {
  console.log('kernel says', begin);
  for (let i = begin; i < end; i++) y[i] = x[i] + 1;
} };`;

function filesFor(folder: Folder): string[] {
  folder.write('log.mjs', KERNEL);
  folder.npy('x.npy', 'f32', new Float32Array(2000).fill(1), [2000]);
  return ['run', 'log.mjs', '--in', 'x=x.npy', '--out', 'y=y.npy', '--chunks', '2'];
}

for (const device of ['process', 'simulated']) {
  variantTest(
    `onemem run --json gives JSON and nothing else, whatever a kernel prints: ${device}`,
    async () => {
      using folder = new Folder();
      const { stdout, stderr } = await folder.succeed(
        ...filesFor(folder),
        '--device',
        device,
        '--json',
      );
      const report = JSON.parse(stdout) as { kernel: string; size: number };
      assert.deepEqual([report.kernel, report.size], ['log.mjs', 2000]);
      for (const line of ['the module is loaded', 'kernel says 0', 'kernel says 1000']) {
        assert.ok(stderr.includes(`${line}\n`), `'${line}' is missing in:\n${stderr}`);
      }
    },
  );
}

longTest('onemem run --json that fails gives its error as JSON and nothing else', async () => {
  using folder = new Folder();
  const args = filesFor(folder);
  folder.write('log.mjs', KERNEL.replace("'kernel says', begin", "'kernel says', begin), fail("));
  const { code, stdout, stderr } = await folder.run(...args, '--json');
  assert.equal(code, 1, stderr);
  assert.equal((JSON.parse(stdout) as { error: { code: string } }).error.code, 'KERNEL_ERROR');
  assert.match(stderr, /kernel says 0\n/);
});

const PRINTED: Record<string, string[]> = {
  process: ['a kernel writes to descriptor 1'],
  simulated: [],
  custom: ['driver says something'],
};

for (const [device, more] of Object.entries(PRINTED)) {
  variantTest(
    `what a program's kernels, drivers and providers print is on its standard error: ${device}`,
    async () => {
      const { code, stdout, stderr } = await runProgram('printing', [device]);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, 'own line\n');
      const printed = [
        'a module says something when it is loaded',
        'inline kernel says 1',
        'imported kernel says something',
        'provider says something',
        'notifier says something',
      ];
      for (const line of [...printed, ...more])
        assert.ok(stderr.includes(`${line}\n`), `'${line}' is missing in:\n${stderr}`);
    },
  );
}

await runTests();
