/**
 * The programs that test say what they take: who asks for that, or errs, is no programmer of theirs
 * who could read it from a stack.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { longTest, runTests } from '../harness/suite.js';

const TESTS = fileURLToPath(new URL('..', import.meta.url));

/** Those that read their options, by themselves or as folders of tests do. */
const programs = readdirSync(TESTS)
  .map((folder) => `${TESTS}${folder}/main.js`)
  .filter(
    (path) => existsSync(path) && /harness\/(options|runner)\.js/.test(readFileSync(path, 'utf8')),
  );

function run(
  path: string,
  option: string,
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [path, option], { encoding: 'utf8' });
}

longTest('a program of the tests says by --help what it takes', () => {
  assert.ok(programs.length >= 10, `only ${programs.length} programs`);
  for (const path of programs) {
    const { status, stdout, stderr } = run(path, '--help');
    assert.deepEqual([status, stderr], [0, ''], path);
    assert.match(stdout, /^(npm run -s|node) \S/, path);
  }
});

longTest(
  'a program of the tests refuses an option that there is not, and says which there are',
  () => {
    for (const path of programs) {
      const { status, stderr } = run(path, '--nonsense');
      assert.equal(status, 2, path);
      assert.match(stderr, /^Unknown option '--nonsense'.*\n\n(npm run -s|node) /, path);
      assert.doesNotMatch(stderr, /\n +at /, path);
    }
  },
);

await runTests();
