/**
 * Arrays that share a file: what reaches it and when, what others write to it, and what becomes of
 * it when the disk is full.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  f64,
  i32,
  kernel,
  type OnememError,
  openSpace,
} from '../../src/index.js';
import { Program, runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  filled,
  longTest,
  note,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';

const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), 'onemem-shared-files-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function withSpace(
  action: (space: AddressSpace) => Promise<void>,
  device: { readonly kind: 'process' | 'simulated'; readonly lossy?: boolean } = {
    kind: 'process',
  },
  open = sharedSpace,
): Promise<void> {
  await using space = await open({
    devices: [{ ...device, memory: '8MiB' }],
    checkInvariants: true,
  });
  await action(space);
}

const BEFORE = 12;
const AFTER = 6;

/** A file of numbers between other bytes: element i is 7 i + 1. */
function numbers(name: string, length: number): string {
  const path = join(folder, name);
  const values = filled(new Int32Array(length), (i) => 7 * i + 1);
  writeFileSync(
    path,
    Buffer.concat([
      Buffer.alloc(BEFORE, 0xee),
      Buffer.from(values.buffer),
      Buffer.alloc(AFTER, 0xdd),
    ]),
  );
  return path;
}

/** What any program reads in the file now; the bytes around the array must be as they were. */
function contentOf(path: string, length: number): Int32Array {
  const bytes = readFileSync(path);
  assert.equal(bytes.length, BEFORE + 4 * length + AFTER);
  assert.ok(
    bytes.subarray(0, BEFORE).every((byte) => byte === 0xee),
    'the bytes before the array have changed',
  );
  assert.ok(
    bytes.subarray(-AFTER).every((byte) => byte === 0xdd),
    'the bytes after the array have changed',
  );
  return new Int32Array(
    bytes.buffer.slice(bytes.byteOffset + BEFORE, bytes.byteOffset + BEFORE + 4 * length),
  );
}

/** As another program would. */
function writeElement(path: string, index: number, value: number): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, Int32Array.of(value), 0, 4, BEFORE + 4 * index);
  closeSync(fd);
}

function share(space: AddressSpace, path: string, length: number, name = 'ledger') {
  return space.fileArray(Int32Array, path, { shared: true, byteOffset: BEFORE, length, name });
}

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const overwrite = kernel({ x: i32.out }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i += 2) x[i] = i;
});
const sum = kernel({ x: i32.in, result: f64.out }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] += x[i];
});

for (const kind of ['process', 'simulated'] as const) {
  variantTest(`what the CPU and a device write is in the file after flush (${kind})`, () =>
    withSpace(
      async (space) => {
        const [device] = space.devices;
        const n = MIB + 777;
        const path = numbers(`written-${kind}`, n);
        const x = share(space, path, n);
        x.data[5] = -5;
        x.data[n - 1] = -6;
        await device.run(add, { x, by: 3 }, { size: n });
        x.data[6] = -7;
        sameData(contentOf(path, n), (i) => 7 * i + 1);
        const expected = (i: number) =>
          i === 5 ? -2 : i === 6 ? -7 : i === n - 1 ? -3 : 7 * i + 4;
        assert.equal(await x.flush(), 4 * n);
        sameData(contentOf(path, n), expected);
        // Nothing is written twice.
        assert.equal(await x.flush(), 0);
        x.data[600_000] = 8;
        const bytes = await x.flush({ durable: true });
        assert.ok(bytes >= 4096 && bytes <= 2 * MIB, `${bytes} bytes were written for one element`);
        sameData(contentOf(path, n), (i) => (i === 600_000 ? 8 : expected(i)));
        sameData(x.data, (i) => (i === 600_000 ? 8 : expected(i)));
        // A part: pages that touch it, and no others.
        x.data[0] = 1;
        x.data[900_000] = 2;
        await x.flush({ begin: 800_000 });
        assert.equal(contentOf(path, n)[0], expected(0));
        assert.equal(contentOf(path, n)[900_000], 2);
      },
      { kind },
    ),
  );
}

longTest('only pages that were written are written', () =>
  withSpace(async (space) => {
    const n = 8 * MIB;
    const path = numbers('sparse', n);
    const x = share(space, path, n);
    const result = space.array(Float64Array, 1);
    await space.devices[0].run(sum, { x, result }, { size: n });
    assert.equal(await x.flush(), 0);
    x.data[3 * MIB] = 1;
    // Another program changes what we have not touched; its bytes stay.
    writeElement(path, 7 * MIB, 99);
    const bytes = await x.flush();
    assert.ok(bytes <= 2 * MIB, `${bytes} bytes were written for one element`);
    const content = contentOf(path, n);
    assert.equal(content[3 * MIB], 1);
    assert.equal(content[7 * MIB], 99);
  }),
);

longTest('what was flushed is dropped for want of room and read again', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 6 * MIB;
    const path = numbers('evicted', n);
    const x = share(space, path, n);
    for (let round = 1; round <= 2; round++) {
      await device.run(add, { x, by: 1 }, { size: n });
      assert.ok((await x.flush()) >= 4 * n);
      sameData(contentOf(path, n), (i) => 7 * i + 1 + round);
    }
    const result = space.array(Float64Array, 1);
    await device.run(sum, { x, result }, { size: n });
    assert.equal(result.data[0], 7 * ((n * (n - 1)) / 2) + 3 * n);
    const home = space.stats().processors[1].bytesOut;
    await device.run(sum, { x, result }, { size: n });
    // The sum itself goes to and fro.
    const moved = space.stats().processors[1].bytesOut - home;
    assert.ok(moved <= 2 ** 16, `${moved} bytes of clean pages were copied home`);
  }),
);

test('a launch that empties the array leaves zeros in the file', () =>
  withSpace(async (space) => {
    const n = MIB;
    const path = numbers('emptied', n);
    const x = share(space, path, n);
    assert.equal(x.data[1], 8);
    // Every page is written, but only half of the elements.
    await space.devices[0].run(overwrite, { x }, { size: n });
    await x.flush();
    sameData(contentOf(path, n), (i) => (i % 2 === 0 ? i : 0));
    // No page is written at all.
    const nothing = kernel({ x: i32.out }, () => undefined);
    await space.devices[0].run(nothing, { x }, { size: n });
    assert.equal(await x.flush(), 4 * n);
    sameData(contentOf(path, n), () => 0);
    writeElement(path, 3, 5);
    await x.reload();
    sameData(x.data, (i) => (i === 3 ? 5 : 0));
  }));

test('free() and close() write what is left', async () => {
  const n = MIB;
  const paths = ['freed', 'closed', 'in parts'].map((name) => numbers(name, n));
  await withSpace(async (space) => {
    const [freed, closed, parts] = paths.map((path) => share(space, path, n));
    await Promise.all(
      [freed, closed, parts].map((x, by) =>
        space.devices[0].run(add, { x, by: by + 1 }, { size: n }),
      ),
    );
    freed.free();
    parts.free({ begin: 0, end: n / 2 });
    // The file is another array's as soon as it has been written.
    let again = null;
    for (let tries = 0; again === null; tries++) {
      try {
        again = share(space, paths[0], n);
      } catch (error) {
        assert.equal((error as OnememError).code, 'FILE_LOCKED');
        assert.ok(tries < 500, 'the file is still locked after 5 s');
        await sleep(10);
      }
    }
    sameData(again.data, (i) => 7 * i + 2);
    // One that has been flushed has nothing to wait for.
    await again.flush();
    again.free();
    share(space, paths[0], n).free();
  });
  for (const [index, path] of paths.entries())
    sameData(contentOf(path, n), (i) => 7 * i + 2 + index);
});

test('what others write is there after reload, and what was not flushed is not lost by it', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = MIB;
    const path = numbers('reloaded', n);
    const x = share(space, path, n);
    const result = space.array(Float64Array, 1);
    const total = (7 * (n * (n - 1))) / 2 + n;
    await device.run(sum, { x, result }, { size: n });
    assert.equal(x.data[9], 64);
    writeElement(path, 9, 164);
    assert.equal(x.data[9], 64);
    await x.reload();
    assert.equal(x.data[9], 164);
    // The device reads it again, too.
    await device.run(sum, { x, result }, { size: n });
    assert.equal(result.data[0], total + 100);
    await device.run(add, { x, by: 1 }, { size: n, begin: 5000, end: 5001 });
    const refused = await failsWith('UNFLUSHED_CHANGES', () => x.reload());
    assert.match(
      refused.message,
      /^cannot reload array ledger from .*reloaded, elements \d+ to \d+ .* flush\(\) first/,
    );
    assert.equal(x.data[5000], 7 * 5000 + 2);
    await x.reload({ discard: true });
    assert.equal(x.data[5000], 7 * 5000 + 1);
    assert.equal(await x.flush(), 0);
    sameData(x.data, (i) => (i === 9 ? 164 : 7 * i + 1));
    // A private array can be read again as well.
    const mine = space.fileArray(Int32Array, path, {
      byteOffset: BEFORE,
      length: n,
      writable: true,
    });
    mine.data[1] = 0;
    await failsWith('UNFLUSHED_CHANGES', () => mine.reload());
    await failsWith('NOT_SHARED', () => mine.flush());
    await mine.reload({ discard: true });
    assert.equal(mine.data[1], 8);
    await failsWith('NO_FILE', () => result.reload());
    await failsWith('NOT_SHARED', () => result.flush());
  }));

longTest('one array at a time shares a file', async () => {
  const n = 5000;
  const path = numbers('locked', n);
  const other = await openSpace();
  await withSpace(async (space) => {
    const x = share(space, path, n);
    for (const each of [space, other]) {
      const error = await failsWith('FILE_LOCKED', () => share(each, path, n));
      assert.match(error.message, /^cannot share .*locked: another shared array has it/);
    }
    // Others may read it, and map it for themselves.
    const mine = other.fileArray(Int32Array, path, { byteOffset: BEFORE, length: n });
    sameData(mine.data, (i) => 7 * i + 1);
    const program = await runProgram('sharing', ['try', path]);
    assert.match(program.stdout, /^refused: FILE_LOCKED$/m, program.stderr);
    x.free();
    share(other, path, n).free();
    share(space, path, n);
  });
  share(other, path, n);
  await other.close();
  const program = new Program('sharing', ['hold', path]);
  await program.line('shared');
  const space = await openSpace();
  await failsWith('FILE_LOCKED', () => share(space, path, n));
  // A program that is killed keeps no other one out.
  program.kill();
  await program.outcome;
  share(space, path, n);
  await space.close();
});

test('files that cannot be shared', () =>
  withSpace(async (space) => {
    mkdirSync(join(folder, 'directory'));
    const open = (path: string, options = {}) =>
      space.fileArray(Int32Array, path, { shared: true, ...options });
    const error = (await failsWith('FILE_NOT_WRITABLE', () =>
      open(join(folder, 'directory')),
    )) as OnememError;
    assert.match(
      error.message,
      /this process may not write it \(EISDIR\); allow that, or leave out `shared` to read it, with `writable: true`/,
    );
    await failsWith('FILE_NOT_WRITABLE', () => open(process.execPath));
    await failsWith('ENOENT', () => open(join(folder, 'none')));
    const both = await failsWith('SHARED_READ_ONLY', () =>
      open(numbers('contradiction', 10), { writable: false }),
    );
    assert.match(
      both.message,
      /leave out `shared` to read the file alone, or `writable` to have writes reach it/,
    );
    // Nothing that failed keeps the file.
    const path = numbers('too short', 10);
    await failsWith('FILE_TOO_SHORT', () => open(path, { length: 1000 }));
    open(path, { length: 10 });
  }));

longTest('what is written while a flush goes on is kept, by threads and devices', () =>
  withSpace(async (space) => {
    const n = 2 * MIB;
    const path = numbers('busy', n);
    const x = share(space, path, n);
    const words = new Int32Array(new SharedArrayBuffer(8));
    const worker = new Worker(new URL('./programs/sharing-thread.js', import.meta.url), {
      workerData: { handle: x.handle, words, begin: n / 2, end: n },
    });
    await once(worker, 'message');
    let rounds = 0;
    let flushes = 0;
    let bytes = 0;
    const launches = (async () => {
      for (; rounds < 6 || flushes < 6; rounds++)
        await space.devices[0].run(add, { x, by: 1 }, { size: n / 2 });
    })();
    while (rounds < 6 || flushes < 6) {
      bytes += await x.flush();
      flushes++;
    }
    await launches;
    Atomics.store(words, 0, 1);
    const [[steps]] = (await Promise.all([once(worker, 'message'), once(worker, 'exit')])) as [
      [number],
      unknown,
    ];
    await x.flush();
    note(
      `${flushes} flushes of ${Math.round(bytes / MIB)} MiB beside ${steps} steps of a thread and ${rounds} launches`,
    );
    const data = Int32Array.from(x.data);
    sameData(data.subarray(0, n / 2), (i) => 7 * i + 1 + rounds);
    sameData(contentOf(path, n), (i) => data[i]);
    assert.equal(await x.flush(), 0);
    // The thread wrote its number of steps to every element that it came to.
    assert.equal(data[n / 2], steps);
  }),
);

test('what is left of a file that shrank is shown when changes are given up, and what is behind its end is denied', async () => {
  await using space = await openSpace();
  const n = MIB;
  const path = numbers('shorter', n);
  const x = share(space, path, n);
  const first = x.data[0];
  x.data[0] = first + 1;
  x.data[n - 1] = 3;
  truncateSync(path, BEFORE + 2 * n);
  await x.reload({ discard: true });
  assert.equal(x.data[0], first);
  await failsWith('FILE_CHANGED', () => x.writeTo(openSync('/dev/null', 'w'), { begin: n - 1024 }));
  assert.equal(await x.flush(), 0);
});

test('a space whose shared file shrank is closed by the second close(), which leaves the file as it is', async () => {
  const space = await openSpace();
  const n = MIB;
  const path = numbers('given-up', n);
  const x = share(space, path, n);
  x.data[n - 1] = 3;
  truncateSync(path, 1000);
  for (let attempt = 0; attempt < 2; attempt++) await failsWith('FILE_CHANGED', () => x.flush());
  const { details } = (await failsWith('FILE_CHANGED', () => space.close())) as OnememError;
  assert.deepEqual(details.arrays, ['ledger']);
  assert.equal(x.data[n - 1], 3);
  await space.close();
  assert.equal(statSync(path).size, 1000);
});

longTest('a file that shrank is not made longer by a flush', () =>
  withSpace(
    async (space) => {
      const n = MIB;
      const path = numbers('cut', n);
      const x = share(space, path, n);
      x.data[n - 1] = 3;
      truncateSync(path, 1000);
      const error = await failsWith('FILE_CHANGED', () => x.flush());
      assert.match(
        error.message,
        /^cannot flush array ledger: .*cut has become shorter, 1000 bytes where the array ends at 4194316/,
      );
      await failsWith('FILE_CHANGED', () => x.reload());
      const unclosed = await failsWith('FILE_CHANGED', () => space.close());
      assert.match(unclosed.message, /cut has become shorter.*next close\(\) drops all writes/);
      assert.equal(statSync(path).size, 1000);
      // The space is still there, and so is what was written.
      assert.equal(x.data[n - 1], 3);
      const fd = openSync(path, 'r+');
      ftruncateSync(fd, BEFORE + 4 * n + AFTER);
      closeSync(fd);
      await x.flush();
      assert.equal(
        new Int32Array(readFileSync(path).buffer.slice(BEFORE + 4 * n - 4, BEFORE + 4 * n))[0],
        3,
      );
    },
    undefined,
    openSpace,
  ),
);

longTest('a file that shrank and of which nothing was written keeps no space open', () =>
  withSpace(
    async (space) => {
      const n = MIB;
      const path = numbers('cut-unwritten', n);
      const x = share(space, path, n);
      assert.equal(x.data[n - 1], 7 * (n - 1) + 1);
      truncateSync(path, 1000);
      assert.equal(await x.flush(), 0);
      assert.equal(await x.flush({ durable: true }), 0);
      await space.close();
      assert.equal(statSync(path).size, 1000);
    },
    undefined,
    openSpace,
  ),
);

longTest('what was lost with a device is told, and the rest is written', () =>
  withSpace(
    async (space) => {
      const n = MIB;
      const path = numbers('lost', n);
      const x = share(space, path, n);
      x.data[9] = 10;
      await space.devices[0].run(add, { x, by: 1 }, { size: n, begin: n / 2, end: n });
      space.devices[0].kill();
      while (space.stats().processors[1].alive) await sleep(10);
      const error = await failsWith('DATA_LOST', () => x.flush());
      assert.match(error.message, /^a flush touched array ledger from .*lost, elements/);
      assert.equal(contentOf(path, n)[9], 10);
      await x.reload({ discard: true });
      sameData(x.data, (i) => (i === 9 ? 10 : 7 * i + 1));
    },
    { kind: 'process', lossy: true },
  ),
);

interface Full {
  readonly name: string;
  readonly errno: string;
  readonly possible: boolean;
  run(path: string): readonly [command: string, args: readonly string[]];
}
const program = new URL('./programs/sharing.js', import.meta.url).pathname;
/** The program has a file of 4 MiB with a hole in it, and room for one. */
const fulls: readonly Full[] = [
  {
    name: 'a full disk',
    errno: 'ENOSPC',
    possible: spawnSync('unshare', ['-m', 'true']).status === 0,
    run: (path) => [
      'unshare',
      [
        '-m',
        'sh',
        '-c',
        `mount -t tmpfs -o size=1m tmpfs ${path} && exec "$0" "$@"`,
        process.execPath,
        program,
        'full',
        path,
      ],
    ],
  },
  {
    name: 'a limit on the size of files',
    errno: 'EFBIG',
    possible: spawnSync('prlimit', ['--version']).status === 0,
    run: (path) => [process.execPath, [program, 'limit', path]],
  },
];
for (const { name, errno, possible, run } of fulls) {
  if (!possible) {
    note(`${name}: not tried, since this user cannot make one`);
    continue;
  }
  variantTest(`${name}: flush and close reject, and nothing is lost`, () => {
    const path = join(folder, errno);
    mkdirSync(path);
    const [command, args] = run(path);
    const { status, stdout, stderr } = spawnSync(command, args, {
      encoding: 'utf8',
      timeout: 50_000,
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    const lines = stdout.trimEnd().split('\n');
    assert.match(
      lines[0],
      new RegExp(
        `^flush: FLUSH_FAILED ${errno} cannot write array ledger back to .*: ${errno} at byte \\d+`,
      ),
    );
    assert.match(
      lines[1],
      new RegExp(`^close: FLUSH_FAILED ${errno} .*: ${errno} at byte .* \\(and 1 more arrays\\)$`),
    );
    assert.deepEqual(lines.slice(2), [
      'elements are in memory: 1048576',
      'flushed when there was room',
      'closed',
      'elements are in the file: 1048576',
      'elements of the freed array are in its file: 1048576',
    ]);
    assert.match(
      stderr,
      /^onemem: warning: a freed array is kept, and close\(\) will try again: cannot write array freed back to/m,
    );
  });
}

await runTests();
