/**
 * A space that cannot be opened, for want of file descriptors, leaves the process and its other
 * spaces alone.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { LONG, longTest, runTests } from '../harness/suite.js';

const LIMIT = 300;
/** What a process has that has done nothing but open and close spaces. */
const OWN = 100;

/** Enough for every module of the manager at once, on a slow disk. */
const ENOUGH = 150;

function check(devices: number, counts: readonly number[]): void {
  const program = `${dirname(process.argv[1])}/programs/opening-without-descriptors.js`;
  const command = [process.execPath, program, devices, ...counts, ENOUGH].join(' ');
  const { status, signal, stdout, stderr } = spawnSync(
    'sh',
    ['-c', `ulimit -n ${LIMIT}; exec ${command}`],
    {
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  assert.equal(signal, null, `${stdout}${stderr}`);
  assert.equal(status, 0, `${stdout}${stderr}`);
  const results = [...stdout.matchAll(/^left (\d+) (.*)$/gm)].map(([, left, result]) => ({
    left,
    result,
  }));
  assert.equal(results.length, counts.length + 1, stdout);
  for (const { left, result } of results) {
    if (result === 'opened 7') continue;
    // Node does not say why it has started no process.
    if (devices > 0 && /^DEVICE_START: .* could not be started; .*\(ulimit -n\)/.test(result))
      continue;
    assert.match(
      result,
      /^DESCRIPTORS: cannot open a space: no file descriptors are left \(EMFILE\)/,
      `with ${left} left`,
    );
    assert.ok(result.includes(`this process may have ${LIMIT} of them (ulimit -n)`), result);
  }
  assert.match(results[0].result, /^DESCRIPTORS/);
  assert.equal(results[results.length - 1].result, 'opened 7');
  assert.match(stdout, /^first 42 1$/m);
  const free = Number(/^free (\d+)$/m.exec(stdout)?.[1]);
  assert.ok(free > LIMIT - OWN, `only ${free} descriptors are left`);
}

longTest(
  'a space without devices',
  () => check(0, LONG ? [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] : [0, 2, 5, 8, 11]),
  120,
);
longTest(
  'a space with a device',
  () => check(1, LONG ? [0, 7, 9, 10, 11, 12, 13, 14, 15, 16] : [0, 9, 12, 15]),
  120,
);

longTest(
  'a space that is used and closed with no descriptor left does both, and the program ends well',
  () => {
    const program = `${dirname(process.argv[1])}/programs/without-descriptors.js`;
    const command = `ulimit -n ${LIMIT}; exec ${process.execPath} ${program}`;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.match(stdout, /^launches true$/m);
  },
);

await runTests();
