/**
 * Devices that reach host memory in place (accessedBy): pages that cannot be had there end a
 * launch, not the device.
 */
import assert from 'node:assert/strict';
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type AddressSpace, kernel, type ManagedArray, openSpace, u32 } from '../../src/index.js';
import { until } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const PAGE = 1024;
const LENGTH = 256 * PAGE;
const READABLE = LENGTH / 4;
const path = `${tmpdir()}/onemem-in-place-${process.pid}.bin`;
const device = { kind: 'process', memory: '64MiB' } as const;

const increment = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});
const read = kernel({ x: u32.in, result: u32.inout, at: u32 }, ({ x, result, at }) => {
  result[0] = x[at];
});
function provided(space: AddressSpace, then: string): Promise<ManagedArray<Uint32Array>> {
  const text = `export default ({ refuse, begin, values }) => { values.fill(5); if (begin >= ${READABLE}) { ${then} } }`;
  return space.providedArray(Uint32Array, LENGTH, {
    module: `data:text/javascript,${encodeURIComponent(text)}`,
    name: 'x',
  });
}

const unreadable: Record<string, (space: AddressSpace) => Promise<ManagedArray<Uint32Array>>> = {
  ACCESS_REFUSED: (space) => provided(space, "refuse('no')"),
  PROVIDER_FAILED: (space) => provided(space, "throw new Error('bad')"),
  FILE_CHANGED: async (space) => {
    writeFileSync(path, new Uint32Array(LENGTH).fill(5));
    const x = space.fileArray(Uint32Array, path, { name: 'x' });
    truncateSync(path, READABLE * 4);
    return x;
  },
};

for (const [code, make] of Object.entries(unreadable)) {
  test(`a launch that touches what cannot be had in place fails with ${code}, and the device goes on`, async () => {
    await using space = await sharedSpace({ devices: [device], checkInvariants: true });
    const [gpu] = space.devices;
    const result = space.array(Uint32Array, 1);
    const x = await make(space);
    x.advise({ accessedBy: gpu });
    await gpu.run(read, { x, result, at: 0 }, { size: 1 });
    assert.equal(x.attributes().runs[0].accessedBy[gpu.name], 'in place');
    for (let round = 0; round < 3; round++) {
      await failsWith(code, () =>
        gpu.run(read, { x, result, at: LENGTH - 1 - round }, { size: 1 }),
      );
      await gpu.run(read, { x, result, at: round * PAGE }, { size: 1 });
      assert.equal(result.data[0], 5);
    }
    assert.equal(x.attributes().runs[0].accessedBy[gpu.name], 'in place');
    rmSync(path, { force: true });
  });
}

longTest(
  'a device that dies takes no other device along that was to reach its pages in place',
  async () => {
    await using space = await openSpace({
      devices: [{ ...device, lossy: true }, device],
      checkInvariants: true,
    });
    const [lossy, healthy] = space.devices;
    for (const order of ['launch and kill', 'kill and launch', 'launch after the death']) {
      if (!lossy.stats().alive) await lossy.restart();
      const x = space.array(Uint32Array, 1_000_000, { name: 'x' });
      x.data.fill(1);
      await lossy.run(increment, { x }, { size: x.length });
      x.advise({ accessedBy: healthy });
      if (order !== 'launch and kill') lossy.kill();
      if (order === 'launch after the death')
        await until('the death is known', () => !lossy.stats().alive);
      const launch = healthy.run(increment, { x }, { size: x.length });
      if (order === 'launch and kill') lossy.kill();
      // The launch may have had its pages before the manager heard of the death: then it has counted
      // every element.
      const outcome = await launch.then(
        () => 'ran',
        (error: { code: string }) => error.code,
      );
      if (order === 'launch after the death' || outcome !== 'ran')
        assert.equal(outcome, 'DATA_LOST', order);
      else sameData(x.data, () => 3);
      assert.ok(healthy.stats().alive, `${order}: the healthy device is dead, too`);
      const y = space.array(Uint32Array, PAGE);
      await healthy.run(increment, { x: y }, { size: PAGE });
      sameData(y.data, () => 1);
      await until('the death is known', () => !lossy.stats().alive);
      x.free();
    }
  },
);

test('a copy made at a device that reaches an end of it in place works there', async () => {
  await using space = await sharedSpace({ devices: [device], checkInvariants: true });
  const [gpu] = space.devices;
  const x = space.array(Uint32Array, 4096, { name: 'x' });
  const y = space.array(Uint32Array, 4096, { name: 'y' });
  x.data.forEach((_value, i, data) => {
    data[i] = i;
  });
  y.data.fill(5);
  x.advise({ accessedBy: gpu });
  await gpu.run(increment, { x }, { size: x.length });
  const stream = gpu.stream();
  await stream.copy(x.range(0, 10), x.range(2000, 2010), { at: gpu }).synchronize();
  sameData(x.data, (i) => (i < 10 ? 2001 + i : i + 1));
  await stream.copy(y, x, { at: gpu }).synchronize();
  sameData(y.data, (i) => (i < 10 ? 2001 + i : i + 1));
  await stream.copy(x, new Uint32Array(4096).fill(8), { at: gpu }).synchronize();
  sameData(x.data, () => 8);
});

await runTests();
