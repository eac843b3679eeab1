/** Devices that have memory, and map it, by more than a page. */
import assert from 'node:assert/strict';
import { f64, kernel, openSpace } from '../../src/index.js';
import { until } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';

/** Elements of a page, and of a granule of 64 KiB. */
const PAGE = 512;
const UNIT = 16 * PAGE;
const MIB = 2 ** 20;

const add = kernel({ x: f64.inout, by: f64 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});

test('a launch on some elements brings their granules, and the CPU takes back pages', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '4MiB', granularity: '64KiB' }],
    storage: false,
  });
  const [device] = space.devices;
  assert.equal(device.capabilities.granularityBytes, 65_536);
  const x = space.array(Float64Array, 10 * UNIT + 3);
  const expected = Float64Array.from({ length: x.length }, (_, at) => at);
  x.data.set(expected);
  const part = x.range(PAGE, PAGE + 10);
  await device.run(add, { x: part, by: 0.5 }, { size: 10 });
  for (let at = PAGE; at < PAGE + 10; at++) expected[at] += 0.5;
  assert.equal(device.stats().backedBytes, 65_536);
  x.advise({ pattern: 'random' });
  const before = space.stats().processors[0].bytesIn;
  x.data[2 * PAGE] = -1;
  expected[2 * PAGE] = -1;
  assert.equal(space.stats().processors[0].bytesIn - before, 4096);
  const rest = x.range(10 * UNIT, x.length);
  await device.run(add, { x: rest, by: 1 }, { size: 3 });
  for (let at = 10 * UNIT; at < x.length; at++) expected[at] += 1;
  assert.equal(device.stats().backedBytes, 2 * 65_536);
  sameData(x.data, (at) => expected[at]);
  space.checkInvariants();
});

test('a part of a granule that is read-only keeps the granule from being written', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '4MiB', granularity: '64KiB' }],
    storage: false,
  });
  const x = space.array(Float64Array, 4 * UNIT);
  await x.protect('read', { begin: 3 * PAGE, end: 4 * PAGE });
  const [device] = space.devices;
  await failsWith('ACCESS_DENIED', () =>
    device.run(add, { x: x.range(0, PAGE), by: 1 }, { size: PAGE }),
  );
  await device.run(add, { x: x.range(UNIT, 2 * UNIT), by: 1 }, { size: UNIT });
  assert.equal(x.data[UNIT], 1);
  space.checkInvariants();
});

test('two small arrays share a granule of 4 MiB, and the device has its memory until both are gone', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '8MiB', granularity: '4MiB' }],
    storage: false,
  });
  const [device] = space.devices;
  assert.equal(device.capabilities.granularityBytes, 4 * MIB);
  const arrays = [1, 2, 3].map((by) => ({ by, x: space.array(Float64Array, 100) }));
  for (const { x, by } of arrays) await device.run(add, { x, by }, { size: 100 });
  assert.equal(device.stats().backedBytes, 8 * MIB);
  arrays[2].x.free();
  await until('a granule is given back', () => device.stats().backedBytes === 4 * MIB);
  arrays[0].x.free();
  for (const { x, by } of arrays.slice(1, 2)) sameData(x.data, () => by);
  const large = space.array(Float64Array, (8 * MIB) / 8 + 1);
  await failsWith('DEVICE_MEMORY', () =>
    device.run(add, { x: large, by: 1 }, { size: large.length }),
  );
  arrays[1].x.free();
  await until('the other is, with its last block', () => device.stats().backedBytes === 0);
  space.checkInvariants();
});

test('a granularity that no device can have is refused with what it may be', async () => {
  for (const granularity of ['3KiB', '3MiB', '256MiB', '1KiB', 12_288]) {
    const open = () => openSpace({ devices: [{ kind: 'simulated', memory: '8MiB', granularity }] });
    const { message } = await failsWith('SIZE', open);
    assert.match(
      message,
      /^granularity of device simulated0 is \d+ bytes; .* from 4096 \(4KiB\) to 134217728 \(128MiB\), for example/,
    );
  }
  const small = { kind: 'simulated', memory: '6MiB', granularity: '4MiB' } as const;
  const { message } = await failsWith('SIZE', () => openSpace({ devices: [small] }));
  assert.match(message, /must be 8388608 or more, 4 MiB, its granularity, .* memory: '64MiB'/);
  const process = { kind: 'process', memory: '8MiB', granularity: '64KiB' } as const;
  await failsWith('OPTIONS', () => openSpace({ devices: [process] }));
});

await runTests();
