/**
 * Takes the last descriptor, or removes the working folder, and has something begin that needs a
 * thread or a file; prints what came of it.
 */
import { closeSync, openSync, rmdirSync } from 'node:fs';
import { kernel, openSpace, u32 } from '../../../src/index.js';
import { say } from '../../integration/programs/common.js';

const [what, how, path] = process.argv.slice(2);
const MIB = 2 ** 20;
const add = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const space = await openSpace({
  hostMemory: '32MiB',
  devices: [{ kind: 'process', memory: '8MiB' }],
});
const x = space.array(Uint32Array, (16 * MIB) / 4, { name: 'x' });
for (let i = 0; i < x.length; i++) x.data[i] = i;
const large = space.array(Uint32Array, (48 * MIB) / 4, { name: 'large' });
const file = space.fileArray(Uint8Array, path);

const taken: number[] = [];
function take(): void {
  if (how === 'folder') {
    rmdirSync(process.cwd());
    return;
  }
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // There are no more.
  }
}

/** More than the host has memory for goes to storage, and comes back. */
function spill(): string {
  for (let i = 0; i < large.length; i++) large.data[i] = ~i;
  for (const [array, sign] of [
    [x, 0],
    [large, -1],
  ] as const) {
    for (let i = 0; i < array.length; i += 1024) {
      if (array.data[i] !== (i ^ sign) >>> 0) return `wrong at ${i} of ${array.name}`;
    }
  }
  return 'right';
}

async function launch(): Promise<string> {
  await space.devices[0].run(add, { x }, { size: x.length });
  await space.devices[0].run(add, { x }, { size: x.length });
  return x.data.every((value, i) => value === i + 2) ? 'right' : 'wrong';
}

async function copy(): Promise<string> {
  const plain = new Uint32Array(1000).fill(7);
  await space.devices[0].stream().copy(x.range(5000, 6000), plain).synchronize();
  return x.data[4999] === 4999 && x.data[5000] === 7 && x.data[5999] === 7 ? 'right' : 'wrong';
}

const ways: Record<string, () => Promise<string> | string> = {
  spill,
  launch,
  copy,
  file: () => (file.data.every((value) => value === 5) ? 'right' : 'wrong'),
  provider: async () => {
    const module = 'data:text/javascript,export default ({ values }) => void values.fill(3)';
    return (await space.providedArray(Uint32Array, 10, { module })).data[9] === 3
      ? 'right'
      : 'wrong';
  },
};
take();
const result = await Promise.resolve()
  .then(ways[what])
  .catch(({ code, message }) => `${code}: ${message}`);
for (const fd of taken) closeSync(fd);
say(result);
await space.close();
