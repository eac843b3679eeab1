import { describe, expect, it } from 'vitest';
import { lru } from './lru.js';

const any = (): boolean => true;

describe('lru', () => {
  it('names the block that was used longest ago, and does not forget it', () => {
    const policy = lru();
    for (const block of [1, 2, 3]) policy.activate(block, 512);
    expect(policy.evict(any)).toBe(1);
    policy.used(1);
    expect(policy.evict(any)).toBe(2);
    expect(policy.evict(any)).toBe(2);
  });

  it('skips what may not go', () => {
    const policy = lru();
    for (const block of [1, 2, 3]) policy.activate(block, 512);
    expect(policy.evict((block) => block === 3)).toBe(3);
    expect(policy.evict(() => false)).toBe(-1);
  });

  it('does not take a block that it has been told of again for one that was used', () => {
    const policy = lru();
    policy.activate(1, 512);
    policy.activate(2, 512);
    policy.activate(1, 512);
    expect(policy.evict(any)).toBe(1);
  });

  it('knows nothing of blocks that have left, used or not', () => {
    const policy = lru();
    policy.activate(1, 512);
    policy.deactivate(1);
    policy.used(1);
    policy.used(5);
    policy.deactivate(9);
    expect(policy.evict(any)).toBe(-1);
  });
});
