import { describe, expect, it } from 'vitest';
import { EAGAIN, EEXIST } from '../linux/base/constants.js';
import type { Userfaultfd } from '../linux/memory/userfaultfd.js';
import { insertPages } from './page-filling.js';

const PAGE = 4096;

/** Answers calls by a list: how many bytes each got done, and its result. */
function faultsThat(answers: readonly (readonly [progress: number, result: number])[]) {
  const calls: number[][] = [];
  const call = (...args: number[]): number => {
    const [progress, result] = answers[calls.length];
    calls.push(args);
    faults.progress = progress;
    return result;
  };
  const faults = { progress: 0, copy: call, zeropage: call };
  return { faults: faults as unknown as Userfaultfd, calls };
}

describe('insertPages', () => {
  it('goes on behind the pages that are mapped, which a thread may have written since', () => {
    const { faults, calls } = faultsThat([
      [2 * PAGE, EAGAIN],
      [0, EAGAIN],
      [3 * PAGE, EEXIST],
    ]);
    expect(insertPages(faults, 0x100000, 0x900000, 8 * PAGE, false)).toBe(EEXIST);
    expect(faults.progress).toBe(5 * PAGE);
    expect(calls.map(([address, source, length]) => [address, source, length])).toEqual([
      [0x100000, 0x900000, 8 * PAGE],
      [0x100000 + 2 * PAGE, 0x900000 + 2 * PAGE, 6 * PAGE],
      [0x100000 + 2 * PAGE, 0x900000 + 2 * PAGE, 6 * PAGE],
    ]);
  });

  it('fills with zeros where there is no source', () => {
    const { faults, calls } = faultsThat([[4 * PAGE, 0]]);
    expect(insertPages(faults, 0x100000, 0, 4 * PAGE, false)).toBe(0);
    expect(calls).toEqual([[0x100000, 4 * PAGE]]);
  });
});
