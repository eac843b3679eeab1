/**
 * Attaches with all descriptors in use, then with one more free each time, until that works. Prints
 * codes of what failed, and how many descriptors failures have lost.
 */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { attachSpace } from '../../../src/index.js';

const MOST = 64;

function inUse(): number {
  let count = 0;
  for (let fd = 0; fd < MOST; fd++) {
    try {
      fstatSync(fd);
      count++;
    } catch {
      // It is free.
    }
  }
  return count;
}

const held: number[] = [];
while (inUse() < MOST) held.push(openSync('/dev/null', 'r'));

const codes = new Set<string>();
let lost = 0;
for (;;) {
  const before = inUse();
  try {
    const sum = attachSpace(process.env.ONEMEM_SPACE as string)
      .find<Int32Array>('x')
      ?.data.reduce((all, each) => all + each, 0);
    console.log([...codes].join(), lost, sum);
    process.exit(0);
  } catch (error) {
    codes.add((error as { code: string }).code);
    lost += inUse() - before;
    closeSync(held.pop() as number);
  }
}
