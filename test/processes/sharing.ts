/** Processes that attach to a space see and change its arrays as its own threads do. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { i32, kernel, openSpace } from '../../src/index.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';
import { testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const MIB = 2 ** 20;
const LENGTH = 2 * MIB;

const addTen = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 10;
});

test('what one process writes another one reads, both ways, by name', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  x.data.fill(3);
  await using agent = await attachedAgent(space.share());
  assert.equal(await agent.do('sum', 'x'), 3 * LENGTH);
  await agent.do('add', 'x', 0, LENGTH);
  sameData(x.data, () => 4);
  x.data[LENGTH - 1] = 9;
  assert.equal(await agent.do('read', 'x', LENGTH - 1), 9);
  assert.match(await agent.do('names'), /^host,process \d+$/);
  space.checkInvariants();
});

test('the handle of an array passes through the message of a fork as it is', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1000);
  x.data[0] = 77;
  await using agent = new Agent();
  const sent = JSON.parse(JSON.stringify(x.handle)) as typeof x.handle;
  assert.equal(await agent.do('attachArray', sent), 77);
});

testWithValkey('a process asks another machine for what that has of an array', async () => {
  await using server = await ValkeyServer.start();
  const options = { name: 'x', on: { url: server.url }, blockBytes: '4KiB' } as const;
  await using space = await openSpace({ hostMemory: '64MiB' });
  await using elsewhere = await openSpace({ hostMemory: '64MiB' });
  const x = await space.sharedArray(Int32Array, 4096, options);
  const other = await elsewhere.sharedArray(Int32Array, 4096, options);
  await using agent = await attachedAgent(space.share());
  other.data.fill(5);
  assert.equal(await agent.do('sum', x.name), 5 * 4096);
  await agent.do('fill', x.name, 100, 2000, 6);
  sameData(other.data, (i) => (i >= 100 && i < 2000 ? 6 : 5));
  space.checkInvariants();
});

longTest("an array that an attached process makes is everybody's", async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  await using one = await attachedAgent(space.share());
  await using two = await attachedAgent(await one.do('make', 'made', 5000, 6));
  assert.equal(await two.do('sum', 'made'), 30_000);
  const made = space.find<Int32Array>('made');
  sameData(made?.data ?? [], () => 6);
  await one.do('free', 'made');
  assert.equal(space.find('made'), null);
});

longTest(
  'pages go between a device, the owner and an attached process, whoever writes',
  async () => {
    await using space = await openSpace({
      hostMemory: '64MiB',
      devices: [{ kind: 'process', memory: '8MiB' }],
    });
    const x = space.array(Int32Array, LENGTH, { name: 'x' });
    await using agent = await attachedAgent(space.share());
    for (let round = 1; round <= 3; round++) {
      await agent.do('add', 'x', 0, LENGTH);
      await space.devices[0].run(addTen, { x }, { size: LENGTH });
      await agent.do('launch', 'x');
      for (let i = 0; i < LENGTH; i += 1000) x.data[i] += 100;
      assert.equal(await agent.do('read', 'x', 0), round * 112);
      assert.equal(await agent.do('read', 'x', 1), round * 12);
    }
    sameData(x.data, (i) => (i % 1000 === 0 ? 336 : 36));
    space.checkInvariants();
  },
);

longTest(
  'more is shared than memory holds: pages come from storage for every process',
  async () => {
    await using space = await openSpace({ hostMemory: '32MiB', storage: true });
    const length = 10 * MIB;
    const x = space.array(Int32Array, length, { name: 'x' });
    for (let i = 0; i < length; i++) x.data[i] = i % 1000;
    const agents = await Promise.all([attachedAgent(space.share()), attachedAgent(space.share())]);
    await Promise.all(
      agents.map((agent, at) => agent.do('add', 'x', (at * length) / 2, ((at + 1) * length) / 2)),
    );
    sameData(x.data, (i) => (i % 1000) + 1);
    await Promise.all(agents.map((agent) => agent.kill()));
    space.checkInvariants();
  },
);

longTest('atomics of several processes on one element lose nothing', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  const agents = await Promise.all([1, 2, 3].map(() => attachedAgent(space.share())));
  const added = agents.map((agent) => agent.do('atomicAdd', 'x', 5, 100_000));
  for (let i = 0; i < 100_000; i++) Atomics.add(x.data, 5, 1);
  await Promise.all(added);
  assert.equal(x.data[5], 400_000);
  await Promise.all(agents.map((agent) => agent.kill()));
});

longTest('streams, copies, functions and clones work from an attached process', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  const y = space.array(Int32Array, LENGTH, { name: 'y' });
  x.data.fill(8);
  await using agent = await attachedAgent(space.share());
  assert.equal(await agent.do('copy', 'y', 'x'), 1);
  sameData(y.data, () => 8);
  await agent.do('clone', 'x', 'z');
  await agent.do('fill', 'x', 0, LENGTH, 1);
  assert.equal(await agent.do('sum', 'z'), 8 * LENGTH);
  sameData(space.find<Int32Array>('z')?.data ?? [], () => 8);
  sameData(x.data, () => 1);
  space.checkInvariants();
});

test('a process waits for a word that another one changes', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 10, { name: 'x' });
  await using agent = await attachedAgent(space.share());
  const woken = agent.do('wait', 'x', 3, 0);
  while (space.notify(x, 3) === 0) {
    x.data[3] = 0;
    await sleep(5);
  }
  assert.equal(await woken, 'ok');
});

test('an attached process hands memory of its own to a device', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
  await using agent = await attachedAgent(space.share());
  assert.deepEqual(await agent.do('launchOwn'), ['staged', 1, 1]);
  space.checkInvariants();
});

test('what only the owner can do is refused by name, and changes nothing', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  x.data.fill(2);
  await using agent = await attachedAgent(space.share());
  for (const what of [
    'mapped',
    'provider',
    'module',
    'record',
    'guard',
    'device',
    'detach',
    'hostMemory',
    'bind',
  ])
    await failsWith('OTHER_PROCESS', () => agent.do('doForOwner', what, import.meta.url));
  assert.equal(await agent.do('sum', 'x'), 2000);
  assert.equal(space.devices.length, 1);
});

test('a clone with keep stays when the process that made it ends, and another one goes', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  space.array(Int32Array, 1000, { name: 'x' }).data.fill(6);
  const agent = await attachedAgent(space.share());
  await agent.do('clone', 'x', 'kept', true);
  await agent.do('clone', 'x', 'gone');
  await agent.kill();
  while (space.find('gone') !== null) await sleep(5);
  sameData(space.find<Int32Array>('kept')?.data ?? [], () => 6);
});

test('an attached process leaves, attaches again, and the space goes on', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  await using agent = await attachedAgent(space.share());
  await agent.do('fill', 'x', 0, 1000, 2);
  await agent.do('close');
  await agent.do('attach', space.share());
  assert.equal(await agent.do('sum', 'x'), 2000);
  sameData(x.data, () => 2);
});

longTest('a process without descriptors attaches once it has some, and loses none', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  space.array(Int32Array, 1000, { name: 'x' }).data.fill(3);
  const program = fileURLToPath(new URL('./programs/few-descriptors.js', import.meta.url));
  const command = ['-c', 'ulimit -n 64 && exec "$0" "$1"', process.execPath, program];
  const env = { ...process.env, ONEMEM_SPACE: space.share() };
  const { stdout } = await promisify(execFile)('sh', command, { env });
  // The owner serves faults from the moment that it has the userfaultfd, which stays.
  assert.match(stdout, /^EMFILE,DESCRIPTORS 1 3000\n$/);
  space.checkInvariants();
});

longTest('a view reads and writes on when its process has closed the space', async () => {
  await using space = await openSpace({ hostMemory: '32MiB', storage: true });
  const x = space.array(Int32Array, 10 * MIB, { name: 'x' });
  x.data.fill(1);
  await using agent = await attachedAgent(space.share());
  await agent.do('keep', 'x');
  for (let round = 0; round < 3; round++) {
    await agent.do('close');
    assert.equal(await agent.do('sumKept'), 10 * MIB);
    await agent.do('attach', space.share());
  }
  space.checkInvariants();
});

longTest(
  'a handle serves processes that come later, and none once the space is closed',
  async () => {
    const space = await openSpace({ hostMemory: '64MiB' });
    const handle = space.share();
    assert.equal(space.share(), handle);
    await using agent = await attachedAgent(handle);
    await space.close();
    await using late = new Agent();
    await failsWith('OWNER_LOST', () => late.do('attach', handle));
    await failsWith('SPACE_HANDLE', () => late.do('attach', 'onemem:1'));
    assert.equal(agent.process.exitCode, null);
  },
);

longTest('what an attached process leaves is given back when it ends', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  const agent = await attachedAgent(space.share());
  await agent.do('add', 'x', 0, LENGTH);
  await agent.do('pin', 'x');
  assert.ok(space.stats().pinnedBytes > 0);
  agent.process.disconnect();
  await once(agent.process, 'exit');
  while (space.stats().processors.length > 1 || space.stats().pinnedBytes > 0) await sleep(5);
  sameData(x.data, () => 1);
  x.free();
  space.checkInvariants();
});

await runTests();
