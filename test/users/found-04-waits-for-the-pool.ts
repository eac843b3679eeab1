/**
 * Fills that need Node.js's thread pool, whose threads wait for the filled pages, are refused by
 * name.
 */
import assert from 'node:assert/strict';
import { runProgram } from '../harness/processes.js';
import { longTest, runTests, variantTest } from '../harness/suite.js';

longTest(
  'a fill that waits for the pool that waits for it is refused at once, by name',
  async () => {
    const started = performance.now();
    const { signal, stderr } = await runProgram('pool-waits', ['byPool', '4']);
    assert.equal(signal, 'SIGBUS', stderr);
    assert.match(
      stderr,
      /array pool, elements .*byPool of .* waits for Node\.js's thread pool, all 4 threads/,
    );
    assert.match(stderr, /readSync/);
    assert.ok(performance.now() - started < 15_000);
  },
);

const well: readonly (readonly [string, string, number])[] = [
  ['of the pool while a thread of it is free', 'byPool', 3],
  ['that need no pool while all its threads wait', 'byThread', 8],
  ['that are slow while all its threads wait', 'slowly', 4],
];

for (const [what, way, count] of well) {
  variantTest(`fills ${what} give what was asked for`, async () => {
    const { code, stdout, stderr } = await runProgram('pool-waits', [way, String(count)]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim(), 'all is right');
  });
}

await runTests();
