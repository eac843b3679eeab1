/** Uses a view of an array that was resized since. */
import { openSpace } from '../../../src/index.js';
import { say } from './common.js';

const [way] = process.argv.slice(2);
const space = await openSpace();
const n = 2 ** 18;
const array = space.array(Int32Array, n, { name: 'list' });
const { data } = array;
data.fill(5);
await array.resize(way === 'moved' ? 2 * n : 10);
say(`read ${data[n - 1]}`);
data[n - 1] = 1;
say('survived');
