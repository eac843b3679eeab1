/** Notifiers of processes that attached: they hear of changes before their copies are wrong. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressSpace, i32, kernel, type ManagedArray, openSpace } from '../../src/index.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const LENGTH = 4 * 1024;

interface Scene {
  readonly space: AddressSpace;
  readonly x: ManagedArray<Int32Array>;
  readonly child: Agent;
}

/** A child watches an array of fives. */
function withWatcher(play: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    await using space = await openSpace({
      hostMemory: '64MiB',
      devices: [{ kind: 'simulated', memory: '8MiB' }],
    });
    const x = space.array(Int32Array, LENGTH, { name: 'x' });
    x.data.fill(5);
    await using child = await attachedAgent(space.share());
    await child.do('watch', 'x');
    await play({ space, x, child });
    space.checkInvariants();
  };
}

test(
  'the number changes when a device takes pages, and the event names them',
  withWatcher(async ({ space, x, child }) => {
    const begun = await child.do('readBegin');
    assert.equal(await child.do('readRetry', begun), false);
    await space.devices[0].stream().prefetch(x, space.devices[0]).synchronize();
    await child.do('fill', 'x', 1024, 1025, 6);
    assert.equal(await child.do('readRetry', begun), true);
    const [{ reason, begin, end }] = await child.do('heard');
    assert.deepEqual([reason, begin, end], ['migrate', 0, LENGTH]);
    assert.equal(x.data[1024], 6);
  }),
);

test(
  'it ends with its array, and by close',
  withWatcher(async ({ space, x, child }) => {
    const begun = await child.do('readBegin');
    x.free();
    assert.equal(await child.do('readRetry', begun), true);
    assert.equal((await child.do('heard')).at(-1)?.reason, 'release');
    assert.equal(await child.do('watchEnded'), true);
    await assert.rejects(child.do('readBegin'), { code: 'NOTIFIER_ENDED' });
    space.array(Int32Array, LENGTH, { name: 'y' });
    await child.do('watch', 'y');
    assert.equal(await child.do('unwatch'), true);
    assert.equal(await child.do('readRetry', 0), true);
  }),
);

test(
  'changes on behalf of the host, of which the process is one, are no news with owner host',
  withWatcher(async ({ x, child }) => {
    await child.do('watch', 'x', 0, LENGTH, true);
    const begun = await child.do('readBegin');
    await child.do('launch', 'x');
    const launched = await child.do('readBegin');
    assert.notEqual(launched, begun);
    await child.do('add', 'x', 0, LENGTH);
    assert.equal(await child.do('readRetry', launched), false);
    assert.equal(x.data[0], 7);
    assert.equal(await child.do('readRetry', launched), false);
  }),
);

test(
  'a thread of a process has at most 256',
  withWatcher(async ({ child }) => {
    assert.equal(await child.do('watchOften', 'x', 300), 'NOTIFIERS');
  }),
);

const addOne = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

longTest('a reader in a child never believes a copy that is mixed', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  await using child = await attachedAgent(space.share());
  await child.do('watch', 'x');
  let ended = false;
  const reading = child.do('readWhole', 'x', 200).finally(() => {
    ended = true;
  });
  let rounds = 0;
  for (; !ended; rounds++) {
    await space.devices[0].run(addOne, { x }, { size: x.length });
    await sleep(2);
  }
  const { mixed, again } = await reading;
  assert.equal(mixed, 0);
  assert.ok(again > 0, 'the number never changed while the child read');
  sameData(x.data, () => rounds);
});

test('what a watcher that is killed had is given back', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  x.data.fill(5);
  const words = (): number => readFileSync('/proc/self/maps', 'latin1').split('onemem-word').length;
  const descriptors = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 2; round++) {
    const child = await attachedAgent(space.share());
    await child.do('watchOften', 'x', 20);
    assert.equal(words(), 21);
    await child.kill();
    while (words() > 1) await sleep(5);
  }
  await x.discard();
  assert.equal(x.data[7], 0);
  while (readdirSync('/proc/self/fd').length > descriptors + 1) await sleep(5);
  space.checkInvariants();
});

longTest('a reader ends when the owner dies', async () => {
  await using owner = new Agent();
  const { handle } = await owner.do('openWithDevice', LENGTH);
  await using child = await attachedAgent(handle);
  await child.do('watch', 'x');
  const begun = await child.do('readBegin');
  assert.equal(await child.do('readRetry', begun), false);
  await owner.kill();
  while (!(await child.do('watchEnded'))) await sleep(5);
  assert.equal(await child.do('readRetry', begun), true);
  await assert.rejects(child.do('readBegin'), { code: 'NOTIFIER_ENDED' });
});

await runTests();
