/** Requests of which one thing is other than it should be, as a process may send them that lies. */

import type { StreamOperation } from '../../src/pager/protocol/operations.js';

/** Reproducible random numbers. */
export function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const ARRAY = { range: 1, name: 'x', firstPage: 0, count: 4 };
const ARRAY_NAME = { range: 1, name: 'x' };
const PLACE = { range: 1, name: 'x', offset: 0 };
const PARAMETER = { name: 'x', kind: 'array', type: 'i32', use: 'inout', offset: 0, length: 100 };
/** The first number of a stream, pin or notifier that client 1 may give. */
const FIRST_NUMBER = 2 ** 20 + 1;
const OF_STREAM = { stream: FIRST_NUMBER, sequence: 1 };
const LAUNCH = {
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

/** What streams do, as it is asked for. */
const OPERATIONS: Readonly<Record<StreamOperation['kind'], object>> = {
  launch: LAUNCH,
  prefetch: { ...ARRAY, kind: 'prefetch', device: 1, exclusive: false },
  copy: { kind: 'copy', to: PLACE, from: { ...PLACE, offset: 8192 }, bytes: 64, at: null },
  discard: { ...ARRAY, kind: 'discard' },
  free: { ...ARRAY, kind: 'free', whole: false },
  call: { kind: 'call', thread: -1 },
  cancelled: { kind: 'cancelled', reason: 'r' },
  wait: { kind: 'wait', other: 5, otherSequence: 3, failure: null },
  marker: { kind: 'marker' },
};

/** Requests as they are, each that a process which attached may make. */
const ALLOWED: Readonly<Record<string, unknown>> = {
  allocate: {
    bytes: 4096,
    name: 'a',
    writable: true,
    file: null,
    provider: null,
    elementBytes: 4,
    type: 'i32',
  },
  resize: { ...ARRAY_NAME, bytes: 8192 },
  usable: { ...ARRAY_NAME, verb: 'use' },
  clone: { ...ARRAY_NAME, cloneName: 'c' },
  free: { ...ARRAY, whole: false },
  flush: { ...ARRAY, durable: false },
  protect: { ...ARRAY, access: 1 },
  advise: { ...ARRAY, count: 512, change: { readMostly: true, preferred: 1, accessedBy: 3 } },
  attributes: ARRAY,
  mayWrite: ARRAY,
  discard: ARRAY,
  pin: { ...ARRAY, pin: FIRST_NUMBER, lock: false, writable: false, hold: false },
  unpin: { pin: FIRST_NUMBER },
  reload: { ...ARRAY, discard: false },
  residency: ARRAY,
  dirty: ARRAY,
  young: { ...ARRAY, clear: true },
  attachArray: {
    range: 1,
    firstPage: 0,
    pages: 1024,
    bytes: 4 * 2 ** 20,
    elementBytes: 4,
    name: 'x',
  },
  arrays: null,
  viewed: ARRAY_NAME,
  unviewed: { range: 1 },
  taken: { range: 1 },
  leave: { ended: false },
  stats: null,
  check: null,
  devices: null,
  pointer: { offset: 5 },
  watch: {
    ...ARRAY,
    id: FIRST_NUMBER,
    elementBytes: 4,
    length: 4096,
    source: null,
    owner: null,
    queue: 4,
    memory: 0,
  },
  unwatch: { subscription: FIRST_NUMBER },
  heard: { subscription: FIRST_NUMBER },
  estimate: LAUNCH,
  cancel: { stream: FIRST_NUMBER, sequence: null, ended: true, reason: 'r' },
  called: { ...OF_STREAM, error: null },
  forgive: { stream: FIRST_NUMBER },
  endStream: { stream: FIRST_NUMBER },
  writeBytes: { ...PLACE, bytes: 4, data: Uint8Array.of(1, 2, 3, 4) },
  readBytes: { ...PLACE, bytes: 64 },
};

/** Requests that a process may make which attached. */
export const ALLOWED_REQUESTS: readonly (readonly [string, unknown])[] = [
  ...Object.entries(ALLOWED),
  ...Object.values(OPERATIONS).map((each) => ['enqueue', { ...OF_STREAM, ...each }] as const),
];

const REQUESTS: typeof ALLOWED_REQUESTS = [
  ...ALLOWED_REQUESTS,
  [
    'addDevice',
    { options: { kind: 'process', name: 'd', memoryBytes: 2 ** 23, units: 1, lossy: false } },
  ],
  ['shareSpace', { rights: 'write', ranges: null }],
  ['close', { timeoutMs: 0, closed: [] }],
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

/** A request of this client of which one thing is other than it should be. */
export function forged(next: (below: number) => number, client = 1): unknown {
  const [name, value] = REQUESTS[next(REQUESTS.length)];
  const message = { id: next(4), name, value: ofClient(value, client) };
  let at: Record<string, unknown> = message;
  for (;;) {
    const keys = Object.keys(at);
    const key = keys[next(keys.length)];
    const inner = at[key];
    if (
      typeof inner === 'object' &&
      inner !== null &&
      !ArrayBuffer.isView(inner) &&
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

/** A copy with the numbers that this client may give. */
function ofClient(value: unknown, client: number): unknown {
  if (value === FIRST_NUMBER) return client * (FIRST_NUMBER - 1) + 1;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map((each) => ofClient(each, client));
  const members = Object.entries(value).map(([name, each]) => [name, ofClient(each, client)]);
  return Object.fromEntries(members);
}
