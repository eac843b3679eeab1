/**
 * The steps of a shared array on a real server, beside the pure ones that the protocol was proved
 * with.
 */
import assert from 'node:assert/strict';
import {
  type Claim,
  type Notice,
  type Reply,
  type Request,
  type Right,
  type Rights,
  SPOILED,
} from '../../src/coherence/messages.js';
import {
  commandOf,
  departure,
  type Keys,
  keysOf,
  noticeOf,
  renewal,
  replyOf,
  SCRIPT,
} from '../../src/sharing/steps.js';
import { type Argument, ValkeyConnection } from '../../src/valkey/connection.js';
import type { Reply as Answer } from '../../src/valkey/replies.js';
import { Directory } from '../coherence/directory.js';
import { runTests } from '../harness/suite.js';
import { longTestWithValkey, testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const LEASE_MS = 600_000;
const BLOCKS = 3;
const AHEAD = 2 ** 52;
const SEQUENCES = 40;
const STEPS = 60;

type Welcome = Extract<Reply<Uint8Array>, { kind: 'welcome' }>;
type Claimed = Extract<Reply<Uint8Array>, { kind: 'claimed' }>;
type Granted = Extract<Reply<Uint8Array>, { kind: 'granted' }>;

/** An array on a server, and what is said of it. */
class Served {
  readonly keys: Keys;
  readonly notices: Notice<string>[] = [];

  private constructor(
    private readonly connection: ValkeyConnection,
    private readonly digest: string,
    name: string,
  ) {
    this.keys = keysOf(name);
  }

  static async open(url: string, name: string): Promise<Served> {
    const heard: { by: Served | null } = { by: null };
    const onPush = ([kind, , said]: readonly Answer[]): void => {
      if (textOf(kind as Uint8Array) === 'smessage')
        heard.by?.notices.push(toText(noticeOf(said as Uint8Array)));
    };
    const connection = await ValkeyConnection.open(url, { onPush });
    const digest = Buffer.from(
      (await connection.call(['SCRIPT', 'LOAD', SCRIPT])) as Uint8Array,
    ).toString();
    heard.by = new Served(connection, digest, name);
    const { channel, granted } = heard.by.keys;
    for (const each of [channel, granted(connection.info.id)])
      await connection.call(['SSUBSCRIBE', each]);
    return heard.by;
  }

  run(args: readonly Argument[]): Promise<Answer> {
    return this.connection.call(['EVALSHA', this.digest, ...args]);
  }

  async step(request: Request<Uint8Array>): Promise<Reply<Uint8Array> | undefined> {
    return replyOf(
      request,
      await this.run(commandOf(this.keys, request, LEASE_MS, this.connection.info.id)),
    );
  }

  /** Begins a session. */
  async hello(): Promise<number> {
    return ((await this.step({ kind: 'hello', made: '' })) as Welcome).session;
  }

  /** Begins a session in place of another one. */
  async claim(
    previous: number,
    claims: readonly Claim[],
  ): Promise<Omit<Claimed, 'kind'> & { session: number }> {
    const session = await this.hello();
    const { kept, lost, older } = (await this.step({
      kind: 'claim',
      session,
      previous,
      claims,
    })) as Claimed;
    return { session, kept, lost, older };
  }

  call(...args: Argument[]): Promise<Answer> {
    return this.connection.call(args);
  }

  /** All that was published before. */
  async heard(): Promise<Notice<string>[]> {
    await this.connection.call(['PING']);
    return this.notices.splice(0);
  }

  close(): void {
    this.connection.close();
  }
}

function textOf(content: Uint8Array | null | typeof SPOILED): string | null {
  return content === null || content === SPOILED ? content : Buffer.from(content).toString();
}

/** Numbers below `most`, the same for the same seed. */
function random(seed: number): (most: number) => number {
  let state = seed * 2 + 1;
  return (most) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    state ^= state >>> 15;
    return (state >>> 0) % most;
  };
}

/** Anything that a machine could ask for, with mistakes that none would make. */
function anyRequest(
  below: (most: number) => number,
  directory: Directory<string>,
  sessions: number[],
  step: number,
): Request<string> {
  const { blocks, numbers } = directory.state;
  const block = below(BLOCKS);
  const { owner, epoch, version } = blocks[block];
  const some = sessions.length === 0 ? numbers : sessions[below(sessions.length)];
  const off = (value: number): number => (below(5) === 0 ? Math.max(value - 1, 0) : value);
  switch (below(9)) {
    case 0: {
      // At times of an array that is another one by now.
      const { made } = directory.state;
      return { kind: 'hello', made: below(8) === 0 ? `not ${made}` : made };
    }
    case 8: {
      const claims = blocks
        .map((each, at): Claim => {
          const { epoch, flush } = each.flushes[below(2)] ?? { epoch: each.epoch, flush: 0 };
          return {
            block: at,
            epoch: off(epoch),
            version: below(2) * off(each.version),
            flush: off(flush),
          };
        })
        .filter(() => below(2) === 0);
      return {
        kind: 'claim',
        session: some,
        previous: below(2) === 0 ? sessions[below(sessions.length)] : 0,
        claims,
      };
    }
    case 1:
    case 2: {
      const keep = (['none', 'read', 'write'] as const)[below(3)] as Rights;
      const content = below(3) === 0 ? null : `content ${step}`;
      const flush = content === null ? 0 : step;
      return {
        kind: 'flush',
        session: below(4) === 0 ? some : owner,
        block,
        epoch: off(epoch),
        flush,
        content,
        keep,
      };
    }
    case 3:
      return { kind: below(2) === 0 ? 'release' : 'remind', session: some, block };
    default: {
      const right: Right = below(2) === 0 ? 'read' : 'write';
      return { kind: 'acquire', session: some, block, right, have: off(version) };
    }
  }
}

function toBytes(request: Request<string>): Request<Uint8Array> {
  if (request.kind !== 'flush') return request;
  return { ...request, content: request.content === null ? null : Buffer.from(request.content) };
}

/** What the server says, where contents are text. */
function toText<T extends Reply<Uint8Array> | Notice<Uint8Array> | undefined>(said: T) {
  type Text = T extends Notice<Uint8Array> ? Notice<string> : Reply<string> | undefined;
  return (said?.kind === 'granted'
    ? { ...said, content: textOf(said.content) }
    : said) as unknown as Text;
}

longTestWithValkey(
  'the server takes the same steps as the pure directory, whatever is asked',
  async () => {
    await using server = await ValkeyServer.start();
    for (let seed = 1; seed <= SEQUENCES; seed++) {
      const below = random(seed);
      const notices: Notice<string>[] = [];
      const state = Directory.empty<string>(new Array<string>(BLOCKS).fill(''), `made ${seed}`);
      const directory = new Directory<string>(state, (notice) => notices.push(notice));
      const sessions: number[] = [];
      const served = await Served.open(server.url, `random ${seed}`);
      // Ahead of the clock, numbers are counted.
      state.numbers = AHEAD;
      await served.call('SET', served.keys.last, AHEAD);
      await served.call('HSET', served.keys.shape, 'made', state.made);
      for (let step = 0; step < STEPS; step++) {
        if (below(12) === 0 && sessions.length > 0) {
          const session = sessions[below(sessions.length)];
          directory.expire(session);
          await served.call('ZREM', served.keys.leases, session);
          continue;
        }
        const some = directory.state.blocks[below(BLOCKS)];
        if (below(15) === 0 && some.version !== 1) {
          some.content = SPOILED;
          await served.call('DEL', served.keys.content(directory.state.blocks.indexOf(some)));
        }
        const request =
          step < 2
            ? ({ kind: 'hello', made: state.made } as const)
            : anyRequest(below, directory, sessions, step);
        const answer = toText(await served.step(toBytes(request)));
        const expected = directory.step(request);
        if (expected?.kind === 'welcome') sessions.push(expected.session);
        const where = `seed ${seed}, step ${step}: ${JSON.stringify(request)}`;
        assert.deepEqual(answer, expected, where);
        assert.deepEqual(await served.heard(), notices.splice(0), where);
      }
      served.close();
    }
  },
);

testWithValkey(
  'a lease that is over ends when somebody is in need of it, and not before',
  async () => {
    await using server = await ValkeyServer.start();
    const served = await Served.open(server.url, 'leases');
    const { leases } = served.keys;
    const [one, two] = [await served.hello(), await served.hello()];
    const write = (session: number) =>
      served.step({ kind: 'acquire', session, block: 0, right: 'write', have: 1 });
    const { epoch, content } = (await write(one)) as Granted;
    assert.equal(content, null);
    const owned = { session: one, block: 0, epoch } as const;
    const flush = {
      kind: 'flush',
      ...owned,
      flush: 1,
      content: Buffer.from('first'),
      keep: 'write',
    } as const;
    // The lease is over by the clock, and no session has seen it.
    await served.call('ZADD', leases, 'XX', 1, one);
    assert.equal((await served.step(flush))?.kind, 'flushed');
    assert.equal(await served.run(renewal(served.keys, one, LEASE_MS)), 1);
    assert.deepEqual(await write(two), { kind: 'wait', block: 0 });
    await served.heard();
    await served.call('ZADD', leases, 'XX', 1, one);
    assert.equal(textOf(((await write(two)) as Granted).content), 'first');
    assert.deepEqual(await served.heard(), [{ kind: 'lost', to: 'all', block: 0 }]);
    assert.deepEqual(await served.step({ ...flush, content: Buffer.from('late') }), {
      kind: 'refused',
    });
    assert.equal(await served.run(renewal(served.keys, one, LEASE_MS)), 0);
    const { kept, lost } = await served.claim(one, [{ block: 0, epoch, version: 0, flush: 0 }]);
    assert.deepEqual([kept, lost], [[], [0]]);
    assert.equal(textOf((await served.call('GET', served.keys.content(0))) as Uint8Array), 'first');
    assert.equal(await served.run(departure(served.keys, two)), 1);
    served.close();
  },
);

testWithValkey(
  'a server that has an older content than its owner knows of tells the owner, and takes the block',
  async () => {
    await using server = await ValkeyServer.start();
    const served = await Served.open(server.url, 'older');
    const session = await served.hello();
    const { epoch, version } = (await served.step({
      kind: 'acquire',
      session,
      block: 0,
      right: 'write',
      have: 0,
    })) as Granted;
    // As it is known when a flush has come after what the server has by now.
    const claim = { block: 0, epoch, version: version + 1, flush: 0 };
    // Another one has the block by a grant of which the machine has not heard, and so by one of
    // which the server does not know: it keeps the block.
    const unknown = await served.claim(0, [{ ...claim, epoch: epoch - 1 }]);
    assert.deepEqual([unknown.kept, unknown.lost, unknown.older], [[], [], [0]]);
    // Nothing is lost where the machine has a newer content still.
    const again = await served.claim(session, [{ ...claim, version: 0 }]);
    assert.deepEqual([again.kept, again.lost, again.older], [[0], [], []]);
    const third = await served.claim(again.session, [claim]);
    assert.deepEqual([third.kept, third.lost, third.older], [[], [], [0]]);
    const taken = await served.step({
      kind: 'acquire',
      session: await served.hello(),
      block: 0,
      right: 'write',
      have: 0,
    });
    assert.equal(taken?.kind, 'granted');
    served.close();
  },
);

testWithValkey(
  'a server that has forgotten an array keeps no claim, whatever it has granted since',
  async () => {
    await using server = await ValkeyServer.start();
    const grant = async (): Promise<{ served: Served; session: number; granted: Granted }> => {
      const served = await Served.open(server.url, 'forgotten');
      const session = await served.hello();
      const acquire = { kind: 'acquire', session, block: 0, right: 'write', have: 0 } as const;
      return { served, session, granted: (await served.step(acquire)) as Granted };
    };
    const before = await grant();
    await server.restart();
    const { served } = await grant();
    const claims = [{ block: 0, epoch: before.granted.epoch, version: 0, flush: 0 }];
    const { lost } = await served.claim(before.session, claims);
    assert.deepEqual(lost, [0]);
    served.close();
  },
);

await runTests();
