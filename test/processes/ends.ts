/**
 * The owner, or a process that attached, ends or stands still: nobody hangs, and no page reads as
 * wrong data.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { openSpace } from '../../src/index.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { failsWith, LONG, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;

/** A process that owns a space with an array of ones, and one that attached to it. */
async function ownerAndUser(length: number): Promise<{ owner: Agent; user: Agent }> {
  const owner = new Agent();
  const handle = await owner.do('open', '32MiB');
  await owner.do('make', 'x', length, 1);
  return { owner, user: await attachedAgent(handle) };
}

test('when the owner is killed, what is in memory reads on, and calls say why they fail', async () => {
  const { owner, user } = await ownerAndUser(MIB);
  assert.equal(await user.do('keep', 'x'), MIB);
  await owner.kill();
  assert.equal(await user.do('readKept', MIB - 1), 1);
  await failsWith('OWNER_LOST', () => user.do('sum', 'x'));
  await failsWith('OWNER_LOST', () => user.do('names'));
  await user.kill();
});

test('a process waits for an element that is in memory while the owner stands still', async () => {
  const { owner, user } = await ownerAndUser(MIB);
  assert.equal(await user.do('keep', 'x'), MIB);
  owner.process.kill('SIGSTOP');
  await owner.stopped();
  assert.equal(await user.do('waitKept', 7, 2, 10_000), 'not-equal');
  assert.equal(await user.do('waitKept', 7, 1, 250), 'timed-out');
  await owner.kill();
  await failsWith('OWNER_LOST', () => user.do('waitKept', 7, 1, 10_000));
  await user.kill();
});

longTest('when the owner is killed, a touch of what is not in memory ends in a line', async () => {
  const { owner, user } = await ownerAndUser(10 * MIB);
  await user.do('keep', 'x');
  await owner.do('fill', 'x', 0, 10 * MIB, 2);
  await owner.kill();
  assert.equal(await user.endsBy('sumKept'), 'SIGBUS');
  assert.match(
    user.stderr,
    /onemem: process \d+, which opened the space, has ended .* not in memory here/,
  );
});

longTest(
  'a thread that waits for a page when the owner is killed does not wait for ever',
  async () => {
    const { owner, user } = await ownerAndUser(10 * MIB);
    await user.do('keep', 'x');
    owner.process.kill('SIGSTOP');
    await owner.stopped();
    const ended = user.endsBy('sumKept');
    await sleep(300);
    await owner.kill();
    assert.equal(await ended, 'SIGBUS');
    assert.match(user.stderr, /has ended/);
  },
);

test('a process comes while another one ends: its number is given again', async () => {
  const owner = new Agent();
  const handle = await owner.do('open', '32MiB');
  await owner.do('make', 'x', 1024, 1);
  for (const delay of LONG ? [4, 8, 12, 16, 20] : [4, 12]) {
    const old = await attachedAgent(handle);
    const next = new Agent();
    // It has started when it answers.
    await next.do('has', 'x').catch(() => undefined);
    const attached = next.do('attach', handle);
    await sleep(delay);
    // The owner hears of both at once.
    owner.process.kill('SIGSTOP');
    await owner.stopped();
    await old.kill();
    await sleep(50);
    owner.process.kill('SIGCONT');
    await attached;
    assert.equal(await next.do('sum', 'x'), 1024);
    await next.kill();
  }
  await owner.kill();
});

longTest('an attached process that is killed in the middle takes nothing along', async () => {
  await using space = await openSpace({ hostMemory: '32MiB', storage: true });
  const x = space.array(Int32Array, 10 * MIB, { name: 'x' });
  for (let round = 0; round < 5; round++) {
    const agent = await attachedAgent(space.share());
    const ended = agent.endsBy('addForEver', 'x');
    const last = x.length - 1;
    while (Atomics.load(x.data, last) === round) await sleep(1);
    agent.process.kill('SIGKILL');
    await ended;
    for (let i = 0; i < x.length; i++) x.data[i] = round + 1;
    while (space.stats().processors.length > 1) await sleep(5);
    space.checkInvariants();
  }
  sameData(x.data, () => 5);
});

longTest(
  'prefetches, advice, streams and clones go on when their process is killed',
  async () => {
    const length = 2 * MIB;
    await using space = await openSpace({
      hostMemory: '64MiB',
      devices: [{ kind: 'process', memory: '16MiB' }],
    });
    const x = space.array(Int32Array, length, { name: 'x' });
    for (let i = 0; i < length; i++) x.data[i] = i;
    await using other = await attachedAgent(space.share());
    for (const way of ['prefetch', 'advice', 'stream', 'clone'] as const)
      for (let round = 0; round < 3; round++) {
        const agent = await attachedAgent(space.share());
        assert.equal(await agent.do('move', 'x', way), (length / 2) * (length - 1));
        const ended = agent.endsBy('moveForEver', 'x', way);
        await sleep(50 + Math.random() * 100);
        agent.process.kill('SIGKILL');
        assert.equal(await ended, 'SIGKILL');
        assert.equal(await other.do('move', 'x', way), (length / 2) * (length - 1));
        sameData(x.data, (i) => i);
        while (space.stats().processors.length > 3) await sleep(5);
        space.checkInvariants();
      }
    assert.equal(space.stats().pinnedBytes, 0);
  },
  120,
);

longTest('an attached process that is stopped stops nobody else', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const x = space.array(Int32Array, MIB, { name: 'x' });
  const [stopped, other] = [await attachedAgent(space.share()), await attachedAgent(space.share())];
  await stopped.do('add', 'x', 0, MIB);
  stopped.process.kill('SIGSTOP');
  await stopped.stopped();
  await other.do('launch', 'x');
  assert.equal(await other.do('sum', 'x'), 2 * MIB);
  for (let i = 0; i < MIB; i++) x.data[i]++;
  stopped.process.kill('SIGCONT');
  assert.equal(await stopped.do('sum', 'x'), 3 * MIB);
  await Promise.all([stopped.kill(), other.kill()]);
});

longTest(
  'the owner, a device or a process is stopped for 15 seconds: all go on',
  async () => {
    const owner = new Agent();
    const { handle, device } = await owner.do('openWithDevice', MIB);
    const [one, two] = [await attachedAgent(handle), await attachedAgent(handle)];
    for (const pid of [owner.pid, device, one.pid]) {
      process.kill(pid, 'SIGSTOP');
      const others = [one, two].filter((agent) => agent.pid !== pid);
      const work = others.map((agent, at) => agent.do('verify', 200, at, true));
      await sleep(15_000);
      process.kill(pid, 'SIGCONT');
      for (const wrong of await Promise.all(work)) assert.equal(wrong, 0);
      assert.equal(await one.do('verify', 200, 5, true), 0);
    }
    await Promise.all([owner, one, two].map((agent) => agent.kill()));
  },
  120,
);

test('an owner that closes the space lets processes read on, and tells their calls', async () => {
  const space = await openSpace({ hostMemory: '64MiB' });
  space.array(Int32Array, MIB, { name: 'x' }).data.fill(4);
  await using agent = await attachedAgent(space.share());
  assert.equal(await agent.do('keep', 'x'), 4 * MIB);
  await space.close();
  await sleep(50);
  await failsWith('OWNER_LOST', () => agent.do('names'));
});

longTest(
  'one process too many for the host memory is refused, and told what is needed',
  async () => {
    await using space = await openSpace({ hostMemory: '32MiB' });
    space.array(Int32Array, 1000, { name: 'x' }).data.fill(1);
    const agents = Array.from({ length: 5 }, () => new Agent());
    const last = agents[4];
    for (const agent of agents.slice(0, 4)) await agent.do('attach', space.share());
    const { message } = await failsWith('PROCESSES', () => last.do('attach', space.share()));
    assert.match(
      message,
      /host memory of 32 MiB .* at least 34 MiB .*; raise hostMemory, or end a/,
    );
    await agents[0].kill();
    while (space.stats().processors.length > 4) await sleep(5);
    await last.do('attach', space.share());
    assert.equal(await last.do('sum', 'x'), 1000);
    await Promise.all(agents.map((agent) => agent.kill()));
  },
);

test('a handle of a process that has ended is refused by name', async () => {
  const owner = new Agent();
  const handle = await owner.do('open', '32MiB');
  await owner.kill();
  await using late = new Agent();
  await failsWith('OWNER_LOST', () => late.do('attach', handle));
});

test('processes that end at once leave no descriptors, though nobody asks for anything', async () => {
  const owner = new Agent();
  const handle = await owner.do('open', '32MiB');
  const descriptors = (): number => readdirSync(`/proc/${owner.pid}/fd`).length;
  const users = [await attachedAgent(handle), await attachedAgent(handle)];
  const most = descriptors();
  await Promise.all(users.map((user) => user.kill()));
  // Of each its requests, its end, its faults, and the process itself.
  while (descriptors() > most - 4 * users.length) await sleep(5);
  await owner.kill();
});

test('an owner that ends by itself ends, though processes are attached', async () => {
  const { owner, user } = await ownerAndUser(1000);
  owner.process.disconnect();
  const [code] = await once(owner.process, 'exit');
  assert.equal(code, 0);
  await failsWith('OWNER_LOST', () => user.do('names'));
  await user.kill();
});

await runTests();
