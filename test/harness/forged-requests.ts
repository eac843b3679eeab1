/** Requests of which one thing is other than it should be, as a process may send them that lies. */

/** Reproducible random numbers. */
export function random(seed: number): (below: number) => number {
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
    { range: 1, firstPage: 0, pages: 1024, bytes: 4 * 2 ** 20, elementBytes: 4, name: 'x' },
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
export function forged(next: (below: number) => number): unknown {
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
