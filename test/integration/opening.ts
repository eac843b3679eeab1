/** Spaces that cannot be opened say why, and leave nothing behind. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { runProgram } from '../harness/processes.js';
import { longTest, runTests, test } from '../harness/suite.js';

longTest('a space that nobody watches is closed again, with its devices', async () => {
  const { code, stdout, stderr } = await runProgram('opening-unwatched', []);
  assert.equal(code, 0, stderr);
  const [failed, ...rest] = stdout.trimEnd().split('\n');
  assert.match(
    failed,
    /^MANAGER_START: cannot open a space: the thread that watches .* before it was up: .*no-such-module/,
  );
  assert.deepEqual(rest, ['left nothing', 'then 7']);
});

test('a process that ends while it opens a space does not wait for a thread that has not begun to load', async () => {
  const { code, stdout, stderr } = await runProgram('opening-exit', []);
  assert.deepEqual({ code, stdout, stderr }, { code: 3, stdout: 'exits\n', stderr: '' });
});

longTest(
  'a thread is told of addresses that the spaces of others have, who may have been terminated',
  async () => {
    const said: unknown[] = [];
    for (let thread = 0; thread < 2; thread++) {
      const worker = new Worker(new URL('./programs/opening-thread.js', import.meta.url));
      said.push((await once(worker, 'message'))[0]);
      await worker.terminate();
    }
    assert.equal(said[0], 'open');
    assert.match(
      String(said[1]),
      /^no addresses are left for another space: .* or close spaces, those of worker threads before/,
    );
  },
);

await runTests();
