/**
 * Default budgets in small control groups: right, or a sentence with numbers, and never the memory
 * killer.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runTests, test } from '../harness/suite.js';

const table = fileURLToPath(new URL('../containers/main.js', import.meta.url));

test('a space with default options in a small group is right, or says what it needs', async () => {
  const { status, stdout } = spawnSync(process.execPath, [table, '--some'], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
  assert.match(
    stdout,
    /^ok {3}device 256 MiB .* refused: .* limited to 256 MiB, and the space needs \d+ MiB$/m,
  );
});

await runTests(120);
