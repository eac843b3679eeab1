/** Arrays whose rights change while they are in use, and arrays whose content is forgotten. */
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  type AddressSpace,
  i32,
  kernel,
  type ManagedArray,
  type StreamEvent,
} from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test, variantTest } from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 1024;
const path = `${tmpdir()}/onemem-rights-${process.pid}`;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const sum = kernel({ x: i32.in, result: i32.out }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] = (result[0] + x[i]) | 0;
});
const fill = kernel({ x: i32.out, value: i32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});

async function withSpace(
  kind: 'process' | 'simulated',
  action: (space: AddressSpace) => Promise<void>,
  memory = '8MiB',
): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind, memory }], checkInvariants: true });
  await action(space);
  space.checkInvariants();
}

function counting(space: AddressSpace, length: number, name: string): ManagedArray<Int32Array> {
  const array = space.array(Int32Array, length, { name });
  for (let i = 0; i < length; i++) array.data[i] = i;
  return array;
}

for (const kind of ['process', 'simulated'] as const) {
  test(`a launch on a ${kind} device keeps to the rights of its arrays`, () =>
    withSpace(kind, async (space) => {
      const [device] = space.devices;
      const n = 64 * PAGE;
      const x = counting(space, n, 'ledger');
      const result = new Int32Array(1);
      await device.run(add, { x, by: 1 }, { size: n });
      assert.deepEqual(await x.protect('read', { begin: 16 * PAGE, end: 32 * PAGE }), {
        begin: 16 * PAGE,
        end: 32 * PAGE,
      });
      await device.run(sum, { x, result }, { size: n });
      assert.equal(result[0], ((n * (n + 1)) / 2) | 0);
      const written = await failsWith('ACCESS_DENIED', () =>
        device.run(add, { x, by: 1 }, { size: n }),
      );
      assert.match(
        written.message,
        /array ledger, elements (16384 to 17407|\d+ to \d+) .*which may only be read/,
      );
      await failsWith('ACCESS_DENIED', () => device.run(fill, { x, value: 3 }, { size: n }));
      // The array was not emptied for a launch that may not write it.
      for (let i = 16 * PAGE; i < 32 * PAGE; i++) assert.equal(x.data[i], i + 1);
      await x.protect('none', { begin: 24 * PAGE, end: 25 * PAGE });
      const read = await failsWith('ACCESS_DENIED', () =>
        device.run(sum, { x, result }, { size: n }),
      );
      assert.match(
        read.message,
        /array ledger, elements 24576 to 25599 .*which is protected against all access/,
      );
      const runs = x.residency().runs.map(({ begin, end, rights }) => ({ begin, end, rights }));
      for (const { begin, end, rights } of runs) {
        const expected =
          begin >= 24 * PAGE && end <= 25 * PAGE
            ? 'none'
            : begin >= 16 * PAGE && end <= 32 * PAGE
              ? 'read'
              : 'readwrite';
        assert.equal(rights, expected, `elements ${begin} to ${end}`);
      }
      await x.protect('readwrite');
      await device.run(fill, { x, value: 7 }, { size: n });
      sameData(x.data, () => 7);
    }));
}

test('transfers and copies keep to the rights of arrays', () =>
  withSpace('process', async (space) => {
    const n = 64 * PAGE;
    const x = counting(space, n, 'ledger');
    const y = space.array(Int32Array, n, { name: 'other' });
    const untouched = space.array(Int32Array, n, { name: 'untouched' });
    using stream = space.devices[0].stream();
    const fd = openSync(path, 'w+');
    try {
      await x.writeTo(fd, { position: 0 });
      await x.protect('read', { begin: 32 * PAGE });
      const error = await failsWith('ACCESS_DENIED', () => x.readFrom(fd, { position: 0 }));
      assert.match(error.message, /array ledger, elements 32768 to 33791 /);
      await failsWith('ACCESS_DENIED', () => stream.copy(x, y).synchronize());
      await stream.synchronize().catch(() => undefined);
      await stream.copy(y, x).synchronize();
      sameData(y.data, (i) => i);
      await x.protect('none', { begin: 48 * PAGE });
      const unread = await failsWith('ACCESS_DENIED', () => x.writeTo(fd, { position: 0 }));
      assert.match(
        unread.message,
        /array ledger, elements 49152 to 50175 .*protected against all access/,
      );
      await failsWith('ACCESS_DENIED', () => stream.copy(y, x).synchronize());
      await stream.synchronize().catch(() => undefined);
      await untouched.protect('none');
      await failsWith('ACCESS_DENIED', () => stream.copy(y, untouched).synchronize());
      await stream.synchronize().catch(() => undefined);
      await x.protect('readwrite');
      await x.readFrom(fd, { position: 0 });
      sameData(x.data, (i) => i);
    } finally {
      closeSync(fd);
      rmSync(path);
    }
  }));

test('a prefetch and exclusive access of what may not be used say so', () =>
  withSpace('process', async (space) => {
    const [device] = space.devices;
    const x = counting(space, 64 * PAGE, 'ledger');
    using stream = device.stream();
    const ended = async (event: StreamEvent): Promise<void> => {
      await event.synchronize();
      await stream.synchronize();
    };
    await x.protect('read', { begin: 32 * PAGE });
    await ended(stream.prefetch(x));
    await x.protect('none', { begin: 32 * PAGE });
    for (const begin of [
      () => stream.prefetch(x),
      () => stream.prefetch(x.range(40 * PAGE, 41 * PAGE), 'host'),
      () => stream.exclusive(x),
    ]) {
      const error = await failsWith('ACCESS_DENIED', () => begin().synchronize());
      assert.match(error.message, /array ledger, elements .*protected against all access/);
      await stream.synchronize().catch(() => undefined);
    }
    await ended(stream.prefetch(x.range(0, 32 * PAGE)));
    await ended(stream.exclusive(x.range(0, 32 * PAGE)));
  }));

test('waiting for an element that may not be read is refused by name, also when it is protected meanwhile', () =>
  withSpace('process', async (space) => {
    const x = counting(space, 4 * PAGE, 'ledger');
    await x.protect('read', { begin: 0, end: PAGE });
    assert.equal(space.wait(x, 5, 5, 1), 'timed-out');
    await x.protect('none', { begin: PAGE, end: 2 * PAGE });
    const error = await failsWith('ACCESS_DENIED', () => space.wait(x, PAGE + 5, PAGE + 5));
    assert.match(
      error.message,
      /array ledger, elements 1024 to 2047 .*protected against all access/,
    );
    // Another value is no reason to be let near it, and the thread that notifies touches nothing.
    await failsWith('ACCESS_DENIED', () => space.wait(x, PAGE + 5, 0));
    assert.equal(space.notify(x, PAGE + 5), 0);
    const protecting = x.protect('none', { begin: 3 * PAGE });
    await failsWith('ACCESS_DENIED', () => space.wait(x, 3 * PAGE, 3 * PAGE));
    await protecting;
    await x.protect('readwrite');
    assert.equal(space.wait(x, PAGE + 5, 0), 'not-equal');
    assert.equal(space.wait(x, PAGE + 5, PAGE + 5, 1), 'timed-out');
  }));

test('rights that cannot be had are refused', () =>
  withSpace('process', async (space) => {
    const n = 10 * PAGE + 5;
    const x = space.array(Int32Array, n, { name: 'ledger' });
    const error = await failsWith('PAGE_BOUNDARY', () => x.protect('read', { begin: 1500 }));
    assert.ok(error instanceof RangeError);
    assert.match(error.message, /begin 1500 of array ledger .* 1024 and 2048$/);
    const end = await failsWith('PAGE_BOUNDARY', () => x.protect('read', { end: n - 1 }));
    assert.match(end.message, new RegExp(`${10 * PAGE} and ${n}$`));
    assert.deepEqual(await x.protect('read', { begin: 10 * PAGE }), { begin: 10 * PAGE, end: n });
    for (const part of [
      { begin: 1, end: 0 },
      { begin: 0.5 },
      { begin: -1024 },
      { end: n + 1 },
      { begin: Number.NaN },
    ]) {
      await failsWith('ARRAY_RANGE', () => x.protect('read', part));
    }
    await failsWith('RIGHTS', () => x.protect('write' as 'read'));
    const { handle } = x;
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.protect('read'));
    await failsWith('USE_AFTER_FREE', () => space.attachArray(handle).protect('read'));
    await failsWith('USE_AFTER_FREE', () => space.attachArray(handle).discard());
  }));

test('rights that a file array cannot have are refused', () =>
  withSpace('process', async (space) => {
    const fd = openSync(path, 'w');
    writeSync(fd, new Uint8Array(8192));
    closeSync(fd);
    try {
      const file = space.fileArray(Int32Array, path, { name: 'file' });
      await file.protect('none');
      await file.protect('read');
      const more = await failsWith('ACCESS_DENIED', () => file.protect('readwrite'));
      assert.match(more.message, /array file .*writable: true/);
      await failsWith('ACCESS_DENIED', () => file.discard());
      const shared = space.fileArray(Int32Array, path, { name: 'shared', shared: true });
      await failsWith('SHARED_NO_ACCESS', () => shared.protect('none'));
      shared.data[3] = 5;
      await shared.protect('read');
      assert.ok((await shared.flush()) >= 4096);
    } finally {
      rmSync(path);
    }
  }));

const place = 'array ledger, elements 5120 to 6143 \\(address 0x[0-9a-f]+\\)';
const violations = [
  { way: 'store', said: 'read 5127', what: 'wrote', why: 'which may only be read' },
  { way: 'store where nobody was', said: '', what: 'wrote', why: 'which may only be read' },
  { way: 'load', said: '', what: 'read', why: 'which is protected against all access' },
];
for (const { way, said, what, why } of violations) {
  variantTest(`a forbidden ${way} ends the process with one line`, async () => {
    const { signal, stdout, stderr } = await runProgram('rights', [way]);
    assert.equal(signal, 'SIGBUS', stderr);
    assert.equal(stdout.trim(), said);
    assert.match(
      stderr,
      new RegExp(
        `^onemem: denied access: thread \\d+ ${what} ${place}, ${why}\\. The process ends\\.\n$`,
      ),
    );
  });
}

longTest(
  'a forbidden system call fails with EFAULT, and works again when rights are back',
  async () => {
    try {
      const { signal, code, stdout, stderr } = await runProgram('rights', ['system call', path]);
      assert.equal(signal, null, stderr);
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.trim().split('\n'), [
        'read into EFAULT',
        'read into EFAULT',
        'element 5127',
        'read into 4096',
        'write from EFAULT',
        'write from 4096',
        'write from EFAULT',
        'element 0',
        'element 9, neighbours 4095 8192',
      ]);
      const lines = stderr.trimEnd().split('\n');
      assert.equal(lines.length, 3, stderr);
      const words = [
        ['wrote', 'which may only be read'],
        ['read', 'which is protected against all access'],
        ['read', 'which is protected against all access'],
      ];
      for (const [index, [what, why]] of words.entries()) {
        assert.match(
          lines[index],
          new RegExp(
            `^onemem: denied access: thread \\d+ ${what} ${place}, ${why}\\. The system call fails with EFAULT\\.$`,
          ),
        );
      }
    } finally {
      rmSync(path, { force: true });
    }
  },
);

longTest(
  'a lost page that was denied is there again once it is overwritten, discarded or freed',
  async () => {
    try {
      const { signal, code, stdout, stderr } = await runProgram('rights', ['lost', path]);
      assert.equal(signal, null, stderr);
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.trim().split('\n'), [
        'filled EFAULT',
        'discarded EFAULT',
        'overwritten EFAULT',
        'copied EFAULT',
        'freed EFAULT',
        `filled ${0x01010101} 4096`,
        'discarded 0 4096',
        'overwritten 3 4096',
        'copied 6 4096',
        'freed 0',
      ]);
      const lines = stderr.trimEnd().split('\n');
      assert.equal(lines.length, 6, stderr);
      assert.match(lines[5], /^onemem: warning: the program read array freed, /);
    } finally {
      rmSync(path, { force: true });
    }
  },
);

longTest('what is discarded reads as zero, and costs nothing to evict', () =>
  withSpace(
    'process',
    async (space) => {
      const [device] = space.devices;
      const n = 2 * MIB;
      const x = counting(space, n, 'scratch');
      const y = space.array(Int32Array, n, { name: 'next' });
      await device.run(add, { x, by: 1 }, { size: n });
      const before = space.stats().processors[1];
      assert.deepEqual(await x.discard(), { begin: 0, end: n });
      // Fills the device's memory, so that what it had of the first array must go.
      await device.run(fill, { x: y, value: 3 }, { size: n });
      const after = space.stats().processors[1];
      assert.equal(after.bytesOut, before.bytesOut, 'content that nobody wants was copied');
      sameData(x.data, () => 0);
      sameData(y.data, () => 3);
    },
    '12MiB',
  ),
);

test('a part is discarded by whole pages, the rest stays as it is', () =>
  withSpace('process', async (space) => {
    const [device] = space.devices;
    const n = 20 * PAGE + 100;
    const x = counting(space, n, 'scratch');
    await device.run(add, { x, by: 1 }, { size: n });
    assert.deepEqual(await x.discard({ begin: 3 * PAGE - 1, end: 9 * PAGE + 1 }), {
      begin: 3 * PAGE,
      end: 9 * PAGE,
    });
    assert.deepEqual(await x.discard({ begin: 19 * PAGE + 1 }), { begin: 20 * PAGE, end: n });
    const emptied = (i: number): boolean => (i >= 3 * PAGE && i < 9 * PAGE) || i >= 20 * PAGE;
    await device.run(add, { x, by: 1 }, { size: n });
    sameData(x.data, (i) => (emptied(i) ? 1 : i + 2));
    const error = await failsWith('NO_WHOLE_PAGE', () =>
      x.discard({ begin: 1, end: 2 * PAGE - 1 }),
    );
    assert.match(error.message, /elements 1 to 2047 of array scratch contain no whole page/);
    for (const part of [
      { begin: 6, end: 5 },
      { begin: 0.5 },
      { end: 7.5 },
      { begin: -1 },
      { end: n + 1 },
    ]) {
      await failsWith('ARRAY_RANGE', () => x.discard(part));
    }
    await x.protect('read', { begin: 8 * PAGE, end: 9 * PAGE });
    const denied = await failsWith('ACCESS_DENIED', () => x.discard());
    assert.match(denied.message, /array scratch, elements 8192 to 9215 .*which may only be read/);
    sameData(x.data, (i) => (emptied(i) ? 1 : i + 2));
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.discard());
  }));

await runTests();
