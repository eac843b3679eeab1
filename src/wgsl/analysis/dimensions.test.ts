import { expect, test } from 'vitest';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import { dimensionsOf } from './dimensions.js';

const parser = await loadParser();
const ID = '@builtin(global_invocation_id) id: vec3u';

function found(size: string, body: string, before = '', parameter = ID) {
  const text = `@group(0) @binding(0) var<storage, read_write> y: array<u32>;
${before}
@compute @workgroup_size(${size}) fn main(${parameter}) { ${body} }`;
  const { count, position, byWorkgroup } = dimensionsOf(describe(parser, text));
  return [count, position && `${position.line}:${position.column}`, byWorkgroup];
}

test('a launch has the dimensions of its workgroups, or of the ids that its text reads', () => {
  expect(found('64', 'y[id.x] = 1u;')).toEqual([1, null, false]);
  expect(found('8, 8', 'y[id.x] = 1u;')).toEqual([2, '3:1', true]);
  expect(found('8, 8, 2', 'y[id.y] = 1u;')).toEqual([3, '3:1', true]);
  expect(found('8, 8', 'y[id.z] = 1u;')).toEqual([3, '3:86', true]);
  expect(found('64', 'y[id.x + 8u * id.y] = 1u;')).toEqual([2, '3:96', false]);
  expect(found('64', 'y[id[2]] = 1u;')[0]).toBe(3);
});

test('ids are followed through names, functions and structures of builtins', () => {
  expect(found('64', 'let at = id; let p = at.xy; y[p.x] = 1u;')[0]).toBe(2);
  const place = 'fn place(at: vec3u) -> u32 { return at.x + at.z; }';
  expect(found('64', 'y[place(id)] = 1u;', place)[0]).toBe(3);
  const input = `struct Input { @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u }`;
  expect(found('64', 'y[in.group.y] = in.local.x;', input, 'in: Input')[0]).toBe(2);
  // Ids within the workgroup say nothing of the launch.
  expect(found('64', 'y[in.group.x] = in.local.y;', input, 'in: Input')[0]).toBe(1);
});
