/**
 * Writes a shared file array of three times its host memory again and again, until it is killed.
 */
import { openSpace } from '../../../src/index.js';

const space = await openSpace({ hostMemory: '32MiB', storage: false });
const x = space.fileArray(Int32Array, process.argv[2], { shared: true });
console.log('writing');
for (let salt = 1; ; salt++)
  for (let i = 0; i < x.length; i++) x.data[i] = (Math.imul(i, 2_654_435_761) + salt) | 0;
