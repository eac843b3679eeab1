/** Adds two vectors on a device. Nothing is copied by hand: CPU and device use the same arrays. */
import { f32, kernel, openSpace } from 'onemem';

const add = kernel({ a: f32.in, b: f32.in, sum: f32.out }, ({ a, b, sum }, { begin, end }) => {
  for (let i = begin; i < end; i++) sum[i] = a[i] + b[i];
});

const n = 4_000_000;
await using space = await openSpace({ devices: [{ kind: 'process', memory: '32MiB', units: 2 }] });
const [device] = space.devices;
const a = space.array(Float32Array, n); // 16 MB each: together half as much again as the device's memory
const b = space.array(Float32Array, n);
const sum = space.array(Float32Array, n);

const { data } = a;
for (let i = 0; i < n; i++) data[i] = i;
b.data.fill(0.5);
await device.run(add, { a, b, sum }, { size: n });

// Whole numbers below 2^23 and a half: a Float32Array holds every one of these sums exactly.
const wrong = sum.data.findIndex((value, i) => value !== i + 0.5);
if (wrong !== -1)
  throw new Error(`element ${wrong} is ${sum.data[wrong]} instead of ${wrong + 0.5}`);
console.log(`all ${n} sums are right; sum[1234567] = ${sum.data[1_234_567]}`);
