/** Spaces that cannot be opened say why, and leave nothing behind. */
import assert from 'node:assert/strict';
import { runProgram } from '../harness/processes.js';
import { runTests, test } from '../harness/suite.js';

test('a space that nobody watches is closed again, with its devices', async () => {
  const { code, stdout, stderr } = await runProgram('opening-unwatched', []);
  assert.equal(code, 0, stderr);
  const [failed, ...rest] = stdout.trimEnd().split('\n');
  assert.match(
    failed,
    /^MANAGER_START: cannot open a space: the thread that watches .* before it was up: .*no-such-module/,
  );
  assert.deepEqual(rest, ['left nothing', 'then 7']);
});

test('a process that ends while it opens a space waits until the thread of the manager may be stopped', async () => {
  const { code, stdout, stderr } = await runProgram('opening-exit', []);
  assert.deepEqual({ code, stdout, stderr }, { code: 3, stdout: 'exits\nloaded\n', stderr: '' });
});

await runTests();
