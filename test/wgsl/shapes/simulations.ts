/** Simulations: cells, fluids, particles. */
import { floats, words } from '../kernel-case.js';
import { type Shape, shape } from './shape.js';

const [WIDE, HIGH] = [64, 64];
const AREA = WIDE * HIGH;
const SQUARE = [WIDE / 8, HIGH / 8, 1] as const;
const size = { size: [WIDE, HIGH] };
const zeros = (length: number): Float32Array => new Float32Array(length);
const LIFE = `var n = 0u; for (var dy = 0u; dy < 3u; dy++) { for (var dx = 0u; dx < 3u; dx++) {
    if (dx != 1u || dy != 1u) { n += cells[at(id.x + dx + size.x - 1u, id.y + dy + size.y - 1u)]; } } }
  let own = cells[at(id.x, id.y)]; next[at(id.x, id.y)] = u32(n == 3u || (n == 2u && own == 1u));`;
const TORUS = 'fn at(x: u32, y: u32) -> u32 { return (y % size.y) * size.x + x % size.x; }';
const WAVE = `let up = x[((id.y + size.y - 1u) % size.y) * size.x + id.x]; let down = x[((id.y + 1u) % size.y) * size.x + id.x];
  y[id.y * size.x + id.x] = x[id.y * size.x + id.x] + 0.25 * (up + down);`;
const cells = (): Uint32Array => words(AREA, 2);
const life = { cells: cells(), next: new Uint32Array(AREA) };

export const SIMULATIONS: readonly Shape[] = [
  shape('cells on a torus', {
    bound: ['in cells u32', 'inout next u32', 'uniform size vec2u'],
    more: TORUS,
    size: '8, 8',
    body: LIFE,
    workgroups: SQUARE,
    arrays: life,
    uniforms: size,
  }),
  shape('cells on a torus with its size in an array', {
    bound: ['inwhole size vec2u', 'in cells u32', 'inout next u32'],
    more: TORUS,
    size: '8, 8',
    body: LIFE,
    workgroups: SQUARE,
    arrays: { size: Uint32Array.of(WIDE, HIGH), ...life },
  }),
  shape('waves on a torus, of an array with its size before it', {
    bound: ['in field Field', 'inout y f32'],
    more: 'struct Field { size: vec2u, items: array<f32> }',
    size: '8, 8',
    body: WAVE.replaceAll('size', 'field.size').replaceAll('x[', 'field.items['),
    workgroups: SQUARE,
    arrays: {
      field: Float32Array.of(
        ...new Float32Array(Uint32Array.of(WIDE, HIGH).buffer),
        ...floats(AREA),
      ),
      y: zeros(AREA),
    },
  }),
  shape('diffusion inside of walls', {
    bound: ['in x f32', 'inout y f32', 'uniform p P'],
    more: 'struct P { size: vec2u, rate: f32 }',
    size: '8, 8',
    body: `let at = id.y * p.size.x + id.x; if (any(id.xy == vec2u(0)) || any(id.xy >= p.size - 1u)) { return; }
  y[at] = x[at] + p.rate * (x[at - 1u] + x[at + 1u] + x[at - p.size.x] + x[at + p.size.x] - 4.0 * x[at]);`,
    workgroups: SQUARE,
    arrays: { x: floats(AREA), y: zeros(AREA) },
    uniforms: { p: { size: [WIDE, HIGH], rate: 0.125 } },
  }),
  shape('divergence of a velocity', {
    bound: ['in v vec2f', 'inout d f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `let l = v[id.y * size.x + max(id.x, 1u) - 1u].x; let r = v[id.y * size.x + min(id.x + 1u, size.x - 1u)].x;
  let b = v[(max(id.y, 1u) - 1u) * size.x + id.x].y; let t = v[min(id.y + 1u, size.y - 1u) * size.x + id.x].y;
  d[id.y * size.x + id.x] = 0.5 * (r - l + t - b);`,
    workgroups: SQUARE,
    arrays: { v: floats(2 * AREA), d: zeros(AREA) },
    uniforms: size,
  }),
  shape('pressure by Jacobi', {
    bound: ['in p f32', 'in d f32', 'inout q f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `let s = vec2i(size); let c = vec2i(id.xy);
  let l = p[c.y * s.x + max(c.x - 1, 0)]; let r = p[c.y * s.x + min(c.x + 1, s.x - 1)];
  let b = p[max(c.y - 1, 0) * s.x + c.x]; let t = p[min(c.y + 1, s.y - 1) * s.x + c.x];
  q[c.y * s.x + c.x] = 0.25 * (l + r + b + t - d[c.y * s.x + c.x]);`,
    workgroups: SQUARE,
    arrays: { p: floats(AREA), d: floats(AREA), q: zeros(AREA) },
    uniforms: size,
  }),
  shape('advection from where the velocity says', {
    bound: ['in v vec2f', 'in x f32', 'inout y f32', 'uniform size vec2u'],
    size: '8, 8',
    body: `let at = id.y * size.x + id.x; let source = clamp(vec2i(id.xy) - vec2i(v[at]), vec2i(0), vec2i(size) - 1);
  y[at] = x[source.y * i32(size.x) + source.x];`,
    workgroups: SQUARE,
    arrays: { v: floats(2 * AREA), x: floats(AREA), y: zeros(AREA) },
    uniforms: size,
  }),
  shape('particles that move', {
    bound: ['inout particles array<Particle>', 'uniform dt f32'],
    more: 'struct Particle { place: vec2f, speed: vec2f }',
    body: `if (id.x >= arrayLength(&particles)) { return; } var p = particles[id.x]; p.place += dt * p.speed;
  if (any(abs(p.place) > vec2f(10.0))) { p.speed = -p.speed; } particles[id.x] = p;`,
    workgroups: [16, 1, 1],
    arrays: { particles: floats(4096) },
    uniforms: { dt: 0.5 },
  }),
  shape('particles that see all others', {
    bound: ['in old vec4f', 'inout next vec4f'],
    body: `let n = arrayLength(&old); if (id.x >= n) { return; } let own = old[id.x]; var force = vec2f(0.0);
  for (var j = 0u; j < n; j++) { let d = old[j].xy - own.xy; force += d / (dot(d, d) + 1.0); } next[id.x] = vec4f(own.xy + own.zw, own.zw + force);`,
    workgroups: [4, 1, 1],
    arrays: { old: floats(1024), next: zeros(1024) },
  }),
  shape('particles in a grid of cells', {
    bound: ['in begins u32', 'in places f32', 'inout near u32'],
    body: `if (id.x >= arrayLength(&near)) { return; } let cell = id.x / 4u; var count = 0u;
  for (var j = begins[cell]; j < begins[cell + 1u]; j++) { if (abs(places[j] - places[id.x]) < 5.0) { count++; } } near[id.x] = count;`,
    workgroups: [16, 1, 1],
    arrays: {
      begins: Uint32Array.from({ length: 257 }, (_, i) => 4 * i),
      places: floats(1024),
      near: new Uint32Array(1024),
    },
  }),
  shape('springs between neighbours of a cloth', {
    bound: ['in old vec4f', 'inout next vec4f', 'uniform size vec2u'],
    size: '8, 8',
    body: `let at = id.y * size.x + id.x; var force = vec4f(0.0); let own = old[at];
  if (id.x > 0u) { force += old[at - 1u] - own; } if (id.x + 1u < size.x) { force += old[at + 1u] - own; }
  if (id.y > 0u) { force += old[at - size.x] - own; } if (id.y + 1u < size.y) { force += old[at + size.x] - own; } next[at] = own + 0.25 * force;`,
    workgroups: [4, 4, 1],
    arrays: { old: floats(4096), next: zeros(4096) },
    uniforms: { size: [32, 32] },
  }),
  shape('a ring of samples', {
    bound: ['in ring f32', 'inout y f32', 'uniform head u32'],
    body: 'let n = arrayLength(&ring); if (id.x >= n) { return; } y[id.x] = ring[(head + id.x) % n] - ring[(head + id.x + n - 1u) % n];',
    workgroups: [AREA / 64, 1, 1],
    arrays: { ring: floats(AREA), y: zeros(AREA) },
    uniforms: { head: 1000 },
  }),
  shape('random numbers of each cell', {
    bound: ['inout seeds u32', 'inout y f32'],
    more: 'fn next(s: u32) -> u32 { var x = s; x ^= x << 13u; x ^= x >> 17u; x ^= x << 5u; return x; }',
    body: 'if (id.x >= arrayLength(&seeds)) { return; } let s = next(seeds[id.x]); seeds[id.x] = s; y[id.x] = f32(s >> 8u) / 16777216.0;',
    workgroups: [AREA / 64, 1, 1],
    arrays: { seeds: words(AREA), y: zeros(AREA) },
  }),
];
