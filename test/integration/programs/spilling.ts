/** Writes and reads more than its host memory until it is killed. */
import { openSpace } from '../../../src/index.js';

const [path] = process.argv.slice(2);
const space = await openSpace({ hostMemory: '32MiB', storage: { path, bytes: '256MiB' } });
const { data } = space.array(Int32Array, 12 * 2 ** 20);
for (let round = 1; ; round++) {
  for (let i = 0; i < data.length; i += 1024) {
    if (round > 1 && data[i] !== i + round - 1)
      throw new Error(`element ${i} is ${data[i]} in round ${round}`);
    data[i] = i + round;
    if (round === 1 && i === 10 * 2 ** 20) console.log('spilling');
  }
}
