/**
 * A container that forbids userfaultfd: a program that opens a space is told what to do about it,
 * in full, and the program ends well.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../harness/processes.js';
import { longTest, runTests, test } from '../harness/suite.js';

const NOTHING = 'userfaultfd,dev-userfaultfd';
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const opening = fileURLToPath(new URL('./programs/opening.js', import.meta.url));

/** What the remedies name: each place where a program may run. */
const PLACES = [
  /docker run --security-opt seccomp=/,
  /docker run --device \/dev\/userfaultfd/,
  /podman run/,
  /seccompProfile: \{ type: Unconfined \}/,
];

function denied(...program: string[]) {
  return runProgram('denied', [NOTHING, process.execPath, ...program]);
}

longTest(
  'openSpace() fails with the whole list of remedies, and the process ends by itself',
  async () => {
    const { code, stdout, stderr } = await denied(opening);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^OnememError UNSUPPORTED /);
    assert.match(stdout, /npx onemem doctor/);
    for (const place of PLACES) assert.match(stdout, place);
    assert.doesNotMatch(
      stdout,
      /make userfaultfd available first/,
      'what follows from the first is not said',
    );
    assert.equal(stderr, '');
  },
);

longTest('doctor names the same remedies, and ends with 1', async () => {
  const { code, stdout } = await denied(command, 'doctor');
  assert.equal(code, 1);
  for (const place of PLACES) assert.match(stdout, place);
  assert.match(stdout, /MISSING {2}userfaultfd /);
  assert.match(stdout, /^onemem does not work here, because this is missing: userfaultfd/);
});

longTest('onemem run ends with 1 and the remedies, and touches no file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-users-'));
  const data = join(folder, 'y.bin');
  const kernel = join(folder, 'k.mjs');
  writeFileSync(
    kernel,
    "export default { params: { y: 'u8.inout' }, kernel({ y }, { begin, end }) { for (let i = begin; i < end; i++) y[i] = 1; } };",
  );
  writeFileSync(data, new Uint8Array(4096));
  const { code, stdout, stderr } = await denied(command, 'run', kernel, '--inout', `y=${data}:u8`);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  for (const place of PLACES) assert.match(stderr, place);
  assert.deepEqual(readFileSync(data), Buffer.alloc(4096));
  assert.deepEqual(readdirSync(folder).sort(), ['k.mjs', 'y.bin']);
  rmSync(folder, { recursive: true });
});

test('one way that is left is enough', async () => {
  const { code, stdout } = await runProgram('denied', [
    'userfaultfd',
    process.execPath,
    command,
    'doctor',
    '--json',
  ]);
  const { usable, features } = JSON.parse(stdout) as {
    usable: boolean;
    features: { name: string; available: boolean }[];
  };
  const device = features.find(({ name }) => name.includes('/dev/userfaultfd'));
  assert.equal(usable, device?.available);
  assert.equal(code, usable ? 0 : 1);
});

await runTests();
