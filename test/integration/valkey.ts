/**
 * Arrays that are larger than host memory, and whose pages go on to the memory of another machine:
 * a real Valkey or Redis server.
 */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, read, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type AddressSpace,
  type BehindSpecification,
  type ManagedArray,
  type OnememError,
  openSpace,
  type ServerStats,
  type SpaceOptions,
} from '../../src/index.js';
import { ValkeyConnection } from '../../src/valkey/connection.js';
import { failsWith, LONG, runTests, sameData, sleep } from '../harness/suite.js';
import {
  longTestWithValkey,
  testWithValkey,
  ValkeyServer,
  variantTestWithValkey,
} from '../harness/valkey-server.js';
import { warningsOf } from '../harness/warnings.js';

const MIB = 2 ** 20;
/**
 * Elements of somewhat more than the host may have: a program that goes over all of it finds each
 * page gone.
 */
const N = (LONG ? 12 : 9) * MIB;
const MORE_BYTES = 4 * N - 32 * MIB;
const HOST = '32MiB';

const filled = (i: number, salt: number): number => (Math.imul(i, 2_654_435_761) + salt) | 0;

function open(
  server: ValkeyServer,
  behind: Partial<BehindSpecification> = {},
  options: SpaceOptions = {},
): Promise<AddressSpace> {
  return openSpace({
    hostMemory: HOST,
    storage: false,
    behind: { kind: 'valkey', url: server.url, bytes: '256MiB', ...behind },
    devices: [{ kind: 'simulated', memory: '8MiB' }],
    ...options,
  });
}

function behind(space: AddressSpace): ServerStats {
  const stats = space.stats().behind;
  assert.ok(stats !== null);
  return stats;
}

function fill(data: Int32Array, salt: number): void {
  for (let i = 0; i < data.length; i++) data[i] = filled(i, salt);
}

/**
 * How many values of pages a server has, besides those that show that it has not been started
 * again.
 */
async function valuesOn(server: ValkeyServer): Promise<number> {
  return ((await server.ask('KEYS', 'onemem:{*}:*')) as unknown[]).length;
}

const LENGTHS = `local all, blocks = 0, 0
for _, key in ipairs(redis.call('KEYS', 'onemem:{*}:*')) do
  local length = redis.call('STRLEN', key)
  all = all + length
  if length == 2097152 then blocks = blocks + length end
end
return { all, blocks }`;

/** How many bytes of pages a server has, and how many of them in values of 2 MiB. */
async function bytesOn(server: ValkeyServer): Promise<{ all: number; blocks: number }> {
  const [all, blocks] = (await server.ask('EVAL', LENGTHS, 0)) as number[];
  return { all, blocks };
}

/** Where an array is that only the server has. */
function far(
  space: AddressSpace,
  x: { residency(): { runs: readonly { begin: number; end: number; nodes: readonly string[] }[] } },
) {
  const run = x.residency().runs.find(({ nodes }) => nodes.length === 1 && nodes[0] === 'valkey');
  assert.ok(
    run !== undefined,
    `the server has nothing alone: ${JSON.stringify(space.stats().behind)}`,
  );
  return run;
}

/**
 * Four threads of Node.js's pool fill pages, and the first page that must leave needs the server,
 * whose name is looked up in that pool.
 */
testWithValkey(
  'pages go to a server while all threads of the pool of Node.js wait for room',
  async () => {
    await using server = await ValkeyServer.start({}, 20_000 + (process.pid % 10_000));
    const url = `valkey://localhost:${20_000 + (process.pid % 10_000)}`;
    await using space = await open(server, { url }, { devices: [] });
    const x = space.array(Uint8Array, 64 * MIB);
    const zero = openSync('/dev/zero', 'r');
    const part = x.length / 4;
    const reads = [0, 1, 2, 3].map((each) =>
      promisify(read)(zero, x.data, each * part, part, null),
    );
    for (const { bytesRead } of await Promise.all(reads)) assert.equal(bytesRead, part);
    closeSync(zero);
    assert.ok(behind(space).bytesWritten > 0);
  },
);

longTestWithValkey(
  'an array of more than the host memory is written and read back, byte for byte, and leaves nothing',
  async () => {
    await using server = await ValkeyServer.start();
    const space = await open(server);
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    sameData(x.data, (i) => filled(i, 1));
    assert.ok(space.stats().processors[0].peakBytes <= 32 * MIB);
    const { bytesWritten, bytesRead, heldBytes, url } = behind(space);
    assert.ok(bytesWritten >= MORE_BYTES && heldBytes >= MORE_BYTES && bytesRead > 0);
    assert.equal(url, server.url);
    assert.ok((x.residency().bytes.valkey ?? 0) >= MORE_BYTES);
    assert.ok((await bytesOn(server)).all >= MORE_BYTES);
    space.checkInvariants();
    x.free();
    while (behind(space).heldBytes > 0) await sleep(5);
    while ((await valuesOn(server)) !== 0) await sleep(5);
    await space.close();
  },
);

testWithValkey(
  'a space that is closed leaves nothing on the server, and one that is not leaves it for as long as it said',
  async () => {
    await using server = await ValkeyServer.start();
    const space = await open(server, { leaseMs: 60_000 });
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    const [name] = (await server.ask('KEYS', 'onemem:{*}:*')) as Uint8Array[];
    const key = Buffer.from(name).toString();
    assert.match(key, /^onemem:\{[0-9a-f]{24}\.\d+\}:/);
    const left = (await server.ask('PTTL', key)) as number;
    assert.ok(left > 0 && left <= 60_000, `${left}`);
    await space.close();
    assert.equal(await server.ask('DBSIZE'), 0);
  },
);

testWithValkey(
  'a space that is closed while its server stands still leaves there what goes by itself, after the time that was said',
  async () => {
    await using server = await ValkeyServer.start();
    const space = await open(server, { leaseMs: 60_000, timeoutMs: 500 });
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    server.signal('SIGSTOP');
    await space.close();
    server.signal('SIGCONT');
    const keys = ((await server.ask('KEYS', '*')) as Uint8Array[]).map((key) =>
      Buffer.from(key).toString(),
    );
    assert.ok(keys.length > 0);
    for (const key of keys) {
      const left = (await server.ask('PTTL', key)) as number;
      assert.ok(
        left > 0 && left <= (key.endsWith('}') ? 90_000 : 60_000),
        `${key} has ${left} ms left`,
      );
    }
  },
);

longTestWithValkey(
  'what is sent at once is one value, and nothing is there twice when it has been written again',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open(server);
    const x = space.array(Int32Array, N);
    for (const salt of [1, 2, 3]) {
      fill(x.data, salt);
      sameData(x.data, (i) => filled(i, salt));
      const { all, blocks } = await bytesOn(server);
      const { heldBytes } = behind(space);
      assert.ok(blocks >= 0.75 * all, `${blocks} of ${all} bytes in values of 2 MiB`);
      assert.ok(all <= heldBytes + 8 * MIB, `${all} bytes for ${heldBytes}`);
    }
  },
);

longTestWithValkey('single pages of what the server has are written there alone', async () => {
  await using server = await ValkeyServer.start();
  await using space = await open(server);
  const x = space.array(Int32Array, N);
  fill(x.data, 2);
  // What has never been there goes there first.
  sameData(x.data, (i) => filled(i, 2));
  const before = behind(space).bytesWritten;
  for (let i = 0; i < N; i += 256 * 1024) x.data[i] = 7;
  sameData(x.data, (i) => (i % (256 * 1024) === 0 ? 7 : filled(i, 2)));
  assert.ok(
    behind(space).bytesWritten - before < 40 * MIB,
    `${behind(space).bytesWritten - before}`,
  );
  space.checkInvariants();
});

/**
 * A space of which storage has room for little, and the server for the rest, and an array that was
 * written there.
 */
async function openChain(
  server: ValkeyServer,
): Promise<{ space: AddressSpace; x: ManagedArray<Int32Array> }> {
  const path = mkdtempSync(join(tmpdir(), 'onemem-chain-'));
  process.on('exit', () => rmSync(path, { recursive: true, force: true }));
  const space = await open(server, {}, { storage: { path, bytes: '8MiB' } });
  const x = space.array(Int32Array, 12 * MIB);
  fill(x.data, 1);
  return { space, x };
}

longTestWithValkey('storage comes first, and the server has what it has no room for', async () => {
  await using server = await ValkeyServer.start();
  const { space, x } = await openChain(server);
  await using _closed = space;
  // What the server has came by way of storage, which had room for half of that at most.
  const { storage, behind: sent } = space.stats();
  assert.ok(storage !== null && storage.bytesWritten >= 8 * MIB, JSON.stringify(storage));
  assert.ok(
    sent !== null && sent.bytesWritten >= 4 * MIB && sent.bytesWritten <= storage.bytesWritten,
    JSON.stringify(sent),
  );
  sameData(x.data, (i) => filled(i, 1));
  space.checkInvariants();
});

if (LONG) {
  testWithValkey(
    'a clone keeps what storage and the server have when its source is overwritten',
    async () => {
      await using server = await ValkeyServer.start();
      const { space, x } = await openChain(server);
      await using _closed = space;
      const clone = await x.clone();
      x.data.fill(0);
      sameData(clone.data, (i) => filled(i, 1));
    },
  );
}

longTestWithValkey(
  'a server that stands still is waited for as long as it may, and not longer',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open(server, { timeoutMs: 1000 });
    const x = space.array(Int32Array, N, { name: 'x' });
    fill(x.data, 3);
    const { begin, end } = far(space, x);
    server.signal('SIGSTOP');
    setTimeout(() => server.signal('SIGCONT'), 300);
    const stream = space.devices[0].stream();
    stream.prefetch(x.range(begin, begin + 1024), 'host');
    await stream.synchronize();
    server.signal('SIGSTOP');
    const started = performance.now();
    stream.prefetch(x.range(end - 1024, end), 'host');
    const error = (await failsWith('NODE_LOST', () => stream.synchronize())) as OnememError;
    assert.ok(performance.now() - started >= 900);
    assert.match(
      error.message,
      /array x, elements .*another machine.*has not answered for 1000 ms/,
    );
    assert.equal(error.details.url, server.url);
    server.signal('SIGCONT');
    await settled(space, server);
    sameData(x.data, (i) => filled(i, 3));
    space.checkInvariants();
  },
);

/** Waits until the server has an answer for the space again. */
async function settled(space: AddressSpace, server: ValkeyServer): Promise<void> {
  await server.ask('PING');
  while (behind(space).full) await sleep(10);
}

longTestWithValkey(
  'a server that is killed and started again has lost what only it had, by name, and nothing else',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open(server, { timeoutMs: 20_000 });
    const x = space.array(Int32Array, N, { name: 'x' });
    fill(x.data, 4);
    const { begin } = far(space, x);
    await server.stop();
    await server.restart();
    // Nothing is touched: the connection is made again, and that is enough.
    const isLost = (): boolean =>
      x
        .residency()
        .runs.some((run) => run.begin <= begin && begin < run.end && run.state === 'lost');
    while (!isLost()) await sleep(5);
    const stream = space.devices[0].stream();
    stream.prefetch(x.range(begin, begin + 1024), 'host');
    const error = (await failsWith('DATA_LOST', () => stream.synchronize())) as OnememError;
    assert.match(error.message, /array x, elements .*a server that was restarted empty.*unix:/);
    assert.equal(error.details.url, server.url);
    // What was on its way to the server, or is there as well, may have been dropped here before
    // anybody noticed.
    const kept = x
      .residency()
      .runs.filter(({ nodes }) => nodes.includes('host') && !nodes.includes('valkey'));
    for (const run of kept)
      sameData(x.data.subarray(run.begin, run.end), (i) => filled(run.begin + i, 4));
    // What is written over is good again, and goes to the server that is there now.
    await x.discard();
    fill(x.data, 5);
    sameData(x.data, (i) => filled(i, 5));
    space.checkInvariants();
  },
);

longTestWithValkey(
  'a server that is started again with what it had kept on its disk has lost nothing',
  async () => {
    await using server = await ValkeyServer.start({ appendonly: 'yes', appendfsync: 'always' });
    await using space = await open(server, { timeoutMs: 20_000 });
    const x = space.array(Int32Array, N, { name: 'x' });
    fill(x.data, 4);
    await server.stop();
    await server.restart();
    sameData(x.data, (i) => filled(i, 4));
    space.checkInvariants();
  },
);

const SPOILERS: readonly (readonly [string, string, RegExp])[] = [
  [
    'was changed',
    "redis.call('SETRANGE', key, 5000, 'other')",
    /array x, elements .*was changed on a server by another program \(its checksum does not match\).*: the server unix:/,
  ],
  [
    'is something else by now',
    "redis.call('DEL', key) redis.call('LPUSH', key, 'other')",
    /was changed on a server by another program.*: the server unix:/,
  ],
  [
    'is gone',
    "redis.call('DEL', key)",
    /on a server, and was evicted, removed.*maxmemory-policy noeviction.*: the server unix:/,
  ],
];
for (const [what, command, message] of SPOILERS) {
  variantTestWithValkey(`a value that ${what} is noticed, and lost by name`, async () => {
    await using server = await ValkeyServer.start();
    await using space = await open(server);
    const x = space.array(Int32Array, N, { name: 'x' });
    fill(x.data, 6);
    await server.ask(
      'EVAL',
      `for _, key in ipairs(redis.call('KEYS', 'onemem:{*}:*')) do ${command} end`,
      0,
    );
    const { begin, end } = far(space, x);
    const stream = space.devices[0].stream();
    stream.prefetch(x.range(begin, end), 'host');
    const error = (await failsWith('DATA_LOST', () => stream.synchronize())) as OnememError;
    assert.match(error.message, message);
    assert.equal(error.details.url, server.url);
    space.checkInvariants();
  });
}

/**
 * Waits until the last elements can be written, which need room: a try that is under way may still
 * fail.
 */
async function roomAgain(
  space: AddressSpace,
  x: ManagedArray<Int32Array>,
  elements: number,
): Promise<void> {
  for (;;) {
    const stream = space.devices[0].stream();
    stream.copy(x.range(x.length - elements, x.length), x.range(0, elements));
    try {
      await stream.synchronize();
      return;
    } catch (error) {
      assert.equal((error as OnememError).code, 'OUT_OF_STORAGE');
      await sleep(20);
    }
  }
}

longTestWithValkey(
  'a server whose memory is used up has the program that needs room told so, and goes on when there is some',
  async () => {
    await using server = await ValkeyServer.start({ maxmemory: '8mb' });
    await using space = await open(server);
    const kept = space.array(Int32Array, 4 * MIB, { name: 'kept' });
    fill(kept.data, 7);
    const x = space.array(Int32Array, N, { name: 'x' });
    const stream = space.devices[0].stream();
    for (let part = 0; part < 3; part++)
      stream.copy(x.range((part * N) / 3, ((part + 1) * N) / 3), kept.range(0, N / 3));
    const refused = (await failsWith('OUT_OF_STORAGE', () => stream.synchronize())) as OnememError;
    assert.match(
      refused.message,
      /the server unix:.* has \d+ bytes.*OOM: its maxmemory is used up.*give it more memory/,
    );
    assert.equal(refused.details.url, server.url);
    await server.ask('CONFIG', 'SET', 'maxmemory', '0');
    await roomAgain(space, x, 4 * MIB);
    fill(x.data, 8);
    sameData(x.data, (i) => filled(i, 8));
    sameData(kept.data, (i) => filled(i, 7));
    space.checkInvariants();
  },
);

const REFUSALS: readonly (readonly [string, readonly string[], RegExp, readonly string[]])[] = [
  [
    'becomes a replica',
    ['REPLICAOF', '127.0.0.1', '1'],
    /the server unix:.* \(READONLY: .*\); make it the primary again/,
    ['REPLICAOF', 'NO', 'ONE'],
  ],
  [
    'lets the user of the url do less',
    ['ACL', 'SETUSER', 'default', '-set', '-setrange'],
    /the server unix:.* \(NOPERM: .*\); give that user the rights \(ACL SETUSER/,
    ['ACL', 'SETUSER', 'default', '+set', '+setrange'],
  ],
  [
    'has fewer replicas than it must have',
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    /the server unix:.* \(NOREPLICAS: .*\); see to its replicas/,
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
];
for (const [what, change, message, back] of REFUSALS) {
  variantTestWithValkey(
    `a server that ${what} is named to the program that needs room, with the remedy`,
    async () => {
      await using server = await ValkeyServer.start();
      await using space = await open(server);
      const x = space.array(Int32Array, N, { name: 'x' });
      fill(x.data.subarray(0, 6 * MIB), 7);
      await server.ask(...change);
      const stream = space.devices[0].stream();
      stream.copy(x.range(6 * MIB, N), x.range(0, N - 6 * MIB));
      const refused = (await failsWith('OUT_OF_STORAGE', () =>
        stream.synchronize(),
      )) as OnememError;
      assert.match(refused.message, message);
      await server.ask(...back);
      await roomAgain(space, x, 3 * MIB);
      sameData(x.data.subarray(0, 6 * MIB), (i) => filled(i, 7));
    },
  );
}

longTestWithValkey(
  'a server that lets the program in no more is named to it, with the remedy',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open(server);
    const x = space.array(Int32Array, N, { name: 'x' });
    fill(x.data.subarray(0, 6 * MIB), 7);
    await server.ask('CONFIG', 'SET', 'requirepass', 'sesame');
    const known = await ValkeyConnection.open(`${server.url}?password=sesame`);
    await known.call(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    const stream = space.devices[0].stream();
    stream.copy(x.range(6 * MIB, N), x.range(0, N - 6 * MIB));
    const refused = (await failsWith('OUT_OF_STORAGE', () => stream.synchronize())) as OnememError;
    assert.match(
      refused.message,
      /\(it does not let this program in\); have it know user and password of the url/,
    );
    await known.call(['CONFIG', 'SET', 'requirepass', '']);
    known.close();
    await roomAgain(space, x, 3 * MIB);
    sameData(x.data.subarray(0, 6 * MIB), (i) => filled(i, 7));
  },
);

longTestWithValkey(
  'what is written while the server is down stays here, and goes there when it is back',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open(server, { timeoutMs: 300 });
    const x = space.array(Int32Array, N, { name: 'x' });
    const host = x.data.subarray(0, 6 * MIB);
    fill(host, 9);
    await server.stop();
    const stream = space.devices[0].stream();
    stream.copy(x.range(6 * MIB, N), x.range(0, N - 6 * MIB));
    const refused = (await failsWith('OUT_OF_STORAGE', () => stream.synchronize())) as OnememError;
    assert.match(refused.message, /there is no connection to it/);
    sameData(host, (i) => filled(i, 9));
    await server.restart();
    await roomAgain(space, x, 6 * MIB);
    fill(x.data, 10);
    sameData(x.data, (i) => filled(i, 10));
    space.checkInvariants();
  },
);

testWithValkey('what a server is not is refused by name, before a space is opened', async () => {
  await using server = await ValkeyServer.start({ requirepass: 'sesame' });
  const wrong = await failsWith('BEHIND', () => open(server));
  assert.match(wrong.message, /behind: unix:.*wants a password/);
  await using space = await open(server, { url: `${server.url}?password=sesame` });
  assert.doesNotMatch(JSON.stringify(space.stats()), /sesame/);
  await failsWith('BEHIND', () => open(server, { url: 'valkey://127.0.0.1:1' }));
  await failsWith('BEHIND', () => open(server, { url: 'http://x' }));
  await failsWith('BEHIND', () => open(server, { kind: 'memcached' as 'valkey' }));
  await failsWith('SIZE', () => open(server, { bytes: 5 }));
  await failsWith('TIMEOUT_MS', () => open(server, { timeoutMs: 0 }));
  const plain = await failsWith('BEHIND', () =>
    open(server, { url: 'redis://u:secret@far:1/3', tls: {} }),
  );
  assert.match(
    plain.message,
    /behind has the url redis:\/\/far:1\/3, .* and tls,.* write valkeys:\/\/far:1\/3 .*leave tls out/,
  );
  await using dropping = await ValkeyServer.start({
    maxmemory: '64mb',
    'maxmemory-policy': 'allkeys-lru',
  });
  const dropped = await failsWith('BEHIND', () => open(dropping));
  assert.match(dropped.message, /maxmemory-policy allkeys-lru.*noeviction/);
});

/** What the process is warned of while a space is opened and closed. */
async function warningsOfOpening(
  server: ValkeyServer,
  said: Partial<BehindSpecification>,
): Promise<string[]> {
  const warnings = await warningsOf(async () => (await open(server, said)).close());
  return warnings.map(({ code, message }) => `${code}: ${message}`);
}

longTestWithValkey(
  'a budget that the server has no room for is warned of, with what is left there',
  async () => {
    await using server = await ValkeyServer.start({ maxmemory: 64 * MIB });
    await server.ask('SET', 'other', 'x'.repeat(24 * MIB));
    const [warning, ...more] = await warningsOfOpening(server, { bytes: '32MiB' });
    assert.match(
      warning,
      /^ONEMEM_STORAGE: behind\.bytes is 33554432, which take about 41943040 bytes of a server, and \d+ of 67108864 are left on unix:.*raise maxmemory/,
    );
    assert.ok(Number(/and (\d+) of/.exec(warning)?.[1]) < 40 * MIB, warning);
    assert.deepEqual(more, []);
    assert.deepEqual(await warningsOfOpening(server, { bytes: '24MiB' }), []);
  },
);

testWithValkey(
  'a budget beyond the memory of the machine of a server without maxmemory is warned of',
  async () => {
    await using server = await ValkeyServer.start();
    const [warning] = await warningsOfOpening(server, { bytes: '2TiB' });
    assert.match(warning, /^ONEMEM_STORAGE: behind\.bytes is 2199023255552/);
  },
);

longTestWithValkey(
  'a server whose user may not ask what is left there is used without a word',
  async () => {
    await using server = await ValkeyServer.start({ maxmemory: 64 * MIB });
    await server.ask('ACL', 'SETUSER', 'default', '-info');
    assert.deepEqual(await warningsOfOpening(server, {}), []);
    await using space = await open(server);
    const x = space.array(Int32Array, N);
    fill(x.data, 1);
    sameData(x.data, (i) => filled(i, 1));
  },
);

await runTests();
