import { openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { closeDescriptor } from '../base/libc.js';
import { DescriptorReserve } from './descriptor-reserve.js';

/** The lowest numbers that are free. */
function nextFree(count: number): number[] {
  const fds = Array.from({ length: count }, () => openSync('/dev/null', 'r'));
  for (const fd of fds) closeDescriptor(fd);
  return fds;
}

it('keeps descriptors, lends them, and keeps as many again', () => {
  const free = nextFree(4);
  const reserve = new DescriptorReserve(0, 3);
  expect(nextFree(1)).toEqual([free[3]]);
  reserve.lend();
  reserve.lend();
  expect(nextFree(4)).toEqual(free);
  reserve.back();
  expect(nextFree(4)).toEqual(free);
  reserve.back();
  expect(nextFree(1)).toEqual([free[3]]);
  reserve.look(1e9);
  expect(nextFree(1)).toEqual([free[3]]);
  reserve.close();
  expect(nextFree(4)).toEqual(free);
});

it('is refused where there are none', () => {
  expect(() => new DescriptorReserve(-1, 3)).toThrowError(/^fcntl\(fd=-1, /);
});
