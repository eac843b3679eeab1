/** Connections to a real Valkey or Redis server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { receiverOf } from '../../src/linux/sockets/receiving.js';
import { senderOf } from '../../src/linux/sockets/sending.js';
import { ValkeyConnection } from '../../src/valkey/connection.js';
import type { ValkeyError } from '../../src/valkey/errors.js';
import type { Reply } from '../../src/valkey/replies.js';
import { certificateFor, tlsSettings } from '../harness/certificates.js';
import { failsWith, note, runTests, test } from '../harness/suite.js';
import { freePort, testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const KIB = 1024;

/** Bytes of which no two parts are alike. */
function bytes(length: number, salt = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(at + salt, 2_654_435_761);
  return new Uint8Array(words.buffer, 0, length);
}

function same(actual: Uint8Array, expected: Uint8Array): void {
  assert.equal(Buffer.compare(actual, expected), 0);
}

testWithValkey(
  'values of every length come back as they were, into memory of ours or their own',
  async () => {
    await using server = await ValkeyServer.start();
    const connection = await ValkeyConnection.open(server.url);
    assert.match(connection.info.version, /^\d+\./);
    assert.equal(connection.info.mode, 'standalone');
    const lengths = [0, 1, 2047, 2048, 4096, 64 * KIB + 3, 2048 * KIB];
    const values = lengths.map((length) => bytes(length, length));
    const written = values.map((value, n) => connection.call(['SET', `{s}key ${n}`, value]));
    assert.deepEqual(
      await Promise.all(written),
      lengths.map(() => 'OK'),
    );
    const own = await Promise.all(values.map((_, n) => connection.call(['GET', `{s}key ${n}`])));
    for (const [n, value] of values.entries()) same(own[n] as Uint8Array, value);
    const targets = lengths.map((length) => new Uint8Array(length));
    await Promise.all(
      targets.map((target, n) => connection.call(['GET', `{s}key ${n}`], [target])),
    );
    for (const [n, value] of values.entries()) same(targets[n], value);
    connection.close();
  },
);

testWithValkey(
  'long values that a thread stands still for come whole, one behind the other, and one that does not fit harms no other',
  async () => {
    await using server = await ValkeyServer.start();
    let received = 0;
    const connection = await ValkeyConnection.open(server.url, {
      receiverOf: (fd) => {
        const receive = receiverOf(fd, 4);
        if (receive === null) return null;
        return (first, second) => {
          const count = receive(first, second);
          received += count;
          return count;
        };
      },
    });
    const lengths = [2048 * KIB, 64 * KIB + 3, 5, 3000 * KIB, 40 * KIB];
    await Promise.all(
      lengths.map((length, n) => connection.call(['SET', `key ${n}`, bytes(length, n)])),
    );
    const targets = lengths.map((length) => new Uint8Array(length));
    const small = new Uint8Array(1024 * KIB);
    const calls = lengths.map((_, n) => connection.call(['GET', `key ${n}`], [targets[n]]));
    const tooLarge = failsWith('TOO_LARGE', () => connection.call(['GET', 'key 3'], [small]));
    const after = connection.call(['GET', 'key 1']);
    await Promise.all(calls);
    for (const [n, target] of targets.entries()) same(target, bytes(lengths[n], n));
    await tooLarge;
    same((await after) as Uint8Array, bytes(lengths[1], 1));
    assert.ok(
      received > 2000 * KIB,
      `${received} bytes were received while the thread stood still`,
    );
    connection.close();
  },
);

testWithValkey(
  'short commands that a socket takes only in part arrive whole, between long ones and in their order',
  async () => {
    await using server = await ValkeyServer.start();
    let taken = 0;
    const connection = await ValkeyConnection.open(server.url, {
      senderOf: (fd) => {
        const send = senderOf(fd);
        return (content, length) =>
          send(content, taken++ % 3 === 0 ? length : length >> (taken % 2));
      },
    });
    for (let n = 0; n < 20; n++) {
      assert.equal(await connection.call(['SET', 'key', `${n} \u00e4\u20ac`]), 'OK');
      const answers = [
        connection.call(['APPEND', 'key', '.']),
        connection.call(['SET', 'long', bytes(512 * KIB, n)]),
        connection.call(['APPEND', 'key', '!']),
        connection.call(['GET', 'key']),
      ];
      assert.equal(
        Buffer.from((await Promise.all(answers))[3] as Uint8Array).toString(),
        `${n} \u00e4\u20ac.!`,
      );
    }
    same((await connection.call(['GET', 'long'])) as Uint8Array, bytes(512 * KIB, 19));
    assert.ok(taken >= 40, `${taken} commands went past the stream`);
    connection.close();
  },
);

testWithValkey('strings of one answer go to the places of each', async () => {
  await using server = await ValkeyServer.start();
  const connection = await ValkeyConnection.open(server.url);
  void connection.call(['MSET', 'a', bytes(10), 'c', bytes(5000)]);
  const into = [new Uint8Array(10), new Uint8Array(10), new Uint8Array(5000)];
  const answer = (await connection.call(['MGET', 'a', 'b', 'c'], into)) as Reply[];
  assert.equal(answer[1], null);
  same(into[0], bytes(10));
  same(into[1], new Uint8Array(10));
  same(into[2], bytes(5000));
  await failsWith('TOO_LARGE', () => connection.call(['GET', 'c'], [new Uint8Array(10)]));
  assert.equal(await connection.call(['PING']), 'PONG');
  connection.close();
});

testWithValkey('errors of the server are named and cost no other command', async () => {
  await using server = await ValkeyServer.start({ maxmemory: '4mb' });
  const connection = await ValkeyConnection.open(server.url);
  const full = connection.call(['SET', 'k', bytes(8192 * KIB)]);
  const again = connection.call(['SET', 'l', 'x']);
  const wrong = connection.call(['GET']);
  const well = connection.call(['PING']);
  await Promise.allSettled([full, again, wrong]);
  const first = (await Promise.allSettled([full]))[0];
  if (first.status === 'fulfilled')
    assert.equal(((await failsWith('REPLY', () => again)) as ValkeyError).word, 'OOM');
  else assert.equal((first.reason as ValkeyError).word, 'OOM');
  assert.equal(((await failsWith('REPLY', () => wrong)) as ValkeyError).word, 'ERR');
  assert.equal(await well, 'PONG');
  connection.close();
});

testWithValkey('passwords, users and databases of a url are heeded', async () => {
  await using server = await ValkeyServer.start({ requirepass: 'sesame & co' });
  const refused = await failsWith('REFUSED', () => ValkeyConnection.open(server.url));
  assert.match(refused.message, /wants a password/);
  const wrong = await failsWith('REFUSED', () =>
    ValkeyConnection.open(`${server.url}?password=open`),
  );
  assert.match(wrong.message, /user and password/);
  assert.doesNotMatch(wrong.message, /open$/);
  const connection = await ValkeyConnection.open(
    `${server.url}?password=${encodeURIComponent('sesame & co')}&db=3`,
  );
  await connection.call(['SET', 'k', 'v']);
  assert.match(
    String(Buffer.from((await connection.call(['INFO', 'keyspace'])) as Uint8Array)),
    /db3:keys=1/,
  );
  connection.close();
});

testWithValkey('TLS is spoken where the url says so, and a stranger is not believed', async () => {
  const made = certificateFor('IP:127.0.0.1');
  if (made === null) return note('SKIPPED: there is no openssl to make a certificate');
  const port = await freePort();
  await using server = await ValkeyServer.start(tlsSettings(made, port));
  const url = `valkeys://127.0.0.1:${port}`;
  const { message } = await failsWith('UNREACHABLE', () => ValkeyConnection.open(url));
  assert.match(
    message,
    /its certificate is not believed .*; give the certificate of its signer as tls\.ca/,
  );
  const connection = await ValkeyConnection.open(url, { tls: { ca: made.ca } });
  const value = bytes(2048 * KIB);
  const read = new Uint8Array(value.length);
  await connection.call(['SET', 'k', value]);
  await connection.call(['GET', 'k'], [read]);
  same(read, value);
  connection.close();
  assert.ok(server.pid > 0);
});

testWithValkey('what the server says unasked is heard, between answers', async () => {
  await using server = await ValkeyServer.start();
  const heard: unknown[] = [];
  let told = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    told = resolve;
  });
  const onPush = ([kind, keys]: readonly Reply[]): void => {
    heard.push(text(kind), (keys as Uint8Array[]).map(text));
    told();
  };
  const reader = await ValkeyConnection.open(server.url, { onPush });
  await reader.call(['CLIENT', 'TRACKING', 'ON', 'NOLOOP']);
  await reader.call(['GET', 'k']);
  await server.ask('SET', 'k', 'v');
  await first;
  assert.deepEqual(heard, ['invalidate', ['k']]);
  assert.equal(text(await reader.call(['GET', 'k'])), 'v');
  reader.close();
});

function text(reply: Reply): string {
  return Buffer.from(reply as Uint8Array).toString();
}

testWithValkey('a server that dies fails what waits, and what comes after, by name', async () => {
  await using server = await ValkeyServer.start();
  let reason: ValkeyError | null = null;
  const connection = await ValkeyConnection.open(server.url, {
    onEnd: (error) => {
      reason = error;
    },
  });
  server.signal('SIGSTOP');
  const waiting = failsWith('ENDED', () => connection.call(['GET', 'k']));
  await server.stop();
  await waiting;
  assert.equal(connection.isOpen, false);
  assert.equal((reason as ValkeyError | null)?.code, 'ENDED');
  await failsWith('ENDED', () => connection.call(['GET', 'k']));
  const error = await failsWith('UNREACHABLE', () => ValkeyConnection.open(server.url));
  assert.match(error.message, /there is no connection to unix:.*ECONNREFUSED/);
});

testWithValkey(
  'a server that stands still fails what waits after the time that it has, and not a connection that asks nothing',
  async () => {
    await using server = await ValkeyServer.start();
    const connection = await ValkeyConnection.open(server.url, { timeoutMs: 100 });
    const idle = await ValkeyConnection.open(server.url, { timeoutMs: 100 });
    server.signal('SIGSTOP');
    const error = await failsWith('TIMEOUT', () => connection.call(['GET', 'k']));
    assert.match(error.message, /has not answered for 100 ms/);
    await failsWith('TIMEOUT', () => ValkeyConnection.open(server.url, { timeoutMs: 100 }));
    assert.equal(idle.isOpen, true);
    server.signal('SIGCONT');
    assert.equal(await idle.call(['PING']), 'PONG');
    idle.close();
  },
);

testWithValkey(
  'a server that stands still fails what waits in time, whatever else is asked meanwhile',
  async () => {
    await using server = await ValkeyServer.start();
    const connection = await ValkeyConnection.open(server.url, { timeoutMs: 400 });
    server.signal('SIGSTOP');
    const begun = performance.now();
    const asking = setInterval(() => void connection.call(['PING']).catch(() => undefined), 50);
    setTimeout(() => clearInterval(asking), 30_000).unref();
    await failsWith('TIMEOUT', () => connection.call(['GET', 'k']));
    clearInterval(asking);
    assert.ok(performance.now() - begun < 20_000, `${performance.now() - begun} ms`);
  },
);

/** Listens, and answers each connection that says something with the same. */
async function saying(answer: string): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) =>
    socket.on('error', () => undefined).once('data', () => socket.write(answer)),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `valkey://127.0.0.1:${(server.address() as { port: number }).port}` };
}

for (const [what, code, answer] of [
  ['speaks another language', 'PROTOCOL', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['is too old', 'REFUSED', '%1\r\n+version\r\n+6.2.14\r\n'],
  ['knows no HELLO', 'REFUSED', '-ERR unknown command HELLO\r\n'],
  ['says more than it was asked', 'PROTOCOL', '%1\r\n+version\r\n+7.0.15\r\n+OK\r\n'],
])
  test(`a server that ${what} is refused`, async () => {
    const { server, url } = await saying(answer);
    await failsWith(code, () => ValkeyConnection.open(url, { timeoutMs: 2000 }));
    server.close();
    await once(server, 'close');
  });

/**
 * What a port does that is no Valkey server's, what the way to it is called, and what the program
 * is told.
 */
const WRONG_WAYS: readonly [what: string, (socket: Socket) => void, protocol: string, RegExp][] = [
  [
    'of another program',
    (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'valkey',
    /^valkey:\/\/127\.0\.0\.1:\d+: an answer of the kind 'H' came, .*; name the host and port of a Valkey server, and write valkeys:/,
  ],
  [
    'of another program, by TLS',
    (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'valkeys',
    /it does not speak TLS there \([^\n:]*\); write valkey:\/\/ where the server speaks no TLS/,
  ],
  [
    'that says nothing',
    () => undefined,
    'valkey',
    /has not answered for 200 ms; see whether it is a Valkey server.*valkeys:/,
  ],
  [
    'that says nothing, by TLS',
    () => undefined,
    'valkeys',
    /has not answered for 200 ms; .*write valkey:\/\/ where the server/,
  ],
  [
    'that closes what it does not know',
    (socket) => socket.resume().end(),
    'valkey',
    /the server closed it; write valkeys:/,
  ],
];

for (const [what, serve, protocol, message] of WRONG_WAYS)
  test(`a port ${what} is told from a server, with what to write instead`, async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      serve(socket.on('error', () => undefined));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const open = () => ValkeyConnection.open(`${protocol}://127.0.0.1:${port}`, { timeoutMs: 200 });
    const error: Error = await open().then(
      () => assert.fail('it was opened'),
      (reason: Error) => reason,
    );
    assert.match(error.message, message);
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
    const closed = await failsWith('UNREACHABLE', open);
    assert.match(
      closed.message,
      /no server listens there \(connect ECONNREFUSED .*\); start it, or correct host and port/,
    );
  });

testWithValkey(
  'a server that speaks no TLS where the url says so, and one that wants it, are told from each other',
  async () => {
    const made = certificateFor('IP:127.0.0.1');
    if (made === null) return note('SKIPPED: there is no openssl to make a certificate');
    const [plain, secret] = [await freePort(), await freePort()];
    await using server = await ValkeyServer.start(tlsSettings(made, secret), plain);
    const options = { timeoutMs: 1000, tls: { ca: made.ca } };
    const silent = await failsWith('TIMEOUT', () =>
      ValkeyConnection.open(`valkeys://127.0.0.1:${plain}`, options),
    );
    assert.match(silent.message, /write valkey:\/\/ where the server speaks no TLS/);
    const refused = await failsWith('UNREACHABLE', () =>
      ValkeyConnection.open(`valkey://127.0.0.1:${secret}`, options),
    );
    assert.match(refused.message, /write valkeys:\/\/ where the server wants TLS/);
    assert.ok(server.pid > 0);
  },
);

await runTests();
