/**
 * System calls on pages that are not there fail for an ordinary user: the program is told once, and
 * what to do.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { longTest, runTests, test } from '../harness/suite.js';

const library = new URL('../../src/index.js', import.meta.url).href;
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

/** Opens two spaces that serve no system calls, and says which warnings it has heard. */
const OPENS = `
import { openSpace } from '${library}';
const codes = [];
process.on('warning', ({ code }) => codes.push(code));
for (let n = 0; n < 2; n++) await (await openSpace({ hostMemory: '64MiB', storage: false, userModeOnly: true })).close();
await new Promise(setImmediate);
console.log(JSON.stringify(codes));`;

function node(...args: string[]) {
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

longTest('the first space that serves no system calls warns of it, and names what to do', () => {
  const { stdout, stderr } = node('--input-type=module', '-e', OPENS);
  assert.deepEqual(JSON.parse(stdout), ['ONEMEM_USER_MODE'], stderr);
  assert.match(
    stderr,
    /\[ONEMEM_USER_MODE\] OnememWarning: .*EFAULT.*res\.end\(\).*npx onemem doctor --explain EFAULT/,
  );
});

longTest("Node's own option leaves the warning out", () => {
  const { stdout, stderr } = node(
    '--disable-warning=ONEMEM_USER_MODE',
    '--input-type=module',
    '-e',
    OPENS,
  );
  assert.equal(stderr, '');
  // Those who listen hear it.
  assert.deepEqual(JSON.parse(stdout), ['ONEMEM_USER_MODE']);
});

test('doctor explains EFAULT: what happens, where it is seen, and what to do', () => {
  const { status, stdout } = node(command, 'doctor', '--explain', 'EFAULT');
  assert.equal(status, 0);
  for (const sink of ['res.end()', 'socket.write()', 'fs.write()', 'child.stdin'])
    assert.ok(stdout.includes(sink), sink);
  for (const remedy of [
    'array.hold(',
    'createReadStream(',
    'writeTo(',
    'toBuffer(',
    'npx onemem doctor',
  ])
    assert.ok(stdout.includes(remedy), remedy);
});

test('doctor names the codes that it explains', () => {
  const { status, stderr } = node(command, 'doctor', '--explain', 'EWHAT');
  assert.equal(status, 2);
  assert.match(stderr, /--explain knows EFAULT.*not 'EWHAT'/);
});

await runTests();
