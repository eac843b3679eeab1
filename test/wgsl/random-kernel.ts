/**
 * Random programs with random indices, guards and loops: in parts they must give what one dispatch
 * gives. What an invocation reads outside of an array does not count, since no two GPUs need agree
 * on it; each writes elements of its own.
 */
import assert from 'node:assert/strict';
import { describe } from '../../src/wgsl/reading/describe.js';
import type { Parser } from '../../src/wgsl/reading/syntax.js';
import { paged, planned, SMALLER } from './corpus.js';
import type { Gpu } from './gpu.js';
import { type Arrays, ID, type KernelCase, words } from './kernel-case.js';
import { TestLaunch } from './launch.js';

const WIDE = 16;

class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2654435761 + 12345) >>> 0;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

class Program {
  readonly #chance: Chance;
  #variables = ['i', 'i', 'i', 'id.x', 'id.y', 'l.x', 'w.x', 'p.n', 'p.k'];
  #count = 0;

  /**
   * @param clamps whether the GPU takes an array's last element for one beyond its end; where it
   * does not, there are no such reads
   */
  constructor(
    chance: Chance,
    readonly clamps: boolean,
  ) {
    this.#chance = chance;
  }

  index(depth: number): string {
    const { of, below } = {
      of: <T>(list: readonly T[]) => this.#chance.of(list),
      below: (n: number) => this.#chance.below(n),
    };
    if (depth === 0) return below(4) === 0 ? `${below(9)}u` : of(this.#variables);
    const one = this.index(depth - 1);
    switch (below(12)) {
      case 0:
        return `min(${one}, ${this.index(depth - 1)})`;
      case 1:
        return `max(${one}, ${this.index(depth - 1)})`;
      case 2:
        return `clamp(${one}, ${below(40)}u, ${40 + below(200)}u)`;
      case 3:
        return `select(${one}, ${this.index(depth - 1)}, ${this.condition(depth - 1)})`;
      case 4:
        return `(${one} / ${1 + below(5)}u)`;
      case 5:
        return `(${one} % ${1 + below(60)}u)`;
      case 6:
        // Of constants alone the compiler would refuse a shift that loses bits.
        return `((${one} + zero) ${of(['<<', '>>'])} ${below(3)}u)`;
      case 7:
        return `(${one} ${of(['&', '|', '^'])} ${below(70)}u)`;
      case 8:
        return `u32(i32(${one}) ${of(['-', '+', '*', '/', '%'])} ${1 + below(6)})`;
      default:
        return `(${one} ${of(['+', '-', '*', '+', '-'])} ${below(3) === 0 ? this.index(depth - 1) : `${below(6)}u`})`;
    }
  }

  condition(depth: number): string {
    const one = `${this.index(depth)} ${this.#chance.of(['<', '<=', '>', '>=', '==', '!='])} ${this.index(depth)}`;
    if (this.#chance.below(3) > 0) return `(${one})`;
    return `(${this.#chance.of(['', '!'])}(${one}) ${this.#chance.of(['&&', '||'])} ${this.condition(depth)})`;
  }

  statements(depth: number): string {
    const known = this.#variables;
    const count = 1 + this.#chance.below(3);
    const lines = Array.from({ length: count }, () => this.#statement(depth));
    // What a block declares is unknown after it.
    this.#variables = known;
    return lines.join('\n');
  }

  #name(): string {
    return `v${this.#count++}`;
  }

  #statement(depth: number): string {
    const { below } = { below: (n: number) => this.#chance.below(n) };
    const kind = below(depth > 0 ? 8 : 4);
    if (kind === 0) {
      const name = this.#name();
      const text = `let ${name} = ${this.index(2)};`;
      this.#variables = [...this.#variables, name];
      return text;
    }
    if (kind === 1 && this.#chance.below(2) === 0) return this.#named();
    if (kind <= 3) {
      const at = this.#name();
      const array = this.#chance.of(['a', 'b']);
      return `let ${at} = ${this.index(2)}; if (${at} < arrayLength(&${array})) { sum = sum * 3u + ${array}[${at}]; }`;
    }
    if (kind <= 5) {
      const otherwise = below(2) === 0 ? ` else { ${this.statements(depth - 1)} }` : '';
      return `if ${this.condition(1)} { ${this.statements(depth - 1)} }${otherwise}`;
    }
    return this.#loop(depth);
  }

  /**
   * Elements whose places are in another array, or beyond the end of it where such an index is the
   * last one's.
   */
  #named(): string {
    const { below } = { below: (n: number) => this.#chance.below(n) };
    const [at, name] = [this.#name(), this.#name()];
    const [from, table] = this.#chance.of([
      ['q', 'a'],
      ['q', 'b'],
      ['b', 'a'],
      ['a', 'b'],
    ]);
    const index = this.#chance.of([
      name,
      `${name} * ${1 + below(4)}u + ${this.index(1)}`,
      `${name} / 1u + ${below(30)}u`,
      `i32(${name}) * ${below(7) - 3} + ${below(90)}`,
      `${name} - ${below(60)}u`,
    ]);
    const guarded =
      below(3) === 0 ? `if (${name} < arrayLength(&${table})) { sum ^= ${table}[${name}]; }` : '';
    return `let ${at} = ${this.index(1)}; if (${at} < arrayLength(&${from})) { let ${name} = ${from}[${at}]; sum = sum * 7u + ${table}[${this.clamps ? index : `u32(${index}) % arrayLength(&${table})`}]; ${guarded} }`;
  }

  #loop(depth: number): string {
    const name = this.#name();
    const fuel = this.#name();
    const [step, before, condition] = this.#chance.of([
      ['++', this.index(1), `${name} < ${this.index(1)}`],
      [' += 2u', this.index(1), `${name} <= ${this.index(1)}`],
      ['--', this.index(1), `${name} > ${this.index(1)}`],
      [' *= 2u', '1u', `${name} < ${this.index(1)}`],
      [' >>= 1u', this.index(1), `${name} > 0u`],
    ]);
    const known = this.#variables;
    this.#variables = [...known, name];
    const leaves = this.#chance.below(4) === 0 ? `if ${this.condition(1)} { continue; }` : '';
    const body = `${fuel}++; if (${fuel} > 6u) { break; } ${leaves} ${this.statements(depth - 1)}`;
    this.#variables = known;
    const declared = `var ${fuel} = 0u;`;
    if (this.#chance.below(2) === 0)
      return `${declared} for (var ${name} = ${before}; ${condition}; ${name}${step}) { ${body} }`;
    return `${declared} var ${name} = ${before}; loop { if (!(${condition})) { break; } ${body} continuing { ${name}${step}; } }`;
  }
}

/** The element that an invocation writes: no two have the same. `q` has each number once. */
const OWN = [
  { text: 'i', most: 1 },
  { text: 'arrayLength(&c) - 1u - i', most: 1 },
  { text: '2u * i + 1u', most: 2 },
  { text: 'i / 4u * 8u + i % 4u', most: 2 },
  // Rows that become columns.
  { text: '(id.x * ROWS + id.y)', most: 1 },
  { text: 'q[i]', most: 1 },
  { text: '(q[i] ^ 1u)', most: 1 },
  { text: '2u * q[arrayLength(&q) - 1u - i]', most: 2 },
];

/** How it is written; what was there may be read, too. */
const STORES = [
  (at: string) => `c[${at}] = sum;`,
  (at: string) => `let e = &c[${at}]; *e = sum;`,
  (at: string) => `put(${at}, sum);`,
  (at: string) => `c[${at}] = c[${at}] * 3u + sum;`,
  (at: string) => `c[${at}] ^= sum;`,
  (at: string) => `let e = &c[${at}]; if ((sum & 1u) == 0u) { *e += sum; } else { (*e)++; }`,
  (at: string) => `for (var times = 0u; times < (sum & 3u); times++) { c[${at}] += sum; }`,
];

/** Invocations that meet at elements: in any order they give the same. */
const TOGETHER = ['atomicAdd', 'atomicMax', 'atomicXor', 'atomicOr'];

/** Invocations of a workgroup hand each other what they have. */
const SHARED = [
  `s[l.x] = sum; workgroupBarrier(); sum = sum * 5u + s[(l.x + 3u) % ${WIDE}u];`,
  `for (var turn = 0u; turn < 3u; turn++) { s[l.x] = sum; workgroupBarrier(); let other = s[(l.x + 1u + turn) % ${WIDE}u];
if (other < arrayLength(&a)) { sum += a[other]; } sum += other % 300u; workgroupBarrier(); }`,
];

/**
 * What comes of the order of the invocations, and places by what the same launch writes. `n[0]`
 * counts elements of `d`, `n[1]` adds up what was exchanged, `n[2]` counts bits that were set
 * first; from 64, 128 and 256 on are exchanged words, bits, and a table of keys.
 */
const RESUMED = [
  (_: string, at: string) => `let ${at} = atomicAdd(&n[0], 1u); d[${at}] = sum;`,
  () => 'd[atomicAdd(&n[0], 1u)] = sum ^ i;',
  () => 'append(sum + 7u);',
  () => 'd[atomicAdd(&n[0], 1u)] = drawn(&sum);',
  (own: string) => `c[${own}] ^= drawn(&sum);`,
  (own: string, at: string) =>
    `let ${at} = c[${own}]; c[${own}] = ${at} * 3u + sum; sum += a[${at} % arrayLength(&a)];`,
  (own: string) => `c[${own}] += a[c[${own}] % arrayLength(&a)]; sum ^= c[${own}];`,
  (_: string, at: string) =>
    `let ${at} = atomicExchange(&n[64u + sum % 64u], sum); atomicAdd(&n[1], ${at});`,
  (_: string, at: string) =>
    `let ${at} = 1u << (sum % 32u); if ((atomicOr(&n[128u + i % 64u], ${at}) & ${at}) == 0u) { atomicAdd(&n[2], ${at}); }`,
  (_: string, at: string) => `let key = 1u + sum % 100u; var ${at} = key * 7u % 256u; loop {
let seen = atomicCompareExchangeWeak(&n[256u + ${at}], 0u, key); if (seen.exchanged || seen.old_value == key) { break; }
if (seen.old_value != 0u) { ${at} = (${at} + 1u) % 256u; } }`,
];

const RESUMED_DECLARATIONS = `@group(0) @binding(5) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> d: array<u32>; fn append(value: u32) { d[atomicAdd(&n[0], 1u)] = value; }
fn drawn(state: ptr<function, u32>) -> u32 { *state = *state * 1664525u + 1013904223u; return *state >> 3u; }`;

/** Statements for some of these. */
function resumedOf(chance: Chance, program: Program, own: string): string[] {
  return Array.from({ length: 1 + chance.below(2) }, (_, number) => {
    const text = chance.of(RESUMED)(own, `r${number}`);
    return chance.below(2) === 0 ? `{ ${text} }` : `if ${program.condition(1)} { ${text} }`;
  });
}

function ordered({ n, d }: Arrays): void {
  const wordsOf = (begin: number, end: number) => (n as Uint32Array).subarray(begin, end);
  (n as Uint32Array)[1] = wordsOf(64, 128).reduce(
    (sum, each) => sum + each,
    (n as Uint32Array)[1] as number,
  );
  wordsOf(64, 128).fill(0);
  wordsOf(256, 512).sort();
  (d as Uint32Array).sort();
}

export function kernelOf(seed: number, clamps: boolean): KernelCase {
  const chance = new Chance(seed);
  const program = new Program(chance, clamps);
  const rows = chance.of([1, 1, 4]);
  const groups = 4 + chance.below(13);
  const across = groups * WIDE;
  const all = across * rows;
  const { text, most } = chance.of(OWN);
  const own = { text: text.replace('ROWS', `${rows}u`), most };
  const body = program.statements(2);
  const isTogether = chance.below(5) === 0;
  const met = chance.of([
    'sum % arrayLength(&c)',
    'a[i % arrayLength(&a)] % arrayLength(&c)',
    own.text,
  ]);
  const store = isTogether
    ? `${chance.of(TOGETHER)}(&c[${met}], sum);`
    : chance.of(STORES)(own.text);
  const guard = chance.of([
    '',
    'if (id.x >= p.n) { return; }',
    `if (!(id.x < p.n && id.y < ${rows}u)) { return; }`,
  ]);
  // Where some have returned, the others must not wait.
  const isShared = guard === '' && chance.below(2) === 0;
  const isResumed = !isTogether && chance.below(3) === 0;
  const resumed = isResumed ? resumedOf(chance, program, own.text) : [];
  const source = `struct P { k: u32, n: u32 }
@group(0) @binding(0) var<uniform> p: P; @group(0) @binding(1) var<storage> a: array<u32>;
@group(0) @binding(2) var<storage> b: array<u32>; @group(0) @binding(3) var<storage, read_write> c: array<${isTogether ? 'atomic<u32>' : 'u32'}>;
@group(0) @binding(4) var<storage> q: array<u32>;
${isShared ? `var<workgroup> s: array<u32, ${WIDE}>;` : ''}
${isResumed ? RESUMED_DECLARATIONS : ''}
fn put(at: u32, value: u32) { ${isTogether ? 'atomicStore(&c[at], value)' : 'c[at] = value'}; }
@compute @workgroup_size(${WIDE}) fn main(${ID}, @builtin(local_invocation_id) l: vec3u, @builtin(workgroup_id) w: vec3u) {
let zero = p.k & 0u; let used = arrayLength(&a) + arrayLength(&b) + arrayLength(&c) + arrayLength(&q) + p.k; var sum = used;
let i = id.y * ${across}u + id.x;
${guard}
${isResumed ? 'sum += arrayLength(&n) + arrayLength(&d);' : ''}
${body}
${resumed.join('\n')}
${isShared ? chance.of(SHARED) : ''}
${store} }`;
  const arrays: Record<string, Uint32Array> = {
    a: words(all + chance.below(50)),
    b: words(20 + chance.below(all)),
    c: words(own.most * all, 1000),
    q: Uint32Array.from({ length: all }, (_, i) => (i * 1009) % all),
    ...(isResumed ? { n: new Uint32Array(512), d: new Uint32Array(2 * all) } : {}),
  };
  const uniforms = { p: { k: chance.below(50), n: across - chance.below(9) } };
  const structured = chance.below(2) === 0 ? ['b', 'c', 'a'].slice(0, 1 + chance.below(3)) : [];
  for (const each of structured)
    arrays[each] = Uint32Array.of(3, 5, ...(arrays[each] as Uint32Array));
  return {
    name: `seed ${seed}`,
    source: structured.reduce(inStructure, source),
    workgroups: [groups, rows, 1],
    arrays,
    uniforms,
    reference: () => {},
    ...(isResumed ? { ordered } : {}),
    windows: 'cut',
  };
}

/** The same with an array that ends a structure, behind two numbers that are read. */
function inStructure(source: string, array: string): string {
  const [, element] = new RegExp(` ${array}: array<([^;]*)>;`).exec(source) as unknown as [
    string,
    string,
  ];
  return `struct S${array} { first: u32, other: u32, items: array<${element}> }\n${source}`
    .replace(` ${array}: array<${element}>;`, ` ${array}: S${array};`)
    .replace(/(?<![\w.])([a-z])(?=\[)/g, (name) => (name === array ? `${array}.items` : name))
    .replaceAll(`(&${array})`, `(&${array}.items)`)
    .replace('let i = id.y', `sum += ${array}.first * 10u + ${array}.other; let i = id.y`);
}

/** Why random programs are not paged. */
const REFUSALS =
  /^(no room for a page of each|a single (invocation|workgroup) touches .*|.*'c' is written, and has members before its array.*)$/;

/**
 * @param isPaged it is run with its arrays paged, too, with frames for a half, a quarter or an
 * eighth of them
 * @param clamps whether the GPU takes an array's last element for one beyond its end
 * @returns whether the launch could be cut, and whether pages went home
 */
export async function randomKernel(
  parser: Parser,
  gpu: Gpu,
  seed: number,
  isPaged: boolean,
  clamps: boolean,
): Promise<{ cut: boolean; home: boolean; resumed: boolean; planned: boolean }> {
  const kernel = kernelOf(seed, clamps);
  const done = { cut: false, home: false, resumed: false, planned: false };
  let direct: Arrays | null = null;
  try {
    const launch = new TestLaunch(kernel, describe(parser, kernel.source));
    const { ordered } = kernel;
    if (isPaged) {
      direct = await launch.direct(gpu);
      ordered?.(direct);
      const outcome = await paged(gpu, launch, SMALLER[seed % SMALLER.length]!, direct, ordered);
      if (typeof outcome === 'string') assert.match(outcome, REFUSALS);
      else {
        done.home = outcome.homeBytes > 0;
        done.resumed = ordered !== undefined;
      }
      done.planned = await planned(gpu, launch, seed % 3 === 0 ? 1 / 2 : 1, direct, ordered);
    }
    // A compiled program takes longer than its launch: of those that are paged some are cut, too.
    if (isPaged && seed % 4 > 0) return done;
    for (const share of [0.8, 0.6, 0.4, 0.2, 0.1]) {
      const plan = launch.plan(launch.bytes * share);
      if (plan.kind === 'refused') return done;
      if (plan.parts.length < 2) continue;
      if (direct === null) {
        direct = await launch.direct(gpu);
        ordered?.(direct);
      }
      const inParts = await launch.inParts(gpu, plan.parts);
      ordered?.(inParts);
      assert.deepEqual(inParts, direct, `in ${plan.parts.length} parts`);
      return { ...done, cut: true };
    }
    return done;
  } catch (error) {
    console.log(kernel.source);
    throw error;
  }
}
