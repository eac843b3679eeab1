/**
 * A launch over an array that machines share begins when the server goes on that had stood still
 * beyond their leases.
 */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  i32,
  kernel,
  type OnememError,
  openSpace,
  type SharedArray,
} from '../../src/index.js';
import { failsWith, runTests, sleep } from '../harness/suite.js';
import { longTestWithValkey, testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const LEASE_MS = 1000;
/** Elements of a block of 4 KiB. */
const BLOCK = 1024;
/** Operations of others may keep a block for a minute. */
const SOON_MS = 20_000;

interface Machine {
  readonly space: AddressSpace;
  readonly shared: SharedArray<Int32Array<ArrayBuffer>>;
}

async function machine({ url }: ValkeyServer): Promise<Machine> {
  const space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const on = { url, leaseMs: LEASE_MS, timeoutMs: 60_000 };
  return {
    space,
    shared: await space.sharedArray(Int32Array, 2 * BLOCK, { name: 'x', blockBytes: 4096, on }),
  };
}

const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

const wait = kernel({ x: i32.in, flags: i32.inout }, ({ x, flags }, { begin }) => {
  if (begin > 0) return;
  Atomics.store(flags, 0, x[0] + 1);
  while (Atomics.load(flags, 1) === 0);
});

/** A launch that keeps the second block until it is told to end. */
async function keeping({ space, shared }: Machine) {
  const flags = space.array(Int32Array, 1024).data;
  const end = space.devices[0].run(wait, { x: shared.range(BLOCK, 2 * BLOCK), flags }, { size: 1 });
  // The test that waits for it looks at how it ends, and no earlier.
  end.catch(() => undefined);
  while (Atomics.load(flags, 0) === 0) await sleep(5);
  return { end, stop: () => Atomics.store(flags, 1, 1) };
}

/** A machine whose lease has ended is told of what it might have written, at the latest now. */
async function closeAll(machines: readonly Machine[]): Promise<void> {
  for (const { space } of machines)
    await space.close().catch(({ code }: OnememError) => assert.equal(code, 'DATA_LOST'));
}

/** Until the server says that a machine waits for a block. */
async function waitsFor(server: ValkeyServer, block: number): Promise<void> {
  while (String(await server.ask('HGET', `{onemem:x}:${block}`, 'q')) === '') await sleep(5);
}

/** The server stands still for so long that all leases end. */
async function standStill(server: ValkeyServer): Promise<void> {
  server.signal('SIGSTOP');
  await sleep(1.5 * LEASE_MS);
  server.signal('SIGCONT');
}

longTestWithValkey(
  'a launch that has given no block up yet when its lease ends waits anew, and begins',
  async () => {
    await using server = await ValkeyServer.start();
    const [one, two] = [await machine(server), await machine(server)];
    const kept = await keeping(two);
    // It has the first block, and waits for the second one.
    const signal = AbortSignal.timeout(SOON_MS);
    const added = one.space.devices[0].run(add, { x: one.shared }, { size: 2 * BLOCK, signal });
    await waitsFor(server, 1);
    const stream = two.space.devices[0].stream();
    stream.copy(two.shared.range(0, 1), new Int32Array([4]));
    await waitsFor(server, 0);
    await standStill(server);
    kept.stop();
    await added;
    await stream.synchronize();
    assert.equal(two.shared.data[BLOCK], 1);
    await closeAll([one, two]);
  },
);

testWithValkey(
  'a launch for which another machine waits when its lease ends fails as any other',
  async () => {
    await using server = await ValkeyServer.start();
    const [one, two] = [await machine(server), await machine(server)];
    const kept = await keeping(two);
    const added = one.space.devices[0].run(add, { x: one.shared }, { size: 2 * BLOCK });
    await waitsFor(server, 1);
    await standStill(server);
    await added;
    kept.stop();
    await failsWith('NODE_LOST', () => kept.end);
    await closeAll([one, two]);
  },
);

await runTests();
