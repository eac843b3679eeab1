import { expect, test } from 'vitest';
import { finished } from '../analysis/slices.js';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import { PagePlanner } from './page-plan.js';
import { pageTables } from './page-tables.js';

const parser = await loadParser();
const LENGTHS = { table: 1000, ids: 100, out: 800 };
const WHOLE = { first: [0, 0, 0], count: [10, 1, 1] } as const;
const SIZES = { pageBytes: 64, mostPages: 1024, alignment: 64 };

/** Of 16 elements are pages. */
function plannerOf(body: string, more = '') {
  const source = `@group(0) @binding(0) var<storage> table: array<u32>; @group(0) @binding(1) var<storage, read_write> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }\n${more}`;
  const description = describe(parser, source);
  const paged = description.resources.filter(({ name }) => name === 'table');
  const planner = new PagePlanner(
    description,
    { workgroups: WHOLE.count, lengths: LENGTHS, uniforms: {} },
    paged,
  );
  const tablesOf = (frames: number) => {
    const array = { name: 'table', bytes: 4 * LENGTHS.table, stride: 4 };
    return pageTables([array], 64 * (frames + 1), SIZES) ?? [];
  };
  return {
    planner,
    paged,
    tablesOf,
    naming: () =>
      planner
        .naming(WHOLE)
        ?.map(({ resource, begin, end }) => `${resource.name} ${begin}..${end - 1}`),
    boxes: (numbers: readonly number[], frames = 63) => {
      const ids = Uint32Array.from(
        { length: LENGTHS.ids },
        (_, i) => numbers[i % numbers.length] as number,
      );
      return finished(
        planner.boxes(WHOLE, tablesOf(frames), ({ begin, end }) => ids.subarray(begin, end)),
      );
    },
  };
}

test.each([
  ['if (i < 80u) { out[i] = table[ids[i]]; }', 'ids 0..79'],
  ['out[i] = table[ids[i / 8u] * 8u + i % 8u];', 'ids 0..79'],
  ['let own = ids[min(i, 90u)]; let p = &table[own * 2u - 1u]; out[i] = *p;', 'ids 0..90'],
  ['out[i] = row(ids[i % 50u + 3u], i);', 'ids 3..52'],
  [
    'if (i < 9u) { out[i] = table[ids[i]]; } else { out[i] = table[ids[99u - i % 2u]]; }',
    'ids 0..99',
  ],
  ['out[i] = table[i];', ''],
])('%s is named by %s', (body, expected) => {
  const { naming } = plannerOf(
    body,
    'fn row(at: u32, i: u32) -> u32 { return table[at * 4u + (i & 3u)]; }',
  );
  expect(naming()?.join()).toBe(expected);
});

test.each([
  ['numbers that are written', 'ids[i] = 1u; out[i] = table[ids[i % 100u]];'],
  ['numbers that may lie beyond the end of their array', 'out[i] = table[ids[i]];'],
  ['numbers that numbers name', 'out[i] = table[ids[ids[i % 100u]]];'],
  ['sums of two numbers', 'out[i] = table[ids[i % 100u] + ids[i % 99u]];'],
])('%s tell nothing', (_, body) => {
  const { planner, boxes, naming, paged } = plannerOf(body);
  const touched = naming();
  // What any number may be is no more than all of the table.
  if (touched !== undefined && touched.length > 0) throw new Error(`named by ${touched}`);
  if (touched === undefined) {
    expect(boxes([1])).toBe(null);
    expect(planner.mostPages(WHOLE, paged[0] as never, 16)).toBe(Infinity);
  } else expect(boxes([1])?.[0]?.pages[0]?.length).toBe(63);
});

test('pages of rows that lie across pages, at the ends, beyond the end, and around 2^32', () => {
  const { boxes } = plannerOf('out[i] = table[ids[i / 8u] * 10u + i % 8u];');
  const pages = (...numbers: number[]) => boxes(numbers)?.map((each) => each.pages[0]?.join());
  expect(pages(1)).toEqual(['0,1']);
  expect(pages(0, 99, 99, 50)).toEqual(['0,31,61,62']);
  expect(pages(100)).toEqual(['62']);
  expect(pages(2 ** 31 + 4)).toEqual(['2']);
  // 10 times this is 2^32 - 6: the row is the last element, and the first two.
  expect(pages(429496729)).toEqual(['0,62']);
});

test('workgroups are cut until the pages of each box have frames, in their order; one that needs more than that is not', () => {
  const { boxes } = plannerOf('out[i] = table[ids[i / 8u] * 16u + i % 8u];');
  const numbers = Array.from({ length: 80 }, (_, i) => (i * 7) % 62);
  expect(boxes(numbers)?.length).toBe(1);
  const found = boxes(numbers, 20);
  let at = 0;
  for (const { first, count, pages } of found ?? []) {
    expect(first).toEqual([at, 0, 0]);
    expect(pages[0]).toEqual(
      [...new Set(numbers.slice(8 * at, 8 * (at + count[0])))].sort((a, b) => a - b),
    );
    expect(pages[0]?.length).toBeLessThanOrEqual(20);
    at += count[0];
  }
  expect(at).toBe(10);
  expect(boxes(numbers, 7)).toBe(null);
});

test('no more pages are touched than there are numbers, and pages of each', () => {
  const { planner, paged } = plannerOf(
    'if (i < 40u) { out[i] = table[ids[i / 8u] * 10u + i % 8u]; }',
  );
  expect(planner.mostPages(WHOLE, paged[0] as never, 16)).toBe(11);
});

/** Of 16 elements are pages; the table has 63 of them. */
test.each([
  // What every workgroup does, whatever arrays hold.
  ['out[i] = table[i * 16u];', 63],
  ['for (var k = 0u; k < 20u; k++) { out[i] += table[k * 32u]; }', 20],
  ['for (var k = 64u; k >= 16u; k -= 16u) { out[i] += table[k]; }', 4],
  ['var k = 0; loop { if (k >= 30) { break; } out[i] += table[k * 16]; k += 3; }', 10],
  ['if (i < 900u) { out[i] = table[i]; }', 4],
  ['out[i] = at(i);', 4],
  ['for (var k = 0u; k < 4u; k++) { if (out[k] > 3u) { continue; } } out[i] = table[i];', 4],
  ['if (out[i] > 3u) { out[0] = 1u; } else { out[0] = 2u; } out[i] = table[i];', 4],
  // What may not be.
  ['if (out[i] > 3u) { out[i] = table[i]; }', 0],
  ['if (out[i] > 3u) { return; } out[i] = table[i];', 0],
  ['if (i < 5u) { out[i] = table[i]; }', 0],
  ['for (var k = 0u; k < 20u; k++) { if (out[k] > 3u) { break; } out[i] = table[k * 16u]; }', 0],
  ['for (var k = 0u; k < out[0]; k++) { out[i] = table[k * 16u]; }', 0],
  ['for (var k = 0u; k <= i; k++) { out[i] = table[k * 16u]; }', 0],
  ['for (var k = 0u; k < 20u; k++) { if (out[k] > 3u) { continue; } out[i] = table[k]; }', 0],
  ['switch out[i] { case 1u: { out[i] = table[i]; } default: { } }', 0],
  ['if (out[i] > 3u && table[i] > 3u) { out[i] = 1u; }', 0],
  ['out[i] = table[ids[i]];', 0],
  ['out[i] = early(i);', 0],
])('%s touches %i pages for sure', (body, pages) => {
  const { planner, tablesOf } = plannerOf(
    body,
    `fn at(i: u32) -> u32 { let found = table[i]; return found; }
fn early(i: u32) -> u32 { if (out[i] > 3u) { return 1u; } return table[i]; }`,
  );
  const isExcess = (frames: number): boolean =>
    planner.excess(WHOLE, tablesOf(frames), false) !== null;
  const least = Array.from({ length: 64 }, (_, frames) => frames).findIndex(
    (frames) => frames > 0 && !isExcess(frames),
  );
  expect(least === -1 ? 64 : least).toBe(Math.max(1, pages));
});

test('of an invocation alone its own pages are told', () => {
  const { planner, tablesOf } = plannerOf(
    'for (var k = 0u; k < 9u; k++) { out[i] += table[k * 64u + i]; }',
  );
  expect(planner.excess(WHOLE, tablesOf(8), true)?.name).toBe('table');
  expect(planner.excess(WHOLE, tablesOf(9), true)).toBe(null);
});
