/**
 * Numbers as arguments: an integer type refuses what it cannot hold, by its name and limits,
 * instead of changing it.
 */
import assert from 'node:assert/strict';
import {
  f32,
  f64,
  i8,
  i16,
  i32,
  i64,
  kernel,
  type ScalarParameter,
  u8,
  u8c,
  u16,
  u32,
  u64,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const WHOLE: readonly [
  ScalarParameter<'i8' | 'u8' | 'u8c' | 'i16' | 'u16' | 'i32' | 'u32'>,
  number,
  number,
][] = [
  [i8, -128, 127],
  [u8, 0, 255],
  [u8c, 0, 255],
  [i16, -32_768, 32_767],
  [u16, 0, 65_535],
  [i32, -(2 ** 31), 2 ** 31 - 1],
  [u32, 0, 2 ** 32 - 1],
];

test('whole numbers within the limits of their type, and nothing else', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '8MiB' }],
    hostMemory: '160MiB',
  });
  const [device] = space.devices;
  const seen = space.array(Float64Array, 1);
  for (const [type, least, most] of WHOLE) {
    const keep = kernel({ value: type, seen: f64.out }, ({ value, seen }) => {
      seen[0] = Number(value);
    });
    for (const value of [least - 1, most + 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      const error = await failsWith('KERNEL_ARGUMENT', () =>
        device.run(keep, { value, seen }, { size: 1 }),
      );
      assert.ok(error instanceof RangeError);
      assert.match(
        error.message,
        new RegExp(`parameter value is ${type.type}: .* from ${least} to ${most}, not`),
      );
    }
    for (const value of [least, most]) {
      await device.run(keep, { value, seen }, { size: 1 });
      assert.equal(seen.data[0], value);
    }
  }
});

test('64-bit integers within their limits, and floating-point numbers of any kind', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '8MiB' }],
    hostMemory: '160MiB',
  });
  const [device] = space.devices;
  const seen = new BigInt64Array(1);
  const both = kernel({ a: i64, b: u64, seen: i64.out }, ({ a, b, seen }) => {
    seen[0] = BigInt.asIntN(64, a + b);
  });
  for (const [a, b] of [
    [2n ** 63n, 0n],
    [-(2n ** 63n) - 1n, 0n],
    [0n, -1n],
    [0n, 2n ** 64n],
  ]) {
    await failsWith('KERNEL_ARGUMENT', () => device.run(both, { a, b, seen }, { size: 1 }));
  }
  await device.run(both, { a: -(2n ** 63n), b: 2n ** 64n - 1n, seen }, { size: 1 });
  assert.equal(seen[0], 2n ** 63n - 1n);
  const kept = new Float64Array(1);
  const keep = kernel({ a: f64, b: f32, kept: f64.out }, ({ a, kept }) => {
    kept[0] = a;
  });
  await device.run(keep, { a: 1e300, b: Number.NaN, kept }, { size: 1 });
  assert.equal(kept[0], 1e300);
});

await runTests();
