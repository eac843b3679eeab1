import { expect, test } from 'vitest';
import { windowSlices } from '../dividing/windows.js';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import { NumberRanges, tellingArrays } from './number-ranges.js';
import { finished } from './slices.js';

const parser = await loadParser();
const ROWS = 1024;
const EACH = 5;
const LENGTHS = { begins: ROWS + 1, columns: EACH * ROWS, values: EACH * ROWS, x: ROWS, y: ROWS };

function described(body: string) {
  return describe(
    parser,
    `@group(0) @binding(0) var<storage, read> begins: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<i32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`,
  );
}

const CSR =
  'var sum = 0.0; for (var j = begins[id.x]; j < begins[id.x + 1u]; j++) { sum += values[j] * x[columns[j]]; } y[id.x] = sum;';
const facts = { workgroups: [ROWS / 64, 1, 1] as const, lengths: LENGTHS, uniforms: {} };

function rangesOf(numbers: Uint32Array | Int32Array): NumberRanges {
  const ranges = new NumberRanges(numbers.length, numbers instanceof Int32Array);
  const bytes = new Uint8Array(numbers.buffer);
  const half = Math.floor(numbers.length / 3) * 4;
  finished(ranges.add(0, bytes.subarray(0, half)));
  finished(ranges.add(half / 4, bytes.subarray(half)));
  return ranges;
}

test('numbers lie between the least and the greatest of those around them', () => {
  const ranges = rangesOf(Int32Array.from({ length: 1000 }, (_, i) => i - 500));
  const found = ranges.of({ lo: 100, hi: 200 });
  expect(found?.lo).toBeLessThanOrEqual(-400);
  expect(found?.lo).toBeGreaterThan(-400 - 16);
  expect(found?.hi).toBeGreaterThanOrEqual(-300);
  expect(found?.hi).toBeLessThan(-300 + 16);
  expect(ranges.of({ lo: 0, hi: 999 })).toEqual({ lo: -500, hi: 499 });
  for (const outside of [
    { lo: -1, hi: 3 },
    { lo: 3, hi: 1000 },
  ])
    expect(ranges.of(outside)).toBe(null);
});

test.each([
  [CSR, 'begins,columns'],
  ['for (var j = begins[id.x]; j < begins[id.x + 1u]; j++) { y[id.x] += values[j]; }', 'begins'],
  ['y[id.x] = x[id.x] * f32(columns[id.x]);', ''],
])('arrays that tell what is touched: %s', (body, expected) => {
  const telling = tellingArrays(described(body), facts);
  expect(telling.map(({ name }) => name).join()).toBe(expected);
});

test('a product of a sparse matrix is cut by its row pointers and its columns', () => {
  const begins = rangesOf(Uint32Array.from({ length: ROWS + 1 }, (_, row) => EACH * row));
  const columns = rangesOf(
    Int32Array.from({ length: EACH * ROWS }, (_, i) =>
      Math.min(ROWS - 1, Math.floor(i / EACH) + (i % EACH)),
    ),
  );
  const contents = (name: string, elements: { lo: number; hi: number }) =>
    ({ begins, columns })[name]?.of(elements) ?? null;
  const limits = { budgetBytes: 16_384, bindingBytes: 2 ** 27, alignmentBytes: 64 };
  expect(finished(windowSlices(described(CSR), facts, limits)).kind).toBe('refused');
  const plan = finished(windowSlices(described(CSR), { ...facts, contents }, limits));
  if (plan.kind !== 'parts') throw new Error(plan.reason);
  for (const { first, count, windows } of plan.parts) {
    const [from, to] = [64 * first[0], 64 * (first[0] + count[0])];
    const window = (name: string) => windows.find(({ resource }) => resource.name === name);
    const [values, x] = [window('values'), window('x')];
    expect(values?.begin).toBeLessThanOrEqual(EACH * from);
    expect((values?.offsetBytes ?? 0) + (values?.bytes ?? 0)).toBeGreaterThanOrEqual(4 * EACH * to);
    expect(x?.begin).toBeLessThanOrEqual(from);
    expect(x?.bytes).toBeLessThan(4 * (to - from) + 1024);
  }
});
