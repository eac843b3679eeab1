/**
 * The driver of a GPU and its engine, without a space: bytes by both ways, and a GPU that is lost.
 */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { Access, PAGE_BYTES, Status } from '../../src/core/basics/types.js';
import type { LaunchFailure } from '../../src/drivers/driver.js';
import { orderIn, orderOut } from '../../src/drivers/test-orders.js';
import type { WebgpuDevice } from '../../src/drivers/webgpu/device.js';
import { openWebgpu } from '../../src/drivers/webgpu/open.js';
import {
  MAP_ANONYMOUS,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../../src/linux/base/constants.js';
import { closeDescriptor } from '../../src/linux/base/libc.js';
import { createMemoryFile, mmap, munmap, view } from '../../src/linux/memory/memory.js';
import { runTests, sleep, test } from '../harness/suite.js';

const PAGES = 128;
const BYTES = PAGES * PAGE_BYTES;
const WRITABLE = PROT_READ | PROT_WRITE;
const PROGRAM = new URL('../../src/drivers/webgpu/engine.js', import.meta.url);

/** A driver with a host of its own, and what it has reported. */
class World {
  readonly fd = createMemoryFile('onemem-test-host', BYTES);
  readonly host = mmap(BYTES, { protection: WRITABLE, flags: MAP_SHARED, fd: this.fd });
  /** Memory that is not the host's, as another device's is not. */
  readonly other = mmap(BYTES, { protection: WRITABLE, flags: MAP_PRIVATE | MAP_ANONYMOUS });
  readonly transferred = new Map<number, Status>();
  readonly launched: (LaunchFailure | null)[] = [];
  died: string | null = null;
  ready: string | null | undefined;
  readonly device: WebgpuDevice;

  constructor() {
    const host = { fd: this.fd, bytes: BYTES, address: this.host };
    const ignore = (): void => undefined;
    this.device = openWebgpu(
      { name: 'gpu', budgetPages: 1024, host, parser: import.meta.resolve('wesl/core') },
      PROGRAM,
      {
        fault: ignore,
        revoked: ignore,
        released: ignore,
        transferred: (token, status) => void this.transferred.set(token, status),
        launched: (_id, failure) => void this.launched.push(failure),
        died: (reason) => {
          this.died = reason;
        },
      },
    );
    this.device.onReady = (failure) => {
      this.ready ??= failure;
    };
  }

  /** Goes on as the manager does, until something is so. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    for (const end = Date.now() + 40_000; !isSo(); await sleep(2)) {
      if (Date.now() > end) throw new Error(`${what}: not within 40 s`);
      this.device.sendRest();
      this.device.readPackets();
      if (!existsSync(`/proc/${this.device.pid}`)) this.device.processEnded();
    }
  }

  bytes(address: number, page: number, count: number): Uint8Array {
    return new Uint8Array(view(address + page * PAGE_BYTES, count * PAGE_BYTES));
  }

  async in(token: number, address: number, page: number, count: number): Promise<void> {
    const status = this.device.transferIn(
      orderIn(token, address, page, count, page, Access.Write, false),
    );
    assert.equal(status, Status.Pending);
    await this.until(`copy ${token}`, () => this.transferred.has(token));
  }

  async out(token: number, page: number, count: number, address: number): Promise<void> {
    assert.equal(
      this.device.transferOut(orderOut(token, page, count, address, true)),
      Status.Pending,
    );
    await this.until(`copy ${token}`, () => this.transferred.has(token));
  }

  [Symbol.dispose](): void {
    this.device.close();
    munmap(this.host, BYTES);
    munmap(this.other, BYTES);
    closeDescriptor(this.fd);
  }
}

test('pages come and go through host memory and through any other, put together meanwhile', async () => {
  using world = new World();
  await world.until('the GPU is there', () => world.ready !== undefined);
  assert.equal(world.ready, null);
  const content = Uint8Array.from(
    { length: 8 * PAGE_BYTES },
    (_, at) => (at * 7 + (at >> 8)) % 251,
  );
  world.bytes(world.host, 0, 8).set(content);
  world.bytes(world.other, 0, 8).set(content);
  await world.in(1, world.host, 100, 4);
  await world.in(2, world.other + 4 * PAGE_BYTES, 104, 4);
  await world.in(3, 0, 108, 2);
  world.device.expect([{ first: 102, end: 109 }]);
  await world.out(4, 100, 8, world.host + 16 * PAGE_BYTES);
  await world.out(5, 100, 10, world.other + 16 * PAGE_BYTES);
  assert.deepEqual([...world.transferred.values()], new Array(5).fill(Status.Done));
  assert.ok(Buffer.compare(world.bytes(world.host, 16, 8), content) === 0);
  assert.ok(Buffer.compare(world.bytes(world.other, 16, 8), content) === 0);
  assert.ok(world.bytes(world.other, 24, 2).every((byte) => byte === 0));
});

test('pages that are asked for together come by reads of their own, each to its place', async () => {
  using world = new World();
  await world.until('the GPU is there', () => world.ready !== undefined);
  const content = Uint8Array.from(
    { length: 32 * PAGE_BYTES },
    (_, at) => (at * 7 + (at >> 8)) % 251,
  );
  world.bytes(world.host, 0, 32).set(content);
  await world.in(1, world.host, 0, 32);
  // The first two continue each other; the host has the others elsewhere, or not at all.
  const wanted = [
    [2, 0, 4, world.host + 64 * PAGE_BYTES],
    [3, 4, 4, world.host + 68 * PAGE_BYTES],
    ...Array.from({ length: 9 }, (_, at) => [
      4 + at,
      8 + 2 * at,
      2,
      world.host + (119 - 2 * at) * PAGE_BYTES,
    ]),
    [13, 26, 6, world.other],
  ];
  for (const [token, page, count, address] of wanted)
    assert.equal(
      world.device.transferOut(orderOut(token, page, count, address, token === 2)),
      Status.Pending,
    );
  await world.until('all are there', () => wanted.every(([token]) => world.transferred.has(token)));
  for (const [token, page, count, address] of wanted) {
    const found = new Uint8Array(view(address, count * PAGE_BYTES));
    const expected = content.subarray(page * PAGE_BYTES, (page + count) * PAGE_BYTES);
    assert.ok(Buffer.compare(found, expected) === 0, `what came by ${token} is wrong`);
  }
});

test('zeros for a buffer that is there need no answer, and are there before whatever is asked for next', async () => {
  using world = new World();
  await world.until('the GPU is there', () => world.ready !== undefined);
  world.bytes(world.host, 0, 8).fill(7);
  assert.equal(
    world.device.transferIn(orderIn(1, 0, 0, 4, 0, Access.Write, false)),
    Status.Pending,
    'a buffer may not be there',
  );
  await world.until('copy 1', () => world.transferred.has(1));
  await world.in(2, world.host, 0, 8);
  assert.equal(world.device.transferIn(orderIn(3, 0, 2, 2, 2, Access.Write, true)), Status.Done);
  await world.out(4, 0, 8, world.host + 16 * PAGE_BYTES);
  const found = [...world.bytes(world.host, 16, 8)].filter((_, at) => at % PAGE_BYTES === 5);
  assert.deepEqual(found, [7, 7, 0, 0, 7, 7, 7, 7]);
  assert.ok(!world.transferred.has(3), 'what was done at once was answered once more');
});

test('a GPU that is destroyed ends its device: what is under way is lost, and says so', async () => {
  using world = new World();
  await world.until('the GPU is there', () => world.ready !== undefined);
  await world.in(1, 0, 0, 4);
  world.device.lose();
  assert.equal(world.device.transferOut(orderOut(2, 0, 4, world.host, false)), Status.Pending);
  await world.until('the device has died', () => world.died !== null);
  assert.match(world.died ?? '', /its GPU was lost/);
  assert.ok(world.transferred.has(2), 'a copy was never answered');
  assert.equal(world.device.transferIn(orderIn(3, 0, 8, 1, 8, Access.Write, false)), Status.Lost);
});

await runTests();
