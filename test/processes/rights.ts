/** What handles allow, and clients that lie, flood, or say nothing: the owner is unharmed. */
import assert from 'node:assert/strict';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { SOCK_STREAM } from '../../src/linux/base/constants.js';
import { addressOf, closeDescriptor, libc } from '../../src/linux/base/libc.js';
import { NativeBuffer } from '../../src/linux/base/native-buffer.js';
import { Userfaultfd } from '../../src/linux/memory/userfaultfd.js';
import { connectLocally, setNonBlocking } from '../../src/linux/sockets/local-socket.js';
import { createSocketPair, MessageSocket } from '../../src/linux/sockets/socket.js';
import { readHandle, socketName } from '../../src/pager/protocol/attaching.js';
import { encodeFrame } from '../../src/pager/protocol/frames.js';
import { Agent, attachedAgent } from '../harness/agents.js';
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

longTest(
  'a handle to read refuses calls that change something, by name',
  withSpace(async (space, x) => {
    await using agent = await attachedAgent(space.share({ rights: 'read' }));
    for (const call of [
      () => agent.do('make', 'y', 10, 1),
      () => agent.do('free', 'x'),
      () => agent.do('pin', 'x'),
      () => agent.do('clone', 'x', 'z'),
    ])
      await failsWith('ACCESS_DENIED', call);
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
  for (let tries = 0; tries < 1000; tries++) {
    const message = socket.receive();
    if (message === 'closed') return 'closed';
    if (message !== null) {
      for (const fd of message.fds ?? []) closeDescriptor(fd);
      return Buffer.from(message.bytes).toString();
    }
    await sleep(2);
  }
  return 'nothing';
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
  'garbage instead of a greeting is refused, and silence is cut off by more that come',
  withSpace(async (space) => {
    const handle = space.share();
    const silent = Array.from({ length: 64 }, () => connect(handle));
    const late = connect(handle);
    assert.equal(await answer(late), 'closed');
    late.close();
    for (const socket of silent) socket.close();
    for (const garbage of ['', '{', 'null', '[]', '{"token":1}', '\0'.repeat(1000)]) {
      const socket = connect(handle);
      if (garbage !== '') socket.send(Buffer.from(garbage));
      else socket.send(Buffer.from(' '));
      assert.match(await answer(socket), /refused|closed/);
      socket.close();
    }
  }),
);

longTest(
  'a descriptor that serves no faults is no member, and leaves nothing',
  withSpace(async (space) => {
    const handle = space.share();
    const socket = connect(handle);
    socket.send(
      Buffer.from(JSON.stringify({ onemem: 1, token: readHandle(handle)?.token, codec: 'v8' })),
    );
    assert.match(await answer(socket), /"base"/);
    const [one, two] = createSocketPair(SOCK_STREAM);
    socket.send(Buffer.from('{"faults":1}'), [one, two, one]);
    await answer(socket);
    for (const fd of [one, two]) closeDescriptor(fd);
    socket.close();
  }),
);

longTest(
  'another user is refused',
  withSpace(async (space) => {
    const NOBODY = 65534;
    await using agent = new Agent({ uid: NOBODY, gid: NOBODY });
    const handle = space.share();
    await failsWith('OWNER_LOST', () => agent.do('attach', handle));
  }),
);

/** Reproducible random numbers. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const ARRAY = { range: 1, name: 'x', firstPage: 0, count: 4 };
const PLACE = { range: 1, name: 'x', offset: 0 };
const PARAMETER = { name: 'x', kind: 'array', type: 'i32', use: 'inout', offset: 0, length: 100 };
const OPERATION = { stream: 2 ** 20 + 1, sequence: 1 };
const LAUNCH = {
  ...OPERATION,
  kind: 'launch',
  device: 1,
  kernelName: 'k',
  code: { kind: 'inline', source: '({ x }) => { x[0] = 1 }' },
  parameters: [PARAMETER],
  begin: 0,
  end: 100,
  size: 100,
  arrays: [ARRAY],
  gathers: [],
  timeoutMs: null,
};
/** Requests as they are, most of them. */
const REQUESTS: readonly (readonly [string, unknown])[] = [
  [
    'allocate',
    {
      bytes: 4096,
      name: 'a',
      writable: true,
      file: null,
      provider: null,
      elementBytes: 4,
      type: 'i32',
    },
  ],
  ['resize', { range: 1, name: 'x', bytes: 8192 }],
  ['clone', { range: 1, name: 'x', cloneName: 'c' }],
  [
    'attachArray',
    { range: 1, firstPage: 0, pages: 1024, bytes: 4 * LENGTH, elementBytes: 4, name: 'x' },
  ],
  ['protect', { ...ARRAY, access: 1 }],
  [
    'advise',
    {
      ...ARRAY,
      firstPage: 0,
      count: 512,
      change: { readMostly: true, preferred: 1, accessedBy: 3 },
    },
  ],
  ['pin', { ...ARRAY, pin: 2 ** 20 + 1, lock: false, writable: false, hold: false }],
  ['unpin', { pin: 2 ** 20 + 1 }],
  ['viewed', { range: 1, name: 'x' }],
  ['unviewed', { range: 1 }],
  ['residency', ARRAY],
  ['readBytes', { ...PLACE, bytes: 64 }],
  ['discard', ARRAY],
  ['young', { ...ARRAY, clear: true }],
  ['pointer', { offset: 5 }],
  ['enqueue', LAUNCH],
  ['enqueue', { ...OPERATION, ...ARRAY, kind: 'prefetch', device: 1, exclusive: false }],
  [
    'enqueue',
    {
      ...OPERATION,
      kind: 'copy',
      to: PLACE,
      from: { ...PLACE, offset: 8192 },
      bytes: 64,
      at: null,
    },
  ],
  ['enqueue', { ...OPERATION, kind: 'wait', other: 5, otherSequence: 3, failure: null }],
  ['enqueue', { ...OPERATION, ...ARRAY, kind: 'free', whole: false }],
  ['enqueue', { ...OPERATION, kind: 'call', thread: -1 }],
  ['cancel', { stream: 2 ** 20 + 1, sequence: null, ended: true, reason: 'r' }],
  ['called', { ...OPERATION, error: null }],
  ['endStream', { stream: 2 ** 20 + 1 }],
  [
    'addDevice',
    { options: { kind: 'process', name: 'd', memoryBytes: 2 ** 23, units: 1, lossy: false } },
  ],
  ['shareSpace', { rights: 'write', ranges: null }],
  ['close', { timeoutMs: 0, closed: [] }],
  ['stats', null],
  ['constructor', null],
];
const ODD = [
  0,
  1,
  -1,
  2 ** 31,
  2 ** 53,
  1e300,
  Number.NaN,
  0.5,
  7,
  4096,
  '',
  'launch',
  null,
  true,
  [],
  {},
  [1],
];

/** A request of which one thing is other than it should be. */
function forged(next: (below: number) => number): unknown {
  const [name, value] = structuredClone(REQUESTS[next(REQUESTS.length)]) as [string, unknown];
  const message = { id: next(4), name, value };
  let at: Record<string, unknown> = message;
  for (;;) {
    const keys = Object.keys(at);
    const key = keys[next(keys.length)];
    const inner = at[key];
    if (
      typeof inner === 'object' &&
      inner !== null &&
      Object.keys(inner).length > 0 &&
      next(5) > 0
    ) {
      at = inner as Record<string, unknown>;
      continue;
    }
    if (next(4) > 0) at[key] = ODD[next(ODD.length)];
    return message;
  }
}

/** A client that has attached by hand, and says what it likes. */
class RudeClient {
  private readonly stream: number;
  private readonly life: number;
  private readonly area = new NativeBuffer(64 * 1024);

  private constructor([stream, life]: readonly number[]) {
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
    assert.match(await answer(socket), /"client"/);
    socket.close();
    return new RudeClient(pairs.map(([here]) => here));
  }

  /** Says it, as far as the owner takes it. */
  say(bytes: Uint8Array): void {
    libc.write(this.stream, addressOf(bytes), bytes.length);
    while (libc.read(this.stream, this.area.address, this.area.length) > 0);
  }

  /** Says it as often as the owner takes it, and reads no answer. */
  flood(bytes: Uint8Array): void {
    while (libc.write(this.stream, addressOf(bytes), bytes.length) > 0);
  }

  close(): void {
    closeDescriptor(this.stream);
    closeDescriptor(this.life);
  }
}

longTest(
  'forged requests harm nobody',
  withSpace(async (space) => {
    const handle = space.share();
    for (let seed = 1; seed <= (LONG ? 10 : 2); seed++) {
      const next = random(seed);
      const client = await RudeClient.attach(handle);
      for (let count = 0; count < 1000; count++) {
        client.say(encodeFrame(forged(next), 'v8'));
        if (count % 50 === 0) await sleep(0);
      }
      client.close();
    }
    assert.ok(!space.isClosed);
  }),
  60,
);

longTest(
  'bytes that are no messages cut their sender off',
  withSpace(async (space) => {
    const handle = space.share();
    for (let seed = 1; seed <= (LONG ? 100 : 20); seed++) {
      const next = random(seed);
      const client = await RudeClient.attach(handle);
      client.say(Uint8Array.from({ length: 1 + next(5000) }, () => next(256)));
      client.close();
    }
  }),
  60,
);

longTest(
  'clients that ask and stop reading are cut off, however many come',
  withSpace(async (space, x) => {
    const handle = space.share();
    const request = encodeFrame({ id: 1, name: 'stats', value: null }, 'v8');
    for (let count = 0; count < (LONG ? 100 : 5); count++) {
      const client = await RudeClient.attach(handle);
      client.flood(request);
      client.close();
    }
    sameData(x, () => 5);
  }),
  120,
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
