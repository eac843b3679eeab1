/**
 * Arrays that several programs share by a real server: what they see of each other, and of each
 * other's ends.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type AddressSpace, openSpace, type SharedArrayOptions } from '../../src/index.js';
import { Program } from '../harness/processes.js';
import { failsWith, runTests, sameData, sleep } from '../harness/suite.js';
import {
  longTestWithValkey,
  testWithValkey,
  ValkeyServer,
  variantTestWithValkey,
} from '../harness/valkey-server.js';
import { warningsOf } from '../harness/warnings.js';

/** Longer than a busy machine lets a process wait. */
const LONG_MS = 20_000;
const SHORT_LEASE_MS = 2000;
const LENGTH = 40_000;

function program(
  server: ValkeyServer,
  what: string,
  { leaseMs = LONG_MS, timeoutMs = LONG_MS, part = 0 } = {},
): Program {
  return new Program(
    'sharing-array',
    [what, server.url, String(leaseMs), String(timeoutMs), String(part)],
    {
      seconds: 60,
    },
  );
}

function open(): Promise<AddressSpace> {
  return openSpace({ hostMemory: '64MiB' });
}

function optionsOf(server: ValkeyServer, leaseMs = LONG_MS): SharedArrayOptions {
  return { name: 'numbers', on: { url: server.url, leaseMs, timeoutMs: LONG_MS } };
}

/** What a call fails with that is made until it does. */
async function firstFailure(
  call: () => Promise<unknown>,
): Promise<{ code: string; message: string }> {
  for (;;) {
    try {
      await call();
    } catch (error) {
      return error as { code: string; message: string };
    }
    await sleep(10);
  }
}

longTestWithValkey(
  'two programs read all that both have written, byte for byte, also within one block',
  async () => {
    await using server = await ValkeyServer.start();
    const programs = [0, 1].map((part) => program(server, 'halves', { part }));
    for (const each of programs) {
      const { code, stdout, stderr } = await each.outcome;
      assert.deepEqual([code, stdout], [0, 'wrong 0\n'], stderr);
    }
    await using space = await open();
    const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server));
    sameData(array.data, (i) => 3 * i + 1);
    space.checkInvariants();
  },
);

longTestWithValkey(
  'an array of more than the memory of its server is warned of, and one that has room is not',
  async () => {
    await using server = await ValkeyServer.start({ maxmemory: '8mb' });
    await using space = await open();
    const [warning, ...more] = await warningsOf(async () => {
      await space.sharedArray(Uint8Array, 6 * 2 ** 20, { ...optionsOf(server), name: 'small' });
      await space.sharedArray(Uint8Array, 8 * 2 ** 20, { ...optionsOf(server), name: 'large' });
    });
    assert.deepEqual(more, []);
    assert.match(
      `${warning.code}: ${warning.message}`,
      /^ONEMEM_STORAGE: shared array large has 8388608 bytes, which take about 10485760 bytes of a server, and there are 8388608 in all on unix:.*raise maxmemory/,
    );
  },
);

longTestWithValkey('atomic operations of two programs lose nothing', async () => {
  await using server = await ValkeyServer.start();
  const programs = [0, 1].map((part) => program(server, 'count', { part }));
  for (const each of programs) assert.equal((await each.outcome).stdout, '400 800\n');
});

longTestWithValkey(
  'others go on with what a program that is killed had flushed, and are told so',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open();
    const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server, SHORT_LEASE_MS));
    const lost: string[] = [];
    await array.watch({
      onInvalidate: ({ changes }) => {
        for (const { reason, begin, end } of changes)
          if (reason === 'lost') lost.push(`${begin} to ${end}`);
      },
    });
    const owner = program(server, 'own', { leaseMs: SHORT_LEASE_MS });
    await owner.line('owns');
    owner.signal('SIGKILL');
    assert.equal(array.data[0], 1);
    array.data[0] = 4;
    assert.equal(array.data[0], 4);
    while (lost.length === 0) await sleep(5);
    assert.deepEqual(lost, ['0 to 16384']);
    space.checkInvariants();
  },
);

longTestWithValkey(
  'what a program that stood still writes late is refused, and it hears that',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open();
    const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server, SHORT_LEASE_MS));
    const owner = program(server, 'own', { leaseMs: SHORT_LEASE_MS });
    await owner.line('owns');
    owner.signal('SIGSTOP');
    assert.equal(array.data[0], 1);
    array.data[0] = 3;
    owner.signal('SIGCONT');
    const { stdout, stderr } = await owner.outcome;
    assert.equal(stdout, 'owns\nlost 0 to 16384\nfence DATA_LOST\nreads 3\nwrote 5\n', stderr);
    assert.equal(array.data[0], 5);
  },
);

longTestWithValkey(
  'a server that is down is waited for, then denied by name; what was written goes there later',
  async () => {
    await using server = await ValkeyServer.start({ appendonly: 'yes', appendfsync: 'always' });
    const other = program(server, 'down', { timeoutMs: 400 });
    await other.line('ready');
    await server.stop();
    other.signal('SIGUSR2');
    assert.match(
      await other.line('barrier '),
      /^NODE_LOST: array numbers is shared by the server unix:.*, which does not answer .* writes stay in memory until it is back/,
    );
    assert.equal(await other.line('here '), '8');
    assert.equal(await other.line('far '), 'EFAULT after true wait');
    assert.equal(await other.line('fence '), 'NODE_LOST');
    await other.line('waits');
    await server.restart();
    const { code, stdout, stderr } = await other.outcome;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /waits\nfar 0\nhere 8\n$/);
    assert.match(
      stderr,
      /^onemem: denied access: thread \d+ read array numbers, elements 39936 to 39999 .*, which is on another machine, and cannot be had from there: array numbers is shared by the server unix:.*, which does not answer/,
    );
    await using space = await open();
    const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server));
    assert.equal(array.data[0], 8);
  },
);

longTestWithValkey(
  'a server that comes back with an older content tells the program that had flushed the newer one, and all read the older',
  async () => {
    await using server = await ValkeyServer.start();
    await using space = await open();
    await using others = await open();
    const options = optionsOf(server, SHORT_LEASE_MS);
    const [array, other] = [
      await space.sharedArray(Int32Array, LENGTH, options),
      await others.sharedArray(Int32Array, LENGTH, options),
    ];
    array.data.fill(1);
    await array.fence();
    await server.ask('SAVE');
    array.data.fill(2, 0, 100);
    await array.fence();
    process.kill(server.pid, 'SIGKILL');
    await server.restart();
    const error = await firstFailure(() => array.fence());
    assert.equal(error.code, 'DATA_LOST');
    assert.match(error.message, /1 of the blocks .* or the server came back with older content/);
    for (const each of [array, other]) sameData(each.data, () => 1);
    await array.fence();
    array.data[7] = 3;
    assert.equal(other.data[7], 3);
  },
);

const FORGETTING = [
  ['is killed and comes back empty', (server: ValkeyServer): Promise<unknown> => server.restart()],
  ['is emptied while it runs', (server: ValkeyServer): Promise<unknown> => server.ask('FLUSHALL')],
] as const;
for (const [how, forget] of FORGETTING) {
  variantTestWithValkey(
    `what a server had that ${how} is denied until each program opens the array again`,
    async () => {
      await using server = await ValkeyServer.start();
      await using space = await open();
      const options = optionsOf(server, SHORT_LEASE_MS);
      const array = await space.sharedArray(Int32Array, LENGTH, options);
      array.data.fill(3);
      await array.fence();
      const other = program(server, 'lose', { leaseMs: SHORT_LEASE_MS });
      await other.line('has 3');
      await forget(server);
      const error = await firstFailure(() => array.fence());
      assert.equal(error.code, 'DATA_LOST');
      assert.match(
        error.message,
        /has come back without array numbers: flushed and unflushed content is lost/,
      );
      assert.match(await other.line('lost '), /^0 to 40000$/);
      // It had the first block, and not the last.
      for (const what of ['near', 'far', 'written'])
        assert.match(await other.line(`${what} `), /^EFAULT/);
      assert.equal(await other.line('calls '), 'DATA_LOST DATA_LOST');

      // One program goes on; the other sees nothing of that before it agrees, and no barrier takes
      // the two for programs of one array.
      for (const call of [() => array.fence(), () => array.barrier('old', 2)])
        await failsWith('DATA_LOST', call);
      await failsWith('DATA_LOST', () => space.saveNpy(server.file('saved.npy'), array));
      array.free();
      const again = await space.sharedArray(Int32Array, LENGTH, options);
      sameData(again.data, () => 0);
      again.data[5] = 7;
      await again.fence();
      await failsWith('SHARED_MISMATCH', () =>
        space.sharedArray(Float64Array, LENGTH, optionsOf(server)),
      );
      await failsWith('BARRIER_TIMEOUT', () => again.barrier('old', 2, { timeoutMs: 300 }));
      other.signal('SIGUSR2');
      assert.match(await other.line('still '), /^EFAULT/);
      assert.equal(await other.line('again '), '0 7');
      assert.equal(again.data[6], 9);
      await again.barrier('both', 2);
      const { code, stderr } = await other.outcome;
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        /^onemem: warning: unix:.* has come back without array numbers: .* until it is freed and opened again/,
      );
      assert.match(
        stderr,
        /denied access: thread \d+ read array numbers, elements 39936 to 39999 .*, which was on the server unix:.* when that came back without it; free array numbers and open it again/,
      );
      assert.equal(stderr.split('warning').length, 2, stderr);
      space.checkInvariants();
    },
  );
}

testWithValkey('a server that stands still for a moment is waited for', async () => {
  await using server = await ValkeyServer.start();
  await using space = await open();
  const array = await space.sharedArray(Int32Array, LENGTH, optionsOf(server));
  server.signal('SIGSTOP');
  // The thread that touches the element can do nothing else.
  spawn('sh', ['-c', `sleep 0.5; kill -CONT ${server.pid}`]);
  const began = performance.now();
  assert.equal(array.data[0], 0);
  assert.ok(performance.now() - began > 300);
});

longTestWithValkey(
  'what has no room in host memory goes to storage and comes back, also to be flushed',
  async () => {
    await using server = await ValkeyServer.start();
    const options = { ...optionsOf(server), blockBytes: '1MiB' };
    const length = 9 * 2 ** 20;
    const space = await openSpace({ hostMemory: '32MiB' });
    const array = await space.sharedArray(Int32Array, length, options);
    for (let i = 0; i < length; i += 1024) array.data[i] = i + 1;
    for (let i = 0; i < length; i += 1024) assert.equal(array.data[i], i + 1);
    assert.ok((space.stats().storage?.bytesWritten ?? 0) > 0);
    space.checkInvariants();
    await space.close();
    await using other = await openSpace({ hostMemory: '32MiB' });
    const again = await other.sharedArray(Int32Array, length, options);
    for (let i = 0; i < length; i += 1024) assert.equal(again.data[i], i + 1);
  },
);

longTestWithValkey('the example goes on without the program that is killed', async () => {
  await using server = await ValkeyServer.start();
  const example = fileURLToPath(new URL('../../examples/sharing/tasks.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [example, server.url]);
  assert.equal(
    stdout,
    '20 tasks by the program that ended by SIGKILL, 44 by this one: all are right\n',
  );
});

testWithValkey('what cannot be shared is refused by name', async () => {
  await using server = await ValkeyServer.start();
  await using space = await open();
  const options = optionsOf(server);
  const array = await space.sharedArray(Float64Array, 1000, options);
  const again = await failsWith('SHARED_MISMATCH', () =>
    space.sharedArray(Int32Array, 1000, options),
  );
  assert.match(
    again.message,
    /has 1000 elements of Float64Array in blocks of 65536 bytes, and not 1000 elements of Int32Array/,
  );
  await failsWith('SHARED_MISMATCH', () => space.sharedArray(Float64Array, 1001, options));
  await failsWith('SHARED_MISMATCH', () =>
    space.sharedArray(Float64Array, 1000, { ...options, blockBytes: 4096 }),
  );
  await failsWith('SHARED_SERVER', () =>
    space.sharedArray(Float64Array, 1000, { name: 'x', on: { url: 'valkey://127.0.0.1:1' } }),
  );
  const on = { url: server.url, tls: { ca: 'a certificate' } };
  const plain = await failsWith('SHARED_SERVER', () =>
    space.sharedArray(Float64Array, 1000, { name: 'x', on }),
  );
  assert.match(
    plain.message,
    /on of array x has the url unix:.* and tls,.* write valkeys:\/\/HOST:PORT .*leave tls out/,
  );
  await failsWith('OPTIONS', () =>
    space.sharedArray(Float64Array, 1, { name: 'x', on: { ...on, tls: true as never } }),
  );
  await failsWith('NAME', () =>
    space.sharedArray(Float64Array, 1000, { ...options, name: 'a{b}' }),
  );
  await failsWith('BLOCK_BYTES', () =>
    space.sharedArray(Float64Array, 1000, { ...options, blockBytes: 5000 }),
  );
  await failsWith('BLOCK_BYTES', () =>
    space.sharedArray(Float64Array, 2 ** 27, { ...options, blockBytes: 4096 }),
  );
  const refused = await failsWith('SHARED_ARRAY', () => array.pin());
  assert.match(
    refused.message,
    /cannot pin .*array numbers: other machines share it.*local\.data\.set/,
  );
  await failsWith('SHARED_ARRAY', () => array.clone());
  await failsWith('SHARED_ARRAY', () => array.protect('read'));
  await failsWith('SHARED_ARRAY', () => array.discard());
  await failsWith('NOT_RESIZABLE', () => array.resize(5));
  array.free();
});

await runTests();
