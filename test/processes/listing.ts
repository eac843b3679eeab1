/** `onemem ls`: what a space shows to those who look from outside. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import type { SpaceListing } from '../../src/api/objects/listing.js';
import { openSpace } from '../../src/index.js';
import { libc } from '../../src/linux/base/libc.js';
import { listenLocally } from '../../src/linux/sockets/local-socket.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { Folder } from '../harness/command.js';
import { longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;

async function list(...args: string[]): Promise<SpaceListing> {
  using folder = new Folder();
  const { stdout } = await folder.run('ls', '--json', ...args);
  return JSON.parse(stdout) as SpaceListing;
}

function ownSpace(listing: SpaceListing, pid = process.pid): SpaceListing['spaces'][number] {
  const found = listing.spaces.find(({ owner }) => owner.pid === pid);
  assert.ok(found !== undefined, `no space of ${pid} in ${JSON.stringify(listing)}`);
  return found;
}

longTest('a space is listed with its arrays, where their bytes are, and who uses it', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    storage: false,
    devices: [{ kind: 'process', memory: '8MiB', name: 'small' }],
  });
  const x = space.array(Int32Array, MIB, { name: 'x' });
  space.array(Float64Array, 100, { name: 'untouched' });
  x.data.fill(3);
  await space.devices[0]
    .stream()
    .exclusive(x.range(0, MIB / 2))
    .synchronize();
  await using agent = await attachedAgent(space.share());
  await agent.do('read', 'x', MIB - 1);
  const { owner, memories, processes, arrays } = ownSpace(await list());
  assert.deepEqual(
    memories.map(({ name, kind }) => [name, kind]),
    [
      ['host', 'host'],
      ['small', 'device'],
    ],
  );
  assert.deepEqual(arrays, [
    {
      name: 'x',
      process: null,
      type: 'i32',
      length: MIB,
      bytes: 4 * MIB,
      heldBytes: { host: 2 * MIB, small: 2 * MIB },
    },
    {
      name: 'untouched',
      process: null,
      type: 'f64',
      length: 100,
      bytes: 800,
      heldBytes: { host: 0, small: 0 },
    },
  ]);
  assert.deepEqual(
    processes.map(({ pid, threads }) => [pid, threads]),
    [[agent.pid, 1]],
  );
  assert.ok(owner.pageTableBytes > 0 && processes[0].pageTableBytes > 0);
});

test('the table names arrays and memories, and keeps control characters of names out', async () => {
  await using space = await openSpace({ hostMemory: '64MiB', storage: false });
  space.array(Int32Array, 1_000_000, { name: 'red\u001b[31m' }).data.fill(1);
  space.share();
  using folder = new Folder();
  const { stdout } = await folder.run('ls');
  assert.match(stdout, new RegExp(`Space of process ${process.pid} \\(.*\\), page tables`));
  assert.match(stdout, / {2}red\?\[31m +i32 +1,000,000 +3\.81 MiB +3\.82 MiB\n/);
});

test('with a handle only the arrays that it allows are listed', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 10, { name: 'x' });
  space.array(Int32Array, 10, { name: 'secret' });
  const { spaces } = await list(space.share({ arrays: [x], rights: 'read' }));
  assert.deepEqual(
    spaces[0].arrays.map(({ name }) => name),
    ['x'],
  );
});

longTest('an owner that is stopped is named, and others are listed', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  space.share();
  const stopped = new Agent();
  await stopped.do('open', '32MiB');
  stopped.process.kill('SIGSTOP');
  await stopped.stopped();
  const listing = await list();
  const failure = listing.failures.find(({ message }) => message.includes(`${stopped.pid}`));
  assert.equal(failure?.code, 'OWNER_BUSY');
  ownSpace(listing);
  await stopped.kill();
});

test('a socket of the name that never answers does not keep the others from being listed', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  space.share();
  const mute = listenLocally(`onemem-${randomBytes(12).toString('hex')}`);
  const listing = await list();
  libc.close(mute);
  assert.ok(listing.failures.some(({ code }) => code === 'OWNER_BUSY'));
  ownSpace(listing);
});

longTest(
  'a text that is no handle is refused, and so is the handle of a process that has ended',
  async () => {
    using folder = new Folder();
    await folder.fail(2, /'abc' is no handle/, 'ls', 'abc');
    const owner = new Agent();
    const handle = await owner.do('open', '32MiB');
    await owner.kill();
    await folder.fail(1, /has ended or has closed/, 'ls', handle);
  },
);

/** KiB of page tables. */
function tablesOf(pid: number): number {
  return Number(/VmPTE:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
}

const [major, minor] = release().split('.').map(Number);

longTest(
  'page tables of what an attached process has not used for long are given back',
  async () => {
    await using space = await openSpace({
      hostMemory: '320MiB',
      devices: [{ kind: 'process', memory: '8MiB' }],
    });
    const x = space.array(Int32Array, 64 * MIB, { name: 'x' });
    const y = space.array(Int32Array, MIB, { name: 'y' });
    x.data.fill(1);
    y.data.fill(2);
    await using agent = await attachedAgent(space.share());
    const before = tablesOf(agent.pid);
    assert.equal(await agent.do('sum', 'x'), 64 * MIB);
    const most = tablesOf(agent.pid);
    assert.ok(most > before + 450);
    await agent.do('fill', 'x', 32 * MIB, 64 * MIB, 3);
    // The device has copies of this one, so that a store must be seen.
    await agent.do('launch', 'y');
    assert.equal(await agent.do('sum', 'y'), 3 * MIB);
    if (major * 100 + minor >= 614) while (tablesOf(agent.pid) > most - 400) await sleep(100);
    else await sleep(150_000);
    await agent.do('add', 'y', 0, MIB);
    await agent.do('launch', 'y');
    assert.equal(await agent.do('sum', 'y'), 5 * MIB);
    assert.equal(await agent.do('sum', 'x'), 4 * 32 * MIB);
    await agent.do('add', 'x', 0, 64 * MIB);
    sameData(x.data, (i) => (i < 32 * MIB ? 2 : 4));
    sameData(y.data, () => 5);
    space.checkInvariants();
  },
  300,
);

await runTests();
