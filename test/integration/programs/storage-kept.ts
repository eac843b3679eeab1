/**
 * Frees and spills again and again where holes cannot be made in the spill file: it must not
 * outgrow its budget, nor show what was there before.
 */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { openSpace } from '../../../src/index.js';
import { FAILING_CALLS } from '../../../src/linux/base/failing-calls.js';

const BUDGET = 64 * 2 ** 20;
const [path, error] = process.argv.slice(2);
process.env[FAILING_CALLS] = `io/fallocate:${error}:1-1000000`;
await using space = await openSpace({ hostMemory: '32MiB', storage: { path, bytes: BUDGET } });
let file = '';
for (let round = 1; round <= 3; round++) {
  using x = space.array(Int32Array, 20 * 2 ** 20);
  for (let i = 0; i < x.length; i += 256) x.data[i] = i + round;
  file ||= readdirSync('/proc/self/fd')
    .map((fd) => `/proc/self/fd/${fd}`)
    .filter((fd) => readTarget(fd).startsWith(`${path}/`))[0];
  assert.ok(statSync(file).blocks * 512 <= BUDGET + 2 ** 20, 'the file is larger than it may be');
  for (let i = 0; i < x.length; i += 64)
    if (x.data[i] !== (i % 256 === 0 ? i + round : 0))
      throw new Error(`element ${i} is ${x.data[i]} in round ${round}`);
  const { storage } = space.stats();
  assert.ok(storage !== null && storage.heldBytes <= BUDGET && !storage.full);
}
while ((space.stats().storage?.heldBytes ?? 0) > 0) await new Promise(setImmediate);
space.checkInvariants();
console.log('as written');

function readTarget(fd: string): string {
  try {
    return readlinkSync(fd);
  } catch {
    return '';
  }
}
