/**
 * Fills and sums arrays larger than the group's memory; it is told a kind, the device's MiB, and a
 * folder.
 */
import { mkdirSync, openSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type AddressSpace, i32, kernel, openSpace } from '../../../src/index.js';

const [kind, deviceMiB, hostMemory, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
/** 256 MiB: more than half of the largest group that has little. */
const N = 64 * 2 ** 20;

const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

function sum(data: Int32Array): number {
  let result = 0;
  for (let i = 0; i < data.length; i++) result += data[i];
  return result;
}

async function fill(space: AddressSpace): Promise<number> {
  const x = space.array(Int32Array, N);
  const { data } = x;
  for (let i = 0; i < N; i++) data[i] = i & 255;
  for (const device of space.devices) await device.run(add, { x }, { size: N });
  return sum(data) - N * space.devices.length;
}

async function map(space: AddressSpace): Promise<number> {
  const path = join(folder, 'mapped.bin');
  openSync(path, 'w');
  truncateSync(path, N * 4);
  const x = space.fileArray(Int32Array, path, { mapped: true });
  return sum(x.data) + N * 127.5;
}

const memory = Number(deviceMiB);
const space = await openSpace({
  ...(hostMemory === 'default' ? {} : { hostMemory }),
  storage: { path: folder, bytes: '2GiB' },
  devices: memory === 0 ? [] : [{ kind: 'process', memory: `${memory}MiB` }],
});
const result = await (kind === 'mapped' ? map(space) : fill(space));
if (result !== N * 127.5) throw new Error(`wrong: ${result}`);
console.log('right');
await space.close();
