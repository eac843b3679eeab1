import { expect, test } from 'vitest';
import { bytesOf } from '../../../core/basics/elements.js';
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../../../core/basics/types.js';
import { finished } from '../../../wgsl/analysis/slices.js';
import type { LaunchParameter } from '../../driver.js';
import type { LaunchDivision, WgslLaunch } from '../../wgsl-launch.js';
import { Divider, type Room } from './divider.js';

const BLOCK_BYTES = PAGES_PER_BLOCK * PAGE_BYTES;
const LIMITS: Room['limits'] = {
  maxBufferSize: 2 ** 30,
  maxStorageBufferBindingSize: 2 ** 30,
  maxUniformBufferBindingSize: 2 ** 16,
  maxStorageBuffersPerShaderStage: 8,
  maxUniformBuffersPerShaderStage: 3,
  maxBindGroups: 4,
  maxBindingsPerBindGroup: 1000,
  minStorageBufferOffsetAlignment: 256,
  maxComputeWorkgroupsPerDimension: 65_535,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupStorageSize: 2 ** 14,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
};

const SAXPY = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> alpha: f32;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] += alpha * x[id.x]; }
}`;
const LENGTH = (8 * BLOCK_BYTES) / 4;

/** x in blocks of its own, then y. */
function launchOf({ source = SAXPY, length = LENGTH, alpha = 2 } = {}): WgslLaunch {
  const array = (name: string, use: 'in' | 'inout', offset: number): LaunchParameter => {
    return { name, kind: 'array', type: 'f32', use, offset, length };
  };
  const second = Math.ceil((length * 4) / BLOCK_BYTES) * BLOCK_BYTES;
  return {
    id: 1,
    kernelName: 'saxpy',
    code: {
      kind: 'wgsl',
      source,
      entryPoint: 'main',
      workgroupSize: [64, 1, 1],
      bindings: [
        { group: 0, binding: 0, kind: 'array', parameter: 'x', writable: false, leastBytes: 4 },
        { group: 0, binding: 1, kind: 'array', parameter: 'y', writable: true, leastBytes: 4 },
        {
          group: 0,
          binding: 2,
          kind: 'uniform',
          bytes: 16,
          members: [{ name: 'alpha', type: 'f32', offset: 0, from: 'parameter' }],
        },
      ],
      constants: [],
    },
    parameters: [
      array('x', 'in', 0),
      array('y', 'inout', second),
      { name: 'alpha', kind: 'scalar', value: alpha },
    ],
    begin: 0,
    end: length,
    size: length,
  };
}

/** As the core counts: whole blocks. */
function blocksOf(parameters: readonly LaunchParameter[]): Set<number> {
  const blocks = new Set<number>();
  for (const each of parameters) {
    if (each.kind !== 'array') continue;
    const last = Math.floor((each.offset + each.length * bytesOf(each.type) - 1) / BLOCK_BYTES);
    for (let block = Math.floor(each.offset / BLOCK_BYTES); block <= last; block++)
      blocks.add(block);
  }
  return blocks;
}

function room(budgetBlocks: number, limits: Partial<Room['limits']> = {}): Room {
  return {
    limits: { ...LIMITS, ...limits },
    budgetPages: budgetBlocks * PAGES_PER_BLOCK,
    pagesOf: (parameters) => blocksOf(parameters).size * PAGES_PER_BLOCK,
  };
}

function partsOf(division: LaunchDivision | string) {
  if (typeof division === 'string') throw new Error(division);
  return Array.from({ length: division.count }, (_, at) => {
    const { parameters, part } = division.partAt(at, 0);
    const [x, y] = parameters.filter((each) => each.kind === 'array');
    return { parameters, x, y, groups: part?.workgroups[0] ?? 0 };
  });
}

const newDivider = (): Divider => new Divider(import.meta.resolve('wesl/core'));

test('parts fit into whole blocks, and together do every workgroup once', () => {
  const parts = partsOf(finished(newDivider().divide(launchOf(), room(4))));
  expect(parts.length).toBeGreaterThanOrEqual(4);
  let at = 0;
  for (const { parameters, x, y, groups } of parts) {
    expect(blocksOf(parameters).size).toBeLessThanOrEqual(4);
    expect([x.use, y.use]).toEqual(['in', 'inout']);
    expect(y.offset).toBe(8 * BLOCK_BYTES + at * 64 * 4);
    expect([x.length, y.length]).toEqual([groups * 64, groups * 64]);
    at += groups;
  }
  expect(at).toBe(LENGTH / 64);
});

test('an array larger than what is bound at once is cut where there is memory enough', () => {
  const limits = { maxStorageBufferBindingSize: 3 * BLOCK_BYTES };
  const parts = partsOf(finished(newDivider().divide(launchOf(), room(100, limits))));
  expect(parts.length).toBe(3);
  for (const { x } of parts) expect(x.length * 4).toBeLessThanOrEqual(3 * BLOCK_BYTES);
});

test('more workgroups than a dimension takes are more dispatches over the same windows', () => {
  const parts = partsOf(
    finished(newDivider().divide(launchOf(), room(4, { maxComputeWorkgroupsPerDimension: 5000 }))),
  );
  expect(Math.max(...parts.map(({ groups }) => groups))).toBe(5000);
  expect(parts.reduce((sum, { groups }) => sum + groups, 0)).toBe(LENGTH / 64);
  expect(parts[0].x).toEqual(parts[1].x);
});

test('the same launch again begins with what the last one has left, whatever its numbers that are no integers are', () => {
  const divider = newDivider();
  const offsetsOf = (division: LaunchDivision | string) =>
    partsOf(division).map(({ x }) => x.offset);
  const offsets = [1.5, 2.5, 1.5].map((alpha) => {
    const division = finished(divider.divide(launchOf({ alpha }), room(4)));
    if (typeof division !== 'string') division.begin();
    return offsetsOf(division);
  });
  const looked = [1, 2].map(() => offsetsOf(finished(divider.divide(launchOf(), room(4)))));
  expect(looked[1]).toEqual(looked[0]);
  expect(offsets[1]).toEqual(offsets[0].toReversed());
  expect(offsets[2]).toEqual(offsets[0]);
});

test('a plan is made anew when its windows have become more than there is room for', () => {
  const divider = newDivider();
  const few = partsOf(finished(divider.divide(launchOf(), room(4))));
  const fuller: Room = { ...room(4), pagesOf: (all) => 2 * blocksOf(all).size * PAGES_PER_BLOCK };
  const many = partsOf(finished(divider.divide(launchOf(), fuller)));
  expect(many.length).toBeGreaterThan(few.length);
  for (const { parameters } of many) expect(blocksOf(parameters).size).toBeLessThanOrEqual(2);
});

test('a plan of other arrays, of another length or another device is no plan of this one', () => {
  const divider = newDivider();
  finished(divider.divide(launchOf(), room(4)));
  expect(
    partsOf(finished(divider.divide(launchOf({ length: LENGTH / 2 }), room(4))))[0].y.offset,
  ).toBe(4 * BLOCK_BYTES);
  for (const { parameters } of partsOf(finished(divider.divide(launchOf(), room(2)))))
    expect(blocksOf(parameters).size).toBeLessThanOrEqual(2);
});

test('what cannot be cut says where', () => {
  const source = SAXPY.replace('x[id.x]', 'x[u32(y[id.x])]');
  expect(finished(newDivider().divide(launchOf({ source }), room(4)))).toMatch(
    /^WGSL 6:\d+: a single workgroup may touch elements 0 to 4194303 of 'x', .* \(memory is held in whole blocks/,
  );
});

test('what keeps each array from being paged is told by its name', () => {
  const launch = launchOf();
  const [x, y] = launch.parameters as Extract<LaunchParameter, { kind: 'array' }>[];
  const reason = (given: WgslLaunch) => finished(newDivider().page(given, room(4), true));
  expect(
    reason({
      ...launch,
      parameters: [x, { ...y, offset: 4 * LENGTH - 4 }, ...launch.parameters.slice(2)],
    }),
  ).toBe(
    "no array of the kernel can be looked up page by page: 'x' shares a page with 'y'; 'y' shares a page with 'x'; have arguments begin at pages of their own",
  );
  const source = SAXPY.replace('x: array<f32>', 'x: array<f32, 8>')
    .replace('y: array<f32>', 'y: S')
    .replaceAll('y[', 'y.a[')
    .replace('&y', '&y.a');
  const said =
    'no array of the kernel can be looked up page by page: ' +
    "'x' is of a size that the module says; ";
  expect(reason(launchOf({ source: `struct S { n: f32, a: array<f32> }${source}` }))).toBe(
    `${said}'y' is written, and has members before its array`,
  );
  const whole = source.replace('y.a[', '_ = &y; y.a[');
  expect(reason(launchOf({ source: `struct S { n: f32, a: array<f32> }${whole}` }))).toBe(
    `${said}'y' is a structure that an array ends, and is handed on as a whole`,
  );
});
