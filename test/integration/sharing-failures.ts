/**
 * What programs that share an array are told when its server loses values, answers with errors, or
 * does not answer at the end.
 */
import assert from 'node:assert/strict';
import {
  fstatSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AddressSpace,
  i32,
  kernel,
  type OnememError,
  openSpace,
  type SharedArray,
  type SharedArrayOptions,
} from '../../src/index.js';
import { ValkeyConnection } from '../../src/valkey/connection.js';
import { failsWith, runTests, sameData, sleep } from '../harness/suite.js';
import {
  longTestWithValkey,
  testWithValkey,
  ValkeyServer,
  variantTestWithValkey,
} from '../harness/valkey-server.js';

const LENGTH = 40_000;
/** Elements of a block of 64 KiB. */
const BLOCK = 16_384;
const TIMEOUT_MS = 400;
const LEASE_MS = 2000;

type Numbers = SharedArray<Int32Array<ArrayBuffer>>;

const increment = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

function optionsOf(url: string): SharedArrayOptions {
  return { name: 'numbers', on: { url, leaseMs: LEASE_MS, timeoutMs: TIMEOUT_MS } };
}

function open(): Promise<AddressSpace> {
  return openSpace({ hostMemory: '64MiB' });
}

/** A space of another program, as far as the server can tell, and the array in it. */
async function openArray(url: string): Promise<{ space: AddressSpace; array: Numbers }> {
  const space = await open();
  return { space, array: await space.sharedArray(Int32Array, LENGTH, optionsOf(url)) };
}

/** What is at the beginning of a block, for a program that does not touch it. */
async function read(server: ValkeyServer, array: Numbers, block: number): Promise<void> {
  const fd = openSync(server.file('read'), 'w');
  await array.writeTo(fd, { begin: block * BLOCK, end: block * BLOCK + 1024 });
}

/** All elements are written, and no program has the array open. */
async function writeAll(server: ValkeyServer): Promise<void> {
  const { space, array } = await openArray(server.url);
  array.data.fill(7);
  await space.close();
}

const KEY = '{onemem:numbers}:1';
const CONTENT = `${KEY}:content`;
const SPOILERS: readonly (readonly [string, readonly (readonly (string | number)[])[]])[] = [
  ['is removed', [['DEL', CONTENT]]],
  ['is removed with all that the server knows of the block', [['DEL', CONTENT, KEY]]],
  ['is cut short', [['SET', CONTENT, 'short']]],
  ['is emptied', [['SET', CONTENT, '']]],
  ['is changed', [['SETRANGE', CONTENT, 5000, 'other']]],
  [
    'is a list by now',
    [
      ['DEL', CONTENT],
      ['LPUSH', CONTENT, 'other'],
    ],
  ],
];
for (const [how, commands] of SPOILERS) {
  variantTestWithValkey(
    `a block whose value ${how} is lost by name, and never read as something else`,
    async () => {
      await using server = await ValkeyServer.start();
      await writeAll(server);
      for (const command of commands) await server.ask(...command);
      const { space, array } = await openArray(server.url);
      await using _closed = space;
      const lost: string[] = [];
      await array.watch({
        onInvalidate: ({ changes }) => {
          for (const { reason, begin, end } of changes)
            if (reason === 'lost') lost.push(`${begin} to ${end}`);
        },
      });
      const error = (await failsWith('DATA_LOST', () => read(server, array, 1))) as OnememError;
      assert.match(
        error.message,
        /array numbers, elements 16384 .* the server unix:.* does not have as it was written.*noeviction/,
      );
      assert.equal(error.details.url, server.url);
      while (lost.length === 0) await sleep(5);
      assert.deepEqual(lost, ['16384 to 32768']);
      sameData(array.data.subarray(0, BLOCK), () => 7);
      sameData(array.data.subarray(2 * BLOCK), () => 7);
      space.checkInvariants();
    },
  );
}

longTestWithValkey(
  'programs that have copies of a block that the server has lost go on, and put it right by writing',
  async () => {
    await using server = await ValkeyServer.start();
    const [one, two] = [await openArray(server.url), await openArray(server.url)];
    await using _one = one.space;
    await using _two = two.space;
    one.array.data.fill(7);
    assert.equal(two.array.data[BLOCK], 7);
    await server.ask('DEL', CONTENT);
    two.array.data[BLOCK] = 8;
    assert.equal(one.array.data[BLOCK], 8);
    assert.equal(one.array.data[BLOCK + 1], 7);
  },
);

longTestWithValkey(
  'a touch of what the server has lost is denied by name, and may be tried again',
  async () => {
    await using server = await ValkeyServer.start();
    await writeAll(server);
    const content = (await server.ask('GET', CONTENT)) as Uint8Array;
    await server.ask('DEL', CONTENT);
    const { space, array } = await openArray(server.url);
    await using _closed = space;
    const touch = (): void => {
      const { buffer, byteOffset } = array.data;
      writeSync(
        openSync(server.file('touched'), 'w'),
        new Uint8Array(buffer, byteOffset + BLOCK * 4, 4),
      );
    };
    assert.throws(touch, { code: 'EFAULT' });
    const connection = await ValkeyConnection.open(server.url);
    await connection.call(['SET', CONTENT, content]);
    connection.close();
    await sleep(1200);
    touch();
    assert.equal(array.data[BLOCK], 7);
  },
);

longTestWithValkey(
  'an array of which the server has lost what it was is not begun anew beside what is left of it',
  async () => {
    await using server = await ValkeyServer.start();
    await writeAll(server);
    await server.ask('DEL', '{onemem:numbers}:shape');
    const error = (await failsWith('DATA_LOST', () => openArray(server.url))) as OnememError;
    assert.match(
      error.message,
      /cannot open shared array numbers: unix:.* remove the rest of its keys \(\{onemem:numbers\}\*\)/,
    );
    await server.ask('FLUSHALL');
    const { space, array } = await openArray(server.url);
    assert.equal(array.data[0], 0);
    await space.close();
  },
);

type Change = (server: ValkeyServer) => Promise<unknown>;
const REFUSALS: readonly (readonly [string, RegExp, Change, Change])[] = [
  [
    'has no memory left',
    /answers with an error \(OOM .*\); give it more memory \(maxmemory\)/,
    (server) => server.ask('CONFIG', 'SET', 'maxmemory', 1),
    (server) => server.ask('CONFIG', 'SET', 'maxmemory', 0),
  ],
  [
    'has become a replica',
    /answers with an error \(READONLY .*\); make it the primary again .*name the primary/,
    (server) => server.ask('REPLICAOF', '127.0.0.1', 1),
    (server) => server.ask('REPLICAOF', 'NO', 'ONE'),
  ],
  [
    'lets the user of the url do less',
    /answers with an error \(NOPERM .*\); give that user the rights \(ACL SETUSER/,
    (server) => server.ask('ACL', 'SETUSER', 'default', '-evalsha', '-script'),
    (server) => server.ask('ACL', 'SETUSER', 'default', '+evalsha', '+script'),
  ],
  [
    'has something else in a key of the array',
    /answers with an error \(WRONGTYPE .*\); remove the key, which another program has written/,
    async (server) => {
      await server.ask('RENAME', KEY, 'aside');
      await server.ask('SET', KEY, 'other');
    },
    (server) => server.ask('RENAME', 'aside', KEY),
  ],
];
for (const [what, message, change, back] of REFUSALS) {
  variantTestWithValkey(
    `a server that ${what} is named to programs with what it says and the remedy, and they go on when it is past`,
    async () => {
      await using server = await ValkeyServer.start();
      await writeAll(server);
      const { space, array } = await openArray(server.url);
      await using _closed = space;
      assert.equal(array.data[0], 7);
      array.data[2 * BLOCK] = 9;
      await change(server);
      const error = (await failsWith('NODE_LOST', () => read(server, array, 1))) as OnememError;
      assert.match(error.message, message);
      assert.match(error.message, /elements 16384 .*shared by the server unix:/);
      assert.equal(error.details.url, server.url);
      await back(server);
      for (;;) {
        const failure = await array.fence().catch(({ code }: OnememError) => code);
        if (failure === undefined) break;
        assert.equal(failure, 'NODE_LOST');
      }
      sameData(array.data.subarray(BLOCK, 2 * BLOCK), () => 7);
      space.checkInvariants();
    },
  );
}

testWithValkey(
  'a fence and a barrier of what the server refuses to take are told what it says',
  async () => {
    await using server = await ValkeyServer.start();
    const { space, array } = await openArray(server.url);
    array.data[0] = 1;
    await array.fence();
    array.data[0] = 2;
    await server.ask('CONFIG', 'SET', 'maxmemory', 1);
    for (const call of [() => array.fence(), () => array.barrier('all', 1)]) {
      const error = (await failsWith('NODE_LOST', call)) as OnememError;
      assert.match(
        error.message,
        /answers with an error \(OOM .*maxmemory.*; writes stay in memory/,
      );
      assert.deepEqual(error.details, { array: 'numbers', url: server.url, said: 'OOM' });
    }
    await server.ask('CONFIG', 'SET', 'maxmemory', 0);
    while ((await array.fence().catch(({ code }: OnememError) => code)) !== undefined)
      await sleep(10);
    await server.ask('SET', '{onemem:numbers}:barrier:all:waiting', 'other');
    const error = await failsWith('NODE_LOST', async () => {
      for (;;) await array.barrier('all', 2, { timeoutMs: 20_000 });
    });
    assert.match(error.message, /WRONGTYPE .*remove the key/);
    await space.close();
  },
);

testWithValkey(
  'a call waits for a server that is down no longer than its limit, which the error names',
  async () => {
    await using server = await ValkeyServer.start();
    const { space, array } = await openArray(server.url);
    array.data[0] = 1;
    await array.fence();
    await server.stop();
    const during = async (call: Promise<void>): Promise<string> =>
      (await failsWith('NODE_LOST', () => call)).message;
    assert.match(
      await during(array.barrier('all', 2)),
      /no server listens there .*for 400 ms \(on\.timeoutMs of the array\)/,
    );
    const short = /no server listens there .*for 50 ms \(timeoutMs of the barrier\)/;
    assert.match(await during(array.barrier('all', 2, { timeoutMs: 50 })), short);
    array.data[0] = 2;
    assert.match(
      await during(array.barrier('all', 2, { timeoutMs: 50 })),
      short,
      'what is to be flushed first',
    );
    await failsWith('NODE_LOST', () => space.close());
  },
);

testWithValkey(
  'an array that this program has no room for takes no name on the server',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await openSpace({ hostMemory: '32MiB', storage: false });
    const on = { url: server.url };
    await failsWith('HOST_BUDGET', () =>
      space.sharedArray(Int32Array, 2 ** 24, { name: 'numbers', on }),
    );
    assert.equal(await server.ask('DBSIZE'), 0);
    await failsWith('SHARED_SERVER', () =>
      space.sharedArray(Int32Array, 2 ** 22, {
        name: 'numbers',
        on: { url: 'valkey://127.0.0.1:1' },
      }),
    );
    // What was set aside for that has been given back.
    const array = await space.sharedArray(Int32Array, 2 ** 22, { name: 'numbers', on });
    assert.equal(array.length, 2 ** 22);
  },
);

testWithValkey(
  'a space that is closed while its server is down says what is lost with it, and has been closed',
  async () => {
    await using server = await ValkeyServer.start();
    const { space, array } = await openArray(server.url);
    array.data[BLOCK] = 1;
    await array.fence();
    array.data[BLOCK] = 2;
    array.data[2 * BLOCK] = 2;
    await server.stop();
    const error = (await failsWith('NODE_LOST', () => space.close())) as OnememError;
    assert.match(
      error.message,
      /2 of the blocks of array numbers, the first from element 16384 on, are lost, .* the server unix:.* does not answer \(there is no connection/,
    );
    assert.deepEqual(error.details, {
      array: 'numbers',
      element: BLOCK,
      blocks: 2,
      url: server.url,
    });
    await space.close();
    await failsWith('SPACE_CLOSED', () => space.array(Int32Array, 1));
  },
);

testWithValkey(
  'a space that has flushed all is closed without complaint while its server is down',
  async () => {
    await using server = await ValkeyServer.start();
    const { space, array } = await openArray(server.url);
    array.data[0] = 1;
    assert.equal(array.data[BLOCK], 0);
    await array.fence();
    await server.stop();
    await space.close();
  },
);

longTestWithValkey(
  'what was written, went to storage and comes back spoiled is told as that, and not as a lease that ended',
  async () => {
    await using server = await ValkeyServer.start();
    const path = mkdtempSync(join(tmpdir(), 'onemem-spoiled-'));
    const space = await openSpace({ hostMemory: '32MiB', storage: { path, bytes: '64MiB' } });
    const array = await space.sharedArray(Int32Array, 9 * 2 ** 20, {
      ...optionsOf(server.url),
      blockBytes: '1MiB',
    });
    array.data.fill(7);
    for (const fd of readdirSync('/proc/self/fd')) {
      const spill = `/proc/self/fd/${fd}`;
      if (!(readlinkSync(spill, { encoding: 'utf8' }) ?? '').startsWith(path)) continue;
      const file = openSync(spill, 'r+');
      // The file may still grow.
      writeSync(file, Buffer.alloc(fstatSync(file).size, 1), 0, undefined, 0);
      fsyncSync(file);
    }
    const error = (await failsWith('DATA_LOST', () => array.fence())) as OnememError;
    assert.match(
      error.message,
      /array numbers from \d+ on were written here, went to storage .*a checksum does not match.*free it and open it again/,
    );
    assert.doesNotMatch(error.message, /lease/);
    await failsWith('DATA_LOST', () => array.barrier('all', 1));
    // The program has been told.
    await space.close();
    rmSync(path, { recursive: true });
  },
);

longTestWithValkey(
  'what was written and goes with a device is told with what helps a shared array, and nothing else',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await openSpace({
      hostMemory: '64MiB',
      devices: [{ kind: 'process', memory: '8MiB', lossy: true }],
    });
    const [device] = space.devices;
    const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server.url));
    await device.run(increment, { x: array }, { size: LENGTH });
    device.kill();
    while (device.stats().alive) await sleep(1);
    const { message } = await failsWith('DATA_LOST', () => array.fence());
    // The program has been told, and close() need not.
    await failsWith('DATA_LOST', () => array.fence());
    assert.match(
      message,
      /^elements of array numbers from \d+ on were written here and are lost, whose only copy was on a device that died; free it and open it again to get the flushed content: this program no longer shares it$/,
    );
  },
);

longTestWithValkey(
  'what is touched and was lost with a device is denied with what helps a shared array, and that helps',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await openSpace({
      hostMemory: '64MiB',
      devices: [{ kind: 'process', memory: '8MiB', lossy: true }],
    });
    const [device] = space.devices;
    const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server.url));
    array.data.fill(5);
    await array.fence();
    await device.run(increment, { x: array }, { size: LENGTH });
    device.kill();
    while (device.stats().alive) await sleep(1);
    const { message } = await failsWith('DATA_LOST', () => read(server, array, 0));
    assert.match(
      message,
      /touched array numbers, elements 0 to 1023 \(.*\), whose only copy was on a device that died; free it and open it again to get the flushed content$/,
    );
    array.free();
    const again = await space.sharedArray(Int32Array, LENGTH, optionsOf(server.url));
    sameData(again.data, () => 5);
  },
);

testWithValkey(
  'a barrier that waits when the array is freed, or the space closed, is told just that',
  async () => {
    await using server = await ValkeyServer.start();
    const { space, array } = await openArray(server.url);
    const freed = failsWith('USE_AFTER_FREE', () => array.barrier('never', 2));
    await sleep(50);
    array.free();
    assert.match((await freed).message, /array numbers has been freed/);
    for (const call of [() => array.fence(), () => array.barrier('never', 2)])
      assert.match(
        (await failsWith('USE_AFTER_FREE', call)).message,
        /^cannot (fence|wait at a barrier of) array numbers/,
      );
    const again = await space.sharedArray(Int32Array, LENGTH, optionsOf(server.url));
    assert.match(
      (await failsWith('SHARED_ARRAY', () => again.hold())).message,
      /^cannot hold a part of array numbers/,
    );
    // None of those that wait no more is counted by others.
    await failsWith('BARRIER_TIMEOUT', () => again.barrier('never', 2, { timeoutMs: 100 }));
    const closed = failsWith('SPACE_CLOSED', () => again.barrier('never', 2));
    await sleep(50);
    await space.close();
    await closed;
  },
);

await runTests();
