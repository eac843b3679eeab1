/**
 * What the server has of a machine is not lost, also where the machine has not heard that before
 * its connection was reset.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, openSpace, type SharedArray } from '../../src/index.js';
import { Relay } from '../harness/relay.js';
import { runTests, sleep } from '../harness/suite.js';
import { longTestWithValkey, testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

/** No lease ends. */
const LEASE_MS = 30_000;

interface Machine extends AsyncDisposable {
  readonly space: AddressSpace;
  readonly shared: SharedArray<Int32Array<ArrayBuffer>>;
}

async function machine(url: string): Promise<Machine> {
  const space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const on = { url, leaseMs: LEASE_MS, timeoutMs: LEASE_MS };
  const shared = await space.sharedArray(Int32Array, 1024, { name: 'x', blockBytes: 4096, on });
  return { space, shared, [Symbol.asyncDispose]: () => space.close() };
}

/** Writes elements without the thread of the test, which has a relay to run. */
function write({ space, shared }: Machine, begin: number, values: number[]): Promise<void> {
  const stream = space.devices[0].stream();
  stream.copy(shared.range(begin, begin + values.length), new Int32Array(values));
  return stream.synchronize();
}

longTestWithValkey(
  'a fence after a reset of the connection tells of no loss where the server has what was written',
  async () => {
    await using server = await ValkeyServer.start();
    await using relay = await Relay.start(server.file('socket'));
    await using one = await machine(relay.url);
    await using two = await machine(server.url);
    await write(one, 5, [7]);
    // The server has what the first machine gives up for the second one, and the first one never
    // hears that.
    relay.keepAnswersAfter('flush');
    await write(two, 6, [8]);
    relay.cut();
    await one.shared.fence();
    await write(one, 7, [9]);
    await one.shared.fence();
    assert.deepEqual([...one.shared.data.subarray(5, 8)], [7, 8, 9]);
  },
);

testWithValkey('a fence waits for what was written after the server had it last', async () => {
  await using server = await ValkeyServer.start();
  await using relay = await Relay.start(server.file('socket'));
  await using one = await machine(relay.url);
  await write(one, 5, [7]);
  // The server has the element, and the machine writes another one while it has not heard that.
  relay.keepAnswersAfter('flush');
  const fenced = one.shared.fence();
  while ((await server.ask('EXISTS', '{onemem:x}:0:content')) === 0) await sleep(5);
  relay.cut();
  await fenced;
  await write(one, 6, [8]);
  await one.shared.fence();
  const content = (await server.ask('GET', '{onemem:x}:0:content')) as Uint8Array;
  assert.deepEqual(
    [...new Int32Array(Uint8Array.from(content).buffer, 0, 7)],
    [0, 0, 0, 0, 0, 7, 8],
  );
});

await runTests();
