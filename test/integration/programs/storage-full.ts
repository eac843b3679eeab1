/**
 * Writes more than its host memory while its disk has no room, so that a store to memory must wait,
 * and is denied in the end.
 */
import { openSpace } from '../../../src/index.js';
import { FAILING_CALLS } from '../../../src/linux/base/failing-calls.js';

const [path] = process.argv.slice(2);
process.env[FAILING_CALLS] = 'pwrite:ENOSPC:1-1000000';
const space = await openSpace({ hostMemory: '32MiB', storage: { path, bytes: '256MiB' } });
const { data } = space.array(Int32Array, 12 * 2 ** 20, { name: 'x' });
for (let i = 0; i < data.length; i += 1024) data[i] = i;
console.log('written');
