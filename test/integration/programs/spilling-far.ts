/** Writes and reads more than its host memory, which a server has, until it is killed. */
import { openSpace } from '../../../src/index.js';

const [url, leaseMs] = process.argv.slice(2);
const behind = { kind: 'valkey', url, bytes: '256MiB', leaseMs: Number(leaseMs) } as const;
const space = await openSpace({ hostMemory: '32MiB', storage: false, behind });
const { data } = space.array(Int32Array, 10 * 2 ** 20);
for (let round = 1; ; round++) {
  // Whole blocks in order, then single pages here and there: values that are written as a whole,
  // and in part.
  for (let i = 0; i < data.length; i += 1024) {
    const at = round % 2 === 1 ? i : Math.imul(i, 41) & (data.length / 5 - 1);
    data[at] += 1;
    if (round === 1 && i === 9 * 2 ** 20) console.log('spilling');
  }
}
