/** What works, and what does not, without the right to serve faults of system calls. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { i32, kernel, type OnememError, openSpace } from '../../../src/index.js';
import { hasCapability, lockedMemoryLimit } from '../../../src/linux/processes/process.js';
import { say, sayTraces } from './common.js';

const CAP_IPC_LOCK = 14;
const [path, option] = process.argv.slice(2);
const n = 2 ** 20;
await using space = await openSpace({
  devices: [{ kind: 'process', memory: '6MiB' }],
  userModeOnly: option === 'userModeOnly',
});
sayTraces(space);
const [device] = space.devices;
const x = space.array(Int32Array, n);
const y = space.array(Int32Array, n);
for (let i = 0; i < n; i++) x.data[i] = i;
const add = kernel({ x: i32.in, y: i32.out, by: i32 }, ({ x, y, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = x[i] + by;
});
await device.run(add, { x, y, by: 2 }, { size: n });
const differences = space.array(Int32Array, n);

const fd = openSync(path, 'w+');
const sink = openSync('/dev/null', 'w');
const pipe = openSync(`${path}.direct`, 'w');

/** A plain write of the first MiB of an array, whose pages are on the device or nowhere. */
function writeDirectly(data: Int32Array, bytes: number): string {
  try {
    const done = writeSync(pipe, new Uint8Array(data.buffer, 0, bytes));
    return done === bytes ? `${done} of ${bytes}` : `short: ${done} of ${bytes}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

const direct = writeDirectly(y.data, 2 ** 20);
const touched = y.data[0] + y.data[1];
const resident = writeDirectly(y.data, 4096);
const viaManager = await y.writeTo(fd, { position: 0 });
const back = await differences.readFrom(fd, { position: 0 });
// A pin brings the pages, maps them and keeps them, so that system calls find them.
const z = space.array(Int32Array, n);
await device.run(add, { x, y: z, by: 7 }, { size: n });
const pin = await z.pin();
const pinned = writeDirectly(z.data, 2 ** 20);
pin.unpin();
const limit = lockedMemoryLimit().soft;
let lock = 'nothing to be refused';
if (limit < 2 ** 26 && !hasCapability(CAP_IPC_LOCK)) {
  const large = space.bytes(limit + 2 ** 20, { name: 'large' });
  const unlocked = await large.pin();
  lock = `locked ${unlocked.locked}`;
  unlocked.unpin();
  try {
    await large.pin({ lock: 'require' });
  } catch (error) {
    const { code, details } = error as OnememError;
    lock += `, ${code} ${JSON.stringify(details)}, ${JSON.stringify(space.stats().lockedBytes)} of ${space.stats().pinnedBytes}`;
  }
  lock = lock.replaceAll(`${limit + 2 ** 20}`, 'all').replaceAll(`${limit}`, 'limit');
}
let sum = touched === 5 ? 0 : Number.NaN;
for (let i = 0; i < n; i++)
  sum += differences.data[i] - x.data[i] + y.data[i] - differences.data[i] + 1;
for (const each of [fd, sink, pipe]) closeSync(each);
say(
  `report ${JSON.stringify({
    faultsBy: space.stats().faultsBy,
    uid: process.getuid?.(),
    direct,
    resident,
    pinned,
    lock,
    viaManager,
    back,
    sum,
  })}`,
);
