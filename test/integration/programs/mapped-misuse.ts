/** Writes to a file array that is mapped, or touches what was cut off its file. */
import { truncateSync } from 'node:fs';
import { openSpace } from '../../../src/index.js';
import { say } from './common.js';

const [path, what] = process.argv.slice(2);
const space = await openSpace();
// The compiler would refuse the store that this is about.
const data: Int32Array = space.fileArray(Int32Array, path, { mapped: true }).data;
say(`first ${data[0]}`);
if (what === 'write') data[3] = 1;
else {
  truncateSync(path, 2 ** 21);
  say(`${data[786432]}`);
}
say('survived');
