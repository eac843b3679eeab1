/** Lines of native libraries that are kept from standard error. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { runTests, test } from '../harness/suite.js';

const MODULE = new URL('../../src/linux/files/standard-error.js', import.meta.url).href;

/** What a program writes there. */
function writtenBy(program: string): string {
  const source = `import { writeSync } from 'node:fs'; import { withoutLines } from '${MODULE}'; const say = (text) => writeSync(2, text); ${program}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' })
    .stderr;
}

test('lines that nobody needs are left out, and all others come, before and after those of the program', () => {
  const written = writtenBy(`
    say('first\\n');
    await withoutLines(/^Warning: limit/, async () => say('Warning: limit 1\\nWarning: other\\nWarning: limit 2\\nno end'));
    say(', last\\n');
    await withoutLines(/^Warning/, async () => { say('why\\n'); throw new Error('failed'); }).catch(() => say('after\\n'));`);
  assert.equal(written, 'first\nWarning: other\nno end, last\nwhy\nafter\n');
});

await runTests();
