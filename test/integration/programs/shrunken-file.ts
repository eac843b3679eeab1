/** Touches an array whose file has become shorter, or one that may not be written. */
import { truncateSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';
import { say, wait } from './common.js';

const [path, what] = process.argv.slice(2);
const space = await openSpace();
const array = space.fileArray(Int32Array, path, { name: 'numbers' });
// The compiler would refuse the store that this is about.
const data: Int32Array = array.data;
say(`first ${data[0]}, last of the rest ${data[524287]}`);
if (what === 'write') {
  data[3] = 1;
  say('survived');
} else {
  truncateSync(path, 2 ** 21);
  if (what === 'main') say(`survived ${data[786432]}`);
  else {
    new Worker(new URL('./shrunken-file-thread.js', import.meta.url), { workerData: array.handle });
    wait();
  }
}
