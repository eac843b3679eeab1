/**
 * Members of a shared array, in processes of their own, on a real server: what they see of each
 * other, and of each other's ends.
 */
import assert from 'node:assert/strict';
import { PlainBlocks } from '../harness/plain-blocks.js';
import { Program } from '../harness/processes.js';
import { runTests } from '../harness/suite.js';
import { testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

/** Longer than a busy machine lets a process wait. */
const LONG_LEASE_MS = 20_000;
const SHORT_LEASE_MS = 2000;

function member(server: ValkeyServer, leaseMs = LONG_LEASE_MS): PlainBlocks {
  return new PlainBlocks({ urls: [server.url], name: 'test', blocks: 2, leaseMs });
}

testWithValkey(
  'two programs that write the same block lose nothing of what the other has written',
  async () => {
    await using server = await ValkeyServer.start();
    const times = 150;
    const programs = [1, 2].map(
      (word) =>
        new Program(
          'sharing-member',
          ['count', server.url, 'test', String(LONG_LEASE_MS), String(word), String(times)],
          {
            seconds: 60,
          },
        ),
    );
    for (const program of programs) {
      const { code, stdout, stderr } = await program.outcome;
      assert.deepEqual([code, stdout], [0, 'lost 0\n'], stderr);
    }
    const reader = member(server);
    const words = await reader.with(0, 'read', (all) => [...all.subarray(0, 3)]);
    assert.deepEqual(words, [2 * times, times, times]);
    await reader.member.close();
  },
);

testWithValkey('what is read in one block is as new as what was read in another', async () => {
  await using server = await ValkeyServer.start();
  const [writer, reader] = [member(server), member(server)];
  const last = 60;
  const write = async (): Promise<void> => {
    for (let n = 1; n <= last; n++) {
      await writer.with(0, 'write', (words) => words.fill(n));
      await writer.with(1, 'write', (words) => words.fill(n));
    }
  };
  const read = async (): Promise<void> => {
    for (let told = 0; told < last; ) {
      told = await reader.with(1, 'read', (words) => words[0]);
      const data = await reader.with(0, 'read', (words) => words[0]);
      assert.ok(data >= told, `${data} was read after ${told} had been told`);
    }
  };
  await Promise.all([write(), read()]);
  for (const each of [writer, reader]) assert.equal(await each.member.close(), true);
});

testWithValkey(
  'a machine that is killed is waited for until its lease ends, and then what it flushed is there',
  async () => {
    await using server = await ValkeyServer.start();
    const other = member(server, SHORT_LEASE_MS);
    const owner = new Program(
      'sharing-member',
      ['own', server.url, 'test', String(SHORT_LEASE_MS)],
      { seconds: 60 },
    );
    await owner.line('owns');
    owner.signal('SIGKILL');
    assert.equal(await other.with(0, 'write', (words) => words[0]), 1);
    assert.deepEqual(other.abandonedBlocks, [0]);
    assert.deepEqual(other.lostBlocks, []);
    await other.member.close();
  },
);

testWithValkey(
  'a machine that stood still beyond its lease hears what it has lost, and none of it is merged',
  async () => {
    await using server = await ValkeyServer.start();
    const other = member(server, SHORT_LEASE_MS);
    const owner = new Program(
      'sharing-member',
      ['own', server.url, 'test', String(SHORT_LEASE_MS)],
      { seconds: 60 },
    );
    await owner.line('owns');
    owner.signal('SIGSTOP');
    assert.equal(await other.with(0, 'write', (words) => words.fill(3)[0]), 3);
    owner.signal('SIGCONT');
    const { stdout } = await owner.outcome;
    assert.equal(stdout, 'owns\nlost 0\nreads 3\n');
    assert.equal(await other.with(0, 'read', (words) => words[0]), 3);
    await other.member.close();
  },
);

testWithValkey('a connection that is cut costs nothing', async () => {
  await using server = await ValkeyServer.start();
  const [one, two] = [member(server), member(server)];
  await one.with(0, 'write', (words) => words.fill(7));
  assert.equal(await two.with(1, 'write', (words) => words.fill(8)[0]), 8);
  await server.ask('CLIENT', 'KILL', 'TYPE', 'pubsub');
  assert.equal(await two.with(0, 'read', (words) => words[0]), 7);
  assert.equal(await one.with(1, 'read', (words) => words[0]), 8);
  assert.deepEqual([...one.lostBlocks, ...two.lostBlocks, ...two.abandonedBlocks], []);
  assert.equal(one.failures.length, 1);
  for (const each of [one, two]) assert.equal(await each.member.close(), true);
});

testWithValkey(
  'what was written while the server was down is there when it is back, with what it had',
  async () => {
    await using server = await ValkeyServer.start({ appendonly: 'yes', appendfsync: 'always' });
    const one = member(server);
    await one.with(0, 'write', (words) => words.fill(4));
    assert.equal(await one.flush(0), true);
    await server.stop();
    while (one.failures.length === 0) await one.change();
    await one.with(0, 'write', (words) => words.fill(5));
    const flushed = one.flush(0);
    await server.restart();
    assert.equal(await flushed, true);
    const two = member(server);
    assert.equal(await two.with(0, 'read', (words) => words[0]), 5);
    assert.deepEqual(one.lostBlocks, []);
    for (const each of [one, two]) assert.equal(await each.member.close(), true);
  },
);

testWithValkey(
  'a server that comes back empty takes nothing from before, and the machine that wrote it is told',
  async () => {
    await using server = await ValkeyServer.start();
    const one = member(server);
    await one.with(0, 'write', (words) => words.fill(4));
    await server.restart();
    while (one.lostBlocks.length === 0) await one.change();
    assert.equal(await one.with(0, 'read', (words) => words[0]), 0);
    await one.member.close();
  },
);

testWithValkey(
  'a machine whose blocks cannot be had any more leaves without waiting for its lease',
  async () => {
    await using server = await ValkeyServer.start();
    const blocks = new PlainBlocks({
      urls: [server.url],
      name: 'gone',
      blocks: 1,
      leaseMs: 30_000,
    });
    await blocks.with(0, 'write', (words) => words.fill(1));
    blocks.restrict = () => queueMicrotask(() => blocks.member.abandon());
    const began = performance.now();
    assert.equal(await blocks.member.close(), false);
    assert.ok(performance.now() - began < 20_000);
  },
);

testWithValkey(
  'a machine that leaves gives back what comes at the same time as the word that it must wait',
  async () => {
    await using server = await ValkeyServer.start();
    const [one, third] = [member(server), member(server)];
    const owner = new Program(
      'sharing-member',
      ['own', server.url, 'test', String(LONG_LEASE_MS)],
      { seconds: 60 },
    );
    await owner.line('owns');
    // Each has its session.
    for (const each of [one, third]) await each.with(1, 'read', () => undefined);
    one.member.touch(0, 'write');
    // That is on its way before this thread hears of anything.
    await new Promise(process.nextTick);
    const closed = one.member.close();
    // Meanwhile the owner gives the block up, and both words are there when this thread hears
    // again.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    assert.equal(await closed, true);
    assert.equal(await third.with(0, 'write', (words) => words[0]), 2);
    assert.deepEqual([...one.lostBlocks, ...third.abandonedBlocks], []);
    owner.signal('SIGKILL');
    await third.member.close();
  },
);

await runTests();
