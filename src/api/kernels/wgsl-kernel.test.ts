import { expect, test } from 'vitest';
import { wgslCode } from './wgsl-kernel.js';

type Given = Parameters<typeof wgslCode>[1];

const array = (use: 'in' | 'inout') => ({ kind: 'array', type: 'f32', use }) as const;
const number = { kind: 'scalar', type: 'f32' } as const;
const SAXPY = { input: array('in'), y: array('inout'), alpha: number };

const MODULE = `@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> alpha: f32;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  y[id.x] += alpha * input[id.x];
}`;

function refusal(source: string, parameters: Given = SAXPY): string {
  try {
    wgslCode('k', parameters, source, undefined, undefined);
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
}

const SAME = 'Variables have the names of their parameters';

test.each([
  ['as it is', MODULE, 'none'],
  [
    'a storage variable',
    MODULE.replaceAll('input', 'inputt'),
    `1:1: storage variable inputt is no parameter of the kernel; did you mean input? ${SAME}`,
  ],
  [
    'a uniform variable',
    MODULE.replaceAll('alpha', 'Alhpa'),
    `3:1: uniform Alhpa is f32, and Alhpa is no parameter of the kernel; did you mean alpha? ${SAME}`,
  ],
  [
    'where a variable is used',
    MODULE.replace('input[', 'inptu['),
    '5:22: inptu is declared nowhere; did you mean input? Entry point main does not use it',
  ],
  [
    'where a variable is declared',
    MODULE.replace('input:', 'inputs:'),
    `5:22: input is declared nowhere; did you mean inputs (1:1)? ${SAME}`,
  ],
])(
  'a name that is misspelt is told with the right one, and the place: %s',
  (_, source, expected) => {
    expect(refusal(source)).toBe(expected === 'none' ? 'none' : `kernel k, WGSL ${expected}`);
  },
);

test('a variable whose name is like that of no parameter is told with the parameter that it wants', () => {
  expect(refusal(MODULE, { y: array('inout'), alpha: number })).toMatch(
    /give the kernel a parameter input: f32\.in$/,
  );
  expect(refusal(MODULE, { input: array('in'), alpha: number })).toMatch(
    /give the kernel a parameter y: f32\.inout$/,
  );
  expect(refusal(MODULE, { input: array('in'), y: array('inout') })).toMatch(
    /give the kernel a parameter alpha: f32$/,
  );
});

test('a name that stands for another parameter already is not proposed', () => {
  const twice = MODULE.replaceAll('alpha', 'inputs').replace(
    'var<uniform> inputs: f32',
    'var<storage, read> inputs: f32',
  );
  expect(refusal(twice, { input: array('in'), y: array('inout') })).toMatch(
    /give the kernel a parameter inputs: f32\.in$/,
  );
});

test('a parameter whose variable is not declared, or of another address space, says so; one that is not used is left alone', () => {
  expect(refusal(MODULE.slice(MODULE.indexOf('\n') + 1))).toMatch(
    /4:22: input is declared nowhere; declare .* such as @group\(0\) @binding\(3\) var<storage, read> input: array<f32>;$/,
  );
  expect(refusal(MODULE.replace('alpha * ', ''))).toBe('none');
  expect(refusal(MODULE.replace(/@group\(0\) @binding\(2\) var<uniform>/, 'var<private>'))).toMatch(
    /3:1: variable alpha is var<private>, .* so: @group\(0\) @binding\(2\) var<uniform> alpha: f32;$/,
  );
  expect(refusal(MODULE, { ...SAXPY, other: number })).toMatch(
    /4:1: entry point main uses no variable for other; it uses: input, y, alpha$/,
  );
});

test('what has no place in memory is refused with what to do instead', () => {
  const of = (declaration: string, use: string) =>
    refusal(
      `@group(0) @binding(3) ${declaration}\n${MODULE.replace('alpha *', `alpha * ${use} *`)}`,
    );
  expect(of('var t: texture_2d<f32>;', 'textureLoad(t, vec2u(0, id.x), 0).x')).toMatch(
    /1:1: variable t is a texture, .* var<storage, read> t: array<vec4f>, .* read the texel at x, y as t\[y \* width \+ x\]$/,
  );
  expect(of('var t: texture_storage_2d<r32float, write>;', 'f32(textureDimensions(t).x)')).toMatch(
    /1:1: variable t is a texture, .* var<storage, read_write> t: array<vec4f>, and store the texel/,
  );
  expect(of('var s: sampler;', 'f(s)')).toMatch(
    /1:1: variable s is a sampler, .*; read elements of an array/,
  );
  expect(
    of('var<storage> b: binding_array<B, 4>; struct B { v: array<f32> }', 'b[1].v[0]'),
  ).toMatch(/1:1: variable b is an array of bindings, .* a variable of its own$/);
  expect(of('var<immediate> q: f32;', 'q')).toMatch(
    /1:1: variable q is var<immediate>, which nothing can be bound to/,
  );
});

test('members of a structure are found by the parameter of their name', () => {
  const source = `struct P { count: u32, alpha: f32 }\n${MODULE.replace('alpha: f32', 'p: P').replace('alpha *', 'p.alpha *')}`;
  const parameters = { ...SAXPY, count: { kind: 'scalar', type: 'u32' } as const };
  expect(refusal(source, parameters)).toBe('none');
  expect(refusal(source.replaceAll('alpha', 'alhpa'), parameters)).toMatch(
    /4:1: uniform p\.alhpa is f32, and alhpa is no parameter of the kernel; did you mean alpha\?/,
  );
  expect(refusal(source.replace('p.alpha *', '2 *'), parameters)).toBe('none');
});

/** With other names for its variables. */
function called(names: Readonly<Record<string, string>>): string {
  return MODULE.replace(/\b(?:input|y|alpha)\b/g, (name) => names[name] ?? name);
}

function bound(source: string, groups: unknown, parameters: Given = SAXPY): string {
  try {
    const { bindings } = wgslCode('k', parameters, source, undefined, undefined, groups);
    return bindings
      .map((each) =>
        each.kind === 'array'
          ? `${each.parameter} ${each.variable ?? ''}`
          : each.members.map(({ name }) => name).join(),
      )
      .join('; ');
  } catch (error) {
    return (error as Error).message;
  }
}

test('variables whose names are generated are named by group and binding', () => {
  const source = called({ input: 'v_1', y: 'v_2', alpha: 'v_3' });
  const expected = 'input v_1; y v_2; alpha';
  expect(bound(source, [['input', 'y', 'alpha']])).toBe(expected);
  expect(bound(source, [{ 0: 'input', 1: 'y', 2: 'alpha' }])).toBe(expected);
  expect(bound(MODULE, [[null, null, 'alpha']])).toBe('input ; y ; alpha');
  const moved = source.replace('@group(0) @binding(2)', '@group(3) @binding(7)');
  expect(bound(moved, [['input', 'y'], null, undefined, { 7: 'alpha' }])).toBe(expected);
  const swapped = called({ input: 'y', y: 'input' });
  expect(bound(swapped, [['input', 'y']])).toBe('input y; y input; alpha');
});

test.each([
  ['x', /groups of kernel k is a list with the names of each group/],
  [['x'], /groups\[0\] of kernel k names parameters by binding, .* not "x"/],
  [[{ a: 'input' }], /groups\[0\] of kernel k names parameters by binding/],
  [[['inptu']], /groups\[0\]\[0\] is "inptu", which is no parameter .* input, y, alpha/],
  [[['input', 'input']], /parameter input stands at groups\[0\]\[0\] and at groups\[0\]\[1\]/],
  [
    [[], ['input']],
    /groups\[1\]\[0\] is input, .* nothing at @group\(1\) @binding\(0\); it has input at/,
  ],
  [
    [[null, 'input']],
    /WGSL 1:1: parameter input stands at groups\[0\]\[1\], and the module has a variable input/,
  ],
])('%j as groups is refused', (groups, expected) => {
  expect(bound(MODULE, groups)).toMatch(expected);
});

test('a parameter for a place that the entry point does not use is left alone', () => {
  const unused = MODULE.replace('alpha * ', '').replace('alpha', 'v_3');
  expect(bound(unused, [[null, null, 'alpha']])).toBe('input ; y ');
});
