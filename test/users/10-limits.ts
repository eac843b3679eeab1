/**
 * Limits of the system: what can be had is used, what cannot is named with its remedy, and what
 * would end badly is warned of.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { openSpace } from '../../src/index.js';
import { freeAddresses } from '../../src/linux/processes/process.js';
import { type Outcome, runProgram } from '../harness/processes.js';
import { failsWith, longTest, note, runTests, sameData, test } from '../harness/suite.js';
import { warningsOf } from '../harness/warnings.js';

const opening = fileURLToPath(new URL('./programs/opening.js', import.meta.url));
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const WITH_DEVICE = JSON.stringify({ devices: [{ kind: 'process', memory: '16MiB' }] });

/** Runs a program of ours that may map so many KiB of addresses. */
function limited(
  kibibytes: number,
  ...program: string[]
): { code: number | null; stdout: string; stderr: string } {
  const line = `ulimit -v ${kibibytes}; exec "$0" "$@"`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', line, process.execPath, ...program], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  return { code: status, stdout, stderr };
}

longTest('under ulimit -v the address range is as large as it can be', () => {
  for (const gibibytes of [4, 16, 512]) {
    const { code, stdout, stderr } = limited(gibibytes * 2 ** 20, opening, WITH_DEVICE);
    assert.equal(code, 0, stderr);
    const [, result, bytes] = /^ok (\d+) (\d+)$/m.exec(stdout) ?? [];
    assert.equal(result, '2', `${gibibytes} GiB: ${stdout}${stderr}`);
    note(`of ${gibibytes} GiB the space has ${Math.round(Number(bytes) / 2 ** 20)} MiB`);
    assert.ok(
      Number(bytes) > (gibibytes * 2 ** 30) / 16 && Number(bytes) < (gibibytes * 2 ** 30) / 6,
    );
  }
});

test('an addressSpace that a limit does not allow is refused with the limit and the remedy', () => {
  const { stdout } = limited(8 * 2 ** 20, opening, JSON.stringify({ addressSpace: '6GiB' }));
  assert.match(
    stdout,
    /^RangeError ADDRESS_SPACE addressSpace of 6442450944 bytes.* leaves \d+ bytes; .*ulimit -v unlimited/,
  );
});

test('doctor knows of the limit on addresses', () => {
  const { code, stdout } = limited(16 * 2 ** 20, command, 'doctor');
  assert.equal(code, 0);
  assert.match(stdout, /address range of spaces +a limit leaves 1[0-9.]+ GiB of addresses/);
  assert.equal(freeAddresses(), Number.POSITIVE_INFINITY, 'this process has none');
});

longTest('where pidfds are denied a device starts, works, and its death is noticed', async () => {
  const { code, stdout } = await runProgram('denied', [
    'pidfdOpen',
    process.execPath,
    opening,
    WITH_DEVICE,
  ]);
  assert.match(stdout, /^ok 2 /);
  assert.equal(code, 0);
  const killed: Outcome = await runProgram('denied', [
    'pidfdOpen',
    process.execPath,
    fileURLToPath(new URL('./programs/killing.js', import.meta.url)),
  ]);
  assert.equal(killed.stdout, 'DEVICE_LOST\n', killed.stderr);
  assert.equal(killed.code, 0);
});

longTest('doctor tells that pidfds are denied, and that it does without', async () => {
  const { code, stdout } = await runProgram('denied', [
    'pidfdOpen',
    process.execPath,
    command,
    'doctor',
  ]);
  assert.match(
    stdout,
    /absent +pidfd_open +denied; the end of a device is seen by its socket instead/,
  );
  assert.equal(code, 0);
});

longTest(
  'hostMemory may be as small as 32 MiB, which more threads and data than fit can live with',
  async () => {
    await using space = await openSpace({
      hostMemory: '32MiB',
      devices: [{ kind: 'process', memory: '64MiB', units: 4 }],
    });
    const x = space.array(Uint32Array, 6 * 2 ** 20);
    for (let i = 0; i < x.length; i += 1024) x.data[i] = i;
    await space.devices[0].stream().prefetch(x.range()).synchronize();
    sameData(x.data, (i) => (i % 1024 === 0 ? i : 0));
    space.checkInvariants();
  },
);

test('less than that is refused with the number', async () => {
  const error = await failsWith('SIZE', () => openSpace({ hostMemory: '31MiB' }));
  assert.match(
    error.message,
    /hostMemory is 32505856 bytes; it must be at least 33554432 \(32MiB\)/,
  );
});

longTest('hostMemory and devices that the machine cannot hold are warned of', async () => {
  const memory = 2 * totalmem();
  const warnings = await warningsOf(async () => {
    await (
      await openSpace({ hostMemory: memory, devices: [{ kind: 'process', memory, units: 1 }] })
    ).close();
    await (await openSpace({ hostMemory: '64MiB' })).close();
  });
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['ONEMEM_MEMORY', 'ONEMEM_MEMORY'],
  );
  assert.match(
    warnings[0].message,
    new RegExp(`^hostMemory is ${memory} bytes, more than the \\d+ bytes of this machine`),
  );
  assert.match(warnings[1].message, /^the memory of the devices is \d+ bytes/);
});

await runTests();
