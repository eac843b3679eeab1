import { describe, expect, it } from 'vitest';
import { has, size } from '../core/basics/mask.js';
import type { EvictionPolicy, Touch } from '../core/basics/types.js';
import { checkChoices, loadPolicies, type PolicyChoices } from './choices.js';
import {
  evictionWithFallback,
  placementWithFallback,
  prefetchWithFallback,
  readAheadWithFallback,
} from './fallback.js';
import { next } from './pattern/next.js';
import { touchOf } from './test-touch.js';

function moduleOf(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

const ignore = (): void => undefined;
const walk = { advised: false, nodeBlocks: 64, aheadBlocks: 0, reached: 0, stored: false };

describe('choices of policies', () => {
  it('refuses what there is not, by name', () => {
    expect(() => checkChoices({ evict: 'lru' } as PolicyChoices)).toThrow(
      /no policy evict; did you mean eviction/,
    );
    expect(() => checkChoices({ eviction: 'belady' } as unknown as PolicyChoices)).toThrow(
      /there are 'plan', 'tournament', 'lru', 'fifo', 'clock'/,
    );
    expect(() =>
      checkChoices({ prefetch: { name: 'pattern', thresholdPercent: 60 } }),
    ).not.toThrow();
    const mistaken = { readAhead: { name: 'next', shares: 4 } } as unknown as PolicyChoices;
    expect(() => checkChoices(mistaken)).toThrow(
      /next\(\) has no option shares; did you mean share/,
    );
  });

  it('refuses options that are out of their range, with the range', () => {
    const refused = (choices: unknown): unknown => {
      try {
        checkChoices(choices as PolicyChoices);
        return null;
      } catch (error) {
        return `${(error as { code: string }).code}: ${(error as Error).message}`;
      }
    };
    for (const thresholdPercent of [500, Number.NaN, -3, '51', null])
      expect(refused({ prefetch: { name: 'pattern', thresholdPercent } })).toBe(
        `POLICY: thresholdPercent of pattern() is a number from 0 to 100, not ${thresholdPercent}`,
      );
    expect(refused({ readAhead: { name: 'next', share: 0 } })).toBe(
      'POLICY: share of next() is a number of 1 or more, not 0',
    );
    expect(refused({ readAhead: { name: 'next', stored: 1.5 } })).toBe(
      'POLICY: stored of next() is a whole number of 0 or more, not 1.5',
    );
    expect(
      refused({
        prefetch: { name: 'pattern', thresholdPercent: 0 },
        readAhead: { name: 'next', stored: 0 },
      }),
    ).toBe(null);
  });

  it('hands a policy its options', async () => {
    const policy = next({ share: 65 });
    expect(policy(walk)).toBe(0);
    const theirs = moduleOf(
      'export const make = ({ blocks }) => (touch) => { touch.ahead = blocks; };',
    );
    const module = { module: theirs, export: 'make', options: { blocks: 3 } };
    const touch = touchOf(3);
    (await loadPolicies({ prefetch: module }, ignore)).prefetch()(touch);
    expect(touch.ahead).toBe(3);
  });

  it('has `pattern` ask what a module says of blocks ahead', async () => {
    const theirs = moduleOf('export const make = ({ blocks }) => () => blocks;');
    const module = { module: theirs, export: 'make', options: { blocks: 3 } };
    const touch = touchOf(0, { hasWhole: () => true });
    (await loadPolicies({ readAhead: module }, ignore)).prefetch()(touch);
    expect([touch.reason, touch.ahead]).toEqual(['walk', 3]);
  });

  it('reads several blocks ahead from a store, within the share of guesses', () => {
    const policy = next();
    expect(policy({ ...walk, stored: true })).toBe(6);
    expect(policy({ ...walk, stored: true, nodeBlocks: 24 })).toBe(3);
    expect(policy({ ...walk, stored: true, nodeBlocks: 48, aheadBlocks: 5, reached: 5 })).toBe(6);
    expect(policy({ ...walk, stored: true, nodeBlocks: 48, aheadBlocks: 6, reached: 0 })).toBe(0);
  });

  it('says what is wrong with a module', async () => {
    const load = (source: string): Promise<unknown> =>
      loadPolicies({ eviction: { module: moduleOf(source) } }, ignore);
    await expect(load('export const other = 1;')).rejects.toThrow(
      /export 'default'.*is no function/,
    );
    await expect(load('export default () => ({ evict() {} });')).rejects.toThrow(
      /has no function activate/,
    );
    await expect(load('export default ({ blocks }) => blocks;')).rejects.toThrow(
      /policies\.eviction: export 'default' of data:.* threw Cannot destructure .*; it was called without options/,
    );
    await expect(load('syntax error')).rejects.toThrow(/policies.eviction.*cannot be loaded/);
  });
});

describe('a policy of the user that fails', () => {
  it('is replaced by the one that there is otherwise, after one word', () => {
    const warnings: string[] = [];
    const policy = readAheadWithFallback(
      () => {
        throw new Error('oh');
      },
      (text) => warnings.push(text),
    );
    expect([policy(walk), policy(walk)]).toEqual([1, 1]);
    expect(warnings).toEqual([
      "onemem: warning: the readAhead policy threw oh; onemem's own takes its place\n",
    ]);
    const place = placementWithFallback(() => 'moon', ignore);
    expect(place({ processor: 1, advised: true, remote: false, turns: 0, sinceTurn: 0 })).toBe(
      'remote',
    );
  });

  it('brings nothing that may not be brought, and always the touched page', () => {
    const policy = prefetchWithFallback(({ result }: Touch) => result.fill(-1), ignore);
    const request = touchOf(3);
    (request.allowed as Int32Array)[1] = 1;
    policy(request);
    expect([has(request.result, 3), has(request.result, 32), size(request.result)]).toEqual([
      true,
      true,
      2,
    ]);
  });

  it('is replaced when it answers a number in place of a mask', () => {
    const warnings: string[] = [];
    const policy = prefetchWithFallback(
      () => Number.NaN as never,
      (text) => warnings.push(text),
    );
    const request = touchOf(3);
    (request.allowed as Int32Array).fill(-1);
    policy(request);
    policy(request);
    expect(warnings).toEqual([
      "onemem: warning: the prefetch policy answered NaN, and put no page to bring into result; onemem's own takes its place\n",
    ]);
    expect([has(request.result, 15), size(request.result)]).toEqual([true, 16]);
  });

  it('cannot keep a node full by naming no victim, where there is one', () => {
    const lazy: EvictionPolicy = {
      activate: ignore,
      used: ignore,
      deactivate: ignore,
      evict: () => -1,
    };
    const policy = evictionWithFallback(lazy, ignore);
    for (const block of [4, 5]) policy.activate(block, 512);
    expect(policy.evict((block) => block === 5)).toBe(5);
    expect(policy.evict(() => false)).toBe(-1);
  });

  it('limits what comes ahead by a number of blocks, and not by nonsense', () => {
    const lru: EvictionPolicy = {
      activate: ignore,
      used: ignore,
      deactivate: ignore,
      evict: () => 0,
    };
    expect(evictionWithFallback(lru, ignore).mostAhead).toBe(undefined);
    const warnings: string[] = [];
    const limit = (mostAhead: () => number): unknown =>
      evictionWithFallback({ ...lru, mostAhead }, (text) => warnings.push(text)).mostAhead?.(64);
    expect([3, 0, Number.POSITIVE_INFINITY].map((blocks) => limit(() => blocks))).toEqual([
      3,
      0,
      Number.POSITIVE_INFINITY,
    ]);
    expect(warnings).toEqual([]);
    expect([-1, 0.5, Number.NaN].map((blocks) => limit(() => blocks))).toEqual(
      new Array(3).fill(Number.POSITIVE_INFINITY),
    );
    expect(warnings[0]).toBe(
      "onemem: warning: the eviction policy answered -1 blocks in mostAhead; onemem's own takes its place\n",
    );
    expect(warnings.length).toBe(3);
  });
});
