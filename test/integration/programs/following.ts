/**
 * Keeps an array in as much host memory as its control group leaves it, and says how much that is
 * whenever it changes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSpace } from '../../../src/index.js';

const [group, path] = process.argv.slice(2);
writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
const space = await openSpace({ hostMemory: 'auto', storage: { path, bytes: '1GiB' } });
const { data } = space.array(Int32Array, 48 * 2 ** 20);
for (let i = 0; i < data.length; i++) data[i] = i;
let said = 0;
process.on('SIGTERM', () => {
  for (let i = 0; i < data.length; i++)
    if (data[i] !== i) throw new Error(`element ${i} is ${data[i]}`);
  console.log('as written');
  process.exit();
});
setInterval(() => {
  const { budgetBytes } = space.stats().processors[0];
  if (budgetBytes !== said) console.log(`budget ${budgetBytes}`);
  said = budgetBytes;
}, 20);
