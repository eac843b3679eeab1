/**
 * File arrays that are mapped: threads and process devices read the kernel's own memory of the
 * file.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, f64, i32, kernel, openSpace } from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  filled,
  longTest,
  runTests,
  sameData,
  test,
  variantTest,
} from '../harness/suite.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), 'onemem-mapped-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  await action(space);
  space.checkInvariants();
}

/** A file of numbers: element i is 7 i + 1. */
function numbers(name: string, length: number, before = 0): string {
  const path = join(folder, name);
  const values = filled(new Int32Array(length), (i) => 7 * i + 1);
  writeFileSync(path, Buffer.concat([Buffer.alloc(before, 0xee), Buffer.from(values.buffer)]));
  return path;
}

function mappingsOf(path: string, pid: number | 'self' = 'self'): number {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(path)).length;
}

const sum = kernel({ x: i32.in, result: f64.out }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] += x[i];
});

const gathered = kernel(
  { table: i32.in.by('order'), order: i32.in, result: i32.out },
  ({ table, order, result }, { begin, end }) => {
    for (let i = begin; i < end; i++) result[i] = table[order[i]];
  },
);

const spoiling = kernel({ x: i32.in, result: f64.out }, ({ x }) => {
  (x as Int32Array)[3] = 1;
});

longTest('the CPU reads a mapped file without a fault of ours, and a device without a page', () =>
  withSpace(async (space) => {
    const n = 4 * MIB;
    const x = space.fileArray(Int32Array, numbers('read', n + 5, 12), {
      byteOffset: 12,
      mapped: true,
    });
    const [host] = space.stats().processors;
    sameData(x.data, (i) => (7 * i + 1) | 0);
    assert.equal(space.stats().processors[0].readFaults, host.readFaults);
    const result = space.array(Float64Array, 1);
    // Twice the device's memory, once as an array and once as a view of it.
    await space.devices[0].run(sum, { x, result }, { size: n + 5 });
    assert.equal(result.data[0], 7 * (((n + 5) * (n + 4)) / 2) + n + 5);
    await space.devices[0].run(sum, { x: x.data.subarray(1000, 2000), result }, { size: 1000 });
    assert.equal(result.data[0], 7 * ((2999 * 1000) / 2) + 1000);
    assert.deepEqual(
      x.residency().runs.map(({ nodes }) => nodes),
      [[]],
    );
  }),
);

test('a kernel that goes by indices through a mapped file needs no plan for it', () =>
  withSpace(async (space) => {
    const table = space.fileArray(Int32Array, numbers('table', MIB), { mapped: true });
    const order = space.fileArray(Int32Array, numbers('order', 1000), { mapped: true });
    const result = space.array(Int32Array, 1000);
    await space.devices[0].run(gathered, { table, order, result }, { size: 1000 });
    sameData(result.data, (i) => 7 * (7 * i + 1) + 1);
    assert.deepEqual(
      table.residency().runs.map(({ nodes }) => nodes),
      [[]],
    );
  }));

longTest('a device has a file mapped once, until its array is freed', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const [device] = space.devices;
  const result = space.array(Float64Array, 1);
  const path = numbers('device', 1000);
  for (let round = 1; round <= 3; round++) {
    const x = space.fileArray(Int32Array, path, { mapped: true });
    for (let launch = 0; launch < 2; launch++) await device.run(sum, { x, result }, { size: 1000 });
    assert.equal(result.data[0], 7 * ((999 * 1000) / 2) + 1000);
    assert.equal(mappingsOf(path, device.pid as number), 1);
    x.free();
    // The device hears of it, and does it when it likes.
    for (let tries = 0; mappingsOf(path, device.pid as number) > 0; tries++) {
      assert.ok(tries < 500, 'the file stays mapped');
      await sleep(10);
    }
  }
});

for (const what of ['writes to', 'reads behind the end of'] as const) {
  variantTest(
    `a kernel that ${what} a mapped file ends its device, which says what may have been`,
    async () => {
      await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
      const [device] = space.devices;
      const path = numbers('misused', MIB);
      const x = space.fileArray(Int32Array, path, { mapped: true });
      const [y, result] = [space.array(Int32Array, 5000), space.array(Float64Array, 1)];
      await device.run(sum, { x, result }, { size: MIB });
      y.data.fill(5);
      if (what !== 'writes to') truncateSync(path, 4096);
      const kernelOf = what === 'writes to' ? spoiling : sum;
      await assert.rejects(device.run(kernelOf, { x, result }, { size: MIB }), {
        code: 'DEVICE_LOST',
        message:
          /a kernel may have written to an array over a mapped file, or touched a part that has been cut off the file/,
      });
      sameData(y.data, () => 5);
    },
  );
}

test('a file of NumPy is mapped behind its header', () =>
  withSpace(async (space) => {
    const path = join(folder, 'matrix.npy');
    const x = space.array(Float64Array, 3000);
    for (let i = 0; i < 3000; i++) x.data[i] = i / 4;
    await space.saveNpy(path, x, { shape: [1000, 3] });
    const { array, shape } = space.openNpy(path, { type: Float64Array, mapped: true });
    assert.deepEqual(shape, [1000, 3]);
    sameData(array.data, (i) => i / 4);
  }));

test('system calls take the data of a mapped file as it is', () =>
  withSpace(async (space) => {
    const x = space.fileArray(Int32Array, numbers('written', MIB), { mapped: true });
    const copy = join(folder, 'copy');
    const fd = openSync(copy, 'w');
    // Where faults of system calls are not served, this fails for other arrays.
    assert.equal(writeSync(fd, x.data), 4 * MIB);
    using held = await x.hold({ begin: MIB - 10 });
    assert.equal(writeSync(fd, held.bytes), 40);
    closeSync(fd);
    const written = readFileSync(copy);
    assert.ok(written.subarray(0, 4 * MIB).equals(readFileSync(join(folder, 'written'))));
    assert.ok(written.subarray(4 * MIB).equals(written.subarray(4 * MIB - 40, 4 * MIB)));
  }));

test('a mapped file shows what other programs write to it', () =>
  withSpace(async (space) => {
    const path = numbers('changed', 5000);
    const { data } = space.fileArray(Int32Array, path, { mapped: true });
    assert.equal(data[4000], 28_001);
    const fd = openSync(path, 'r+');
    writeSync(fd, new Int32Array([-5]), 0, 4, 16_000);
    closeSync(fd);
    assert.equal(data[4000], -5);
  }));

test('a clone of a mapped array can be written, and the file stays as it is', () =>
  withSpace(async (space) => {
    const path = numbers('cloned', 5000);
    const x = space.fileArray(Int32Array, path, { mapped: true });
    const clone = await x.clone();
    clone.data[7] = -1;
    sameData(clone.data, (i) => (i === 7 ? -1 : 7 * i + 1));
    sameData(x.data, (i) => 7 * i + 1);
  }));

test('a thread that attaches has a mapping of its own', () =>
  withSpace(async (space) => {
    const path = numbers('attached', 5000);
    const x = space.fileArray(Int32Array, path, { mapped: true });
    assert.equal(x.data[9], 64);
    const thread = new Worker(new URL('./programs/mapped-thread.js', import.meta.url), {
      workerData: x.handle,
    });
    const [seen, mappings] = await new Promise<number[]>((resolve, reject) => {
      thread.once('message', resolve).once('error', reject);
    });
    assert.equal(seen, 7 * 4999 + 1);
    assert.equal(mappings, 2);
    await thread.terminate();
  }));

test('advice about a mapped file reaches the kernel', () =>
  withSpace(async (space) => {
    const path = numbers('advised', MIB);
    const x = space.fileArray(Int32Array, path, { mapped: true });
    x.advise({ pattern: 'random' }, { begin: 0, end: MIB / 2 });
    const smaps = readFileSync('/proc/self/smaps', 'utf8');
    const flags = [
      ...smaps.matchAll(new RegExp(`${path}\\n(?:\\w+:.*\\n)*?VmFlags: (.*)`, 'g')),
    ].map(([, text]) => text);
    assert.equal(flags.length, 2);
    assert.match(flags[0] ?? '', /\brr\b/);
    assert.doesNotMatch(flags[1] ?? '', /\brr\b/);
  }));

test('the mapping goes with the last view of a freed array', async () => {
  await using space = await openSpace();
  const path = numbers('freed', MIB);
  const x = space.fileArray(Int32Array, path, { mapped: true });
  let data: Int32Array | null = x.data as Int32Array;
  assert.equal(mappingsOf(path), 1);
  x.free();
  // A view that is left goes on showing the file.
  assert.equal(data[3], 22);
  assert.equal(mappingsOf(path), 1);
  data = null;
  for (let tries = 0; mappingsOf(path) > 0; tries++) {
    assert.ok(tries < 500, 'the file stays mapped');
    collect();
    await sleep(10);
  }
});

test('what cannot be mapped is refused, with what to do', () =>
  withSpace(async (space) => {
    const path = numbers('refused', 5000);
    for (const other of ['writable', 'shared'] as const) {
      failsWith('MAPPED_WRITABLE', () =>
        space.fileArray(Int32Array, path, { mapped: true, [other]: true } as object),
      );
    }
    failsWith('FILE_ALIGNMENT', () =>
      space.fileArray(Int32Array, path, { mapped: true, byteOffset: 6, length: 10 }),
    );
    const x = space.fileArray(Int32Array, path, { mapped: true });
    await assert.rejects(x.protect('none'), { code: 'MAPPED_ARRAY' });
    failsWith('MAPPED_ARRAY', () => x.free({ begin: 0, end: 2048 }));
    await assert.rejects(x.hold({ writable: true }), { code: 'ACCESS_DENIED' });
  }));

for (const [what, expected] of [
  ['write', 'SIGSEGV'],
  ['cut', 'SIGBUS'],
] as const) {
  variantTest(
    `a program that does to a mapped file what it may not (${what}) ends by ${expected}`,
    async () => {
      const path = numbers(`ends-${what}`, MIB);
      const { signal, stdout } = await runProgram('mapped-misuse', [path, what]);
      assert.equal(signal, expected);
      assert.match(stdout, /^first 1$/m);
      assert.doesNotMatch(stdout, /^survived/m);
    },
  );
}

await runTests();
