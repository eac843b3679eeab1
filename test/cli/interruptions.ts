/** Whatever ends a run: the old files are whole. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMANDS_SECONDS, Folder, ramp, SAXPY, SLOW_SAXPY, saxpy } from '../harness/command.js';
import { until } from '../harness/processes.js';
import { longTest, runTests, test, variantTest } from '../harness/suite.js';

const LENGTH = 2 ** 21;
const RUN = [
  'run',
  'saxpy.js',
  '--in',
  'x=x.npy',
  '--inout',
  'y=y.npy',
  '--set',
  'alpha=3',
  '--device-memory',
  '8MiB',
];

/** As SLOW_SAXPY, but it never gets further than a first element. */
const ENDLESS = `import { writeFileSync } from 'node:fs';
export default {
  params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' },
  kernel({ x, y, alpha }, { begin }) {
    y[begin] += alpha * x[begin];
    writeFileSync(new URL('./midway', import.meta.url), '');
    for (;;);
  },
};
`;

interface Files {
  before: Buffer;
  after: Buffer;
}

function filesFor(folder: Folder, kernel: string): Files {
  const x = ramp(LENGTH);
  const y = ramp(LENGTH, 3);
  folder.write('package.json', '{ "type": "module" }');
  folder.write('saxpy.js', kernel);
  folder.npy('x.npy', 'f32', x, [LENGTH]);
  const after = folder.npy('y.npy', 'f32', saxpy(x, y, 3), [LENGTH]);
  return { after, before: folder.npy('y.npy', 'f32', y, [LENGTH]) };
}

/** Waits until the kernel has written a part. */
async function midway(folder: Folder): Promise<void> {
  await until('the kernel is midway', () => existsSync(folder.file('midway')));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function allGone(pids: readonly number[]): Promise<void> {
  await until(`processes ${pids.join(', ')} are gone`, () => !pids.some(isAlive));
}

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  const tested = signal === 'SIGINT' ? test : longTest;
  tested(`${signal} midway ends the run and leaves everything as it was`, async () => {
    using folder = new Folder();
    const { before } = filesFor(folder, SLOW_SAXPY);
    const running = folder.start(...RUN);
    await midway(folder);
    const devices = running.children;
    assert.equal(devices.length, 1);
    assert.equal(folder.temporaries.length, 1);
    running.kill(signal);
    const { code, stderr } = await running.ended;
    assert.equal(code, exitCode);
    assert.match(stderr, new RegExp(`onemem: interrupted by ${signal}; y\\.npy is as before\\n$`));
    assert.deepEqual(folder.temporaries, []);
    assert.ok(folder.read('y.npy').equals(before));
    await allGone(devices);
  });
}

longTest('kill -9 midway leaves the old file, and the next run is not disturbed', async () => {
  using folder = new Folder();
  const { before, after } = filesFor(folder, SLOW_SAXPY);
  const running = folder.start(...RUN);
  await midway(folder);
  const devices = running.children;
  running.kill('SIGKILL');
  assert.equal((await running.ended).signal, 'SIGKILL');
  assert.ok(folder.read('y.npy').equals(before));
  await allGone(devices);
  folder.write('saxpy.js', SAXPY);
  await folder.succeed(...RUN);
  assert.ok(folder.read('y.npy').equals(after));
});

longTest('kill -9 at any moment leaves the old file or the new one', async () => {
  using folder = new Folder();
  const { before, after } = filesFor(folder, SAXPY);
  const started = performance.now();
  await folder.succeed(...RUN);
  const whole = performance.now() - started;
  const rounds = 6;
  for (let round = 0; round < rounds; round++) {
    folder.write('y.npy', before);
    const running = folder.start(...RUN);
    // Most of a run is the start of the process; what matters lies in its second half.
    await sleep((whole * (rounds + round)) / (2 * rounds));
    running.kill('SIGKILL');
    const { code } = await running.ended;
    const found = folder.read('y.npy');
    assert.ok(
      found.equals(after) || (code !== 0 && found.equals(before)),
      `round ${round}: neither the old file nor the new one`,
    );
    for (const name of folder.temporaries) rmSync(folder.file(name));
  }
});

for (const lossy of [false, true]) {
  variantTest(
    `a device that is killed midway fails the run in one line${lossy ? ', lossy' : ''}`,
    async () => {
      using folder = new Folder();
      const { before } = filesFor(folder, SLOW_SAXPY);
      const running = folder.start(...RUN, ...(lossy ? ['--lossy'] : []));
      await midway(folder);
      const [device] = running.children;
      process.kill(device, 'SIGKILL');
      const { code, stderr } = await running.ended;
      assert.equal(code, 1, stderr);
      assert.match(
        stderr,
        /onemem: device process0 ended before the work was done .*no file was changed: run it again\n$/,
      );
      assert.deepEqual(folder.temporaries, []);
      assert.ok(folder.read('y.npy').equals(before));
    },
  );
}

test('a kernel that never ends does not stop Ctrl-C', async () => {
  using folder = new Folder();
  const { before } = filesFor(folder, ENDLESS);
  const running = folder.start(...RUN);
  await midway(folder);
  const devices = running.children;
  assert.equal(devices.length, 1);
  running.kill('SIGINT');
  assert.equal((await running.ended).code, 130);
  assert.ok(folder.read('y.npy').equals(before));
  await allGone(devices);
});

await runTests(COMMANDS_SECONDS);
