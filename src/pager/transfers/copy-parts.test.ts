import { describe, expect, it } from 'vitest';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import { nextPart, PART_BYTES, type Part, runsBackwards, uniformPart } from './copy-parts.js';

/** Carries a copy out part by part on bytes, as the manager does. */
function carryOut(memory: Uint8Array, whole: Part, check: (part: Part) => void): void {
  const backwards = runsBackwards(whole);
  for (let moved = 0; moved < whole.bytes; ) {
    const part = nextPart(whole, moved, backwards);
    check(part);
    memory.copyWithin(part.to, part.from, part.from + part.bytes);
    moved += part.bytes;
  }
}

describe('parts of a copy', () => {
  const bytes = 3 * BLOCK_BYTES;
  const content = Uint8Array.from(
    { length: bytes },
    (_, index) => (index * 31 + (index >> 9)) & 0xff,
  );

  for (const [what, to, from, length] of [
    ['apart', 5, BLOCK_BYTES + 77, BLOCK_BYTES - 1000],
    ['upwards over itself', BLOCK_BYTES - 300_001, BLOCK_BYTES - 4097, BLOCK_BYTES],
    ['downwards over itself', 4097, 1, 2 * BLOCK_BYTES],
    ['downwards by less than a page', 10, 9, BLOCK_BYTES + 9999],
    ['by pages', 16 * PAGE_BYTES, BLOCK_BYTES + 8 * PAGE_BYTES, BLOCK_BYTES],
    ['a few bytes across two blocks', BLOCK_BYTES - 3, 2 * BLOCK_BYTES - 1, 8],
    ['one byte', 17, 4, 1],
  ] as const) {
    it(`together are the copy: ${what}`, () => {
      const whole = { to, from, bytes: length };
      const expected = content.slice().copyWithin(to, from, from + length);
      const memory = content.slice();
      carryOut(memory, whole, (part) => {
        expect(part.bytes).toBeGreaterThan(0);
        expect(part.bytes).toBeLessThanOrEqual(PART_BYTES);
        for (const offset of [part.to, part.from]) {
          expect(Math.floor(offset / BLOCK_BYTES)).toBe(
            Math.floor((offset + part.bytes - 1) / BLOCK_BYTES),
          );
        }
      });
      expect(Buffer.compare(memory, expected)).toBe(0);
    });
  }

  it('end at pages of the destination, so that the next one begins at one', () => {
    const part = nextPart({ to: 100, from: 8 * BLOCK_BYTES + 3, bytes: BLOCK_BYTES }, 0, false);
    expect((part.to + part.bytes) % PAGE_BYTES).toBe(0);
    const last = nextPart({ to: 8200, from: 10, bytes: BLOCK_BYTES }, 0, true);
    expect(last.to % PAGE_BYTES).toBe(0);
    expect(last.to + last.bytes).toBe(8200 + BLOCK_BYTES);
  });

  it('are cut where the pages of one end change', () => {
    const part = { to: 0, from: 4 * BLOCK_BYTES + 100, bytes: 10 * PAGE_BYTES };
    const target = (page: number): number => (page < 7 ? 0 : 1);
    const source = (page: number): number => (page < 2048 + 3 ? 5 : 6);
    expect(uniformPart(part, false, target, source).bytes).toBe(3 * PAGE_BYTES - 100);
    expect(uniformPart(part, false, target, () => 0)).toEqual({ ...part, bytes: 7 * PAGE_BYTES });
    const last = uniformPart(part, true, target, () => 0);
    expect(last).toEqual({
      to: 7 * PAGE_BYTES,
      from: part.from + 7 * PAGE_BYTES,
      bytes: 3 * PAGE_BYTES,
    });
    expect(uniformPart(part, true, () => 1, source).bytes).toBe(7 * PAGE_BYTES + 100);
    expect(
      uniformPart(
        part,
        true,
        () => 1,
        () => 1,
      ),
    ).toEqual(part);
  });
});
