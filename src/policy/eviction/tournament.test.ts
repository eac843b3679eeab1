import { describe, expect, it } from 'vitest';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { lru } from './lru.js';
import { tournament } from './tournament.js';

const ROOM = 64;

/**
 * Plays uses of blocks on a node that has room for some of them. Returns how many it did not find
 * there.
 */
function play(
  policy: EvictionPolicy,
  there: Set<number>,
  uses: Iterable<number>,
  pages = 512,
): number {
  let misses = 0;
  for (const block of uses) {
    if (there.has(block)) continue;
    misses++;
    if (there.size === ROOM) {
      const victim = policy.evict((each) => there.has(each));
      there.delete(victim);
      policy.deactivate(victim);
    }
    there.add(block);
    policy.activate(block, pages);
    policy.used(block);
  }
  return misses;
}

function* pass(blocks: number): Iterable<number> {
  for (let block = 0; block < blocks; block++) yield block;
}

function* random(count: number, blocks: number): Iterable<number> {
  let state = 1;
  for (let each = 0; each < count; each++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield Math.floor((state / 2 ** 32) * blocks);
  }
}

describe('tournament', () => {
  it('keeps most of what there is room for of a pass over more that is made again and again', () => {
    const [policy, other] = [tournament(), lru()];
    const [there, otherThere] = [new Set<number>(), new Set<number>()];
    for (let round = 0; round < 4; round++) play(policy, there, pass(96));
    for (let round = 0; round < 4; round++) play(other, otherThere, pass(96));
    expect(play(other, otherThere, pass(96))).toBe(96);
    // A third has no room, and a quarter of the room is for what comes and goes.
    expect(play(policy, there, pass(96))).toBeLessThanOrEqual(32 + ROOM / 4 + 2);
  });

  it('takes nothing for a loop where blocks come in parts, and back before they are through', () => {
    const policy = tournament();
    const there = new Set<number>();
    for (let round = 0; round < 3; round++) play(policy, there, pass(96), 256);
    const recent = [...there];
    // As a least recently used block goes first, what came last is there.
    expect(play(policy, there, recent, 256)).toBe(0);
    expect(recent).toEqual([...pass(96)].slice(96 - ROOM));
  });

  it('gives the room of a loop to what is used after it', () => {
    const policy = tournament();
    const there = new Set<number>();
    for (let round = 0; round < 4; round++) play(policy, there, pass(96));
    const others = Array.from({ length: 48 }, (_, block) => 200 + block);
    for (let round = 0; round < 3; round++) play(policy, there, others);
    expect(play(policy, there, others)).toBe(0);
  });

  it('goes by use where blocks come back in no order', () => {
    const [policy, other] = [tournament(), lru()];
    const [there, otherThere] = [new Set<number>(), new Set<number>()];
    const misses = play(other, otherThere, random(4000, 256));
    expect(play(policy, there, random(4000, 256)) / misses).toBeCloseTo(1, 2);
  });

  it('frees a small part of a node ahead, and nothing of a small one', () => {
    expect([8, 64, 4096].map((blocks) => tournament().keepFree?.(blocks))).toEqual([0, 4, 4]);
  });
});
