/** What a program sees that prints an array, makes JSON of it, or sends it to a thread: what it is, and what to do instead. */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { MessageChannel } from 'node:worker_threads';
import { openSpace } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { runTests, test } from '../harness/suite.js';

test('console.log and JSON.stringify say what the array is, and bring no page', async () => {
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  const x = space.array(Float32Array, 1000, { name: "Ann's" });
  const text = inspect({ x });
  assert.match(
    text,
    /ManagedArray\(1000\) "Ann's" of Float32Array, at 0x6[0-9a-f]{11} \(.*array\.data.*array\.handle.*\)/,
  );
  assert.ok(!inspect(x).includes('\n'), text);
  const { note, ...said } = JSON.parse(JSON.stringify(x)) as Record<string, unknown>;
  const address = `0x${x.address.toString(16)}`;
  const expected = { name: "Ann's", type: 'Float32Array', length: 1000, byteLength: 4000, address, state: 'allocated' };
  assert.deepEqual(said, expected);
  assert.match(String(note), /array\.handle/);
  assert.equal(x.residency().runs[0].state, 'zero');
  x.free();
  assert.match(inspect(x), /freed/);
  assert.equal((JSON.parse(JSON.stringify({ x })) as { x: { state: string } }).x.state, 'freed');
  const other = await openSpace({ hostMemory: '160MiB' });
  const y = other.array(Int8Array, 4);
  await other.close();
  assert.match(inspect(y), /of a space that has been closed/);
});

test('console.log of a space and a device is a line each, without what is within', async () => {
  const space = await openSpace({
    hostMemory: '160MiB',
    devices: [{ kind: 'simulated', memory: '8MiB', name: 'gpu' }],
  });
  assert.equal(inspect(space), "AddressSpace (devices: 'gpu'; more: space.stats())");
  assert.match(inspect(space.devices), /^\[\s+Device 'gpu' \(simulated, 8388608 bytes; .*\)\s+\]$/);
  await space.close();
  assert.equal(inspect(space), 'AddressSpace (closed)');
});

test('postMessage of an array says that its handle is meant', async () => {
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  const x = space.array(Float32Array, 1000, { name: 'x' });
  const { port1, port2 } = new MessageChannel();
  const meant = {
    name: 'DataCloneError',
    message: /ManagedArray.*postMessage\(array\.handle\).*attachArray\(handle\)/,
  };
  assert.throws(() => port1.postMessage(x), meant);
  assert.throws(() => port1.postMessage({ args: [x] }), meant);
  assert.throws(() => structuredClone(x), meant);
  port1.close();
  port2.close();
});

await runTests();
