/**
 * What a program sees that prints an array, makes JSON of it, or sends it to a thread: what it is,
 * and what to do instead.
 */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { MessageChannel } from 'node:worker_threads';
import { openSpace } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { longTest, runTests, test } from '../harness/suite.js';

longTest('console.log and JSON.stringify say what the array is, and bring no page', async () => {
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
  const expected = {
    name: "Ann's",
    type: 'Float32Array',
    length: 1000,
    byteLength: 4000,
    address,
    state: 'allocated',
  };
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

test('console.log of what a program holds of an array is a line each, without what is within', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '8MiB', name: 'gpu' }],
  });
  const x = space.array(Float32Array, 4096, { name: 'x' });
  const pin = await x.pin({ lock: false });
  const hold = await x.hold({ begin: 10, end: 20 });
  const notifier = await x.watch();
  assert.equal(inspect(pin), "Pin of 'x' (16384 bytes in host memory; until pin.unpin())");
  assert.equal(
    inspect(hold),
    "Hold of 'x' (elements 10 to 19, as bytes: hold.bytes; until hold.release())",
  );
  assert.match(
    inspect(notifier),
    /^Notifier of 'x' \(.*notifier\.handle; until notifier\.close\(\)\)$/,
  );
  pin.unpin();
  hold.release();
  notifier.close();
  assert.deepEqual(
    [pin, hold, notifier].map((each) => inspect(each)),
    ['Pin', 'Hold', 'Notifier'].map((what) => `${what} of 'x' (ended)`),
  );
});

test('console.log of a stream, an event and a thread that is bound is a line each, without what is within', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '8MiB', name: 'gpu' }],
  });
  const x = space.array(Float32Array, 4096, { name: 'x' });
  const stream = space.devices[0].stream();
  const event = stream.prefetch(x);
  assert.equal(inspect(event), "StreamEvent (device 'gpu', not ended yet)");
  assert.equal(inspect(stream), "Stream (device 'gpu', operations under way: 1)");
  await event.synchronize();
  assert.equal(inspect(event), "StreamEvent (device 'gpu', done)");
  const failed = stream.call(() => {
    throw new Error('no more');
  });
  await stream.synchronize().catch(() => undefined);
  assert.match(inspect(failed), /^StreamEvent \(device 'gpu', failed: .*no more.*\)$/);
  stream[Symbol.dispose]();
  assert.equal(inspect(stream), "Stream (device 'gpu', closed)");
  const binding = space.bindThread();
  assert.match(inspect(binding), /^ThreadBinding \(CPU \d+; until binding\.release\(\)\)$/);
  binding.release();
  assert.equal(inspect(binding), 'ThreadBinding (ended)');
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
