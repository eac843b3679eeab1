/**
 * Programs of the shapes that public code has: sorts and scans, linear algebra, images,
 * simulations, networks, graphs. What a launch of one leaves on a GPU by itself is what it is to
 * leave with less memory.
 */
import type { UniformValue } from '../../../src/wgsl/reading/uniform-value.js';
import type { Arrays, KernelCase } from '../kernel-case.js';

export type Shape = KernelCase;

interface Given {
  /** `in x f32`, `inout y vec4f`, `uniform p Params`, in the order of their bindings. */
  readonly bound: readonly string[];
  /** Structures, functions, variables of workgroups. */
  readonly more?: string;
  /** Of a workgroup. */
  readonly size?: string;
  readonly body: string;
  readonly workgroups: readonly [number, number, number];
  readonly arrays: Arrays;
  readonly uniforms?: Readonly<Record<string, UniformValue>>;
}

const BUILTINS = [
  ['id', 'global_invocation_id', 'vec3u'],
  ['local', 'local_invocation_id', 'vec3u'],
  ['group', 'workgroup_id', 'vec3u'],
  ['lane', 'local_invocation_index', 'u32'],
  ['groups', 'num_workgroups', 'vec3u'],
] as const;

export function shape(name: string, given: Given): Shape {
  const { bound, more = '', size = '64', body, workgroups, arrays, uniforms = {} } = given;
  const variables = bound.map((each, binding) => {
    const [use, variable, type] = each.split(' ') as [string, string, string];
    const place = `@group(0) @binding(${binding})`;
    if (use === 'uniform') return `${place} var<uniform> ${variable}: ${type};`;
    const access = use === 'in' ? 'read' : 'read_write';
    // What begins with a capital is a structure, and the whole of it.
    const isWhole = /^[A-Z]/.test(type) || type.startsWith('array') || use.endsWith('whole');
    return `${place} var<storage, ${access}> ${variable}: ${isWhole ? type : `array<${type}>`};`;
  });
  const used = BUILTINS.filter(([own]) => new RegExp(`\\b${own}\\b`).test(body));
  const parameters = used.map(([own, builtin, type]) => `@builtin(${builtin}) ${own}: ${type}`);
  const source = `${more}\n${variables.join('\n')}
@compute @workgroup_size(${size}) fn main(${parameters.join(', ')}) {\n${body}\n}`;
  const reference = (): void => undefined;
  return { name, source, workgroups, arrays, uniforms, reference, windows: 'cut' };
}
