/** Does to an array what it has forbidden. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { i32, kernel, openSpace } from '../../../src/index.js';
import { say } from './common.js';

const set = kernel({ x: i32.out, value: i32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});
const [way, path] = process.argv.slice(2);
const space = await openSpace({
  devices: [{ kind: 'process', memory: '8MiB' }],
  checkInvariants: true,
});
const perPage = 1024;
const array = space.array(Int32Array, 16 * perPage, { name: 'ledger' });
const { data } = array;
for (let i = 0; i < data.length; i++) data[i] = i;
const part = { begin: 4 * perPage, end: 8 * perPage };
const at = 5 * perPage + 7;

/** What a system call with the array's memory comes to. */
function attempt(what: string, action: () => number): void {
  try {
    say(`${what} ${action()}`);
  } catch (error) {
    say(`${what} ${(error as { code: string }).code}`);
  }
}

switch (way) {
  case 'store':
    await array.protect('read', part);
    say(`read ${data[at]}`);
    data[at] = 1;
    say('survived');
    break;
  case 'load':
    await array.protect('none', part);
    say(`survived ${data[at]}`);
    break;
  case 'store where nobody was':
    await array.discard(part);
    await array.protect('read', part);
    data[at] = 1;
    say('survived');
    break;
  case 'system call': {
    const fd = openSync(path, 'w+');
    const page = data.subarray(5 * perPage, 6 * perPage);
    await array.protect('read', part);
    writeSync(fd, page, 0, 4096, 0);
    attempt('read into', () => readSync(fd, page, 0, 4096, 0));
    attempt('read into', () => readSync(fd, page, 0, 4096, 0));
    await array.protect('readwrite', part);
    say(`element ${data[at]}`);
    attempt('read into', () => readSync(fd, page, 0, 4096, 0));
    await array.protect('none', part);
    attempt('write from', () => writeSync(fd, page, 0, 4096, 0));
    await array.protect('read', part);
    attempt('write from', () => writeSync(fd, page, 0, 4096, 0));
    await array.protect('none', part);
    attempt('write from', () => writeSync(fd, page, 0, 4096, 0));
    await array.protect('readwrite');
    await array.discard(part);
    say(`element ${data[at]}`);
    data[at] = 9;
    say(`element ${data[at]}, neighbours ${data[part.begin - 1]} ${data[part.end]}`);
    closeSync(fd);
    space.checkInvariants();
    await space.close();
    break;
  }
  case 'lost': {
    const spare = await openSpace({
      devices: [
        { kind: 'process', memory: '8MiB', lossy: true },
        { kind: 'process', memory: '8MiB' },
      ],
    });
    const [dying, device] = spare.devices;
    const fd = openSync(path, 'w+');
    writeSync(fd, new Uint8Array(4096).fill(1), 0, 4096, 0);
    const names = ['filled', 'discarded', 'overwritten', 'copied', 'freed'] as const;
    const arrays = names.map((name) => spare.array(Int32Array, perPage, { name }));
    for (const x of arrays) await dying.run(set, { x, value: 7 }, { size: perPage });
    dying.kill();
    // Until then its pages may still come home.
    while (dying.stats().alive) await new Promise((resolve) => setTimeout(resolve, 5));
    const views = arrays.map((each) => each.data);
    for (const [index, name] of names.entries())
      attempt(name, () => writeSync(fd, views[index], 0, 4096, 8192));
    await arrays[0].readFrom(fd, { position: 0 });
    await arrays[1].discard();
    await device.run(set, { x: arrays[2], value: 3 }, { size: perPage });
    await device.stream().copy(arrays[3], new Int32Array(perPage).fill(6)).synchronize();
    for (const [index, name] of names.entries()) {
      if (name !== 'freed')
        attempt(`${name} ${views[index][9]}`, () => writeSync(fd, views[index], 0, 4096, 8192));
    }
    arrays[4].free({});
    say(`freed ${views[4][9]}`);
    await spare.close();
    await space.close();
    break;
  }
  default:
    throw new Error(`no way '${way}'`);
}
