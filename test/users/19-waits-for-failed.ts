/**
 * An operation that waits for an event that failed is cancelled, whatever has become of the event's
 * stream by then.
 */
import assert from 'node:assert/strict';
import { kernel, type Stream, u32 } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const fail = kernel({ x: u32.inout }, () => {
  throw new RangeError('on purpose');
});
const add = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

/** A stream whose launch fails, and one that waits for it before it adds 1. */
async function afterFailure(between: (failing: Stream) => unknown): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const [device] = space.devices;
  const x = space.array(Uint32Array, 1000);
  const failing = device.stream();
  const event = failing.launch(fail, { x }, { size: 1000 });
  await between(failing);
  const waiting = device.stream();
  // Its turn to wait comes when the other stream has long ended.
  waiting.launch(add, { x: new Uint32Array(1) }, { size: 1 });
  waiting.wait(event);
  const after = waiting.launch(add, { x }, { size: 1000 });
  await failsWith('CANCELLED', () => waiting.synchronize());
  assert.equal(after.result, 'cancelled');
  assert.equal(x.data[0], 0);
}

test('a wait for a failed event of a stream that has been disposed', () =>
  afterFailure((failing) => failing[Symbol.dispose]()));

test('a wait for a failed event of which the program was told', () =>
  afterFailure(async (failing) => {
    await failsWith('KERNEL_ERROR', () => failing.synchronize());
    failing[Symbol.dispose]();
  }));

test('a wait for a failed event of a stream that is used again', () =>
  afterFailure((failing) => failsWith('KERNEL_ERROR', () => failing.synchronize())));

await runTests();
