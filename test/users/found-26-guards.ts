/**
 * Modules that are asked before a processor gets a right to elements: what they refuse nobody
 * reads or writes, by whichever way, and what they note is on a list.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type AddressSpace,
  type GuardFunction,
  i32,
  kernel,
  type ManagedArray,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const PAGE = 1024;
const LENGTH = 1024 * PAGE;

/** A module with this function. */
function moduleOf(guard: GuardFunction<never> | string): string {
  return `data:text/javascript,export default ${encodeURIComponent(String(guard))}`;
}

const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});
const total = kernel({ x: i32.in, sum: i32.inout }, ({ x, sum }, { begin, end }) => {
  for (let i = begin; i < end; i++) sum[0] += x[i];
});

function withArray(
  action: (x: ManagedArray<Int32Array>, space: AddressSpace) => Promise<void>,
): () => Promise<void> {
  return async () => {
    await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
    const x = space.array(Int32Array, LENGTH, { name: 'x' });
    x.data.fill(7);
    await action(x, space);
    space.checkInvariants();
  };
}

test(
  'a guard is asked once for each page that a thread touches, to read and then to write',
  withArray(async (x) => {
    const guard = await x.guard({ module: moduleOf(() => 'note') });
    for (let time = 0; time < 3; time++) {
      for (let page = 0; page < 5; page++) assert.equal(x.data[page * PAGE], 7);
      for (let page = 3; page < 5; page++) x.data[page * PAGE + 1] = 9;
    }
    const host = (begin: number, write: boolean) => ({
      processor: 'host',
      begin: begin * PAGE,
      end: (begin + 1) * PAGE,
      write,
    });
    assert.deepEqual(guard.report(), {
      allowed: 0,
      refused: 0,
      noted: 7,
      notes: [...[0, 1, 2, 3, 4].map((page) => host(page, false)), host(3, true), host(4, true)],
      problem: null,
    });
  }),
);

test(
  'launches, copies, transfers and holds are refused what the guard refuses, and change nothing',
  withArray(async (x, space) => {
    const y = space.array(Int32Array, LENGTH, { name: 'y' });
    const module = moduleOf(({ begin, end, write }) =>
      write && end > 2048 && begin < 4096 ? 'refuse' : 'allow',
    );
    const guard = await x.guard({ module });
    const fd = openSync('/dev/zero', 'r');
    const [device] = space.devices;
    await failsWith('ACCESS_DENIED', () => device.run(add, { x }, { size: LENGTH }));
    await failsWith('ACCESS_DENIED', () => device.stream().copy(x, y).synchronize());
    await failsWith('ACCESS_DENIED', () => x.readFrom(fd, { begin: 2000, end: 2100 }));
    await failsWith('ACCESS_DENIED', () => x.hold({ writable: true }));
    await failsWith('ACCESS_DENIED', () => x.discard());
    closeSync(fd);
    // What it allows goes on.
    await device.run(add, { x: x.range(0, 2048) }, { size: 2048 });
    await device.stream().copy(y, x).synchronize();
    sameData(y.data, (index) => (index < 2048 ? 8 : 7));
    assert.equal(guard.report().refused, 5);
    await guard.close();
    await device.run(add, { x }, { size: LENGTH });
    sameData(x.data, (index) => (index < 2048 ? 9 : 8));
  }),
);

test(
  'a guard tells processors apart: a device may what the host may not',
  withArray(async (x, space) => {
    const sum = space.array(Int32Array, 1);
    const data = space.devices[0].name;
    const module = moduleOf("({ processor, data }) => processor === data ? 'allow' : 'refuse'");
    await using _guard = await x.guard({ module, data });
    await space.devices[0].run(total, { x, sum }, { size: LENGTH });
    assert.equal(sum.data[0], 7 * LENGTH);
    await failsWith('ACCESS_DENIED', () => x.toBuffer());
    await failsWith('ACCESS_DENIED', () => x.clone());
  }),
);

longTest(
  'a guard that throws, promises, answers otherwise or takes too long refuses by name',
  withArray(async (x) => {
    const cases: [string, RegExp][] = [
      ["() => { throw new RangeError('no table') }", /threw RangeError: no table/],
      ["async () => 'allow'", /returned a promise; it answers 'allow', 'refuse' or 'note'/],
      ['() => true', /returned true; it answers/],
      ['() => { for (;;); }', /did not answer within 1000 ms, and is asked no more/],
      [
        '() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
        /did not answer within 1000 ms/,
      ],
    ];
    for (const [text, why] of cases) {
      const guard = await x.guard({ module: moduleOf(text) });
      const error = await failsWith('ACCESS_DENIED', () => x.toBuffer());
      assert.match(error.message, why);
      assert.match(error.message, /its guard, export 'default' of data:/);
      assert.match(String(guard.report().problem), why);
      await guard.close();
    }
    sameData(new Int32Array((await x.toBuffer()).buffer), () => 7);
  }),
);

test(
  'a guard goes along where its array moves, is one at a time, and waits for nothing that runs',
  withArray(async (x, space) => {
    const module = moduleOf("({ write }) => (write && 'refuse') || 'note'");
    const running = space.devices[0].run(add, { x }, { size: LENGTH });
    await failsWith('ARRAY_IN_USE', () => x.guard({ module }));
    await running;
    const guard = await x.guard({ module });
    await failsWith('GUARDED', () => x.guard({ module }));
    await x.resize(4 * LENGTH);
    await failsWith('ACCESS_DENIED', () => x.discard());
    assert.deepEqual([x.data[0], x.data[LENGTH]], [8, 0]);
    assert.deepEqual(
      guard.report().notes.map(({ begin }) => begin),
      [0, LENGTH],
    );
    x.free();
    assert.ok(guard.isClosed);
    await failsWith('GUARD_CLOSED', () => guard.report());
    await failsWith('GUARD_MODULE', () => space.bytes(8).guard({ module, export: 'other' }));
  }),
);

test('a thread that touches what the guard refuses is ended, with the name of the guard', () => {
  const program = fileURLToPath(new URL('./programs/touches-guarded.js', import.meta.url));
  const { signal, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  assert.deepEqual([signal, stdout], ['SIGBUS', '1 written, 0 read\n']);
  assert.match(
    stderr,
    /array x, elements 1024 to 2047 .*, of which its guard, export 'default' of data:.*, does not let host write elements 1024 to 2047/,
  );
});

await runTests();
