/** Takes memory of a control group, as slowly as a program that reads its data from a disk. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const [group, mebibytes] = process.argv.slice(2);
writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
const taken: Buffer[] = [];
while (taken.length * 2 < Number(mebibytes)) {
  taken.push(Buffer.alloc(2 ** 21, 1));
  await setTimeout(50);
}
console.log(`taken ${taken.length}`);
setInterval(() => taken.length, 1000);
