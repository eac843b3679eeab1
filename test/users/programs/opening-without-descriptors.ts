/**
 * Opens spaces with so many descriptors left, one after the other, beside one that is open; prints
 * what came of each.
 */
import { closeSync, openSync } from 'node:fs';
import { openSpace } from '../../../src/index.js';
import { say } from '../../integration/programs/common.js';

const [devices, ...counts] = process.argv.slice(2).map(Number);
const options = { hostMemory: '256MiB', addressSpace: '8GiB' } as const;
const first = await openSpace(options);
const x = first.array(Int32Array, 1024);
x.data[0] = 42;
/** Takes all descriptors but so many. */
function leave(count: number): number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    for (let i = 0; i < count; i++) closeSync(taken.pop() as number);
  }
  return taken;
}

for (const left of counts) {
  const taken = leave(left);
  let result: string;
  try {
    const wanted = Array.from(
      { length: devices },
      () => ({ kind: 'process', memory: '8MiB' }) as const,
    );
    const second = await openSpace({ ...options, devices: wanted });
    const y = second.array(Int32Array, 1024);
    y.data.fill(7);
    result = `opened ${y.data[1023]}`;
    for (const fd of taken.splice(0)) closeSync(fd);
    await second.close();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    result = `${code}: ${message}`;
  }
  for (const fd of taken) closeSync(fd);
  say(`left ${left} ${result}`);
}
x.data[1] = 1;
say(`first ${x.data[0]} ${x.data[1]}`);
// What failed has left nothing behind.
const after = leave(0);
say(`free ${after.length}`);
for (const fd of after) closeSync(fd);
