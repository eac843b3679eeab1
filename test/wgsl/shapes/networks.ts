/** Layers of neural networks. */
import { floats, words } from '../kernel-case.js';
import { type Shape, shape } from './shape.js';

const zeros = (length: number): Float32Array => new Float32Array(length);
const [ROWS, WIDE] = [64, 64];
const rows = (): Float32Array => floats(ROWS * WIDE);
const PART = 'var<workgroup> part: array<f32, 64>;';
const SUM =
  'workgroupBarrier(); for (var s = 32u; s > 0u; s >>= 1u) { if (lane < s) { part[lane] += part[lane + s]; } workgroupBarrier(); }';

export const NETWORKS: readonly Shape[] = [
  shape('rectified sums', {
    bound: ['in x f32', 'in bias f32', 'inout y f32', 'uniform wide u32'],
    body: 'if (id.x < arrayLength(&y)) { y[id.x] = max(x[id.x] + bias[id.x % wide], 0.0); }',
    workgroups: [64, 1, 1],
    arrays: { x: rows(), bias: floats(WIDE), y: zeros(ROWS * WIDE) },
    uniforms: { wide: WIDE },
  }),
  shape('scores that are masked by row and column', {
    bound: ['inout x f32', 'uniform s vec2u'],
    size: '8, 8',
    body: 'if (id.x < s.x && id.y < s.y && id.x > id.y) { x[id.y * s.x + id.x] = -1000.0; }',
    workgroups: [8, 8, 1],
    arrays: { x: rows() },
    uniforms: { s: [WIDE, ROWS] },
  }),
  shape('softmax of rows', {
    bound: ['in x f32', 'inout y f32', 'uniform wide u32'],
    more: PART,
    body: `var most = -1000.0; for (var k = 0u; k < wide; k++) { most = max(most, x[group.x * wide + k]); }
  let own = exp(x[group.x * wide + lane] - most); part[lane] = own; ${SUM} y[group.x * wide + lane] = own / part[0];`,
    workgroups: [ROWS, 1, 1],
    arrays: { x: rows(), y: zeros(ROWS * WIDE) },
    uniforms: { wide: WIDE },
  }),
  shape('rows divided by their length', {
    bound: ['in x f32', 'in weight f32', 'inout y f32', 'uniform p P'],
    more: `struct P { wide: u32, least: f32 } ${PART}`,
    body: `let own = x[group.x * p.wide + lane]; part[lane] = own * own; ${SUM}
  y[group.x * p.wide + lane] = weight[lane] * own * inverseSqrt(part[0] / f32(p.wide) + p.least);`,
    workgroups: [ROWS, 1, 1],
    arrays: { x: rows(), weight: floats(WIDE), y: zeros(ROWS * WIDE) },
    uniforms: { p: { wide: WIDE, least: 0.5 } },
  }),
  shape('rows of words', {
    bound: ['in tokens u32', 'in table f32', 'inout y f32', 'uniform wide u32'],
    body: 'if (id.x < arrayLength(&y)) { y[id.x] = table[tokens[id.x / wide] * wide + id.x % wide]; }',
    workgroups: [16, 1, 1],
    arrays: { tokens: words(16, 256), table: floats(256 * 64), y: zeros(1024) },
    uniforms: { wide: 64 },
  }),
  shape('rows to heads', {
    bound: ['in x f32', 'inout y f32', 'uniform s Shape'],
    more: 'struct Shape { rows: u32, columns: u32, head: u32 }',
    size: '8, 8',
    body: `if (id.x >= s.columns || id.y >= s.rows) { return; }
  y[(id.x / s.head) * s.head * s.rows + id.y * s.head + id.x % s.head] = x[id.y * s.columns + id.x];`,
    workgroups: [8, 8, 1],
    arrays: { x: rows(), y: zeros(ROWS * WIDE) },
    uniforms: { s: { rows: ROWS, columns: WIDE, head: 16 } },
  }),
  shape('heads to rows', {
    bound: ['in x f32', 'inout y f32', 'uniform s Shape'],
    more: 'struct Shape { rows: u32, columns: u32, head: u32 }',
    body: `if (id.x >= s.rows * s.columns) { return; } let row = id.x / s.columns; let column = id.x % s.columns;
  y[id.x] = x[(column / s.head) * s.head * s.rows + row * s.head + column % s.head];`,
    workgroups: [64, 1, 1],
    arrays: { x: rows(), y: zeros(ROWS * WIDE) },
    uniforms: { s: { rows: ROWS, columns: WIDE, head: 16 } },
  }),
  shape('turned pairs', {
    bound: ['inout x vec2f', 'in angles vec2f', 'uniform half u32'],
    body: `if (id.x >= arrayLength(&x)) { return; } let a = angles[id.x % half]; let v = x[id.x]; x[id.x] = vec2f(v.x * a.x - v.y * a.y, v.x * a.y + v.y * a.x);`,
    workgroups: [32, 1, 1],
    arrays: { x: rows(), angles: floats(64) },
    uniforms: { half: 32 },
  }),
  shape('scores of queries and keys', {
    bound: ['in q f32', 'in k f32', 'inout y f32', 'uniform s vec3u'],
    size: '8, 8',
    body: `if (id.x >= s.y || id.y >= s.x) { return; } var sum = 0.0; for (var i = 0u; i < s.z; i++) { sum += q[id.y * s.z + i] * k[id.x * s.z + i]; }
  y[id.y * s.y + id.x] = sum / sqrt(f32(s.z));`,
    workgroups: [8, 8, 1],
    arrays: { q: floats(64 * 16), k: floats(64 * 16), y: zeros(4096) },
    uniforms: { s: [64, 64, 16] },
  }),
  shape('values by scores', {
    bound: ['in scores f32', 'in v f32', 'inout y f32', 'uniform s vec3u'],
    size: '8, 8',
    body: `if (id.x >= s.z || id.y >= s.x) { return; } var sum = 0.0; for (var i = 0u; i < s.y; i++) { sum += scores[id.y * s.y + i] * v[i * s.z + id.x]; } y[id.y * s.z + id.x] = sum;`,
    workgroups: [4, 8, 1],
    arrays: { scores: floats(4096), v: floats(64 * 32), y: zeros(64 * 32) },
    uniforms: { s: [64, 64, 32] },
  }),
  shape('convolution with channels', {
    bound: ['in x f32', 'in w f32', 'inout y f32', 'uniform s S'],
    more: 'struct S { wide: u32, high: u32, channels: u32 }',
    size: '8, 8',
    body: `if (id.x + 2u >= s.wide || id.y + 2u >= s.high) { return; } var sum = 0.0; for (var c = 0u; c < s.channels; c++) { for (var k = 0u; k < 9u; k++) {
    sum += w[(id.z * s.channels + c) * 9u + k] * x[(c * s.high + id.y + k / 3u) * s.wide + id.x + k % 3u]; } } y[(id.z * s.high + id.y) * s.wide + id.x] = sum;`,
    workgroups: [4, 4, 4],
    arrays: { x: floats(4 * 1024), w: floats(4 * 4 * 9), y: zeros(4 * 1024) },
    uniforms: { s: { wide: 32, high: 32, channels: 4 } },
  }),
  shape('the greatest of windows', {
    bound: ['in x f32', 'inout y f32', 'uniform s vec2u'],
    size: '8, 8',
    body: `if (id.x >= s.x / 2u || id.y >= s.y / 2u) { return; } var most = -1000.0; for (var dy = 0u; dy < 2u; dy++) { for (var dx = 0u; dx < 2u; dx++) {
    most = max(most, x[(2u * id.y + dy) * s.x + 2u * id.x + dx]); } } y[id.y * (s.x / 2u) + id.x] = most;`,
    workgroups: [4, 4, 1],
    arrays: { x: rows(), y: zeros((ROWS * WIDE) / 4) },
    uniforms: { s: [WIDE, ROWS] },
  }),
  shape('weights of eight bits with a scale for 32', {
    bound: ['in packed u32', 'in scales f32', 'inout y f32'],
    body: `if (id.x >= arrayLength(&y)) { return; } let word = packed[id.x / 4u]; let byte = (word >> (8u * (id.x % 4u))) & 255u;
  y[id.x] = (f32(byte) - 128.0) * scales[id.x / 32u];`,
    workgroups: [64, 1, 1],
    arrays: { packed: words(1024), scales: floats(128), y: zeros(4096) },
  }),
  shape('a step of Adam', {
    bound: ['inout w f32', 'in g f32', 'inout m f32', 'inout v f32', 'uniform p P'],
    more: 'struct P { rate: f32, a: f32, b: f32, count: u32 }',
    body: `if (id.x >= p.count) { return; } let i = id.x; m[i] = mix(g[i], m[i], p.a); v[i] = mix(g[i] * g[i], v[i], p.b); w[i] -= p.rate * m[i] / (sqrt(abs(v[i])) + 1.0);`,
    workgroups: [64, 1, 1],
    arrays: { w: rows(), g: rows(), m: rows(), v: rows() },
    uniforms: { p: { rate: 0.5, a: 0.75, b: 0.5, count: 4096 } },
  }),
];
