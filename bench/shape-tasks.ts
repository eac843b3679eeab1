/** Programs of the shapes that public code has, with data: each is a chain of launches over arrays. */

export type Numbers = Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

export interface ShapeLaunch {
  readonly source: string;
  readonly workgroups: readonly [number, number];
  /** Members of its uniform variable `p`, all of them `u32`. */
  readonly numbers: Readonly<Record<string, number>>;
}

export interface ShapeTask {
  /** About a quarter of what its arrays are together. */
  readonly memoryMib: number;
  arrays(): Record<string, Numbers>;
  readonly launches: readonly ShapeLaunch[];
  readonly result: string;
}

/** Of the variables, in the order of their bindings, as `in x f32` or `out y u32`. */
function launch(
  variables: readonly string[],
  numbers: Readonly<Record<string, number>>,
  workgroups: readonly [number, number],
  size: string,
  body: string,
  more = '',
): ShapeLaunch {
  const declared = variables.map((each, binding) => {
    const [use, name, type] = each.split(' ');
    const access = use === 'in' ? 'read' : 'read_write';
    return `@group(0) @binding(${binding}) var<storage, ${access}> ${name}: array<${type}>;`;
  });
  const members = Object.keys(numbers).map((each) => `${each}: u32`);
  return {
    workgroups,
    numbers,
    source: `${declared.join('\n')}
struct Numbers { ${members.join(', ')} }
@group(0) @binding(${variables.length}) var<uniform> p: Numbers;
${more}
@compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
${body}
}`,
  };
}

function filled<A extends Numbers>(array: A, of: (index: number) => number): A {
  for (let i = 0; i < array.length; i++) array[i] = of(i);
  return array;
}
const floats = (length: number) => filled(new Float32Array(length), (i) => ((i * 7919) % 61) - 30);
const wordsOf = (length: number, of: (index: number) => number) =>
  filled(new Uint32Array(length), of);
const words = (length: number, below: number) =>
  wordsOf(length, (i) => (Math.imul(i, 2_654_435_761) >>> 3) % below);

const SIDE = 2048;
const torus: ShapeTask = {
  memoryMib: 8,
  arrays: () => ({ cells: words(SIDE * SIDE, 2), next: new Uint32Array(SIDE * SIDE) }),
  result: 'next',
  launches: [
    launch(
      ['in cells u32', 'out next u32'],
      { w: SIDE, h: SIDE },
      [SIDE / 8, SIDE / 8],
      '8, 8',
      `var n = 0u; for (var dy = 0u; dy < 3u; dy++) { for (var dx = 0u; dx < 3u; dx++) { if (dx != 1u || dy != 1u) {
  n += cells[((id.y + dy + p.h - 1u) % p.h) * p.w + (id.x + dx + p.w - 1u) % p.w]; } } }
let i = id.y * p.w + id.x; next[i] = u32(n == 3u || (n == 2u && cells[i] == 1u));`,
    ),
  ],
};

const KEYS = 2 ** 22;
const BLOCK = 256;
const BLOCKS = KEYS / BLOCK;
const SCAN = `for (var s = 1u; s < 256u; s <<= 1u) { var more = 0u; if (lane >= s) { more = part[lane - s]; } workgroupBarrier(); part[lane] += more; workgroupBarrier(); }`;
const PART = 'var<workgroup> part: array<u32, 256>;';

/** One workgroup adds up all of what is in `sums`, a piece after the other. */
const sumsOf = (length: number) =>
  launch(
    ['out sums u32'],
    { length },
    [1, 1],
    '256',
    `for (var at = 0u; at < p.length; at += 256u) { if (lane == 0u) { before = carry; }
  part[lane] = sums[at + lane]; workgroupBarrier(); let own = part[lane]; ${SCAN}
  sums[at + lane] = before + part[lane] - own; if (lane == 255u) { carry = before + part[255]; } workgroupBarrier(); }`,
    `${PART} var<workgroup> carry: u32; var<workgroup> before: u32;`,
  );

const scan: ShapeTask = {
  memoryMib: 8,
  arrays: () => ({
    x: words(KEYS, 100),
    y: new Uint32Array(KEYS),
    sums: new Uint32Array(BLOCKS),
  }),
  result: 'y',
  launches: [
    launch(
      ['in x u32', 'out y u32', 'out sums u32'],
      { length: KEYS },
      [BLOCKS, 1],
      '256',
      `part[lane] = x[id.x]; workgroupBarrier(); ${SCAN} y[id.x] = part[lane]; if (lane == 255u) { sums[group.x] = part[255]; }`,
      PART,
    ),
    sumsOf(BLOCKS),
    launch(
      ['out y u32', 'in sums u32'],
      { length: KEYS },
      [BLOCKS, 1],
      '256',
      'y[id.x] += sums[group.x];',
    ),
  ],
};

const radix: ShapeTask = {
  memoryMib: 8,
  arrays: () => ({
    keys: words(KEYS, 2 ** 28),
    sorted: new Uint32Array(KEYS),
    sums: new Uint32Array(16 * BLOCKS),
  }),
  result: 'sorted',
  launches: [
    launch(
      ['in keys u32', 'out sums u32'],
      { shift: 8, blocks: BLOCKS },
      [BLOCKS, 1],
      '256',
      `if (lane < 16u) { atomicStore(&own[lane], 0u); } workgroupBarrier();
atomicAdd(&own[(keys[id.x] >> p.shift) & 15u], 1u); workgroupBarrier();
if (lane < 16u) { sums[lane * p.blocks + group.x] = atomicLoad(&own[lane]); }`,
      'var<workgroup> own: array<atomic<u32>, 16>;',
    ),
    sumsOf(16 * BLOCKS),
    launch(
      ['in keys u32', 'in sums u32', 'out sorted u32'],
      { shift: 8, blocks: BLOCKS },
      [BLOCKS, 1],
      '256',
      `let key = keys[id.x]; let digit = (key >> p.shift) & 15u; own[lane] = digit; workgroupBarrier();
var before = 0u; for (var k = 0u; k < lane; k++) { before += u32(own[k] == digit); }
sorted[sums[digit * p.blocks + group.x] + before] = key;`,
      'var<workgroup> own: array<u32, 256>;',
    ),
  ],
};

const N = 1280;
const sgemm: ShapeTask = {
  memoryMib: 6,
  arrays: () => ({ a: floats(N * N), b: floats(N * N), c: new Float32Array(N * N) }),
  result: 'c',
  launches: [
    launch(
      ['in a f32', 'in b f32', 'out c f32'],
      { n: N },
      [N / 8, N / 8],
      '8, 8',
      'var sum = 0.0; for (var k = 0u; k < p.n; k++) { sum += a[id.y * p.n + k] * b[k * p.n + id.x]; } c[id.y * p.n + id.x] = sum;',
    ),
  ],
};

/** Parts have blocks of five arrays: so many that a quarter of them has these. */
const ROWS = 2 ** 21;
const EACH = 5;
function csr(memoryMib: number, columnOf: (row: number, at: number) => number): ShapeTask {
  return {
    memoryMib,
    arrays: () => ({
      begins: wordsOf(ROWS + 1, (row) => EACH * row),
      columns: wordsOf(EACH * ROWS, (i) => columnOf(Math.floor(i / EACH), i % EACH)),
      values: floats(EACH * ROWS),
      x: floats(ROWS),
      y: new Float32Array(ROWS),
    }),
    result: 'y',
    launches: [
      launch(
        ['in begins u32', 'in columns u32', 'in values f32', 'in x f32', 'out y f32'],
        { rows: ROWS },
        [ROWS / 256, 1],
        '256',
        'var sum = 0.0; for (var j = begins[id.x]; j < begins[id.x + 1u]; j++) { sum += values[j] * x[columns[j]]; } y[id.x] = sum;',
      ),
    ],
  };
}
const banded = csr(28, (row, at) => Math.min(ROWS - 1, Math.max(0, row + at - 2)));
const random = csr(28, (row, at) => (Math.imul(row * EACH + at, 2_654_435_761) >>> 7) % ROWS);

const [TOKENS, WIDE] = [2048, 64];
const attention: ShapeTask = {
  memoryMib: 6,
  arrays: () => ({
    q: floats(TOKENS * WIDE),
    k: floats(TOKENS * WIDE),
    v: floats(TOKENS * WIDE),
    scores: new Float32Array(TOKENS * TOKENS),
    y: new Float32Array(TOKENS * WIDE),
  }),
  result: 'y',
  launches: [
    launch(
      ['in q f32', 'in k f32', 'out scores f32'],
      { tokens: TOKENS, wide: WIDE },
      [TOKENS / 8, TOKENS / 8],
      '8, 8',
      'var sum = 0.0; for (var i = 0u; i < p.wide; i++) { sum += q[id.y * p.wide + i] * k[id.x * p.wide + i]; } scores[id.y * p.tokens + id.x] = sum / 4096.0;',
    ),
    launch(
      ['out scores f32'],
      { tokens: TOKENS },
      [TOKENS / 64, 1],
      '64',
      `var all = 0.0; for (var i = 0u; i < p.tokens; i++) { all += exp(scores[id.x * p.tokens + i]); }
for (var i = 0u; i < p.tokens; i++) { scores[id.x * p.tokens + i] = exp(scores[id.x * p.tokens + i]) / all; }`,
    ),
    launch(
      ['in scores f32', 'in v f32', 'out y f32'],
      { tokens: TOKENS, wide: WIDE },
      [WIDE / 8, TOKENS / 8],
      '8, 8',
      'var sum = 0.0; for (var i = 0u; i < p.tokens; i++) { sum += scores[id.y * p.tokens + i] * v[i * p.wide + id.x]; } y[id.y * p.wide + id.x] = sum;',
    ),
  ],
};

export const SHAPE_TASKS: Readonly<Record<string, ShapeTask>> = {
  torus,
  scan,
  sgemm,
  attention,
  // Those of which data tells what they touch take minutes on a GPU in software.
  radix,
  banded,
  random,
};

/** The bits of a result, added up. */
export function checksum(numbers: Numbers): number {
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  let sum = 0;
  for (let i = 0; i < bits.length; i++) sum = (Math.imul(sum, 31) + bits[i]) | 0;
  return sum;
}
