/** A space that was opened and closed leaves three mappings of the process, and no more. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { openSpace } from '../../src/index.js';
import { longTest, runTests, test } from '../harness/suite.js';

/** Stacks of the manager's system calls. */
const KEPT = 3;
/** The heap of Node.js itself grows and shrinks meanwhile, mostly by pages of this size. */
const HEAP_PAGE = 256 * 1024;
const OTHERS = 32;

function mappings(): number {
  const ranges = readFileSync('/proc/self/maps', 'latin1').matchAll(/^(\w+)-(\w+) /gm);
  let count = 0;
  for (const [, begin, end] of ranges)
    if (parseInt(end, 16) - parseInt(begin, 16) !== HEAP_PAGE) count++;
  return count;
}

async function openAndClose(): Promise<void> {
  const space = await openSpace({ hostMemory: '32MiB', storage: false });
  const x = space.array(Uint32Array, 1024);
  x.data.fill(7);
  assert.equal(x.data[1023], 7);
  await space.close();
}

/** The heap comes and goes by tens of mappings: the least of several looks says what is kept. */
async function keepsThreeEach(spaces: number): Promise<void> {
  for (let time = 0; time < 3; time++) await openAndClose();
  const looks: number[] = [];
  for (let time = 0; time < spaces; time++) {
    await openAndClose();
    looks.push(mappings());
  }
  const kept = Math.min(...looks.slice(-4)) - Math.min(...looks.slice(0, 4));
  assert.ok(kept <= spaces * KEPT + OTHERS, `${kept} mappings after ${spaces} spaces`);
}

test('spaces one after the other keep three mappings each', () => keepsThreeEach(5), 60);

longTest('many spaces one after the other keep three mappings each', () => keepsThreeEach(60), 120);

await runTests();
