/** Pictures, volumes and what renderers do. */
import { floats, words } from '../kernel-case.js';
import { type Shape, shape } from './shape.js';

const [WIDE, HIGH] = [64, 64];
const AREA = WIDE * HIGH;
const SQUARE = [WIDE / 8, HIGH / 8, 1] as const;
const size = { size: [WIDE, HIGH] };
const zeros = (length: number): Float32Array => new Float32Array(length);
const IN = 'if (id.x >= size.x || id.y >= size.y) { return; }';

export const IMAGES: readonly Shape[] = [
  shape('grey of packed colours', {
    bound: ['in pixels u32', 'inout grey f32'],
    body: 'if (id.x < arrayLength(&pixels)) { let c = unpack4x8unorm(pixels[id.x]); grey[id.x] = dot(c.rgb, vec3f(0.25, 0.5, 0.25)); }',
    workgroups: [AREA / 64, 1, 1],
    arrays: { pixels: words(AREA), grey: zeros(AREA) },
  }),
  shape('blur with clamped edges', {
    bound: ['in x f32', 'inout y f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `${IN} var sum = 0.0; for (var dy = -1; dy <= 1; dy++) { for (var dx = -1; dx <= 1; dx++) {
    let at = clamp(vec2i(id.xy) + vec2i(dx, dy), vec2i(0), vec2i(size) - 1); sum += x[u32(at.y) * size.x + u32(at.x)]; } }
  y[id.y * size.x + id.x] = sum / 9.0;`,
    workgroups: SQUARE,
    arrays: { x: floats(AREA), y: zeros(AREA) },
    uniforms: size,
  }),
  shape('blur of rows', {
    bound: ['in x f32', 'inout y f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `${IN} var sum = 0.0; for (var dx = 0u; dx < 5u; dx++) { let at = min(id.x + dx, size.x - 1u); sum += x[id.y * size.x + at]; }
  y[id.y * size.x + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { x: floats(AREA), y: zeros(AREA) },
    uniforms: size,
  }),
  shape('blur of columns', {
    bound: ['in x f32', 'inout y f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `${IN} var sum = 0.0; for (var dy = 0u; dy < 5u; dy++) { let at = min(id.y + dy, size.y - 1u); sum += x[at * size.x + id.x]; }
  y[id.y * size.x + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { x: floats(AREA), y: zeros(AREA) },
    uniforms: size,
  }),
  shape('convolution with weights in an array', {
    bound: ['in x f32', 'in weights f32', 'inout y f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `if (id.x + 2u >= size.x || id.y + 2u >= size.y) { return; } var sum = 0.0;
  for (var k = 0u; k < 9u; k++) { sum += weights[k] * x[(id.y + k / 3u) * size.x + id.x + k % 3u]; } y[id.y * size.x + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { x: floats(AREA), weights: floats(9), y: zeros(AREA) },
    uniforms: size,
  }),
  shape('half of a picture', {
    bound: ['in x f32', 'inout y f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `if (id.x >= size.x / 2u || id.y >= size.y / 2u) { return; } let at = 2u * id.y * size.x + 2u * id.x;
  y[id.y * (size.x / 2u) + id.x] = 0.25 * (x[at] + x[at + 1u] + x[at + size.x] + x[at + size.x + 1u]);`,
    workgroups: [4, 4, 1],
    arrays: { x: floats(AREA), y: zeros(AREA / 4) },
    uniforms: size,
  }),
  shape('upside down', {
    bound: ['in x u32', 'inout y u32', 'uniform size vec2u'],
    size: '8, 8',
    body: `${IN} y[(size.y - 1u - id.y) * size.x + id.x] = x[id.y * size.x + id.x];`,
    workgroups: SQUARE,
    arrays: { x: words(AREA), y: new Uint32Array(AREA) },
    uniforms: size,
  }),
  shape('a quarter turn', {
    bound: ['in x u32', 'inout y u32', 'uniform size vec2u'],
    size: '8, 8',
    body: `${IN} y[id.y * size.x + id.x] = x[(size.x - 1u - id.x) * size.y + id.y];`,
    workgroups: SQUARE,
    arrays: { x: words(AREA), y: new Uint32Array(AREA) },
    uniforms: size,
  }),
  shape('channels from planes to pixels', {
    bound: ['in planes f32', 'inout pixels f32', 'uniform area u32'],
    body: 'if (id.x >= area) { return; } for (var c = 0u; c < 3u; c++) { pixels[id.x * 3u + c] = planes[c * area + id.x]; }',
    workgroups: [AREA / 64, 1, 1],
    arrays: { planes: floats(3 * AREA), pixels: zeros(3 * AREA) },
    uniforms: { area: AREA },
  }),
  shape('histogram through memory of the workgroup', {
    bound: ['in pixels u32', 'inout bins atomic<u32>'],
    more: 'var<workgroup> own: array<atomic<u32>, 64>;',
    body: `atomicStore(&own[lane], 0u); workgroupBarrier(); atomicAdd(&own[pixels[id.x] & 63u], 1u); workgroupBarrier();
  atomicAdd(&bins[lane], atomicLoad(&own[lane]));`,
    workgroups: [AREA / 64, 1, 1],
    arrays: { pixels: words(AREA), bins: new Uint32Array(64) },
  }),
  shape('colours by a table', {
    bound: ['in index u32', 'in palette vec4f', 'inout y vec4f'],
    body: 'if (id.x < arrayLength(&index)) { y[id.x] = palette[index[id.x] & 255u]; }',
    workgroups: [16, 1, 1],
    arrays: { index: words(1024), palette: floats(1024), y: zeros(4096) },
  }),
  shape('layers of a volume', {
    bound: ['in x f32', 'inout y f32', 'uniform n u32'],
    size: '4, 4, 4',
    body: `if (any(id >= vec3u(n))) { return; } let at = (id.z * n + id.y) * n + id.x; var sum = x[at];
  if (id.z > 0u) { sum += x[at - n * n]; } if (id.z + 1u < n) { sum += x[at + n * n]; } y[at] = sum;`,
    workgroups: [4, 4, 4],
    arrays: { x: floats(4096), y: zeros(4096) },
    uniforms: { n: 16 },
  }),
  shape('corners of the cells of a volume', {
    bound: ['in x f32', 'inout cases u32', 'uniform n u32'],
    size: '4, 4, 4',
    body: `if (any(id + 1u >= vec3u(n))) { return; } var found = 0u; for (var c = 0u; c < 8u; c++) {
    let p = id + vec3u(c & 1u, (c >> 1u) & 1u, c >> 2u); if (x[(p.z * n + p.y) * n + p.x] > 0.0) { found |= 1u << c; } }
  cases[(id.z * n + id.y) * n + id.x] = found;`,
    workgroups: [4, 4, 4],
    arrays: { x: floats(4096), cases: new Uint32Array(4096) },
    uniforms: { n: 16 },
  }),
  shape('lights of clusters', {
    bound: ['in lights vec4f', 'inout counts u32', 'uniform grid Grid'],
    more: 'struct Grid { tiles: vec3u, lights: u32, reach: f32 }',
    size: '4, 4, 4',
    body: `if (any(id >= grid.tiles)) { return; } var count = 0u; for (var i = 0u; i < grid.lights; i++) {
    if (distance(lights[i].xyz, vec3f(id)) < lights[i].w + grid.reach) { count++; } }
  counts[id.x + grid.tiles.x * (id.y + grid.tiles.y * id.z)] = count;`,
    workgroups: [4, 4, 4],
    arrays: { lights: floats(64), counts: new Uint32Array(4096) },
    uniforms: { grid: { tiles: [16, 16, 16], lights: 16, reach: 3 } },
  }),
];
