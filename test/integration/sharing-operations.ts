/**
 * Launches, copies and prefetches over arrays that several machines share: each machine is a space
 * of this program, with a member of its own.
 */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AddressSpace,
  type CopyPlace,
  i32,
  kernel,
  openSpace,
  type SharedArray,
  type SharingServer,
} from '../../src/index.js';
import { failsWith, runTests, sameData, sleep } from '../harness/suite.js';
import {
  longTestWithValkey,
  testWithValkey,
  ValkeyServer,
  variantTestWithValkey,
} from '../harness/valkey-server.js';

/** Longer than a busy machine lets a thread wait. */
const LONG_MS = 20_000;
/** Three blocks, the last one not full. */
const N = 40_000;

type Shared = SharedArray<Int32Array<ArrayBuffer>>;

interface Machine extends AsyncDisposable {
  readonly space: AddressSpace;
  readonly shared: Shared;
}

async function machine(
  server: ValkeyServer,
  {
    kind = 'process',
    name = 'numbers',
    ...more
  }: Partial<SharingServer> & { kind?: string; name?: string } = {},
): Promise<Machine> {
  const space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: kind as 'process', memory: '8MiB' }],
  });
  const on = { url: server.url, leaseMs: LONG_MS, timeoutMs: LONG_MS, ...more };
  const shared = await space.sharedArray(Int32Array, N, { name, on });
  return { space, shared, [Symbol.asyncDispose]: () => space.close({ timeoutMs: 1000 }) };
}

async function copy({ space }: Machine, to: CopyPlace, from: CopyPlace): Promise<void> {
  const stream = space.devices[0].stream();
  stream.copy(to, from);
  await stream.synchronize();
}

const double = kernel({ from: i32.in, to: i32.out }, ({ from, to }, { begin, end }) => {
  for (let i = begin; i < end; i++) to[i] = from[i] * 2;
});

const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

/** Says what an element was when it began and what it is when it is told to stop. */
const watch = kernel(
  { x: i32.in, stop: i32.in, seen: i32.inout },
  ({ x, stop, seen }, { begin }) => {
    if (begin > 0) return;
    seen[1] = x[0];
    Atomics.store(seen, 0, 1);
    while (Atomics.load(stop, 0) === 0) seen[2] = x[0];
  },
);

/** A launch that uses the array until it is told to stop. */
async function watching({ space, shared }: Machine) {
  const stop = space.array(Int32Array, 1024);
  const seen = space.array(Int32Array, 1024);
  const end = space.devices[0].run(watch, { x: shared, stop, seen }, { size: 1 });
  // The test that waits for it looks at how it ends, and no earlier.
  end.catch(() => undefined);
  while (Atomics.load(seen.data, 0) === 0) await sleep(5);
  return { end, seen, stop: () => Atomics.store(stop.data, 0, 1) };
}

for (const kind of ['process', 'simulated'])
  variantTestWithValkey(
    `launches on a ${kind} device read what others wrote, and others what launches wrote`,
    async () => {
      await using server = await ValkeyServer.start();
      await using here = await machine(server, { kind });
      await using there = await machine(server);
      for (let i = 0; i < N; i++) there.shared.data[i] = i;
      const local = here.space.array(Int32Array, N);
      await here.space.devices[0].run(double, { from: here.shared, to: local }, { size: N });
      sameData(local.data, (i) => 2 * i);
      await here.space.devices[0].run(add, { x: here.shared }, { size: N });
      sameData(there.shared.data, (i) => i + 1);
      there.shared.data.fill(7);
      await here.space.devices[0].run(
        add,
        { x: here.shared.range(20_000, 30_000) },
        { size: 10_000 },
      );
      sameData(there.shared.data, (i) => (i >= 20_000 && i < 30_000 ? 8 : 7));
      await here.space.devices[0].run(double, { from: local, to: here.shared }, { size: N });
      sameData(there.shared.data, (i) => 4 * i);
      for (const { space } of [here, there]) space.checkInvariants();
    },
  );

longTestWithValkey('copies go to and from shared arrays, and between two of them', async () => {
  await using server = await ValkeyServer.start();
  await using here = await machine(server);
  await using there = await machine(server);
  const local = here.space.array(Int32Array, N);
  for (let i = 0; i < N; i++) local.data[i] = 3 * i;
  await copy(here, here.shared, local);
  sameData(there.shared.data, (i) => 3 * i);
  there.shared.data.fill(5);
  await copy(here, local.range(10, 30_010), here.shared.range(0, 30_000));
  sameData(local.data, (i) => (i >= 10 && i < 30_010 ? 5 : 3 * i));
  const on = { url: server.url, leaseMs: LONG_MS, timeoutMs: LONG_MS };
  const second = await here.space.sharedArray(Int32Array, N, { name: 'more', on });
  await copy(here, second, here.shared);
  await copy(there, there.shared.range(1, N), new Int32Array(N - 1).fill(6));
  assert.deepEqual([here.shared.data[0], here.shared.data[1], second.data[1]], [5, 6, 5]);
  for (const { space } of [here, there]) space.checkInvariants();
});

longTestWithValkey(
  'a prefetch brings blocks that threads then use without the server',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server);
    await using there = await machine(server);
    there.shared.data.fill(9);
    const stream = here.space.devices[0].stream();
    stream.prefetch(here.shared, 'host');
    await stream.synchronize();
    await there.space.close();
    server.signal('SIGSTOP');
    sameData(here.shared.data, () => 9);
    server.signal('SIGCONT');
  },
);

longTestWithValkey(
  'files and streams take what others wrote, and others what files had',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server);
    await using there = await machine(server);
    const folder = mkdtempSync(join(tmpdir(), 'onemem-sharing-'));
    const file = openSync(join(folder, 'elements'), 'w+');
    there.shared.data.fill(5);
    await here.shared.writeTo(file);
    there.shared.data.fill(6);
    const pieces = await here.shared.createReadStream().toArray();
    sameData(new Int32Array(Buffer.concat(pieces).buffer, 0, N), () => 6);
    await here.shared.readFrom(file, { position: 0 });
    sameData(there.shared.data, () => 5);
    assert.equal(here.space.wait(here.shared, 0, 4), 'not-equal');
    closeSync(file);
    rmSync(folder, { recursive: true });
  },
);

longTestWithValkey(
  'others wait for a launch that uses their block, and nothing of it changes meanwhile',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server);
    await using there = await machine(server);
    there.shared.data[0] = 3;
    const { end, seen, stop } = await watching(here);
    const copied = copy(there, there.shared.range(0, 1), new Int32Array([4]));
    assert.equal(await Promise.race([copied.then(() => 'copied'), sleep(300)]), undefined);
    stop();
    await end;
    await copied;
    assert.deepEqual([...seen.data.subarray(1, 3)], [3, 3]);
    assert.equal(here.shared.data[0], 4);
  },
);

longTestWithValkey(
  'two machines whose launches use two arrays the other way round do not wait for ever',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server);
    await using there = await machine(server);
    const on = { url: server.url, leaseMs: LONG_MS, timeoutMs: LONG_MS };
    const both = kernel({ x: i32.inout, y: i32.inout }, ({ x, y }, { begin, end }) => {
      for (let i = begin; i < end; i++) {
        x[i] += 1;
        y[i] += 1;
      }
    });
    const runs = [here, there].map(async ({ space, shared }, at) => {
      const more = await space.sharedArray(Int32Array, N, { name: 'more', on });
      const [x, y] = at === 0 ? [shared, more] : [more, shared];
      for (let n = 0; n < 10; n++) await space.devices[0].run(both, { x, y }, { size: N });
      return more;
    });
    const [more] = await Promise.all(runs);
    for (const { data } of [here.shared, there.shared, more]) sameData(data, () => 20);
  },
);

longTestWithValkey(
  'a launch that keeps others waiting for too long fails, and they have the block',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server, { holdMs: 200 });
    await using there = await machine(server);
    there.shared.data[0] = 3;
    const { end, stop } = await watching(here);
    there.shared.data[0] = 4;
    assert.equal(there.shared.data[0], 4);
    stop();
    const { message } = await failsWith('SHARED_TAKEN', () => end);
    assert.match(
      message,
      /kernel watch kept other machines waiting for blocks of array numbers for 200 ms.*on\.holdMs/,
    );
    assert.equal(here.shared.data[0], 4);
    here.space.checkInvariants();
  },
);

longTestWithValkey('a launch that outlives the lease of its machine fails', async () => {
  await using server = await ValkeyServer.start();
  await using here = await machine(server, { leaseMs: 1000 });
  here.shared.data[0] = 3;
  const { end, stop } = await watching(here);
  await server.stop();
  await sleep(1500);
  stop();
  const { message } = await failsWith('NODE_LOST', () => end);
  assert.match(message, /kernel watch used array numbers while this machine lost its blocks/);
  await server.restart();
});

longTestWithValkey(
  'a launch goes on when the connection is made again, and others wait for its end',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server, { leaseMs: 8000 });
    await using there = await machine(server, { leaseMs: 8000 });
    here.shared.data[0] = 3;
    const { end, stop, seen } = await watching(here);
    await server.ask('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const members = async (): Promise<number> =>
      String(
        Buffer.from((await server.ask('CLIENT', 'LIST', 'TYPE', 'pubsub')) as Uint8Array),
      ).split('\n').length - 1;
    while ((await members()) < 2) await sleep(5);
    let added = false;
    const adding = there.space.devices[0].run(add, { x: there.shared.range(0, 10) }, { size: 10 });
    void Promise.resolve(adding).then(() => {
      added = true;
    });
    await sleep(200);
    assert.equal(added, false);
    stop();
    await end;
    await adding;
    assert.deepEqual([...seen.data.subarray(1, 3)], [3, 3]);
    assert.equal(here.shared.data[0], 4);
    assert.equal(there.shared.data[N - 1], 0);
    for (const { space } of [here, there]) space.checkInvariants();
  },
);

testWithValkey('a launch over what the server does not give is refused by name', async () => {
  await using server = await ValkeyServer.start();
  await using here = await machine(server, { leaseMs: 1000, timeoutMs: 300 });
  await server.stop();
  const { message } = await failsWith('NODE_LOST', () =>
    here.space.devices[0].run(add, { x: here.shared }, { size: N }),
  );
  assert.match(message, /kernel add touched array numbers.*which does not answer/);
  await failsWith('NODE_LOST', () => copy(here, here.space.array(Int32Array, N), here.shared));
  await server.restart();
});

longTestWithValkey(
  'a launch that waits for others can be cancelled, and ends with its space',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server);
    const there = await machine(server);
    const { end, stop } = await watching(here);
    const options = { size: N, signal: AbortSignal.timeout(100) };
    await failsWith('CANCELLED', () =>
      there.space.devices[0].run(add, { x: there.shared }, options),
    );
    const waiting = there.space.devices[0].run(add, { x: there.shared }, { size: N });
    const closed = failsWith('SPACE_CLOSED', () => waiting);
    await sleep(50);
    const closing = there.space.close();
    await closed;
    stop();
    await Promise.all([closing, end]);
  },
);

longTestWithValkey(
  'copies and prefetches that wait for others are taken back by a signal, and hold nothing',
  async () => {
    await using server = await ValkeyServer.start();
    await using here = await machine(server);
    await using there = await machine(server);
    const { end, stop } = await watching(here);
    const local = there.space.array(Int32Array, N);
    const device = there.space.devices[0];
    const copying = new AbortController();
    const copied = device.stream().copy(there.shared, local, { signal: copying.signal });
    // It waits for what the copy wants, too.
    const prefetching = new AbortController();
    const stream = device.stream({ signal: prefetching.signal });
    const prefetched = stream.prefetch(there.shared);
    await sleep(50);
    copying.abort(new Error('enough'));
    prefetching.abort();
    const { message } = await failsWith('CANCELLED', () => copied.synchronize());
    assert.match(message, /its signal was aborted \(enough\)/);
    await failsWith('CANCELLED', () => prefetched.synchronize());
    stop();
    await end;
    // No operation holds the blocks any more.
    here.shared.data.fill(4);
    sameData(there.shared.data, () => 4);
    for (const { space } of [here, there]) space.checkInvariants();
  },
);

await runTests();
