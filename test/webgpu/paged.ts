/**
 * Launches that read and write elements which other arrays name, of tables that the GPU has no room
 * for: pages come as they are touched.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, f32, kernel, openSpace, u32 } from '../../src/index.js';
import { gpuWith, inSpaceWith, lookup } from '../harness/gpu.js';
import { gpuHas } from '../harness/own-gpu.js';
import { failsWith, filled, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const GPU = gpuWith('8MiB');
const withGpu = inSpaceWith(GPU);

/** A number for each index, below a limit, that has nothing to do with it. */
function scattered(i: number, below: number): number {
  return (Math.imul(i, 2_654_435_761) >>> 7) % below;
}

/** Rows of 4 KiB of a table of so many MiB, by ids; the bytes that came. */
async function lookUp(
  space: AddressSpace,
  tableMib: number,
  ids: number,
  idOf: (i: number) => number,
): Promise<number> {
  const [gpu] = space.devices;
  const width = 1024;
  const table = space.array(Uint32Array, (tableMib * MIB) / 4);
  filled(table.data, (i) => i ^ 0x5555);
  const named = space.array(Uint32Array, ids);
  filled(named.data, idOf);
  const rows = space.array(Uint32Array, ids * width);
  const before = gpu.stats();
  await gpu.run(lookup, { table, ids: named, rows, width }, { size: rows.length });
  sameData(rows.data, (i) => (idOf(Math.floor(i / width)) * width + (i % width)) ^ 0x5555);
  assert.equal(gpu.stats().pagedLaunches - before.pagedLaunches, 1);
  assert.ok(gpu.stats().peakBytes <= 8 * MIB);
  return gpu.stats().pagedBytes - before.pagedBytes;
}

test('rows of a table that is larger than the memory, by id: no more comes than they are, and that at once', () =>
  withGpu(async (space) => {
    const before = space.devices[0].stats();
    const moved = await lookUp(space, 16, 80, (i) => scattered(i, 4096));
    assert.ok(moved <= 80 * 4096, `${moved} bytes came`);
    const { launchParts, launchRounds, plannedRounds } = space.devices[0].stats();
    const parts = launchParts - before.launchParts;
    assert.deepEqual(
      [launchRounds - before.launchRounds, plannedRounds - before.plannedRounds],
      [parts, parts],
    );
  }));

test('few rows, of which the GPU alone has some, the CPU has changed some, and some are zeros that nobody has touched', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const [width, count] = [1024, 60];
    const table = space.array(Uint32Array, 3 * MIB);
    filled(table.data.subarray(0, 2 * MIB), (i) => i ^ 0x1234);
    const [ids, rows] = [space.array(Uint32Array, count), space.array(Uint32Array, count * width)];
    const idOf = (i: number): number => scattered(i, table.length / width);
    filled(ids.data, idOf);
    const written = kernel(
      { part: u32.out },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read_write> part: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&part)) { part[id.x] = id.x * 7u; }
}`,
      },
    );
    let change = 0;
    const expected = (at: number): number =>
      at < MIB ? at * 7 : at < 2 * MIB ? (at % width === 5 ? change : at ^ 0x1234) : 0;
    for (change of [11, 12, 13]) {
      await gpu.run(written, { part: table.range(0, MIB) }, { size: MIB });
      for (let at = MIB + 5; at < 2 * MIB; at += width) table.data[at] = change;
      await gpu.run(lookup, { table, ids, rows, width }, { size: rows.length });
      sameData(rows.data, (i) => expected(idOf(Math.floor(i / width)) * width + (i % width)));
    }
  }));

test('ids that the launch before has written, that the CPU has changed, and that lie in a page with what is written', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const before = gpu.stats().pagedLaunches;
    const number = kernel(
      { ids: u32.out, seed: u32 },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read_write> ids: array<u32>;
@group(0) @binding(1) var<uniform> seed: u32;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&ids)) { ids[id.x] = id.x * seed; }
}`,
      },
    );
    const [width, count] = [256, 40];
    const table = space.array(Uint32Array, 2.5 * MIB);
    filled(table.data, (i) => i ^ 0x77);
    const [ids, rows] = [space.array(Uint32Array, count), space.array(Uint32Array, count * width)];
    const look = async (idOf: (i: number) => number): Promise<void> => {
      await gpu.run(lookup, { table, ids, rows, width }, { size: rows.length });
      sameData(rows.data, (i) => (idOf(Math.floor(i / width)) * width + (i % width)) ^ 0x77);
    };
    await gpu.run(number, { ids, seed: 251 }, { size: count });
    await look((i) => i * 251);
    ids.data[7] = 9999;
    await look((i) => (i === 7 ? 9999 : i * 251));
    const both = space.array(Uint32Array, count * width + 100);
    filled(both.data, (i) => i * 3);
    const [own, out] = [both.range(0, count), both.range(64, 64 + count * width)];
    await gpu.run(lookup, { table, ids: own, rows: out, width }, { size: count * width });
    sameData(
      both.data.subarray(64, 64 + count * width),
      (i) => (3 * Math.floor(i / width) * width + (i % width)) ^ 0x77,
    );
    assert.deepEqual([both.data[39], both.data[both.length - 1]], [117, 3 * (both.length - 1)]);
    assert.equal(gpu.stats().pagedLaunches - before, 3);
  }));

/** Keeps what leaves no rest, one behind the other. */
const keep = kernel(
  { x: u32.in, kept: u32.inout, count: u32.inout },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> kept: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: atomic<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&x) && x[id.x] % 64u == 0u) { kept[atomicAdd(&count, 1u)] = x[id.x]; }
}`,
  },
  { name: 'keep' },
);

test('what is kept is put one behind the other, into an array that is larger than the memory', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const x = space.array(Uint32Array, MIB);
    filled(x.data, (i) => scattered(i, 2 ** 24));
    const kept = space.array(Uint32Array, 2.5 * MIB);
    kept.data.fill(7, 0, MIB);
    const count = space.array(Uint32Array, 1);
    const before = gpu.stats();
    await gpu.run(keep, { x, kept, count }, { size: x.length });
    const expected = x.data.filter((each) => each % 64 === 0).sort();
    assert.equal(count.data[0], expected.length);
    assert.deepEqual(kept.data.slice(0, expected.length).sort(), expected);
    sameData(kept.data.subarray(expected.length, MIB), () => 7);
    assert.equal(gpu.stats().pagedLaunches - before.pagedLaunches, 1);
  }));

/** Each row once, in parts of the launch as large as the memory lets their results be. */
async function lookUpAll(space: AddressSpace, tableMib: number): Promise<void> {
  const rows = tableMib * 256;
  const moved = await lookUp(space, tableMib, rows, (i) => (i * 1031) % rows);
  assert.ok(moved <= 1.25 * tableMib * MIB, `${moved} bytes came`);
}

longTest('all rows of a table that is larger than the memory, in another order', () =>
  withGpu((space) => lookUpAll(space, 10)),
);

for (const tableMib of [16, 32, 64])
  longTest(`all rows of a table of ${tableMib} MiB, in another order`, () =>
    withGpu((space) => lookUpAll(space, tableMib)),
  );

test('a table that begins and ends anywhere, of structures of twelve bytes, is read as a whole where all of it has room', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const middle = kernel(
      { points: f32.in, ids: u32.in, sums: f32.out },
      {
        wgsl: `
struct Point { x: f32, y: f32, z: f32 }
@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&sums)) { return; }
  let p = points[ids[id.x]];
  sums[id.x] = p.x + 2.0 * p.y + 4.0 * p.z;
}`,
      },
    );
    const [all, ids] = [space.array(Float32Array, 300_007), space.array(Uint32Array, 5000)];
    filled(all.data, (i) => i % 1000);
    const count = 100_000;
    filled(ids.data, (i) => scattered(i, count));
    const sums = space.array(Float32Array, ids.length);
    await gpu.run(
      middle,
      { points: all.range(5, 5 + 3 * count), ids, sums },
      { size: ids.length, way: 'paged' },
    );
    const at = (i: number): number => (i + 5) % 1000;
    sameData(sums.data, (i) => {
      const first = 3 * scattered(i, count);
      return at(first) + 2 * at(first + 1) + 4 * at(first + 2);
    });
  }));

test('a table with its length before it comes by pages, as names with theirs tell which', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const pick = kernel(
      { table: u32.in, names: u32.in, found: u32.out },
      {
        wgsl: `
struct Table { length: u32, by: u32, items: array<u32> }
struct Names { count: u32, items: array<u32> }
@group(0) @binding(0) var<storage, read> table: Table;
@group(0) @binding(1) var<storage, read> names: Names;
@group(0) @binding(2) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < names.count && names.items[id.x] < table.length) { found[id.x] = table.by * table.items[names.items[id.x]]; }
}`,
      },
    );
    const length = 3 * MIB;
    const [table, names] = [space.array(Uint32Array, length + 3), space.array(Uint32Array, 1025)];
    filled(table.data, (i) => [0, length, 3][i] ?? i);
    filled(names.data, (i) => (i === 0 ? 1000 : scattered(i, length)));
    const found = space.array(Uint32Array, 1024);
    for (const way of [undefined, 'paged'] as const) {
      const before = gpu.stats();
      const options = { size: 1024, ...(way && { way }) };
      await gpu.run(pick, { table: table.range(1, length + 3), names, found }, options);
      // With all that can be paged it is not known before which pages are written.
      if (way === undefined) assert.ok(gpu.stats().plannedRounds > before.plannedRounds);
      sameData(found.data, (i) => (i < 1000 ? 3 * (scattered(i + 1, length) + 3) : 0));
    }
  }));

if (await gpuHas('subgroups')) {
  const summed = (index: string) =>
    kernel(
      { table: u32.in, ids: u32.in, sums: u32.out },
      {
        wgsl: `enable subgroups;
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let all = subgroupAdd(table[${index}]);
  sums[id.x] = all - subgroupExclusiveAdd(all) * 0u;
}`,
      },
      { name: 'summed' },
    );

  test('invocations of a subgroup that add up look up pages that are known before, and are refused where they are not', () =>
    withGpu(async (space) => {
      const [gpu] = space.devices;
      const [table, ids] = [space.array(Uint32Array, 3 * MIB), space.array(Uint32Array, 1024)];
      table.data.fill(5);
      filled(ids.data, (i) => scattered(i, table.length));
      const sums = space.array(Uint32Array, ids.length);
      // GPUs differ in how many invocations a subgroup has, and in what a read past the end gets.
      const [small, own] = [space.array(Uint32Array, 1024), space.array(Uint32Array, 1024)];
      small.data.fill(5);
      filled(own.data, (i) => i);
      await gpu.run(summed('ids[id.x]'), { table: small, ids: own, sums }, { size: ids.length });
      const expected = sums.data.slice();
      sums.data.fill(0);
      const before = gpu.stats();
      await gpu.run(summed('ids[id.x]'), { table, ids, sums }, { size: ids.length });
      const after = gpu.stats();
      assert.ok(after.plannedRounds > before.plannedRounds);
      assert.equal(
        after.launchRounds - before.launchRounds,
        after.plannedRounds - before.plannedRounds,
      );
      sameData(sums.data, (i) => expected[i]);
      const run = () =>
        gpu.run(
          summed('ids[id.x] + ids[1023u - id.x]'),
          { table, ids, sums },
          { size: ids.length },
        );
      assert.match(
        (await failsWith('DEVICE_MEMORY', run)).message,
        /subgroupAdd has invocations wait for each other/,
      );
      sameData(sums.data, (i) => expected[i]);
    }));

  /** Sixteen pages for each id. */
  const rows = kernel(
    { table: u32.in, ids: u32.in, sums: u32.inout },
    {
      wgsl: `enable subgroups;
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0u;
  for (var k = 0u; k < 16u; k++) { sum += table[ids[id.x] * 16384u + k * 1024u]; }
  sums[id.x] = sum + 0u * subgroupAdd(sum);
}`,
    },
    { name: 'rows' },
  );

  test('a subgroup whose numbers name too many pages is refused before anything runs', () =>
    withGpu(async (space) => {
      const [gpu] = space.devices;
      const table = space.array(Uint32Array, 8 * MIB);
      table.data.fill(3);
      const [ids, sums] = [0, 1].map(() => space.array(Uint32Array, 128));
      filled(ids.data, (i) => (i < 64 ? 5 : i));
      const launch = [rows, { table, ids, sums }, { size: ids.length }] as const;
      const before = gpu.stats();
      const { message } = await failsWith('DEVICE_MEMORY', () => gpu.run(...launch));
      assert.match(message, /a single workgroup touches more pages than there is room for/);
      assert.equal((await gpu.estimate(...launch)).error?.message, message);
      assert.equal(gpu.stats().launches, before.launches);
      sameData(sums.data, () => 0);
      ids.data.fill(7);
      await gpu.run(...launch);
      sameData(sums.data, () => 48);
    }));
}

test('what is added to what is there already, and to a sum of all, is added once', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const add = kernel(
      { table: u32.in, ids: u32.in, out: u32.inout, counts: u32.inout },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  out[id.x] += table[ids[id.x]];
  atomicAdd(&counts[table[ids[id.x] / 2u] % 16u], 1u);
}`,
      },
    );
    const length = 2.5 * MIB;
    const table = space.array(Uint32Array, length);
    filled(table.data, (i) => i * 3);
    const [ids, out] = [space.array(Uint32Array, 4096), space.array(Uint32Array, 4096)];
    filled(ids.data, (i) => scattered(i, length));
    filled(out.data, (i) => i);
    const counts = space.array(Uint32Array, 16);
    await gpu.run(add, { table, ids, out, counts }, { size: ids.length });
    assert.ok(gpu.stats().launchRounds >= 2);
    sameData(out.data, (i) => i + 3 * scattered(i, length));
    const expected = new Uint32Array(16);
    for (const id of ids.data) expected[(3 * Math.floor(id / 2)) % 16]++;
    sameData(counts.data, (i) => expected[i]);
  }));

/**
 * Writes elements that data names, of an array of so many MiB, and adds to them; the bytes that
 * went home.
 */
async function scatter(
  space: AddressSpace,
  tableMib: number,
  count: number,
  stride: number,
): Promise<number> {
  const [gpu] = space.devices;
  const put = kernel(
    { places: u32.in, table: u32.inout },
    {
      wgsl: `
@group(0) @binding(0) var<storage, read> places: array<u32>;
@group(0) @binding(1) var<storage, read_write> table: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&places)) { return; }
  let at = places[id.x];
  table[at] += 5u;
  let next = &table[at + 1u];
  *next = id.x;
}`,
    },
    { name: 'put' },
  );
  const all = space.array(Uint32Array, (tableMib * MIB) / 4);
  filled(all.data, (i) => i * 3);
  const places = space.array(Uint32Array, count);
  // In another order, and each in a page of its own where the stride is one.
  filled(places.data, (i) => ((i * 1031) % count) * stride);
  const before = gpu.stats();
  await gpu.run(put, { places, table: all.range(7, all.length) }, { size: count });
  const expected = Uint32Array.from({ length: all.length }, (_, i) => i * 3);
  for (const [i, place] of places.data.entries()) {
    expected[7 + place] += 5;
    expected[8 + place] = i;
  }
  sameData(all.data, (i) => expected[i]);
  assert.equal(gpu.stats().pagedLaunches - before.pagedLaunches, 1);
  assert.ok(gpu.stats().peakBytes <= 8 * MIB);
  return gpu.stats().pagedHomeBytes - before.pagedHomeBytes;
}

test('elements that data names are written: the pages that have them go home, no others, and what lies beside stays', () =>
  withGpu(async (space) => {
    const home = await scatter(space, 12, 80, 1024);
    assert.ok(home >= 80 * 4096 && home <= 2 * 80 * 4096, `${home} bytes went home`);
  }));

longTest('every page of a table that is larger than the memory is written, in another order', () =>
  withGpu(async (space) => {
    await scatter(space, 16, 16 * 256 - 1, 1024);
    await scatter(space, 12, 100_000, 29);
  }),
);

test('workgroups that share what they read are run again as a whole', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const add = kernel(
      { table: u32.in, ids: u32.in, sums: u32.inout },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
var<workgroup> part: array<u32, 64>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) w: vec3u, @builtin(local_invocation_index) at: u32) {
  let row = ids[(w.x + at % 3u) % arrayLength(&ids)] * 1024u;
  part[at] = table[row + at];
  workgroupBarrier();
  for (var half = 32u; half > 0u; half /= 2u) {
    if (at < half) { part[at] += part[at + half]; }
    workgroupBarrier();
  }
  if (at == 0u) { sums[w.x] += part[0]; }
}`,
      },
    );
    const [table, ids] = [space.array(Uint32Array, 2.5 * MIB), space.array(Uint32Array, 60)];
    filled(table.data, (i) => i ^ 0x33);
    filled(ids.data, (i) => scattered(i, 2560));
    const sums = space.array(Uint32Array, 60);
    filled(sums.data, (i) => i);
    const before = gpu.stats();
    await gpu.run(add, { table, ids, sums }, { size: 60 * 64 });
    sameData(sums.data, (i) => {
      let sum = i;
      for (let at = 0; at < 64; at++)
        sum += (scattered((i + (at % 3)) % 60, 2560) * 1024 + at) ^ 0x33;
      return sum >>> 0;
    });
    assert.equal(gpu.stats().pagedLaunches - before.pagedLaunches, 1);
    assert.equal(gpu.stats().pagedBytes - before.pagedBytes, new Set(ids.data).size * 4096);
  }));

test('sums by atomics where data says, into zeros, each once', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const count = kernel(
      { keys: u32.in, bins: u32.out },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> keys: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&keys)) { atomicAdd(&bins[keys[id.x]], 1u + id.x); }
}`,
      },
    );
    const [keys, bins] = [space.array(Uint32Array, 3000), space.array(Uint32Array, 2.5 * MIB)];
    filled(keys.data, (i) => scattered(i % 1500, 40) * 65_537);
    bins.data.fill(9);
    await gpu.run(count, { keys, bins }, { size: keys.length });
    const expected = new Map<number, number>();
    for (const [i, key] of keys.data.entries()) expected.set(key, (expected.get(key) ?? 0) + 1 + i);
    sameData(bins.data, (i) => expected.get(i) ?? 0);
  }));

longTest(
  'a table that was written on the GPU is read from there, and one that the CPU changes as it is then',
  () =>
    withGpu(async (space) => {
      const [gpu] = space.devices;
      const fill = kernel(
        { table: u32.out },
        {
          wgsl: `
@group(0) @binding(0) var<storage, read_write> table: array<u32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) { table[id.x] = id.x * 7u; }`,
        },
      );
      const table = space.array(Uint32Array, 2.5 * MIB);
      await gpu.run(fill, { table }, { size: table.length });
      const before = gpu.stats().pagedLaunches;
      const ids = space.array(Uint32Array, 64);
      filled(ids.data, (i) => scattered(i, 2560));
      const rows = space.array(Uint32Array, 64 * 1024);
      const run = () => gpu.run(lookup, { table, ids, rows, width: 1024 }, { size: rows.length });
      const at = (i: number): number => scattered(Math.floor(i / 1024), 2560) * 1024 + (i % 1024);
      await run();
      sameData(rows.data, (i) => at(i) * 7);
      table.data.fill(9);
      await run();
      sameData(rows.data, () => 9);
      assert.equal(gpu.stats().pagedLaunches - before, 2);
    }),
);

/** Cells on a torus, whose size stands in an array. */
const life = kernel(
  { size: u32.in, cells: u32.in, next: u32.out },
  {
    wgsl: `
@group(0) @binding(0) var<storage> size: vec2u;
@group(0) @binding(1) var<storage> cells: array<u32>;
@group(0) @binding(2) var<storage, read_write> next: array<u32>;
fn at(x: u32, y: u32) -> u32 { return (y % size.y) * size.x + x % size.x; }
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  next[at(id.x, id.y)] = cells[at(id.x + size.x - 1u, id.y)] + 2u * cells[at(id.x + 1u, id.y)]
    + 4u * cells[at(id.x, id.y + size.y - 1u)] + 8u * cells[at(id.x, id.y + 1u)];
}`,
  },
  { name: 'life' },
);

longTest('neighbours on a torus come as they are needed, with its size in an array', async () => {
  await using space = await openSpace({ devices: [gpuWith('8MiB')] });
  const [wide, high] = [2048, 1024];
  const [cells, next] = [0, 1].map(() => space.array(Uint32Array, wide * high));
  const size = space.array(Uint32Array, 2);
  size.data.set([wide, high]);
  filled(cells.data, (i) => (i * 7) % 251);
  const at = (x: number, y: number): number =>
    ((((y + high) % high) * wide + ((x + wide) % wide)) * 7) % 251;
  await space.devices[0].run(life, { size, cells, next }, { size: [wide, high] });
  const { launchRounds, plannedRounds, pagedBytes } = space.devices[0].stats();
  sameData(next.data, (i) => {
    const [x, y] = [i % wide, Math.floor(i / wide)];
    return at(x - 1, y) + 2 * at(x + 1, y) + 4 * at(x, y - 1) + 8 * at(x, y + 1);
  });
  assert.equal(plannedRounds, launchRounds);
  assert.ok(launchRounds > 0 && pagedBytes < 10 * MIB, `${pagedBytes} bytes of pages`);
});

test('a launch that fits runs each way, as it is told', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const [table, ids, rows] = [
      new Uint32Array(9 * 1024),
      new Uint32Array(10),
      space.array(Uint32Array, 10 * 1024),
    ];
    filled(table, (i) => i);
    filled(ids, (i) => i % 9);
    const before = gpu.stats();
    for (const way of [undefined, 'direct', 'windowed', 'paged'] as const) {
      rows.data.fill(0);
      await gpu.run(
        lookup,
        { table, ids, rows, width: 1024 },
        { size: rows.length, ...(way && { way }) },
      );
      sameData(rows.data, (i) => (Math.floor(i / 1024) % 9) * 1024 + (i % 1024));
    }
    const more = (what: 'launches' | 'windowedLaunches' | 'pagedLaunches') =>
      gpu.stats()[what] - before[what];
    assert.deepEqual(
      [more('launches'), more('windowedLaunches'), more('pagedLaunches')],
      [4, 1, 1],
    );
    await failsWith('OPTIONS', () =>
      gpu.run(lookup, { table, ids, rows, width: 1 }, { size: 1, way: 'other' as 'paged' }),
    );
  }));

test('what cannot be run again is refused with its place in the module', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const table = space.array(Uint32Array, 2.5 * MIB);
    const out = space.array(Uint32Array, 64);
    const refusedFor = async (body: string): Promise<string> => {
      const wgsl = `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> list: array<u32>; var<workgroup> shared_count: atomic<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  ${body}
}`;
      const parameters = { table: u32.in, out: u32.inout, list: u32.inout };
      const list = space.array(Uint32Array, 64);
      const error = await failsWith('DEVICE_MEMORY', () =>
        gpu.run(kernel(parameters, { wgsl }), { table, out, list }, { size: 64 }),
      );
      return error.message;
    };
    assert.match(
      await refusedFor(
        '_ = &out; let at = atomicAdd(&shared_count, 1u); list[id.x] = table[table[id.x] + at];',
      ),
      /its arrays cannot be paged: WGSL 6:\d+: what atomicAdd gives back of memory of the workgroup is different/,
    );
    assert.match(
      await refusedFor(
        '_ = &out; list[id.x] = table[table[id.x] + table[id.x + 1u]]; textureBarrier();',
      ),
      /WGSL 6:\d+: textureBarrier has invocations wait for each other/,
    );
  }));

longTest(
  'an invocation that touches more pages than there is room for is refused by name; one that only strays is not',
  () =>
    withGpu(async (space) => {
      const [gpu] = space.devices;
      const chase = kernel(
        { table: u32.in, out: u32.out, steps: u32 },
        {
          wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<uniform> steps: u32;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) {
  var at = id.x;
  // From one page to another, and where zeros are read to any.
  for (var step = 0u; step < steps; step++) { at = (table[at] + select(0u, step * 1024u, table[at] == 0u)) % arrayLength(&table); }
  out[id.x] = at;
}`,
        },
        { name: 'chase' },
      );
      const length = 2.5 * MIB;
      const next = (i: number): number => ((i + 1024 * 37) % length) + 1;
      const table = space.array(Uint32Array, length);
      filled(table.data, next);
      const out = space.array(Uint32Array, 1);
      const run = (steps: number) => gpu.run(chase, { table, out, steps }, { size: 1 });
      await run(12);
      let at = 0;
      for (let step = 0; step < 12; step++) at = next(at) % length;
      assert.equal(out.data[0], at);
      const sum = kernel(
        { table: u32.in, ids: u32.in, out: u32.out },
        {
          wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() {
  var all = 0u;
  for (var i = 0u; i < arrayLength(&ids); i++) { all += table[ids[i]]; }
  out[0] = all;
}`,
        },
        { name: 'sum' },
      );
      const ids = space.array(Uint32Array, 2560);
      filled(ids.data, (i) => i * 1024);
      const error = await failsWith('DEVICE_MEMORY', () =>
        gpu.run(sum, { table, ids, out }, { size: 1 }),
      );
      assert.match(
        error.message,
        /kernel sum: a single invocation touches more than the \d+ pages of 'table', of 4096 bytes each, that there is room for; /,
      );
      // And the next one runs.
      await run(3);
    }),
);

/** Follows a chain of pages, of which each round finds one more. */
const follow = kernel(
  { table: u32.in, out: u32.out },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() {
  var at = 0u;
  for (var step = 0u; step < 150u; step++) { at = table[at]; }
  out[0] = at;
}`,
  },
);

/** Begins a launch of many rounds, and resolves when a few have been. */
async function begun(
  space: AddressSpace,
  signal?: AbortSignal,
  rounds = 0,
): Promise<{ ended: Promise<unknown>; out: Uint32Array }> {
  const [gpu] = space.devices;
  const table = space.array(Uint32Array, 2.5 * MIB);
  filled(table.data, (i) => (i + 1025) % table.length);
  const out = space.array(Uint32Array, 1);
  const ended = gpu.run(
    follow,
    { table, out },
    { size: 1, ...(signal === undefined ? {} : { signal }) },
  );
  let over = false;
  const end = (): void => {
    over = true;
  };
  ended.then(end, end);
  while (!over && gpu.stats().launchRounds < rounds + 3) await sleep(1);
  if (over) await ended;
  return { ended, out: out.data };
}

longTest(
  'a signal, or the end of the GPU, ends a launch between two rounds; one that is detached runs the rest; nothing is left behind',
  async () => {
    await using space = await openSpace({ devices: [GPU] });
    const [gpu] = space.devices;
    const before = space.stats().allocatedBytes;
    const abort = new AbortController();
    const aborted = await begun(space, abort.signal);
    abort.abort();
    await failsWith('ABORTED', () => aborted.ended);
    const rounds = gpu.stats().launchRounds;
    assert.equal(gpu.stats().plannedRounds, 0);
    assert.ok(rounds < 150);
    const lost = await begun(space, undefined, rounds);
    process.kill(gpu.pid as number, 'SIGKILL');
    await failsWith('DEVICE_LOST', () => lost.ended);
    await gpu.restart();
    const { ended, out } = await begun(space);
    await gpu.detach();
    await ended;
    assert.equal(out[0], (150 * 1025) % (2.5 * MIB));
    assert.equal(space.stats().allocatedBytes - before, 3 * (10 * MIB + 4096));
    space.checkInvariants();
  },
);

/** Five numbers, each of which names the next. */
const chase = kernel(
  { table: u32.in, starts: u32.in, sums: u32.inout },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> starts: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&sums)) { return; }
  var at = starts[id.x];
  for (var k = 0u; k < 5u; k++) { at = table[at]; }
  sums[id.x] += at;
}`,
  },
  { name: 'chase' },
);

test('a launch that is repeated takes half of the rounds or fewer, also where its numbers have changed', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const table = space.array(Uint32Array, 8 * MIB);
    const next = (at: number): number => scattered(at + 1, 1000) * 8000;
    filled(table.data, next);
    const [starts, sums] = [0, 1].map(() => space.array(Uint32Array, 64));
    filled(starts.data, (i) => i * 7);
    const expected = new Uint32Array(sums.length);
    const roundsOf = async (): Promise<number> => {
      const { launchRounds } = gpu.stats();
      await gpu.run(chase, { table, starts, sums }, { size: sums.length });
      for (const [i, begin] of starts.data.entries()) {
        let at = begin;
        for (let k = 0; k < 5; k++) at = next(at);
        expected[i] += at;
      }
      sameData(sums.data, (i) => expected[i]);
      return gpu.stats().launchRounds - launchRounds;
    };
    const first = await roundsOf();
    const second = await roundsOf();
    assert.ok(first >= 4 && second <= first / 2, `${first} rounds, then ${second}`);
    filled(starts.data, (i) => i * 7 + (i < 9 ? 5_000_000 : 0));
    assert.ok((await roundsOf()) <= first);
  }));

/** A product in tiles: each workgroup needs a column of tiles of `b` at once. */
const tiled = kernel(
  { a: f32.in, b: f32.in, c: f32.out, n: u32 },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> n: u32;
var<workgroup> ta: array<array<f32, 16>, 16>;
var<workgroup> tb: array<array<f32, 16>, 16>;
@compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_id) l: vec3u) {
  var sum = 0.0;
  for (var t = 0u; t < n / 16u; t++) {
    ta[l.y][l.x] = a[g.y * n + t * 16u + l.x];
    tb[l.y][l.x] = b[(t * 16u + l.y) * n + g.x];
    workgroupBarrier();
    for (var k = 0u; k < 16u; k++) { sum += ta[l.y][k] * tb[k][l.x]; }
    workgroupBarrier();
  }
  c[g.y * n + g.x] = sum;
}`,
  },
  { name: 'tiled' },
);

longTest(
  'columns of a matrix come in smaller pages where there is no room for others',
  async () => {
    await using space = await openSpace({ devices: [gpuWith('4MiB')] });
    const [gpu] = space.devices;
    const n = 1024;
    const [a, c] = [0, 1].map(() => space.array(Float32Array, 16 * n));
    const b = space.array(Float32Array, n * n);
    filled(a.data, (i) => i % 5);
    filled(b.data, (i) => i % 7);
    await gpu.run(tiled, { a, b, c, n }, { size: [n, 16] });
    const { launchRounds, plannedRounds } = gpu.stats();
    assert.ok(plannedRounds > 0 && plannedRounds === launchRounds);
    for (const [row, column] of [
      [0, 0],
      [15, n - 1],
      [7, 700],
    ]) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += a.data[row * n + k] * b.data[k * n + column];
      assert.equal(c.data[row * n + column], sum);
    }
  },
);

/** Each workgroup needs all of `b` at once. */
const whole = kernel(
  { b: f32.in, c: f32.inout },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> b: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
var<workgroup> tile: array<f32, 64>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var t = 0u; t < arrayLength(&b) / 64u; t++) {
    tile[lane] = b[t * 64u + lane];
    workgroupBarrier();
    for (var k = 0u; k < 64u; k++) { sum += tile[k] * f32(id.x); }
    workgroupBarrier();
  }
  c[id.x] = sum;
}`,
  },
  { name: 'whole' },
);

longTest(
  'a workgroup that needs more pages than there is room for is refused before anything runs',
  async () => {
    await using space = await openSpace({ devices: [gpuWith('4MiB')] });
    const [gpu] = space.devices;
    const b = space.array(Float32Array, 2 * MIB);
    const c = space.array(Float32Array, 1024);
    for (const each of [b, c]) each.data.fill(7);
    const launch = [whole, { b, c }, { size: c.length }] as const;
    const estimate = await gpu.estimate(...launch);
    const before = gpu.stats();
    const started = performance.now();
    const { message } = await failsWith('DEVICE_MEMORY', () => gpu.run(...launch));
    assert.ok(performance.now() - started < 2000);
    assert.match(message, /a single workgroup touches more than the \d+ pages of 'b'/);
    assert.equal(estimate.error?.message, message);
    const after = gpu.stats();
    for (const name of [
      'launches',
      'launchParts',
      'launchRounds',
      'bytesIn',
      'pagedBytes',
    ] as const)
      assert.equal(after[name], before[name], name);
    sameData(c.data, () => 7);
  },
);

await runTests();
