import { expect, test } from 'vitest';
import { partsOf } from './launch.js';

test('parts cover everything once, in order, and begin at whole steps', () => {
  for (const size of [1, 5, 1023, 1024, 1025, 65_536, 65_537, 3_000_000]) {
    for (const count of [1, 2, 3, 64, 1000]) {
      const parts = partsOf(size, count);
      expect(parts.length).toBeLessThanOrEqual(count);
      expect(parts[0].begin).toBe(0);
      expect(parts[parts.length - 1].end).toBe(size);
      expect(parts.every(({ begin, end }) => end > begin)).toBe(true);
      expect(parts.slice(1).every(({ begin }, index) => begin === parts[index].end)).toBe(true);
      if (parts[0].end >= 1024) expect(parts.every(({ begin }) => begin % 1024 === 0)).toBe(true);
    }
  }
});
