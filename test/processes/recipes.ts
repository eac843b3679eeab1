/** Packages that read what one process holds for all: the pages of docs/guides/recipes.md. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { longTest, note, runTests } from '../harness/suite.js';

longTest('mmdb-lib: eight workers of a cluster hold one database together', async () => {
  const program = fileURLToPath(new URL('./programs/geo.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  note(`memory of all processes / the database: ${stdout.trim()}`);
  assert.ok(Number(stdout) > 0.9 && Number(stdout) <= 1.1, stdout);
});

await runTests();
