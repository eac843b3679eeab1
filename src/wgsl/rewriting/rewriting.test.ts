import { expect, test } from 'vitest';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import { parse } from '../reading/syntax.js';
import { unhidden } from './hidden-names.js';
import { pagedModule } from './paged.js';
import { isWholeLaunch, windowed } from './windowed.js';

const parser = await loadParser();

test('names that hide those of WGSL get others of the same length, in all places, and what stands elsewhere stays', () => {
  const source = `// min
fn min(read: f32) -> f32 { return read; }
@compute @workgroup_size(1) fn main() { let read = min(0x1.8p1f) + z00; }
const z00 = 1.0; struct ptr { min: f32, @size(16) b: u32 }`;
  const { source: text, nameOf } = unhidden(parse(parser, source));
  expect(text).toBe(`// min
fn z01(read: f32) -> f32 { return read; }
@compute @workgroup_size(1) fn main() { let read = z01(0x1.8p1f) + z00; }
const z00 = 1.0; struct z02 { z01: f32, @size(16) b: u32 }`);
  expect(['min', 'ptr', 'main'].map(nameOf)).toEqual(['z01', 'z02', 'main']);
});

test('an index becomes a number of its function by what takes whole numbers alone, whatever ends where it does', () => {
  const source = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
  fn half(x: u32) -> f32 { return f32(x) * 0.5; }
  @compute @workgroup_size(1) fn main() { a[a[0] % arrayLength(&a)] = a[half(3)]; a[half(a[1])] = 1; }`;
  const description = describe(parser, source);
  const [, , cut] = windowed(description).source.split('\n');
  expect(cut).toContain(
    'a[onemem_at_0(onemem_u32(0 | (a[onemem_at_0(onemem_u32(0 | (0)))] % onemem_length_0(arrayLength(&a)))))] = ',
  );
  expect(cut).toContain('= a[onemem_at_0(onemem_u32(0 | (half(3))))]');
  // What a function makes of what is written is found before the store.
  const [, , paged] = pagedModule(description, description.resources).source.split('\n');
  expect(paged).toContain(
    'let onemem_named_0 = onemem_u32(0 | (half(onemem_seen_u32(a[onemem_page_0_again(onemem_u32(0 | (1)))]))));',
  );
});

test('what is all of a launch stays as it is, but for indices and lengths of arrays that it has pages of', () => {
  const source = `@group(0) @binding(0) var<storage, read> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> b: array<u32>;
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x < arrayLength(&b)) { b[id.x] = a[b[id.x] % arrayLength(&a)]; }
  }`;
  const description = describe(parser, source);
  const paged = description.resources.filter(({ name }) => name === 'a');
  const [, , head, body] = windowed(description, paged, true).source.split('\n');
  expect(head).toContain('fn main(@builtin(global_invocation_id) id: vec3u) { _ = &onemem_pages;');
  expect(body).toContain(
    'if (id.x < arrayLength(&b)) { b[id.x] = a[onemem_at_0(onemem_u32(0 | (b[id.x] % onemem_length_0(arrayLength(&a)))))]; }',
  );
});

test.each([
  ['all of it', [0, 0, 0], [4, 1, 1], [0, 256], true],
  ['not its first workgroup', [1, 0, 0], [3, 1, 1], [0, 256], false],
  ['not its last one', [0, 0, 0], [3, 1, 1], [0, 256], false],
  ['a window that begins later', [0, 0, 0], [4, 1, 1], [1, 256], false],
  ['a window that ends before', [0, 0, 0], [4, 1, 1], [0, 255], false],
] as const)(
  'a part is the whole launch, or is not: %s',
  (_, first, count, [begin, end], expected) => {
    const source = `@group(0) @binding(0) var<storage, read_write> b: array<u32>;
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { b[id.x] = 1; }`;
    const [resource] = describe(parser, source).resources;
    const windows = [
      {
        resource,
        begin,
        end,
        offsetBytes: 4 * begin,
        bytes: 4 * (end - begin),
        written: true,
        writesHead: false,
      },
    ];
    const launch = { workgroups: [4, 1, 1], lengths: { b: 256 }, uniforms: {} } as const;
    expect(isWholeLaunch({ first, count, windows }, launch, [])).toBe(expected);
  },
);
