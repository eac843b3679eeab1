/**
 * A worker thread that opened a space is terminated: threads that used the space are not left
 * waiting, and other spaces go on.
 */
import assert from 'node:assert/strict';
import { runProgram } from '../harness/processes.js';
import { longTest, runTests, test } from '../harness/suite.js';

longTest('where nobody else is attached, the other spaces of the process go on', async () => {
  const { code, stdout, stderr } = await runProgram('terminated-opener', ['alone']);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'own: 7\nclosed\n');
});

for (const how of ['touch', 'launch']) {
  (how === 'touch' ? test : longTest)(
    `a thread that is attached, and waits for a ${how}, ends with the process, in a line that says why`,
    async () => {
      const { signal, stdout, stderr } = await runProgram('terminated-opener', [how], {
        seconds: 30,
      });
      assert.equal(signal, 'SIGKILL');
      assert.equal(stdout, 'attached: 5\nown: 7\n');
      assert.match(
        stderr,
        /^onemem: the memory of a space .* the worker thread that opened it has ended .*\n$/,
      );
    },
    40,
  );
}

await runTests();
