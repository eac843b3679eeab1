/**
 * Arrays that are larger than host memory: what is written goes on to a spill file, and comes back
 * as it was.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  i32,
  kernel,
  type OnememError,
  openSpace,
  type StorageStats,
} from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { Program } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  filled as filledWith,
  LONG,
  longTest,
  note,
  runTests,
  sameData,
  sleep,
  test,
} from '../harness/suite.js';
import { elementAt } from './programs/provider-functions.js';

const MIB = 2 ** 20;
/**
 * Elements of somewhat more than the host may have: a program that goes over all of it finds each
 * page gone.
 */
const N = (LONG ? 12 : 9) * MIB;
const MORE_BYTES = 4 * N - 32 * MIB;
const HOST = '32MiB';
/** Times that a program is killed while it spills; test:long has more. */
const KILLS = Number(process.env.ONEMEM_KILLS ?? 3);

const folder = mkdtempSync(join(tmpdir(), 'onemem-storage-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const fill = kernel({ x: i32.out, salt: i32 }, ({ x, salt }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(i, 2_654_435_761) + salt;
});
const filled = (i: number, salt: number): number => (Math.imul(i, 2_654_435_761) + salt) | 0;

function open(): Promise<AddressSpace> {
  return sharedSpace({
    hostMemory: HOST,
    storage: { path: folder, bytes: '1GiB' },
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
}

function storageOf(space: AddressSpace): StorageStats {
  const { storage } = space.stats();
  assert.ok(storage !== null);
  return storage;
}

/** Descriptors of this process that are a spill file in the folder. */
function spillFiles(within: string): string[] {
  return readdirSync('/proc/self/fd')
    .map((fd) => `/proc/self/fd/${fd}`)
    .filter((path) => {
      try {
        return readlinkSync(path).startsWith(`${within}/`);
      } catch {
        return false;
      }
    });
}

longTest(
  'an array of more than the host memory is written and read back, byte for byte',
  async () => {
    await using space = await open();
    const x = space.array(Int32Array, N);
    for (let i = 0; i < N; i++) x.data[i] = filled(i, 1);
    sameData(x.data, (i) => filled(i, 1));
    const host = space.stats().processors[0];
    assert.ok(host.peakBytes <= 32 * MIB);
    const { bytesWritten, bytesRead, heldBytes } = storageOf(space);
    assert.ok(bytesWritten >= MORE_BYTES && heldBytes >= MORE_BYTES && bytesRead > 0);
    assert.ok((x.residency().bytes.storage ?? 0) >= MORE_BYTES);
    space.checkInvariants();
    x.free();
    while (storageOf(space).heldBytes > 0) await sleep(5);
  },
);

longTest('pages that have a copy in storage are not written again', async () => {
  await using space = await open();
  const x = space.array(Int32Array, N);
  for (let i = 0; i < N; i++) x.data[i] = i;
  sameData(x.data, (i) => i);
  const before = storageOf(space).bytesWritten;
  sameData(x.data, (i) => i);
  // The last pages that were written may only now have to go.
  assert.ok(storageOf(space).bytesWritten - before <= 32 * MIB);
  const settled = storageOf(space).bytesWritten;
  sameData(x.data, (i) => i);
  assert.equal(storageOf(space).bytesWritten, settled);
});

longTest('results of a device, and clones of them, go to storage and come back', async () => {
  await using space = await open();
  const [device] = space.devices;
  const x = space.array(Int32Array, N);
  await device.run(fill, { x, salt: 5 }, { size: N });
  const clone = await x.clone();
  await device.run(fill, { x, salt: 6 }, { size: N });
  clone.data[17] = 99;
  sameData(clone.data, (i) => (i === 17 ? 99 : filled(i, 5)));
  sameData(x.data, (i) => filled(i, 6));
  space.checkInvariants();
});

longTest(
  'host memory shrinks to what it is set to while a program runs, and grows again',
  async () => {
    await using space = await openSpace({
      hostMemory: '64MiB',
      storage: { path: folder, bytes: '256MiB' },
    });
    const x = space.array(Int32Array, N);
    for (let i = 0; i < x.length; i++) x.data[i] = filled(i, 7);
    assert.equal(storageOf(space).bytesWritten, 0);
    await space.setHostMemory('32MiB');
    const [host] = space.stats().processors;
    assert.ok(host.budgetBytes === 32 * MIB && host.backedBytes <= 32 * MIB);
    sameData(x.data, (i) => filled(i, 7));
    await space.setHostMemory('96MiB');
    sameData(x.data, (i) => filled(i, 7));
    const read = storageOf(space).bytesRead;
    sameData(x.data, (i) => filled(i, 7));
    assert.equal(storageOf(space).bytesRead, read);
    space.checkInvariants();
  },
);

longTest(
  'pages go to storage around single ones that are pinned all over host memory',
  async () => {
    await using space = await openSpace({
      hostMemory: HOST,
      storage: { path: folder, bytes: '256MiB' },
    });
    const x = space.array(Int32Array, N);
    for (let i = 0; i < x.length; i++) x.data[i] = filled(i, 8);
    // One page of each block.
    for (let begin = 0; begin < N; begin += MIB / 2) await x.pin({ begin, end: begin + 1 });
    const y = space.array(Int32Array, N);
    await y.readFrom(openSync('/dev/zero', 'r'));
    sameData(x.data, (i) => filled(i, 8));
    space.checkInvariants();
  },
);

longTest(
  'threads that do nothing any more keep nothing from going to storage, however many',
  async () => {
    await using space = await openSpace({
      hostMemory: '128MiB',
      storage: { path: folder, bytes: '256MiB' },
    });
    const x = space.array(Int32Array, 2 * N);
    for (let i = 0; i < x.length; i++) x.data[i] = filled(i, 9);
    await space.setHostMemory(HOST);
    const idle: Worker[] = [];
    const gone: number[] = [];
    for (let begin = 0; begin < x.length; begin += MIB / 2)
      if (x.residency({ begin, end: begin + 1 }).runs.every(({ nodes }) => !nodes.includes('host')))
        gone.push(begin);
    assert.ok(gone.length > 16);
    for (const element of gone) {
      const workerData = { handle: x.handle, element };
      const worker = new Worker(new URL('./programs/idle-thread.js', import.meta.url), {
        workerData,
      });
      idle.push(worker);
      assert.equal((await once(worker, 'message'))[0], filled(element, 9));
    }
    // All of these blocks comes. Where there is no room a pin is told, and a load would end the
    // process.
    for (const begin of gone) (await x.pin({ begin, end: begin + MIB / 2 })).unpin();
    sameData(x.data, (i) => filled(i, 9));
    await Promise.all(idle.map((worker) => worker.terminate()));
    space.checkInvariants();
  },
);

test('host memory that arrays or pins need is not given up, and says what needs it', async () => {
  await using space = await openSpace({ hostMemory: '64MiB', storage: false });
  const x = space.array(Int32Array, N);
  const error = await failsWith('HOST_BUDGET', () => space.setHostMemory('32MiB'));
  assert.match(
    error.message,
    new RegExp(
      `cannot set hostMemory to 33554432 bytes: arrays that can be written take ${4 * N} bytes`,
    ),
  );
  await failsWith('SIZE', () => space.setHostMemory('1MiB'));
  await failsWith('SIZE', () => space.setHostMemory('auto'));
  x.data[0] = 1;
  assert.equal(space.stats().processors[0].budgetBytes, 64 * MIB);
});

longTest('opening a space makes no file, and closing one leaves no descriptor', async () => {
  const path = mkdtempSync(join(folder, 'own-'));
  const space = await openSpace({ hostMemory: HOST, storage: { path, bytes: '64MiB' } });
  assert.deepEqual(storageOf(space), {
    path,
    budgetBytes: 64 * MIB,
    heldBytes: 0,
    bytesWritten: 0,
    bytesRead: 0,
    full: false,
  });
  assert.deepEqual(spillFiles(path), []);
  const x = space.array(Int32Array, N);
  for (let i = 0; i < N; i += 1024) x.data[i] = i;
  assert.equal(spillFiles(path).length, 1);
  assert.deepEqual(readdirSync(path), []);
  assert.equal(
    (await failsWith('HOST_BUDGET', () => space.array(Int32Array, 16 * MIB))).message.includes(
      'storage',
    ),
    true,
  );
  await space.close();
  assert.deepEqual(spillFiles(path), []);
});

test('what storage is not is refused by name', async () => {
  await failsWith('STORAGE', () => openSpace({ storage: { path: '/no/such/folder' } }));
  await failsWith('STORAGE', () => openSpace({ storage: { path: '/etc/hostname' } }));
  // No file system has less room.
  await failsWith('STORAGE', () => openSpace({ storage: { path: '/proc/self' } }));
  await failsWith('SIZE', () => openSpace({ storage: { path: folder, bytes: 5 } }));
  await failsWith('STORAGE', () => openSpace({ storage: 7 as unknown as boolean }));
  await using space = await openSpace({ hostMemory: HOST, storage: false });
  assert.equal(space.stats().storage, null);
  const error = await failsWith('HOST_BUDGET', () => space.array(Int32Array, N));
  assert.match(error.message, /storage: \{ path \}/);
});

longTest(
  'a page that comes back other than it was written is lost by name, and no other one',
  async () => {
    const own = mkdtempSync(join(folder, 'spoiled-'));
    await using space = await openSpace({
      hostMemory: HOST,
      storage: { path: own, bytes: '1GiB' },
      devices: [{ kind: 'simulated', memory: '8MiB' }],
    });
    const x = space.array(Int32Array, N, { name: 'x' });
    for (let i = 0; i < N; i++) x.data[i] = i;
    // Whatever lies there: the first page of the file that has been written.
    const [path] = spillFiles(own);
    assert.ok(statSync(path).size > 0);
    const fd = openSync(path, 'r+');
    writeSync(fd, Uint8Array.of(0xa5, 0x5a, 0x11), 0, 3, 2000);
    const stream = space.devices[0].stream();
    stream.prefetch(x.range(0, N / 4), 'host');
    const error = (await failsWith('DATA_LOST', () => stream.synchronize())) as OnememError;
    assert.match(
      error.message,
      /array x, elements \d+ to \d+ .*checksum.*; have the disk looked at, and empty the array \(discard\(\)\)/,
    );
    const first = error.details.element as number;
    const run = x.residency().runs.filter(({ state }) => state === 'lost');
    assert.deepEqual(
      run.map(({ begin, end }) => [begin, end]),
      [[first, first + 1024]],
    );
    sameData(x.data.subarray(0, first), (i) => i);
    sameData(x.data.subarray(first + 1024), (i) => i + first + 1024);
    space.checkInvariants();
    await x.discard({ begin: first, end: first + 1024 });
    assert.equal(x.data[first], 0);
  },
);

for (const [error, remedy] of [
  ['ENOSPC', 'make room there'],
  ['EIO', 'have that disk looked at'],
]) {
  const tested = error === 'ENOSPC' ? test : longTest;
  tested(
    `${error}: what is written stays, a program that needs room is told, and it goes on when storage can be written again`,
    async () => {
      const failing = await openFailing(`pwrite:${error}:1-1000000`, {
        hostMemory: HOST,
        storage: { path: folder, bytes: '1GiB' },
        devices: [{ kind: 'process', memory: '8MiB', name: 'd' }],
      });
      await using space = failing.space;
      const [device] = space.devices;
      const kept = space.array(Int32Array, 4 * MIB, { name: 'kept' });
      for (let i = 0; i < kept.length; i++) kept.data[i] = filled(i, 3);
      const x = space.array(Int32Array, N, { name: 'x' });
      failing.arm();
      const stream = device.stream();
      for (let part = 0; part < 3; part++)
        stream.copy(x.range((part * N) / 3, ((part + 1) * N) / 3), kept.range(0, N / 3));
      const refused = (await failsWith('OUT_OF_STORAGE', () =>
        stream.synchronize(),
      )) as OnememError;
      assert.match(
        refused.message,
        new RegExp(`spill file in ${folder}.*${error}.*${remedy}.*--storage FOLDER`),
      );
      assert.equal(refused.details.path, folder);
      assert.equal(typeof refused.details.bytes, 'number');
      sameData(kept.data, (i) => filled(i, 3));
      space.checkInvariants();
      failing.disarm();
      await device.run(fill, { x, salt: 2 }, { size: N });
      sameData(x.data, (i) => filled(i, 2));
      assert.ok(!storageOf(space).full);
      sameData(kept.data, (i) => filled(i, 3));
      space.checkInvariants();
    },
  );
}

longTest('loads and stores wait for a disk that is full for a moment', async () => {
  // Tried again every 50 ms: about a second.
  const failing = await openFailing('pwrite:ENOSPC:1-12', {
    hostMemory: HOST,
    storage: { path: folder, bytes: '1GiB' },
  });
  await using space = failing.space;
  failing.arm();
  const x = space.array(Int32Array, N, { name: 'x' });
  for (let i = 0; i < N; i++) x.data[i] = filled(i, 8);
  assert.ok(failing.fired() >= 12);
  sameData(x.data, (i) => filled(i, 8));
});

longTest(
  'a thread that writes an array that was cloned waits for a disk that is full for a moment, too',
  async () => {
    const failing = await openFailing('pwrite:ENOSPC:1-12', {
      hostMemory: HOST,
      storage: { path: folder, bytes: '1GiB' },
    });
    await using space = failing.space;
    const x = space.array(Int32Array, N, { name: 'x' });
    for (let i = 0; i < N; i++) x.data[i] = filled(i, 8);
    const clone = await x.clone();
    failing.arm();
    // What was written last is in memory, where the copies of it find no room.
    for (let i = N - 1024; i >= 0; i -= 1024) x.data[i] = -1;
    assert.ok(failing.fired() >= 12);
    sameData(x.data, (i) => (i % 1024 === 0 ? -1 : filled(i, 8)));
    sameData(clone.data, (i) => filled(i, 8));
    space.checkInvariants();
  },
);

longTest('a spill file that cannot be made for a moment keeps nobody from going on', async () => {
  const failing = await openFailing('open:EMFILE:1-12', {
    hostMemory: HOST,
    storage: { path: folder, bytes: '128MiB' },
  });
  await using space = failing.space;
  failing.arm();
  const x = space.array(Int32Array, N, { name: 'x' });
  for (let i = 0; i < N; i += 1024) x.data[i] = i;
  for (let i = 0; i < N; i += 1024) assert.equal(x.data[i], i);
  assert.ok(failing.fired() >= 12);
});

longTest(
  'a spill file that cannot be made for want of descriptors says how to have more, and not that a disk is full',
  async () => {
    const failing = await openFailing('open:EMFILE:1-1000000', {
      hostMemory: HOST,
      storage: { path: folder, bytes: '128MiB' },
    });
    await using space = failing.space;
    const path = join(folder, 'wanted');
    writeFileSync(path, new Int32Array(N));
    const fd = openSync(path, 'r');
    const x = space.array(Int32Array, N, { name: 'x' });
    failing.arm();
    const { message } = await failsWith('OUT_OF_STORAGE', () => x.readFrom(fd, { position: 0 }));
    failing.disarm();
    closeSync(fd);
    assert.match(
      message,
      /EMFILE.*; close files or sockets, or raise the limit of descriptors of this process \(ulimit -n\)/,
    );
    assert.doesNotMatch(message, /another disk/);
  },
);

longTest(
  'a folder that has gone before anything was spilled is named, and used when it is there again',
  async () => {
    const gone = mkdtempSync(join(folder, 'gone-'));
    await using space = await openSpace({
      hostMemory: HOST,
      storage: { path: gone, bytes: '128MiB' },
    });
    const path = join(folder, 'many');
    writeFileSync(
      path,
      filledWith(new Int32Array(N), (i) => i),
    );
    rmdirSync(gone);
    const fd = openSync(path, 'r');
    const x = space.array(Int32Array, N, { name: 'x' });
    const { message } = await failsWith('OUT_OF_STORAGE', () => x.readFrom(fd, { position: 0 }));
    assert.match(message, /spill file in \S+\/gone-\S+ .*ENOENT.*; make that folder again/);
    mkdirSync(gone);
    // It is tried again now and then.
    const read = (): Promise<unknown> =>
      x.readFrom(fd, { position: 0 }).catch(({ code }: OnememError) => code);
    while ((await read()) === 'OUT_OF_STORAGE') await sleep(20);
    closeSync(fd);
    sameData(x.data, (i) => i);
  },
);

longTest(
  'what was written to a private file array, or to what a provider has filled, goes to storage; the rest comes from there again',
  async () => {
    await using space = await open();
    const path = join(folder, 'words');
    writeFileSync(
      path,
      filledWith(new Int32Array(N), (i) => i),
    );
    const file = await space.fileArray(Int32Array, path, { writable: true });
    const module = new URL('./programs/provider-functions.js', import.meta.url);
    const words = new Int32Array(new SharedArrayBuffer(20));
    const provided = await space.providedArray(Int32Array, N, {
      module,
      export: 'fill',
      data: { words },
      writable: true,
    });
    for (const x of [file, provided]) for (let i = 0; i < N; i += 2048) x.data[i] = -1;
    sameData(file.data, (i) => (i % 2048 === 0 ? -1 : i));
    sameData(provided.data, (i) => (i % 2048 === 0 ? -1 : elementAt(i)));
    assert.ok(storageOf(space).bytesWritten > 0);
    assert.deepEqual(new Int32Array(readFileSync(path).buffer, 0, 4), Int32Array.of(0, 1, 2, 3));
    space.checkInvariants();
  },
);

longTest('a launch waits for a disk that is full for a moment, and its device lives', async () => {
  const failing = await openFailing('pwrite:ENOSPC:1-1000000', {
    hostMemory: HOST,
    storage: { path: folder, bytes: '1GiB' },
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  await using space = failing.space;
  // More than host and device have together.
  const length = 12 * MIB;
  const x = space.array(Int32Array, length, { name: 'x' });
  failing.arm();
  const launch = space.devices[0].run(fill, { x, salt: 4 }, { size: length });
  while (!storageOf(space).full) await sleep(10);
  await sleep(1000);
  failing.disarm();
  await launch;
  sameData(x.data, (i) => filled(i, 4));
});

longTest(
  'a program that needs room of a disk that stays full is ended after a while by a message that says what to do',
  async () => {
    const program = new Program('storage-full', [folder]);
    const { signal, stdout, stderr } = await program.outcome;
    assert.equal(signal, 'SIGBUS');
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /denied access: .* wrote .*array x, elements \d+.*spill file in .*ENOSPC.*make room there/,
    );
  },
);

longTest(
  'what memory and storage that are full have can be read and saved elsewhere; a limit on files is named, and kills nobody',
  async () => {
    const files = mkdtempSync(join(folder, 'saved-'));
    const program = new Program('storage-limited', [folder, files]);
    const { code, stdout, stderr } = await program.outcome;
    assert.equal(code, 0, stderr);
    const [refused, streamed, saved, tooLong, ...rest] = stdout.trim().split('\n');
    const limit = 'no file of more than 16777216 bytes; raise that limit \\(ulimit -f';
    assert.match(refused, new RegExp(`^OUT_OF_STORAGE .*EFBIG: .*${limit}.*saveNpy`));
    assert.match(tooLong, new RegExp(`^FILE_IO .*EFBIG.*${limit}`));
    assert.deepEqual([streamed, saved, ...rest], ['streamed', 'saved', 'loaded', 'closed']);
  },
);

test('a limit on files that leaves no room for a space is named when one is opened', async () => {
  const program = new Program('storage-limited', [folder, folder], { fileKib: 16 * 1024 });
  const { code, stderr } = await program.outcome;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /addressSpace of \d+ bytes .*no file of more than 16777216 bytes; raise that limit \(ulimit -f/,
  );
});

// Containers often forbid io_uring; then threads do all of it.
for (const refused of ['1-1000000', '50-99']) {
  longTest(
    `single pages go and come as they were where a ring refuses them from one on: ${refused}`,
    async () => {
      const failing = await openFailing(`ioUringEnter:EAGAIN:${refused}`, {
        hostMemory: HOST,
        storage: { path: folder, bytes: '1GiB' },
      });
      await using space = failing.space;
      const x = space.array(Int32Array, N, { name: 'x' });
      for (let i = 0; i < N; i++) x.data[i] = filled(i, 5);
      x.advise({ pattern: 'random' });
      failing.arm();
      for (let touch = 0; touch < 300; touch++) {
        const i = (Math.imul(touch, 2_654_435_761) >>> 0) % N;
        assert.equal(x.data[i], filled(i, 5));
        x.data[i] = filled(i, 5);
      }
      if (failing.fired() === 0) note('this system has no io_uring for this process');
      x.advise({ pattern: 'sequential' });
      sameData(x.data, (i) => filled(i, 5));
      space.checkInvariants();
    },
  );
}

for (const error of ['EOPNOTSUPP', 'EIO']) {
  longTest(
    `${error}: space that cannot be given back is said once, loses nothing, and is used again`,
    async () => {
      const program = new Program('storage-kept', [folder, error]);
      const { code, stdout, stderr } = await program.outcome;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /as written/);
      assert.match(
        stderr,
        new RegExp(
          `^onemem: warning: space of the spill file in .* could not be given back \\(${error}: [^\n]*\n$`,
        ),
      );
    },
  );
}

longTest(
  'a disk that cannot be read for a while denies what it has, and gives it when it can',
  async () => {
    const failing = await openFailing('pread:EIO:1-1000000', {
      hostMemory: HOST,
      storage: { path: folder, bytes: '1GiB' },
      devices: [{ kind: 'simulated', memory: '8MiB' }],
    });
    await using space = failing.space;
    const x = space.array(Int32Array, N, { name: 'x' });
    for (let i = 0; i < N; i++) x.data[i] = filled(i, 4);
    failing.arm();
    const stream = space.devices[0].stream();
    stream.prefetch(x.range(0, MIB), 'host');
    await failsWith('COPY_FAILED', () => stream.synchronize());
    failing.disarm();
    sameData(x.data, (i) => filled(i, 4));
  },
);

longTest(
  'a program that is killed while it spills leaves nothing on the disk',
  async () => {
    const seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 31));
    note(`ONEMEM_SEED=${seed}`);
    const path = mkdtempSync(join(folder, 'killed-'));
    let state = seed;
    for (let kill = 0; kill < KILLS; kill++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const program = new Program('spilling', [path]);
      await program.line('spilling');
      await sleep((state >>> 8) % 150);
      program.kill();
      assert.equal((await program.outcome).signal, 'SIGKILL');
      assert.deepEqual(readdirSync(path), []);
    }
  },
  20 + KILLS * 3,
);

await runTests();
