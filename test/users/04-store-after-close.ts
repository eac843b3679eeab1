/**
 * A view whose space has been closed: a load gives zero, a store ends the process after a line that
 * names the array.
 */
import assert from 'node:assert/strict';
import { type Outcome, runProgram } from '../harness/processes.js';
import { longTest, runTests, test } from '../harness/suite.js';

const denied = (name: string): RegExp =>
  new RegExp(
    `^onemem: denied access: thread \\d+ wrote array ${name}, elements 0 to 1023 \\(address 0x[0-9a-f]+\\), whose space has been closed\\. The process ends\\.$`,
    'm',
  );
const warned =
  /^onemem: warning: the program read array late, elements \d+ to \d+ \(address 0x[0-9a-f]+\), whose space has been closed; it reads as zero\n$/;

function hasEnded({ signal, stdout, stderr }: Outcome, name: string): void {
  assert.match(stderr, denied(name));
  assert.ok(signal === 'SIGBUS' || signal === 'SIGKILL' || signal === 'SIGSEGV', `${signal}`);
  assert.doesNotMatch(stdout, /survived/);
}

test('a store ends the process with a line', async () => {
  const outcome = await runProgram('late-store', ['store']);
  hasEnded(outcome, 'late');
  assert.equal(outcome.stderr.trimEnd().split('\n').length, 1, outcome.stderr);
});

test('so does one after a load of the same element', async () => {
  const outcome = await runProgram('late-store', ['store after load']);
  assert.match(outcome.stdout, /^read 0$/m);
  hasEnded(outcome, 'late');
});

longTest('and one in another thread', async () =>
  hasEnded(await runProgram('late-store', ['in another thread']), 'late'),
);

longTest('a load gives zeros, with one warning, and the process ends by itself', async () => {
  const { code, stdout, stderr } = await runProgram('late-store', ['load']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^read 0$/m);
  assert.match(stderr, warned);
});

longTest('a system call that stores fails, or its process ends with the line', async () => {
  const { code, stdout, stderr } = await runProgram('late-store', ['store through a system call']);
  if (code === 0) assert.match(stdout, /^read failed with EFAULT$/m);
  assert.match(
    stderr,
    /^onemem: denied access: thread \d+ wrote array late, .*whose space has been closed\./m,
  );
});

longTest(
  'each of several spaces that were closed is watched, by one thread and its watcher',
  async () => {
    const outcome = await runProgram('late-store', ['first of several']);
    assert.match(outcome.stdout, /^few threads\nread 0 5$/m);
    hasEnded(outcome, 'array0');
  },
);

longTest('nothing is left when no view is', async () => {
  const { code, stdout, stderr } = await runProgram('late-store', ['dropped']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^gone$/m);
  assert.equal(stderr, '');
});

await runTests();
