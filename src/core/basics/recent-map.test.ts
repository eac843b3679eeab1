import { describe, expect, it } from 'vitest';
import { RecentMap } from './recent-map.js';

describe('a map with a bound', () => {
  it('drops the entry that was used longest ago', () => {
    const dropped: string[] = [];
    const map = new RecentMap<string, number>(2, (value, key) => dropped.push(`${key}${value}`));
    map.set('a', 1);
    map.set('b', 2);
    expect(map.get('a')).toBe(1);
    map.set('c', 3);
    expect(dropped).toEqual(['b2']);
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2]);
  });

  it('drops all when it is cleared, and nothing when an entry is set anew', () => {
    const dropped: number[] = [];
    const map = new RecentMap<string, number>(1, (value) => dropped.push(value));
    map.set('a', 1);
    map.set('a', 2);
    expect(dropped).toEqual([]);
    map.clear();
    expect([dropped, map.size]).toEqual([[2], 0]);
  });
});
