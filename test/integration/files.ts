/**
 * Arrays that come from files, files that change below them, and moving bytes between arrays and
 * files.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { constants as os, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  f64,
  i32,
  kernel,
  type ManagedArray,
  type OnememError,
} from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { runProgram } from '../harness/processes.js';
import { bytesFromFiles, sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  filled,
  longTest,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';

const { errno } = os;
const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), 'onemem-files-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  await action(space);
  space.checkInvariants();
}

/** Both ends of a pipe, neither of which waits. */
function pipeOf(name: string): [reader: number, writer: number] {
  const path = join(folder, name);
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return [reader, openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)];
}

/** What a pipe has just now; 0 bytes may be all. */
function readSome(fd: number, target: Uint8Array): number {
  try {
    return readSync(fd, target);
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'EAGAIN');
    return 0;
  }
}

/** A file of numbers: element i is 7 i + 1. */
function numbers(name: string, length: number, before = 0): string {
  const path = join(folder, name);
  const values = filled(new Int32Array(length), (i) => 7 * i + 1);
  writeFileSync(path, Buffer.concat([Buffer.alloc(before, 0xee), Buffer.from(values.buffer)]));
  return path;
}

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const sum = kernel({ x: i32.in, result: f64.out }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] += x[i];
});

longTest('a file is read on touch, by the CPU and by a device', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 8 * MIB;
    const path = numbers('touched', n + 5, 12);
    const x = space.fileArray(Int32Array, path, { byteOffset: 12 });
    assert.equal(x.length, n + 5);
    assert.deepEqual(
      x.residency().runs.map(({ state }) => state),
      ['file'],
    );
    const readBefore = bytesFromFiles(space);
    assert.equal(x.data[n], 7 * n + 1);
    const read = bytesFromFiles(space) - readBefore;
    assert.ok(read <= 2 * MIB, `${read} bytes were read for one element`);
    const result = space.array(Float64Array, 1);
    // Four times the device's memory; nothing of it was written, so that nothing has to come
    // home.
    await device.run(sum, { x, result }, { size: n + 5 });
    assert.equal(result.data[0], 7 * (((n + 5) * (n + 4)) / 2) + n + 5);
    sameData(x.data, (i) => (7 * i + 1) | 0);
  }),
);

test('a part of a file, and what cannot be one', () =>
  withSpace(async (space) => {
    const path = numbers('part', 5000);
    const x = space.fileArray(Int32Array, path, { byteOffset: 4 * 1001, length: 2000 });
    sameData(x.data, (i) => 7 * (i + 1001) + 1);
    // The last page goes on behind the array with what is not the array's.
    assert.equal(x.data.length, 2000);
    const short = await failsWith('FILE_TOO_SHORT', () =>
      space.fileArray(Int32Array, path, { length: 5001 }),
    );
    assert.match(short.message, /has 20000 bytes; 5001 elements/);
    await failsWith('SIZE', () => space.fileArray(Int32Array, path, { byteOffset: -4 }));
    await failsWith('ENOENT', () => space.fileArray(Int32Array, join(folder, 'none')));
  }));

test('what a device writes to a private file array stays out of the file', () =>
  withSpace(async (space) => {
    const n = 4 * MIB;
    const path = numbers('private', n);
    const before = readFileSync(path);
    const x = space.fileArray(Int32Array, path, { writable: true });
    await space.devices[0].run(add, { x, by: 3 }, { size: n });
    x.data[5] = -1;
    sameData(x.data, (i) => (i === 5 ? -1 : 7 * i + 4));
    assert.ok(before.equals(readFileSync(path)), 'the file has changed');
  }));

test('a device may not write a read-only file array', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const path = numbers('read-only', MIB);
    const x = space.fileArray(Int32Array, path, { name: 'ledger' });
    // The compiler refuses it; programs in JavaScript are told at run time.
    const error = await failsWith('ACCESS_DENIED', () =>
      device.run(add, { x: x as ManagedArray<Int32Array>, by: 3 }, { size: MIB }),
    );
    assert.match(error.message, /ledger/);
    assert.match(error.message, /writable: true/);
    // A kernel that writes what it declared as `in` is caught at the page.
    const cheat = kernel({ x: i32.in, y: i32.out }, ({ x, y }) => {
      y[0] = x[5000];
      (x as Int32Array)[5000] = 1;
    });
    const y = space.array(Int32Array, 1);
    const caught = (await failsWith('ACCESS_DENIED', () =>
      device.run(cheat, { x, y }, { size: 1 }),
    )) as OnememError;
    assert.match(
      caught.message,
      /wrote array ledger from .*read-only, elements 4096 to 5119 .*which may only be read/,
    );
    assert.equal(caught.details.array, 'ledger');
    sameData(x.data, (i) => 7 * i + 1);
    await device.run(add, { x: y, by: 1 }, { size: 1 });
  }));

longTest('a file that shrank fails the launch', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = MIB;
    const path = numbers('shrinking', n);
    const x = space.fileArray(Int32Array, path, { name: 'shrinking' });
    const result = space.array(Float64Array, 1);
    assert.equal(x.data[0], 1);
    const fd = openSync(path, 'r+');
    ftruncateSync(fd, 2 * MIB);
    closeSync(fd);
    const error = await failsWith('FILE_CHANGED', () =>
      device.run(sum, { x, result }, { size: n }),
    );
    assert.match(
      error.message,
      /read array shrinking from .*shrinking, elements 524288 to 525311 .*whose file has become shorter: .*shrinking has 2097152 bytes now, and the array ends at byte 4194304 of it/,
    );
    // What is left of the file is good, and so is the device.
    result.data[0] = 0;
    await device.run(sum, { x, result }, { size: n, begin: 0, end: n / 2 });
    assert.equal(result.data[0], (7 * ((n / 2) * (n / 2 - 1))) / 2 + n / 2);
    sameData(x.data.subarray(0, n / 2), (i) => 7 * i + 1);
    await failsWith('FILE_CHANGED', () => x.writeTo(openSync('/dev/null', 'w')));
  }),
);

test('whatever uses a file array that was cut off names the first elements that are missing, and none that were read', () =>
  withSpace(async (space) => {
    const n = 100_000;
    const path = numbers('missing', n);
    const x = space.fileArray(Int32Array, path, { name: 'missing' });
    const y = space.array(Int32Array, n);
    const { [11_000]: read } = x.data;
    truncateSync(path, 40_960);
    assert.equal(read, 77_001);
    // What came along with that page is there.
    const { begin } = x
      .residency()
      .runs.find((run) => run.begin >= 10_240 && run.state === 'file') ?? { begin: -1 };
    const fd = openSync('/dev/null', 'w');
    const clone = await x.clone();
    const uses = {
      writeTo: () => x.writeTo(fd),
      saveNpy: () => space.saveNpy(join(folder, 'missing.npy'), x),
      pin: () => x.pin(),
      hold: () => x.hold(),
      prefetch: () => space.devices[0].stream().prefetch(x).synchronize(),
      copy: () => space.devices[0].stream().copy(y, x).synchronize(),
      createReadStream: () => buffer(x.createReadStream()),
      clone: () => clone.writeTo(fd),
    };
    for (const [name, use] of Object.entries(uses)) {
      const { details, message } = (await failsWith('FILE_CHANGED', use)) as OnememError;
      assert.equal(details.element, begin, `${name}: ${message}`);
    }
    closeSync(fd);
  }));

for (const thread of ['main', 'thread']) {
  variantTest(
    `the CPU touches what was cut off a file: a message, then the end (${thread})`,
    async () => {
      const path = numbers(`cut-${thread}`, MIB);
      const { signal, stdout, stderr } = await runProgram('shrunken-file', [path, thread]);
      assert.ok(signal === 'SIGBUS' || signal === 'SIGKILL', `signal ${signal}`);
      assert.match(stdout, /^first 1, last of the rest 3670010$/m);
      assert.doesNotMatch(stdout, /^survived/m);
      assert.match(
        stderr,
        /^onemem: denied access: thread \d+ read array numbers from .*, elements 786432 to 787455 .*whose file has become shorter/m,
      );
    },
  );
}

longTest('the CPU may not write a read-only file array: a message, then the end', async () => {
  const path = numbers('refused', MIB);
  const { signal, stdout, stderr } = await runProgram('shrunken-file', [path, 'write']);
  assert.ok(signal === 'SIGBUS' || signal === 'SIGKILL', `signal ${signal}`);
  assert.doesNotMatch(stdout, /^survived/m);
  assert.match(
    stderr,
    /^onemem: denied access: thread \d+ wrote array numbers from .*, elements 0 to 1023 .*may only be read/m,
  );
});

longTest('readFrom and writeTo move all bytes, and parts', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 6 * MIB;
    const path = numbers('source', n);
    const target = join(folder, 'target');
    const x = space.array(Int32Array, n);
    const source = openSync(path, 'r');
    const sink = openSync(target, 'w+');
    assert.equal(await x.readFrom(source, { position: 0 }), 4 * n);
    await device.run(add, { x, by: 1 }, { size: n });
    // A part of it is on the device now.
    assert.equal(await x.writeTo(sink), 4 * n);
    sameData(new Int32Array(readFileSync(target).buffer, 0, n), (i) => 7 * i + 2);
    assert.equal(await x.writeTo(sink, { begin: 1, end: 4, position: 2 }), 12);
    const head = readFileSync(target).subarray(0, 16);
    assert.deepEqual(
      [...new Int32Array(head.buffer.slice(head.byteOffset + 2, head.byteOffset + 14))],
      [9, 16, 23],
    );
    // Fewer bytes than asked for is an answer, not an error.
    assert.equal(await x.readFrom(source, { position: 4 * (n - 10), begin: 100, end: 200 }), 40);
    assert.equal(x.data[100], 7 * (n - 10) + 1);
    assert.equal(x.data[109], 7 * (n - 1) + 1);
    assert.equal(x.data[110], 7 * 110 + 2);
    assert.equal(x.data[99], 7 * 99 + 2);
    const failed = (await failsWith('FILE_IO', () => x.writeTo(source))) as OnememError;
    assert.match(failed.message, /writing file descriptor \d+ \(.*\) failed/);
    assert.equal(failed.details.path, path);
    await failsWith('FILE_DESCRIPTOR', () => x.readFrom(-1));
    await failsWith('FILE_POSITION', () => x.readFrom(source, { position: -1 }));
    await failsWith('ARRAY_RANGE', () => x.readFrom(source, { begin: 6, end: 5 }));
    closeSync(source);
    closeSync(sink);
    await failsWith('FILE_IO', () => x.writeTo(source));
    sameData(x.data.subarray(200), (i) => 7 * (i + 200) + 2);
  }),
);

test('a transfer that fails says which file, how many bytes had been moved, and what helps', () =>
  withSpace(async (space) => {
    const x = space.array(Int32Array, 3 * MIB);
    const full = openSync('/dev/full', 'w');
    const none = (await failsWith('FILE_IO', () => x.writeTo(full))) as OnememError;
    assert.match(
      none.message,
      /^writing file descriptor \d+ \(\/dev\/full\) failed after 0 of 12582912 bytes: ENOSPC; make room on its disk/,
    );
    assert.deepEqual(none.details, { errno: errno.ENOSPC, bytes: 0, path: '/dev/full' });
    closeSync(full);
    // A pipe whose reader goes has taken some of it.
    const [reader, writer] = pipeOf('broken');
    const broken = failsWith('FILE_IO', () => x.writeTo(writer));
    while (readSome(reader, Buffer.alloc(1)) === 0) await sleep(1);
    closeSync(reader);
    const some = (await broken) as OnememError;
    assert.equal(some.details.errno, errno.EPIPE);
    assert.ok(
      (some.details.bytes as number) > 0 && (some.details.bytes as number) < x.byteLength,
      some.message,
    );
    closeSync(writer);
  }));

test('a pipe that does not keep its callers waiting is waited for, as one that does', () =>
  withSpace(async (space) => {
    const x = space.array(Int32Array, MIB / 4);
    for (let i = 0; i < x.length; i++) x.data[i] = 7 * i + 1;
    const [reader, writer] = pipeOf('waiting');
    const written = x.writeTo(writer);
    const taken = new Int32Array(x.length);
    const bytes = new Uint8Array(taken.buffer);
    for (let at = 0; at < bytes.length; await sleep(0)) at += readSome(reader, bytes.subarray(at));
    assert.equal(await written, x.byteLength);
    sameData(taken, (i) => 7 * i + 1);
    const read = x.readFrom(reader, { end: 2 });
    await sleep(20);
    writeSync(writer, Buffer.from(Int32Array.of(5, 6).buffer));
    assert.equal(await read, 8);
    assert.deepEqual([...x.data.subarray(0, 3)], [5, 6, 15]);
    closeSync(reader);
    closeSync(writer);
  }));

async function throughFilter(space: AddressSpace): Promise<void> {
  const [x, y] = [space.array(Int32Array, 4 * MIB), space.array(Int32Array, 4 * MIB)];
  for (let i = 0; i < x.length; i++) x.data[i] = 7 * i + 1;
  // These keep their callers waiting, unlike what Node.js makes for children.
  const pipes = mkdtempSync(join(folder, 'filter-'));
  const paths = ['in', 'out'].map((name) => join(pipes, name));
  execFileSync('mkfifo', paths);
  const filter = spawn('sh', ['-c', 'exec cat <"$1" >"$2"', 'filter', ...paths]);
  const fds = paths.map((path) => openSync(path, 'r+'));
  const read = y.readFrom(fds[1]);
  assert.equal(await x.writeTo(fds[0]), x.byteLength);
  assert.equal(await read, y.byteLength);
  sameData(y.data, (i) => 7 * i + 1);
  for (const fd of fds) closeSync(fd);
  filter.kill();
}

test('a program writes to a filter and reads from it at once', () => withSpace(throughFilter));

longTest('a kernel that cannot say what a pipe has or takes, as before Linux 6.4', async () => {
  const calls = ['preadv2', 'pwritev2'].map((call) => `io/${call}:EOPNOTSUPP:1-1000000`);
  const failing = await openFailing(calls.join(','), { hostMemory: '64MiB' });
  await using space = failing.space;
  failing.arm();
  await throughFilter(space);
  assert.ok(failing.fired() > 1);
});

for (const end of ['exit', 'close']) {
  for (const way of ['read', 'write']) {
    variantTest(`a program ends that waits for a pipe: ${way}, ${end}`, async () => {
      const { code, stdout, stderr } = await runProgram('pipe-ending', [way, end]);
      assert.deepEqual({ code, stdout, stderr }, { code: 3, stdout: `${end}\n`, stderr: '' });
    });
  }
}

longTest('several transfers at once, while a device works', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 2 * MIB;
    const paths = ['a', 'b', 'c'].map((name) => numbers(name, n));
    const arrays = paths.map(() => space.array(Int32Array, n));
    const fds = paths.map((path) => openSync(path, 'r+'));
    const work = space.array(Int32Array, 4 * MIB);
    const launch = device.run(add, { x: work, by: 1 }, { size: work.length });
    const read = await Promise.all(
      arrays.map((array, index) => array.readFrom(fds[index], { position: 0 })),
    );
    assert.deepEqual(read, [4 * n, 4 * n, 4 * n]);
    await launch;
    await Promise.all(arrays.map((x, by) => device.run(add, { x, by }, { size: n })));
    await Promise.all(arrays.map((array, index) => array.writeTo(fds[index], { position: 0 })));
    for (const [by, path] of paths.entries()) {
      assert.equal(statSync(path).size, 4 * n);
      sameData(new Int32Array(readFileSync(path).buffer, 0, n), (i) => 7 * i + 1 + by);
      closeSync(fds[by]);
    }
    sameData(work.data, () => 1);
  }),
);

test('a thread that ends closes no file but its own', () =>
  withSpace(async (space) => {
    const path = join(folder, 'by-thread');
    writeFileSync(path, Uint8Array.of(42));
    const worker = new Worker(new URL('./programs/file-thread.js', import.meta.url), {
      workerData: { handle: space.handle, path },
    });
    const ended = once(worker, 'exit');
    assert.deepEqual(await once(worker, 'message'), [42]);
    // These get the numbers of what the thread and the manager have closed.
    const fds = Array.from({ length: 20 }, () => openSync(path, 'r'));
    worker.postMessage('end');
    assert.deepEqual(await ended, [0]);
    for (const fd of fds) assert.equal(fstatSync(fd).size, 1);
    for (const fd of fds) closeSync(fd);
  }));

await runTests();
