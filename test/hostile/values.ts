/**
 * What is handed to the functions of the API: a good deal of it wrong, in every way that a program
 * may get wrong.
 */

import fc from 'fast-check';
import {
  f32,
  i32,
  i64,
  type ManagedArray,
  mat4x4f,
  type Notifier,
  u8,
  u32,
  vec2u,
} from '../../src/index.js';
import { wasmMemory } from '../harness/wasm.js';
import { KERNELS } from './kernels.js';
import { add, entry } from './typegpu-kernels.js';
import type { Pool, World } from './world.js';

/** Something that is made when the call is, of what the world holds then. */
export interface Value {
  readonly text: string;
  make(world: World): unknown;
}

export type Values = fc.Arbitrary<Value>;

/**
 * What a hostile object throws by itself when it is looked at: the program's own error, which the
 * API lets through.
 */
function own(): Error {
  return Object.assign(new Error('from a hostile object'), { code: 'HOSTILE' });
}

function literal(text: string, make: () => unknown): Value {
  return { text, make };
}

const one = (text: string, make: (world: World) => unknown): Values => fc.constant({ text, make });

const NUMBERS: readonly number[] = [
  0,
  -0,
  -1,
  1,
  0.5,
  1.5,
  -0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** 53,
  2 ** 53 - 1,
  -(2 ** 53),
  2 ** 31,
  2 ** 32,
  2 ** 40,
  2 ** 63,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
];

function detachedArray(): Float32Array {
  const made = new Float32Array(4);
  structuredClone(made.buffer, { transfer: [made.buffer] });
  return made;
}

const OTHERS: readonly Value[] = [
  literal("''", () => ''),
  literal("'x'", () => 'x'),
  literal("'5'", () => '5'),
  literal("'\\0'", () => '\0'),
  literal("'constructor'", () => 'constructor'),
  literal("'__proto__'", () => '__proto__'),
  literal("'64MiB'", () => '64MiB'),
  literal("'host'", () => 'host'),
  literal('null', () => null),
  literal('undefined', () => undefined),
  literal('true', () => true),
  literal('false', () => false),
  literal('{}', () => ({})),
  literal('[]', () => []),
  literal('[1, 2]', () => [1, 2]),
  literal('Object.create(null)', () => Object.create(null)),
  literal("Symbol('hostile')", () => Symbol('hostile')),
  literal('5n', () => 5n),
  literal('-1n', () => -1n),
  literal('2n ** 70n', () => 2n ** 70n),
  literal('() => 1', () => () => 1),
  literal('class {}', () => class {}),
  literal('new Date(NaN)', () => new Date(Number.NaN)),
  literal('new Map()', () => new Map()),
  literal('/x/', () => /x/),
  literal('Promise.resolve(1)', () => Promise.resolve(1)),
  literal('new Error()', () => new Error('an argument')),
  literal('new ArrayBuffer(8)', () => new ArrayBuffer(8)),
  literal('new DataView(8 bytes)', () => new DataView(new ArrayBuffer(8))),
  literal('new Float32Array(0)', () => new Float32Array(0)),
  literal('new Float32Array(3)', () => new Float32Array(3)),
  literal('new BigInt64Array(3)', () => new BigInt64Array(3)),
  literal('Buffer.alloc(5)', () => Buffer.alloc(5)),
  literal('a shared Uint8Array(8)', () => new Uint8Array(new SharedArrayBuffer(8))),
  literal('a detached Float32Array', detachedArray),
  literal('an object whose texts throw', () => ({
    toString() {
      throw own();
    },
    [Symbol.toPrimitive]() {
      throw own();
    },
  })),
  literal('a proxy that throws', () => {
    const fail = () => {
      throw own();
    };
    return new Proxy(
      {},
      { get: fail, has: fail, ownKeys: fail, getOwnPropertyDescriptor: fail, getPrototypeOf: fail },
    );
  }),
];

const number: Values = fc.constantFrom(
  ...NUMBERS.map((value) => literal(String(value), () => value)),
);

/** Objects of the API where none, or others, are wanted. */
const misplaced: Values = fc
  .tuple(
    fc.constantFrom<Pool>('space', 'prey', 'device', 'stream', 'host stream', 'event', 'kernel'),
    fc.nat(20),
  )
  .map(([pool, index]) => ref(pool, index));

export const junk: Values = fc.oneof(
  { weight: 4, arbitrary: number },
  { weight: 4, arbitrary: fc.constantFrom(...OTHERS) },
  { weight: 1, arbitrary: misplaced },
);

function ref(pool: Pool, index: number): Value {
  return { text: `${pool} ${index}`, make: (world) => world.pick(pool, index) };
}

export function from(pool: Pool): Values {
  return fc.nat(20).map((index) => ref(pool, index));
}

/** Mostly what is right, or nearly. */
export function mostly(good: Values, weight = 4): Values {
  return fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: junk });
}

/** An object with some of these fields. */
function record(fields: Record<string, Values>, required: string[] = []): Values {
  return fc
    .record(fields, { requiredKeys: required })
    .map((made) => ofFields(made as Record<string, Value>));
}

function ofFields(fields: Record<string, Value>): Value {
  const entries = Object.entries(fields);
  return {
    text: `{ ${entries.map(([key, { text }]) => `${key}: ${text}`).join(', ')} }`,
    make: (world) => Object.fromEntries(entries.map(([key, value]) => [key, value.make(world)])),
  };
}

function list(items: Values, most: number): Values {
  return fc.array(items, { maxLength: most }).map((made) => ({
    text: `[${made.map(({ text }) => text).join(', ')}]`,
    make: (world) => made.map((each) => each.make(world)),
  }));
}

function whole(least: number, most: number): Values {
  return fc.integer({ min: least, max: most }).map((value) => literal(String(value), () => value));
}

/** One of these numbers. */
function literals(...values: number[]): Values {
  return fc.constantFrom(...values.map((value) => literal(String(value), () => value)));
}

function choice(values: Readonly<Record<string, unknown>>): Values {
  return fc.constantFrom(
    ...Object.entries(values).map(([text, value]) => literal(text, () => value)),
  );
}

/** An index into an array of about this size: as often inside as not. */
const index = mostly(whole(0, 4000), 6);
export const begin = index;
export const end = mostly(whole(1, 4000), 6);
/** Addresses of the array that address views are of, and others. */
export const address = mostly(
  fc.integer({ min: -20, max: 420 }).map((offset) => ({
    text: `the address ${offset} bytes into the words`,
    make: (world: World) => world.words.address + BigInt(offset),
  })),
);
export const rights = mostly(
  choice({ "'none'": 'none', "'read'": 'read', "'readwrite'": 'readwrite' }),
  8,
);
/** Of any array, and of what is beside them. */
export const anyAddress = mostly(
  fc.tuple(from('readable'), fc.integer({ min: -4096, max: 20_000 })).map(([array, offset]) => ({
    text: `the address ${offset} bytes into ${array.text}`,
    make: (world: World) => (array.make(world) as ManagedArray).address + BigInt(offset),
  })),
  8,
);
export const counterIndex = mostly(whole(0, 9), 6);
export const counterValue = mostly(whole(0, 2), 6);
/** Not for ever: a wait whose element does not change is no mistake. */
const timeout = fc.oneof(
  { weight: 6, arbitrary: whole(0, 3) },
  {
    weight: 1,
    arbitrary: junk.filter(({ text }) => text !== 'undefined' && !(Number(text) > 100)),
  },
);
export const waiting = fc
  .tuple(mostly(from('counter'), 8), counterIndex, counterValue, timeout)
  .map((made) => made as readonly Value[]);
export const wordType = mostly(
  choice(
    Object.fromEntries(
      ['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', 'f32', 'f64'].map((type) => [
        type,
        type,
      ]),
    ),
  ),
  6,
);
export const word = mostly(choice({ '5': 5, '5n': 5n, '-1': -1, '1e300': 1e300 }), 6);
export const array = mostly(from('prey'));
export const part = mostly(record({ begin, end }), 6);
/** Where pages begin, for elements of four bytes. */
const pageStart = literals(0, 1024, 2048, 3000);
export const pagePart = fc.oneof(part, record({ begin: pageStart, end: pageStart }));
const name = mostly(choice({ "'named'": 'named', "''": '' }), 3);
export const length = mostly(whole(1, 6000), 3);
const flag = mostly(choice({ true: true, false: false }));
export const arrayOptions = mostly(
  record({
    name,
    maxLength: mostly(whole(4000, 9000), 6),
    numa: mostly(record({ node: whole(0, 2), only: flag }), 2),
  }),
  3,
);

export const arrayType = mostly(
  choice({
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    BigInt64Array,
    BigUint64Array,
    Float32Array,
    Float64Array,
    DataView,
    Array,
    ArrayBuffer,
    "{ name: 'Float32Array' }": { name: 'Float32Array' },
  }),
  5,
);

const inFolder = (file: string, text = `a file '${file}'`): Value => ({
  text,
  make: (world) => world.path(file),
});
export const path = mostly(
  fc.constantFrom(
    inFolder('numbers'),
    inFolder('numbers'),
    inFolder('numbers'),
    inFolder('shared'),
    inFolder('empty'),
    inFolder('missing'),
    inFolder('.', 'a folder'),
    literal('/dev/null', () => '/dev/null'),
    literal('/proc/self/status', () => '/proc/self/status'),
  ),
  5,
);
export const fileOptions = mostly(
  record({
    byteOffset: mostly(fc.oneof(whole(0, 5000), literals(0, 8, 4096))),
    length: mostly(whole(1, 1500)),
    writable: mostly(choice({ true: true, false: false })),
    shared: mostly(choice({ false: false, true: true })),
    mapped: mostly(choice({ false: false, true: true })),
    name,
  }),
  4,
);

export const fd = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      { text: 'a file to read', make: (world: World) => world.fd('read') },
      { text: 'a file to read and write', make: (world: World) => world.fd('both') },
      { text: 'a folder', make: (world: World) => world.fd('folder') },
      literal('987654', () => 987654),
    ),
  },
  // The first descriptors are open, and what a program writes there is its own affair.
  { weight: 1, arbitrary: junk.filter(({ text }) => text !== '0' && text !== '1') },
);
export const transferOptions = mostly(record({ begin, end, position: mostly(whole(0, 9000)) }), 5);

/** A handle, or what is left of one after a program has changed it. */
function damaged(handles: Values, fields: readonly string[]): Values {
  const change = fc.tuple(
    handles,
    fc.constantFrom(...fields),
    fc.oneof(whole(0, 70), junk),
    fc.boolean(),
  );
  const changed = change.map(([handle, field, value, remove]) => ({
    text: `${handle.text} ${remove ? `without ${field}` : `with ${field}: ${value.text}`}`,
    make: (world: World) => {
      const copy = { ...(handle.make(world) as object) } as Record<string, unknown>;
      if (remove) delete copy[field];
      else copy[field] = value.make(world);
      return copy;
    },
  }));
  const copied = handles.map((handle) => ({
    text: `a text's copy of ${handle.text}`,
    make: (world: World) => JSON.parse(JSON.stringify(handle.make(world))) as unknown,
  }));
  return fc.oneof(
    { weight: 4, arbitrary: handles },
    { weight: 4, arbitrary: changed },
    { weight: 1, arbitrary: copied },
  );
}

export const spaceHandle = mostly(
  damaged(from('space handle'), [
    'onemem',
    'name',
    'base',
    'bytes',
    'owner',
    'wakeFd',
    'control',
    'devices',
    'hostBudgetBytes',
  ]),
);
export const arrayHandle = mostly(
  damaged(from('array handle'), ['space', 'range', 'firstPage', 'pages', 'length', 'type', 'name']),
);

export const event = mostly(
  fc.oneof(
    { weight: 6, arbitrary: from('event') },
    {
      weight: 1,
      arbitrary: record({ stream: mostly(from('stream')), sequence: mostly(whole(0, 99)) }),
    },
  ),
);
export const arrayRange = mostly(
  fc.oneof(
    {
      weight: 5,
      arbitrary: record(
        { array: from('readable'), begin: whole(0, 700), end: whole(700, 1000) },
        ALL(),
      ),
    },
    { weight: 3, arbitrary: record({ array: mostly(from('readable')), begin, end }) },
  ),
);
export const prefetchTarget = mostly(
  fc.oneof(
    from('device'),
    one("'host'", () => 'host'),
  ),
);

function ALL(): string[] {
  return ['array', 'begin', 'end'];
}

const oddReason = literal('a signal aborted with an odd reason', () =>
  AbortSignal.abort(Object.create(null)),
);
const signal = mostly(
  fc.constantFrom(
    literal('an aborted signal', () => AbortSignal.abort()),
    literal('a signal aborted by a text', () => AbortSignal.abort('enough')),
    oddReason,
    literal('a signal', () => new AbortController().signal),
    literal('a signal aborted in 1 ms', () => AbortSignal.timeout(1)),
    literal('a signal aborted in a moment', () => {
      const controller = new AbortController();
      queueMicrotask(() => controller.abort());
      return controller.signal;
    }),
  ),
);
export const streamOptions = mostly(record({ signal }), 6);
/** What is written by nobody else. */
export const forgotten = mostly(
  fc.oneof(from('prey'), record({ array: mostly(from('prey')), begin, end })),
);
/**
 * A stream frees it at some time: a touch of it would end the process, so that nothing else has it.
 */
export const doomed = fc.oneof(
  { weight: 5, arbitrary: one('an array that nothing else uses', (world) => world.newArray(9000)) },
  {
    weight: 2,
    arbitrary: one('a part of such an array', (world) => world.newArray(9000).range(5, 8500)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...OTHERS) },
);
export const flushOptions = mostly(record({ begin, end, durable: flag }), 5);
export const reloadOptions = mostly(record({ discard: flag }), 5);
export const callback = mostly(
  fc.constantFrom(
    literal('a function', () => () => 1),
    literal('an asynchronous function', () => async () => 1),
    literal('a function that waits', () => () => new Promise((resolve) => setTimeout(resolve, 2))),
    literal('a function that throws', () => () => {
      throw new RangeError('on purpose');
    }),
    literal('a function that throws nothing', () => () => {
      throw undefined;
    }),
    literal('a function that throws what has no text', () => () => {
      throw Object.create(null);
    }),
    literal('a function that rejects', () => () => Promise.reject(null)),
    literal('a function that gives a hostile thenable', () => () => ({
      // biome-ignore lint/suspicious/noThenProperty: this is what it is about
      then() {
        throw own();
      },
    })),
  ),
);

export const notifierHandle = mostly(
  damaged(
    from('notifier').map(({ text, make }) => ({
      text: `the handle of ${text}`,
      make: (world: World) => (make(world) as Notifier).handle,
    })),
    ['onemem', 'array', 'sequence'],
  ),
);
export const sequenceNumber = mostly(whole(0, 4));
export const youngOptions = mostly(
  record({ begin, end, clear: mostly(choice({ true: true, false: false })) }),
  6,
);
export const pinOptions = mostly(
  record({
    begin,
    end,
    lock: mostly(choice({ true: true, false: false, "'require'": 'require' }), 8),
  }),
  8,
);
export const holdOptions = mostly(
  record({ begin, end, writable: mostly(choice({ true: true, false: false }), 8) }),
  8,
);
/** The server's own, as often as not. */
const serverUrl = fc.oneof(
  one('the server', (world) => world.serverUrl),
  choice({
    "'valkey://127.0.0.1:1'": 'valkey://127.0.0.1:1',
    "'unix:///none'": 'unix:///none',
    "'x'": 'x',
  }),
);
let names = 0;
/** Of an array that was never opened, or of one that other spaces have. */
const sharedName = fc.oneof(
  one('a name of its own', () => `array${++names}`),
  choice({ "'shared'": 'shared', "'{}'": '{}' }),
);
const blockBytes = mostly(choice({ 4096: 4096, "'64KiB'": '64KiB', 5000: 5000 }));
const serverUrls = fc.oneof(
  { weight: 3, arbitrary: serverUrl },
  { weight: 1, arbitrary: list(mostly(serverUrl, 8), 3) },
);
const server = record(
  { url: mostly(serverUrls, 8), timeoutMs: whole(100, 900), leaseMs: whole(900, 5000) },
  ['url'],
);
export const sharedOptions = mostly(
  record({ name: mostly(sharedName, 8), on: mostly(server, 8), blockBytes }, ['name', 'on']),
  8,
);
const barrierName = mostly(choice({ "'here'": 'here', "'a b'": 'a b' }), 8);
const barrierOptions = record({ timeoutMs: whole(1, 50) }, ['timeoutMs']);
/** Never more programs than one without a limit of time: the others do not come. */
export const barrier = fc.oneof(
  fc.tuple(barrierName, choice({ 2: 2 }), barrierOptions),
  fc.tuple(barrierName, mostly(choice({ 1: 1 })), mostly(barrierOptions)),
);
const watchers = new URL('./watchers.js', import.meta.url).href;
export const watchOptions = mostly(
  fc.oneof(
    record({ onInvalidate: choice({ 'a function': () => undefined }) }),
    record({
      begin,
      end,
      owner: prefetchTarget,
      onInvalidate: mostly(choice({ 'a function': () => undefined }), 8),
      onDetached: mostly(choice({ 'a function': () => undefined }), 8),
      queue: mostly(whole(1, 5), 8),
    }),
    record({
      module: mostly(
        choice({ 'a module of watchers': watchers, "'file:///missing.js'": 'file:///missing.js' }),
        8,
      ),
      export: mostly(choice({ "'watch'": 'watch', "'nothing'": 'nothing', "'fails'": 'fails' }), 8),
      data: junk,
    }),
  ),
  8,
);
/** It refuses nothing: a thread that touches what is refused ends the process. */
export const guardOptions = mostly(
  record({
    module: mostly(
      choice({ 'a module of guards': watchers, "'file:///missing.js'": 'file:///missing.js' }),
      8,
    ),
    export: choice({ "'allow'": 'allow', "'none'": 'none' }),
    data: junk,
  }),
  8,
);
const place = mostly(
  fc.oneof(
    from('device'),
    one("'host'", () => 'host'),
    one('null', () => null),
  ),
  8,
);
export const advice = mostly(
  record({
    readMostly: mostly(choice({ true: true, false: false }), 8),
    preferredLocation: place,
    accessedBy: fc.oneof(place, list(place, 3)),
    pattern: mostly(
      choice({ "'normal'": 'normal', "'sequential'": 'sequential', "'random'": 'random' }),
      8,
    ),
  }),
  8,
);

/** Memory of the program's own that many calls use, each perhaps before the last one has ended. */
const kept = new Float32Array(900);
/** Memory that is registered, and used by launches; what was transferred is made anew. */
let wasm = wasmMemory({ initial: 1, maximum: 64 });
let lost = new ArrayBuffer(4096);
const REGISTERED: readonly Value[] = [
  literal('the kept array', () => kept),
  literal('the memory of WebAssembly', () => wasm),
  literal('the buffer of that memory', () => wasm.buffer),
  literal('memory of WebAssembly that has grown', () => {
    if (wasm.buffer.byteLength >= 2 ** 20) wasm = wasmMemory({ initial: 1, maximum: 64 });
    wasm.grow(1);
    return wasm;
  }),
  literal('a buffer that is transferred', () => {
    const given = lost;
    setImmediate(() => {
      if (given.byteLength > 0) structuredClone(given, { transfer: [given] });
      lost = new ArrayBuffer(4096);
    });
    return given;
  }),
  literal('new SharedArrayBuffer(5000)', () => new SharedArrayBuffer(5000)),
  literal('new ArrayBuffer(0)', () => new ArrayBuffer(0)),
  literal('addresses that are not mapped', () => ({ address: 4096n, bytes: 4096 })),
];
export const registerable = mostly(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...REGISTERED) },
    { weight: 1, arbitrary: from('readable') },
    { weight: 1, arbitrary: record({ address, bytes: length }) },
  ),
  8,
);
export const registerOptions = mostly(
  record({ lock: mostly(choice({ true: true, false: false, "'require'": 'require' }), 8) }),
  8,
);

/** Memory that is taken away while operations have it. */
function taken(): Float32Array {
  const made = new Float32Array(900);
  setImmediate(() => structuredClone(made.buffer, { transfer: [made.buffer] }));
  return made;
}

const plain: Values = fc.constantFrom(
  literal("the program's numbers", () => kept),
  literal("a part of the program's numbers", () => kept.subarray(90, 700)),
  literal("bytes of the program's numbers", () => new Uint8Array(kept.buffer, 90, 900)),
  literal('numbers that are taken in a moment', taken),
  literal('new Float32Array(900)', () => new Float32Array(900)),
  literal('new Float32Array(1)', () => new Float32Array(1)),
  literal('the memory of WebAssembly', () => new Float32Array(wasm.buffer, 0, 900)),
  literal('a buffer that is transferred', () => new Float32Array(lost, 0, lost.byteLength / 4)),
  literal('new Uint8Array(900)', () => new Uint8Array(900)),
  literal('new BigInt64Array(900)', () => new BigInt64Array(900)),
);

/**
 * A kernel with arguments that fit, nearly. An array that the kernel may write is never one that
 * must stay as it is.
 */
const launched: fc.Arbitrary<[Value, Value]> = fc.nat(KERNELS.length - 1).chain((at) => {
  const { parameters } = KERNELS[at];
  const fields: Record<string, Values> = {};
  for (const [key, parameter] of Object.entries(parameters)) {
    if (parameter.kind === 'scalar') {
      fields[key] = mostly(
        choice(parameter.type === 'i64' ? { '3n': 3n } : { '3': 3, NaN: Number.NaN }),
        8,
      );
      continue;
    }
    if (parameter.kind !== 'array') continue;
    const { type, use } = parameter;
    const pool = use === 'in' ? 'readable' : 'prey';
    const part = record({ array: from(pool), begin: whole(0, 300), end: whole(301, 700) }, ALL());
    const any = fc.oneof(from(pool), part, plain);
    const fitting =
      type === 'f32' || type === 'u8' ? from(use === 'in' ? `${type} to read` : type) : plain;
    fields[key] = mostly(
      fc.oneof({ weight: 2, arbitrary: fitting }, { weight: 1, arbitrary: any }),
      12,
    );
  }
  const required = Object.keys(fields);
  const args = fc.oneof(
    { weight: 8, arbitrary: record(fields, required) },
    { weight: 1, arbitrary: record({ ...fields, other: junk }) },
    { weight: 1, arbitrary: junk },
  );
  return args.map(
    (made) => [literal(`kernel ${KERNELS[at].name}`, () => KERNELS[at]), made] as [Value, Value],
  );
});

const fitting = choice({
  '{ x: f32.inout }': { x: f32.inout },
  '{ x: u8.in, by: f32 }': { x: u8, by: f32 },
  "{ x: f32.in.by('y', 'n'), y: u32.in, n: i32 }": { x: f32.in.by('y', 'n'), y: u32.in, n: i32 },
});
const shape = mostly(
  record({
    x: mostly(
      choice({
        'f32.in': f32.in,
        "f32.in.by('x')": f32.in.by('x'),
        'f32.inout': f32.inout,
        f32,
        'u8.out': u8.out,
        'i64.inout': i64.inout,
      }),
    ),
    y: mostly(
      record({
        kind: mostly(choice({ "'array'": 'array' })),
        type: mostly(choice({ "'f32'": 'f32' })),
        use: junk,
      }),
    ),
  }),
);
const code = mostly(
  fc.oneof(
    record({
      kind: one("'inline'", () => 'inline'),
      source: mostly(choice({ "'1 +'": '1 +', "'1'": '1', "'() => 1'": '() => 1' })),
    }),
    record({
      kind: one("'module'", () => 'module'),
      url: mostly(choice({ "'file:///missing.js'": 'file:///missing.js', "'x'": 'x' })),
      exportName: mostly(choice({ "'default'": 'default' })),
    }),
  ),
);
/** What has the form of a kernel, and was not made by kernel(). */
const forged = record(
  { name: mostly(name), parameters: shape, code, kernel: one('null', () => null) },
  ['name', 'parameters', 'code'],
);
const forgedArguments = mostly(record({ x: mostly(from('prey')), y: mostly(from('prey')) }));

/** A kernel and its arguments. */
export const kernelAndArguments: fc.Arbitrary<[Value, Value]> = fc.oneof(
  { weight: 8, arbitrary: launched },
  { weight: 2, arbitrary: fc.tuple(forged, forgedArguments) },
  { weight: 1, arbitrary: fc.tuple(from('kernel'), forgedArguments) },
  { weight: 1, arbitrary: fc.tuple(junk, forgedArguments) },
);
export const launchOptions = fc.oneof(
  { weight: 4, arbitrary: record({ size: whole(1, 3000) }, ['size']) },
  { weight: 3, arbitrary: record({ size: mostly(whole(1, 3000), 6), begin, end }) },
  { weight: 1, arbitrary: record({ size: whole(1, 3000), signal }) },
  { weight: 1, arbitrary: junk },
);

export const kernelParameters = fc.oneof(fitting, shape);
const kernelModule = mostly(
  choice({
    "'file:///missing.js'": 'file:///missing.js',
    'a URL': new URL('file:///missing.js'),
    ours: import.meta.url,
  }),
);
const exported = mostly(choice({ "'run'": 'run', "'main'": 'main' }));
const WGSL =
  '@group(0) @binding(0) var<storage, read_write> x: array<f32>; @compute @workgroup_size(64) fn main() { x[0] = 1; }';
export const kernelBody = mostly(
  fc.oneof(
    fc.constantFrom(
      literal(
        'a function',
        () =>
          ({ x }: { x: Float32Array }) =>
            x.fill(1, 0, 1),
      ),
      literal('an async function', () => async () => undefined),
      literal(
        'a generator',
        () =>
          function* run() {
            yield 1;
          },
      ),
      literal('a closure', () => () => literal('x', () => 1)),
      literal('a bound function', () => (() => 1).bind(null)),
      literal(
        'a method',
        () =>
          ({
            run() {
              return 1;
            },
          }).run,
      ),
      literal('Math.max', () => Math.max),
    ),
    record({ module: kernelModule, export: exported }),
    record(
      { typegpu: mostly(choice({ 'a function of TypeGPU': add, 'its entry point': entry }), 8) },
      ['typegpu'],
    ),
    record(
      { typegpu: choice({ 'a function of TypeGPU': add }), module: kernelModule, export: exported },
      ['typegpu'],
    ),
    record({
      wgsl: mostly(choice({ 'a module of WGSL': WGSL, "''": '' }), 8),
      entryPoint: exported,
      groups: mostly(
        choice({ "[['x']]": [['x']], '[null, { 0: 1 }]': [null, { 0: 1 }], '[[1]]': [[1]] }),
      ),
      constants: junk,
    }),
  ),
);
export const parameterText = mostly(
  choice({
    "'f32'": 'f32',
    "'u8.out'": 'u8.out',
    "'f32.in.out'": 'f32.in.out',
    "'f32.'": 'f32.',
    "'.in'": '.in',
  }),
);

export const shareOptions = mostly(
  record({
    rights: mostly(choice({ "'read'": 'read', "'write'": 'write' })),
    arrays: mostly(choice({ '[]': [] })),
  }),
);
export const arrayName = mostly(choice({ "'table'": 'table', "'none'": 'none' }));

export const uniformType = mostly(choice({ f32, u32, vec2u, mat4x4f }));
export const uniformMembers = mostly(
  record({ size: uniformType, scale: uniformType, time: uniformType }),
);

/** Two ends that fit each other at times. What is written is never what must stay as it is. */
const sameBytes = fc.tuple(from('prey'), from('readable'), whole(0, 50), whole(51, 700)).map(
  ([to, source, first, last]) =>
    [to, source].map((end) => ({
      text: `{ array: ${end.text}, begin: ${first.text}, end: ${last.text} }`,
      make: (world: World) => ({
        array: end.make(world),
        begin: first.make(world),
        end: last.make(world),
      }),
    })) as unknown as [Value, Value],
);
const target = mostly(
  fc.oneof(from('prey'), record({ array: mostly(from('prey')), begin, end }), plain),
);
const source = mostly(
  fc.oneof(from('readable'), record({ array: mostly(from('readable')), begin, end }), plain),
);
export const copyEnds: fc.Arbitrary<[Value, Value]> = fc.oneof(
  { weight: 2, arbitrary: sameBytes },
  { weight: 1, arbitrary: fc.tuple(target, source) },
);
export const copyOptions = mostly(record({ at: prefetchTarget, signal }), 6);

export const npyPath = mostly(
  fc.constantFrom(
    inFolder('matrix.npy'),
    inFolder('matrix.npy'),
    inFolder('saved.npy'),
    inFolder('numbers'),
  ),
  5,
);
export const npyOptions = mostly(
  record({
    type: mostly(choice({ Float32Array, Int8Array })),
    writable: mostly(choice({ true: true, false: false })),
    shared: mostly(choice({ false: false, true: true })),
    mapped: mostly(choice({ false: false, true: true })),
    allowTrailingBytes: mostly(choice({ true: true, false: false })),
    name,
  }),
  4,
);
/** No text that is a path by accident: a call that is right would write there. */
export const savePath = fc.constantFrom(
  inFolder('saved.npy'),
  inFolder('saved.npy'),
  inFolder('saved.npy'),
  inFolder('matrix.npy'),
  inFolder('.', 'a folder'),
  inFolder('missing/x.npy'),
  literal('/dev/null', () => '/dev/null'),
  literal("new URL('http://localhost/x.npy')", () => new URL('http://localhost/x.npy')),
  literal('5', () => 5),
  literal('{}', () => ({})),
);
export const savedPart = mostly(
  fc.oneof(from('readable'), record({ array: mostly(from('readable')), begin, end })),
  4,
);
export const saveOptions = mostly(
  fc.oneof(
    record({}),
    record({
      shape: mostly(
        choice({ '[3000]': [3000], '[10, 300]': [10, 300], '[2 ** 53]': [2 ** 53], '[-1]': [-1] }),
      ),
      dtype: mostly(choice({ float32: 'float32', uint8: 'uint8', bool: 'bool' })),
    }),
  ),
  4,
);

const providers = new URL('./providers.js', import.meta.url).href;
export const providedOptions = mostly(
  record({
    module: mostly(
      choice({ 'a module of providers': providers, "'file:///missing.js'": 'file:///missing.js' }),
      8,
    ),
    export: mostly(
      choice(
        Object.fromEntries(
          ['fill', 'fail', 'failOddly', 'refuseAll', 'nothing', 'missing'].map((each) => [
            each,
            each,
          ]),
        ),
      ),
      8,
    ),
    data: fc.oneof(number, junk),
    writable: mostly(choice({ true: true, false: false })),
    timeoutMs: mostly(whole(5000, 9000), 6),
    name,
  }),
  6,
);

export const hostMemory = mostly(
  choice({ "'256MiB'": '256MiB', "'64MiB'": '64MiB', "'1KiB'": '1KiB' }),
);

export const recordPath = fc.constantFrom(
  inFolder('run.rec'),
  inFolder('run.rec'),
  inFolder('.', 'a folder'),
  inFolder('missing/x.rec'),
  literal('/dev/full', () => '/dev/full'),
  literal('5', () => 5),
);
const size = choice({ "'64KiB'": '64KiB', "'1MiB'": '1MiB', '1': 1 });
export const recordOptions = mostly(record({ limit: mostly(size) }));

export const metricsOptions = mostly(record({ register: choice({ '{}': {} }) }));
export const eventsOptions = mostly(record({ performance: flag }));
export const serveOptions = mostly(
  record({
    port: mostly(whole(-1, 2)),
    points: mostly(list(record({ x: array, y: array, name: arrayName }), 2)),
  }),
);

/** CPU 0, which mostly is there, and others, which may be. */
export const bindOptions = mostly(record({ cpu: mostly(whole(0, 3)) }));

const injection = mostly(record({ refuseLargerThanPages: mostly(whole(1, 64)) }));
const deviceSpecification = mostly(
  record(
    {
      kind: mostly(
        choice({ "'simulated'": 'simulated', "'process'": 'process', "'custom'": 'custom' }),
        6,
      ),
      driver: mostly(
        record({
          module: mostly(choice({ "'file:///missing.js'": 'file:///missing.js' })),
          export: junk,
        }),
      ),
      options: junk,
      memory: mostly(
        choice({
          "'16MiB'": '16MiB',
          "'8MiB'": '8MiB',
          "'-1'": '-1',
          "'1XB'": '1XB',
          '4096': 4096,
        }),
        6,
      ),
      units: mostly(whole(1, 2), 6),
      lossy: mostly(choice({ true: true, false: false }), 6),
      name,
      inject: injection,
    },
    ['kind', 'memory'],
  ),
  6,
);
/** Of a device that a space may have at any time. */
export const addedDevice = fc.oneof(
  deviceSpecification,
  record({ kind: choice({ "'simulated'": 'simulated' }), memory: choice({ "'8MiB'": '8MiB' }) }, [
    'kind',
    'memory',
  ]),
);
export const spaceOptions = mostly(
  record({
    devices: mostly(list(deviceSpecification, 3)),
    hostMemory,
    slowMemory: mostly(
      fc.oneof(
        junk,
        record(
          {
            bytes: choice({ "'4MiB'": '4MiB', '7': 7 }),
            bandwidth: choice({ "'1GB'": '1GB', 0: 0 }),
          },
          [],
        ),
      ),
    ),
    addressSpace: mostly(choice({ "'1TiB'": '1TiB', "'1GiB'": '1GiB', "'1PiB'": '1PiB' })),
    userModeOnly: mostly(choice({ true: true, false: false })),
    checkInvariants: mostly(choice({ true: true, false: false })),
    inject: injection,
  }),
  4,
);
