import { describe, expect, it } from 'vitest';
import { addRun, createMask, has, size } from '../core/basics/mask.js';
import { touchOf } from './test-touch.js';
import { uvmEviction, uvmPlacement, uvmPrefetch } from './uvm.js';

/** What a fault on the page brings where these runs of pages are there. */
function brought(page: number, runs: readonly (readonly [number, number])[]) {
  const occupied = createMask();
  for (const [first, count] of runs) addRun(occupied, first, count);
  const touch = touchOf(page, { occupied, allowed: createMask().fill(-1), full: true });
  uvmPrefetch()(touch);
  const { result } = touch;
  expect(has(result, page)).toBe(true);
  return size(result);
}

describe('uvmPrefetch', () => {
  it('brings 64 KiB for one fault, and the fourth such group for the third', () => {
    expect(brought(5, [])).toBe(16);
    expect(brought(20, [[0, 16]])).toBe(16);
    // Three of four groups are 75 % of 256 KiB, and 37.5 % of 512 KiB.
    expect(brought(40, [[0, 32]])).toBe(32);
  });

  it('brings the whole block where half of it and a group are there', () => {
    expect(brought(300, [[0, 256]])).toBe(256);
    expect(brought(300, [[0, 240]])).toBe(16);
  });

  it('counts the group of the fault once', () => {
    expect(brought(21, [[0, 21]])).toBe(11);
  });
});

describe('uvmEviction', () => {
  it('takes the block that got memory first, whatever was used since', () => {
    const policy = uvmEviction();
    for (const block of [1, 2, 3]) policy.activate(block, 16);
    policy.used(1);
    policy.activate(1, 16);
    expect(policy.evict(() => true)).toBe(1);
  });

  it('takes a block that got more memory last', () => {
    const policy = uvmEviction();
    for (const block of [1, 2, 3]) policy.activate(block, 16);
    policy.activate(1, 32);
    policy.activate(2, 8);
    expect(policy.evict(() => true)).toBe(2);
    policy.deactivate(2);
    policy.activate(2, 4);
    expect(policy.evict(() => true)).toBe(3);
  });
});

describe('uvmPlacement', () => {
  const block = { processor: 1, advised: false, remote: false };

  it('pins a block in host memory that has come back three times', () => {
    expect(uvmPlacement({ ...block, turns: 2, sinceTurn: 1 })).toBe('own');
    expect(uvmPlacement({ ...block, turns: 3, sinceTurn: 1 })).toBe('remote');
  });

  it('lets it go again after 300 lapses without another turn', () => {
    expect(uvmPlacement({ ...block, turns: 9, sinceTurn: 76_800 })).toBe('remote');
    expect(uvmPlacement({ ...block, turns: 9, sinceTurn: 76_801 })).toBe('own');
  });

  it('leaves in host memory what the program said so of', () => {
    const never = { turns: 0, sinceTurn: Number.POSITIVE_INFINITY };
    expect(uvmPlacement({ ...block, ...never })).toBe('own');
    expect(uvmPlacement({ ...block, ...never, advised: true })).toBe('remote');
  });
});
