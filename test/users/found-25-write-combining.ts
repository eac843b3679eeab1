/** Small writes of the CPU to what a device has go to it in one transfer, where its driver can. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openSpace } from '../../src/index.js';
import { note, runTests, test } from '../harness/suite.js';

const script = fileURLToPath(new URL('../../../scripts/software-gpu.mjs', import.meta.url));
const program = fileURLToPath(new URL('./programs/small-writes.js', import.meta.url));

test('what was written in 16 places goes to a GPU in one transfer', () => {
  const { stdout, stderr } = spawnSync(process.execPath, [script, process.execPath, program], {
    encoding: 'utf8',
    timeout: 240_000,
  });
  if (stdout.startsWith('SKIPPED')) {
    note(stdout);
    return;
  }
  assert.ok(stdout !== '', stderr);
  const { transfers, bytes, ...others } = JSON.parse(stdout);
  assert.deepEqual(others, { writeCombining: true, wrong: 0 });
  // The pages come by pieces of 64 KiB at most: those of 16 places are less than one transfer has.
  assert.ok(bytes >= 16 * 4096 && bytes <= 2 ** 21, `${bytes} bytes`);
  assert.ok(transfers <= 2, `${transfers} transfers`);
}, 60_000);

test('a device to which a CPU copies says that it combines nothing', async () => {
  await using space = await openSpace({
    devices: [
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '8MiB' },
    ],
  });
  for (const { capabilities } of space.devices) assert.equal(capabilities.writeCombining, false);
});

await runTests();
