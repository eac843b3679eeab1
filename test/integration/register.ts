/** Memory that others made, which a space knows: what may be registered, and what becomes of it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  type AddressSpace,
  type Device,
  i32,
  kernel,
  openSpace,
  type Registration,
} from '../../src/index.js';
import { addressOf } from '../../src/linux/base/libc.js';
import { view } from '../../src/linux/memory/memory.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';
import { wasmMemory } from '../harness/wasm.js';

const MIB = 2 ** 20;
const PAGE = 4096;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const copy = kernel({ x: i32.in, y: i32.out }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = x[i];
});

function open(): Promise<AddressSpace> {
  return sharedSpace({
    hostMemory: '64MiB',
    storage: false,
    devices: [
      { kind: 'process', memory: '16MiB', name: 'near' },
      { kind: 'simulated', memory: '16MiB', name: 'far' },
    ],
  });
}

async function addsOne(device: Device, x: Int32Array, before: number): Promise<void> {
  await device.run(add, { x, by: 1 }, { size: x.length });
  sameData(x, () => before + 1);
}

/** Bytes that the kernel counts as locked. */
function lockedKiB(): number {
  return Number(/VmLck:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]);
}

test('what is registered, and how it is used', async () => {
  await using space = await open();
  const buffer = Buffer.alloc(3 * PAGE);
  const kinds: [unknown, Registration['mode'], number][] = [
    [new Int32Array(1000), 'staged', 4000],
    [new ArrayBuffer(10), 'staged', 10],
    [new SharedArrayBuffer(MIB), 'staged', MIB],
    [buffer, 'staged', 3 * PAGE],
    [new DataView(new ArrayBuffer(100), 10, 20), 'staged', 20],
    [wasmMemory({ initial: 2 }), 'in place', 2 * 65_536],
    [wasmMemory({ initial: 1, maximum: 2, shared: true }), 'staged', 65_536],
    [wasmMemory({ initial: 1 }).buffer, 'staged', 65_536],
  ];
  for (const [memory, mode, bytes] of kinds) {
    const registration = space.register(memory as never);
    assert.deepEqual([registration.mode, registration.bytes], [mode, bytes]);
    assert.equal(registration.isRegistered, true);
    registration.unregister();
    assert.equal(registration.isRegistered, false);
  }
});

test('launches find it by its address, on devices of every kind', async () => {
  await using space = await open();
  const plain = new SharedArrayBuffer(4 * MIB);
  const memory = wasmMemory({ initial: 64 });
  using first = space.register(plain);
  using second = space.register(memory);
  for (const { buffer } of [{ buffer: plain }, memory]) {
    const x = new Int32Array(buffer, 8, 300_000).fill(0);
    const around = new Int32Array(buffer);
    let sum = 0;
    for (const device of [...space.devices, ...space.devices]) await addsOne(device, x, sum++);
    assert.deepEqual([around[1], around[300_002]], [0, 0]);
    for (const device of space.devices) {
      const y = new Int32Array(buffer, 2 * MIB, 300_000).fill(7);
      await device.run(copy, { x, y }, { size: x.length });
      sameData(y, () => sum);
    }
  }
  assert.equal(first.isRegistered && second.isRegistered, true);
});

test('it is right in streams, staged and in place one after the other', async () => {
  await using space = await open();
  const [near, far] = space.devices;
  const memory = wasmMemory({ initial: 16 });
  using registration = space.register(memory);
  const x = new Int32Array(memory.buffer, 0, 100_000);
  const y = new Int32Array(memory.buffer, 500_000, 100_000);
  const out = space.array(Int32Array, 100_000);
  const [one, other] = [near.stream(), far.stream()];
  one.launch(add, { x, by: 1 }, { size: x.length });
  one.launch(add, { x, by: 1 }, { size: x.length });
  const event = one.launch(copy, { x, y }, { size: x.length });
  other.wait(event);
  other.launch(add, { x: y, by: 10 }, { size: x.length });
  const last = other.launch(add, { x, by: 100 }, { size: x.length });
  one.wait(last);
  one.launch(add, { x: y, by: 1000 }, { size: x.length });
  one.copy(out, x);
  await one.synchronize();
  sameData(x, () => 102);
  sameData(y, () => 1012);
  sameData(out.data, () => 102);
  assert.equal(registration.mode, 'in place');
});

test('a device that copies it comes between two that have it in place', async () => {
  await using space = await open();
  const [near, far] = space.devices;
  const memory = wasmMemory({ initial: 16 });
  using registration = space.register(memory);
  const x = new Int32Array(memory.buffer);
  const size = x.length;
  const [one, other] = [near.stream(), far.stream()];
  other.wait(one.launch(add, { x, by: 1 }, { size }));
  one.wait(other.launch(add, { x, by: 10 }, { size }));
  one.launch(add, { x, by: 100 }, { size });
  // Meanwhile this thread puts no results back.
  for (const end = performance.now() + 200; performance.now() < end; );
  await one.synchronize();
  sameData(x, () => 111);
  assert.equal(registration.mode, 'in place');
});

test('what cannot be registered is refused by name, no bytes among it', async () => {
  await using space = await open();
  const managed = space.array(Int32Array, 1000);
  const taken = new ArrayBuffer(100);
  structuredClone(taken, { transfer: [taken] });
  for (const [memory, code] of [
    [new Int32Array(0), 'REGISTER_SIZE'],
    [wasmMemory({ initial: 0 }), 'REGISTER_SIZE'],
    [{ address: 4096n, bytes: 0 }, 'REGISTER_SIZE'],
    [{ address: 4096n, bytes: 1.5 }, 'REGISTER_SIZE'],
    [{ address: 4096n, bytes: 4096 }, 'ADDRESS'],
    [{ address: 4096, bytes: 4096 }, 'ADDRESS'],
    [null, 'REGISTER'],
    ['memory', 'REGISTER'],
    [managed, 'REGISTER'],
    [managed.data, 'REGISTER'],
    [managed.data.buffer, 'REGISTER'],
    [{ address: managed.address, bytes: 4096 }, 'REGISTER'],
    [taken, 'PLAIN_ARRAY_GONE'],
  ] as const)
    await failsWith(code, () => space.register(memory as never));
  await failsWith('OPTIONS', () => space.register(new Int32Array(5), { lock: 1 as never }));
});

test('bytes count, not pages: overlaps and a second unregister are refused, neighbours are not', async () => {
  await using space = await open();
  const memory = new Int32Array(2 * PAGE);
  const whole = space.register(memory);
  const error = await failsWith('REGISTERED', () => space.register(memory.subarray(1, 2)));
  assert.match(error.message, /cannot register 4 bytes from 0x.* the space knows 0x.* unregister/);
  await failsWith('REGISTERED', () => space.register(memory.buffer));
  await failsWith('REGISTERED', () => space.register(memory));
  whole.unregister();
  await failsWith('NOT_REGISTERED', () => whole.unregister());
  whole[Symbol.dispose]();
  using left = space.register(memory.subarray(0, 10));
  using right = space.register(memory.subarray(10));
  assert.equal(left.bytes + right.bytes, memory.byteLength);
  // What lies in both is neither's, and plain.
  await addsOne(space.devices[0], memory, 0);
});

test('memory that has gone while it was registered', async () => {
  await using space = await open();
  const [device] = space.devices;
  const buffer = new ArrayBuffer(MIB);
  const registration = space.register(buffer);
  const moved = new Int32Array(structuredClone(buffer, { transfer: [buffer] }));
  assert.equal(registration.isRegistered, false);
  const error = await failsWith('REGISTERED_GONE', () => addsOne(device, moved, 0));
  assert.match(error.message, /registered ArrayBuffer of 1048576 bytes is not there any more/);
  registration.unregister();
  await addsOne(device, moved, 0);
  // What lies there by now can be registered.
  const first = space.register(moved.buffer);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  assert.equal(first.isRegistered, false);
});

test('memory of WebAssembly that grows', async () => {
  await using space = await open();
  const [device] = space.devices;
  const memory = wasmMemory({ initial: 4, maximum: 16 });
  const staged = wasmMemory({ initial: 4, maximum: 16 });
  const registration = space.register(memory);
  const ofBuffer = space.register(staged.buffer);
  const x = new Int32Array(memory.buffer);
  await addsOne(device, x, 0);
  memory.grow(4);
  staged.grow(4);
  // By its memory it stays known as it was; by its buffer it has gone.
  assert.equal(registration.isRegistered, true);
  assert.equal(ofBuffer.isRegistered, false);
  await failsWith('PLAIN_ARRAY_GONE', () => device.run(add, { x, by: 1 }, { size: 1 }));
  await failsWith('REGISTERED_GONE', () => addsOne(device, new Int32Array(staged.buffer), 0));
  const old = new Int32Array(memory.buffer, 0, 65_536);
  const all = new Int32Array(memory.buffer);
  await addsOne(device, old, 1);
  old.fill(0);
  await addsOne(device, all, 0);
  registration.unregister();
  sameData(all, () => 1);
});

test('memory by its address, as another library has it', async () => {
  await using space = await open();
  const owner = new Int32Array(300_000);
  const address = addressOf(new Uint8Array(owner.buffer));
  using registration = space.register({
    address: BigInt(address),
    bytes: owner.byteLength,
  });
  assert.equal(registration.address, BigInt(address));
  const x = new Int32Array(view(address, owner.byteLength));
  await addsOne(space.devices[0], x, 0);
  sameData(owner, () => 1);
});

test('it is locked where the limit allows it, and says so', async () => {
  await using space = await open();
  const before = lockedKiB();
  const memory = new Uint8Array(new SharedArrayBuffer(64 * 1024));
  const registration = space.register(memory, { lock: 'require' });
  assert.equal(registration.locked, true);
  assert.ok(lockedKiB() - before >= 56, 'whole pages of it are locked');
  registration.unregister();
  assert.equal(lockedKiB(), before);
  const unlocked = space.register(memory, { lock: false });
  assert.equal(unlocked.locked, false);
  unlocked.unregister();
});

test('one space has it in place, and others copy it', async () => {
  await using space = await open();
  await using other = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
  const memory = wasmMemory({ initial: 16 });
  const x = new Int32Array(memory.buffer);
  using first = space.register(memory);
  await addsOne(space.devices[0], x, 0);
  using second = other.register(memory);
  assert.deepEqual([first.mode, second.mode], ['in place', 'staged']);
  await addsOne(other.devices[0], x, 1);
  await addsOne(space.devices[0], x, 2);
});

test('an operation that uses it keeps it', async () => {
  await using space = await open();
  const [device] = space.devices;
  const memory = wasmMemory({ initial: 16 });
  const x = new Int32Array(memory.buffer);
  const registration = space.register(memory);
  const launch = device.run(add, { x, by: 1 }, { size: x.length });
  await failsWith('ARRAY_IN_USE', () => registration.unregister());
  await launch;
  registration.unregister();
  sameData(x, () => 1);
});

test('the close of the space ends all, and the memory stays as it is', async () => {
  const memory = wasmMemory({ initial: 16 });
  const x = new Int32Array(memory.buffer);
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const registration = space.register(memory, { lock: false });
  await addsOne(space.devices[0], x, 0);
  await space.devices[0].restart();
  await addsOne(space.devices[0], x, 1);
  await space.close();
  assert.equal(registration.isRegistered, false);
  await failsWith('NOT_REGISTERED', () => registration.unregister());
  await failsWith('SPACE_CLOSED', () => space.register(memory));
  sameData(x, () => 2);
  memory.grow(1);
  assert.equal(new Int32Array(memory.buffer)[5], 2);
});

await runTests();
