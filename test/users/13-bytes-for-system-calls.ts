/**
 * Arrays whose bytes go to files, sockets and responses where a system call into a page that is not
 * there fails: as streams, as copies, and held where they are. Every space here asks for faults of
 * that kind.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type AddressSpace, i32, kernel } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const BYTES = 3 * MIB + 12;
const count = kernel({ x: i32.out }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(i, 2_654_435_761);
});
const read = kernel({ x: i32.in, sum: i32.inout }, ({ x, sum }, { begin, end }) => {
  for (let i = begin; i < end; i++) sum[0] += x[i];
});

function byteAt(index: number): number {
  return (Math.imul(index >> 2, 2_654_435_761) >>> (8 * (index & 3))) & 255;
}

/** An array whose pages are on a device, and a folder. */
async function withArray(
  action: (x: ReturnType<typeof made>, space: AddressSpace, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-bytes-'));
  try {
    await using space = await sharedSpace({
      devices: [{ kind: 'process', memory: '8MiB' }],
      hostMemory: '160MiB',
      userModeOnly: true,
    });
    const x = made(space);
    await space.devices[0].run(count, { x }, { size: x.length });
    await action(x, space, folder);
    space.checkInvariants();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function made(space: AddressSpace) {
  return space.array(Int32Array, BYTES / 4, { name: 'numbers' });
}

longTest('an http server answers with a part of an array', () =>
  withArray(async (x) => {
    const server = createServer((_request, response) => {
      void pipeline(x.createReadStream({ begin: 1000, end: 700_000 }), response);
    }).listen(0);
    const { port } = server.address() as AddressInfo;
    const got = new Uint8Array(await (await fetch(`http://127.0.0.1:${port}`)).arrayBuffer());
    server.close();
    assert.equal(got.length, 699_000 * 4);
    sameData(got, (i) => byteAt(i + 4000));
    // It was only read: the device has its copy still.
    assert.ok(
      x
        .residency({ begin: 1024, end: 600_000 })
        .runs.every(({ nodes }) => nodes.includes('process0')),
    );
  }),
);

test('a Response has an array as its body, and readers with memory of their own can read it', () =>
  withArray(async (x) => {
    const got = new Uint8Array(await new Response(x.toReadableStream() as never).arrayBuffer());
    assert.equal(got.length, BYTES);
    sameData(got, byteAt);
    const reader = x.toReadableStream({ begin: 5, end: 100 }).getReader({ mode: 'byob' });
    const bytes: number[] = [];
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(64));
      if (done) break;
      bytes.push(...value);
    }
    assert.equal(bytes.length, 95 * 4);
    sameData(bytes, (i) => byteAt(i + 20));
  }));

test('a stream reads no further ahead than its reader wants, and ends when it is destroyed', () =>
  withArray(async (x, space) => {
    const stream = x.createReadStream();
    const [first] = (await stream.iterator({ destroyOnReturn: false }).next()).value as [number];
    assert.equal(first, byteAt(0));
    // What the stream asked for comes before the answer to what is asked for after it.
    for (let turn = 0; turn < 20; turn++) await space.devices[0].stream().synchronize();
    assert.ok(stream.readableLength <= MIB, `${stream.readableLength} bytes were read ahead`);
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.destroy();
    await closed;
    x.free();
  }));

test('a stream fails with what is the matter, and the process goes on', () =>
  withArray(async (x) => {
    await x.protect('none', { begin: 2 * 262_144, end: 3 * 262_144 });
    const denied = await failsWith('ACCESS_DENIED', () => buffer(x.createReadStream()));
    assert.match(denied.message, /array numbers, elements 524288/);
    await failsWith('ACCESS_DENIED', () =>
      new Response(x.toReadableStream() as never).arrayBuffer(),
    );
    await x.protect('readwrite');
    const stream = x.createReadStream();
    x.free();
    await failsWith('USE_AFTER_FREE', () => buffer(stream));
    await failsWith('USE_AFTER_FREE', () => x.createReadStream());
  }));

test('a buffer is a copy that every system call takes', () =>
  withArray(async (x, _space, folder) => {
    const copy = x.toBuffer({ begin: 10, end: 500_000 });
    writeFileSync(join(folder, 'copy'), copy);
    x.data.fill(0, 10, 20);
    sameData(copy, (i) => byteAt(i + 40));
    sameData(readFileSync(join(folder, 'copy')), (i) => byteAt(i + 40));
    await failsWith('ARRAY_RANGE', () => x.toBuffer({ begin: 6, end: 5 }));
  }));

test('what is held is there for system calls, while devices read it, and not written by them', () =>
  withArray(async (x, space, folder) => {
    const fd = openSync(join(folder, 'held'), 'w+');
    const bytes = Buffer.from(x.data.buffer);
    assert.throws(
      () => writeSync(fd, bytes, 0, BYTES, 0),
      { code: 'EFAULT' },
      'so that nothing is tested',
    );
    {
      using held = await x.hold();
      assert.equal(held.bytes.length, BYTES);
      const sum = space.array(Int32Array, 1);
      await space.devices[0].run(read, { x, sum }, { size: x.length });
      assert.equal(writeSync(fd, held.bytes, 0, BYTES, 0), BYTES);
      await failsWith('PINNED', () => space.devices[0].run(count, { x }, { size: x.length }));
    }
    closeSync(fd);
    sameData(readFileSync(join(folder, 'held')), byteAt);
    assert.equal(space.stats().pinnedBytes, 0);
    await space.devices[0].run(count, { x }, { size: x.length });
  }));

test('what is held writable is written by system calls, also where pages are those of a file', () =>
  withArray(async (x, space, folder) => {
    const path = join(folder, 'source');
    writeFileSync(path, x.toBuffer());
    const fd = openSync(path, 'r');
    const file = space.fileArray(Uint8Array, path, { writable: true, name: 'file' });
    {
      await using held = await file.hold({ begin: 5, end: 2 * MIB, writable: true });
      assert.equal(readSync(fd, held.bytes, 0, MIB, 100), MIB);
    }
    closeSync(fd);
    sameData(file.data, (i) => byteAt(i >= 5 && i < MIB + 5 ? i + 95 : i));
    const refused = space.fileArray(Uint8Array, path, { name: 'refused' });
    await failsWith('ACCESS_DENIED', () => refused.hold({ writable: true }));
    assert.equal(space.stats().pinnedBytes, 0);
  }));

test('a hold of elements that an earlier resize takes away is refused, and holds nothing', () =>
  withArray(async (_, space) => {
    // Both ends lie in the same page, so that pages do not tell.
    const x = space.array(Int32Array, 3000, { name: 'shorter' });
    const resized = x.resize(2049);
    const error = await failsWith('USE_AFTER_FREE', () => x.hold());
    assert.match(
      error.message,
      /^cannot hold elements 0 to 2999 of array shorter: it has 2049 since it was resized/,
    );
    await resized;
    assert.equal(space.stats().pinnedBytes, 0);
    x.free();
  }));

await runTests();
