/**
 * Clusters of real Valkey or Redis servers: pages of a space, and arrays of several programs, while
 * slots move and servers die.
 */
import assert from 'node:assert/strict';
import slotOf from 'cluster-key-slot';
import { type AddressSpace, openSpace, type SpaceOptions } from '../../src/index.js';
import { keysOf } from '../../src/sharing/steps.js';
import { PlainBlocks } from '../harness/plain-blocks.js';
import { failsWith, LONG, longTest, note, runTests, sleep, test } from '../harness/suite.js';
import {
  type ClusterServer,
  replicated,
  tookOver,
  ValkeyCluster,
} from '../harness/valkey-cluster.js';
import { valkeyPrograms } from '../harness/valkey-server.js';
import { warningsOf } from '../harness/warnings.js';

const MIB = 2 ** 20;
const HOST = '32MiB';
/** 64 MiB, of which each page is written. */
const N = 16 * MIB;
const STEP = 512;
const LONG_MS = 30_000;

function withCluster(kind: typeof test, name: string, run: () => Promise<void>): void {
  const unlessMissing = async (): Promise<void> => {
    const programs = valkeyPrograms();
    if (typeof programs === 'string') note(`SKIPPED: ${programs}`);
    else await run();
  };
  kind(name, unlessMissing, 180);
}

function open(
  { url }: ClusterServer,
  options: SpaceOptions = {},
  timeoutMs = LONG_MS,
): Promise<AddressSpace> {
  return openSpace({
    hostMemory: HOST,
    storage: false,
    behind: { kind: 'valkey', url, bytes: '256MiB', timeoutMs },
    devices: [{ kind: 'simulated', memory: '8MiB' }],
    ...options,
  });
}

/** The name of an array that a server has. */
function nameOn(cluster: ValkeyCluster, server: ClusterServer): string {
  const names = Array.from({ length: 100 }, (_, n) => `a${n}`);
  return names.find((each) => cluster.ownerOf(keysOf(each).leases) === server) as string;
}

const word = (i: number, salt: number): number => (Math.imul(i, 2_654_435_761) + salt) | 0;

function fill(data: Int32Array, salt: number): void {
  for (let i = 0; i < data.length; i += STEP) data[i] = word(i, salt);
}

function same(data: Int32Array, salt: number): void {
  let wrong = 0;
  for (let i = 0; i < data.length; i += STEP)
    if (data[i] !== word(i, salt) || data[i + 1] !== 0) wrong++;
  assert.equal(wrong, 0);
}

async function sizes({ primaries }: ValkeyCluster): Promise<number[]> {
  return Promise.all(primaries.map(async (each) => (await each.ask('DBSIZE')) as number));
}

withCluster(
  test,
  'a budget that the servers of a cluster have no room for together is warned of',
  async () => {
    await using cluster = await ValkeyCluster.start(false, { lines: { maxmemory: 64 * MIB } });
    const [warning, ...more] = await warningsOf(async () =>
      (await open(cluster.primaries[0])).close(),
    );
    assert.deepEqual(more, []);
    assert.match(
      warning.message,
      /\d+ of 201326592 are left on the 3 servers of the cluster of valkey:/,
    );
  },
);

withCluster(
  longTest,
  'the servers of a cluster share the pages of a space, which come back while a slot moves',
  async () => {
    await using cluster = await ValkeyCluster.start();
    const space = await open(cluster.primaries[1]);
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    same(x.data, 1);
    const counts = await sizes(cluster);
    // Which server has which value is chance: all on one server would be one of a billion.
    assert.ok(counts.filter((count) => count > 0).length > 1, `${counts}`);
    const from = cluster.primaries[counts.findIndex((count) => count > 0)];
    const to = cluster.primaries[(cluster.primaries.indexOf(from) + 1) % 3];
    // Some, since what one has may happen to be in memory as long as the test looks.
    const values = (await from.ask('KEYS', 'onemem:{*}:*')) as Uint8Array[];
    const slots = [...new Set(values.map((key) => slotOf(Buffer.from(key).toString())))].slice(
      0,
      8,
    );
    const finish: (() => Promise<void>)[] = [];
    for (const slot of slots) finish.push(await cluster.migrate(slot, from, to));
    same(x.data, 1);
    fill(x.data, 2);
    assert.ok((await from.errors('ASK')) > 0);
    for (const each of finish) await each();
    same(x.data, 2);
    fill(x.data, 3);
    same(x.data, 3);
    assert.ok((await from.errors('MOVED')) > 0);
    space.checkInvariants();
    await space.close();
    assert.deepEqual(await sizes(cluster), [0, 0, 0]);
  },
);

withCluster(
  longTest,
  'an array that programs share is where its slot is, also when that moves',
  async () => {
    await using cluster = await ValkeyCluster.start();
    const on = { url: cluster.primaries[2].url, leaseMs: LONG_MS, timeoutMs: LONG_MS };
    await using space = await openSpace({ hostMemory: '64MiB' });
    await using other = await openSpace({ hostMemory: '64MiB' });
    const [x, y] = [
      await space.sharedArray(Int32Array, 40_000, { name: 'numbers', on }),
      await other.sharedArray(Int32Array, 40_000, { name: 'numbers', on }),
    ];
    x.data.fill(7);
    assert.equal(y.data[39_999], 7);
    const key = keysOf('numbers').leases;
    const from = cluster.ownerOf(key);
    const to = cluster.primaries[(cluster.primaries.indexOf(from) + 1) % 3];
    const finish = await cluster.migrate(slotOf(key), from, to);
    const written = y.fence();
    await finish();
    await written;
    y.data.fill(8);
    assert.equal(x.data[39_999], 8);
    await Promise.all([x.barrier('end', 2), y.barrier('end', 2)]);
    assert.equal(await from.ask('DBSIZE'), 0);
  },
);

withCluster(
  longTest,
  'pages survive a server that is killed, whose replica takes over, and are waited for',
  async () => {
    await using cluster = await ValkeyCluster.start(true);
    await using space = await open(cluster.primaries[0]);
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    same(x.data, 1);
    await replicated(cluster);
    await cluster.primaries[0].server.stop();
    same(x.data, 1);
    fill(x.data, 2);
    same(x.data, 2);
    await tookOver(cluster);
    space.checkInvariants();
  },
);

withCluster(longTest, 'an array that programs share survives a server that is killed', async () => {
  await using cluster = await ValkeyCluster.start(true);
  // One that is on the server which is to die.
  const name = nameOn(cluster, cluster.primaries[0]);
  const member = (at: ClusterServer) =>
    new PlainBlocks({ urls: [at.url], name, blocks: 2, leaseMs: LONG_MS });
  const [one, two] = [member(cluster.primaries[0]), member(cluster.primaries[1])];
  await one.with(0, 'write', (words) => words.fill(4));
  assert.equal(await one.flush(0), true);
  await one.with(0, 'write', (words) => words.fill(5));
  await replicated(cluster);
  await cluster.primaries[0].server.stop();
  assert.equal(await two.with(0, 'read', (words) => words[0]), 5);
  await two.with(1, 'write', (words) => words.fill(6));
  assert.equal(await one.with(1, 'read', (words) => words[0]), 6);
  assert.deepEqual([...one.lostBlocks, ...two.lostBlocks], []);
  for (const each of [one, two]) assert.equal(await each.member.close(), true);
});

withCluster(
  longTest,
  'a cluster of which the server that is named first has died is opened by the next, for pages and for arrays',
  async () => {
    await using cluster = await ValkeyCluster.start(true);
    const [dead, second, third] = cluster.primaries;
    const url = [dead.url, second.url];
    await dead.server.stop();
    await tookOver(cluster);
    while (!(await second.text('CLUSTER', 'INFO')).includes('cluster_state:ok')) await sleep(20);
    const behind = { kind: 'valkey', url, bytes: '256MiB', timeoutMs: LONG_MS } as const;
    await using space = await openSpace({ hostMemory: HOST, storage: false, behind });
    assert.equal(space.stats().behind?.url, second.url);
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    same(x.data, 1);
    // One that is on a server which no address names.
    const name = nameOn(cluster, third);
    const on = { url, leaseMs: LONG_MS, timeoutMs: LONG_MS };
    const shared = await space.sharedArray(Int32Array, 40_000, { name, on });
    shared.data.fill(7);
    await shared.fence();
    assert.ok(Number(await third.ask('EXISTS', keysOf(name).shape)) > 0);
    const nowhere = {
      kind: 'valkey',
      url: [dead.url, 'valkey://127.0.0.1:1'],
      bytes: '256MiB',
    } as const;
    const { message } = await failsWith('BEHIND', () => openSpace({ behind: nowhere }));
    for (const each of nowhere.url)
      assert.ok(message.includes(`there is no connection to ${each}`), message);
  },
);

withCluster(
  longTest,
  'a space and an array that are opened before a replica has taken over wait for it',
  async () => {
    await using cluster = await ValkeyCluster.start(true);
    const [dead, second] = cluster.primaries;
    await dead.server.stop();
    // The others do not know it yet.
    assert.match(await second.text('CLUSTER', 'INFO'), /cluster_state:ok/);
    await using space = await openSpace({ hostMemory: '64MiB' });
    const on = { url: [dead.url, second.url], leaseMs: LONG_MS, timeoutMs: LONG_MS };
    const [behind, shared] = await Promise.all([
      open(second),
      space.sharedArray(Int32Array, 40_000, { name: nameOn(cluster, dead), on }),
    ]);
    await using _closed = behind;
    shared.data.fill(7);
    await shared.fence();
    const x = behind.array(Int32Array, N);
    fill(x.data, 1);
    same(x.data, 1);
  },
);

withCluster(
  test,
  'an array is opened while a part of its cluster is missing that it does not lie in',
  async () => {
    await using cluster = await ValkeyCluster.start(false, {
      lines: { 'cluster-require-full-coverage': 'no' },
    });
    const [dead, second, third] = cluster.primaries;
    await dead.server.stop();
    await using space = await openSpace({ hostMemory: '64MiB' });
    const on = { url: second.url, leaseMs: LONG_MS, timeoutMs: LONG_MS };
    const shared = await space.sharedArray(Int32Array, 40_000, {
      name: nameOn(cluster, third),
      on,
    });
    shared.data.fill(7);
    await shared.fence();
    const missing = { name: nameOn(cluster, dead), on: { ...on, timeoutMs: 500 } };
    const { message } = await failsWith('SHARED_SERVER', () =>
      space.sharedArray(Int32Array, 40_000, missing),
    );
    assert.match(message, /no replica has taken over within 500 ms/);
  },
);

withCluster(longTest, 'a cluster of which a part has no server is named as such', async () => {
  await using cluster = await ValkeyCluster.start();
  const space = await open(cluster.primaries[1], {}, 1000);
  await using _closed = space;
  const x = space.array(Int32Array, N);
  fill(x.data, 1);
  await cluster.primaries[0].server.stop();
  while (!(await cluster.primaries[1].text('CLUSTER', 'INFO')).includes('cluster_state:fail'))
    await sleep(20);
  const refused = await failsWith('BEHIND', () => open(cluster.primaries[1], {}, 1000));
  assert.match(refused.message, /is part of a cluster that is down \(CLUSTERDOWN/);
  assert.ok(
    refused.message.includes(
      `names ${cluster.primaries[0].url} as one of its cluster, with 5462 of 16384 slots`,
    ),
  );
  assert.match(
    refused.message,
    /no replica has taken over within 1000 ms; have the cluster repaired/,
  );
  const run = x.residency().runs.find(({ nodes }) => nodes.length === 1 && nodes[0] === 'valkey');
  assert.ok(run !== undefined);
  const stream = space.devices[0].stream();
  stream.prefetch(x.range(run.begin, run.end), 'host');
  const denied = await failsWith('NODE_LOST', () => stream.synchronize());
  assert.match(denied.message, /CLUSTERDOWN|there is no connection/);
});

await runTests(LONG ? 180 : 120);
