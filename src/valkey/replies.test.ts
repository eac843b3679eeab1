import { describe, expect, it } from 'vitest';
import { ValkeyError } from './errors.js';
import { type Reply, ReplyReader } from './replies.js';

/**
 * What is read from chunks: answers and what was pushed, in order. Strings of bytes go to the
 * targets first.
 */
function readAll(chunks: readonly Uint8Array[], targets: readonly Uint8Array[] = []): unknown[] {
  const heard: unknown[] = [];
  const left = [...targets];
  const reader = new ReplyReader({
    target: () => left.shift() ?? null,
    reply: (value) => void heard.push(plain(value)),
    pushed: (message) => void heard.push({ pushed: message.map(plain) }),
  });
  for (const chunk of chunks) reader.read(chunk);
  return heard;
}

function plain(value: Reply): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (value instanceof ValkeyError) return `${value.code}: ${value.message}`;
  if (value instanceof Map) return [...value].map(([key, each]) => [key, plain(each)]);
  return Array.isArray(value) ? value.map(plain) : value;
}

const ALL = [
  '+OK\r\n',
  '-OOM command not allowed\r\n',
  ':-42\r\n',
  ':9223372036854775807\r\n',
  '$0\r\n\r\n',
  '$6\r\na\r\n\r\nb\r\n',
  '$-1\r\n',
  '_\r\n',
  '*3\r\n$1\r\nx\r\n*0\r\n*2\r\n:1\r\n-ERR inner\r\n',
  '*-1\r\n',
  '%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n+proto\r\n:3\r\n',
  '~1\r\n#t\r\n',
  '|1\r\n+ttl\r\n:5\r\n#f\r\n',
  '>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n',
  ',1.5\r\n',
  ',-inf\r\n',
  '(123456789012345678901234567890\r\n',
  '=8\r\ntxt:text\r\n',
  '!9\r\nERR wrong\r\n',
  '+h\u00c3\u00a9\r\n',
].join('');
const HEARD = [
  'OK',
  'REPLY: OOM command not allowed',
  -42,
  9223372036854775807n,
  '',
  'a\r\n\r\nb',
  null,
  null,
  ['x', [], [1, 'REPLY: ERR inner']],
  null,
  [
    ['server', 'redis'],
    ['proto', 3],
  ],
  [true],
  false,
  { pushed: ['invalidate', ['k']] },
  1.5,
  Number.NEGATIVE_INFINITY,
  123456789012345678901234567890n,
  'text',
  'REPLY: ERR wrong',
  'hé',
];
const BYTES = Buffer.from(ALL, 'latin1');

describe('answers', () => {
  it('are read whatever they are', () => {
    expect(readAll([BYTES])).toEqual(HEARD);
  });

  it('of long strings may be written where they are wanted, in any number of pieces', () => {
    const heard: Reply[] = [];
    const into = new Uint8Array(50_000);
    const reader = new ReplyReader({
      target: () => into,
      reply: (value) => void heard.push(value),
      pushed: () => undefined,
    });
    const value = Uint8Array.from(into, (_, at) => at % 251);
    reader.read(Buffer.from('$50000\r\n'));
    reader.read(value.subarray(0, 10));
    for (let room = reader.room(), at = 10; room !== null; room = reader.room()) {
      const piece = value.subarray(at, at + Math.min(room.length, 35_000));
      room.set(piece);
      reader.filled(piece.length);
      at += piece.length;
    }
    // What is left is too little for a place of its own.
    reader.read(value.subarray(35_010));
    reader.read(Buffer.from('\r\n+OK\r\n'));
    expect(heard[1]).toBe('OK');
    expect(Buffer.compare(into, value)).toBe(0);
  });

  it('are the same wherever chunks are split', () => {
    for (let at = 1; at < BYTES.length; at++)
      expect(readAll([BYTES.subarray(0, at), BYTES.subarray(at)])).toEqual(HEARD);
    for (const size of [1, 2, 3, 7])
      expect(
        readAll(
          Array.from({ length: Math.ceil(BYTES.length / size) }, (_, n) =>
            BYTES.subarray(n * size, (n + 1) * size),
          ),
        ),
      ).toEqual(HEARD);
  });

  it('keep nothing of a chunk that is used again', () => {
    const chunk = new Uint8Array(8);
    const heard: Reply[] = [];
    const reader = new ReplyReader({
      target: () => null,
      reply: (value) => void heard.push(value),
      pushed: () => {},
    });
    for (let at = 0; at < BYTES.length; at += chunk.length) {
      const part = BYTES.subarray(at, at + chunk.length);
      chunk.set(part);
      reader.read(chunk.subarray(0, part.length));
      chunk.fill(0x41);
    }
    expect(heard.map(plain)).toEqual(
      HEARD.filter((each) => !(each instanceof Object && 'pushed' in each)),
    );
  });

  it('name the kind of an error', () => {
    const heard: Reply[] = [];
    new ReplyReader({
      target: () => null,
      reply: (value) => void heard.push(value),
      pushed: () => {},
    }).read(Buffer.from('-MOVED 1 host:1\r\n'));
    expect((heard[0] as ValkeyError).word).toBe('MOVED');
  });
});

describe('strings of bytes', () => {
  const reply = Buffer.from('*4\r\n$3\r\nabc\r\n_\r\n:7\r\n$2\r\nde\r\n');

  it('go where they are wanted, at every split', () => {
    for (let at = 1; at < reply.length; at++) {
      const targets = [new Uint8Array(3), new Uint8Array(3), new Uint8Array(4)];
      expect(readAll([reply.subarray(0, at), reply.subarray(at)], targets)).toEqual([
        ['abc', null, 7, 'de'],
      ]);
      expect(targets.map((each) => [...each])).toEqual([
        [97, 98, 99],
        [0, 0, 0],
        [100, 101, 0, 0],
      ]);
    }
  });

  it('that do not fit are an error, and what follows is read', () => {
    const bytes = Buffer.from('$5\r\nabcde\r\n+OK\r\n');
    for (let at = 1; at < bytes.length; at++) {
      const small = new Uint8Array(2);
      expect(readAll([bytes.subarray(0, at), bytes.subarray(at)], [small])).toEqual([
        'TOO_LARGE: a value of 5 bytes was to be read into 2',
        'OK',
      ]);
      expect([...small]).toEqual([97, 98]);
    }
  });

  it('of what is pushed go nowhere else', () => {
    const target = new Uint8Array(1);
    expect(readAll([Buffer.from('>1\r\n$1\r\np\r\n$1\r\nx\r\n')], [target])).toEqual([
      { pushed: ['p'] },
      'x',
    ]);
    expect(target[0]).toBe(120);
  });
});

describe('what is no answer', () => {
  for (const [what, bytes] of Object.entries({
    'an unknown kind': 'HTTP/1.1 400\r\n',
    'a line without its first end': '+OK\n',
    'a length that is no number': '$x\r\n',
    'a negative length': '$-2\r\n',
    'a length beyond all strings': '$9999999999\r\n',
    'a number that is none': ':1.5\r\n',
    'a string that goes on': '$1\r\nab\r\n',
    'too many answers in each other': '*1\r\n'.repeat(17),
    'a line without an end': `+${'x'.repeat(70_000)}`,
  }))
    it(`${what} is refused`, () => {
      expect(() => readAll([Buffer.from(bytes)])).toThrow(/no Valkey server sends/);
    });
});
