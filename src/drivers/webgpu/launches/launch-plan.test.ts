import { expect, test } from 'vitest';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { LaunchParameter } from '../../driver.js';
import type { WgslBinding, WgslLaunch } from '../../wgsl-launch.js';
import type { Limits } from '../link/protocol.js';
import {
  featureProblem,
  noUniformLeft,
  planOf,
  problemOf,
  tooLarge,
  tooManyGroups,
} from './launch-plan.js';

const LIMITS: Limits = {
  maxBufferSize: 2 ** 20,
  maxStorageBufferBindingSize: 2 ** 19,
  maxUniformBufferBindingSize: 2 ** 16,
  maxStorageBuffersPerShaderStage: 2,
  maxUniformBuffersPerShaderStage: 3,
  maxBindGroups: 4,
  maxBindingsPerBindGroup: 1000,
  minStorageBufferOffsetAlignment: 256,
  maxComputeWorkgroupsPerDimension: 100,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupStorageSize: 2 ** 14,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
};

function array(name: string, offset: number, length: number): LaunchParameter {
  return { name, kind: 'array', type: 'f32', use: 'inout', offset, length };
}

function bound(parameter: string, binding: number, writable: boolean, leastBytes = 4): WgslBinding {
  return { group: 0, binding, kind: 'array', parameter, writable, leastBytes };
}

function launch(parameters: LaunchParameter[], bindings: WgslBinding[], size = 100): WgslLaunch {
  const code = {
    kind: 'wgsl',
    source: '',
    entryPoint: 'main',
    workgroupSize: [8, 4, 1],
    bindings,
    constants: [],
  } as const;
  return { id: 1, kernelName: 'k', code, parameters, begin: 0, end: size, size };
}

/** All pages lie in buffer 5, page by page. */
const plan = (given: WgslLaunch) =>
  planOf(
    given,
    () => 1,
    256,
    ({ first, count }) => [5, first * PAGE_BYTES, count * PAGE_BYTES],
  );

test('what a module enables and the GPU has not is refused by name, with what to do', () => {
  const problem = (source: string, features: string[]) => {
    const given = launch([], []);
    return (
      featureProblem({ ...given, code: { ...given.code, source } }, { features })?.message ?? null
    );
  };
  const both = '// enable f64;\nenable f16, subgroups;\nfn f() {}';
  expect(problem(both, ['shader-f16', 'subgroups'])).toBe(null);
  expect(problem(both, ['shader-f16'])).toMatch(
    /enables subgroups, .* \(subgroups\); have its workgroups share/,
  );
  expect(problem(both, [])).toMatch(
    /enables f16, which this GPU does not have \(shader-f16\); write it with f32/,
  );
  expect(problem('enable clip_distances;', [])).toMatch(
    /\(clip-distances\); give the kernel a module of its own/,
  );
});

test('an argument is bound from its first byte to its last', () => {
  const { bound: all, asides } = plan(
    launch([array('x', PAGE_BYTES + 512, 10)], [bound('x', 3, true)]),
  );
  expect(all).toEqual([
    { group: 0, binding: 3, kind: 'buffer', writable: true, part: [5, PAGE_BYTES + 512, 40] },
  ]);
  expect(asides).toEqual([]);
});

test('two that are declared so that they might be written, and only read the same, are bound once and copied once', () => {
  const reads = (name: string): LaunchParameter =>
    ({ ...array(name, 4096, 10), use: 'in' }) as LaunchParameter;
  const { bound: all, asides } = plan(
    launch([reads('x'), reads('y')], [bound('x', 0, true), bound('y', 1, true)]),
  );
  expect(all.map(({ kind }) => kind)).toEqual(['buffer', 'aside']);
  expect(asides).toEqual([{ part: [5, 4096, 40], back: false }]);
});

test('a uniform variable has the bytes of parameters, and numbers in their places above them', () => {
  const members = [
    { name: 'p', from: 'parameter', type: 'bytes', offset: 0 },
    { name: 'end', from: 'launch', type: 'u32', offset: 4 },
    { name: 'q', from: 'parameter', type: 'f32', offset: 8 },
  ] as const;
  const { bound: all } = plan(
    launch(
      [
        { name: 'p', kind: 'bytes', content: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8) },
        { name: 'q', kind: 'scalar', value: 1.5 },
      ],
      [{ group: 0, binding: 0, kind: 'uniform', bytes: 16, members }],
    ),
  );
  const [first] = all;
  const content = Buffer.from(first.kind === 'uniform' ? first.bytes : '', 'base64');
  expect([...content]).toEqual([1, 2, 3, 4, 100, 0, 0, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0]);
});

test('one that begins where none can be bound is copied aside, and back if it is written', () => {
  const { bound: all, asides } = plan(
    launch([array('x', 4, 10), array('y', 260, 3)], [bound('x', 0, true), bound('y', 1, false)]),
  );
  expect(all.map(({ kind }) => kind)).toEqual(['aside', 'aside']);
  expect(asides).toEqual([
    { part: [5, 4, 40], back: true },
    { part: [5, 260, 12], back: false },
  ]);
});

test('what is read of a buffer that is written in the same launch is copied aside', () => {
  const parameters = [array('x', 0, 10), array('y', PAGE_BYTES, 10)];
  const { bound: all, asides } = plan(
    launch(parameters, [bound('x', 0, false), bound('y', 1, true)]),
  );
  expect(all.map(({ kind }) => kind)).toEqual(['aside', 'buffer']);
  expect(asides).toEqual([{ part: [5, 0, 40], back: false }]);
});

test('numbers stand where the structure has them', () => {
  const members = [
    { name: 'a', from: 'parameter', type: 'f32', offset: 4 },
    { name: 'n', from: 'parameter', type: 'i32', offset: 0 },
    { name: 'end', from: 'launch', type: 'u32', offset: 12 },
  ] as const;
  const numbers: WgslBinding = { group: 1, binding: 0, kind: 'uniform', bytes: 16, members };
  const scalars: LaunchParameter[] = [
    { name: 'a', kind: 'scalar', value: 1.5 },
    { name: 'n', kind: 'scalar', value: -2 },
  ];
  const [given] = plan(launch(scalars, [numbers], 77)).bound;
  const data = Buffer.from(given.kind === 'uniform' ? given.bytes : '', 'base64');
  expect([
    data.readInt32LE(0),
    data.readFloatLE(4),
    data.readUInt32LE(8),
    data.readUInt32LE(12),
  ]).toEqual([-2, 1.5, 0, 77]);
});

test('workgroups cover the size in each dimension', () => {
  const whole = launch([array('x', 0, 10)], [bound('x', 0, true)], 100);
  expect(plan(whole).workgroups).toEqual([13, 1, 1]);
  expect(plan({ ...whole, dimensions: [10, 10, 1] }).workgroups).toEqual([2, 3, 1]);
});

test('what a GPU’s limits forbid is refused by name', () => {
  const problem = (given: WgslLaunch): string => problemOf(given, LIMITS)?.message ?? 'none';
  const x = bound('x', 0, true);
  expect(problem(launch([array('x', 0, 10)], [x]))).toBe('none');
  expect(tooLarge(launch([array('x', 0, 10)], [x]), LIMITS)).toBe(undefined);
  expect(tooLarge(launch([array('x', 0, 2 ** 18)], [x]), LIMITS)).toMatch(
    /x has 1048576 bytes, .* at most 524288/,
  );
  expect(problem(launch([array('x', 0, 10)], [bound('x', 0, true, 64)]))).toMatch(
    /40 bytes, .* at least 64/,
  );
  expect(
    problem(launch([array('x', 0, 10)], [x, bound('x', 1, true), bound('x', 2, true)])),
  ).toMatch(/maxStorageBuffersPer/);
  const of = (...workgroupSize: [number, number, number]) => {
    const given = launch([array('x', 0, 10)], [x]);
    return problem({ ...given, code: { ...given.code, workgroupSize } });
  };
  expect(of(256, 1, 1)).toBe('none');
  expect(of(1, 300, 1)).toBe(
    'kernel k: @workgroup_size(1, 300, 1) has 300 invocations in dimension y, and this GPU runs at most 256 (maxComputeWorkgroupSizeY); give the module a smaller one',
  );
  expect(of(16, 32, 1)).toMatch(
    /@workgroup_size\(16, 32, 1\) has 512 invocations, and this GPU runs at most 256 in a workgroup \(maxComputeInvocationsPerWorkgroup\)/,
  );
  expect(tooManyGroups(launch([array('x', 0, 10)], [x], 1000), LIMITS)).toMatch(
    /125 workgroups in dimension x/,
  );
});

test('a variable at a group or binding that a GPU does not have is refused by its parameters, before the GPU hears of it', () => {
  const problem = (binding: WgslBinding) =>
    problemOf(launch([array('x', 0, 10)], [binding]), LIMITS)?.message ?? 'none';
  const x = bound('x', 999, true);
  expect(problem({ ...x, group: 3 })).toBe('none');
  expect(problem({ ...x, group: 4_294_967_295 })).toBe(
    'kernel k: the variable of x is at @group(4294967295), and this GPU has @group(0) to @group(3) (maxBindGroups); give it a lower number',
  );
  expect(problem({ ...x, binding: 1000 })).toMatch(
    /of x is at @binding\(1000\), .* @binding\(0\) to @binding\(999\) \(maxBindingsPerBindGroup\)/,
  );
  const members = ['n', 'scale'].map(
    (name) => ({ name, from: 'parameter', type: 'f32', offset: 0 }) as const,
  );
  expect(problem({ group: 4, binding: 0, kind: 'uniform', bytes: 16, members })).toMatch(
    /of n, scale is at @group\(4\)/,
  );
});

test('more uniform variables than a GPU binds are refused, and as many where parts of a launch need one more', () => {
  const uniforms = (count: number) =>
    launch(
      [],
      Array.from({ length: count }, (_, binding) => ({
        group: 0,
        binding,
        kind: 'uniform',
        bytes: 16,
        members: [],
      })),
    );
  expect(problemOf(uniforms(3), LIMITS)).toBe(null);
  expect(problemOf(uniforms(4), LIMITS)?.message).toBe(
    'kernel k: it has 4 uniform variables, and this GPU binds at most 3 at once (maxUniformBuffersPerShaderStage); make them members of one structure',
  );
  expect(noUniformLeft(uniforms(2).code, LIMITS)).toBe(null);
  expect(noUniformLeft(uniforms(3).code, LIMITS)).toMatch(
    /has 3 uniform variables, .* at most 2 beside the one that parts need \(maxUniform.*; make them members of one structure/,
  );
});
