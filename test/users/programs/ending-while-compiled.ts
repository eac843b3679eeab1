/**
 * Uses many arrays, closes the space and has nothing more to do, while the engine still compiles
 * what that has called.
 */
import { join } from 'node:path';
import { openSpace } from '../../../src/index.js';

const [folder] = process.argv.slice(2);
const space = await openSpace({ storage: false });
const x = space.array(Float32Array, 6 * 2 ** 20);
for (let i = 0; i < x.length; i += 1024) x.data[i] = i;
await space.saveNpy(join(folder, 'x.npy'), x);
x.free();
for (let round = 0; round < 300; round++) {
  const y = space.array(Float32Array, 2 ** 16);
  for (let page = 0; page < 64; page++) y.data[page * 1024] = page;
  y.free();
}
await space.close();
console.log('closed');
