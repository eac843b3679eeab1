/**
 * Temporary files of results whose run was killed: the next result for the same file removes them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createResult } from '../../src/files/leftovers.js';
import { Folder, ramp, SAXPY, saxpy } from '../harness/command.js';
import { longTest, runTests, sameData, test } from '../harness/suite.js';

const X = ramp(1000);
const Y = ramp(1000, 3);
const ARGS = [
  'run',
  'saxpy.js',
  '--in',
  'x=x.npy',
  '--inout',
  'y=y.npy',
  '--set',
  'alpha=2',
  '--chunks',
  '1',
];

function prepared(): Folder {
  const folder = new Folder();
  folder.write('saxpy.js', SAXPY);
  folder.npy('x.npy', 'f32', X, [X.length]);
  folder.npy('y.npy', 'f32', Y, [Y.length]);
  return folder;
}

/** The number of a process that has ended. */
function endedProcess(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

longTest(
  'a run removes what a killed run for the same result left, says so, and leaves other files',
  async () => {
    using folder = prepared();
    const pid = endedProcess();
    const left = `.y.npy.${pid}-0123456789ab.onemem-tmp`;
    const others = [
      `.z.npy.${pid}-0123456789ab.onemem-tmp`,
      `.y.npy.${pid}-0123456789ab.tmp`,
      `.y.npy.${pid}.onemem-tmp`,
    ];
    for (const name of [left, ...others]) writeFileSync(folder.file(name), 'abc');
    const { stderr } = await folder.succeed(...ARGS);
    assert.match(
      stderr,
      new RegExp(
        `onemem: warning: removed .*/${left.replaceAll('.', '\\.')} \\(3 B\\), which a killed run left`,
      ),
    );
    assert.equal(existsSync(folder.file(left)), false);
    for (const name of others) assert.ok(existsSync(folder.file(name)), name);
    const result = new Float32Array(new Uint8Array(folder.read('y.npy').subarray(128)).buffer);
    sameData(result, (i) => saxpy(X, Y, 2)[i]);
  },
);

test('what a live process writes stays', () => {
  using folder = prepared();
  using own = createResult(folder.file('y.npy'));
  using second = createResult(folder.file('y.npy'), ({ path }) =>
    assert.fail(`${path} was removed`),
  );
  assert.ok(existsSync(own.temporaryPath) && existsSync(second.temporaryPath));
});

longTest('a result over what another parameter reads is right, and said', async () => {
  using folder = prepared();
  const { stderr } = await folder.succeed(...ARGS, '--save', 'y=x.npy');
  assert.match(
    stderr,
    /warning: --save y=x\.npy replaces the file that x is read from, when the run is complete/,
  );
  const result = new Float32Array(new Uint8Array(folder.read('x.npy').subarray(128)).buffer);
  sameData(result, (i) => saxpy(X, Y, 2)[i]);
  assert.deepEqual(readdirSync(folder.path).sort(), ['saxpy.js', 'x.npy', 'y.npy']);
});

await runTests();
