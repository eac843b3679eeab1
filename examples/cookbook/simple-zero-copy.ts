/**
 * A device adds two vectors that stay in the host's memory: nothing is copied to the device and
 * nothing back, and no page moves. It suits data that is read once, or that the CPU needs at the
 * same time. A second launch, without the advice, is there to compare.
 */
import { f32, kernel, type ManagedArray, openSpace } from 'onemem';

const N = 2_000_000;

const add = kernel({ a: f32.in, b: f32.in, sum: f32.inout }, ({ a, b, sum }, { begin, end }) => {
  for (let i = begin; i < end; i++) sum[i] = a[i] + b[i];
});

await using space = await openSpace({ devices: [{ kind: 'process', memory: '32MiB' }] });
const [device] = space.devices;
const [a, b, sum] = ['a', 'b', 'sum'].map((name) => space.array(Float32Array, N, { name }));
const arrays = { a, b, sum };

function fill(): void {
  const { data } = a;
  for (let i = 0; i < N; i++) data[i] = i;
  b.data.fill(0.25);
  sum.data.fill(0);
}

function check(): void {
  const wrong = sum.data.findIndex((value, i) => value !== i + 0.25);
  if (wrong !== -1)
    throw new Error(`element ${wrong} is ${sum.data[wrong]} instead of ${wrong + 0.25}`);
}

/** What is in the device's own memory of an array. */
const onDevice = (array: ManagedArray): number => array.residency().bytes[device.name] ?? 0;

for (const array of [a, b, sum]) array.advise({ accessedBy: device, preferredLocation: 'host' });
fill();
await device.run(add, arrays, { size: N });
const moved = device.stats().bytesIn;
for (const array of [a, b, sum]) {
  if (onDevice(array) !== 0)
    throw new Error(`${onDevice(array)} bytes of ${array.name} moved to the device`);
}
if (moved !== 0)
  throw new Error(`${moved} bytes were copied to the device, though it reaches them in place`);
check();

for (const array of [a, b, sum]) array.advise({ accessedBy: null, preferredLocation: null });
fill();
await device.run(add, arrays, { size: N });
const migrated = device.stats().bytesIn;
if (migrated < 3 * a.byteLength)
  throw new Error(`without the advice only ${migrated} bytes were copied`);
check();

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
console.log(`${N} sums are right, both times`);
console.log(
  `in place: ${mebibytes(moved)} MiB copied to the device; without advice: ${mebibytes(migrated)} MiB`,
);
