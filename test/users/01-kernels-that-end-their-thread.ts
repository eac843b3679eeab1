/**
 * Whatever a kernel does to the thread or the process that runs it: its launch ends, the device
 * goes on or is lost, and close() ends.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import {
  type AddressSpace,
  i32,
  type Kernel,
  kernel,
  type ManagedArray,
  openSpace,
} from '../../src/index.js';
import { stopProcess } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const N = 8192;
const parameters = { x: i32.inout };
const add = kernel(parameters, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const module = new URL('./programs/ending-kernels.js', import.meta.url);

/**
 * Kernels that end the thread of the last unit; those before it come to their end, or are ended.
 */
const ENDING: Readonly<Record<string, [kernel: Kernel<typeof parameters>, message: RegExp]>> = {
  'process.exit()': [
    kernel(parameters, (_, { unit, units }) => {
      if (unit === units - 1) process.exit(3);
    }),
    /exit code 3/,
  ],
  'process.exit() in an asynchronous kernel': [
    kernel(parameters, async (_, { unit, units }) => {
      await Promise.resolve();
      if (unit === units - 1) process.exit(0);
    }),
    /exit code 0/,
  ],
  'process.reallyExit()': [
    kernel(parameters, (_, { unit, units }) => {
      if (unit === units - 1)
        (process as unknown as { reallyExit(code: number): void }).reallyExit(4);
    }),
    /exit code 4/,
  ],
  'an error that nobody catches while it waits': [
    kernel(parameters, async (_, { unit, units }) => {
      if (unit < units - 1) return;
      setTimeout(() => {
        throw new Error('too late');
      }, 5);
      await new Promise(() => undefined);
    }),
    /Error: too late/,
  ],
  'a rejection that nobody handles': [
    kernel(parameters, async (_, { unit, units }) => {
      if (unit < units - 1) return;
      void Promise.reject(new Error('not handled'));
      await new Promise(() => undefined);
    }),
    /Error: not handled/,
  ],
  'a heap that is full': [
    kernel(parameters, (_, { unit, units }) => {
      const hoard: number[][] = [];
      while (unit === units - 1) hoard.push(new Array(10_000).fill(1.5 + hoard.length));
    }),
    /heap out of memory/,
  ],
  'process.exit(), while another unit never ends': [
    kernel(parameters, ({ x }, { begin, end, unit, units }) => {
      if (unit === units - 1) process.exit(5);
      for (;;) for (let i = begin; i < end; i++) x[i] += 1;
    }),
    /exit code 5/,
  ],
};

async function withDevice(
  units: number,
  work: (space: AddressSpace, x: ManagedArray<Int32Array>) => Promise<void>,
  open = openSpace,
) {
  // The device takes it over: a heap that is soon full.
  process.env.NODE_OPTIONS = '--max-old-space-size=48';
  const space = await open({
    devices: [{ kind: 'process', memory: '16MiB', units }],
    hostMemory: '256MiB',
  });
  delete process.env.NODE_OPTIONS;
  const x = space.array(Int32Array, N);
  x.data.fill(7);
  await work(space, x);
  await space.close();
}

for (const units of [1, 2]) {
  for (const [what, [ending, message]] of Object.entries(ENDING)) {
    test(`${what}: the launch fails, the device goes on (${units} units)`, () =>
      withDevice(
        units,
        async (space, x) => {
          const [device] = space.devices;
          const error = await failsWith('KERNEL_ERROR', () =>
            device.run(ending, { x }, { size: N }),
          );
          assert.match(error.message, message);
          const y = space.array(Int32Array, N);
          for (let round = 0; round < 3; round++) await device.run(add, { x: y }, { size: N });
          sameData(y.data, () => 3);
          assert.ok(device.stats().alive);
        },
        sharedSpace,
      ));
  }
}

longTest('a unit that ends between two launches is replaced', () =>
  withDevice(2, async (space, x) => {
    const [device] = space.devices;
    const late = kernel(parameters, () => {
      setTimeout(() => process.exit(6), 1);
    });
    for (let round = 0; round < 5; round++) {
      await device.run(late, { x }, { size: N });
      // Launches go on while units end and are replaced: each is done, or says why not.
      for (let each = 0; each < 10; each++) {
        await device
          .run(add, { x }, { size: N })
          .catch((error: { code: string; message: string }) => {
            assert.equal(error.code, 'KERNEL_ERROR', error.message);
            assert.match(error.message, /exit code 6/);
          });
      }
    }
    await sleep(10);
    const y = space.array(Int32Array, N);
    await device
      .run(add, { x: y }, { size: N })
      .catch(() => device.run(add, { x: y }, { size: N }));
  }),
);

longTest('a kernel that closes its ports ends well, and the next launch runs', () =>
  withDevice(1, async (space, x) => {
    const [device] = space.devices;
    const close = kernel(parameters, { module, export: 'closePorts' });
    await device
      .run(close, { x }, { size: N })
      .catch((error: { code: string }) => assert.equal(error.code, 'KERNEL_ERROR'));
    await device.run(add, { x }, { size: N }).catch((error: { code: string }) => {
      // The thread was on its way out when it was given this one.
      assert.equal(error.code, 'KERNEL_ERROR');
      x.data.fill(8);
    });
    sameData(x.data, () => 8);
  }),
);

longTest('a kernel that ends its process loses the device, and close() ends', () =>
  withDevice(2, async (space, x) => {
    const [device] = space.devices;
    const ending = kernel(parameters, () => {
      process.kill(process.pid, 'SIGKILL');
    });
    await failsWith('DEVICE_LOST', () => device.run(ending, { x }, { size: N }));
    await failsWith('DEVICE_LOST', () => device.run(add, { x }, { size: N }));
    sameData(x.data, () => 7);
  }),
);

longTest('signals to the device that its owner is to handle do not disturb it', () =>
  withDevice(1, async (space, x) => {
    const ending = kernel(parameters, ({ x }, { begin, end }) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.kill(process.pid, signal);
      for (let i = begin; i < end; i++) x[i] += 1;
    });
    await space.devices[0].run(ending, { x }, { size: N });
    sameData(x.data, () => 8);
  }),
);

longTest('a kernel that closes what the device has open loses the device', () =>
  withDevice(2, async (space, x) => {
    const [device] = space.devices;
    const closing = kernel(parameters, { module, export: 'closeDescriptors' });
    await failsWith('DEVICE_LOST', () => device.run(closing, { x }, { size: N }));
    sameData(x.data, () => 7);
  }),
);

test('a device that cannot say that its unit has ended is ended', async () => {
  const folder = mkdtempSync(`${tmpdir()}/onemem-silent-`);
  const [result, full] = [`${folder}/result`, `${folder}/full`];
  execFileSync('mkfifo', [full]);
  // No program reads what the terminal is to show: it takes a few KiB, and a kernel that prints
  // more waits.
  const unread = openSync(full, constants.O_RDWR);
  const program = `${dirname(process.argv[1])}/programs/silent-device.js`;
  const command = `${process.execPath} ${program} ${result}`;
  const terminal = spawn('script', ['-qc', command, '/dev/null'], {
    stdio: ['ignore', unread, 'inherit'],
  });
  let printed = '';
  while (!printed.endsWith('closed\n')) {
    await sleep(100);
    printed = existsSync(result) ? readFileSync(result, 'utf8') : '';
  }
  terminal.kill('SIGKILL');
  closeSync(unread);
  rmSync(folder, { recursive: true });
  assert.match(
    printed,
    /^DEVICE_LOST .*lost a thread and did not say so, and was ended.*\nclosed\n$/,
  );
}, 60);

longTest('a unit that cannot start is named, and the device is lost', async () => {
  const folder = mkdtempSync(`${tmpdir()}/onemem-preload-`);
  const preload = `${folder}/preload.cjs`;
  writeFileSync(
    preload,
    "if (require('node:worker_threads').workerData?.unit === 1) throw new Error('no thread today');",
  );
  process.env.NODE_OPTIONS = `--require=${preload}`;
  try {
    await using space = await openSpace({
      devices: [{ kind: 'process', memory: '16MiB', units: 2 }],
    });
    const x = space.array(Int32Array, N);
    // The other unit alone has something to do.
    await space.devices[0].run(add, { x }, { size: 1 });
    const { message } = await failsWith('DEVICE_LOST', () =>
      space.devices[0].run(add, { x }, { size: N }),
    );
    assert.match(message, /unit 1 could not start: no thread today/);
  } finally {
    delete process.env.NODE_OPTIONS;
    rmSync(folder, { recursive: true });
  }
});

longTest('a device that is stopped for a while loses nothing', () =>
  withDevice(1, async (space, x) => {
    const [device] = space.devices;
    const pid = device.pid as number;
    await device.run(add, { x }, { size: N });
    await stopProcess(pid);
    const running = device.run(add, { x }, { size: N });
    const discarded = space.array(Int32Array, N);
    // Longer than a device may be without a thread.
    await sleep(4500);
    assert.ok(device.stats().alive);
    process.kill(pid, 'SIGCONT');
    await running;
    sameData(x.data, () => 9);
    await device.run(add, { x: discarded }, { size: N });
    sameData(discarded.data, () => 1);
  }),
);

longTest('the wait for a device that is stopped can be given up', () =>
  withDevice(1, async (space, x) => {
    const [device] = space.devices;
    await device.run(add, { x }, { size: N });
    await stopProcess(device.pid as number);
    const why = new Error('enough');
    const controller = new AbortController();
    const running = device.run(add, { x }, { size: N, signal: controller.signal });
    setTimeout(() => controller.abort(why), 50);
    const error = await failsWith('ABORTED', () => running);
    assert.equal(error.cause, why);
    assert.match(
      error.message,
      /device process0 was lost with it: it did not end a launch within 5 s/,
    );
    assert.equal(device.stats().alive, false);
    // Its memory outlives it.
    sameData(x.data, () => 8);
  }),
);

await runTests();
