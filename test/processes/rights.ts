/** What handles allow, and clients that lie, flood, or say nothing: the owner is unharmed. */
import assert from 'node:assert/strict';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { SOCK_STREAM } from '../../src/linux/base/constants.js';
import { addressOf, closeDescriptor, libc } from '../../src/linux/base/libc.js';
import { NativeBuffer } from '../../src/linux/base/native-buffer.js';
import { createMemoryFile } from '../../src/linux/memory/memory.js';
import { createWordFile } from '../../src/linux/memory/shared-word.js';
import { Userfaultfd } from '../../src/linux/memory/userfaultfd.js';
import { connectLocally, setNonBlocking } from '../../src/linux/sockets/local-socket.js';
import { createSocketPair, MessageSocket } from '../../src/linux/sockets/socket.js';
import { readHandle, socketName } from '../../src/pager/protocol/attaching.js';
import { encodeFrame } from '../../src/pager/protocol/frames.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { openFiles } from '../harness/descriptors.js';
import { forged, random } from '../harness/forged-requests.js';
import { failsWith, LONG, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const LENGTH = 1 << 20;

function withSpace(
  action: (space: AddressSpace, x: Int32Array) => Promise<void>,
): () => Promise<void> {
  return async () => {
    await using space = await openSpace({
      hostMemory: '64MiB',
      devices: [{ kind: 'process', memory: '8MiB' }],
    });
    const x = space.array(Int32Array, LENGTH, { name: 'x' });
    x.data.fill(5);
    await action(space, x.data);
    // Whatever came, the space serves its own threads and others.
    await using agent = await attachedAgent(space.share());
    assert.equal(await agent.do('make', 'last', 100, 3), space.share());
    assert.equal(await agent.do('sum', 'last'), 300);
    space.checkInvariants();
  };
}

longTest(
  'a handle to read shows the array, and a store through it ends the process in a line',
  withSpace(async (space, x) => {
    const agent = await attachedAgent(space.share({ rights: 'read' }));
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
    assert.equal(await agent.endsBy('fill', 'x', 0, 10, 1), 'SIGBUS');
    assert.match(
      agent.stderr,
      /denied access: this process .* array x, elements 0 to 1023 .* allows to read alone/,
    );
    sameData(x, () => 5);
  }),
);

/** Calls of `changes` that no attached process may make, whatever its handle. */
const OF_THE_OWNER = 'addDevice detach guard kill restart setHostMemory';

test(
  'a handle to read refuses each call that changes something, by name',
  withSpace(async (space, x) => {
    space.array(Int32Array, LENGTH, { name: 'y' });
    await using agent = await attachedAgent(space.share({ rights: 'read' }));
    for (const [call, outcome] of Object.entries(await agent.do('changes')))
      assert.equal(
        outcome,
        OF_THE_OWNER.split(' ').includes(call) ? 'OTHER_PROCESS' : 'ACCESS_DENIED',
        call,
      );
    sameData(x, () => 5);
  }),
);

longTest(
  'an atomic operation that stores ends a process that may only read, in a line',
  withSpace(async (space, x) => {
    for (const operation of ['add', 'store', 'exchange', 'compareExchange'] as const) {
      const agent = await attachedAgent(space.share({ rights: 'read' }));
      assert.equal(await agent.endsBy('atomically', 'x', operation), 'SIGBUS', operation);
      assert.match(agent.stderr, /array x, elements 0 to 1023 .* allows to read alone/);
    }
    sameData(x, () => 5);
  }),
);

test(
  'a process that may only read reads by all calls, waits for an element, and wakes others',
  withSpace(async (space, x) => {
    await using agent = await attachedAgent(space.share({ rights: 'read' }));
    const array = space.find<Int32Array>('x');
    assert.deepEqual(await agent.do('readAll', 'x'), [4 * LENGTH, 4 * LENGTH]);
    assert.equal(await agent.do('wait', 'x', 7, 4), 'not-equal');
    const waiting = agent.do('wait', 'x', 7, 5);
    while (array !== null && space.notify(array, 7) === 0) await sleep(1);
    assert.equal(await waiting, 'ok');
    assert.equal(await agent.do('notify', 'x', 7), 0);
    await using writer = await attachedAgent(space.share());
    const other = writer.do('wait', 'x', 8, 5);
    while ((await agent.do('notify', 'x', 8)) === 0) await sleep(1);
    assert.equal(await other, 'ok');
    sameData(x, () => 5);
  }),
);

longTest(
  'a handle of one array does not show another one',
  withSpace(async (space) => {
    const y = space.array(Int32Array, LENGTH, { name: 'y' });
    y.data.fill(1);
    const agent = await attachedAgent(space.share({ arrays: [y] }));
    assert.equal(await agent.do('sum', 'y'), LENGTH);
    await assert.rejects(agent.do('sum', 'x'), /there is no array x/);
    await failsWith('ACCESS_DENIED', () => agent.do('make', 'z', 10, 1));
    await agent.kill();
  }),
);

longTest(
  'a page that may not be read ends the process that touches it in a line',
  withSpace(async (space) => {
    const y = space.array(Int32Array, LENGTH, { name: 'y' });
    await y.protect('none');
    const agent = await attachedAgent(space.share());
    assert.equal(await agent.endsBy('sum', 'y'), 'SIGBUS');
    assert.match(
      agent.stderr,
      /touched array y, elements 0 to 1023 .* protected against all access/,
    );
  }),
);

/** A connection to the owner that has said nothing yet. */
function connect(handle: string): MessageSocket {
  const parts = readHandle(handle);
  const connected = connectLocally(socketName(parts?.socket ?? ''));
  if ('errno' in connected) throw new Error(`errno ${connected.errno}`);
  return new MessageSocket(connected.fd);
}

async function answer(socket: MessageSocket): Promise<string> {
  for (;;) {
    const message = socket.receive();
    if (message === 'closed') return 'closed';
    if (message !== null) {
      for (const fd of message.fds ?? []) closeDescriptor(fd);
      return Buffer.from(message.bytes).toString();
    }
    await sleep(2);
  }
}

longTest(
  'a wrong or old token is refused, and so is another version',
  withSpace(async (space) => {
    const handle = space.share();
    const wrong = `${handle.slice(0, -4)}0000`;
    await using agent = new Agent();
    await failsWith('SPACE_HANDLE', () => agent.do('attach', wrong));
    const socket = connect(handle);
    socket.send(
      Buffer.from(JSON.stringify({ onemem: 99, token: readHandle(handle)?.token, codec: 'v8' })),
    );
    assert.match(await answer(socket), /SPACE_HANDLE.*version/);
    socket.close();
  }),
);

test(
  'a thread more than there is room for is refused, until others end',
  withSpace(async (space) => {
    const handle = space.share();
    for (let round = 0; round < 20; round++) {
      const silent = Array.from({ length: 64 }, () => connect(handle));
      const late = connect(handle);
      assert.equal(await answer(late), 'closed');
      late.close();
      for (const socket of silent) socket.close();
      // The owner hears of these ends and of the new thread at once.
      const next = connect(handle);
      next.send(Buffer.from('{}'));
      assert.match(await answer(next), /refused/);
      next.close();
    }
  }),
);

test(
  'garbage instead of a greeting is refused',
  withSpace(async (space) => {
    const handle = space.share();
    for (const garbage of [' ', '{', 'null', '[]', '{"token":1}', '\0'.repeat(1000)]) {
      const socket = connect(handle);
      socket.send(Buffer.from(garbage));
      assert.match(await answer(socket), /refused/);
      socket.close();
    }
  }),
);

/** A client that has attached by hand, and says what it likes. */
class RudeClient {
  private readonly stream: number;
  private readonly life: number;
  private readonly area = new NativeBuffer(64 * 1024);

  private constructor(
    [stream, life]: readonly number[],
    /** Which client it is. */
    readonly number: number,
  ) {
    this.stream = stream;
    this.life = life;
    setNonBlocking(stream);
  }

  static async attach(handle: string): Promise<RudeClient> {
    const socket = connect(handle);
    socket.send(
      Buffer.from(JSON.stringify({ onemem: 1, token: readHandle(handle)?.token, codec: 'v8' })),
    );
    const offer = JSON.parse(await answer(socket)) as { mapped: number | null };
    const pairs = [createSocketPair(SOCK_STREAM), createSocketPair(SOCK_STREAM)];
    const theirs = pairs.map(([, there]) => there);
    const faults = offer.mapped === null ? Userfaultfd.open() : null;
    socket.send(Buffer.from('{"faults":-1}'), faults === null ? theirs : [...theirs, faults.fd]);
    faults?.close();
    for (const fd of theirs) closeDescriptor(fd);
    const { client } = JSON.parse(await answer(socket)) as { client: number };
    socket.close();
    const streams = pairs.map(([here]) => here);
    return new RudeClient(streams, client);
  }

  /** Sends bytes with a descriptor, if the owner takes them. */
  send(bytes: Uint8Array, fd: number): void {
    try {
      new MessageSocket(this.stream).send(bytes, [fd]);
    } catch {}
  }

  /** The answer, as text. */
  async ask(message: unknown, fd?: number): Promise<string> {
    const frame = encodeFrame(message, 'v8');
    if (fd === undefined) libc.write(this.stream, addressOf(frame), frame.length);
    else this.send(frame, fd);
    for (;;) {
      const count = libc.read(this.stream, this.area.address, this.area.length);
      if (count > 0) return Buffer.from(this.area.bytes.subarray(0, count)).toString('latin1');
      await sleep(2);
    }
  }

  /** Says it, as far as the owner takes it. */
  say(bytes: Uint8Array): void {
    libc.write(this.stream, addressOf(bytes), bytes.length);
    while (libc.read(this.stream, this.area.address, this.area.length) > 0);
  }

  close(): void {
    closeDescriptor(this.stream);
    closeDescriptor(this.life);
  }
}

/** Says a thousand of them by each of some connections. */
async function sayForged(handle: string, seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) {
    const next = random(seed);
    const client = await RudeClient.attach(handle);
    for (let count = 0; count < 1000; count++) {
      client.say(encodeFrame(forged(next, client.number), 'v8'));
      if (count % 50 === 0) await sleep(0);
    }
    client.close();
  }
}

const SEEDS = Array.from({ length: LONG ? 10 : 1 }, (_, index) => index + 1);

longTest(
  'forged requests harm nobody',
  withSpace(async (space) => {
    await sayForged(space.share(), SEEDS);
    space.checkInvariants();
  }),
  60,
);

test(
  'forged requests change no array that their handle does not allow',
  withSpace(async (space, x) => {
    const open = space.array(Int32Array, LENGTH, { name: 'open' });
    await sayForged(space.share({ arrays: [open] }), SEEDS);
    space.checkInvariants();
    sameData(x, () => 5);
  }),
  60,
);

/** A request that names a descriptor. */
function watchRequest(memory: number, first: number): Record<string, unknown> {
  const array = { range: 1, name: 'x', firstPage: 0, count: 4, elementBytes: 4, length: 4096 };
  const value = { ...array, id: first + 1, source: null, owner: null, queue: null, memory };
  return { id: 1, name: 'watch', value };
}

function fileRequest(fd: number): Record<string, unknown> {
  const file = { fd, path: '/dev/null', offset: 0, bytes: 4096, shared: true, mapped: false };
  const array = { bytes: 4096, name: 'f', writable: true, provider: null, elementBytes: 4 };
  return { id: 1, name: 'allocate', value: { ...array, file, type: 'i32' } };
}

test(
  'descriptors that are not what requests say are refused, and none is left',
  withSpace(async (space) => {
    const handle = space.share();
    for (let round = 0; round < 3; round++) {
      const client = await RudeClient.attach(handle);
      const first = client.number * 2 ** 20;
      const [pipe, word] = [createSocketPair(SOCK_STREAM), createWordFile()];
      const memory = createMemoryFile('rude', 4096);
      // One of the owner's own, a socket, and a file that may become shorter.
      for (const request of [watchRequest(0, first), fileRequest(0)]) {
        assert.match(await client.ask(request), /names one and has none/);
        const wrong = request.name === 'watch' ? memory : pipe[0];
        assert.match(await client.ask({ ...request, carries: true }, wrong), /not what it says/);
      }
      assert.match(
        await client.ask({ id: 1, name: 'stats', value: null, carries: true }, memory),
        /names none/,
      );
      assert.match(
        await client.ask({ ...watchRequest(0, 0), carries: true }, word),
        /another client/,
      );
      for (let count = 0; count < 100; count++) client.send(Uint8Array.of(0), memory);
      for (const fd of [...pipe, memory, word]) closeDescriptor(fd);
      client.close();
    }
    while (openFiles().some((link) => /rude|onemem-word/.test(link))) await sleep(5);
  }),
);

longTest(
  'a client that floods and reads nothing is served or cut off, and others go on',
  withSpace(async (space, x) => {
    const agents = await Promise.all([1, 2].map(() => attachedAgent(space.share())));
    for (const agent of agents) agent.process.send({ deed: 'flood', args: ['x'] });
    for (let round = 0; round < 50; round++) {
      for (let i = 0; i < LENGTH; i += 512) x[i]++;
      await sleep(10);
    }
    for (const agent of agents) await agent.kill();
    assert.equal(x[0], 55);
  }),
  60,
);

await runTests();
